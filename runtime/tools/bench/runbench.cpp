// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/coordinationgenerator.h"
#include "tools/bench/demoview.h"
#include "tools/bench/designgenerator.h"
#include "tools/bench/measurement.h"
#include "tools/bench/report.h"
#include "tools/bench/run.h"
#include "tools/bench/scenariofile.h"
#include "tools/procs/childprocess.h"

namespace gridloom {

namespace {

constexpr double kWarmUpS = 6;
constexpr int kProgressEveryLines = 10;

/// The warm-up and then the window: `seconds` status lines after the one that opens it.
class Window {
public:
    explicit Window(int seconds) : m_seconds(static_cast<std::uint64_t>(seconds)) {}

    bool see(const RuntimeStatus &status)
    {
        if (!opening && status.uptimeS >= kWarmUpS) {
            opening = status;
            openedAt = std::chrono::steady_clock::now();
        }
        isComplete = opening && status.sequence >= opening->sequence + m_seconds;
        return !isComplete;
    }

    std::optional<RuntimeStatus> opening;
    SteadyTime openedAt{};
    bool isComplete = false;

private:
    std::uint64_t m_seconds;
};

int conclude(const RunResult &result, const BenchOptions &options, Session &session)
{
    const std::vector<Identity> identities = reconcile(result.final, result.outside);
    bool isGood = allHold(identities);
    printText(reportText(result, identities), options.jsonFile);
    if (options.isChecking) {
        const std::vector<Bound> limits = bounds(result);
        printText('\n' + checkText(limits, identities), options.jsonFile);
        isGood = isGood && std::all_of(limits.begin(), limits.end(), [](const Bound &b) { return b.isMet(); });
    }
    if (!allHold(identities)) {
        session.keepFolder();
        printText("Kept for a look: " + session.folder().toUtf8() + '\n', options.jsonFile);
    }
    if (const auto written = writeJsonFile(options.jsonFile, reportJson(result, identities)); !written) {
        printError(written.error());
        isGood = false;
    }
    return isGood ? 0 : 1;
}

} // namespace

int runBench(const BenchOptions &options, const Interrupt &interrupt)
{
    const auto fail = [](const Error &error) {
        printError(error);
        return 1;
    };
    const auto scenario = loadScenario(options.scenario);
    if (!scenario)
        return fail(scenario.error());
    Measurement measurement(interrupt);
    Session::Setup setup;
    setup.isLowWear = options.isLowWear;
    setup.simulation = generateSimulation(scenario.value());
    setup.design = [&scenario](const QHash<QString, int> &ports, int brokerPort) -> Result<DesignDocument> {
        return generateDesign(scenario.value(), ports, brokerPort);
    };
    if (const auto started = measurement.start(setup); !started)
        return fail(started.error());

    std::vector<std::unique_ptr<ChildProcess>> busyLoops;
    for (int i = 0; i < options.busyLoops; ++i) {
        busyLoops.push_back(std::make_unique<ChildProcess>());
        if (const auto started = busyLoops.back()->start(QStringLiteral("/bin/sh"),
                                                         {QStringLiteral("-c"), QStringLiteral("while :; do :; done")});
            !started)
            return fail(started.error());
    }
    Window window(options.seconds);
    const DemoView view({}, false, 0, 1);
    const auto observed = measurement.observe(
        [&](const RuntimeStatus &status) {
            if (status.sequence % kProgressEveryLines == 0)
                std::fputs(view.line(status, measurement.session().messages().messages()).constData(), stderr);
            return window.see(status);
        },
        std::chrono::milliseconds(0));
    if (!observed)
        return fail(observed.error());
    busyLoops.clear();
    auto result = measurement.finish(window.openedAt);
    if (!window.isComplete)
        return 130;
    if (!result) {
        measurement.session().keepFolder();
        return fail(result.error());
    }
    result.value().outside.simCoordinationWrites = countCoordinationWrites(
        scenario.value(), measurement.session().simulatorReport().value(QLatin1String("registerWrites")).toObject());
    result.value().scenario = scenario.value();
    result.value().opening = window.opening;
    result.value().seconds = options.seconds;
    result.value().busyLoops = options.busyLoops;
    result.value().isLowWear = options.isLowWear;
    return conclude(result.value(), options, measurement.session());
}

} // namespace gridloom
