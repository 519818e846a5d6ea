// SPDX-License-Identifier: Apache-2.0
#include "core/design/jsontext.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QSet>

#include <vector>

namespace gridloom {

namespace {

int lineAt(const QByteArray &bytes, qsizetype offset)
{
    return 1 + static_cast<int>(std::count(bytes.begin(), bytes.begin() + std::min(offset, bytes.size()), '\n'));
}

// Walks the tokens of text that QJsonDocument has accepted, so brackets and quotes are known to match.
class StrictScan {
public:
    StrictScan(const QByteArray &bytes, const QString &path, FaultList &faults)
        : m_bytes(bytes), m_path(path), m_faults(faults)
    {
    }
    void run();

private:
    struct Level {
        bool isObject = false;
        bool expectsKey = false;
        int index = 0;                    // arrays
        QByteArrayView key;               // objects: the member being read, as it stands in the text
        std::vector<QByteArrayView> keys; // as they stand in the text
        QSet<QString> unusualKeys;        // instead, once there are many or one has an escape
    };
    // Levels are used again: an object costs no memory.
    Level &level() { return m_levels[m_depth - 1]; }
    void open(bool isObject);
    bool isNewKey(Level &level);
    void comma();
    void string();
    static QString decoded(QByteArrayView raw);
    void checkString(qsizetype begin, qsizetype end);
    int hex(qsizetype at) const { return m_bytes.mid(at, 4).toInt(nullptr, 16); }
    QString pointer() const;
    void fault(const QString &code, const QString &message)
    {
        m_faults.add({m_path, pointer(), m_line, code, message});
    }

