// SPDX-License-Identifier: Apache-2.0
// Triggers: how many scripts a second the workers evaluate when nothing comes of it, and how many runs a second get all
// four effects through the whole runtime.
#include "bench/evaluations.h"
#include "bench/microbench.h"
#include "tools/bench/designgenerator.h"
#include "tools/bench/measurement.h"

namespace gridloom {

namespace {

constexpr int kSeconds = 20;
constexpr double kWarmUpS = 6;
constexpr std::chrono::seconds kEvaluationTime{3};

// 50 connections with 550 triggers of 100 ms; nothing beside them but one read of each device per second.
Scenario runsScenario()
{
    Scenario s;
    s.id = QStringLiteral("triggers");
    s.pointsPerS = 50 * kPointsPerBulkDevice;
    s.fastTriggers = 550;
    s.triggerTargetPerS = s.fastTriggers * kFastRunsPerSecond;
    return s;
}

Result<RunResult> runAll(const Scenario &scenario, int seconds, const Interrupt &interrupt)
{
    Measurement measurement(interrupt);
    Session::Setup setup;
    setup.simulation = generateSimulation(scenario);
    setup.design = [&scenario](const QHash<QString, int> &ports, int brokerPort) -> Result<DesignDocument> {
        return generateDesign(scenario, ports, brokerPort);
    };
    if (const auto started = measurement.start(setup); !started)
        return started.error();
    std::optional<RuntimeStatus> opening;
    SteadyTime openedAt{};
    bool isComplete = false;
    const auto observed = measurement.observe(
        [&](const RuntimeStatus &status) {
            if (!opening && status.uptimeS >= kWarmUpS) {
                opening = status;
                openedAt = std::chrono::steady_clock::now();
            }
            isComplete = opening && status.sequence >= opening->sequence + static_cast<std::uint64_t>(seconds);
            return !isComplete;
        },
        std::chrono::milliseconds(0));
    if (!observed)
        return observed.error();
    if (!isComplete)
        return Error{QStringLiteral("bench.interrupted"), QStringLiteral("interrupted before its end")};
    auto result = measurement.finish(openedAt);
    if (!result) {
        measurement.session().keepFolder();
        return result;
    }
    result.value().opening = opening;
    return result;
}

} // namespace

Result<MicroBenchResult> benchTriggers(const MicroBenchOptions &options)
{
    const auto evaluations = measureEvaluations(kEvaluationTime);
    if (!evaluations)
        return evaluations.error();
    const auto run = runAll(runsScenario(), options.seconds > 0 ? options.seconds : kSeconds, options.interrupt);
    if (!run)
        return run.error();
    const RunResult::Account account = run.value().account(&Ledgers::triggers);
    const double runsPerS = static_cast<double>(account.ledger.done) / run.value().seconds;
    const Ledger &all = run.value().final.ledgers.triggers;
    MicroBenchResult result;
    const Histogram latency = run.value().latency(&RuntimeStatus::trigger);
    result.text =
        QStringLiteral("%1 evaluations/s without effects. %2 runs/s with all four effects: P50 %3, P95 %4 ms, "
                       "%5 % of one core, %6 MB; of %7 runs %8 done\n")
            .arg(evaluations.value(), 0, 'f', 0)
            .arg(runsPerS, 0, 'f', 0)
            .arg(latency.percentileMs(50), 0, 'f', 2)
            .arg(latency.percentileMs(95), 0, 'f', 2)
            .arg(run.value().use.runtimeCpuPercent, 0, 'f', 1)
            .arg(run.value().use.runtimeRssMb, 0, 'f', 1)
            .arg(all.offered)
            .arg(all.done)
            .toUtf8();
    result.bounds = {{QStringLiteral("evaluations/s"), evaluations.value(), Bound::Kind::AtLeast, 500'000},
                     {QStringLiteral("runs/s with all four effects"), runsPerS, Bound::Kind::AtLeast, 5'000},
                     {QStringLiteral("runs done, of those offered"), static_cast<double>(all.done), Bound::Kind::Equal,
                      static_cast<double>(all.offered)}};
    result.identities = reconcile(run.value().final, run.value().outside);
    result.json = {{QStringLiteral("evaluationsPerS"), evaluations.value()}, {QStringLiteral("runsPerS"), runsPerS}};
    return result;
}

} // namespace gridloom
