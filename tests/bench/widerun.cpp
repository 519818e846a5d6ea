// SPDX-License-Identifier: Apache-2.0
#include "bench/widerun.h"

#include <QJsonArray>
#include <QJsonObject>

#include <algorithm>

namespace gridloom {

namespace {

constexpr double kWarmUpS = 6;

struct Window {
    std::optional<RuntimeStatus> opening, closing;
    SteadyTime openedAt{}, closedAt{};
    double rssMb = 0;
};

double inWindow(const Window &window, const std::function<std::uint64_t(const RuntimeStatus &)> &counter)
{
    return static_cast<double>(counter(*window.closing) - counter(*window.opening));
}

void evaluateWindow(const Window &window, WideRun &run)
{
    run.seconds = std::chrono::duration<double>(window.closedAt - window.openedAt).count();
    const double points = inWindow(window, [](const auto &s) { return s.ledgers.points.done; });
    const double cpuMs = inWindow(window, [](const auto &s) { return s.process.cpuMs; });
    run.pointsPerS = points / run.seconds;
    run.rowsPerS = inWindow(window, [](const auto &s) { return s.store.rows; }) / run.seconds;
    run.cpuUsPerPoint = points > 0 ? 1000 * cpuMs / points : 0;
    run.cpuPercent = cpuMs / run.seconds / 10;
    run.rssMb = window.rssMb;
}

void evaluateReport(const QJsonObject &simReport, const WideLoad &load, SteadyTime startedAt, WideRun &run)
{
    std::int64_t firstRead = 0;
    const QJsonObject devices = simReport.value(QLatin1String("devices")).toObject();
    for (const QJsonValue &device : devices) {
        const std::int64_t read = device.toObject().value(QLatin1String("firstReadNs")).toInteger();
        if (read > 0 && (firstRead == 0 || read < firstRead))
            firstRead = read;
        std::vector<std::int64_t> moments;
        const QJsonArray writes = device.toObject().value(QLatin1String("writeTimes")).toArray();
        for (const QJsonValue &write : writes)
            moments.push_back(write.toArray().at(1).toInteger());
        if (load.writePeriodMs > 0) {
            const auto delays = delaysOnGrid(moments, std::int64_t{1'000'000} * load.writePeriodMs);
            run.writeMs.insert(run.writeMs.end(), delays.begin(), delays.end());
        }
    }
    run.startMs = static_cast<double>(firstRead - startedAt.time_since_epoch().count()) / 1e6;
    if (!run.writeMs.empty()) {
        std::sort(run.writeMs.begin(), run.writeMs.end());
        run.writeP95Ms = run.writeMs[(run.writeMs.size() * 95 + 99) / 100 - 1];
    }
}

} // namespace

std::vector<double> delaysOnGrid(const std::vector<std::int64_t> &momentsNs, std::int64_t periodNs)
{
    std::vector<double> delays;
    for (std::size_t i = 0; i < momentsNs.size(); ++i) {
        std::int64_t delay = momentsNs[i] % periodNs;
        if (i + 1 < momentsNs.size() && momentsNs[i] / periodNs == momentsNs[i + 1] / periodNs)
            delay += periodNs;
        delays.push_back(static_cast<double>(delay) / 1e6);
    }
    return delays;
}

Result<WideRun> runWide(const WideLoad &load, int seconds, const Interrupt &interrupt)
{
    Measurement measurement(interrupt);
    Session::Setup setup;
    setup.simulation = wideSimulation(load);
    setup.design = [&load](const QHash<QString, int> &ports, int brokerPort) -> Result<DesignDocument> {
        return wideDesign(load, ports, brokerPort);
    };
    if (const auto started = measurement.start(setup); !started)
        return started.error();
    Window window;
    const auto observed = measurement.observe(
        [&](const RuntimeStatus &status) {
            const SteadyTime now = std::chrono::steady_clock::now();
            if (!window.opening && status.uptimeS >= kWarmUpS) {
                window.opening = status;
                window.openedAt = now;
            } else if (window.opening) {
                window.rssMb = std::max(window.rssMb, static_cast<double>(status.process.rssKb) / 1024);
                window.closing = status;
                window.closedAt = now;
            }
            return !window.closing || now < window.openedAt + std::chrono::milliseconds(1000 * seconds - 500);
        },
        std::chrono::milliseconds(0));
    if (!observed)
        return observed.error();
    if (!window.closing || measurement.isInterrupted())
        return Error{QStringLiteral("bench.interrupted"), QStringLiteral("interrupted before its end")};
    const SteadyTime startedAt = measurement.session().runtimeStartedAt();
    const auto ended = measurement.finish(window.openedAt);
    if (!ended) {
        measurement.session().keepFolder();
        return ended.error();
    }
    WideRun run;
    run.final = ended.value().final;
    evaluateWindow(window, run);
    evaluateReport(measurement.session().simulatorReport(), load, startedAt, run);
    run.identities = reconcile(run.final, ended.value().outside);
    if (!allHold(run.identities))
        measurement.session().keepFolder();
    return run;
}

} // namespace gridloom
