// SPDX-License-Identifier: Apache-2.0
#include "engine/outbox.h"

#include <QRandomGenerator>
#include <QTest>

#include <malloc.h>
#include <set>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {

constexpr char kPrefix[] = "gridloom/v1/gw";
const Error kBusy{QStringLiteral("test.busy"), QStringLiteral("not now"), true};
const Error kNever{QStringLiteral("test.never"), QStringLiteral("never"), false};

OutboundMessage message(std::uint64_t id, MessageClass kind, const QByteArray &below)
{
    OutboundMessage m;
    m.id = id;
    m.topic = QByteArray(kPrefix) + '/' + below;
    m.payload = R"({"id":)" + QByteArray::number(id) + R"(,"x":1})";
    m.kind = kind;
    return m;
}

/// An outbox with a receiver in the test's hands and time of its own.
struct Bench {
    explicit Bench(qsizetype quota = 64 << 20)
        : outbox(kPrefix, quota, [this](const OutboundMessage &m, Outcome outcome, bool isBacklog, const QString &) {
              ended.emplace_back(m.id, outcome);
              if (isBacklog && !holdsReceipts)
                  outbox.settled(1);
          })
    {
    }
    void add(MessageClass kind, const QByteArray &below) { outbox.add(message(++lastId, kind, below)); }
    /// What the outbox hands over now; it is in the receiver's hands then.
    std::vector<OutboundMessage> take()
    {
        auto taken = outbox.take(now);
        for (const OutboundMessage &m : taken)
            inHand.push_back(m);
        mostInHand = std::max(mostInHand, inHand.size());
        return taken;
    }
    void deliverAll()
    {
        for (const OutboundMessage &m : std::exchange(inHand, {})) {
            arrived.push_back(m);
            outbox.delivered(m.id);
        }
    }
    void lose()
    {
        inHand.clear();
        outbox.disconnected(now);
    }
    /// Takes and delivers until nothing is left, at most a simulated hour.
    void drain()
    {
        const auto until = now + 1h;
        while (outbox.size() > 0 && now < until) {
            take();
            deliverAll();
            now += 10ms;
        }
    }
    static std::vector<std::uint64_t> ids(const std::vector<OutboundMessage> &messages)
    {
        std::vector<std::uint64_t> ids;
        for (const OutboundMessage &m : messages)
            ids.push_back(m.id);
        return ids;
    }
    std::vector<std::uint64_t> endedAs(Outcome outcome) const
    {
        std::vector<std::uint64_t> ids;
        for (const auto &[id, how] : ended)
            if (how == outcome)
                ids.push_back(id);
        return ids;
    }

    Outbox outbox;
    Outbox::Time now{1000s};
    std::vector<std::pair<std::uint64_t, Outcome>> ended;
    std::vector<OutboundMessage> inHand, arrived;
    std::uint64_t lastId = 0;
    std::size_t mostInHand = 0;
    bool holdsReceipts = false;
};

} // namespace

class OutboxTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void lateTelemetryIsMarkedAndHasTopicsOfItsOwn();
    void liveGoesBeforeTheBacklog();
    void theBacklogIsPaced();
    void placesAreFreeWhenReceiptsAreDurable();
    void alarmsAndTriggersAreNeverOvertakenOnTheirTopic();
    void whatComesBackGoesFirst();
    void ofAStateOnlyTheNewestWaits();
    void aFailedStateGivesWayToANewerOne();
    void overTheQuotaTheOldestTelemetryGoesFirst();
    void aRefusedTopicHoldsUpNoOther();
    void whatEndsConnectionsIsSetAside();
    void aReceiverThatAcceptsNothingLosesNothing();
    void anyFateEndsEachMessageOnce_data();
    void anyFateEndsEachMessageOnce();
    void anHoursOutageFitsIntoMemory();
};

