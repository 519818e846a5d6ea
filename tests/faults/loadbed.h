// SPDX-License-Identifier: Apache-2.0
// LoadBed: a GatewayBed under a load scenario of the performance test ("S2.5": 2,000 points/s, 40 trigger runs/s with all
// four effects, 10 publications/s), with a broker and a subscriber that outlive the runtime.
#pragma once

#include "protocols/mqtt/mqttclient.h"
#include "support/gatewaybed.h"
#include "tools/bench/scenario.h"

#include <QMap>

namespace gridloom::faults {

class LoadBed : public GatewayBed {
public:
    enum class Broker { Running, Absent };
    /// Starts simulator, broker and subscriber and writes the design. Text of what went wrong, else empty.
    QString prepare(const QString &scenario, Broker broker = Broker::Running);
    /// The broker and its subscriber alone, for a design of the test's own. Text of what went wrong, else empty.
    QString startBroker();
    /// Is called with each message that the subscriber gets.
    void whenReceived(std::function<void(const MqttMessage &)> received) { m_whenReceived = std::move(received); }
    /// Changes a file of the design; for a scenario of constant values and the like.
    DesignDocument &design() { return m_design; }
    void writeLoadDesign() { writeDesign(m_design); }

    PrivateBroker &broker() { return m_broker; }
    /// Messages below gridloom/v1/ with an id: how often each one came.
    const QMap<qint64, int> &received() const { return m_received; }
    /// The ids in the order in which they came, by topic.
    const QMap<QByteArray, QList<qint64>> &order() const { return m_order; }
    void forgetReceived();
    /// Lets the subscriber read for so long, or until `done` answers true; what it answered at last.
    bool receive(int timeoutMs, const std::function<bool()> &done);

    QString recordsDb() const { return stateDir() + QStringLiteral("/records.db"); }

private:
    QString startSubscriber();

    PrivateBroker m_broker;
    std::unique_ptr<MqttClient> m_subscriber;
    DesignDocument m_design;
    QMap<qint64, int> m_received;
    QMap<QByteArray, QList<qint64>> m_order;
    std::function<void(const MqttMessage &)> m_whenReceived;
};

/// One number of a database by SQLite's own interface, opened read-only; -1 when it cannot be read. `truth`: another
/// database, attached under that name.
qint64 sqlNumber(const QString &database, const char *query, const QString &truth = {});
/// "ok" for a sound database.
QString integrityOf(const QString &database);
bool hasAlarm(const QJsonObject &status, const char *name);

} // namespace gridloom::faults
