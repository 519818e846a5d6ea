// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bulkdesign.h"

#include "tools/sim/bulklayout.h"

namespace gridloom {

namespace {
/// Reading a setpoint back by and by is no part of the load: each write is read back by itself.
constexpr int kSetpointPeriodMs = 60'000;
} // namespace

QString numbered(const char *prefix, int index)
{
    return QStringLiteral("%1-%2").arg(QLatin1String(prefix)).arg(index + 1, 3, 10, QLatin1Char('0'));
}

QString bulkDeviceId(int device)
{
    return numbered("bulk", device);
}

QJsonObject identity(const QString &id, const QString &name)
{
    return {{QStringLiteral("id"), id}, {QStringLiteral("name"), name}};
}

QJsonObject bulkSetpoint(const QString &id, int n)
{
    QJsonObject point = identity(id, id);
    point.insert(QStringLiteral("kind"), QStringLiteral("setpoint"));
    point.insert(QStringLiteral("address"), QStringLiteral("holding:%1").arg(kBulkSetpointBase + 2 * n));
    point.insert(QStringLiteral("type"), QStringLiteral("uint32"));
    point.insert(QStringLiteral("order"), QStringLiteral("ABCD"));
    point.insert(QStringLiteral("periodMs"), kSetpointPeriodMs);
    point.insert(QStringLiteral("write"), QJsonObject{{QStringLiteral("verify"), true}});
    return point;
}

} // namespace gridloom