void OutboxTest::lateTelemetryIsMarkedAndHasTopicsOfItsOwn()
{
    Bench b;
    b.add(MessageClass::Telemetry, "telemetry/a");
    b.add(MessageClass::Alarm, "alarm/s/x");
    b.outbox.connected();
    b.add(MessageClass::Telemetry, "telemetry/a");
    b.take();
    QCOMPARE(b.inHand.size(), std::size_t(3));
    QCOMPARE(Bench::ids(b.inHand), (std::vector<std::uint64_t>{3, 2, 1})); // live first, then alarms, then telemetry
    QCOMPARE(b.inHand[0].topic, QByteArray("gridloom/v1/gw/telemetry/a"));
    QCOMPARE(b.inHand[0].payload, QByteArray(R"({"id":3,"x":1})"));
    QVERIFY(!b.inHand[0].isBackfill);
    QCOMPARE(b.inHand[1].topic, QByteArray("gridloom/v1/gw/alarm/s/x"));
    QCOMPARE(b.inHand[1].payload, QByteArray(R"({"id":2,"x":1})"));
    QCOMPARE(b.inHand[2].topic, QByteArray("gridloom/v1/gw/backfill/telemetry/a"));
    QCOMPARE(b.inHand[2].payload, QByteArray(R"({"id":1,"backfill":true,"x":1})"));
    QVERIFY(b.inHand[2].isBackfill);
    // What was live and is lost with its connection is late as well; marked once, however often it is lost.
    b.lose();
    b.outbox.connected();
    b.lose();
    b.outbox.connected();
    b.drain();
    QCOMPARE(b.arrived.back().payload, QByteArray(R"({"id":3,"backfill":true,"x":1})"));
    QCOMPARE(b.outbox.bytes(), qsizetype(0));
}

