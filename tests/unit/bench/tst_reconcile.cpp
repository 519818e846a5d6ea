// SPDX-License-Identifier: Apache-2.0
#include "benchsamples.h"

#include <QTest>

using namespace gridloom;

class ReconcileTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void fittingNumbersHold();
    void everyBrokenNumberIsFound_data();
    void everyBrokenNumberIsFound();
    void workInFlightIsNotTheEnd();
};

namespace {
QStringList broken(const RuntimeStatus &status, const OutsideCounts &outside)
{
    QStringList texts;
    for (const Identity &i : reconcile(status, outside))
        if (!i.holds())
            texts << i.text;
    return texts;
}
using Break = std::function<void(RuntimeStatus &, OutsideCounts &)>;
} // namespace
Q_DECLARE_METATYPE(Break)

void ReconcileTest::fittingNumbersHold()
{
    const auto identities = reconcile(stoppedStatus(), fittingCounts());
    QVERIFY(allHold(identities));
    QCOMPARE(identities.size(), std::size_t(2 * 7 + 11));
}

void ReconcileTest::everyBrokenNumberIsFound_data()
{
    QTest::addColumn<Break>("change");
    QTest::addColumn<QStringList>("expected");
    const auto row = [](const char *name, const Break &change, const QStringList &expected) {
        QTest::newRow(name) << change << expected;
    };
    const QString sum = QStringLiteral("%1: offered = done + failed + timedOut + discarded + inFlight");
    const QString rows = QStringLiteral("rows counted in the store = rows");
    const QString samples = QStringLiteral("samplesOffered = rows + skippedByPolicy + lost + pending");
    const QString messages = QStringLiteral("subscriberMessages = mqtt.done");
    const QString alarms = QStringLiteral("dbAlarmRows = alarms.done");
    const QString writes = QStringLiteral("simWrites = writes");
    const QString confirmed = QStringLiteral("simWrites = control.done + mismatches");
    const QString reads = QStringLiteral("simReads = reads + readBacks");
    const QString runs = QStringLiteral("dbAggregationRuns = runs whose aggregation stage is done");
    const QString aggregationRows = QStringLiteral("dbAggregationRows = aggregationRows");

    row("a sample vanished", [](auto &s, auto &) { ++s.ledgers.points.offered; }, {sum.arg(QStringLiteral("points"))});
    row("a run counted twice", [](auto &s, auto &) { ++s.ledgers.triggers.done; },
        {sum.arg(QStringLiteral("triggers"))});
    row("a command without end", [](auto &s, auto &) { ++s.ledgers.control.offered; },
        {sum.arg(QStringLiteral("control"))});
    row("a publication lost", [](auto &s, auto &) { --s.ledgers.publications.done; },
        {sum.arg(QStringLiteral("publications"))});
    row("store loses silently", [](auto &s, auto &) { --s.store.lost; }, {samples});
    row("store skips uncounted", [](auto &s, auto &) { --s.store.skippedByPolicy; }, {samples});
    row("a row is not on disk", [](auto &, auto &o) { --o.storeRows; }, {rows});
    row("a read nobody counted", [](auto &, auto &o) { ++o.simReads; }, {reads});
    row("a read-back uncounted", [](auto &s, auto &) { --s.requests.readBacks; }, {reads});
    row("a write sent twice", [](auto &, auto &o) { ++o.simWrites; }, {confirmed, writes});
    row("a mismatch uncounted", [](auto &s, auto &) { --s.mismatches; }, {confirmed});
    row("a message acknowledged, not delivered", [](auto &, auto &o) { --o.subscriberMessages; }, {messages});
    row("a trigger row too many", [](auto &, auto &o) { ++o.dbAggregationRows; }, {aggregationRows});
    row("a row counted under a wrong run", [](auto &, auto &o) { --o.dbAggregationRuns; }, {runs});
    row("a run without its row", [](auto &s, auto &) { ++s.aggregationRuns; }, {runs});
    row("a coordination run lost", [](auto &s, auto &) { --s.ledgers.coordination.discarded; },
        {sum.arg(QStringLiteral("coordination"))});
    row("a coordination run without its record", [](auto &, auto &o) { --o.dbCoordinationRows; },
        {QStringLiteral("dbCoordinationRows = coordination.done + failed + timedOut")});
    row("a step written twice", [](auto &, auto &o) { ++*o.simCoordinationWrites; },
        {QStringLiteral("simCoordinationWrites = coordinationWrites")});
    row("a step nobody wrote", [](auto &s, auto &) { ++s.coordinationWrites; },
        {QStringLiteral("simCoordinationWrites = coordinationWrites")});
    row("an alarm not in the journal", [](auto &, auto &o) { --o.dbAlarmRows; }, {alarms});
}

void ReconcileTest::everyBrokenNumberIsFound()
{
    QFETCH(Break, change);
    QFETCH(QStringList, expected);
    RuntimeStatus status = stoppedStatus();
    OutsideCounts outside = fittingCounts();
    change(status, outside);
    QCOMPARE(broken(status, outside), expected);
}

// A ledger that adds up with something still in flight is not at its end.
void ReconcileTest::workInFlightIsNotTheEnd()
{
    RuntimeStatus status = stoppedStatus();
    --status.ledgers.mqtt.done;
    ++status.ledgers.mqtt.inFlight;
    QVERIFY(broken(status, fittingCounts()).contains(QStringLiteral("mqtt: inFlight = 0 after the stop")));
    QCOMPARE(status.ledgers.inFlight(), std::uint64_t(1));
}

QTEST_APPLESS_MAIN(ReconcileTest)
#include "tst_reconcile.moc"
