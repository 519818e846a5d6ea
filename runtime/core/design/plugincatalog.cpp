// SPDX-License-Identifier: Apache-2.0
#include "core/design/plugincatalog.h"

#include "core/design/nearestname.h"

#include <QJsonArray>

namespace gridloom {

namespace {

bool hasType(const QJsonValue &value, const QString &type)
{
    if (type == QLatin1String("string"))
        return value.isString();
    if (type == QLatin1String("boolean"))
        return value.isBool();
    if (type == QLatin1String("integer"))
        return value.isDouble() && value.toInteger(0) == value.toInteger(1);
    if (type == QLatin1String("number"))
        return value.isDouble() && std::isfinite(value.toDouble());
    if (type == QLatin1String("object"))
        return value.isObject();
    return type == QLatin1String("array") && value.isArray();
}

QString described(const QJsonValue &value, const QJsonObject &rule)
{
    const QString unit = rule.value(u"unit").toString();
    return unit.isEmpty() ? describe(value) : describe(value) + QLatin1Char(' ') + unit;
}

void checkParam(ObjectReader &params, const QString &name, const QJsonValue &value, const QJsonObject &rule)
{
    const QString type = rule.value(u"type").toString();
    if (!hasType(value, type)) {
        const QString expected = type == QLatin1String("integer") ? QStringLiteral("a whole number") : type;
        params.fault(name, "design.wrongType", QStringLiteral("must be %1, not %2").arg(expected, describe(value)));
        return;
    }
    const QJsonValue min = rule.value(u"min");
    const QJsonValue max = rule.value(u"max");
    const bool isBelow = min.isDouble() && value.isDouble() && value.toDouble() < min.toDouble();
    const bool isAbove = max.isDouble() && value.isDouble() && value.toDouble() > max.toDouble();
    if (isBelow || isAbove) {
        params.fault(name, "design.outOfRange",
                     QStringLiteral("%1 is %2 %3; choose a value inside the range")
                         .arg(describe(value),
                              isBelow ? QStringLiteral("below the least,") : QStringLiteral("above the most,"),
                              described(isBelow ? min : max, rule)));
    }
    const QJsonArray words = rule.value(u"enum").toArray();
    if (!words.isEmpty() && !words.contains(value)) {
        QStringList known;
        for (const QJsonValue &word : words)
            known.append(describe(word));
        params.fault(
            name, "design.unknownWord",
            QStringLiteral("unknown: %1; use one of %2").arg(describe(value), known.join(QStringLiteral(", "))));
    }
}

} // namespace

const QJsonObject *PluginCatalog::find(const QString &kind, const QString &id) const
{
    const auto it = m_manifests.find(kind + QLatin1Char('/') + id);
    return it == m_manifests.end() ? nullptr : &it->second;
}

const QJsonObject *PluginCatalog::read(ObjectReader &reader, QStringView key, const QString &kind, QString &id) const
{
    id = reader.text(key, 64);
    if (id.isEmpty())
        return nullptr;
    const QJsonObject *manifest = find(kind, id);
    if (manifest)
        return manifest;
    QStringList known;
    for (const auto &[name, unused] : m_manifests)
        if (name.startsWith(kind + QLatin1Char('/')))
            known.append(name.mid(kind.size() + 1));
    reader.fault(key, "design.unknownPlugin",
                 QStringLiteral("there is no %1 plugin %2%3; install it or use one of: %4")
                     .arg(kind, describe(id), suggestion(id, known),
                          known.isEmpty() ? QStringLiteral("(none is installed)") : known.join(QStringLiteral(", "))));
    return nullptr;
}

QJsonObject PluginCatalog::params(ObjectReader &reader, QStringView key, const QJsonObject *manifest,
                                  const QString &description)
{
    const std::size_t before = reader.faults().total();
    const QJsonObject given = reader.object(key);
    if (!manifest || reader.faults().total() != before)
        return given;
    const QJsonObject rules = manifest->value(description).toObject();
    QJsonObject complete = given;
    ObjectReader params(given, reader.path(), reader.pointerOf(key), reader.faults());
    const QStringList names = rules.keys();
    for (const QString &name : names) {
        const QJsonObject rule = rules.value(name).toObject();
        const QJsonValue value = params.any(name);
        if (!value.isUndefined())
            checkParam(params, name, value, rule);
        else if (rule.contains(u"default"))
            complete.insert(name, rule.value(u"default"));
        else if (rule.value(u"required").toBool())
            params.fault(name, "design.missing", QStringLiteral("\"%1\" is missing; the plugin needs it").arg(name));
    }
    params.finish();
    return complete;
}

QString PluginCatalog::addressPattern(const QString &driver) const
{
    const QJsonObject *manifest = find(QStringLiteral("driver"), driver);
    return manifest ? manifest->value(u"addressPattern").toString() : QString();
}

bool PluginCatalog::isAddress(const QString &driver, const QString &address)
{
    auto it = m_patterns.find(driver);
    if (it == m_patterns.end()) {
        const QString pattern = addressPattern(driver);
        it = m_patterns.insert(
            driver, QRegularExpression(pattern.isEmpty() ? pattern : QRegularExpression::anchoredPattern(pattern)));
    }
    return it->pattern().isEmpty() || it->match(address).hasMatch();
}

} // namespace gridloom
