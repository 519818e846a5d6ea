// SPDX-License-Identifier: Apache-2.0
#include "enginebed.h"

#include <QJsonArray>
#include <QTest>

namespace gridloom {

namespace {
QJsonObject manifest(const char *kind, const char *id)
{
    return {{QStringLiteral("id"), QLatin1String(id)},
            {QStringLiteral("kind"), QLatin1String(kind)},
            {QStringLiteral("api"), 1},
            {QStringLiteral("params"), QJsonObject()},
            {QStringLiteral("deviceParams"), QJsonObject()},
            {QStringLiteral("addressPattern"), QStringLiteral(".*")}};
}
} // namespace

FakeRecords FakeRecords::asLeft() const
{
    FakeRecords left;
    left.lastStates = lastStates;
    std::map<QString, AlarmTransition> alarms;
    for (const AlarmTransition &alarm : lastAlarms)
        alarms[alarm.alarmId] = alarm;
    for (const StateRecord &state : all<StateRecord>()) {
        if (state.value.isEmpty())
            left.lastStates.erase(state.key);
        else
            left.lastStates[state.key] = state.value;
    }
    for (const AlarmTransition &alarm : all<AlarmTransition>())
        alarms[alarm.alarmId] = alarm;
    for (const auto &[id, alarm] : alarms)
        if (alarm.to != QLatin1String("Normal"))
            left.lastAlarms.push_back(alarm);
    return left;
}

namespace {
FakeRecords leftWith(const std::map<QString, QByteArray> &states)
{
    FakeRecords left;
    left.lastStates = states;
    return left;
}
} // namespace

EngineBed::EngineBed(DesignDocument files, const std::map<QString, QByteArray> &lastStates)
    : EngineBed(std::move(files), leftWith(lastStates), Nanoseconds(0))
{
}

EngineBed::EngineBed(DesignDocument files, const FakeRecords &left, Nanoseconds at) : records(left)
{
    clock.advance(at);
    files["gridloom.json"] = R"({"schema":1,"site":{"id":"s","name":"S","zone":"Europe/Vienna"},
        "gateway":{"id":"gw","name":"G"},"storage":{"mode":"realTime"}})";
    files["channels/bus.json"] = R"({"id":"bus","name":"bus","driver":"fake","params":{}})";
    files["sinks/mqtt.json"] = files.count("sinks/mqtt.json")
        ? files["sinks/mqtt.json"]
        : R"({"id":"mqtt","name":"mqtt","sink":"fake","params":{}})";
    files["stores/local.json"] = R"({"id":"local","name":"local","store":"fake","params":{}})";
    DesignContext context;
    context.manifests[QStringLiteral("driver/fake")] = manifest("driver", "fake");
    context.manifests[QStringLiteral("sink/fake")] = manifest("sink", "fake");
    context.manifests[QStringLiteral("sink/fake")][QStringLiteral("capabilities")] =
        QJsonArray{QStringLiteral("commands")};
    context.manifests[QStringLiteral("store/fake")] = manifest("store", "fake");
    const ParsedDesign parsed = parseDesign(files, context);
    for (const DesignFault &fault : parsed.faults)
        qFatal("%s", qPrintable(fault.text()));
    design = parsed.design;

    auto expressions = Expressions::compile(*design);
    if (!expressions)
        qFatal("%s", qPrintable(expressions.error().message));
    m_expressions = std::move(expressions).value();
    Outlets outlets;
    outlets.write = [this](const WriteRequest &request) { writes.push_back(request); };
    outlets.runScript = [this](ScriptWorkers::Job job) { jobs.push_back(std::move(job)); };
    outlets.appendRows = [this](StoreRunner::Batch batch) {
        if (isStoreFull)
            return false;
        batches.push_back(std::move(batch));
        return true;
    };
    for (const auto &[id, sink] : design->sinks)
        outlets.sinks.push_back({&sink, [this](OutboundMessage message) { messages.push_back(std::move(message)); },
                                 [this](std::size_t n) { settledMessages += n; }});
    outlets.stopPolling = [this] { isPolling = false; };
    outlets.pollCounts = [this] { return polls; };
    m_cycle = std::make_unique<Cycle>(Cycle::Parts{
        *design, clock, m_inbox, records, *m_expressions, std::move(outlets), {}, [this](EngineSnapshot s) {
            published.push_back(std::move(s));
        }});
    m_cycle->start();
}

void EngineBed::advance(Nanoseconds d)
{
    clock.advance(d);
    step();
}

void EngineBed::sample(const char *name, Value value, Quality quality)
{
    ++polls.offered;
    push(SamplesArrived{{{point(name), quality, std::move(value), clock.wallNow(), clock.steadyNow()}}});
    step();
}

void EngineBed::scriptEnds(std::vector<Action> actions, ScriptOutcome outcome, const QString &error,
                           const std::optional<QByteArray> &state)
{
    QVERIFY(!jobs.empty());
    const ScriptWorkers::Job job = jobs.front();
    jobs.pop_front();
    ScriptFinished finished;
    finished.trigger = job.trigger;
    finished.run = job.run;
    finished.result.outcome = outcome;
    finished.result.error = error;
    finished.result.state = state;
    finished.result.actions = std::move(actions);
    finished.imageTime = job.image->frozenAt();
    finished.started = finished.ended = clock.steadyNow();
    push(std::move(finished));
    step();
}

void EngineBed::writeEnds(WriteResult::State state)
{
    QVERIFY(!writes.empty());
    WriteResult result;
    result.state = state;
    result.readBack = writes.front().value;
    if (state != WriteResult::State::Confirmed)
        result.error = {QStringLiteral("test.write"), QStringLiteral("the device said no")};
    push(WriteFinished{writes.front().id, result, clock.steadyNow()});
    writes.pop_front();
    step();
}

void EngineBed::recordsCommitted(bool isDurable)
{
    Records::CommitReport report{1, records.records.size(), {}};
    if (!isDurable)
        report.result = Error{QStringLiteral("records.disk"), QStringLiteral("disk full")};
    push(RecordsCommitted{report, clock.steadyNow()});
    step();
}

void EngineBed::messageEnds()
{
    QVERIFY(!messages.empty());
    push(MessageEnded{QStringLiteral("mqtt"), messages.front().id, Outcome::Done, {}, clock.steadyNow()});
    messages.pop_front();
    step();
}

void EngineBed::rowsStored(bool isStored)
{
    QVERIFY(!batches.empty());
    RowsStored event;
    event.rows = batches.front().rows.size();
    event.runs = std::move(batches.front().runs);
    event.triggerRows = event.runs.size();
    event.isStored = isStored;
    event.error = isStored ? QString() : QStringLiteral("disk full");
    event.at = clock.steadyNow();
    push(std::move(event));
    batches.pop_front();
    step();
}

} // namespace gridloom
