// SPDX-License-Identifier: Apache-2.0
// T08 and PC-18: files of the state folder are damaged between two starts. The runtime starts and polls all the same, keeps
// the bad file aside and names it in an alarm; in place of a damaged design the last one runs.
#include "faults/faultsize.h"
#include "faults/loadbed.h"

#include <QDir>
#include <QDirIterator>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QRandomGenerator>
#include <QTest>
#include <QtEndian>

using namespace gridloom;
using namespace gridloom::faults;

namespace {
constexpr int kStartMs = 10'000;
const QStringList kKinds{QStringLiteral("empty"), QStringLiteral("nul"), QStringLiteral("cut"),
                         QStringLiteral("flipped"), QStringLiteral("leftover")};

QByteArray readAll(const QString &path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void writeAll(const QString &path, const QByteArray &bytes)
{
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size())
        qFatal("%s cannot be written", qPrintable(path));
}

/// Paths below the folder, relative to it.
QStringList filesBelow(const QString &folder)
{
    QStringList paths;
    for (QDirIterator it(folder, QDir::Files, QDirIterator::Subdirectories); it.hasNext();)
        paths << QDir(folder).relativeFilePath(it.next());
    paths.sort();
    return paths;
}

void copyFolder(const QString &from, const QString &to)
{
    QDir(to).removeRecursively();
    for (const QString &path : filesBelow(from)) {
        const QString target = to + QLatin1Char('/') + path;
        QDir().mkpath(QFileInfo(target).path());
        if (!QFile::copy(from + QLatin1Char('/') + path, target))
            qFatal("%s cannot be copied", qPrintable(path));
    }
}

/// What of the file is content: zeros at its end are reserved space.
qsizetype contentOf(const QByteArray &bytes)
{
    qsizetype size = bytes.size();
    while (size > 0 && bytes[size - 1] == '\0')
        --size;
    return size;
}

/// Half of the content, but not at the end of a frame (docs/store-format.md): that is a file whose newest frames were
/// never written, and no damage.
qsizetype cutAt(const QByteArray &bytes, qsizetype content)
{
    constexpr qsizetype kFileHeader = 16;
    constexpr qsizetype kFrameHeader = 9;
    const qsizetype half = content / 2;
    qsizetype end = kFileHeader;
    while (end < half && end + kFrameHeader <= content)
        end += kFrameHeader + qFromLittleEndian<quint32>(bytes.constData() + end);
    return end == half ? half - 1 : half;
}

void damage(const QString &path, const QString &kind, QRandomGenerator &random)
{
    QByteArray bytes = readAll(path);
    const qsizetype content = contentOf(bytes);
    if (kind == QLatin1String("leftover")) {
        writeAll(path + QStringLiteral(".new"), bytes.left(content / 2));
        return;
    }
    if (kind == QLatin1String("empty"))
        bytes.clear();
    else if (kind == QLatin1String("nul"))
        bytes.fill('\0');
    else if (kind == QLatin1String("cut"))
        bytes.truncate(cutAt(bytes, content));
    else if (content > 0) {
        const qsizetype at = random.bounded(static_cast<int>(content));
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.bounded(8)));
    }
    writeAll(path, bytes);
}

/// Whether the damage costs anything. SQLite's journals and its index only repeat what is in the database by then, a bit
/// of a page's free space says nothing, the copy of the design is made anew from the design, and the space kept for a
/// full disk is empty.
bool isVisible(const QString &file, const QString &kind)
{
    if (kind == QLatin1String("leftover") || file.endsWith(QLatin1String("-wal"))
        || file.endsWith(QLatin1String("-shm")) || file.endsWith(QLatin1String("-journal"))
        || file == QLatin1String("design.last") || file == QLatin1String("records-reserve.log"))
        return false;
    return !(file.endsWith(QLatin1String(".db")) && kind == QLatin1String("flipped"));
}

QString alarmText(const QJsonObject &status)
{
    for (const QJsonValue &alarm : status[QLatin1String("alarms")].toArray())
        if (alarm[QLatin1String("name")].toString() == QLatin1String("system.stateDamaged"))
            return alarm[QLatin1String("text")].toString();
    return {};
}
} // namespace

class DamageTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void stateFiles();
    void aFirstDesignIsRefused();
    void designFiles();

private:
    static QString prepare(LoadBed &bed);
    void startOn(LoadBed &bed, const QString &file, const QString &kind);
};

// A small site that fills all state files; text of what went wrong, else empty.
QString DamageTest::prepare(LoadBed &bed)
{
    const auto ports = bed.startSimulator(R"({"devices":[{"id":"dev","type":"bulk"}]})");
    if (ports.isEmpty())
        return QStringLiteral("no simulator");
    DesignDocument files = GatewayBed::baseDesign(PrivateBroker::findFreePort()); // nobody listens there
    GatewayBed::addBulkDevice(files, ports[QStringLiteral("dev")]);
    files["aggregations/sums.json"] = R"({"id":"sums","name":"sums","aggregations":[
        {"id":"mean","name":"mean","inputs":["dev.a"],"windowMs":1000,"fold":"mean"}]})";
    files["alarms/site.json"] =
        R"({"id":"site","name":"site","alarms":[{"id":"event","name":"event","severity":"low"}]})";
    GatewayBed::addPeriodicTrigger(files, "task", 20, R"(
        state.active = not state.active
        if state.active then alarm.raise("site.event") else alarm.clear("site.event") end
        control.write("dev.set", run.number)
        mqtt.publish("numbers", {run = run.number}))");
    bed.writeDesign(files);
    return {};
}

void DamageTest::startOn(LoadBed &bed, const QString &file, const QString &kind)
{
    QElapsedTimer time;
    time.start();
    QVERIFY(bed.launchRuntime());
    QJsonObject status;
    const bool polls = QTest::qWaitFor(
        [&] {
            const QJsonObject next = bed.takeStatus();
            if (!next.isEmpty())
                status = next;
            return numberAt(status, {"ledger", "points", "done"}) > 0
                && (!isVisible(file, kind) || !alarmText(status).isEmpty());
        },
        kStartMs);
    QVERIFY2(polls, bed.runtime().output().right(2000).constData());
    QVERIFY(time.elapsed() <= kStartMs);
    QVERIFY(ledgersAddUp(status));
    if (isVisible(file, kind)) {
        const QString name = QFileInfo(file).fileName();
        QVERIFY2(alarmText(status).contains(name), qPrintable(QStringLiteral("the alarm says: ") + alarmText(status)));
        const QFileInfo path(bed.stateDir() + QLatin1Char('/') + file);
        QVERIFY2(!path.dir().entryList({name + QStringLiteral(".corrupt-*")}).isEmpty(), "nothing was kept aside");
    }
    bed.killRuntime(); // an orderly stop would wait for a broker
    QCOMPARE(integrityOf(bed.recordsDb()), QStringLiteral("ok"));
}

void DamageTest::stateFiles()
{
    LoadBed bed;
    const QString why = prepare(bed);
    QVERIFY2(why.isEmpty(), qPrintable(why));
    // Two lives: a full database from the first, a log from the second, which is killed.
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    QVERIFY(!bed.statusWhere([](const QJsonObject &s) {
                    return numberAt(s, {"records", "committed"}) > 50;
                })
                 .isEmpty());
    QJsonObject last;
    QVERIFY(bed.stopRuntime(last) == 0);
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    QVERIFY(!bed.statusWhere([](const QJsonObject &s) {
                    return numberAt(s, {"records", "committed"}) > 50 && numberAt(s, {"store", "rows"}) > 5;
                })
                 .isEmpty());
    bed.killRuntime();
    const QString pristine = bed.folder() + QStringLiteral("/template");
    copyFolder(bed.stateDir(), pristine);
    const QStringList files = filesBelow(pristine);
    QVERIFY(files.contains(QStringLiteral("records.db")));

    const auto seed = static_cast<quint32>(
        numberFrom("GRIDLOOM_FAULT_SEED", static_cast<int>(QRandomGenerator::global()->bounded(1 << 24))));
    report("T08.seed", static_cast<qint64>(seed));
    QRandomGenerator random(seed);
    const int rounds = bySize(1, 3, 20);
    int starts = 0;
    for (int round = 0; round < rounds; ++round)
        for (qsizetype f = 0; f < files.size(); ++f)
            for (qsizetype k = 0; k < kKinds.size(); ++k) {
                // The short size takes each kind and each file, but not each kind of each file.
                const bool isMain = isVisible(files[f], QStringLiteral("nul"));
                if (size() == Size::Short && (!isMain || (f + k + seed) % 4 != 0))
                    continue;
                copyFolder(pristine, bed.stateDir());
                damage(bed.stateDir() + QLatin1Char('/') + files[f], kKinds[k], random);
                startOn(bed, files[f], kKinds[k]);
                ++starts;
                if (QTest::currentTestFailed())
                    QFAIL(qPrintable(QStringLiteral("after damage \"%1\" of %2").arg(kKinds[k], files[f])));
            }
    report("T08.starts", starts);
}

