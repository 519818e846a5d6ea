// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/report.h"

#include "core/json.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

namespace gridloom {

namespace {

void writeAccount(JsonWriter &w, const RunResult::Account &a)
{
    w.beginObject();
    w.key("offered").unsignedInteger(a.ledger.offered).key("done").unsignedInteger(a.ledger.done);
    w.key("failed").unsignedInteger(a.ledger.failed).key("timedOut").unsignedInteger(a.ledger.timedOut);
    w.key("discarded").unsignedInteger(a.ledger.discarded).key("inFlight").unsignedInteger(a.ledger.inFlight);
    w.key("inFlightAtOpening").unsignedInteger(a.inFlightAtOpening).endObject();
}

void writeWindow(JsonWriter &w, const RunResult &r)
{
    w.key("window").beginObject().key("seconds").rounded(r.seconds, 3);
    w.key("fromUptimeS").rounded(r.opening->uptimeS, 3);
    w.key("method").string("opens after at least 6 s of warm-up, half a period off the grid; of N + 2 samples at 1/s "
                           "the first and the last are dropped, the denominator is N s; latencies, attainment and "
                           "use of the machine are those of the window, ledgers and counts those of the whole run");
    w.key("ledger").beginObject();
    w.key("points");
    writeAccount(w, r.account(&Ledgers::points));
    w.key("triggers");
    writeAccount(w, r.account(&Ledgers::triggers));
    w.key("control");
    writeAccount(w, r.account(&Ledgers::control));
    w.key("mqtt");
    writeAccount(w, r.account(&Ledgers::mqtt));
    w.key("alarms");
    writeAccount(w, r.account(&Ledgers::alarms));
    w.key("publications");
    writeAccount(w, r.account(&Ledgers::publications));
    w.key("coordination");
    writeAccount(w, r.account(&Ledgers::coordination));
    w.endObject().endObject();
}

void writeSummary(JsonWriter &w, const Summary &s)
{
    w.beginObject().key("avg").rounded(s.avg, 3).key("p95").rounded(s.p95, 3).key("p99").rounded(s.p99, 3);
    w.key("peak").rounded(s.peak, 3).endObject();
}

void writeWork(JsonWriter &w, const RunResult &r)
{
    w.key("ledger").beginObject();
    for (const auto &[name, ledger] : r.final.ledgers.all()) {
        w.key(name);
        ledger.write(w);
    }
    w.endObject();
    w.key("attainment").beginObject().key("trigger").rounded(r.triggerAttainment(), 5);
    w.key("mqtt").rounded(r.mqttAttainment(), 5);
    w.key("coordination").rounded(r.coordinationAttainment(), 5).endObject();
    w.key("latencyMs").beginObject().key("trigger");
    r.latency(&RuntimeStatus::trigger).writeSummary(w);
    w.key("triggerIssued");
    r.latency(&RuntimeStatus::triggerIssued).writeSummary(w);
    w.key("fastStart");
    r.latency(&RuntimeStatus::fastStart).writeSummary(w);
    w.key("mqtt");
    r.latency(&RuntimeStatus::mqtt).writeSummary(w);
    w.key("coordination");
    r.latency(&RuntimeStatus::coordination).writeSummary(w);
    w.endObject();
}

void writeCounts(JsonWriter &w, const RunResult &r)
{
    const auto &store = r.final.store;
    w.key("store").beginObject().key("samplesOffered").unsignedInteger(store.samplesOffered);
    w.key("rows").unsignedInteger(store.rows).key("skippedByPolicy").unsignedInteger(store.skippedByPolicy);
    w.key("lost").unsignedInteger(store.lost).key("pending").unsignedInteger(store.pending);
    w.key("bytes").unsignedInteger(store.bytes).key("aggregationRows").unsignedInteger(store.aggregationRows);
    w.endObject();
    const auto &requests = r.final.requests;
    w.key("requests").beginObject().key("reads").unsignedInteger(requests.reads);
    w.key("readBacks").unsignedInteger(requests.readBacks).key("writes").unsignedInteger(requests.writes);
    w.key("timeouts").unsignedInteger(requests.timeouts).key("exceptions").unsignedInteger(requests.exceptions);
    w.endObject();
    w.key("control").beginObject().key("mismatches").unsignedInteger(r.final.mismatches).endObject();
    w.key("aggregationRuns").unsignedInteger(r.final.aggregationRuns);
    const OutsideCounts &o = r.outside;
    w.key("outside").beginObject().key("simReads").unsignedInteger(o.simReads);
    w.key("simWrites").unsignedInteger(o.simWrites).key("subscriberMessages").unsignedInteger(o.subscriberMessages);
    w.key("subscriberDuplicates").unsignedInteger(o.subscriberDuplicates);
    w.key("storeRows").unsignedInteger(o.storeRows).key("dbAggregationRows").unsignedInteger(o.dbAggregationRows);
    w.key("dbAggregationRuns").unsignedInteger(o.dbAggregationRuns);
    w.key("dbAlarmRows").unsignedInteger(o.dbAlarmRows);
    w.key("dbCoordinationRows").unsignedInteger(o.dbCoordinationRows);
    if (o.simCoordinationWrites)
        w.key("simCoordinationWrites").unsignedInteger(*o.simCoordinationWrites);
    w.endObject();
}

void writeMachineUse(JsonWriter &w, const RunResult &r)
{
    w.key("runtime").beginObject().key("cpuPercentOfOneCore").rounded(r.use.runtimeCpuPercent, 3);
    w.key("rssMb").rounded(r.use.runtimeRssMb, 2).key("threads").integer(r.use.runtimeThreads);
    w.key("scheduling").string(r.final.isRealTime ? "fifo" : "plain").key("lowWear").boolean(r.isLowWear).endObject();
    w.key("writtenGbPerDay").rounded(r.use.writtenGbPerDay, 2).key("diskWrittenGbPerDay");
    if (r.use.diskWrittenGbPerDay)
        w.rounded(*r.use.diskWrittenGbPerDay, 2);
    else
        w.null();
    w.key("busyLoops").integer(r.busyLoops);
    w.key("device").beginObject().key("cpuPercent");
    writeSummary(w, r.use.deviceCpuPercent);
    w.key("memoryMb");
    writeSummary(w, r.use.deviceMemoryMb);
    w.key("ioWaitPercent");
    writeSummary(w, r.use.ioWaitPercent);
    w.endObject();
    w.key("canary").beginObject().key("fdatasyncMs").beginObject().key("p95").rounded(r.canaryMs.p95, 3);
    w.key("p99").rounded(r.canaryMs.p99, 3).key("max").rounded(r.canaryMs.peak, 3).endObject();
    w.endObject();
    w.key("oversleepMs").rounded(r.oversleepMs, 3);
    w.key("samplerTimeouts").unsignedInteger(r.samplerTimeouts);
    w.key("recordsKept").unsignedInteger(r.final.runsKept).key("seconds").rounded(r.seconds, 3);
    w.key("speed").number(r.speed);
    const Machine &m = r.machine;
    w.key("machine").beginObject().key("cpu").string(m.cpu).key("cores").integer(m.cores);
    w.key("memoryMb").unsignedInteger(m.memoryMb).key("kernel").string(m.kernel).key("system").string(m.system);
    w.key("fileSystem").string(m.fileSystem).endObject();
}

/// printf into a byte array: columns of figures are what it is best at.
[[gnu::format(printf, 2, 3)]] void print(QByteArray &out, const char *format, ...)
{
    std::array<char, 512> line;
    va_list arguments;
    va_start(arguments, format);
    const int n = std::vsnprintf(line.data(), line.size(), format, arguments);
    va_end(arguments);
    out.append(line.data(), std::min<qsizetype>(n, line.size() - 1));
}

void printLatency(QByteArray &out, const char *name, const Histogram &h)
{
    if (h.count() == 0)
        return;
    print(out, "  %-34s %9" PRIu64 " %8.2f %8.2f %8.2f %8.2f %8.2f\n", name, h.count(), h.averageMs(),
          h.percentileMs(50), h.percentileMs(95), h.percentileMs(99), h.maxMs());
}

} // namespace

QByteArray reportJson(const RunResult &result, const std::vector<Identity> &identities)
{
    JsonWriter w(8192);
    w.beginObject();
    w.key("run").string(result.scenario ? QStringView(result.scenario->id) : QStringView(u"demo"));
    writeWork(w, result);
    writeCounts(w, result);
    writeMachineUse(w, result);
    if (result.opening)
        writeWindow(w, result);
    w.key("identities").beginArray();
    for (const Identity &i : identities) {
        w.beginObject().key("text").string(i.text).key("left").unsignedInteger(i.left);
        w.key("right").unsignedInteger(i.right).key("holds").boolean(i.holds()).endObject();
    }
    w.endArray().endObject();
    return w.take() + '\n';
}

QByteArray reportText(const RunResult &result, const std::vector<Identity> &identities)
{
    QByteArray out;
    print(out, "\n%s, %.0f s%s\n\n", result.scenario ? qPrintable(result.scenario->id) : "Demo", result.seconds,
          result.opening ? " after the warm-up (accounts: the whole run)" : "");
    print(out, "  %-14s %9s %9s %9s %9s %9s %9s\n", "account", "offered", "done", "failed", "timedOut", "discarded",
          "inFlight");
    for (const auto &[name, l] : result.final.ledgers.all())
        print(out, "  %-14.*s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "\n",
              static_cast<int>(name.size()), name.data(), l.offered, l.done, l.failed, l.timedOut, l.discarded,
              l.inFlight);
    print(out, "\n  %-34s %9s %8s %8s %8s %8s %8s\n", "latency in ms", "n", "avg", "P50", "P95", "P99", "max");
    printLatency(out, "trigger, all effects confirmed", result.latency(&RuntimeStatus::trigger));
    printLatency(out, "trigger, effects issued", result.latency(&RuntimeStatus::triggerIssued));
    printLatency(out, "start of 100 ms triggers", result.latency(&RuntimeStatus::fastStart));
    printLatency(out, "MQTT publication", result.latency(&RuntimeStatus::mqtt));
    printLatency(out, "coordination, all steps confirmed", result.latency(&RuntimeStatus::coordination));
    print(out, "\n  Attainment: triggers %.2f %%, MQTT %.2f %%, coordination %.2f %%\n",
          100 * result.triggerAttainment(), 100 * result.mqttAttainment(), 100 * result.coordinationAttainment());
    print(out, "  Runtime: %.2f %% of one core, %.1f MB, %d threads. Device: CPU %.1f %%, fdatasync P95 %.2f ms\n",
          result.use.runtimeCpuPercent, result.use.runtimeRssMb, result.use.runtimeThreads,
          result.use.deviceCpuPercent.avg, result.canaryMs.p95);
    print(out, "  Scheduling of the 100 ms class: %s. Written: %.2f GB/day by the runtime%s, %.2f GB/day on its disk\n",
          result.final.isRealTime ? "SCHED_FIFO" : "plain", result.use.writtenGbPerDay,
          result.isLowWear ? " (low wear)" : "", result.use.diskWrittenGbPerDay.value_or(0));
    const OutsideCounts &o = result.outside;
    print(out,
          "  Counted outside: %" PRIu64 " reads, %" PRIu64 " writes, %" PRIu64 " messages, %" PRIu64 " rows (%" PRIu64
          " by triggers), %" PRIu64 " alarm transitions\n",
          o.simReads, o.simWrites, o.subscriberMessages, o.storeRows, o.dbAggregationRows, o.dbAlarmRows);
    if (allHold(identities))
        print(out, "  All %zu accounts add up.\n", identities.size());
    for (const Identity &i : identities)
        if (!i.holds())
            print(out, "  DOES NOT ADD UP: %s: %" PRIu64 " and %" PRIu64 "\n", qPrintable(i.text), i.left, i.right);
    return out;
}

QByteArray checkText(const std::vector<Bound> &bounds, const std::vector<Identity> &identities)
{
    QByteArray out;
    for (const Bound &b : bounds) {
        const char *relation = b.kind == Bound::Kind::AtLeast ? ">=" : b.kind == Bound::Kind::AtMost ? "<=" : "=";
        print(out, "%-68s %12.2f %2s %12.2f  %s\n", qPrintable(b.text), b.value, relation, b.limit,
              b.isMet() ? "ok" : "MISSED");
    }
    for (const Identity &i : identities)
        print(out, "%-68s %12" PRIu64 " %2s %12" PRIu64 "  %s\n", qPrintable(i.text), i.left, "=", i.right,
              i.holds() ? "ok" : "MISSED");
    return out;
}

} // namespace gridloom
