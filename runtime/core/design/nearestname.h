// SPDX-License-Identifier: Apache-2.0
// The known name that a mistyped one most probably means.
#pragma once

#include <QString>
#include <QStringList>

namespace gridloom {

/// Number of insertions, deletions, replacements and swaps of neighbours between two texts (optimal string alignment),
/// upper and lower case being equal; more than `limit` is answered as limit + 1.
int editDistance(QStringView a, QStringView b, int limit);

/// The nearest of `known` when a third of its length or less is mistyped (at least one character may be); empty when
/// nothing is near. Texts over 64 characters are not compared.
QString nearestName(QStringView wanted, const QStringList &known);

/// ` (did you mean "x"?)` for a fault's message, or nothing.
QString suggestion(QStringView wanted, const QStringList &known);

} // namespace gridloom
