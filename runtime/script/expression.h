// SPDX-License-Identifier: Apache-2.0
// Expressions: the Lua expressions of all Computed points of a design, in one sandboxed state. Engine thread.
// An expression reads points as in triggers: point("a.b").value; its quality is the worst of the inputs it read.
#pragma once

#include "core/result.h"
#include "script/scripttypes.h"

namespace gridloom {

class Expressions {
public:
    /// Compiles every Computed point. Error "script.syntax" names the point. The design outlives it.
    static Result<std::unique_ptr<Expressions>> compile(const Design &design);
    ~Expressions();

    bool isEmpty() const;
    /// All computed points in an order in which each comes after those it reads (by its literal point("...") calls).
    const std::vector<PointHandle> &order() const;
    /// Points that this one reads: evaluate it when one of them got a sample.
    const std::vector<PointHandle> &inputs(PointHandle computed) const;
    /// Reads the live store. Null + BadEvaluation when it fails, runs over 1 ms, or gives no value; the worst input
    /// quality, with null, when an input that was used is bad. `error` gets the text of a failure.
    std::pair<Value, Quality> evaluate(PointHandle computed, const PointStore &points, SteadyTime now, QString &error);

private:
    Expressions();
    struct Private;
    std::unique_ptr<Private> d;
};

} // namespace gridloom
