// SPDX-License-Identifier: Apache-2.0
// Outlets: where the engine thread hands work over to other threads. None of them blocks. Functions, so that the cycle
// runs in a test with a fake clock and no thread at all.
#pragma once

#include "engine/scriptworkers.h"
#include "engine/storerunner.h"
#include "sdk/driver.h"
#include "sdk/sink.h"

#include <functional>
#include <vector>

namespace gridloom {

struct Outlets {
    std::function<void(const WriteRequest &)> write;
    std::function<void(ScriptWorkers::Job)> runScript;
    /// False: the queue is full and the batch is lost. Unset: the design has no store.
    std::function<bool(StoreRunner::Batch)> appendRows;
    struct SinkOutlet {
        const SinkDefinition *definition = nullptr;
        std::function<void(OutboundMessage)> send;
        std::function<void(std::size_t)> settled; ///< see SinkRunner
    };
    std::vector<SinkOutlet> sinks;
    std::function<void()> stopPolling;
    /// Points that fell due at the drivers since start, answers lost at the inbox, and dues that were missed.
    struct PollCounts {
        std::uint64_t offered = 0, dropped = 0, missed = 0;
    };
    std::function<PollCounts()> pollCounts;
};

} // namespace gridloom
