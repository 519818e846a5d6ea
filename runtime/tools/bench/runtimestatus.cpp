// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/runtimestatus.h"

#include <QJsonDocument>

namespace gridloom {

namespace {

/// Reads counters and remembers the first one that is not there.
class CounterReader {
public:
    explicit CounterReader(QJsonObject root) : m_root(std::move(root)) {}

    /// `path`: at most two keys, separated by a dot, and a third one for the keys of a ledger.
    std::uint64_t counter(const QString &path)
    {
        QJsonValue at = m_root;
        for (const QString &key : path.split(QLatin1Char('.')))
            at = at.toObject().value(key);
        const qint64 value = at.toInteger(-1);
        if (value < 0 && m_missing.isEmpty())
            m_missing = path;
        return value < 0 ? 0 : static_cast<std::uint64_t>(value);
    }
    Ledger ledger(const QString &name)
    {
        const QString path = QStringLiteral("ledger.%1.").arg(name);
        Ledger l;
        l.offered = counter(path + QLatin1String("offered"));
        l.done = counter(path + QLatin1String("done"));
        l.failed = counter(path + QLatin1String("failed"));
        l.timedOut = counter(path + QLatin1String("timedOut"));
        l.discarded = counter(path + QLatin1String("discarded"));
        l.inFlight = counter(path + QLatin1String("inFlight"));
        return l;
    }
    Histogram histogram(QLatin1String name)
    {
        const QJsonValue state = m_root.value(QLatin1String("latency")).toObject().value(name);
        if (!state.isObject() && m_missing.isEmpty())
            m_missing = QLatin1String("latency.") + name;
        return Histogram::fromState(state.toObject());
    }
    const QString &missing() const { return m_missing; }

private:
    QJsonObject m_root;
    QString m_missing;
};

void readCounters(CounterReader &read, RuntimeStatus &s)
{
    const auto count = [&read](const char *path) { return read.counter(QLatin1String(path)); };
    s.sequence = count("sequence");
    s.ledgers = {read.ledger(QStringLiteral("points")),      read.ledger(QStringLiteral("triggers")),
                 read.ledger(QStringLiteral("control")),     read.ledger(QStringLiteral("mqtt")),
                 read.ledger(QStringLiteral("alarms")),      read.ledger(QStringLiteral("publications")),
                 read.ledger(QStringLiteral("coordination"))};
    s.trigger = read.histogram(QLatin1String("trigger"));
    s.triggerIssued = read.histogram(QLatin1String("triggerIssued"));
    s.fastStart = read.histogram(QLatin1String("fastStart"));
    s.mqtt = read.histogram(QLatin1String("mqtt"));
    s.coordination = read.histogram(QLatin1String("coordination"));
    s.requests = {count("requests.reads"), count("requests.readBacks"), count("requests.writes"),
                  count("requests.timeouts"), count("requests.exceptions")};
    s.mismatches = count("control.mismatch");
    s.store = {count("store.samplesOffered"), count("store.rows"),  count("store.skippedByPolicy"), count("store.lost"),
               count("store.pending"),        count("store.bytes"), count("store.aggregationRows")};
    s.runsKept = count("records.runsKept");
    s.aggregationRuns = count("aggregationRuns");
    s.coordinationWrites = count("coordinationWrites");
    s.process = {count("process.cpuMs"), count("process.rssKb"), count("process.threads")};
}

} // namespace

std::uint64_t Ledgers::inFlight() const
{
    std::uint64_t sum = 0;
    for (const Named &n : all())
        sum += n.ledger.inFlight;
    return sum;
}

Result<RuntimeStatus> parseRuntimeStatus(const QByteArray &line)
{
    QJsonParseError error;
    const QJsonDocument document = QJsonDocument::fromJson(line, &error);
    if (!document.isObject())
        return Error{QStringLiteral("status.syntax"),
                     QStringLiteral("the runtime's status line is no JSON object (%1 at byte %2)")
                         .arg(error.errorString())
                         .arg(error.offset)};
    RuntimeStatus s;
    s.json = document.object();
    CounterReader read(s.json);
    readCounters(read, s);
    if (!read.missing().isEmpty())
        return Error{QStringLiteral("status.missing"),
                     QStringLiteral("the runtime's status line has no \"%1\"; runtime and gridloom-bench must come "
                                    "from the same build")
                         .arg(read.missing())};
    s.uptimeS = s.json.value(QLatin1String("uptimeS")).toDouble();
    const QJsonObject scheduling = s.json.value(QLatin1String("scheduling")).toObject();
    s.isRealTime = scheduling.value(QLatin1String("engine")) == QLatin1String("fifo")
        && scheduling.value(QLatin1String("fastScripts")) == QLatin1String("fifo");
    s.state = s.json.value(QLatin1String("state")).toString();
    s.pid = s.json.value(QLatin1String("pid")).toInteger();
    return s;
}

} // namespace gridloom
