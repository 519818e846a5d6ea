// SPDX-License-Identifier: Apache-2.0
// Clock: the only way time enters Gridloom. Injected everywhere, so that tests and --speed control it.
// Schedules, windows, delays and storage follow the clock; deadlines on a wire (Modbus time-outs, back-off of a
// socket) are real time, since a wire does not run faster with --speed.
#pragma once

#include <chrono>

namespace gridloom {

using Nanoseconds = std::chrono::nanoseconds;
/// For latencies and schedules; starts anywhere, never jumps.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
/// UTC for storage and display; may jump.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

/// Thread-safe: now() may be called from any thread.
class Clock {
public:
    virtual ~Clock() = default;
    virtual SteadyTime steadyNow() const = 0;
    virtual WallTime wallNow() const = 0;
    /// How long to wait in real time until so much of this clock has passed.
    virtual Nanoseconds realDuration(Nanoseconds ofThisClock) const { return ofThisClock; }
    /// How much of this clock passes in so much real time.
    virtual Nanoseconds clockDuration(Nanoseconds ofRealTime) const { return ofRealTime; }
};

/// The machine's clocks.
class SystemClock final : public Clock {
public:
    SteadyTime steadyNow() const override { return std::chrono::steady_clock::now(); }
    WallTime wallNow() const override
    {
        return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
    }
};

/// The machine's clocks run `speed` times as fast from the moment of construction (demo and simulator, --speed).
class ScaledClock final : public Clock {
public:
    explicit ScaledClock(double speed)
        : m_speed(speed), m_steadyStart(m_system.steadyNow()), m_wallStart(m_system.wallNow())
    {
    }
    SteadyTime steadyNow() const override { return m_steadyStart + elapsed(); }
    WallTime wallNow() const override
    {
        return m_wallStart + std::chrono::duration_cast<std::chrono::microseconds>(elapsed());
    }
    Nanoseconds realDuration(Nanoseconds d) const override
    {
        return Nanoseconds(static_cast<Nanoseconds::rep>(static_cast<double>(d.count()) / m_speed));
    }
    Nanoseconds clockDuration(Nanoseconds d) const override
    {
        return Nanoseconds(static_cast<Nanoseconds::rep>(static_cast<double>(d.count()) * m_speed));
    }

private:
    Nanoseconds elapsed() const
    {
        const auto real = m_system.steadyNow() - m_steadyStart;
        return Nanoseconds(static_cast<Nanoseconds::rep>(static_cast<double>(real.count()) * m_speed));
    }
    SystemClock m_system;
    double m_speed;
    SteadyTime m_steadyStart;
    WallTime m_wallStart;
};

/// Stands still until a test moves it. Not thread-safe.
class FakeClock final : public Clock {
public:
    SteadyTime steadyNow() const override { return m_steady; }
    WallTime wallNow() const override { return m_wall; }
    void advance(Nanoseconds d)
    {
        m_steady += d;
        m_wall += std::chrono::duration_cast<std::chrono::microseconds>(d);
    }
    /// A step of the wall clock alone (NTP, an operator).
    void setWall(WallTime t) { m_wall = t; }

private:
    SteadyTime m_steady{std::chrono::hours(1)};
    WallTime m_wall{std::chrono::seconds(1'785'542'400)}; // 2026-08-01T00:00:00Z
};

} // namespace gridloom
