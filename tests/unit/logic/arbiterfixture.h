// SPDX-License-Identifier: Apache-2.0
// What the tests of Arbiter share: a site with outputs, and requests for them.
#pragma once

#include "core/control/arbiter.h"

namespace gridloom::arbitertest {

inline constexpr SteadyTime kStart{std::chrono::hours(1)};
inline constexpr WallTime kWall{std::chrono::seconds(1'785'542'400)};

/// Output i is point i; the last point is read-only.
struct Site {
    explicit Site(const std::vector<WritePolicy> &policies)
    {
        points.resize(policies.size() + 1);
        for (std::size_t i = 0; i < points.size(); ++i) {
            if (i < policies.size())
                points[i].write = policies[i];
            PointRef ref;
            ref.handle = static_cast<PointHandle>(i);
            ref.name = QStringLiteral("device.output%1").arg(i);
            ref.point = &points[i];
            design.points.append(ref);
        }
    }
    std::vector<Point> points;
    Design design;
};

inline WritePolicy plain()
{
    WritePolicy policy;
    policy.deadline = std::chrono::seconds(2);
    return policy;
}

inline ControlRequest requestOf(PointHandle point, Value value, ControlPriority priority = ControlPriority::Schedule,
                                const char *owner = "a", std::chrono::nanoseconds ttl = std::chrono::seconds(3))
{
    ControlRequest r;
    r.point = point;
    r.value = std::move(value);
    r.priority = priority;
    r.owner = QLatin1String(owner);
    r.claimTtl = ttl;
    return r;
}

} // namespace gridloom::arbitertest
