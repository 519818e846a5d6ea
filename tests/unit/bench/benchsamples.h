// SPDX-License-Identifier: Apache-2.0
// A status line and outside counts that fit each other, to be broken one number at a time.
#pragma once

#include "tools/bench/reconcile.h"

#include <QJsonDocument>

namespace gridloom {

/// A runtime that stopped after 70 runs: as docs/status.md describes the line.
inline QByteArray stoppedStatusLine()
{
    return R"({"sequence":66,"time":"2026-08-01T00:01:06.55Z","uptimeS":66.55,"state":"stopped","gateway":"gw1",
"revision":"00","pid":4711,"speed":1,"scheduling":{"engine":"fifo","fastScripts":"fifo"},
"ledger":{"points":{"offered":1000,"done":990,"failed":10,"timedOut":0,"discarded":0,"inFlight":0},
"triggers":{"offered":77,"done":70,"failed":1,"timedOut":2,"discarded":4,"inFlight":0},
"control":{"offered":75,"done":68,"failed":3,"timedOut":0,"discarded":4,"inFlight":0},
"mqtt":{"offered":140,"done":140,"failed":0,"timedOut":0,"discarded":0,"inFlight":0},
"alarms":{"offered":71,"done":71,"failed":0,"timedOut":0,"discarded":0,"inFlight":0},
"publications":{"offered":69,"done":69,"failed":0,"timedOut":0,"discarded":0,"inFlight":0},
"coordination":{"offered":9,"done":5,"failed":1,"timedOut":1,"discarded":2,"inFlight":0}},
"latency":{"trigger":{"sumNs":3000000,"maxNs":2000000,"buckets":{"320":1,"352":1}},
"triggerIssued":{"sumNs":0,"maxNs":0,"buckets":{}},"fastStart":{"sumNs":0,"maxNs":0,"buckets":{}},"mqtt":{"sumNs":0,"maxNs":0,"buckets":{}},
"coordination":{"sumNs":0,"maxNs":0,"buckets":{}}},
"requests":{"reads":200,"readBacks":70,"writes":71,"timeouts":0,"exceptions":0,"droppedFrames":0,"reconnects":0},
"control":{"confirmed":68,"mismatch":3,"rejected":0,"timedOut":0,"superseded":4,"notNeeded":0},
"store":{"samplesOffered":1100,"rows":500,"skippedByPolicy":590,"lost":10,"pending":0,"bytes":9000,"aggregationRows":72},
"records":{"appended":1,"committed":1,"failed":0,"commits":1,"bytesWritten":1,"outbox":0,"lastCommitMs":0.3,
"runsKept":70,"runsDropped":0},
"aggregationRuns":70,"coordinationWrites":13,"process":{"cpuMs":900,"rssKb":20480,"threads":9}})";
}

inline RuntimeStatus stoppedStatus()
{
    return parseRuntimeStatus(stoppedStatusLine()).value();
}

inline OutsideCounts fittingCounts()
{
    OutsideCounts c;
    c.simReads = 270;
    c.simWrites = 71;
    c.subscriberMessages = 140;
    c.storeRows = 500;
    c.dbAggregationRows = 72;
    c.dbAggregationRuns = 70;
    c.dbAlarmRows = 71;
    c.dbCoordinationRows = 7;
    c.simCoordinationWrites = 13;
    return c;
}

} // namespace gridloom
