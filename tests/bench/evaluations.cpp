// SPDX-License-Identifier: Apache-2.0
#include "bench/evaluations.h"

#include "core/design/designdocument.h"
#include "engine/scheduling.h"
#include "engine/scriptworkers.h"

#include <QJsonArray>
#include <QJsonDocument>

namespace gridloom {

namespace {

constexpr int kTriggers = 100;
constexpr std::size_t kMostOpen = 4'000; // evaluations asked for and not answered: enough for a wait of 1 ms

std::shared_ptr<const Design> triggerDesign()
{
    DesignDocument files;
    files["gridloom.json"] =
        R"({"schema":1,"site":{"id":"s","name":"s","zone":"UTC"},"gateway":{"id":"g","name":"g"}})";
    files["channels/bus.json"] = R"({"id":"bus","name":"bus","driver":"none"})";
    QJsonArray points;
    for (int i = 0; i < kTriggers + 2; ++i)
        points.append(QJsonObject{{QStringLiteral("id"), QStringLiteral("p%1").arg(i)},
                                  {QStringLiteral("name"), QStringLiteral("p%1").arg(i)},
                                  {QStringLiteral("kind"), QStringLiteral("measured")},
                                  {QStringLiteral("address"), QString::number(i)}});
    files["devices/d.json"] = QJsonDocument(QJsonObject{{QStringLiteral("id"), QStringLiteral("d")},
                                                        {QStringLiteral("name"), QStringLiteral("d")},
                                                        {QStringLiteral("channel"), QStringLiteral("bus")},
                                                        {QStringLiteral("points"), points}})
                                  .toJson();
    for (int i = 0; i < kTriggers; ++i) {
        const QByteArray id = "t" + QByteArray::number(i);
        files["triggers/" + id + ".json"] = "{\"id\":\"" + id + "\",\"name\":\"" + id
            + "\",\"when\":{\"kind\":\"periodic\",\"periodMs\":" + (i % 2 == 0 ? "100" : "1000") + "}}";
        files["triggers/" + id + ".lua"] =
            QStringLiteral("local sum = point(\"d.p%1\").value + point(\"d.p%2\").value + "
                           "point(\"d.p%3\").value\n"
                           "if sum > 1e9 then log(\"too high\") end\n")
                .arg(i)
                .arg(i + 1)
                .arg(i + 2)
                .toUtf8();
    }
    DesignContext context;
    context.manifests[QStringLiteral("driver/none")] = {{QStringLiteral("params"), QJsonObject()},
                                                        {QStringLiteral("deviceParams"), QJsonObject()}};
    const ParsedDesign parsed = parseDesign(files, context);
    for (const DesignFault &fault : parsed.faults)
        qWarning("%s", qPrintable(fault.text()));
    return parsed.design;
}

Result<double> evaluateFor(std::chrono::nanoseconds time)
{
    const std::shared_ptr<const Design> design = triggerDesign();
    if (!design)
        return Error{QStringLiteral("bench.design"), QStringLiteral("the bench's own design is refused")};
    const SystemClock clock;
    EngineInbox inbox{2 * kMostOpen};
    PointStore points(static_cast<std::size_t>(design->points.size()));
    for (PointHandle p = 0; p < points.size(); ++p)
        points.update({p, Quality::Good, Value(static_cast<double>(p)), clock.wallNow(), clock.steadyNow()});
    ScriptWorkers workers(*design, inbox, clock);
    if (const auto started = workers.start({}); !started)
        return started.error();

    std::vector<EngineEvent> events;
    std::uint64_t asked = 0, answered = 0;
    const SteadyTime start = clock.steadyNow();
    const SteadyTime end = start + time;
    QString error;
    const auto takeAnswers = [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        inbox.drain(events);
        for (const EngineEvent &event : events)
            if (const auto *finished = std::get_if<ScriptFinished>(&event);
                finished && !finished->result.error.isEmpty())
                error = finished->result.error;
        answered += events.size();
        events.clear();
    };
    while (clock.steadyNow() < end && error.isEmpty()) {
        const auto image = points.freeze(clock.steadyNow(), clock.wallNow());
        for (int trigger = 0; trigger < kTriggers; ++trigger)
            workers.run({trigger, ++asked, image});
        if (asked - answered >= kMostOpen)
            takeAnswers();
    }
    while (answered < asked && error.isEmpty())
        takeAnswers();
    const std::chrono::duration<double> elapsed = clock.steadyNow() - start;
    workers.stop();
    if (!error.isEmpty())
        return Error{QStringLiteral("bench.script"), error};
    return static_cast<double>(answered) / elapsed.count();
}

} // namespace

Result<double> measureEvaluations(std::chrono::nanoseconds time)
{
    Result<double> result = 0.0;
    // A thread of its own, so that the caller's scheduling stays as it is.
    std::thread([&] {
        requestRealTime(kEnginePriority);
        result = evaluateFor(time);
    }).join();
    return result;
}

} // namespace gridloom
