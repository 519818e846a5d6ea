// SPDX-License-Identifier: Apache-2.0
// Puts the addresses of simulator and broker into a design that was written for a real site. Pure.
#pragma once

#include "core/design/designdocument.h"

#include <QHash>

namespace gridloom {

/// Gives each modbus channel host 127.0.0.1 and the port of the simulated device with the id of one of its devices,
/// and each mqtt sink the broker's. Error "bench.design" for a modbus channel that the simulator does not serve and
/// for JSON that does not parse.
Result<DesignDocument> patchAddresses(DesignDocument document, const QHash<QString, int> &ports, int brokerPort);

} // namespace gridloom
