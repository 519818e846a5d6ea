// SPDX-License-Identifier: Apache-2.0
// gridloom-sim: simulated Modbus TCP devices; docs/simulator.md is its manual.
#include "tools/sim/simulation.h"
#include "tools/sim/statssocket.h"
#include "tools/sim/terminationsignal.h"

#include <QCommandLineParser>
#include <QCoreApplication>
#include <QFile>
#include <QSaveFile>
#include <QTimer>

#include <csignal>
#include <cstdio>
#include <sys/prctl.h>
#include <sys/resource.h>

using namespace gridloom;

namespace {

enum ExitCode : int { kStopped = 0, kFailed = 1, kUsage = 2, kBadScenario = 3 };

constexpr double kMostSpeed = 1000;

struct Options {
    QString scenario;
    QString portFile;
    QString report;
    QString statsSocket;
    QString profiles;
    double speed = 1;
};

void complain(const Error &error)
{
    std::fprintf(stderr, "gridloom-sim: %s\n", qUtf8Printable(error.message));
}

/// Ends the process for --help, --version and wrong use.
Options readOptions(QCommandLineParser &parser)
{
    parser.setApplicationDescription(QStringLiteral("Simulated Modbus TCP devices of an energy site."));
    parser.addHelpOption();
    parser.addVersionOption();
    const auto add = [&](const char *name, const char *text, const char *value, const QString &byDefault = {}) {
        parser.addOption({QLatin1String(name), QLatin1String(text), QLatin1String(value), byDefault});
    };
    add("scenario", "The site and its devices.", "FILE.json");
    add("speed", "Simulated seconds per second, up to 1000.", "N", QStringLiteral("1"));
    add("port-file", "Where the ports of the devices are written.", "FILE");
    add("report", "Where the counters are written at the end.", "FILE");
    add("stats-socket", "A local socket that gives the counters once a second.", "PATH");
    add("profiles", "Folder of the load and solar profiles.", "DIR",
        QCoreApplication::applicationDirPath() + QLatin1String("/../share/gridloom/profiles"));
    if (!parser.parse(QCoreApplication::arguments())) {
        complain({{}, parser.errorText(), false});
        std::exit(kUsage);
    }
    if (parser.isSet(QStringLiteral("version")))
        parser.showVersion();
    if (parser.isSet(QStringLiteral("help")))
        parser.showHelp(kStopped);

    Options options{parser.value(QStringLiteral("scenario")), parser.value(QStringLiteral("port-file")),
                    parser.value(QStringLiteral("report")),   parser.value(QStringLiteral("stats-socket")),
                    parser.value(QStringLiteral("profiles")), 0};
    bool isNumber = false;
    options.speed = parser.value(QStringLiteral("speed")).toDouble(&isNumber);
    const bool isSpeed = isNumber && options.speed > 0 && options.speed <= kMostSpeed;
    if (options.scenario.isEmpty() || !parser.positionalArguments().isEmpty() || !isSpeed) {
        complain({{},
                  isSpeed ? QStringLiteral("--scenario FILE.json is needed, and nothing beside the options; see --help")
                          : QStringLiteral("--speed takes a number above 0, up to 1000"),
                  false});
        std::exit(kUsage);
    }
    return options;
}

/// The old file or the new one, never a part: whoever waits for it may read at any moment.
Result<void> writeWhole(const QString &path, const QByteArray &content)
{
    QSaveFile file(path);
    if (file.open(QIODevice::WriteOnly) && file.write(content) == content.size() && file.commit())
        return {};
    return Error{QStringLiteral("sim.file"), QStringLiteral("%1 cannot be written: %2").arg(path, file.errorString())};
}

/// A scenario may have 1,000 listeners and as many clients; the usual limit is 1,024 descriptors.
void allowManySockets()
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

Result<SimScenario> readScenario(const QString &path)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return Error{QStringLiteral("sim.scenario"),
                     QStringLiteral("%1 cannot be read: %2").arg(path, file.errorString())};
    return parseSimScenario(file.readAll(), path);
}

Result<void> run(const Options &options, Simulation &simulation, TerminationSignal &termination)
{
    StatsSocket stats;
    if (auto started = simulation.start(options.profiles); !started)
        return started;
    if (!options.statsSocket.isEmpty())
        if (auto opened = stats.open(options.statsSocket); !opened)
            return opened;
    if (!options.portFile.isEmpty())
        if (auto written = writeWhole(options.portFile, simulation.portMap() + '\n'); !written)
            return written;

    QTimer everySecond;
    QObject::connect(&everySecond, &QTimer::timeout, &stats, [&] {
        simulation.advance();
        if (!options.statsSocket.isEmpty())
            stats.publish(simulation.report());
    });
    everySecond.start(std::chrono::seconds(1));
    QObject::connect(&termination, &TerminationSignal::received, qApp, &QCoreApplication::quit);
    std::puts("ready");
    std::fflush(stdout);
    QCoreApplication::exec();
    return options.report.isEmpty() ? Result<void>() : writeWhole(options.report, simulation.report() + '\n');
}

} // namespace

int main(int argc, char **argv)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    allowManySockets();
    QCoreApplication app(argc, argv);
    QCoreApplication::setApplicationName(QStringLiteral("gridloom-sim"));
    QCoreApplication::setApplicationVersion(QStringLiteral(GRIDLOOM_VERSION));
    TerminationSignal termination;
    QCommandLineParser parser;
    const Options options = readOptions(parser);

    auto scenario = readScenario(options.scenario);
    if (!scenario) {
        complain(scenario.error());
        return kBadScenario;
    }
    const ScaledClock clock(options.speed);
    Simulation simulation(std::move(scenario).value(), clock);
    if (const auto ended = run(options, simulation, termination); !ended) {
        complain(ended.error());
        return kFailed;
    }
    return kStopped;
}