// While 36,000 messages wait, whatever arises is handed over at once, and nothing is lost or out of order on its topic.
void OutboxTest::liveGoesBeforeTheBacklog()
{
    Bench b;
    for (int i = 0; i < 36'000; ++i)
        b.add(MessageClass::Telemetry, "telemetry/" + QByteArray::number(i % 10));
    b.outbox.connected();
    const auto start = b.now;
    int live = 0;
    while (b.outbox.size() > 0) {
        b.add(MessageClass::Telemetry, "telemetry/" + QByteArray::number(live++ % 10));
        const auto taken = b.take();
        QVERIFY(!taken.empty());
        QCOMPARE(taken[0].id, b.lastId);
        b.deliverAll();
        b.now += 100ms; // a receiver that takes its time
        if (b.now - start > 12min)
            break;
    }
    QCOMPARE(b.outbox.size(), std::size_t(0));
    QVERIFY2(b.now - start <= 12min, "drained in more than 12 minutes");
    QCOMPARE(b.endedAs(Outcome::Done).size(), static_cast<std::size_t>(36'000 + live));
    std::map<QByteArray, std::uint64_t> last;
    for (const OutboundMessage &m : b.arrived) {
        QVERIFY2(last[m.topic] < m.id, m.topic.constData());
        last[m.topic] = m.id;
    }
    QCOMPARE(last.size(), std::size_t(20)); // live and backfill of ten devices
}

void OutboxTest::theBacklogIsPaced()
{
    Bench b;
    for (int i = 0; i < 1'000; ++i)
        b.add(MessageClass::Telemetry, "telemetry/a");
    b.outbox.connected();
    QCOMPARE(b.take().size(), kSinkWindow / 2); // never more than half of the window
    QCOMPARE(b.take().size(), std::size_t(0));
    QVERIFY(!b.outbox.nextTake(b.now)); // acknowledgements come first
    b.deliverAll();
    QCOMPARE(b.take().size(), std::size_t(0)); // by the rate
    QCOMPARE(*b.outbox.nextTake(b.now), b.now + 10ms);
    b.now += 10ms;
    QCOMPARE(b.take().size(), std::size_t(5));
    b.deliverAll();
    const auto start = b.now;
    b.drain();
    const auto took = b.now - start;
    QVERIFY(took >= 1900ms && took <= 2100ms); // 500 a second
}

// A kill repeats what is out and what is acknowledged, but not yet noted: together no more than half of the window.
void OutboxTest::placesAreFreeWhenReceiptsAreDurable()
{
    Bench b;
    b.holdsReceipts = true;
    for (int i = 0; i < 100; ++i)
        b.add(MessageClass::Telemetry, "telemetry/a");
    b.outbox.connected();
    QCOMPARE(b.take().size(), std::size_t(10));
    b.deliverAll();
    b.now += 1s;
    QCOMPARE(b.take().size(), std::size_t(0));
    b.outbox.settled(4);
    QCOMPARE(b.take().size(), std::size_t(4));
    b.add(MessageClass::Telemetry, "telemetry/a"); // live needs no receipt
    QCOMPARE(b.take().size(), std::size_t(1));
}

void OutboxTest::alarmsAndTriggersAreNeverOvertakenOnTheirTopic()
{
    Bench b;
    for (int i = 0; i < 50; ++i) {
        b.add(MessageClass::Alarm, "alarm/s/x");
        b.add(MessageClass::Trigger, "mine");
    }
    b.outbox.connected();
    for (int i = 0; i < 50; ++i) {
        b.take();
        b.deliverAll();
        b.add(MessageClass::Alarm, "alarm/s/x");
        b.add(MessageClass::Trigger, "mine");
        b.now += 10ms;
    }
    b.drain();
    QCOMPARE(b.arrived.size(), std::size_t(200));
    std::map<QByteArray, std::uint64_t> last;
    for (const OutboundMessage &m : b.arrived) {
        QVERIFY(last[m.topic] < m.id);
        last[m.topic] = m.id;
    }
}

void OutboxTest::whatComesBackGoesFirst()
{
    Bench b;
    b.outbox.connected();
    for (int i = 0; i < 30; ++i)
        b.add(MessageClass::Trigger, "mine");
    b.take();
    QCOMPARE(b.inHand.size(), kSinkWindow);
    b.outbox.delivered(2);
    b.outbox.failed(1, kBusy); // as a sink does whose connection breaks
    b.lose();
    b.outbox.delivered(3); // too late: it is not held any more
    b.outbox.connected();
    b.drain();
    std::vector<std::uint64_t> expected{1};
    for (std::uint64_t id = 3; id <= 30; ++id)
        expected.push_back(id);
    QCOMPARE(Bench::ids(b.arrived), expected);
}

void OutboxTest::ofAStateOnlyTheNewestWaits()
{
    Bench b;
    for (int i = 0; i < 4; ++i) {
        b.add(MessageClass::State, "state/d/a");
        b.add(MessageClass::State, "state/d/b");
    }
    QCOMPARE(b.outbox.size(), std::size_t(2));
    QCOMPARE(b.endedAs(Outcome::Discarded), (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6}));
    b.outbox.connected();
    b.drain();
    QCOMPARE(Bench::ids(b.arrived), (std::vector<std::uint64_t>{7, 8}));
    QVERIFY(!b.arrived[0].isBackfill);
}

void OutboxTest::aFailedStateGivesWayToANewerOne()
{
    Bench b;
    b.outbox.connected();
    b.add(MessageClass::State, "state/d/a");
    b.take();
    b.add(MessageClass::State, "state/d/a");
    b.lose();
    QCOMPARE(b.endedAs(Outcome::Discarded), (std::vector<std::uint64_t>{1}));
    b.outbox.connected();
    b.drain();
    QCOMPARE(Bench::ids(b.arrived), (std::vector<std::uint64_t>{2}));
}

void OutboxTest::overTheQuotaTheOldestTelemetryGoesFirst()
{
    // Each message is 100 bytes: the quota holds ten.
    const auto sized = [](std::uint64_t id, MessageClass kind) {
        OutboundMessage m;
        m.id = id;
        m.topic = "t";
        m.payload = QByteArray(99, 'x');
        m.kind = kind;
        return m;
    };
    Bench b(1'000);
    std::uint64_t id = 0;
    for (const MessageClass kind : {MessageClass::Alarm, MessageClass::Telemetry, MessageClass::Trigger})
        for (int i = 0; i < 4; ++i)
            b.outbox.add(sized(++id, kind)); // 1-4 alarms, 5-8 telemetry, 9-12 triggers
    QCOMPARE(b.endedAs(Outcome::Discarded), (std::vector<std::uint64_t>{5, 6}));
    QCOMPARE(b.outbox.bytes(), qsizetype(1'000));
    for (int i = 0; i < 4; ++i)
        b.outbox.add(sized(++id, MessageClass::Alarm)); // 13-16
    QCOMPARE(b.endedAs(Outcome::Discarded), (std::vector<std::uint64_t>{5, 6, 7, 8, 9, 10}));
    for (int i = 0; i < 4; ++i)
        b.outbox.add(sized(++id, MessageClass::Alarm)); // 17-20: now only alarms are left, the oldest go
    QCOMPARE(b.endedAs(Outcome::Discarded), (std::vector<std::uint64_t>{5, 6, 7, 8, 9, 10, 11, 12, 1, 2}));
    b.outbox.add(sized(++id, MessageClass::Telemetry)); // the least of all
    QCOMPARE(b.ended.back(), std::pair(std::uint64_t(21), Outcome::Discarded));
    QCOMPARE(b.outbox.dropped()[static_cast<std::size_t>(MessageClass::Telemetry)], 5u);
    QCOMPARE(b.outbox.dropped()[static_cast<std::size_t>(MessageClass::Trigger)], 4u);
    QCOMPARE(b.outbox.dropped()[static_cast<std::size_t>(MessageClass::Alarm)], 2u);
    QCOMPARE(b.outbox.size(), std::size_t(10));
}

void OutboxTest::aRefusedTopicHoldsUpNoOther()
{
    Bench b;
    b.outbox.connected();
    b.add(MessageClass::Trigger, "forbidden");
    b.take();
    b.outbox.failed(1, kBusy);
    b.inHand.clear();
    QCOMPARE(*b.outbox.nextTake(b.now), b.now); // to decide what becomes of it
    for (int i = 0; i < 3; ++i) {
        b.add(MessageClass::Trigger, "forbidden");
        b.add(MessageClass::Trigger, "allowed");
    }
    QCOMPARE(Bench::ids(b.take()), (std::vector<std::uint64_t>{3, 5, 7}));
    b.deliverAll();
    QCOMPARE(*b.outbox.nextTake(b.now), b.now + 1s);
    for (const auto wait : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
        b.now += wait - 1ms;
        QVERIFY(b.take().empty());
        b.now += 1ms;
        QCOMPARE(Bench::ids(b.take()), (std::vector<std::uint64_t>{1}));
        b.outbox.failed(1, kBusy);
        b.inHand.clear();
        QVERIFY(b.take().empty());
    }
    b.now += 60s;
    b.drain(); // now it is allowed
    QCOMPARE(Bench::ids(b.arrived), (std::vector<std::uint64_t>{3, 5, 7, 1, 2, 4, 6}));
    b.add(MessageClass::Trigger, "forbidden");
    b.take();
    b.outbox.failed(8, kNever);
    QCOMPARE(b.ended.back(), std::pair(std::uint64_t(8), Outcome::Failed));
    QCOMPARE(b.outbox.size(), std::size_t(0));
}

// A broker that closes the connection on one message, as some do on too large ones, must get the others all the same.
void OutboxTest::whatEndsConnectionsIsSetAside()
{
    Bench b;
    for (int i = 1; i <= 40; ++i)
        b.add(MessageClass::Trigger, i == 7 ? "poison" : "good");
    int connections = 0;
    std::set<std::uint64_t> delivered;
    while (delivered.size() < 39 && connections < 20) {
        ++connections;
        b.outbox.connected();
        for (bool isUp = true; isUp && delivered.size() < 39;) {
            b.now += 10ms;
            const auto taken = b.take();
            for (const OutboundMessage &m : taken) {
                if (m.id == 7) {
                    isUp = false; // and what came before it on this connection is not acknowledged either
                    break;
                }
            }
            if (!isUp)
                break;
            for (const OutboundMessage &m : taken)
                delivered.insert(m.id);
            b.deliverAll();
        }
        b.lose();
    }
    QCOMPARE(delivered.size(), std::size_t(39));
    QVERIFY2(connections <= 8, qPrintable(QString::number(connections)));
    QCOMPARE(b.outbox.size(), std::size_t(1)); // it is not lost: it is tried again, at last once a minute
    QCOMPARE(b.endedAs(Outcome::Done).size(), std::size_t(39));
}

void OutboxTest::aReceiverThatAcceptsNothingLosesNothing()
{
    Bench b;
    for (int i = 0; i < 100; ++i)
        b.add(static_cast<MessageClass>(i % 3), "t/" + QByteArray::number(i % 7));
    for (int i = 0; i < 10'000; ++i) {
        b.outbox.connected();
        b.take();
        b.lose();
        b.now += 1s;
    }
    QCOMPARE(b.outbox.size(), std::size_t(100));
    b.outbox.connected();
    b.drain();
    std::vector<std::uint64_t> ids = Bench::ids(b.arrived);
    std::sort(ids.begin(), ids.end());
    QCOMPARE(ids.size(), std::size_t(100));
    QCOMPARE(ids.back(), std::uint64_t(100));
}

void OutboxTest::anyFateEndsEachMessageOnce_data()
{
    QTest::addColumn<quint32>("seed");
    for (quint32 seed = 1; seed <= 20; ++seed)
        QTest::addRow("%u", seed) << seed;
}

// Random losses, refusals, acknowledgements and pauses, against what a list of all messages says.
void OutboxTest::anyFateEndsEachMessageOnce()
{
    QFETCH(quint32, seed);
    QRandomGenerator random(seed);
    Bench b;
    const bool hasRefusals = seed % 2 == 0;
    bool isUp = false;
    for (int step = 0; step < 5'000; ++step) {
        const auto dice = random.bounded(100);
        if (dice < 40) {
            const auto kind = static_cast<MessageClass>(random.bounded(static_cast<int>(kMessageClasses)));
            b.add(kind, "k" + QByteArray::number(static_cast<int>(kind)) + "/" + QByteArray::number(random.bounded(4)));
        } else if (dice < 42) {
            if (isUp)
                b.lose();
            else
                b.outbox.connected();
            isUp = !isUp;
        } else if (dice < 70) {
            b.take();
        } else if (dice < 72 && hasRefusals && !b.inHand.empty()) {
            b.outbox.failed(b.inHand.back().id, kBusy);
            b.inHand.pop_back();
        } else if (!b.inHand.empty()) { // acknowledgements come in order
            b.arrived.push_back(b.inHand.front());
            b.outbox.delivered(b.inHand.front().id);
            b.inHand.erase(b.inHand.begin());
        }
        b.now += std::chrono::milliseconds(random.bounded(30));
    }
    if (!isUp)
        b.outbox.connected();
    b.drain();
    QCOMPARE(b.outbox.size(), std::size_t(0));
    QCOMPARE(b.outbox.bytes(), qsizetype(0));
    QVERIFY(b.mostInHand <= kSinkWindow);
    QCOMPARE(b.ended.size(), b.lastId);
    std::set<std::uint64_t> distinct;
    for (const auto &[id, outcome] : b.ended)
        distinct.insert(id);
    QCOMPARE(distinct.size(), b.lastId);
    std::map<QByteArray, std::uint64_t> last;
    for (const OutboundMessage &m : b.arrived) {
        // A refusal comes after newer messages of the topic went out; without one nothing is ever overtaken.
        QVERIFY2(hasRefusals || last[m.topic] < m.id, m.topic.constData());
        last[m.topic] = m.id;
    }
}

void OutboxTest::anHoursOutageFitsIntoMemory()
{
    const std::size_t before = ::mallinfo2().uordblks;
    if (before == 0)
        QSKIP("this allocator (a sanitizer's) tells no figure of its use");
    Bench b;
    QRandomGenerator random(1);
    for (std::uint64_t id = 1; id <= 36'000; ++id) {
        OutboundMessage m = message(id, MessageClass::Telemetry, "telemetry/meter" + QByteArray::number(id % 10));
        m.payload =
            R"({"id":)" + QByteArray::number(id) + R"(,"device":"meter1","time":"2026-08-01T00:00:00.25Z","values":{)";
        for (int i = 0; i < 12; ++i)
            m.payload += "\"activePower" + QByteArray::number(i) + R"(":{"v":)"
                + QByteArray::number(random.bounded(100'000) / 10.0) + "},";
        m.payload.back() = '}';
        m.payload += '}';
        b.outbox.add(std::move(m));
    }
    QVERIFY(b.outbox.bytes() > 36'000 * 350);
    const std::size_t used = ::mallinfo2().uordblks - before;
    qInfo("36,000 messages of %lld bytes take %zu kB", static_cast<long long>(b.outbox.bytes() / 36'000), used / 1024);
    QVERIFY2(used < 8'000'000, qPrintable(QString::number(used)));
}

QTEST_GUILESS_MAIN(OutboxTest)
#include "tst_outbox.moc"
