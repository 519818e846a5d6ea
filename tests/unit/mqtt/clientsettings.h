// SPDX-License-Identifier: Apache-2.0
// What the tests of MqttClient share.
#pragma once

#include "protocols/mqtt/mqttclient.h"

#include <QAbstractEventDispatcher>
#include <QSignalSpy>

namespace gridloom {

/// A client of a broker on this machine that loses no time with waiting.
inline MqttSettings settingsFor(quint16 port)
{
    MqttSettings settings;
    settings.host = QStringLiteral("127.0.0.1");
    settings.port = port;
    settings.clientId = "gridloom-test";
    settings.firstRetry = std::chrono::milliseconds(20);
    settings.longestRetry = std::chrono::milliseconds(100);
    return settings;
}

inline Error lastError(const QSignalSpy &spy)
{
    return spy.isEmpty() ? Error() : spy.last().at(0).value<Error>();
}

/// Counts turns of this thread's event loop: a spinning notifier gives thousands a second.
class LoopTurns : public QObject {
public:
    LoopTurns()
    {
        connect(QAbstractEventDispatcher::instance(), &QAbstractEventDispatcher::awake, this, [this] { ++count; });
    }
    int count = 0;
};

} // namespace gridloom
