// SPDX-License-Identifier: Apache-2.0
#include "engine/iothread.h"

#include "engine/pluginhost.h"
#include "engine/runinthread.h"

#include <sys/prctl.h>

namespace gridloom {

IoThread::IoThread(const Design &design, EngineInbox &inbox, const Clock &clock) : m_inbox(inbox), m_clock(clock)
{
    for (const auto &[id, channel] : design.channels) {
        if (!channel.isEnabled)
            continue;
        std::vector<const Device *> devices;
        for (const auto &[deviceId, device] : design.devices)
            if (device.channel == id)
                devices.push_back(&device);
        m_runners.push_back(std::make_unique<DriverRunner>(channel, devices, inbox, clock));
        for (const Device *device : devices)
            for (const Point &point : device->points)
                if (point.write)
                    m_runnerOf[point.handle] = m_runners.back().get();
    }
    m_thread.setObjectName(QStringLiteral("io"));
}

IoThread::~IoThread()
{
    stop();
}

QList<Error> IoThread::start(const PluginHost &plugins)
{
    QList<Error> errors;
    m_thread.start();
    runInThread(m_thread, [&] {
        ::prctl(PR_SET_TIMERSLACK, 50'000, 0, 0, 0);
        m_wakeUp = std::make_unique<EventLoopWakeUp>([this] { runQueued(); });
        m_tasks.setWakeUp([this] { m_wakeUp->notify(); });
        m_pollTimer = std::make_unique<DeadlineTimer>([this] { pollDue(); });
        m_statisticsTimer = std::make_unique<QTimer>();
        QObject::connect(m_statisticsTimer.get(), &QTimer::timeout, m_statisticsTimer.get(), [this] {
            for (const auto &runner : m_runners)
                runner->publishStatistics();
        });
        m_statisticsTimer->start(500);
        for (const auto &runner : m_runners) {
            const auto factory = plugins.driver(runner->driverId());
            const Result<void> opened = factory ? runner->open(*factory.value()) : factory.error();
            if (!opened)
                errors.append(opened.error());
            runner->start();
        }
        pollDue();
    });
    return errors;
}

void IoThread::write(const WriteRequest &request)
{
    const bool hasRunner = m_runnerOf.contains(request.point);
    if (hasRunner && m_tasks.pushAlways(request))
        return;
    m_inbox.pushAlways(
        WriteFinished{request.id,
                      {WriteResult::State::Rejected,
                       {},
                       {QStringLiteral("driver.disabled"),
                        hasRunner ? QStringLiteral("The drivers have stopped.")
                                  : QStringLiteral("The channel of this output is switched off in the design.")}},
                      m_clock.steadyNow()});
}

void IoThread::stopPolling()
{
    m_tasks.pushAlways(StopPolling{});
}

void IoThread::stop()
{
    if (!m_thread.isRunning())
        return;
    runInThread(m_thread, [this] {
        m_tasks.close();
        runQueued();
        m_pollTimer.reset();
        m_statisticsTimer.reset();
        for (const auto &runner : m_runners)
            runner->stop();
        for (const auto &runner : m_runners)
            runner->release();
        m_wakeUp->stopListening(); // it stays: a producer may just be about to notify it
    });
    m_thread.quit();
    m_thread.wait();
}

DriverStatistics IoThread::statistics() const
{
    DriverStatistics sum;
    for (const auto &runner : m_runners) {
        const DriverStatistics s = runner->statistics();
        sum.reads += s.reads;
        sum.readBacks += s.readBacks;
        sum.writes += s.writes;
        sum.timeouts += s.timeouts;
        sum.exceptions += s.exceptions;
        sum.droppedFrames += s.droppedFrames;
        sum.reconnects += s.reconnects;
    }
    return sum;
}

void IoThread::runQueued()
{
    m_taken.clear();
    m_tasks.drain(m_taken);
    for (const Task &task : m_taken) {
        if (const auto *request = std::get_if<WriteRequest>(&task)) {
            m_runnerOf.at(request->point)->write(*request);
        } else {
            for (const auto &runner : m_runners)
                runner->stopPolling();
        }
    }
}

void IoThread::pollDue()
{
    const SteadyTime now = m_clock.steadyNow();
    std::optional<SteadyTime> next;
    for (const auto &runner : m_runners) {
        const auto due = runner->poll(now);
        if (due && (!next || *due < *next))
            next = due;
    }
    arm(next);
}

void IoThread::arm(std::optional<SteadyTime> due)
{
    if (!due)
        return;
    m_pollTimer->set(std::chrono::steady_clock::now() + m_clock.realDuration(*due - m_clock.steadyNow()));
}

} // namespace gridloom
