// SPDX-License-Identifier: Apache-2.0
// Times as text. Pure; any thread.
#pragma once

#include "core/clock.h"

#include <QByteArray>

namespace gridloom {

/// RFC 3339 in UTC with the shortest fraction of a second: "2026-08-01T00:00:00.25Z".
QByteArray utcText(WallTime t);

} // namespace gridloom
