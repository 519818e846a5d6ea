// SPDX-License-Identifier: Apache-2.0
// gridloom-microbench: times single parts of the runtime, and the runtime as a whole under loads of one kind.
#include "bench/microbench.h"
#include "tools/bench/measurement.h"
#include "tools/bench/report.h"

#include <QCommandLineParser>
#include <QCoreApplication>
#include <QJsonDocument>

#include <algorithm>
#include <cstdio>

namespace {

using namespace gridloom;

constexpr int kUsage = 2;

struct MicroBench {
    const char *name;
    Result<MicroBenchResult> (*run)(const MicroBenchOptions &);
    const char *what;
};
constexpr MicroBench kBenches[] = {
    {"acquire", benchAcquire, "Modbus TCP from decode to store, and 100,000 points at 1 s"},
    {"allocations", benchAllocations, "allocations of each thread of gridloomd under the load of S6"},
    {"points", benchPoints, "memory of a point and time of a start, with 100,000 points"},
    {"store", benchStore, "the embedded store: appending, reading meanwhile, bytes of a sample on disk"},
    {"triggers", benchTriggers, "evaluations of scripts, and runs with all four effects"},
};

void printHelp(std::FILE *out)
{
    std::fputs("Usage: gridloom-microbench NAME [--seconds N] [--json FILE] [--check]\n\n", out);
    for (const MicroBench &bench : kBenches)
        std::fprintf(out, "%-12s %s\n", bench.name, bench.what);
    std::fputs("\n--seconds N  length of what is timed, where that is by time\n"
               "--json FILE  writes the figures as JSON; - is stdout\n"
               "--check      prints each bound beside the value; exit code 1 when one is missed\n",
               out);
}

int usageError(const QString &what)
{
    std::fprintf(stderr, "gridloom-microbench: %s\n\n", qPrintable(what));
    printHelp(stderr);
    return kUsage;
}

int run(const MicroBench &bench, const MicroBenchOptions &options, const QString &jsonFile, bool isChecking)
{
    const auto result = bench.run(options);
    if (!result) {
        printError(result.error());
        return 1;
    }
    printText(result.value().text, jsonFile);
    const std::vector<Bound> &bounds = result.value().bounds;
    const std::vector<Identity> &identities = result.value().identities;
    bool isGood = allHold(identities);
    if (isChecking) {
        printText(checkText(bounds, identities), jsonFile);
        isGood = isGood && std::all_of(bounds.begin(), bounds.end(), [](const Bound &b) { return b.isMet(); });
    }
    for (const Identity &identity : identities)
        if (!identity.holds())
            std::fprintf(stderr, "gridloom-microbench: does not add up: %s: %llu and %llu\n", qPrintable(identity.text),
                         static_cast<unsigned long long>(identity.left),
                         static_cast<unsigned long long>(identity.right));
    const QJsonObject json{{QLatin1String(bench.name), result.value().json}};
    if (const auto written = writeJsonFile(jsonFile, QJsonDocument(json).toJson()); !written) {
        printError(written.error());
        isGood = false;
    }
    return isGood ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
    QCoreApplication app(argc, argv);
    QCommandLineParser parser;
    parser.addOptions({{QStringLiteral("seconds"), QString(), QStringLiteral("N"), QStringLiteral("0")},
                       {QStringLiteral("json"), QString(), QStringLiteral("FILE")},
                       {QStringLiteral("check"), QString()},
                       {QStringLiteral("help"), QString()}});
    if (!parser.parse(app.arguments()))
        return usageError(parser.errorText());
    if (parser.isSet(QStringLiteral("help"))) {
        printHelp(stdout);
        return 0;
    }
    bool isNumber = false;
    const int seconds = parser.value(QStringLiteral("seconds")).toInt(&isNumber);
    if (!isNumber || seconds < 0)
        return usageError(QStringLiteral("--seconds must be a whole number"));
    const QStringList words = parser.positionalArguments();
    const auto *bench = std::find_if(std::begin(kBenches), std::end(kBenches), [&words](const MicroBench &b) {
        return words.size() == 1 && words[0] == QLatin1String(b.name);
    });
    if (bench == std::end(kBenches))
        return usageError(QStringLiteral("say which bench"));
    const Interrupt interrupt;
    return run(*bench, {seconds, interrupt}, parser.value(QStringLiteral("json")),
               parser.isSet(QStringLiteral("check")));
}
