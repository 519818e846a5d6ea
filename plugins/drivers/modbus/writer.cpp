// SPDX-License-Identifier: Apache-2.0
#include "writer.h"

#include <algorithm>

namespace gridloom::modbus {

namespace {

using State = WriteResult::State;

WriteResult rejected(Error error)
{
    return {State::Rejected, {}, std::move(error)};
}

QString nameOf(const WriteJob &job)
{
    return QStringLiteral("%1.%2").arg(job.unit->config().name, job.point->point->name);
}

Error exceptionError(const WriteJob &job, std::uint8_t exception)
{
    const auto code = static_cast<ExceptionCode>(exception);
    const bool isConfiguration = code == ExceptionCode::IllegalFunction || code == ExceptionCode::IllegalAddress
        || code == ExceptionCode::IllegalValue;
    return {QStringLiteral("modbus.exception%1").arg(exception),
            QStringLiteral("%1: the device answered %2 to %3 %4; %5.")
                .arg(nameOf(job), exceptionText(exception),
                     job.isReadBack ? QStringLiteral("the read-back of") : QStringLiteral("the write of"),
                     job.point->point->address,
                     isConfiguration ? QStringLiteral("check address, type and limits in the design")
                                     : QStringLiteral("check the device")),
            !isConfiguration};
}

} // namespace

void Writer::write(const WriteRequest &request, Unit *unit, PointState *point)
{
    if (!point || !point->point->write)
        return m_host.writeFinished(request.id,
                                    rejected({QStringLiteral("modbus.notWritable"),
                                              QStringLiteral("This point has no write policy on this "
                                                             "channel; add \"write\" to it."),
                                              false}));
    auto registers = encodeRegisters(request.value, point->point->format);
    if (!registers)
        return m_host.writeFinished(request.id, rejected(registers.error()));
    if (!unit->scan().admit(m_clock.steadyNow()))
        return m_host.writeFinished(
            request.id,
            rejected({QStringLiteral("modbus.offScan"),
                      QStringLiteral("%1 does not answer and is only probed now and then; check "
                                     "the device.")
                          .arg(unit->config().name),
                      true}));
    auto job = m_queue.make();
    job->request = request;
    job->unit = unit;
    job->point = point;
    job->registers = std::move(registers).value();
    m_queue.pushBack(std::move(job));
}

std::unique_ptr<WriteJob> Writer::next(RealTime now)
{
    auto job = m_queue.take([now](const WriteJob &waiting) {
        return waiting.notBefore <= now && (waiting.wasSent || !waiting.point->isWriting);
    });
    if (!job)
        return nullptr;
    job->wasSent = true;
    job->point->isWriting = true;
    return job;
}

Request Writer::requestOf(const WriteJob &job)
{
    const auto &address = job.point->address;
    const auto count = static_cast<std::uint16_t>(job.registers.size());
    if (job.isReadBack)
        return {readFunction(address.table), address.offset, count, {}};
    const auto function = address.table == Table::Coil ? Function::WriteCoil
        : count == 1                                   ? Function::WriteRegister
                                                       : Function::WriteRegisters;
    return {function, address.offset, count, job.registers};
}

void Writer::finished(std::unique_ptr<WriteJob> job, const Outcome &outcome)
{
    switch (outcome.kind) {
    case Outcome::Kind::Written:
        job->unit->scan().answered();
        if (!job->request.verify)
            return end(std::move(job), {});
        job->isReadBack = true;
        job->busyAnswers = 0;
        return retry(std::move(job), {});
    case Outcome::Kind::Values: job->unit->scan().answered(); return acceptReadBack(std::move(job), outcome.data);
    case Outcome::Kind::Exception: return acceptException(std::move(job), outcome.exception, outcome.epoch);
    case Outcome::Kind::TimedOut: return acceptTimeout(std::move(job), outcome.epoch);
    case Outcome::Kind::ConnectionLost:
        // The device may have restarted: write again. The same value twice does no harm.
        job->isReadBack = false;
        return retry(std::move(job), {});
    }
}

void Writer::acceptReadBack(std::unique_ptr<WriteJob> job, std::span<const std::uint8_t> data)
{
    RegisterWords registers(static_cast<int>(job->registers.size()));
    Value value;
    if (job->point->address.table == Table::Coil) {
        registers[0] = bitAt(data, 0) ? 1 : 0;
        value = Value(registers[0] != 0);
    } else {
        for (std::size_t i = 0; i < registers.size(); ++i)
            registers[i] = wordAt(data, 2 * i);
        value = decodeRegisters(registers, job->point->point->format);
    }
    if (registers == job->registers)
        return end(std::move(job), {State::Confirmed, value, {}});
    // A device that said "acknowledge" (exception 5) may need a moment.
    if (job->busyAnswers > 0 && ++job->busyAnswers <= kMaxBusyAnswers) {
        const auto delay = busyDelay(job->busyAnswers);
        return retry(std::move(job), std::chrono::steady_clock::now() + delay);
    }
    Error error{
        QStringLiteral("modbus.mismatch"),
        QStringLiteral("%1: wrote %2 and read back %3; check the limits of the device and who else writes there.")
            .arg(nameOf(*job), QString::fromUtf8(job->request.value.toText()), QString::fromUtf8(value.toText())),
        true};
    end(std::move(job), {State::Mismatch, value, std::move(error)});
}

void Writer::acceptException(std::unique_ptr<WriteJob> job, std::uint8_t exception, unsigned epoch)
{
    const auto code = static_cast<ExceptionCode>(exception);
    if (code == ExceptionCode::PathUnavailable || code == ExceptionCode::TargetSilent)
        job->unit->scan().failed(epoch, m_clock.steadyNow());
    else
        job->unit->scan().answered();
    const bool isAccepted = code == ExceptionCode::Acknowledge;
    if ((isAccepted || code == ExceptionCode::DeviceBusy) && ++job->busyAnswers <= kMaxBusyAnswers) {
        if (isAccepted && !job->request.verify)
            return end(std::move(job), {});
        job->isReadBack = job->isReadBack || isAccepted; // accepted, still at work: ask for the result, do not repeat
        const auto delay = busyDelay(job->busyAnswers);
        return retry(std::move(job), std::chrono::steady_clock::now() + delay);
    }
    auto error = exceptionError(*job, exception);
    // Acknowledged, but not to be verified: not confirmed, and the device did not reject it either.
    const auto state = job->isReadBack ? State::Mismatch : State::Rejected;
    end(std::move(job), {state, {}, std::move(error)});
}

void Writer::acceptTimeout(std::unique_ptr<WriteJob> job, unsigned epoch)
{
    const auto now = std::chrono::steady_clock::now();
    const bool isDeadlineOver = now >= job->request.deadline;
    // Cut short by its own deadline, the request says nothing about the unit.
    const bool isOffScan = !isDeadlineOver && job->unit->scan().failed(epoch, m_clock.steadyNow());
    if (job->isReadBack && !isDeadlineOver && !isOffScan)
        return retry(std::move(job), {});
    endTimedOut(std::move(job));
}

void Writer::retry(std::unique_ptr<WriteJob> job, RealTime notBefore)
{
    job->notBefore = notBefore;
    m_queue.pushFront(std::move(job));
}

void Writer::expire(RealTime now)
{
    while (auto job = m_queue.take([now](const WriteJob &waiting) { return now >= waiting.request.deadline; }))
        endTimedOut(std::move(job));
}

void Writer::abandonAll()
{
    const Error stopped{QStringLiteral("driver.stopped"), QStringLiteral("The channel was stopped."), true};
    while (auto job = m_queue.take([](const WriteJob &) { return true; })) {
        const auto state = job->wasSent ? State::TimedOut : State::Rejected;
        end(std::move(job), {state, {}, stopped});
    }
}

std::optional<RealTime> Writer::nextDue(RealTime now) const
{
    std::optional<RealTime> due;
    for (const auto &job : m_queue) {
        const auto &deadline = job->request.deadline;
        const auto at = job->notBefore > now ? std::min(job->notBefore, deadline) : deadline;
        due = due ? std::min(*due, at) : at;
    }
    return due;
}

void Writer::end(std::unique_ptr<WriteJob> job, WriteResult result)
{
    if (job->wasSent)
        job->point->isWriting = false;
    const WriteId id = job->request.id;
    m_queue.recycle(std::move(job));
    m_host.writeFinished(id, result);
}

void Writer::endTimedOut(std::unique_ptr<WriteJob> job)
{
    const auto what = !job->wasSent ? QStringLiteral("could not be sent")
        : job->isReadBack           ? QStringLiteral("was acknowledged but not verified")
                                    : QStringLiteral("was not acknowledged");
    Error error{QStringLiteral("driver.timeout"),
                QStringLiteral("%1: the write %2 in time; check connection and device.").arg(nameOf(*job), what), true};
    end(std::move(job), {State::TimedOut, {}, std::move(error)});
}

} // namespace gridloom::modbus
