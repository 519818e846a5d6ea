// SPDX-License-Identifier: Apache-2.0
// A small design built by hand and a store with its values, to run scripts on.
#pragma once

#include "core/processimage.h"
#include "script/triggerscript.h"

#include <QString>

#include <list>

namespace gridloom::test {

class ScriptBench {
public:
    ScriptBench();

    /// Adds a point of device "meter1" ("meter1.NAME"), or of another one when NAME has a dot. A Setpoint is an
    /// output.
    PointHandle addPoint(const QString &name, PointKind kind = PointKind::Measured, const QString &expression = {});
    /// Adds a row "rows.NAME" that triggers write, or an aggregation of inputs.
    PointHandle addRow(const QString &name, bool isScripted = true);
    /// Adds "site.NAME".
    int addAlarm(const QString &name);

    /// A sample, `age` old at now().
    void set(PointHandle point, const Value &value, Quality quality = Quality::Good,
             std::chrono::milliseconds age = std::chrono::milliseconds(0));
    SteadyTime now() const { return SteadyTime(std::chrono::hours(1)); }

    Design design;
    Trigger trigger; ///< "test": what compile() uses
    std::unique_ptr<PointStore> store;

    /// The script of `lua`; throws when it does not compile.
    std::unique_ptr<TriggerScript> compile(const QString &lua);
    ScriptResult run(TriggerScript &script, std::uint64_t run = 1);
    /// Compiles and runs once.
    ScriptResult run(const QString &lua);
    /// Runs once and gives its only log line, or the error.
    QString log(const QString &lua);

private:
    PointStore &filledStore();
    std::list<Point> m_points; // addresses stay
    std::list<Aggregation> m_rows;
    std::list<AlarmDefinition> m_alarms;
};

} // namespace gridloom::test
