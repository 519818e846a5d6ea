// SPDX-License-Identifier: Apache-2.0
#include "engine/commandpath.h"

#include "core/flatjson.h"
#include "core/json.h"

#include <QDateTime>
#include <QLoggingCategory>

#include <algorithm>

namespace gridloom {

using namespace std::chrono_literals;

namespace {
Q_LOGGING_CATEGORY(lcCommand, "gridloom.command")

constexpr std::chrono::seconds kDefaultValidity{30};
constexpr std::int64_t kLongestValidityS = 3'600;
constexpr qsizetype kLongestId = 128;
/// Answers that are remembered; as many commands come at the bounded rate in three minutes and more.
constexpr std::size_t kReplies = 4'096;
/// Tells our tickets from those of coordination runs.
constexpr std::uint64_t kTickets = std::uint64_t{1} << 63;

std::string_view view(const QByteArray &bytes)
{
    return {bytes.constData(), static_cast<std::size_t>(bytes.size())};
}

/// A text of 1 to 128 bytes without control characters; nothing otherwise.
QByteArray idOf(const FlatJson &json)
{
    const Value *id = json.find("id");
    if (!id || id->type() != ValueType::Text || id->text().isEmpty() || id->text().size() > kLongestId)
        return {};
    const bool isPlain = std::all_of(id->text().begin(), id->text().end(),
                                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
    return isPlain ? id->text() : QByteArray();
}

/// Which of a command's members is none of these; empty: none.
QString unknownMember(const FlatJson &json, std::initializer_list<QByteArrayView> known)
{
    for (const auto &[name, value] : json.members)
        if (std::find(known.begin(), known.end(), QByteArrayView(name)) == known.end())
            return QString::fromUtf8(name.left(80));
    return {};
}

QByteArray replyText(const QByteArray &id, const char *state, const QString &code, const QString &error,
                     const Value *readBack)
{
    JsonWriter w(128);
    w.beginObject().key("id").string(view(id)).key("state").string(state);
    if (!error.isEmpty())
        w.key("code").string(QStringView(code)).key("error").string(QStringView(error));
    if (readBack)
        w.key("readBack").value(*readBack);
    w.endObject();
    return w.take();
}
} // namespace

CommandPath::CommandPath(const Design &design, Records &records, Effects effects)
    : m_design(design), m_records(records), m_effects(std::move(effects)), m_lastTicket(kTickets)
{
    for (const CommandReply &reply : records.replies())
        remember(reply.id, reply.reply);
}

void CommandPath::arrived(const CommandArrived &arrived, SteadyTime now, WallTime wall)
{
    m_ledger.offer();
    if (arrived.isRetained) {
        retained(arrived, wall);
        return;
    }
    const FlatJson json = readFlatJson(arrived.payload);
    Command command{arrived.sink, idOf(json), QString::fromUtf8(arrived.verb.left(80)), {}, {}};
    if (const auto known = m_replies.constFind(command.id); !command.id.isEmpty() && known != m_replies.constEnd()) {
        m_ledger.finish(Outcome::Discarded);
        if (!known->isEmpty())
            m_effects.reply(command.sink, *known, now, wall);
        return; // while the first one is under way its answer serves both
    }
    if (const auto fault = perform(arrived, json, command, now, wall))
        refuse(command, *fault, now, wall);
}

void CommandPath::retained(const CommandArrived &command, WallTime wall)
{
    m_ledger.finish(Outcome::Discarded);
    if (std::exchange(m_hasWarned[command.sink], true))
        return;
    qCWarning(lcCommand).noquote() << "retained command ignored: cmd/" + command.verb.left(80) + " at sink"
                                   << command.sink << "- publish commands without retain";
    audit({command.sink, {}, QString::fromUtf8(command.verb.left(80)), {}, {}}, false,
          QStringLiteral("retained command ignored"), wall);
}

std::optional<CommandPath::Fault> CommandPath::perform(const CommandArrived &arrived, const FlatJson &json,
                                                       Command &command, SteadyTime now, WallTime wall)
{
    if (arrived.isTooLong)
        return Fault{QStringLiteral("command.tooLong"), QStringLiteral("the message is longer than 64 kB")};
    if (!json.fault.isEmpty())
        return Fault{QStringLiteral("command.syntax"), json.fault};
    if (command.id.isEmpty())
        return Fault{QStringLiteral("command.noId"),
                     QStringLiteral("\"id\" must be a text of 1 to 128 bytes, another one for each command")};
    if (m_isStopping)
        return Fault{QStringLiteral("command.stopping"), QStringLiteral("the gateway stops")};
    if (const auto fault = checkAge(json, wall))
        return fault;
    if (arrived.verb == "write")
        return write(json, command, now, wall);
    if (arrived.verb == "ack")
        return acknowledge(json, command, now, wall);
    return Fault{QStringLiteral("command.unknown"), QStringLiteral("there are cmd/write and cmd/ack")};
}

std::optional<CommandPath::Fault> CommandPath::checkAge(const FlatJson &json, WallTime wall) const
{
    std::chrono::seconds validity = kDefaultValidity;
    if (const Value *given = json.find("validS")) {
        const auto seconds = given->isInteger() ? given->toInt64() : std::nullopt;
        if (!seconds || *seconds < 1 || *seconds > kLongestValidityS)
            return Fault{QStringLiteral("command.wrongType"),
                         QStringLiteral("\"validS\" must be a whole number from 1 to %1").arg(kLongestValidityS)};
        validity = std::chrono::seconds(*seconds);
    }
    const Value *time = json.find("time");
    if (!time)
        return std::nullopt;
    const QDateTime stamp = time->type() == ValueType::Text
        ? QDateTime::fromString(QString::fromUtf8(time->text()), Qt::ISODateWithMs)
        : QDateTime();
    if (!stamp.isValid() || stamp.timeSpec() == Qt::LocalTime)
        return Fault{QStringLiteral("command.wrongType"),
                     QStringLiteral("\"time\" must be a text such as 2026-08-01T00:00:00.25Z")};
    const auto age = wall - WallTime(std::chrono::milliseconds(stamp.toMSecsSinceEpoch()));
    if (age > validity)
        return Fault{QStringLiteral("command.expired"),
                     QStringLiteral("it is %1 s old and was valid for %2 s")
                         .arg(std::chrono::duration_cast<std::chrono::seconds>(age).count())
                         .arg(validity.count())};
    if (age < -validity)
        return Fault{QStringLiteral("command.fromTheFuture"),
                     QStringLiteral("its time is %1 s ahead of the gateway's clock; set one of the two clocks")
                         .arg(std::chrono::duration_cast<std::chrono::seconds>(-age).count())};
    return std::nullopt;
}

std::optional<CommandPath::Fault> CommandPath::write(const FlatJson &json, Command &command, SteadyTime now,
                                                     WallTime wall)
{
    if (const QString unknown = unknownMember(json, {"id", "point", "value", "time", "validS"}); !unknown.isEmpty())
        return Fault{QStringLiteral("command.unknownKey"), QStringLiteral("\"%1\" means nothing here").arg(unknown)};
    const Value *name = json.find("point");
    if (!name || name->type() != ValueType::Text)
        return Fault{QStringLiteral("command.wrongType"), QStringLiteral("\"point\" must be a text: device.point")};
    command.object = QString::fromUtf8(name->text().left(513));
    const PointHandle point = m_design.pointByName.value(name->text(), kNoPoint);
    if (point == kNoPoint)
        return Fault{QStringLiteral("command.unknownPoint"),
                     QStringLiteral("there is no point \"%1\"; write device.point").arg(command.object)};
    if (!m_design.points[point].point || !m_design.points[point].point->write)
        return Fault{
            QStringLiteral("command.notWritable"),
            QStringLiteral("\"%1\" is no output; only setpoints and commands are written").arg(command.object)};
    const Value *value = json.find("value");
    if (!value || !value->isNumber())
        return Fault{QStringLiteral("command.wrongType"), QStringLiteral("\"value\" must be a number, true or false")};
    ControlRequest request;
    request.point = point;
    request.value = *value;
    request.priority = m_design.sinks.at(command.sink).commandPriority;
    request.owner = QStringLiteral("mqtt:") + command.sink;
    request.reason = QStringLiteral("command ") + QString::fromUtf8(command.id);
    request.ticket = ++m_lastTicket;
    command.detail = QString::fromUtf8(value->toText());
    audit(command, true, QStringLiteral("id %1 value %2").arg(QString::fromUtf8(command.id), command.detail), wall);
    // Known before the write is out: should the gateway end in between, a repetition writes no second time.
    m_records.append(
        CommandReply{command.id,
                     replyText(command.id, "Unknown", QStringLiteral("command.interrupted"),
                               QStringLiteral("the gateway ended before the write was confirmed"), nullptr),
                     wall});
    remember(command.id, {});
    m_open.insert(request.ticket, command);
    m_effects.write(request, now, wall);
    return std::nullopt;
}

void CommandPath::finished(const ControlCommand &written, SteadyTime now, WallTime wall)
{
    const auto open = m_open.constFind(written.request.ticket);
    if (open == m_open.constEnd())
        return;
    const Command command = *open;
    m_open.erase(open);
    switch (written.state) {
    case CommandState::Confirmed: m_ledger.finish(Outcome::Done); break;
    case CommandState::TimedOut: m_ledger.finish(Outcome::TimedOut); break;
    case CommandState::Superseded:
    case CommandState::NotNeeded: m_ledger.finish(Outcome::Discarded); break;
    default: m_ledger.finish(Outcome::Failed); break;
    }
    const bool hasReadBack = !written.readBack.isNull();
    answer(command,
           replyText(command.id, commandStateName(written.state).toLatin1().constData(), written.error.code,
                     written.error.message, hasReadBack ? &written.readBack : nullptr),
           now, wall);
}

std::optional<CommandPath::Fault> CommandPath::acknowledge(const FlatJson &json, Command &command, SteadyTime now,
                                                           WallTime wall)
{
    if (const QString unknown = unknownMember(json, {"id", "alarm", "time", "validS"}); !unknown.isEmpty())
        return Fault{QStringLiteral("command.unknownKey"), QStringLiteral("\"%1\" means nothing here").arg(unknown)};
    const Value *name = json.find("alarm");
    if (!name || name->type() != ValueType::Text)
        return Fault{QStringLiteral("command.wrongType"), QStringLiteral("\"alarm\" must be a text: set.alarm")};
    command.object = QString::fromUtf8(name->text().left(513));
    const int alarm = m_design.alarmByName.value(name->text(), -1);
    if (alarm < 0)
        return Fault{QStringLiteral("command.unknownAlarm"),
                     QStringLiteral("there is no alarm \"%1\"; write set.alarm").arg(command.object)};
    audit(command, true, QStringLiteral("id %1").arg(QString::fromUtf8(command.id)), wall);
    const bool wasOpen = m_effects.acknowledge(alarm, wall);
    m_ledger.finish(wasOpen ? Outcome::Done : Outcome::Discarded);
    answer(command, replyText(command.id, wasOpen ? "Acknowledged" : "NotNeeded", {}, {}, nullptr), now, wall);
    return std::nullopt;
}

void CommandPath::beyondRate(const CommandsBeyondRate &event, WallTime wall)
{
    m_ledger.offer(event.commands);
    m_ledger.finish(Outcome::Discarded, event.commands);
    audit({event.sink, {}, QStringLiteral("command"), {}, {}}, false,
          QStringLiteral("%1 commands came too fast and were not read").arg(event.commands), wall);
}

void CommandPath::refuse(const Command &command, const Fault &fault, SteadyTime now, WallTime wall)
{
    m_ledger.finish(Outcome::Failed);
    audit(command, false, QStringLiteral("id %1: %2: %3").arg(QString::fromUtf8(command.id), fault.code, fault.message),
          wall);
    if (command.id.isEmpty())
        qCWarning(lcCommand).noquote() << "Command without an id refused:" << fault.message;
    else
        answer(command, replyText(command.id, "Rejected", fault.code, fault.message, nullptr), now, wall);
}

void CommandPath::audit(const Command &command, bool isAllowed, const QString &detail, WallTime wall)
{
    m_records.append(
        AuditRecord{wall, QStringLiteral("mqtt:") + command.sink, command.act, command.object, detail, isAllowed});
}

void CommandPath::answer(const Command &command, const QByteArray &reply, SteadyTime now, WallTime wall)
{
    m_records.append(CommandReply{command.id, reply, wall});
    remember(command.id, reply);
    m_effects.reply(command.sink, reply, now, wall);
}

void CommandPath::remember(const QByteArray &id, const QByteArray &reply)
{
    if (!m_replies.contains(id))
        m_replyOrder.push_back(id);
    m_replies[id] = reply;
    if (m_replyOrder.size() > kReplies) {
        m_replies.remove(m_replyOrder.front());
        m_replyOrder.pop_front();
    }
}

} // namespace gridloom
