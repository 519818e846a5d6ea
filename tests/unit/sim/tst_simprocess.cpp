// SPDX-License-Identifier: Apache-2.0
// The running gridloom-sim, seen by clients that share no code with it: Qt SerialBus and mbpoll (libmodbus).
#include "tools/procs/childprocess.h"

#include <QElapsedTimer>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocalSocket>
#include <QModbusReply>
#include <QModbusTcpClient>
#include <QStandardPaths>
#include <QTcpSocket>
#include <QTemporaryDir>
#include <QTest>
#include <QtEndian>

#include <bit>

using namespace gridloom;
using namespace std::chrono_literals;

namespace {

using Words = QList<quint16>;

float float32(const Words &words, int at)
{
    return std::bit_cast<float>(quint32{words[at]} << 16 | words[at + 1]);
}
quint32 swapped32(const Words &words, int at)
{
    return quint32{words[at + 1]} << 16 | words[at];
}
quint64 uint64(const Words &words, int at)
{
    return quint64{words[at]} << 48 | quint64{words[at + 1]} << 32 | quint64{words[at + 2]} << 16 | words[at + 3];
}

} // namespace

class SimProcessTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup();
    void meterBalancesWithTheOtherDevices();
    void batteryFollowsItsSetpoint();
    void batteryFallsToItsSafeValueAtSpeed();
    void pvAndChargersObey();
    void mbpollReadsTheSameMeter();
    void exceptionsAndBadFramesAreCounted();
    void bulkDevicesServeTheirRegisters();
    void statsSocketTellsTheCounters();
    void wrongScenariosAreRefused();

private:
    void startSimulator(const QByteArray &scenario, const QString &speed = QStringLiteral("1"));
    int portOf(const char *device) const { return m_ports.value(QLatin1String(device)).toInt(); }
    QJsonObject stopAndReport();

    bool connectTo(const char *device);
    /// The answer's words; the exception code as m_exception when there is one.
    Words request(const QModbusRequest &request, int unit = 1);
    Words read(QModbusDataUnit::RegisterType table, int address, int count, int unit = 1);
    bool write(QModbusDataUnit::RegisterType table, int address, const Words &words, int unit = 1);

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<ChildProcess> m_simulator;
    std::unique_ptr<QModbusTcpClient> m_client;
    QJsonObject m_ports;
    int m_exception = 0;
};

namespace {
constexpr auto kInputs = QModbusDataUnit::InputRegisters;
constexpr auto kHolding = QModbusDataUnit::HoldingRegisters;
constexpr auto kCoils = QModbusDataUnit::Coils;
constexpr auto kDiscrete = QModbusDataUnit::DiscreteInputs;

const QByteArray kSite =
    R"({"site": {"zone": "Europe/Vienna", "startOfDay": "2026-01-15T11:00", "loadKwhPerYear": 150000},
 "devices": [{"id": "meter1", "type": "gridMeter"}, {"id": "pv1", "type": "pvInverter", "ratedKw": 30},
 {"id": "battery1", "type": "battery", "capacityKwh": 60, "ratedKw": 30, "portOf": "meter1", "unit": 2},
 {"id": "ev1", "type": "evCharger"}, {"id": "ev2", "type": "evCharger", "portOf": "ev1", "unit": 2}]})";
} // namespace

void SimProcessTest::init()
{
    m_folder = std::make_unique<QTemporaryDir>();
    m_simulator = std::make_unique<ChildProcess>();
    m_client = std::make_unique<QModbusTcpClient>();
    m_client->setNumberOfRetries(0);
    m_exception = 0;
}

void SimProcessTest::cleanup()
{
    m_client.reset();
    m_simulator.reset();
    m_folder.reset();
}

void SimProcessTest::startSimulator(const QByteArray &scenario, const QString &speed)
{
    QFile file(m_folder->filePath(QStringLiteral("scenario.json")));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(scenario);
    file.close();
    const auto started =
        m_simulator->start(QStringLiteral(GRIDLOOM_BINARY_DIR "/bin/gridloom-sim"),
                           {QStringLiteral("--scenario"), file.fileName(), QStringLiteral("--port-file"),
                            m_folder->filePath(QStringLiteral("ports.json")), QStringLiteral("--report"),
                            m_folder->filePath(QStringLiteral("report.json")), QStringLiteral("--stats-socket"),
                            m_folder->filePath(QStringLiteral("stats")), QStringLiteral("--speed"), speed});
    QVERIFY(started);
    const auto ready = m_simulator->waitForOutput("ready\n", 10s);
    QVERIFY2(ready, m_simulator->output().constData());
    QFile ports(m_folder->filePath(QStringLiteral("ports.json")));
    QVERIFY(ports.open(QIODevice::ReadOnly));
    m_ports = QJsonDocument::fromJson(ports.readAll()).object().value(QLatin1String("devices")).toObject();
}

