// SPDX-License-Identifier: Apache-2.0
#include "faults/loadbed.h"

#include "tools/bench/designgenerator.h"

#include <QDeadlineTimer>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QTest>

#include <sqlite3.h>

namespace gridloom::faults {

namespace {
class Database {
public:
    explicit Database(const QString &path)
    {
        if (sqlite3_open_v2(path.toUtf8().constData(), &m_db, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK)
            sqlite3_busy_timeout(m_db, 10'000);
    }
    ~Database() { sqlite3_close(m_db); }
    Database(const Database &) = delete;
    Database &operator=(const Database &) = delete;

    /// The first column of the first row; null when there is none.
    QByteArray first(const char *query)
    {
        sqlite3_stmt *statement = nullptr;
        QByteArray text;
        if (sqlite3_prepare_v2(m_db, query, -1, &statement, nullptr) == SQLITE_OK
            && sqlite3_step(statement) == SQLITE_ROW)
            text = reinterpret_cast<const char *>(sqlite3_column_text(statement, 0));
        sqlite3_finalize(statement);
        return text;
    }

    void attach(const QString &truth)
    {
        const QByteArray sql = "ATTACH '" + truth.toUtf8() + "' AS truth";
        if (sqlite3_exec(m_db, sql.constData(), nullptr, nullptr, nullptr) != SQLITE_OK)
            qFatal("%s: %s", qPrintable(truth), sqlite3_errmsg(m_db));
    }

private:
    sqlite3 *m_db = nullptr;
};
} // namespace

QString LoadBed::prepare(const QString &scenario, Broker broker)
{
    QFile file(QStringLiteral(GRIDLOOM_SOURCE_DIR "/resources/baselines/scenarios.json"));
    if (!file.open(QIODevice::ReadOnly))
        return file.errorString();
    const auto load = parseScenario(file.readAll(), scenario);
    if (!load)
        return load.error().message;
    if (const QString why = startBroker(); !why.isEmpty())
        return why;
    if (broker == Broker::Absent) {
        m_subscriber.reset();
        m_broker.stop();
    }
    const auto ports = startSimulator(generateSimulation(load.value()));
    if (ports.isEmpty())
        return QStringLiteral("the simulator did not start");
    m_design = generateDesign(load.value(), ports, m_broker.port());
    writeLoadDesign();
    return {};
}

QString LoadBed::startBroker()
{
    if (const auto started = m_broker.start(); !started)
        return started.error().message;
    return startSubscriber();
}

QString LoadBed::startSubscriber()
{
    MqttSettings settings;
    settings.host = QStringLiteral("127.0.0.1");
    settings.port = m_broker.port();
    settings.clientId = "outside";
    m_subscriber = std::make_unique<MqttClient>(settings);
    QObject::connect(m_subscriber.get(), &MqttClient::messageReceived, m_subscriber.get(),
                     [this](const MqttMessage &message) {
                         if (m_whenReceived)
                             m_whenReceived(message);
                         const auto id = QJsonDocument::fromJson(message.payload)[QLatin1String("id")];
                         if (!id.isDouble())
                             return;
                         ++m_received[id.toInteger()];
                         m_order[message.topic].append(id.toInteger());
                     });
    bool isGranted = false;
    QObject::connect(m_subscriber.get(), &MqttClient::subscribed, m_subscriber.get(),
                     [&isGranted](const QByteArray &, bool granted) { isGranted = granted; });
    if (const auto asked = m_subscriber->subscribe("gridloom/v1/#", 1); !asked)
        return asked.error().message;
    m_subscriber->open();
    const bool done = QTest::qWaitFor([&isGranted] { return isGranted; }, 10'000);
    QObject::disconnect(m_subscriber.get(), &MqttClient::subscribed, nullptr, nullptr);
    return done ? QString() : QStringLiteral("the broker granted no subscription");
}

void LoadBed::forgetReceived()
{
    m_received.clear();
    m_order.clear();
}

bool LoadBed::receive(int timeoutMs, const std::function<bool()> &done)
{
    return QTest::qWaitFor(done, timeoutMs);
}

qint64 sqlNumber(const QString &database, const char *query, const QString &truth)
{
    Database db(database);
    if (!truth.isEmpty())
        db.attach(truth);
    const QByteArray text = db.first(query);
    return text.isNull() ? -1 : text.toLongLong();
}

QString integrityOf(const QString &database)
{
    return QString::fromUtf8(Database(database).first("PRAGMA integrity_check"));
}

bool hasAlarm(const QJsonObject &status, const char *name)
{
    const QJsonArray alarms = status[QLatin1String("alarms")].toArray();
    return std::any_of(alarms.begin(), alarms.end(), [=](const QJsonValue &alarm) {
        return alarm[QLatin1String("name")].toString() == QLatin1String(name);
    });
}

} // namespace gridloom::faults
