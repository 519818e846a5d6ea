// SPDX-License-Identifier: Apache-2.0
// CommandPath: commands that come in by a sink, from the message to exactly one answer. Engine thread; pure but for what
// its effects do. docs/mqtt.md describes messages and answers.
// - A retained message is none: it is a copy of some earlier time.
// - A command with an id that was answered before gets that answer again and does nothing, across restarts too.
// - One that is older than its validity, malformed, or names what it may not is refused with an answer.
// - Every accepted and every refused command makes an audit record.
#pragma once

#include "core/control/arbiter.h"
#include "core/ledger.h"
#include "engine/events.h"
#include "sdk/records.h"

#include <QHash>

#include <deque>
#include <functional>

namespace gridloom {

struct FlatJson;

class CommandPath {
public:
    struct Effects {
        /// Hands a write to the Arbiter; finished() follows for its ticket, perhaps from within.
        std::function<void(const ControlRequest &, SteadyTime, WallTime)> write;
        /// Acknowledges an alarm by its index; false: there is nothing to acknowledge.
        std::function<bool(int alarm, WallTime)> acknowledge;
        /// Sends an answer (a JSON object) by this sink.
        std::function<void(const QString &sink, const QByteArray &reply, SteadyTime, WallTime)> reply;
    };
    /// `design` and `records` outlive it; the answers of earlier runs are taken from records.
    CommandPath(const Design &design, Records &records, Effects effects);

    void arrived(const CommandArrived &command, SteadyTime now, WallTime wall);
    /// Commands that the sink did not let through.
    void beyondRate(const CommandsBeyondRate &event, WallTime wall);
    /// A write ended; tickets that are not this path's are ignored.
    void finished(const ControlCommand &command, SteadyTime now, WallTime wall);
    /// Orderly stop: what comes from now on is refused.
    void stop() { m_isStopping = true; }

    const Ledger &ledger() const { return m_ledger; }

private:
    struct Fault {
        QString code; ///< "command.expired"
        QString message;
    };
    struct Command {
        QString sink;
        QByteArray id;
        QString act; ///< for the audit: "write", "acknowledge"
        QString object;
        QString detail;
    };
    void retained(const CommandArrived &command, WallTime wall);
    std::optional<Fault> perform(const CommandArrived &arrived, const FlatJson &json, Command &command, SteadyTime now,
                                 WallTime wall);
    std::optional<Fault> write(const FlatJson &json, Command &command, SteadyTime now, WallTime wall);
    std::optional<Fault> acknowledge(const FlatJson &json, Command &command, SteadyTime now, WallTime wall);
    std::optional<Fault> checkAge(const FlatJson &json, WallTime wall) const;
    void refuse(const Command &command, const Fault &fault, SteadyTime now, WallTime wall);
    void audit(const Command &command, bool isAllowed, const QString &detail, WallTime wall);
    void answer(const Command &command, const QByteArray &reply, SteadyTime now, WallTime wall);
    void remember(const QByteArray &id, const QByteArray &reply);

    const Design &m_design;
    Records &m_records;
    const Effects m_effects;
    QHash<QByteArray, QByteArray> m_replies; ///< by command id; empty while the first one is under way
    std::deque<QByteArray> m_replyOrder;     ///< oldest first
    QHash<std::uint64_t, Command> m_open;    ///< by ticket
    std::uint64_t m_lastTicket;
    QHash<QString, bool> m_hasWarned; ///< by sink: of retained commands, once a start
    Ledger m_ledger;
    bool m_isStopping = false;
};

} // namespace gridloom
