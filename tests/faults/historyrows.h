// SPDX-License-Identifier: Apache-2.0
// What a store folder holds, read by the store plugin after the runtime has ended. Blocking.
#pragma once

#include "sdk/store.h"

#include <QMap>

namespace gridloom::faults {

/// The rows of each series ("device-id.point-id"), oldest first. Empty, with a text in `why`, when the store cannot
/// be opened or read.
QMap<QString, std::vector<HistoryRow>> historyRows(const QString &stateDir, const QStringList &series, QString &why);

} // namespace gridloom::faults
