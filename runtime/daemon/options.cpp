// SPDX-License-Identifier: Apache-2.0
#include "daemon/options.h"

#include <QCommandLineParser>
#include <QDir>
#include <QFileInfo>
#include <QProcessEnvironment>
#include <QSettings>

namespace gridloom {

namespace {
constexpr int kUsage = 2;

struct Setting {
    const char *option; ///< command line
    const char *key;    ///< "section/key" of the configuration file
    QString value;      ///< built-in
    QString help;
    QString placeholder;
};

QList<Setting> settings(const QString &applicationDir)
{
    const QString state = qEnvironmentVariable("STATE_DIRECTORY", QStringLiteral("/var/lib/gridloom"));
    const auto s = [](const char *text) { return QString::fromLatin1(text); };
    return {
        {"design", "runtime/design", state + s("/design"), s("Design folder to run."), s("DIR")},
        {"state-dir", "runtime/stateDir", state, s("Folder of history and records."), s("DIR")},
        {"plugin-dir", "runtime/pluginDir", QDir::cleanPath(applicationDir + s("/../lib/gridloom/plugins")),
         s("Folder of the plugins."), s("DIR")},
        {"status-socket", "status/socket", {}, s("Local socket that gets one JSON status line a second."), s("PATH")},
        {"report", "status/report", {}, s("File that gets the last status line at exit."), s("FILE")},
        {"status-points",
         "status/points",
         {},
         s("Points whose values each status line carries, comma separated."),
         s("A.B,..")},
        {"speed", "runtime/speed", s("1"), s("Run the clock so many times as fast (0.1 to 1000)."), s("N")},
        {"durable-commit-ms", "records/durableCommitMs", s("0"),
         s("Low-wear profile: one group commit in so many ms (0: at once)."), s("N")},
    };
}

QString environmentName(const char *key)
{
    return QStringLiteral("GRIDLOOM_")
        + QString::fromLatin1(key).toUpper().replace(QLatin1Char('/'), QLatin1String("__"));
}

QString numberFault(const Options &options, bool isSpeedNumber, bool isCommitNumber)
{
    if (!isSpeedNumber || !(options.speed >= 0.1 && options.speed <= 1000)) // also refuses nan
        return QStringLiteral("--speed must be a number from 0.1 to 1000.");
    if (!isCommitNumber || options.durableCommitMs < 0 || options.durableCommitMs > 1'000)
        return QStringLiteral("--durable-commit-ms must be a whole number from 0 to 1000.");
    return {};
}
} // namespace

OptionsResult readOptions(const QStringList &arguments, const QString &applicationDir)
{
    QList<Setting> list = settings(applicationDir);
    QCommandLineParser parser;
    parser.setApplicationDescription(
        QStringLiteral("Gridloom runtime: acquires, aggregates, triggers, controls, stores."));
    for (const Setting &s : list)
        parser.addOption({QString::fromLatin1(s.option), s.help, s.placeholder});
    parser.addOption({QStringLiteral("config"), QStringLiteral("Configuration file (INI)."), QStringLiteral("FILE"),
                      QStringLiteral("/etc/gridloom/gridloomd.conf")});
    parser.addOption({QStringLiteral("check"), QStringLiteral("Check the design and exit: 0 right, 3 wrong.")});
    parser.addOption({QStringLiteral("print-config"), QStringLiteral("Show each setting with its origin and exit.")});
    parser.addOption({QStringLiteral("json"), QStringLiteral("With --check: the faults as JSON.")});
    const QCommandLineOption help(QStringLiteral("help"), QStringLiteral("Show this help."));
    const QCommandLineOption version(QStringLiteral("version"), QStringLiteral("Show the version."));
    parser.addOptions({help, version});
    if (!parser.parse(arguments))
        return {std::nullopt, kUsage, parser.errorText()};
    if (parser.isSet(help))
        return {std::nullopt, 0, parser.helpText()};
    if (parser.isSet(version))
        return {std::nullopt, 0,
                QStringLiteral("gridloomd " GRIDLOOM_VERSION " (Qt %1)").arg(QLatin1String(qVersion()))};
    if (!parser.positionalArguments().isEmpty())
        return {std::nullopt, kUsage,
                QStringLiteral("Unexpected argument \"%1\". See --help.").arg(parser.positionalArguments().first())};

    Options options;
    options.configFile = parser.value(QStringLiteral("config"));
    if (parser.isSet(QStringLiteral("config")) && !QFileInfo::exists(options.configFile))
        return {std::nullopt, kUsage, QStringLiteral("Configuration file %1 does not exist.").arg(options.configFile)};
    const QSettings file(options.configFile, QSettings::IniFormat);
    QHash<QString, QString> value;
    for (const Setting &s : list) {
        Options::Origin origin{QString::fromLatin1(s.key), s.value, QStringLiteral("built-in")};
        if (file.contains(origin.key))
            origin = {origin.key, file.value(origin.key).toStringList().join(QLatin1Char(',')), options.configFile};
        const QString variable = environmentName(s.key);
        if (qEnvironmentVariableIsSet(variable.toLatin1().constData()))
            origin = {origin.key, qEnvironmentVariable(variable.toLatin1().constData()), variable};
        if (const QString option = QString::fromLatin1(s.option); parser.isSet(option))
            origin = {origin.key, parser.value(option), QStringLiteral("command line")};
        value[QString::fromLatin1(s.option)] = origin.value;
        options.origins.append(origin);
    }
    const auto get = [&](const char *option) { return value[QLatin1String(option)]; };
    options.design = get("design");
    options.stateDir = get("state-dir");
    options.pluginDir = get("plugin-dir");
    options.statusSocket = get("status-socket");
    options.report = get("report");
    options.statusPoints = get("status-points").split(QLatin1Char(','), Qt::SkipEmptyParts);
    bool isSpeedNumber = false;
    bool isCommitNumber = false;
    options.speed = get("speed").toDouble(&isSpeedNumber);
    options.durableCommitMs = get("durable-commit-ms").toInt(&isCommitNumber);
    options.isCheck = parser.isSet(QStringLiteral("check"));
    options.isPrintConfig = parser.isSet(QStringLiteral("print-config"));
    options.isJson = parser.isSet(QStringLiteral("json"));
    if (const QString fault = numberFault(options, isSpeedNumber, isCommitNumber); !fault.isEmpty())
        return {std::nullopt, kUsage, fault};
    return {options, 0, {}};
}

} // namespace gridloom
