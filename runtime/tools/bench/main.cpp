// SPDX-License-Identifier: Apache-2.0
// gridloom-bench: the demo, the performance test and the counting process of both.
#include "core/json.h"
#include "tools/bench/measurement.h"
#include "tools/bench/outside.h"
#include "tools/bench/run.h"

#include <QCommandLineParser>
#include <QCoreApplication>

#include <cstdio>

namespace {

using namespace gridloom;

constexpr int kUsage = 2;
constexpr int kLongestS = 7 * 24 * 3600;
constexpr int kMostBusyLoops = 64;

constexpr char kHelp[] =
    "Usage: gridloom-bench demo [--seconds N] [--json FILE] [--headless] [--speed N]\n"
    "       gridloom-bench run SCENARIO [--seconds N] [--busy N] [--low-wear] [--json FILE] [--check]\n"
    "       gridloom-bench count-rows STORE-FOLDER\n"
    "\n"
    "demo        starts a broker, simulated devices and the runtime with the sample site, shows it live\n"
    "run         runs a load scenario (S1, S2, S2.5, S3, S3.5, S6) and measures it\n"
    "count-rows  counts the rows of an embedded store, as JSON\n"
    "\n"
    "--seconds N  how long: the demo's run (default 60, 0: until Ctrl+C), the measuring window (default 60)\n"
    "--busy N     N processes that never rest run beside it: how punctual is the 100 ms class\n"
    "--low-wear   the runtime in its low-wear profile: fewer, larger writes to the disk\n"
    "--json FILE  writes the result as JSON; - is stdout\n"
    "--headless   one line a second instead of a screen\n"
    "--speed N    runtime and simulated devices run N times as fast (1 to 100)\n"
    "--check      prints each bound beside the value; exit code 1 when one is missed\n"
    "\n"
    "Exit codes: 0 all accounts add up, 1 one does not or something could not run, 2 wrong usage, 130 interrupted.\n"
    "Files of a run lie in $TMPDIR (default /var/tmp) and are removed, unless an account does not add up.\n";

int usageError(const QString &what)
{
    std::fprintf(stderr, "gridloom-bench: %s\n\n%s", qPrintable(what), kHelp);
    return kUsage;
}

int countRows(const QString &folder)
{
    const auto count = countStoreRows(folder);
    if (!count) {
        printError(count.error());
        return 1;
    }
    JsonWriter w;
    w.beginObject().key("rows").unsignedInteger(count.value().rows);
    w.key("triggerRows").unsignedInteger(count.value().triggerRows);
    w.key("triggerRuns").unsignedInteger(count.value().triggerRuns).endObject();
    std::puts(w.text().constData());
    return 0;
}

int run(const QCommandLineParser &parser, const Interrupt &interrupt)
{
    const QStringList words = parser.positionalArguments();
    const QString command = words.value(0);
    const auto isSet = [&parser](const char *name) { return parser.isSet(QLatin1String(name)); };
    const auto value = [&parser](const char *name) { return parser.value(QLatin1String(name)); };
    bool isNumber = false;
    const int seconds = value("seconds").toInt(&isNumber);
    const bool isDemo = command == QLatin1String("demo");
    if (!isNumber || seconds < (isDemo ? 0 : 1) || seconds > kLongestS)
        return usageError(QStringLiteral("--seconds must be a whole number up to %1").arg(kLongestS));
    if (isDemo) {
        const double speed = value("speed").toDouble(&isNumber);
        if (!isNumber || speed < 1 || speed > 100)
            return usageError(QStringLiteral("--speed must be a number from 1 to 100"));
        if (words.size() != 1 || isSet("check") || isSet("busy") || isSet("low-wear"))
            return usageError(QStringLiteral("demo takes no scenario, and none of --check, --busy and --low-wear"));
        return runDemo({seconds, speed, isSet("headless"), value("json")}, interrupt);
    }
    if (command == QLatin1String("run")) {
        if (words.size() != 2 || isSet("headless") || isSet("speed"))
            return usageError(QStringLiteral("run takes one scenario, and neither --headless nor --speed"));
        const int busy = value("busy").toInt(&isNumber);
        if (!isNumber || busy < 0 || busy > kMostBusyLoops)
            return usageError(QStringLiteral("--busy must be a whole number up to %1").arg(kMostBusyLoops));
        return runBench({words[1], seconds, busy, isSet("low-wear"), isSet("check"), value("json")}, interrupt);
    }
    if (command == QLatin1String("count-rows") && words.size() == 2)
        return countRows(words[1]);
    return usageError(QStringLiteral("say demo, run or count-rows, each with its arguments"));
}

} // namespace

int main(int argc, char **argv)
{
    QCoreApplication app(argc, argv);
    QCommandLineParser parser;
    parser.addOptions({{QStringLiteral("seconds"), QString(), QStringLiteral("N"), QStringLiteral("60")},
                       {QStringLiteral("json"), QString(), QStringLiteral("FILE")},
                       {QStringLiteral("speed"), QString(), QStringLiteral("N"), QStringLiteral("1")},
                       {QStringLiteral("busy"), QString(), QStringLiteral("N"), QStringLiteral("0")},
                       {QStringLiteral("low-wear"), QString()},
                       {QStringLiteral("headless"), QString()},
                       {QStringLiteral("check"), QString()},
                       {QStringLiteral("help"), QString()},
                       {QStringLiteral("version"), QString()}});
    if (!parser.parse(app.arguments()))
        return usageError(parser.errorText());
    if (parser.isSet(QStringLiteral("help"))) {
        std::fputs(kHelp, stdout);
        return 0;
    }
    if (parser.isSet(QStringLiteral("version"))) {
        std::puts("gridloom-bench " GRIDLOOM_VERSION);
        return 0;
    }
    const Interrupt interrupt;
    return run(parser, interrupt);
}
