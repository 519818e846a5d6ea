// SPDX-License-Identifier: Apache-2.0
#include "core/design/nearestname.h"

#include <algorithm>
#include <vector>

namespace gridloom {

int editDistance(QStringView a, QStringView b, int limit)
{
    if (std::abs(a.size() - b.size()) > limit)
        return limit + 1;
    const auto columns = static_cast<std::size_t>(b.size()) + 1;
    std::vector<int> older(columns), previous(columns), current(columns);
    for (std::size_t j = 0; j < columns; ++j)
        previous[j] = static_cast<int>(j);
    for (qsizetype i = 1; i <= a.size(); ++i) {
        current[0] = static_cast<int>(i);
        for (qsizetype j = 1; j <= b.size(); ++j) {
            const auto at = static_cast<std::size_t>(j);
            const QChar left = a[i - 1].toCaseFolded();
            const QChar right = b[j - 1].toCaseFolded();
            current[at] = std::min({previous[at] + 1, current[at - 1] + 1, previous[at - 1] + (left == right ? 0 : 1)});
            if (i > 1 && j > 1 && left == b[j - 2].toCaseFolded() && a[i - 2].toCaseFolded() == right)
                current[at] = std::min(current[at], older[at - 2] + 1);
        }
        std::swap(older, previous);
        std::swap(previous, current);
    }
    return std::min(previous.back(), limit + 1);
}

QString nearestName(QStringView wanted, const QStringList &known)
{
    constexpr qsizetype kLongest = 64;
    if (wanted.size() > kLongest)
        return {};
    QString nearest;
    int best = std::max(1, static_cast<int>(wanted.size()) / 3) + 1;
    for (const QString &name : known) {
        if (name.size() > kLongest)
            continue;
        const int distance = editDistance(wanted, name, best);
        if (distance < best) {
            best = distance;
            nearest = name;
        }
    }
    return nearest;
}

QString suggestion(QStringView wanted, const QStringList &known)
{
    const QString nearest = nearestName(wanted, known);
    return nearest.isEmpty() ? QString() : QStringLiteral(" (did you mean \"%1\"?)").arg(nearest);
}

} // namespace gridloom
