// SPDX-License-Identifier: Apache-2.0
// For error messages: the name that was probably meant. Pure.
#pragma once

#include <QByteArray>
#include <QHash>

#include <algorithm>
#include <string_view>
#include <vector>

namespace gridloom {

/// Number of inserted, removed or replaced bytes between two texts; `limit` + 1 when it is above `limit`.
std::size_t editDistance(std::string_view a, std::string_view b, std::size_t limit);

/// The key at an edit distance of at most 3 that is nearest; empty when there is none.
template<typename T>
QByteArray nearestName(const QHash<QByteArray, T> &names, std::string_view wanted)
{
    std::size_t best = 4;
    QByteArray nearest;
    for (auto it = names.keyBegin(); it != names.keyEnd(); ++it) {
        const std::string_view name(it->constData(), static_cast<std::size_t>(it->size()));
        const std::size_t distance = editDistance(name, wanted, best - 1);
        // Of two that are equally near the first by bytes: the order of a hash is no answer.
        if (distance < best || (distance == best && !nearest.isEmpty() && *it < nearest)) {
            best = distance;
            nearest = *it;
        }
    }
    return nearest;
}

} // namespace gridloom
