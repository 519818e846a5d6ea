// SPDX-License-Identifier: Apache-2.0
// CoordinationBed: an engine with two outputs "dev.a" and "dev.b", which hold 10 and 20, and a task over both.
#pragma once

#include "../engine/enginebed.h"

#include <QTest>

namespace gridloom {

struct CoordinationBed : EngineBed {
    static constexpr const char *kSteps = R"([
        {"id":"first","point":"dev.a","value":{"run":true},"compensate":{"previous":true}},
        {"id":"second","point":"dev.b","value":{"run":true},"compensate":{"previous":true}}])";

    /// `keys`: those of the task beside id, name and steps.
    static DesignDocument files(const QByteArray &keys = R"("when":{"periodMs":1000})",
                                const QByteArray &steps = kSteps)
    {
        return {{"devices/dev.json", R"({"id":"dev","name":"dev","channel":"bus","params":{},"points":[
                    {"id":"a","name":"a","kind":"setpoint","address":"1","type":"uint32","write":{}},
                    {"id":"b","name":"b","kind":"setpoint","address":"2","type":"uint32","write":{}},
                    {"id":"c","name":"c","kind":"measured","address":"3","type":"uint32"}]})"},
                {"coordination/task.json", R"({"id":"task","name":"the task",)" + keys + R"(,"steps":)" + steps + "}"}};
    }
    explicit CoordinationBed(DesignDocument files = CoordinationBed::files(), std::map<QString, QByteArray> saved = {},
                             bool isRead = true)
        : EngineBed(std::move(files), std::move(saved))
    {
        if (!isRead)
            return;
        sample("dev.a", Value(10));
        sample("dev.b", Value(20));
    }
    /// The oldest write: its output and value.
    std::pair<QString, std::int64_t> nextWrite()
    {
        if (writes.empty())
            return {};
        return {design->points[writes.front().point].name, writes.front().value.toInt64().value_or(-1)};
    }
    /// The store takes everything.
    void store()
    {
        while (!batches.empty())
            rowsStored();
    }
    /// So much time, and what follows from it at once.
    void pass(Nanoseconds d)
    {
        advance(d);
        step();
    }
    std::vector<CoordinationRecord> runs() const { return records.all<CoordinationRecord>(); }
    std::vector<StateRecord> states() const { return records.all<StateRecord>(); }
};

inline std::pair<QString, std::int64_t> to(const char *output, std::int64_t value)
{
    return {QLatin1String(output), value};
}

} // namespace gridloom
