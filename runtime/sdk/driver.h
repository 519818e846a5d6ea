// SPDX-License-Identifier: Apache-2.0
// Driver: one channel (a TCP link, a bus, the machine itself). Created, used and destroyed on one io thread with a Qt
// event loop; it may use sockets, notifiers and timers of that thread and must never block it.
// DriverRunner owns due times and the order of writes; a driver owns its transactions, its connection with back-off,
// learnt holes and the health of its devices.
#pragma once

#include "core/design/design.h"
#include "core/sample.h"
#include "sdk/plugin.h"

#include <QJsonObject>
#include <QList>

#include <cstdint>
#include <span>

namespace gridloom {

/// Index into the list of devices given to Driver::configure.
using DeviceHandle = int;
enum class LinkHealth : std::uint8_t { Online, Degraded, BackingOff, Offline, Disabled };

/// A device of the channel and its points. Points without an address (Computed) are not bound.
struct DeviceBinding {
    QString id;
    QString name;
    QJsonObject params;
    QList<const Point *> points; ///< live as long as the driver
};

using WriteId = std::uint64_t;
struct WriteRequest {
    WriteId id = 0;
    PointHandle point = kNoPoint;
    Value value;        ///< in the point's unit: the driver applies scale and offset
    bool verify = true; ///< read back after the write and compare the registers
    /// Real steady time: after it the request is not sent any more and ends as "driver.timeout".
    std::chrono::steady_clock::time_point deadline;
};
/// How a write ended. Confirmed: the device acknowledged it and, with verify, the read-back equals what was written.
struct WriteResult {
    enum class State : std::uint8_t { Confirmed, Mismatch, TimedOut, Rejected };
    State state = State::Confirmed;
    Value readBack; ///< with verify
    Error error;    ///< unless Confirmed
};

/// Counts since start; requests are counted when they are sent.
struct DriverStatistics {
    std::uint64_t reads = 0;     ///< read requests
    std::uint64_t readBacks = 0; ///< read requests that verify a write
    std::uint64_t writes = 0;    ///< write requests
    std::uint64_t timeouts = 0;
    std::uint64_t exceptions = 0;    ///< error answers of devices
    std::uint64_t droppedFrames = 0; ///< wrong transaction, unit, function, length
    std::uint64_t reconnects = 0;    ///< successful connects after the first
};

class DriverHost { // call only in the thread that created the driver
public:
    virtual ~DriverHost() = default;
    /// Never blocks. Every due handle of poll() is answered by exactly one sample, bad quality included.
    virtual void publish(std::span<const Sample> batch) = 0;
    virtual void deviceHealthChanged(DeviceHandle device, LinkHealth health, const Error &why) = 0;
    /// Exactly once for each write().
    virtual void writeFinished(WriteId id, const WriteResult &result) = 0;
};

class Driver {
public:
    virtual ~Driver() = default;
    /// Checks what the manifest cannot. No I/O.
    virtual Result<void> configure(const QJsonObject &channelParams, const QList<DeviceBinding> &devices) = 0;
    virtual void start() = 0;
    /// Asks for these points now. A point whose previous poll is unanswered may be given again: it is then answered at
    /// once by its last state with UncertainLastUsable or bad quality, so that the count stays exact.
    virtual void poll(std::span<const PointHandle> due) = 0;
    /// Before any telemetry that waits.
    virtual void write(const WriteRequest &request) = 0;
    /// Ends everything that is open (each poll and write is still answered) and closes the connection. Idempotent.
    virtual void stop() = 0;
    virtual DriverStatistics statistics() const = 0;
};

} // namespace gridloom
