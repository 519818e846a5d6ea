// SPDX-License-Identifier: Apache-2.0
#include "tools/procs/childprocess.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>

#include <csignal>
#include <cstdio>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {

bool exists(qint64 pid)
{
    return ::kill(static_cast<pid_t>(pid), 0) == 0;
}

const QString kShell = QStringLiteral("/bin/sh");

/// The test program as a parent that holds a child until it is killed itself.
int holdChild()
{
    ChildProcess child;
    if (!child.start(QStringLiteral("/bin/sleep"), {QStringLiteral("600")}))
        return 1;
    std::printf("child %lld\n", static_cast<long long>(child.pid()));
    std::fflush(stdout);
    child.waitForExit(600s);
    return 0;
}

} // namespace

class ChildProcessTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void outputAndExitCode();
    void missingProgramIsAnError();
    void endBeforeTheWordsIsAnError();
    void terminateTurnsToKill();
    void childDiesWithItsParent();
};

void ChildProcessTest::outputAndExitCode()
{
    ChildProcess child;
    QSignalSpy exited(&child, &ChildProcess::exited);
    QVERIFY(child.start(kShell, {QStringLiteral("-c"), QStringLiteral("echo $WORD; echo err >&2; read x; exit 7")},
                        {QStringLiteral("WORD=out=1")}));
    QTRY_COMPARE(exited.count(), 1);
    QCOMPARE(exited.at(0).at(0).toInt(), 7);
    QCOMPARE(child.exitCode(), 7);
    QCOMPARE(child.output(), QByteArray("out=1\nerr\n"));
}

void ChildProcessTest::missingProgramIsAnError()
{
    ChildProcess child;
    const auto result = child.start(QStringLiteral("/nonexistent/program"), {});
    QVERIFY(!result);
    QCOMPARE(result.error().code, QStringLiteral("process.start"));
    QVERIFY(!child.isRunning());
}

void ChildProcessTest::endBeforeTheWordsIsAnError()
{
    ChildProcess child;
    QVERIFY(child.start(kShell, {QStringLiteral("-c"), QStringLiteral("echo some words; exit 3")}));
    QVERIFY(child.waitForOutput("some words", 5s));
    const auto result = child.waitForOutput("other words", 5s);
    QCOMPARE(result.error().code, QStringLiteral("process.ended"));
    QVERIFY(result.error().message.contains(QStringLiteral("some words")));
}

void ChildProcessTest::terminateTurnsToKill()
{
    ChildProcess child;
    QVERIFY(child.start(
        kShell, {QStringLiteral("-c"), QStringLiteral("trap '' TERM; echo ready; while :; do sleep 0.02; done")}));
    QVERIFY(child.waitForOutput("ready", 5s));
    const qint64 pid = child.pid();
    QElapsedTimer timer;
    timer.start();
    child.terminate(200ms);
    QVERIFY2(timer.elapsed() >= 200, "the grace was not given");
    QVERIFY(!exists(pid));
    QCOMPARE(child.exitCode(), 128 + SIGKILL);
    child.terminate(200ms);
}

void ChildProcessTest::childDiesWithItsParent()
{
    ChildProcess parent;
    QVERIFY(parent.start(QCoreApplication::applicationFilePath(), {QStringLiteral("hold-child")}));
    QVERIFY(parent.waitForOutput("\n", 10s));
    const qint64 grandchild = parent.output().mid(6).trimmed().toLongLong();
    QVERIFY(grandchild > 0);
    QVERIFY(exists(grandchild));
    parent.kill(); // no destructor of it runs
    // Killed by the kernel; it may stay a zombie where nobody reaps orphans, so its command line is what must be gone.
    QTRY_VERIFY([grandchild] {
        QFile file(QStringLiteral("/proc/%1/cmdline").arg(grandchild));
        return !file.open(QIODevice::ReadOnly) || file.readAll().isEmpty();
    }());
}

int main(int argc, char **argv)
{
    QCoreApplication app(argc, argv);
    if (argc == 2 && qstrcmp(argv[1], "hold-child") == 0)
        return holdChild();
    ChildProcessTest test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_childprocess.moc"