// Of a design that never ran nothing can stand in.
void DamageTest::aFirstDesignIsRefused()
{
    LoadBed bed;
    const QString why = prepare(bed);
    QVERIFY2(why.isEmpty(), qPrintable(why));
    QRandomGenerator random(1);
    damage(bed.designDir() + QStringLiteral("/devices/dev.json"), QStringLiteral("cut"), random);
    QVERIFY(bed.launchRuntime());
    QVERIFY(bed.runtime().waitForExit(std::chrono::milliseconds(kStartMs)));
    QCOMPARE(bed.runtime().exitCode(), 3);
    QVERIFY2(bed.runtime().output().contains("devices/dev.json"), bed.runtime().output().constData());
}

// The last design runs in place of a damaged one, and the alarm names the file.
void DamageTest::designFiles()
{
    LoadBed bed;
    const QString why = prepare(bed);
    QVERIFY2(why.isEmpty(), qPrintable(why));
    const QString good = bed.folder() + QStringLiteral("/good");
    copyFolder(bed.designDir(), good);
    QVERIFY2(bed.startRuntime(), bed.runtime().output().constData());
    const QString revision = bed.nextStatus()[QLatin1String("revision")].toString();
    bed.killRuntime();
    QRandomGenerator random(1);
    const QStringList files = filesBelow(good);
    for (qsizetype f = 0; f < files.size(); ++f)
        for (qsizetype k = 0; k < 3; ++k) {
            // An empty script is a valid one; the short size takes each file once.
            if ((files[f].endsWith(QLatin1String(".lua")) && k == 0)
                || (size() == Size::Short && (f % 2 != 0 || f / 2 % 3 != k)))
                continue;
            copyFolder(good, bed.designDir());
            damage(bed.designDir() + QLatin1Char('/') + files[f], kKinds[k], random);
            QVERIFY(bed.launchRuntime());
            QJsonObject status;
            const auto isAlarmed = [&] {
                const QJsonObject next = bed.takeStatus();
                if (!next.isEmpty())
                    status = next;
                return numberAt(status, {"ledger", "points", "done"}) > 0 && !alarmText(status).isEmpty();
            };
            QVERIFY2(QTest::qWaitFor(isAlarmed, kStartMs), bed.runtime().output().right(2000).constData());
            QVERIFY2(alarmText(status).contains(files[f]), qPrintable(alarmText(status)));
            QCOMPARE(status[QLatin1String("revision")].toString(), revision);
            bed.killRuntime();
        }
    // With both gone there is nothing left to run.
    damage(bed.stateDir() + QStringLiteral("/design.last"), QStringLiteral("flipped"), random);
    damage(bed.designDir() + QStringLiteral("/gridloom.json"), QStringLiteral("nul"), random);
    QVERIFY(bed.launchRuntime());
    QVERIFY(bed.runtime().waitForExit(std::chrono::milliseconds(kStartMs)));
    QCOMPARE(bed.runtime().exitCode(), 3);
}

QTEST_GUILESS_MAIN(DamageTest)
#include "tst_fault_damage.moc"
