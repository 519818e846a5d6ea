// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sdk/sink.h"

#include <QList>

#include <functional>

namespace gridloom {

/// Notes every call in order; stands for SinkRunner.
class RecordingHost : public SinkHost {
public:
    struct Call {
        enum class Kind { Delivered, Failed, Up, Down };
        Kind kind;
        std::uint64_t id = 0;
        QString code;
    };
    void delivered(std::uint64_t id) override
    {
        calls.append({Call::Kind::Delivered, id, {}});
        if (onEnded)
            onEnded(id, true);
    }
    void failed(std::uint64_t id, const Error &error) override
    {
        calls.append({Call::Kind::Failed, id, error.code});
        lastError = error;
        if (onEnded)
            onEnded(id, false);
    }
    void connectionChanged(bool isConnected, const Error &why) override
    {
        isUp = isConnected;
        calls.append({isConnected ? Call::Kind::Up : Call::Kind::Down, 0, why.code});
        if (!isConnected)
            lastError = why;
        if (onConnection)
            onConnection(isConnected);
    }
    void messageReceived(const QByteArray &topic, const QByteArray &payload, bool isRetained) override
    {
        received.append({topic, payload, isRetained});
    }
    int count(Call::Kind kind) const
    {
        return static_cast<int>(
            std::count_if(calls.begin(), calls.end(), [=](const Call &call) { return call.kind == kind; }));
    }

    struct Received {
        QByteArray topic, payload;
        bool isRetained = false;
    };
    QList<Received> received;
    QList<Call> calls;
    Error lastError;
    bool isUp = false;
    std::function<void(std::uint64_t, bool)> onEnded;
    std::function<void(bool)> onConnection;
};

} // namespace gridloom
