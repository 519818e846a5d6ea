// SPDX-License-Identifier: Apache-2.0
#include "core/design/objectreader.h"

#include "core/design/designnames.h"
#include "core/design/jsontext.h"
#include "core/design/nearestname.h"
#include "core/json.h"

#include <QJsonArray>
#include <QSet>

namespace gridloom {

namespace {
constexpr Milliseconds kLongestDuration = std::chrono::hours(24 * 366);
}

QString describe(const QJsonValue &value)
{
    constexpr qsizetype kShown = 40;
    if (value.isUndefined())
        return QStringLiteral("nothing");
    if (value.isObject())
        return QStringLiteral("an object");
    if (value.isArray())
        return QStringLiteral("a list");
    JsonWriter w;
    if (value.isString() && value.toString().size() > kShown)
        return QString::fromUtf8(w.string(value.toString().left(kShown)).text()) + QStringLiteral("...");
    return QString::fromUtf8(w.json(value).text());
}

ObjectReader::ObjectReader(QJsonObject object, const QString &path, QString pointer, FaultList &faults)
    : m_object(std::move(object)), m_path(path), m_pointer(std::move(pointer)), m_faults(faults)
{
    constexpr std::size_t kUsualKeys = 16;
    m_asked.reserve(kUsualKeys);
}

QString ObjectReader::pointerOf(QStringView key) const
{
    return key.isEmpty() ? m_pointer : m_pointer + QLatin1Char('/') + escapedForPointer(key);
}

void ObjectReader::fault(QStringView key, const char *code, const QString &message)
{
    faultAt(pointerOf(key), code, message);
}

void ObjectReader::faultAt(const QString &pointer, const char *code, const QString &message)
{
    m_faults.add({m_path, pointer, 0, QString::fromLatin1(code), message});
}

QJsonValue ObjectReader::take(QStringView key)
{
    m_asked.push_back(key);
    return m_object.value(key);
}

QJsonValue ObjectReader::takeRequired(QStringView key)
{
    const QJsonValue value = take(key);
    if (value.isUndefined())
        fault(key, "design.missing", QStringLiteral("\"%1\" is missing; add it").arg(key));
    return value;
}

void ObjectReader::wrongType(QStringView key, const QString &expected, const QJsonValue &found)
{
    fault(key, "design.wrongType", QStringLiteral("must be %1, not %2").arg(expected, describe(found)));
}

void ObjectReader::unknownWord(QStringView key, const QString &word, const QStringList &words)
{
    fault(key, "design.unknownWord",
          QStringLiteral("unknown: %1%2; use one of %3")
              .arg(describe(word), suggestion(word, words), words.join(QStringLiteral(", "))));
}

std::optional<QString> ObjectReader::boundedText(QStringView key, const QJsonValue &value, qsizetype longest)
{
    if (value.isUndefined())
        return std::nullopt;
    if (!value.isString()) {
        wrongType(key, QStringLiteral("a text"), value);
        return std::nullopt;
    }
    const QString text = value.toString();
    if (text.size() > longest) {
        fault(key, "design.tooLong",
              QStringLiteral("has %1 characters; shorten it to at most %2").arg(text.size()).arg(longest));
        return std::nullopt;
    }
    return text;
}

QString ObjectReader::text(QStringView key, qsizetype longest)
{
    const auto text = boundedText(key, takeRequired(key), longest);
    if (text && text->isEmpty())
        fault(key, "design.missing", QStringLiteral("the text is empty; fill it in"));
    return text.value_or(QString());
}

QString ObjectReader::text(QStringView key, const QString &byDefault, qsizetype longest)
{
    return boundedText(key, take(key), longest).value_or(byDefault);
}

QString ObjectReader::id(QStringView key)
{
    const QJsonValue value = takeRequired(key);
    if (value.isUndefined())
        return {};
    if (value.isString() && isValidId(value.toString()))
        return value.toString();
    fault(key, "design.badId",
          QStringLiteral("%1 is no id; use 1 to 63 of a-z, 0-9 and -, not starting with -").arg(describe(value)));
    return {};
}

QString ObjectReader::name(QStringView key)
{
    const QJsonValue value = takeRequired(key);
    if (value.isUndefined())
        return {};
    if (!value.isString()) {
        wrongType(key, QStringLiteral("a text"), value);
        return {};
    }
    const QString problem = nameProblem(value.toString());
    if (problem.isEmpty())
        return value.toString();
    fault(key, "design.badName", problem);
    return {};
}

bool ObjectReader::boolean(QStringView key, bool byDefault)
{
    const QJsonValue value = take(key);
    if (!value.isUndefined() && !value.isBool())
        wrongType(key, QStringLiteral("true or false"), value);
    return value.toBool(byDefault);
}

std::optional<std::int64_t> ObjectReader::wholeNumber(QStringView key, const QJsonValue &value, std::int64_t min,
                                                      std::int64_t max)
{
    if (value.isUndefined())
        return std::nullopt;
    // toInteger() answers its argument for a fraction, so two different arguments tell a fraction from a number.
    const qint64 whole = value.toInteger(0);
    if (!value.isDouble() || whole != value.toInteger(1)) {
        wrongType(key, QStringLiteral("a whole number from %1 to %2").arg(min).arg(max), value);
        return std::nullopt;
    }
    if (whole < min || whole > max) {
        fault(key, "design.outOfRange",
              QStringLiteral("%1 is outside %2 to %3; choose a number in that range").arg(whole).arg(min).arg(max));
        return std::nullopt;
    }
    return whole;
}

std::int64_t ObjectReader::integer(QStringView key, std::int64_t min, std::int64_t max)
{
    return wholeNumber(key, takeRequired(key), min, max).value_or(min);
}

std::int64_t ObjectReader::integer(QStringView key, std::int64_t min, std::int64_t max, std::int64_t byDefault)
{
    return wholeNumber(key, take(key), min, max).value_or(byDefault);
}

Milliseconds ObjectReader::duration(QStringView key, Milliseconds min)
{
    return Milliseconds(integer(key, min.count(), kLongestDuration.count()));
}

Milliseconds ObjectReader::duration(QStringView key, Milliseconds min, Milliseconds byDefault)
{
    return Milliseconds(integer(key, min.count(), kLongestDuration.count(), byDefault.count()));
}

std::optional<double> ObjectReader::finiteNumber(QStringView key, const QJsonValue &value)
{
    if (value.isUndefined())
        return std::nullopt;
    if (!value.isDouble() || !std::isfinite(value.toDouble())) {
        wrongType(key, QStringLiteral("a number"), value);
        return std::nullopt;
    }
    return value.toDouble();
}

double ObjectReader::number(QStringView key, double byDefault)
{
    return finiteNumber(key, take(key)).value_or(byDefault);
}

std::optional<double> ObjectReader::optionalNumber(QStringView key)
{
    return finiteNumber(key, take(key));
}

double ObjectReader::notNegative(QStringView key, double byDefault)
{
    const double value = number(key, byDefault);
    if (value >= 0)
        return value;
    fault(key, "design.outOfRange", QStringLiteral("%1 is below 0; choose 0 or more").arg(value));
    return byDefault;
}

QJsonValue ObjectReader::any(QStringView key)
{
    return take(key);
}

QJsonObject ObjectReader::object(QStringView key)
{
    const QJsonValue value = take(key);
    if (!value.isUndefined() && !value.isObject())
        wrongType(key, QStringLiteral("an object, { ... }"), value);
    return value.toObject();
}

std::optional<ObjectReader> ObjectReader::child(QStringView key)
{
    const QJsonObject value = object(key);
    if (!m_object.value(key).isObject())
        return std::nullopt;
    return ObjectReader(value, m_path, pointerOf(key), m_faults);
}

std::optional<QJsonArray> ObjectReader::boundedList(QStringView key, qsizetype longest)
{
    const QJsonValue value = take(key);
    if (value.isUndefined())
        return std::nullopt;
    if (!value.isArray()) {
        wrongType(key, QStringLiteral("a list, [ ... ]"), value);
        return std::nullopt;
    }
    const QJsonArray list = value.toArray();
    if (list.size() > longest) {
        fault(key, "design.tooMany",
              QStringLiteral("the list has %1 entries; at most %2 are allowed").arg(list.size()).arg(longest));
        return std::nullopt;
    }
    return list;
}

std::vector<ObjectReader> ObjectReader::children(QStringView key, qsizetype longest, bool isRequired)
{
    if (isRequired && !require(key))
        return {};
    const QJsonArray list = boundedList(key, longest).value_or(QJsonArray());
    std::vector<ObjectReader> readers;
    readers.reserve(static_cast<std::size_t>(list.size()));
    const QString base = pointerOf(key) + QLatin1Char('/');
    for (qsizetype i = 0; i < list.size(); ++i) {
        const QJsonValue item = list.at(i);
        const QString pointer = base + QString::number(i);
        if (item.isObject())
            readers.emplace_back(item.toObject(), m_path, pointer, m_faults);
        else
            faultAt(pointer, "design.wrongType",
                    QStringLiteral("must be an object, { ... }, not %1").arg(describe(item)));
    }
    return readers;
}

std::vector<PlacedText> ObjectReader::texts(QStringView key, qsizetype longest)
{
    const auto list = boundedList(key, longest);
    if (list && list->isEmpty())
        fault(key, "design.missing", QStringLiteral("the list is empty; fill it or leave \"%1\" out").arg(key));
    std::vector<PlacedText> texts;
    QSet<QString> seen;
    const QJsonArray items = list.value_or(QJsonArray());
    for (qsizetype i = 0; i < items.size(); ++i) {
        const QString pointer = pointerOf(key) + QLatin1Char('/') + QString::number(i);
        const QString text = items.at(i).toString();
        if (!items.at(i).isString()) {
            faultAt(pointer, "design.wrongType", QStringLiteral("must be a text, not %1").arg(describe(items.at(i))));
        } else if (seen.contains(text)) {
            faultAt(pointer, "design.duplicate",
                    QStringLiteral("%1 stands in the list twice; remove one").arg(describe(text)));
        } else {
            seen.insert(text);
            texts.push_back({text, pointer});
        }
    }
    return texts;
}

void ObjectReader::refuse(QStringView key, const QString &why)
{
    if (!take(key).isUndefined())
        fault(key, "design.notAllowed", QStringLiteral("\"%1\" %2; remove it").arg(key, why));
}

bool ObjectReader::require(QStringView key)
{
    return !takeRequired(key).isUndefined();
}

void ObjectReader::finish()
{
    for (auto it = m_object.constBegin(); it != m_object.constEnd(); ++it) {
        const QString key = it.key();
        if (std::find(m_asked.begin(), m_asked.end(), key) != m_asked.end())
            continue;
        QStringList absent; // a mistyped key is hardly one that stands there as well
        for (const QStringView known : m_asked)
            if (!m_object.contains(known))
                absent.append(known.toString());
        fault(key, "design.unknownKey",
              QStringLiteral("unknown key%1; correct or remove it")
                  .arg(m_faults.mayStillSuggest() ? suggestion(key, absent) : QString()));
    }
}

} // namespace gridloom
