// SPDX-License-Identifier: Apache-2.0
// Design: what an engineer designed, as plain data; schema 1. Built by parseDesign() from the files of a design
// folder, and only ever whole: whoever holds a Design holds one that passed every check. docs/design-format.md
// describes each key. References between files are stable ids ("device-id.point-id"), scripts use names.
#pragma once

#include "core/clock.h"
#include "core/codec/registers.h"
#include "core/design/pointnames.h"
#include "core/sample.h"

#include <QJsonObject>
#include <QList>
#include <QString>

#include <chrono>
#include <map>
#include <optional>

namespace gridloom {

using Milliseconds = std::chrono::milliseconds;

enum class PointKind : std::uint8_t { Measured, Setpoint, Status, Command, Counter, Computed };
enum class Severity : std::uint8_t { Diagnostic, Low, Medium, High, Critical };

/// Priorities of control, high to low; a smaller number wins.
enum class ControlPriority : std::uint8_t {
    Safety,
    GridLimit,
    StateOfChargeProtection,
    Demand,
    Schedule,
    SelfConsumption,
    Comfort,
    Manual
};

/// storage: {"mode":"realTime"|"onChange"|"none","deadband":0,"maxIntervalMs":10000}; inherited Site > Device > Point.
struct StoragePolicy {
    enum class Mode : std::uint8_t { None, RealTime, OnChange };
    Mode mode = Mode::OnChange;
    double deadband = 0.0;
    Milliseconds maxInterval{10'000};
};

/// write: makes a point an output; absent: read-only.
struct WritePolicy {
    std::optional<double> min;
    std::optional<double> max;
    std::optional<double> rampPerS; ///< largest change per second, in the point's unit
    Milliseconds minInterval{0};    ///< between two writes that reach the device
    bool ifDifferent = true;        ///< "ifDifferent": a write equal to the last confirmed value is NotNeeded
    bool verify = true;             ///< "verify": read back after the write
    Milliseconds deadline{2'000};   ///< "deadlineMs": from the request to Confirmed, else TimedOut
};

struct Point {
    QString id;
    QString name;
    PointKind kind = PointKind::Measured;
    QString address;       ///< in the driver's own form, such as "holding:100"
    RegisterFormat format; ///< type, order, scale, offset, bit
    QString unit;          ///< UCUM code
    Milliseconds period{1'000};
    StoragePolicy storage; ///< inheritance resolved
    std::optional<WritePolicy> write;
    QString expression; ///< Computed: a Lua expression
    PointHandle handle = kNoPoint;
};

struct Device {
    QString id;
    QString name;
    QString channel;    ///< id; empty for a device of Computed points only
    QJsonObject params; ///< checked by the driver's manifest (unit, timeoutMs, ...)
    QList<Point> points;
};

struct Channel {
    QString id;
    QString name;
    QString driver; ///< plugin id: "modbus", "sysinfo"
    QJsonObject params;
    bool isEnabled = true;
};

enum class FoldKind : std::uint8_t { Mean, Min, Max, Sum, TimeWeightedMean, Integral };

/// aggregations/SET.json: {"id","name","aggregations":[..]}. A result is a point named SET.NAME.
struct Aggregation {
    QString id;
    QString name;
    QList<PointHandle> inputs; ///< empty: a row that only triggers write (aggregation.write)
    Milliseconds window{0};    ///< tumbling; of the site's local time when it divides a day, else of UTC
    FoldKind fold = FoldKind::Mean;
    Milliseconds maxGap{0}; ///< Integral: no invention across longer gaps; 0: three periods of the input
    QString unit;
    StoragePolicy storage;
    PointHandle handle = kNoPoint;
    bool isScripted() const { return inputs.isEmpty(); }
};
struct AggregationSet {
    QString id;
    QString name;
    QList<Aggregation> aggregations;
};

/// Condition of an alarm; none: only triggers raise and clear it.
struct AlarmCondition {
    enum class Kind : std::uint8_t { High, Low, Equals, NotEquals, Bad, Stale };
    PointHandle point = kNoPoint;
    Kind kind = Kind::High;
    double limit = 0.0;
    double deadband = 0.0;
    Milliseconds maxAge{0}; ///< Stale: older than this (by gateway time) or not good
};
struct AlarmDefinition {
    QString id;
    QString name;
    Severity severity = Severity::Medium;
    QString text;
    std::optional<AlarmCondition> condition;
    Milliseconds onDelay{0};
    Milliseconds offDelay{0};
    int index = -1; ///< dense over all sets
};
struct AlarmSet {
    QString id;
    QString name;
    QList<AlarmDefinition> alarms;
};

enum class OverlapMode : std::uint8_t { Skip, Queue, Latest };

struct OnChangeTrigger {
    QList<PointHandle> points;
    double deadband = 0.0;
    Milliseconds forDuration{0}; ///< the change must last so long
};
struct PeriodicTrigger {
    Milliseconds period{1'000}; ///< >= 10 ms
    Milliseconds phase{0};
};

struct Trigger {
    using OnChange = OnChangeTrigger;
    using Periodic = PeriodicTrigger;
    QString id;
    QString name;
    bool isEnabled = true;
    std::variant<OnChange, Periodic> when;
    OverlapMode overlap = OverlapMode::Skip;
    int queueLength = 1; ///< Queue(n)
    Milliseconds timeLimit{100};
    std::size_t memoryLimit = 1 << 20; ///< bytes, at most 8 MB
    ControlPriority priority = ControlPriority::Schedule;
    QJsonObject params;
    QString script; ///< text of triggers/ID.lua with LF line ends
    int index = -1;
};

/// coordination/ID.json: ordered, verified, compensated writes to several outputs, which are the task's own meanwhile.
struct CoordinationTask {
    struct CopyOf {
        PointHandle point = kNoPoint; ///< the value it has when the run begins
    };
    struct RunNumber {};
    struct Previous {}; ///< what the output held when the run began
    struct Step {
        QString id;
        PointHandle output = kNoPoint;
        std::variant<Value, CopyOf, RunNumber> value;
        Milliseconds deadline{2'000};                               ///< from the request to Confirmed
        std::variant<std::monostate, Value, Previous> compensation; ///< none: the step cannot be taken back
    };
    QString id;
    QString name;
    bool isEnabled = true;
    std::optional<PeriodicTrigger> when; ///< none: only scripts start it
    ControlPriority priority = ControlPriority::Schedule;
    Milliseconds lease{10'000}; ///< all steps together; nobody of the same or a lower priority writes these outputs
    bool isDurable = false;     ///< step 1 waits until a power cut could not make the run forgotten
    QList<Step> steps;
    int index = -1;

    bool hasCompensation() const;
};

/// A periodic MQTT message with the values of one device: {"id","device","points":[ids]?,"periodMs","qos"}.
struct Publication {
    QString id;
    QString device; ///< its name, for the topic
    QList<PointHandle> points;
    Milliseconds period{1'000};
    int qos = 1;
};
struct SinkDefinition {
    QString id;
    QString name;
    QString sink; ///< plugin id: "mqtt"
    QJsonObject params;
    bool publishesAlarms = true; ///< "alarms": each alarm transition as a message
    QList<Publication> publications;
    qint64 outboxQuota = 64 << 20; ///< "outbox": {"quotaMb"}: bytes of topics and payloads that may wait
    /// "state": {"points":[point or device ids],"minIntervalMs"}: each one's newest value as a retained message.
    QList<PointHandle> statePoints;
    Milliseconds stateMinInterval{1'000};
    bool acceptsCommands = false; ///< "commands"
    ControlPriority commandPriority = ControlPriority::Manual;
};

struct StoreDefinition {
    QString id;
    QString name;
    QString store; ///< plugin id: "embedded"
    QJsonObject params;
};

/// Everything a name or id can mean at run time.
struct PointRef {
    PointHandle handle = kNoPoint;
    QString id;   ///< "device-id.point-id": stable, what history and records use
    QString name; ///< "device.point": what scripts, topics and people use
    QString unit;
    const Point *point = nullptr; ///< a device's point
    const Device *device = nullptr;
    const Aggregation *aggregation = nullptr; ///< an aggregation's result
    StoragePolicy storage;
};

/// Movable, not copyable: PointRef points into it. Immutable once parsed; threads share it as shared_ptr<const Design>.
struct Design {
    Design() = default;
    Design(const Design &) = delete;
    Design &operator=(const Design &) = delete;

    QString siteId, siteName;
    QByteArray zone; ///< IANA
    QString gatewayId, gatewayName;
    StoragePolicy storage;
    std::map<QString, Channel> channels;
    std::map<QString, Device> devices;
    std::map<QString, AggregationSet> aggregations;
    std::map<QString, AlarmSet> alarms;
    std::map<QString, Trigger> triggers;
    std::map<QString, CoordinationTask> coordination;
    std::map<QString, SinkDefinition> sinks;
    std::map<QString, StoreDefinition> stores;
    QByteArray revision; ///< SHA-256 of the canonical form, hex

    // Compiled: indices are handles, alarm indices and trigger indices.
    QList<PointRef> points;
    QList<const AlarmDefinition *> alarmList;
    QList<const Trigger *> triggerList;
    QList<const CoordinationTask *> coordinationList;
    PointNames pointByName{points};     ///< "device.point" and "set.aggregation", UTF-8
    QHash<QByteArray, int> alarmByName; ///< "set.alarm", and "alarm" where that is unique
    QHash<QByteArray, int> coordinationByName;
};

} // namespace gridloom
