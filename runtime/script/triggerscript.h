// SPDX-License-Identifier: Apache-2.0
// TriggerScript: one trigger's Lua state, sandboxed, with limits of time and memory that nothing inside can evade.
// Owned and called by one script worker thread at a time. docs/lua-reference.md is its manual.
#pragma once

#include "core/result.h"
#include "script/scripttypes.h"

namespace gridloom {

class TriggerScript {
public:
    /// Compiles the text and keeps the chunk; it runs anew at each run() with globals that persist per trigger only in
    /// `state`. Names are resolved through the design, which outlives the script. Error "script.syntax" with line.
    static Result<std::unique_ptr<TriggerScript>> compile(const Design &design, const Trigger &trigger);
    ~TriggerScript();
    TriggerScript(const TriggerScript &) = delete;
    TriggerScript &operator=(const TriggerScript &) = delete;

    /// Blocks for at most the time limit + 10 ms (C-side work + 100 ms).
    ScriptResult run(const RunContext &context);

    /// The `state` table, to be kept over a restart (script/luastate.h); empty when it is empty. Blocks for less than a
    /// millisecond. Error "script.state" naming the field that cannot be kept.
    Result<QByteArray> saveState();
    /// Before the first run: `state` as saveState() gave it. False when the bytes are damaged, of another version, or
    /// do not fit into the script's memory; `state` is then empty.
    bool restoreState(const QByteArray &saved);

private:
    TriggerScript();
    struct Private;
    std::unique_ptr<Private> d;
};

/// Syntax of a trigger's chunk or, with isExpression, of a Computed point; nothing when fine, else line and message.
/// Text chunks only: a binary chunk is an error. Thread-safe.
std::optional<std::pair<int, QString>> checkLuaSyntax(const QString &lua, bool isExpression);

} // namespace gridloom
