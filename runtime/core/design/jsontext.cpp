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
        int index = 0; // arrays
        QString key;   // objects: the member being read
        QSet<QString> keys;
    };
    void open(bool isObject) { m_levels.push_back({isObject, isObject, 0, {}, {}}); }
    void comma();
    void string();
    QString decoded(qsizetype begin, qsizetype end) const;
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
        case ']': m_levels.pop_back(); break;
        case ',': comma(); break;
        case '"': string(); break;
        default: break;
        }
    }
}

void StrictScan::comma()
{
    Level &level = m_levels.back();
    level.expectsKey = level.isObject;
    ++level.index;
}

void StrictScan::string()
{
    const qsizetype begin = m_at + 1;
    qsizetype end = begin;
    while (m_bytes[end] != '"')
        end += m_bytes[end] == '\\' ? 2 : 1;
    Level &level = m_levels.back();
    if (level.expectsKey) {
        level.expectsKey = false;
        level.key = decoded(begin, end);
        const qsizetype before = level.keys.size();
        level.keys.insert(level.key);
        if (level.keys.size() == before)
            fault(QStringLiteral("design.duplicateKey"),
                  QStringLiteral("the key stands twice in this object; remove one of the two"));
    }
    checkString(begin, end);
    m_at = end;
}

QString StrictScan::decoded(qsizetype begin, qsizetype end) const
{
    const QByteArray raw = m_bytes.mid(begin, end - begin);
    if (!raw.contains('\\'))
        return QString::fromUtf8(raw);
    return QJsonDocument::fromJson("[\"" + raw + "\"]").array().at(0).toString();
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
    for (const Level &level : m_levels)
        pointer += QLatin1Char('/') + (level.isObject ? escapedForPointer(level.key) : QString::number(level.index));
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
