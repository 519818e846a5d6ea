// SPDX-License-Identifier: Apache-2.0
// The names and parts that generated designs of bulk devices share. Pure.
#pragma once

#include <QJsonObject>
#include <QString>

namespace gridloom {

/// "PREFIX-001" for index 0.
QString numbered(const char *prefix, int index);
QString bulkDeviceId(int device);
/// {"id","name"}
QJsonObject identity(const QString &id, const QString &name);
/// The point of the n-th setpoint register of a bulk device (from 0), named like its id.
QJsonObject bulkSetpoint(const QString &id, int n);

} // namespace gridloom