QJsonObject SimProcessTest::stopAndReport()
{
    m_simulator->terminate();
    QFile report(m_folder->filePath(QStringLiteral("report.json")));
    if (m_simulator->exitCode() != 0 || !report.open(QIODevice::ReadOnly))
        return {};
    return QJsonDocument::fromJson(report.readAll()).object();
}

bool SimProcessTest::connectTo(const char *device)
{
    m_client->disconnectDevice();
    m_client->setConnectionParameter(QModbusDevice::NetworkAddressParameter, QStringLiteral("127.0.0.1"));
    m_client->setConnectionParameter(QModbusDevice::NetworkPortParameter, portOf(device));
    m_client->connectDevice();
    return QTest::qWaitFor([this] { return m_client->state() == QModbusDevice::ConnectedState; });
}

Words SimProcessTest::request(const QModbusRequest &request, int unit)
{
    const std::unique_ptr<QModbusReply> reply(m_client->sendRawRequest(request, unit));
    if (!reply || !QTest::qWaitFor([&] { return reply->isFinished(); }))
        return {};
    const QModbusResponse answer = reply->rawResult();
    m_exception = answer.isException() ? answer.exceptionCode() : 0;
    Words words;
    for (qsizetype i = 1; i + 1 < answer.dataSize(); i += 2)
        words.append(qFromBigEndian<quint16>(answer.data().constData() + i));
    return words;
}

Words SimProcessTest::read(QModbusDataUnit::RegisterType table, int address, int count, int unit)
{
    const std::unique_ptr<QModbusReply> reply(
        m_client->sendReadRequest({table, address, static_cast<quint16>(count)}, unit));
    if (!reply || !QTest::qWaitFor([&] { return reply->isFinished(); }))
        return {};
    m_exception = reply->error() == QModbusDevice::ProtocolError ? reply->rawResult().exceptionCode() : 0;
    return reply->result().values();
}

bool SimProcessTest::write(QModbusDataUnit::RegisterType table, int address, const Words &words, int unit)
{
    const std::unique_ptr<QModbusReply> reply(m_client->sendWriteRequest({table, address, words}, unit));
    if (!reply || !QTest::qWaitFor([&] { return reply->isFinished(); }))
        return false;
    m_exception = reply->error() == QModbusDevice::ProtocolError ? reply->rawResult().exceptionCode() : 0;
    return reply->error() == QModbusDevice::NoError;
}

void SimProcessTest::meterBalancesWithTheOtherDevices()
{
    startSimulator(kSite);
    QVERIFY(connectTo("meter1"));
    const Words meter = read(kInputs, 0, 44);
    QCOMPARE(meter.size(), 44);
    for (int phase = 0; phase < 3; ++phase) {
        QVERIFY(std::abs(float32(meter, 2 * phase) - 230) <= 3.1F);
        QVERIFY(float32(meter, 6 + 2 * phase) > 0);
    }
    const float gridW = float32(meter, 18);
    QVERIFY(std::abs(float32(meter, 12) + float32(meter, 14) + float32(meter, 16) - gridW) < 0.1F);
    QVERIFY(std::abs(float32(meter, 24) - 50) < 0.04F);
    QCOMPARE(uint64(meter, 30), quint64{quint32{meter[40]} << 16 | meter[41]});
    const Words battery = read(kInputs, 0, 20, 2);
    QCOMPARE(battery[0], quint16{500}); // 50.0 %
    QCOMPARE(float32(battery, 18), 30.0F);

    QVERIFY(connectTo("pv1"));
    const Words pv = read(kHolding, 0, 15);
    QVERIFY(connectTo("ev1"));
    const float evW = float32(read(kInputs, 0, 13), 6);
    // Grid = load (40.8 kW +- 3 %) + vehicle - PV; the readings are some ms apart, and vehicle and PV still ramp up.
    const double loadW = gridW + swapped32(pv, 2) - evW;
    QVERIFY2(loadW > 34'000 && loadW < 48'000, QByteArray::number(loadW).constData());
}