    const QByteArray &m_bytes;
    const QString &m_path;
    FaultList &m_faults;
    std::vector<Level> m_levels;
    std::size_t m_depth = 0; ///< of m_levels, those that are open
    qsizetype m_at = 0;
    int m_line = 1;
};

void StrictScan::run()
{
    for (; m_at < m_bytes.size(); ++m_at) {
        switch (m_bytes[m_at]) {
        case '\n': ++m_line; break;
        case '{': open(true); break;
        case '[': open(false); break;
        case '}':
        case ']': --m_depth; break;
        case ',': comma(); break;
        case '"': string(); break;
        default: break;
        }
    }
}

void StrictScan::open(bool isObject)
{
    if (m_depth == m_levels.size())
        m_levels.emplace_back();
    Level &opened = m_levels[m_depth++];
    opened.isObject = opened.expectsKey = isObject;
    opened.index = 0;
    opened.key = {};
    opened.keys.clear();
    opened.unusualKeys.clear();
}

void StrictScan::comma()
{
    level().expectsKey = level().isObject;
    ++level().index;
}

bool StrictScan::isNewKey(Level &level)
{
    constexpr std::size_t kFewKeys = 32;
    const bool isUsual = level.unusualKeys.isEmpty() && level.keys.size() < kFewKeys && !level.key.contains('\\');
    if (isUsual) {
        if (std::find(level.keys.begin(), level.keys.end(), level.key) != level.keys.end())
            return false;
        level.keys.push_back(level.key);
        return true;
    }
    for (const QByteArrayView key : level.keys)
        level.unusualKeys.insert(decoded(key));
    level.keys.clear();
    const qsizetype before = level.unusualKeys.size();
    level.unusualKeys.insert(decoded(level.key));
    return level.unusualKeys.size() > before;
}

void StrictScan::string()
{
    const qsizetype begin = m_at + 1;
    qsizetype end = begin;
    while (m_bytes[end] != '"')
        end += m_bytes[end] == '\\' ? 2 : 1;
    if (Level &object = level(); object.expectsKey) {
        object.expectsKey = false;
        object.key = QByteArrayView(m_bytes).sliced(begin, end - begin);
        if (!isNewKey(object))
            fault(QStringLiteral("design.duplicateKey"),
                  QStringLiteral("the key stands twice in this object; remove one of the two"));
    }
    checkString(begin, end);
    m_at = end;
}

QString StrictScan::decoded(QByteArrayView raw)
{
    if (!raw.contains('\\'))
        return QString::fromUtf8(raw);
    return QJsonDocument::fromJson("[\"" + raw.toByteArray() + "\"]").array().at(0).toString();
}

// RFC 8259, section 7: control characters are escaped. Section 8.2: a lone surrogate has no UTF-8 form, so two
// different texts would get the same bytes in the canonical form.
void StrictScan::checkString(qsizetype begin, qsizetype end)
{
    bool hasControl = false;
    bool hasUnknownEscape = false;
    bool hasLoneSurrogate = false;
    for (qsizetype i = begin; i < end; ++i) {
        const auto c = static_cast<unsigned char>(m_bytes[i]);
        hasControl = hasControl || c < 0x20;
        m_line += c == '\n' ? 1 : 0;
        if (c != '\\')
            continue;
        ++i;
        hasUnknownEscape =
            hasUnknownEscape || std::string_view("\"\\/bfnrtu").find(m_bytes[i]) == std::string_view::npos;
        if (m_bytes[i] != 'u')
            continue;
        const int unit = hex(i + 1);
        i += 4;
        if ((unit & 0xF800) != 0xD800)
            continue;
        const bool isPair = (unit & 0xFC00) == 0xD800 && i + 6 < end && m_bytes[i + 1] == '\\' && m_bytes[i + 2] == 'u'
            && (hex(i + 3) & 0xFC00) == 0xDC00;
        hasLoneSurrogate = hasLoneSurrogate || !isPair;
        i += isPair ? 6 : 0;
    }
    if (hasControl)
        fault(QStringLiteral("design.syntax"),
              QStringLiteral("a control character stands unescaped in this text; write it as \\n, \\t or \\uXXXX"));
    if (hasUnknownEscape)
        fault(QStringLiteral("design.syntax"),
              QStringLiteral("an unknown escape stands in this text; a backslash itself is written \\\\"));
    if (hasLoneSurrogate)
        fault(QStringLiteral("design.syntax"),
              QStringLiteral("half of a surrogate pair (\\uD800 to \\uDFFF) is no character; write both halves"));
}

QString StrictScan::pointer() const
{
    QString pointer;
    for (std::size_t i = 0; i < m_depth; ++i) {
        const Level &at = m_levels[i];
        pointer += QLatin1Char('/') + (at.isObject ? escapedForPointer(decoded(at.key)) : QString::number(at.index));
    }
    return pointer;
}

QString syntaxMessage(const QByteArray &bytes, const QJsonParseError &error)
{
    if (bytes.trimmed().isEmpty())
        return QStringLiteral("the file is empty; it needs a JSON object");
    if (bytes.count('\0') == bytes.size())
        return QStringLiteral("the file holds only zero bytes: it was damaged; restore it");
    if (error.error == QJsonParseError::DeepNesting)
        return QStringLiteral("brackets are nested too deeply; no part of a design needs more than ten levels");
    const qsizetype column = error.offset - bytes.lastIndexOf('\n', std::max(0, error.offset - 1));
    return QStringLiteral("no valid JSON: %1 near column %2; correct the text there")
        .arg(error.errorString())
        .arg(column);
}

} // namespace

QString escapedForPointer(QStringView key)
{
    QString escaped = key.toString();
    escaped.replace(QLatin1Char('~'), QStringLiteral("~0"));
    return escaped.replace(QLatin1Char('/'), QStringLiteral("~1"));
}

bool checkUtf8(const QByteArray &bytes, const QString &path, FaultList &faults)
{
    if (bytes.isValidUtf8())
        return true;
    int line = 0;
    // No byte of a longer sequence equals a line feed, so lines can be judged one by one.
    for (const QByteArray &text : bytes.split('\n')) {
        ++line;
        if (!text.isValidUtf8())
            break;
    }
    faults.add({path,
                {},
                line,
                QStringLiteral("design.notUtf8"),
                QStringLiteral("the text is not UTF-8; save the file as UTF-8")});
    return false;
}

std::optional<QJsonObject> readJsonText(const QByteArray &bytes, const QString &path, FaultList &faults)
{
    if (!checkUtf8(bytes, path, faults))
        return std::nullopt;
    QJsonParseError error;
    const QJsonDocument document = QJsonDocument::fromJson(bytes, &error);
    if (error.error != QJsonParseError::NoError) {
        faults.add(
            {path, {}, lineAt(bytes, error.offset), QStringLiteral("design.syntax"), syntaxMessage(bytes, error)});
        return std::nullopt;
    }
    StrictScan(bytes, path, faults).run();
    if (document.isObject())
        return document.object();
    faults.add({path,
                {},
                1,
                QStringLiteral("design.wrongType"),
                QStringLiteral("the file must hold a JSON object, { ... }, not a list")});
    return std::nullopt;
}

} // namespace gridloom
