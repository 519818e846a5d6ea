// SPDX-License-Identifier: Apache-2.0
// T03: the power goes. One run under the load of S2.5 is recorded call by call; from the record disks are built as they may
// be found after a cut at random places, and taken over by the real readers. The truth is the run's own end.
#include "daemon/records/recordsstore.h"
#include "faults/diskimages.h"
#include "faults/faultsize.h"
#include "faults/faultswitch.h"
#include "faults/historyrows.h"
#include "faults/loadbed.h"

#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QRandomGenerator>
#include <QTest>

#include <algorithm>

using namespace gridloom;
using namespace gridloom::faults;
using namespace std::chrono_literals;

namespace {
constexpr qint64 kWindowUs = 1'000'000;
const QStringList kTables{QStringLiteral("alarm_transitions"), QStringLiteral("control_records"),
                          QStringLiteral("run_records"), QStringLiteral("outbox")};
/// Rows of some triggers, and points that change each second.
const QStringList kSeries{QStringLiteral("runs.trigger-001"), QStringLiteral("runs.trigger-002"),
                          QStringLiteral("runs.trigger-021"), QStringLiteral("bulk-001.p01"),
                          QStringLiteral("bulk-002.p01"),     QStringLiteral("bulk-003.p02")};
} // namespace

class PowerCutTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void acknowledgedRecordsSurvive();

private:
    void check(const QString &image, qint64 committed, qint64 cutUs);
    qint64 missing(const QString &imageDb, const QString &table, qint64 upTo) const;

    QTemporaryDir m_folder{QStringLiteral("/dev/shm/gridloom-powercut-XXXXXX")};
    QByteArray m_record;
    QString m_recordedFolder;
    QMap<QString, std::vector<HistoryRow>> m_history; ///< at the end of the run
    qint64 m_longestLossUs = 0;
};

// Without a broker: each message stays in the outbox, so that none may be missing.
void PowerCutTest::initTestCase()
{
    LoadBed bed;
    const QString why = bed.prepare(QStringLiteral("S2.5"), LoadBed::Broker::Absent);
    QVERIFY2(why.isEmpty(), qPrintable(why));
    m_recordedFolder = bed.stateDir();
    const QString record = m_folder.filePath(QStringLiteral("record"));
    const FaultSwitch faults(bed.stateDir(), record);
    bed.setEnvironment(faults.environment());
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    const double seconds = bySize(6, 25, 60);
    QVERIFY(!bed.statusWhere([=](const QJsonObject &s) { return s[QLatin1String("uptimeS")].toDouble() >= seconds; },
                             120'000)
                 .isEmpty());
    QJsonObject report;
    QVERIFY2(bed.stopRuntime(report) == 0, bed.runtime().output().right(2000).constData());
    QCOMPARE(numberAt(report, {"records", "failed"}), 0);
    QVERIFY(QFile::copy(bed.recordsDb(), m_folder.filePath(QStringLiteral("truth.db"))));
    QString fault;
    m_history = historyRows(bed.stateDir(), kSeries, fault);
    QVERIFY2(fault.isEmpty(), qPrintable(fault));
    for (const QString &series : kSeries)
        QVERIFY2(!m_history[series].empty(), qPrintable(series));
    QFile file(record);
    QVERIFY(file.open(QIODevice::ReadOnly));
    m_record = file.readAll();
}

qint64 PowerCutTest::missing(const QString &imageDb, const QString &table, qint64 upTo) const
{
    return sqlNumber(imageDb,
                     QStringLiteral("SELECT count(*) FROM truth.%1 WHERE number <= %2 AND number NOT IN "
                                    "(SELECT number FROM main.%1)")
                         .arg(table)
                         .arg(upTo)
                         .toLatin1()
                         .constData(),
                     m_folder.filePath(QStringLiteral("truth.db")));
}

void PowerCutTest::check(const QString &image, qint64 committed, qint64 cutUs)
{
    {
        static const SystemClock clock;
        RecordsStore store({}, clock);
        const auto opened = store.open(image);
        QVERIFY2(opened.ok(), qPrintable(opened.ok() ? QString() : opened.error().message));
    }
    const QString db = image + QStringLiteral("/records.db");
    QCOMPARE(integrityOf(db), QStringLiteral("ok"));
    for (const QString &table : kTables)
        QVERIFY2(missing(db, table, committed) == 0,
                 qPrintable(QStringLiteral("%1 of %2 up to number %3 are gone")
                                .arg(missing(db, table, committed))
                                .arg(table)
                                .arg(committed)));
    QCOMPARE(sqlNumber(db, "SELECT count(*) - count(DISTINCT command) FROM control_records"), 0);

    QString fault;
    const auto history = historyRows(image, kSeries, fault);
    QVERIFY2(fault.isEmpty(), qPrintable(fault));
    for (const QString &series : kSeries) {
        const std::vector<HistoryRow> found = history.value(series);
        // Both are in the order of their times, and rows are handed over in it: what is missing is the end.
        const std::vector<HistoryRow> &truth = m_history[series];
        if (found.size() >= truth.size())
            continue;
        const qint64 firstLost = truth[found.size()].time.time_since_epoch().count();
        m_longestLossUs = std::max(m_longestLossUs, cutUs - firstLost);
    }
}

void PowerCutTest::acknowledgedRecordsSurvive()
{
    const int images = numberFrom("GRIDLOOM_FAULT_IMAGES", bySize(60, 500, 500));
    const auto seed = static_cast<quint32>(
        numberFrom("GRIDLOOM_FAULT_SEED", static_cast<int>(QRandomGenerator::global()->bounded(1 << 24))));
    report("seed", static_cast<qint64>(seed));
    QRandomGenerator random(seed);
    DiskImages disk(m_record, m_recordedFolder);
    const std::size_t entries = disk.size();
    report("recordedCalls", static_cast<qint64>(entries));
    std::vector<std::size_t> cuts;
    for (int i = 0; i < images; ++i)
        cuts.push_back(static_cast<std::size_t>(random.bounded(static_cast<int>(entries))));
    std::sort(cuts.begin(), cuts.end());
    qint64 acknowledged = 0;
    for (int i = 0; i < images; ++i) {
        disk.goTo(cuts[static_cast<std::size_t>(i)]);
        const QString image = m_folder.filePath(QStringLiteral("image"));
        QDir(image).removeRecursively();
        QDir().mkpath(image);
        const double chance = std::array{0.0, 0.25, 0.5, 0.75, 1.0}[static_cast<std::size_t>(random.bounded(5))];
        disk.write(image, chance, random);
        const QJsonObject told = QJsonDocument::fromJson(disk.lastLine()).object();
        const qint64 committed = numberAt(told, {"records", "committed"});
        acknowledged = std::max(acknowledged, committed);
        check(image, committed, disk.wallUs());
        if (QTest::currentTestFailed())
            QFAIL(qPrintable(QStringLiteral("image %1 of %2, cut after %3 of %4 calls, chance %5")
                                 .arg(i)
                                 .arg(images)
                                 .arg(cuts[static_cast<std::size_t>(i)])
                                 .arg(entries)
                                 .arg(chance)));
    }
    report("images", images);
    report("recordsAcknowledged", acknowledged);
    report("longestHistoryLossMs", static_cast<double>(m_longestLossUs) * 1e-3);
    QVERIFY2(acknowledged > 100, "hardly anything was acknowledged: nothing was tested");
    QVERIFY(m_longestLossUs <= kWindowUs);
}

QTEST_GUILESS_MAIN(PowerCutTest)
#include "tst_fault_powercut.moc"