void SimProcessTest::batteryFollowsItsSetpoint()
{
    startSimulator(kSite, QStringLiteral("5"));
    QVERIFY(connectTo("meter1"));
    // -20,000 W in two registers, ABCD.
    QVERIFY(write(kHolding, 40, {0xFFFF, 0xB1E0}, 2));
    QCOMPARE(read(kHolding, 40, 3, 2), (Words{0xFFFF, 0xB1E0, 0}));
    const auto powerW = [&] {
        const Words words = read(kInputs, 2, 2, 2);
        return words.size() == 2 ? static_cast<qint32>(quint32{words[0]} << 16 | words[1]) : 0;
    };
    QTRY_COMPARE_WITH_TIMEOUT(powerW(), -20'000, 15'000);
    QVERIFY2(float32(read(kInputs, 18, 2), 0) > 35'000, "the meter sees the charge");
    QCOMPARE(read(kInputs, 9, 1, 2), Words{1});
    QVERIFY2(!write(kHolding, 40, {0, 30'001}, 2), "above the rating");
    QCOMPARE(m_exception, 3);
    QVERIFY2(!write(kHolding, 40, {0}, 2), "half a setpoint");
    QCOMPARE(m_exception, 2);
    QCOMPARE(read(kHolding, 40, 2, 2), (Words{0xFFFF, 0xB1E0}));
}

void SimProcessTest::batteryFallsToItsSafeValueAtSpeed()
{
    startSimulator(kSite, QStringLiteral("60"));
    QVERIFY(connectTo("meter1"));
    QVERIFY(write(kHolding, 40, {0, 10'000}, 2));
    QElapsedTimer sinceWrite;
    sinceWrite.start();
    QTRY_COMPARE(read(kInputs, 9, 1, 2), Words{2});
    QTRY_COMPARE(read(kInputs, 9, 1, 2), Words{3}); // 60 simulated seconds are one real second
    QVERIFY(sinceWrite.elapsed() >= 950);
    QCOMPARE(read(kHolding, 40, 2, 2), (Words{0, 0}));
}

void SimProcessTest::pvAndChargersObey()
{
    startSimulator(kSite, QStringLiteral("20"));
    QVERIFY(connectTo("pv1"));
    QTRY_VERIFY(swapped32(read(kHolding, 2, 2), 0) > 4'000);
    QVERIFY(write(kHolding, 40, {100})); // 10.0 % of 30 kW
    QTRY_COMPARE(swapped32(read(kHolding, 2, 2), 0), 3'000U);
    QCOMPARE(read(kHolding, 0, 1), Words{3});
    QVERIFY(!write(kHolding, 40, {1001}));
    QCOMPARE(m_exception, 3);
    QVERIFY(!write(kHolding, 0, {1}));
    QCOMPARE(m_exception, 2);

    QVERIFY(connectTo("ev1"));
    QTRY_COMPARE(read(kDiscrete, 0, 2).first(2), (Words{1, 1}));
    QVERIFY(write(kHolding, 0, {60}));
    QTRY_COMPARE(read(kInputs, 2, 3), (Words{60, 60, 60})); // 6.0 A
    QVERIFY(write(kHolding, 0, {59}));
    QTRY_COMPARE(read(kInputs, 0, 1), Words{1});
    QVERIFY(write(kHolding, 0, {160}));
    QTRY_COMPARE(read(kInputs, 2, 1), Words{160});
    QVERIFY(write(kCoils, 0, {0}));
    QCOMPARE(read(kCoils, 0, 1).first(), quint16{0});
    QTRY_COMPARE(read(kDiscrete, 0, 2).first(2), (Words{1, 0}));
    QCOMPARE(read(kHolding, 0, 1, 2), Words{320}); // the neighbour on the same port keeps its own
}

void SimProcessTest::mbpollReadsTheSameMeter()
{
    const QString mbpoll = QStandardPaths::findExecutable(QStringLiteral("mbpoll"));
    if (mbpoll.isEmpty())
        QSKIP("mbpoll is not installed");
    startSimulator(kSite);
    ChildProcess poll;
    QVERIFY(poll.start(mbpoll,
                       {QStringLiteral("-m"), QStringLiteral("tcp"), QStringLiteral("-p"),
                        QString::number(portOf("meter1")), QStringLiteral("-0"), QStringLiteral("-1"),
                        QStringLiteral("-a"), QStringLiteral("1"), QStringLiteral("-t"), QStringLiteral("3:float"),
                        QStringLiteral("-B"), QStringLiteral("-r"), QStringLiteral("24"), QStringLiteral("-c"),
                        QStringLiteral("1"), QStringLiteral("127.0.0.1")}));
    QVERIFY(poll.waitForExit(10s));
    const QByteArray output = poll.output();
    const qsizetype at = output.indexOf("[24]:");
    QVERIFY2(at >= 0, output.constData());
    const double hertz = output.mid(at + 5).trimmed().split('\n').first().toDouble();
    QVERIFY2(std::abs(hertz - 50) < 0.04, output.constData());
}

void SimProcessTest::exceptionsAndBadFramesAreCounted()
{
    startSimulator(kSite);
    QVERIFY(connectTo("meter1"));
    QCOMPARE(read(kInputs, 0, 1).size(), 1);
    read(kInputs, 43, 2);
    QCOMPARE(m_exception, 2);
    read(kHolding, 0, 1);
    QCOMPARE(m_exception, 2);
    request(QModbusRequest(QModbusRequest::ReadExceptionStatus));
    QCOMPARE(m_exception, 1);
    request(QModbusRequest(QModbusRequest::ReadInputRegisters, quint16{0}, quint16{126}));
    QCOMPARE(m_exception, 3);
    request(QModbusRequest(QModbusRequest::ReadInputRegisters, quint16{0}, quint16{1}), 9);
    QCOMPARE(m_exception, 11);
    QVERIFY(write(kHolding, 42, {1}, 2));

    // Two requests in one segment, the second followed by a broken header: two answers, then the end.
    QTcpSocket raw;
    raw.connectToHost(QStringLiteral("127.0.0.1"), static_cast<quint16>(portOf("meter1")));
    QVERIFY(raw.waitForConnected());
    raw.write(QByteArray::fromHex("0001 0000 0006 01 04 0000 0001  0002 0000 0006 02 03 002A 0001  0003 0001 0006"));
    QByteArray answers;
    QVERIFY(QTest::qWaitFor([&] {
        answers += raw.readAll();
        return raw.state() == QAbstractSocket::UnconnectedState;
    }));
    QCOMPARE(answers.size(), 22);
    QCOMPARE(answers.mid(11), QByteArray::fromHex("0002 0000 0005 02 03 02 0001"));

    const QJsonObject report = stopAndReport();
    QCOMPARE(report.value(QLatin1String("reads")).toInt(), 6); // unit 9 is no device, function 7 no read
    QCOMPARE(report.value(QLatin1String("writes")).toInt(), 1);
    QCOMPARE(report.value(QLatin1String("badRequests")).toInt(), 5);
    QCOMPARE(report.value(QLatin1String("badFrames")).toInt(), 1);
    const QJsonObject battery =
        report.value(QLatin1String("devices")).toObject().value(QLatin1String("battery1")).toObject();
    QCOMPARE(battery, (QJsonObject{{QStringLiteral("reads"), 1}, {QStringLiteral("writes"), 1}}));
    QCOMPARE(report.value(QLatin1String("registerWrites")).toObject().value(QLatin1String("battery1")).toObject(),
             (QJsonObject{{QStringLiteral("holding:42"), 1}}));
}

void SimProcessTest::bulkDevicesServeTheirRegisters()
{
    startSimulator(
        R"({"devices": [{"id": "bulk-1", "type": "bulk", "setpoints": 2}, {"id": "bulk-2", "type": "bulk"}]})");
    QVERIFY(portOf("bulk-1") != portOf("bulk-2"));
    QVERIFY(connectTo("bulk-1"));
    const Words first = read(kHolding, 0, 100);
    QCOMPARE(first.size(), 100);
    QTRY_VERIFY(read(kHolding, 0, 100) != first);
    QVERIFY(write(kHolding, 1002, {0x0012, 0x3456}));
    QCOMPARE(read(kHolding, 1000, 4), (Words{0, 0, 0x0012, 0x3456}));
    QVERIFY(!write(kHolding, 1004, {0, 1}));
    QCOMPARE(m_exception, 2);
    QVERIFY(!write(kHolding, 0, {1}));
    QCOMPARE(m_exception, 2);
}

void SimProcessTest::statsSocketTellsTheCounters()
{
    startSimulator(kSite);
    QVERIFY(connectTo("meter1"));
    read(kInputs, 0, 1);
    QLocalSocket stats;
    stats.connectToServer(m_folder->filePath(QStringLiteral("stats")));
    QTRY_VERIFY(stats.canReadLine());
    const QJsonObject line = QJsonDocument::fromJson(stats.readLine()).object();
    QCOMPARE(line.value(QLatin1String("reads")).toInt(), 1);
    QCOMPARE(line.value(QLatin1String("connections")).toInt(), 1);
}

void SimProcessTest::wrongScenariosAreRefused()
{
    const QString path = m_folder->filePath(QStringLiteral("wrong.json"));
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(R"({"devices": [{"id": "m", "type": "gridMeter", "unit": 300}]})");
    file.close();
    const QString program = QStringLiteral(GRIDLOOM_BINARY_DIR "/bin/gridloom-sim");
    QVERIFY(m_simulator->start(program, {QStringLiteral("--scenario"), path}));
    QVERIFY(m_simulator->waitForExit(10s));
    QCOMPARE(m_simulator->exitCode(), 3);
    QVERIFY2(m_simulator->output().contains("/devices/0/unit"), m_simulator->output().constData());
    ChildProcess second;
    QVERIFY(second.start(program, {QStringLiteral("--speed"), QStringLiteral("0")}));
    QVERIFY(second.waitForExit(10s));
    QCOMPARE(second.exitCode(), 2);
}

QTEST_GUILESS_MAIN(SimProcessTest)
#include "tst_simprocess.moc"
