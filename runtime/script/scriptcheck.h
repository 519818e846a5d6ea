// SPDX-License-Identifier: Apache-2.0
// What can be said of a design's scripts before they run: every literal name in a trigger must mean something, and the
// Computed points must compile in an order. Pure.
#pragma once

#include "core/design/designdocument.h"
#include "core/design/nearestname.h"

#include <string_view>
#include <vector>

namespace gridloom {

/// Faults of the triggers' literal names and of the expressions of Computed points, with their lines. The syntax was
/// checked by parseDesign() already. Codes "design.unknownPoint", "design.unknownAlarm", "design.notAnOutput",
/// "design.notARow", "design.expression".
std::vector<DesignFault> checkScripts(const Design &design);

/// The known name that `wanted` probably means; empty when none is near, or when there are too many to compare.
template<typename Names>
QByteArray nearestKnown(const Names &names, std::string_view wanted)
{
    constexpr qsizetype kMostCompared = 5'000;
    if (names.size() > kMostCompared)
        return {};
    QStringList known;
    for (const QByteArray &name : names.keys())
        known.append(QString::fromUtf8(name));
    known.sort(); // of two that are equally near the first: the order of a hash is no answer
    return nearestName(QString::fromUtf8(wanted.data(), static_cast<qsizetype>(wanted.size())), known).toUtf8();
}

} // namespace gridloom
