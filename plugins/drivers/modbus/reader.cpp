// SPDX-License-Identifier: Apache-2.0
#include "reader.h"

#include <algorithm>
#include <cmath>

namespace gridloom::modbus {

namespace {

bool isBadNumber(const Value &value)
{
    return value.type() == ValueType::Double && !std::isfinite(value.real());
}

Quality qualityOf(Reader::Link link)
{
    return link == Reader::Link::Open ? Quality::BadCommunicationError : Quality::BadNotConnected;
}

} // namespace

void Reader::configure(std::span<const std::unique_ptr<Unit>> units)
{
    PointHandle last = 0;
    m_firstHandle = kNoPoint;
    for (const auto &unit : units)
        for (const auto &point : unit->points()) {
            m_firstHandle = std::min(m_firstHandle, point.point->handle);
            last = std::max(last, point.point->handle);
        }
    m_points.assign(m_firstHandle == kNoPoint ? 0 : last - m_firstHandle + 1, {});
    for (const auto &unit : units)
        for (auto &point : unit->points())
            m_points[point.point->handle - m_firstHandle] = {unit.get(), &point};
}

std::pair<Unit *, PointState *> Reader::find(PointHandle handle) const
{
    const std::size_t at = handle - m_firstHandle;
    return at < m_points.size() ? m_points[at] : std::pair<Unit *, PointState *>{};
}

void Reader::poll(std::span<const PointHandle> due, Link link)
{
    const auto stamp = now();
    for (const auto handle : due) {
        const auto [unit, point] = find(handle);
        if (!point) { // not one of ours, but it is owed an answer
            m_batch.push_back({handle, Quality::BadConfigurationError, {}, stamp.wall, stamp.steady});
            continue;
        }
        if (point->isPending) {
            // The first poll's answer is still to come: this one gets the last state, the point stays pending.
            answerOld(*point, point->quality, true, stamp);
            point->isPending = true;
            continue;
        }
        if (link != Link::Open || !unit->scan().admit(stamp.steady)) {
            answerOld(*point, qualityOf(link), link == Link::Lost, stamp);
            continue;
        }
        unit->forgetExpired(stamp.steady);
        if (!point->block) {
            answer(*point, {}, Quality::BadConfigurationError, stamp);
            continue;
        }
        point->isPending = true;
        if (!std::exchange(point->block->isOpen, true))
            enqueue(*unit, point->block, {}, false);
    }
    publish();
}

void Reader::enqueue(Unit &unit, std::shared_ptr<Block> block, std::shared_ptr<Split> split, bool isFirst)
{
    auto job = m_queue.make();
    job->unit = &unit;
    job->block = std::move(block);
    job->split = std::move(split);
    if (isFirst)
        m_queue.pushFront(std::move(job));
    else
        m_queue.pushBack(std::move(job));
}

std::unique_ptr<ReadJob> Reader::next(RealTime now)
{
    while (auto job = m_queue.take([now](const ReadJob &waiting) { return waiting.notBefore <= now; })) {
        const auto &points = job->unit->points();
        const auto &indices = job->block->plan.points;
        if (std::any_of(indices.begin(), indices.end(), [&](std::uint32_t i) { return points[i].isPending; }))
            return job;
        job->block->isOpen = false; // another job answered all of it
        m_queue.recycle(std::move(job));
    }
    return nullptr;
}

void Reader::finished(std::unique_ptr<ReadJob> job, const Outcome &outcome, Link link)
{
    switch (outcome.kind) {
    case Outcome::Kind::Values:
        acceptValues(*job, outcome);
        m_queue.recycle(std::move(job));
        break;
    case Outcome::Kind::Exception: acceptException(std::move(job), outcome); break;
    case Outcome::Kind::TimedOut: acceptFailure(std::move(job), outcome.epoch); break;
    case Outcome::Kind::ConnectionLost: close(*job, qualityOf(link), link == Link::Lost); break;
    case Outcome::Kind::Written: break; // no answer to a read
    }
    publish();
}

void Reader::acceptValues(ReadJob &job, const Outcome &outcome)
{
    auto &unit = *job.unit;
    const auto &plan = job.block->plan;
    const auto stamp = now();
    unit.scan().answered();
    job.block->exception.reset();
    job.block->isOpen = false;
    std::array<std::uint16_t, kMaxReadRegisters> registers;
    const bool isBits = isBitTable(plan.table);
    for (std::size_t i = 0; !isBits && i < plan.count; ++i)
        registers[i] = wordAt(outcome.data, 2 * i);
    for (const auto index : plan.points) {
        auto &point = unit.points()[index];
        if (!point.isPending)
            continue;
        const std::size_t at = point.address.offset - plan.address;
        Value value = isBits
            ? Value(bitAt(outcome.data, at))
            : decodeRegisters(std::span<const std::uint16_t>(registers).subspan(at, point.width), point.point->format);
        if (isBadNumber(value))
            answer(point, {}, Quality::BadOutOfRange, stamp);
        else
            answer(point, std::move(value), Quality::Good, stamp);
    }
    if (job.split && ++job.split->answered == 2)
        unit.learn(job.split->between, job.split->exception, stamp.steady);
}

void Reader::acceptException(std::unique_ptr<ReadJob> job, const Outcome &outcome)
{
    const auto code = static_cast<ExceptionCode>(outcome.exception);
    if (code == ExceptionCode::PathUnavailable || code == ExceptionCode::TargetSilent) {
        job->block->exception = outcome.exception;
        return acceptFailure(std::move(job), outcome.epoch);
    }
    auto &unit = *job->unit;
    unit.scan().answered();
    switch (code) {
    case ExceptionCode::IllegalFunction:
        unit.learn({job->block->plan.table, 0, 65536}, outcome.exception, m_clock.steadyNow());
        return close(*job, Quality::BadConfigurationError);
    case ExceptionCode::IllegalAddress:
    case ExceptionCode::IllegalValue: return splitOrLearn(*job, outcome.exception);
    case ExceptionCode::Acknowledge:
    case ExceptionCode::DeviceBusy:
        if (++job->busyAnswers <= kMaxBusyAnswers) {
            job->notBefore = std::chrono::steady_clock::now() + busyDelay(job->busyAnswers);
            m_queue.pushBack(std::move(job));
            return;
        }
        break;
    default: break;
    }
    job->block->exception = outcome.exception;
    close(*job, Quality::BadDeviceFailure);
}

void Reader::splitOrLearn(const ReadJob &job, std::uint8_t exception)
{
    const auto &plan = job.block->plan;
    auto halves = job.unit->split(plan);
    if (!halves) {
        job.unit->learn({plan.table, plan.address, plan.address + plan.count}, exception, m_clock.steadyNow());
        return close(job, Quality::BadConfigurationError);
    }
    job.block->isOpen = false;
    const AddressRange between{plan.table, halves->first.address + halves->first.count, halves->second.address};
    const auto split = std::make_shared<Split>(Split{between, exception});
    for (auto *half : {&halves->second, &halves->first}) { // each to the front: the first half goes first
        auto block = std::make_shared<Block>(Block{std::move(*half), true});
        enqueue(*job.unit, std::move(block), split, true);
    }
}

void Reader::acceptFailure(std::unique_ptr<ReadJob> job, unsigned epoch)
{
    auto &unit = *job->unit;
    if (unit.scan().failed(epoch, m_clock.steadyNow())) {
        close(*job, Quality::BadCommunicationError);
        abandon(unit);
    } else if (++job->failures < unit.config().failuresToOffScan) {
        m_queue.pushBack(std::move(job)); // behind the others: a silent unit does not hold them up
    } else {
        close(*job, Quality::BadCommunicationError);
    }
}

void Reader::abandon(const Unit &unit)
{
    while (const auto job = m_queue.take([&](const ReadJob &waiting) { return waiting.unit == &unit; }))
        close(*job, Quality::BadCommunicationError);
    publish();
}

void Reader::abandonAll(Link link)
{
    while (const auto job = m_queue.take([](const ReadJob &) { return true; }))
        close(*job, qualityOf(link), link == Link::Lost);
    publish();
}

std::optional<RealTime> Reader::nextDue(RealTime now) const
{
    std::optional<RealTime> due;
    for (const auto &job : m_queue)
        if (job->notBefore > now)
            due = due ? std::min(*due, job->notBefore) : job->notBefore;
    return due;
}

void Reader::close(const ReadJob &job, Quality bad, bool mayBeStale)
{
    const auto stamp = now();
    job.block->isOpen = false;
    for (const auto index : job.block->plan.points) {
        auto &point = job.unit->points()[index];
        if (point.isPending)
            answerOld(point, bad, mayBeStale, stamp);
    }
}

void Reader::answer(PointState &point, Value value, Quality quality, const Stamp &stamp)
{
    point.isPending = false;
    point.value = std::move(value);
    point.quality = quality;
    m_batch.push_back({point.point->handle, quality, point.value, stamp.wall, stamp.steady});
}

void Reader::answerOld(PointState &point, Quality bad, bool mayBeStale, const Stamp &stamp)
{
    if (mayBeStale && isUsable(point.quality))
        answer(point, point.value, Quality::UncertainLastUsable, stamp);
    else
        answer(point, {}, bad, stamp);
}

void Reader::publish()
{
    if (m_batch.empty())
        return;
    auto batch = std::exchange(m_batch, {}); // the host may poll from within
    m_host.publish(batch);
    batch.clear();
    if (m_batch.empty())
        m_batch = std::move(batch);
}

} // namespace gridloom::modbus
