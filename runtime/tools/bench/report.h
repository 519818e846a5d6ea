// SPDX-License-Identifier: Apache-2.0
// Report: a run's result as JSON (--json), as text for people, and its checks. Pure.
#pragma once

#include "tools/bench/bounds.h"

#include <QByteArray>

namespace gridloom {

/// The keys are described in docs/performance-test.md.
QByteArray reportJson(const RunResult &result, const std::vector<Identity> &identities);

/// A screenful: accounts, latencies, use of the machine, what was counted outside. Ends with a line feed.
QByteArray reportText(const RunResult &result, const std::vector<Identity> &identities);

/// One line for each bound and each identity: text, value, relation, limit, "ok" or "MISSED".
QByteArray checkText(const std::vector<Bound> &bounds, const std::vector<Identity> &identities);

} // namespace gridloom
