// SPDX-License-Identifier: Apache-2.0
// CoordinationRun: one run of a coordination task from its first step to its end. Pure: it says what is to be written
// next and is told how each write ended; the caller owns lease, wire and records. Engine thread.
//
// Steps go in order, the next one only after the last one's output is confirmed to hold its value. A step that fails, or
// the end of the lease, turns the run around: whatever may have been changed is taken back in reverse order. A step that
// was refused has changed nothing; one that ended as Mismatch or TimedOut may have and is taken back first.
// All times are of the caller's clock; deadlines of steps and the lease are real time and scaled to it by `clockRate`.
#pragma once

#include "core/control/arbiter.h"
#include "core/coordination/coordinationplan.h"
#include "core/ledger.h"

namespace gridloom {

class CoordinationRun {
public:
    /// How often a compensation is tried.
    static constexpr int kTries = 3;
    /// How long, instead, the compensation of each step of an interrupted run is tried (real time): when the power has
    /// just come back, devices may still be starting.
    static constexpr std::chrono::seconds kPatienceAfterRestart{60};

    struct StepRequest {
        PointHandle output = kNoPoint;
        Value value;
        Nanoseconds deadline{}; ///< from now on
    };

    explicit CoordinationRun(double clockRate) : m_clockRate(clockRate) {}
    /// The next run's plan, to be filled before begin(): one object serves run after run with the same memory.
    CoordinationPlan &nextPlan() { return m_plan; }
    /// Begins with step 1.
    void begin(SteadyTime due, SteadyTime now);
    /// Begins with the compensation of all steps: how far the run came before it was interrupted is not known.
    void beginInterrupted(SteadyTime now);

    /// The write that is to be asked for now, under this ticket; none while another one is open.
    std::optional<StepRequest> nextRequest(std::uint64_t ticket, SteadyTime now);
    /// A write ended: `value` is what was sent after limits and ramp. Answers to tickets that are not open are ignored.
    void answered(std::uint64_t ticket, CommandState state, const Value &value, const Error &error, SteadyTime at);
    /// Ends the steps when the lease has run out.
    void advance(SteadyTime now);
    /// When to call advance() or nextRequest() again; nothing while a write is open that ends before the lease.
    std::optional<SteadyTime> nextDue() const;
    /// The lease ends then at the latest: the gateway stops.
    void endLeaseBy(SteadyTime until, const QString &why);
    /// The steps cannot go on; they are taken back.
    void turnAround(Outcome outcome, const QString &why, SteadyTime now);

    const CoordinationPlan &plan() const { return m_plan; }
    bool isCompensating() const { return m_phase == Phase::Compensating; }
    bool hasEnded() const { return m_phase == Phase::Ended; }
    bool wasInterrupted() const { return m_wasInterrupted; }
    SteadyTime leaseUntil() const { return m_leaseUntil; }
    /// The longest that the compensation may take from now on.
    Nanoseconds compensationTime() const;

    // Of an ended run:
    Outcome outcome() const { return m_outcome; } ///< Done, Failed or TimedOut
    const QString &error() const { return m_error; }
    /// Nothing of what the run had changed is left. False for a run that is Done.
    bool isCompensated() const;
    SteadyTime endedAt() const { return m_endedAt; }
    /// JSON array, one object a step: id, state, value, startUs, us (from due to confirmed), error, compensation.
    /// `buffer`: its memory.
    QByteArray stepsJson(QByteArray buffer = {}) const;

private:
    enum class Phase : std::uint8_t { Steps, Compensating, Ended };
    struct Trace {
        std::optional<CommandState> state; ///< none: not begun, or, of an interrupted run, not known
        std::optional<SteadyTime> begun, done;
        QString error;
        bool mayHaveChanged = false;
        std::optional<CommandState> compensation; ///< how its last try ended
        std::optional<SteadyTime> compensated;
        int tries = 0;
    };
    Nanoseconds onClock(Nanoseconds real) const
    {
        return Nanoseconds(static_cast<Nanoseconds::rep>(static_cast<double>(real.count()) * m_clockRate));
    }
    /// The longest that taking this step back may take.
    Nanoseconds patience(const PlannedStep &step) const;
    const Value &wanted() const;
    void beginStep(SteadyTime now);
    void stepAnswered(CommandState state, bool isReached, const Error &error, SteadyTime at);
    void compensationAnswered(CommandState state, bool isReached, const Error &error, SteadyTime at);
    void failStep(CommandState state, Outcome outcome, const QString &why, SteadyTime now);
    /// Goes to the next step back, from `below` on, that has something to take back; ends the run after the first one.
    void compensateBelow(std::size_t below, SteadyTime now);
    void writeTrace(class JsonWriter &w, std::size_t step) const;

    CoordinationPlan m_plan;
    double m_clockRate;
    SteadyTime m_due{};
    SteadyTime m_leaseUntil{};
    QString m_leaseEnd; ///< why it ended early
    bool m_wasInterrupted = false;

    Phase m_phase = Phase::Ended;
    std::size_t m_step = 0;
    SteadyTime m_stepUntil{};
    std::optional<std::uint64_t> m_ticket;
    std::optional<SteadyTime> m_notBefore;
    std::vector<Trace> m_traces;
    Outcome m_outcome = Outcome::Done;
    QString m_error;
    SteadyTime m_endedAt{};
};

} // namespace gridloom
