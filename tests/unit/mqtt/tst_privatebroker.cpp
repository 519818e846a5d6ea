// SPDX-License-Identifier: Apache-2.0
#include "tools/procs/privatebroker.h"

#include <QProcess>
#include <QStandardPaths>
#include <QTcpServer>
#include <QTest>

using namespace gridloom;

namespace {

/// Debian's own client as an independent judge: its exit code for one publish.
int publishWithTool(quint16 port, const QStringList &more)
{
    QProcess tool;
    tool.start(QStringLiteral("mosquitto_pub"),
               QStringList{QStringLiteral("-h"), QStringLiteral("127.0.0.1"), QStringLiteral("-p"),
                           QString::number(port), QStringLiteral("-q"), QStringLiteral("1"), QStringLiteral("-t"),
                           QStringLiteral("t"), QStringLiteral("-m"), QStringLiteral("x")}
                   + more);
    tool.waitForFinished(10'000);
    return tool.exitCode();
}

} // namespace

class PrivateBrokerTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void servesAndRestartsOnItsPort();
    void asksForTheLogin();
    void twoDoNotMeet();
    void badConfigurationIsAnError();
};

void PrivateBrokerTest::initTestCase()
{
    if (QStandardPaths::findExecutable(QStringLiteral("mosquitto_pub")).isEmpty())
        QSKIP("mosquitto-clients is not installed");
}

void PrivateBrokerTest::servesAndRestartsOnItsPort()
{
    PrivateBroker broker;
    QVERIFY(broker.start());
    const quint16 port = broker.port();
    QCOMPARE(publishWithTool(port, {}), 0);
    broker.kill();
    QVERIFY(!broker.isRunning());
    QVERIFY(publishWithTool(port, {}) != 0);
    const auto restarted = broker.restart();
    QVERIFY2(restarted.ok(), qPrintable(restarted.error().message));
    QCOMPARE(broker.port(), port);
    QCOMPARE(publishWithTool(port, {}), 0);
}

void PrivateBrokerTest::asksForTheLogin()
{
    PrivateBroker broker({QStringLiteral("user"), QStringLiteral("secret"), {}, QStringLiteral("mosquitto")});
    const auto started = broker.start();
    QVERIFY2(started.ok(), qPrintable(started.error().message));
    QCOMPARE(publishWithTool(broker.port(), {}), 5); // CONNACK 5: not authorised
    QCOMPARE(
        publishWithTool(broker.port(),
                        {QStringLiteral("-u"), QStringLiteral("user"), QStringLiteral("-P"), QStringLiteral("secret")}),
        0);
}

void PrivateBrokerTest::twoDoNotMeet()
{
    PrivateBroker first;
    PrivateBroker second;
    QVERIFY(first.start());
    QVERIFY(second.start());
    QVERIFY(first.port() != second.port());
    first.stop();
    QCOMPARE(publishWithTool(second.port(), {}), 0);
}

void PrivateBrokerTest::badConfigurationIsAnError()
{
    PrivateBroker broker({{}, {}, {QStringLiteral("no_such_option true")}, QStringLiteral("mosquitto")});
    const auto started = broker.start();
    QVERIFY(!started);
    QCOMPARE(started.error().code, QStringLiteral("broker.start"));
    QVERIFY2(started.error().message.contains(QStringLiteral("no_such_option")), qPrintable(started.error().message));
}

QTEST_GUILESS_MAIN(PrivateBrokerTest)
#include "tst_privatebroker.moc"
