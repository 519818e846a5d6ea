// SPDX-License-Identifier: Apache-2.0
// CoordinationPlan: one run of a coordination task with every value known: what each step writes and what takes it back.
// Made before step 1, so that what can be known to be wrong is known while nothing has been written. Pure.
#pragma once

#include "core/clock.h"
#include "core/design/design.h"
#include "core/processimage.h"
#include "core/result.h"

#include <functional>
#include <optional>
#include <vector>

namespace gridloom {

struct PlannedStep {
    QString id;
    PointHandle output = kNoPoint; ///< kNoPoint: an interrupted run names an output that this design does not have
    QString outputId;              ///< "device-id.point-id"
    Value value;
    Milliseconds deadline{2'000}; ///< real time: it is a wire's
    std::optional<Value> compensation;
};

struct CoordinationPlan {
    QString taskId;
    std::uint64_t run = 0;
    WallTime due{};
    ControlPriority priority = ControlPriority::Schedule;
    Milliseconds lease{10'000}; ///< real time
    std::vector<PlannedStep> steps;

    bool hasCompensation() const;
};

/// Who owns outputs for a task: "coordination:ID".
QString coordinationOwner(const QString &taskId);

/// Makes `plan` that of a run that begins now; its memory is used again. `heldBy` answers what an output holds, null when that is not known.
/// Errors name the step: "coordination.badInput" (the point to copy is not good), "coordination.outOfLimits" (its value
/// is outside of the output's min..max), "coordination.unknownPrevious" (nothing to return to).
Result<void> planRun(CoordinationPlan &plan, const CoordinationTask &task, const Design &design, std::uint64_t run,
                     WallTime due, const PointStore &points, const std::function<Value(PointHandle)> &heldBy);

/// What must outlive a power cut while the run is open: JSON, complete in itself, so that it can be taken back under
/// another design as well. `buffer`: its memory.
QByteArray openRunState(const CoordinationPlan &plan, QByteArray buffer = {});
/// The plan of an interrupted run: outputs are looked up in today's design by their ids. Error "coordination.state".
Result<CoordinationPlan> readOpenRunState(const QString &taskId, const QByteArray &state, const Design &design);

} // namespace gridloom
