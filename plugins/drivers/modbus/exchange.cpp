// SPDX-License-Identifier: Apache-2.0
#include "exchange.h"

#include <algorithm>

namespace gridloom::modbus {

namespace {
constexpr int kSilentTimeouts = 3;
constexpr std::size_t kRememberedExpired = 32;
} // namespace

Exchange::Exchange(Connection &connection, ExchangeClient &client) : m_connection(connection), m_client(client) {}

void Exchange::configure(int maxInFlight, std::chrono::milliseconds delay)
{
    m_maxInFlight = static_cast<std::size_t>(maxInFlight);
    m_delay = delay;
    m_inFlight.reserve(m_maxInFlight);
}

bool Exchange::canSend(RealTime now) const
{
    return m_connection.isConnected() && m_inFlight.size() < m_maxInFlight && now >= m_nextSend;
}

std::uint16_t Exchange::nextId()
{
    const auto isUsed = [this](std::uint16_t id) {
        return std::any_of(m_inFlight.begin(), m_inFlight.end(), [id](const Transaction &t) { return t.id == id; });
    };
    do
        ++m_lastId;
    while (isUsed(m_lastId));
    return m_lastId;
}

void Exchange::send(Job job, Unit &unit, Request request, RealTime deadline, bool isProbe, RealTime now)
{
    Transaction t;
    t.id = nextId();
    t.unit = unit.config().unit;
    t.ignoresId = unit.config().ignoresTransactionId;
    t.isProbe = isProbe;
    t.epoch = unit.scan().epoch();
    t.silenceEpoch = m_silenceEpoch;
    t.request = std::move(request);
    t.deadline = deadline;
    t.job = std::move(job);
    if (t.ignoresId)
        m_connection.drain();
    FrameBuffer buffer;
    const auto frame = encodeFrame(buffer, t.id, t.unit, t.request);
    m_inFlight.push_back(std::move(t)); // first: when sending shows that the connection is gone, it ends at once
    m_nextSend = now;
    m_connection.send(frame);
}

Exchange::Transaction Exchange::take(std::size_t index)
{
    Transaction taken = std::move(m_inFlight[index]);
    m_inFlight.erase(m_inFlight.begin() + static_cast<std::ptrdiff_t>(index));
    return taken;
}

void Exchange::received(const Frame &frame, RealTime now)
{
    m_silentTimeouts = 0;
    const auto match = std::find_if(m_inFlight.begin(), m_inFlight.end(),
                                    [&](const Transaction &t) { return t.ignoresId || t.id == frame.transaction; });
    if (match == m_inFlight.end() || match->unit != frame.unit)
        return drop(frame);
    const auto response = decodeResponse(match->request, frame.pdu);
    if (response.kind == Response::Kind::Mismatch)
        return drop(frame);
    m_connection.confirm();
    m_nextSend = now + m_delay;
    auto t = take(static_cast<std::size_t>(match - m_inFlight.begin()));
    Outcome outcome{Outcome::Kind::Values, response.exception, response.data, t.epoch};
    if (response.kind == Response::Kind::Written)
        outcome.kind = Outcome::Kind::Written;
    if (response.kind == Response::Kind::Exception) {
        outcome.kind = Outcome::Kind::Exception;
        ++m_exceptions;
    }
    m_client.finished(std::move(t.job), outcome);
}

void Exchange::drop(const Frame &frame)
{
    ++m_droppedFrames;
    const auto late = std::find_if(m_expired.begin(), m_expired.end(),
                                   [&](const Expired &e) { return e.id == frame.transaction && e.unit == frame.unit; });
    if (late == m_expired.end())
        return;
    m_expired.erase(late);
    m_connection.confirm();
    m_client.answeredLate(frame.unit);
}

std::optional<Error> Exchange::judgeSilence(const Transaction &t)
{
    if (!t.isProbe && t.silenceEpoch == m_silenceEpoch) {
        ++m_silenceEpoch;
        ++m_silentTimeouts;
    }
    if (m_silentTimeouts >= kSilentTimeouts)
        return Error{
            QStringLiteral("modbus.silent"),
            QStringLiteral("Connected, but no answer to three requests in a row; reconnecting. Check the device "
                           "or the gateway."),
            true};
    if (m_connection.hasPartialFrame())
        return Error{QStringLiteral("modbus.truncatedFrame"),
                     QStringLiteral("A frame began and did not end in time; reconnecting."), true};
    // Its late answer could not be told from the answer to the next request.
    if (t.ignoresId)
        return Error{QStringLiteral("modbus.timeout"),
                     QStringLiteral("No answer in time, and transaction ids are ignored; reconnecting."), true};
    return std::nullopt;
}

std::optional<Error> Exchange::expire(RealTime now)
{
    std::optional<Error> why;
    for (std::size_t i = 0; i < m_inFlight.size();) {
        if (m_inFlight[i].deadline > now) {
            ++i;
            continue;
        }
        auto t = take(i);
        ++m_timeouts;
        m_expired.push_back({t.id, t.unit});
        if (m_expired.size() > kRememberedExpired)
            m_expired.pop_front();
        m_nextSend = now + m_delay;
        if (auto reason = judgeSilence(t); reason && !why)
            why = std::move(reason);
        m_client.finished(std::move(t.job), {Outcome::Kind::TimedOut, 0, {}, t.epoch});
    }
    return why;
}

void Exchange::connectionLost()
{
    m_silentTimeouts = 0;
    m_expired.clear();
    m_nextSend = {};
    while (!m_inFlight.empty()) {
        auto t = take(0);
        m_client.finished(std::move(t.job), {Outcome::Kind::ConnectionLost, 0, {}, t.epoch});
    }
}

std::optional<RealTime> Exchange::nextDue(RealTime now) const
{
    std::optional<RealTime> due;
    for (const auto &t : m_inFlight)
        due = due ? std::min(*due, t.deadline) : t.deadline;
    if (m_nextSend > now && m_inFlight.size() < m_maxInFlight)
        due = due ? std::min(*due, m_nextSend) : m_nextSend;
    return due;
}

} // namespace gridloom::modbus
