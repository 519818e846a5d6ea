// SPDX-License-Identifier: Apache-2.0
// The names that a script or an expression writes as literals, found by a small lexer: point("meter1.activePower"),
// control.write('pv.limit', 5), alarm.raise [[grid.overload]]. For the check of a design, for the order of Computed
// points and for renaming. Names that a script puts together at run time are not seen. Pure.
#pragma once

#include <QList>
#include <QString>

namespace gridloom {

struct NameUse {
    enum class Kind : std::uint8_t {
        Point,  ///< point(..)
        Output, ///< control.write(..)
        Row,    ///< aggregation.write(..)
        Alarm,  ///< alarm.raise(..), alarm.clear(..)
        Task,   ///< coordination.start(..)
    };
    Kind kind = Kind::Point;
    QString name;           ///< with escapes resolved
    int line = 1;           ///< of the literal, from 1
    qsizetype position = 0; ///< of the literal in the text, its quotes included
    qsizetype length = 0;
    friend bool operator==(const NameUse &, const NameUse &) = default;
};

/// In order of the text. Comments and texts are skipped, fields of other tables (my.point("x")) and literals that are
/// only part of an argument (point("a." .. name)) too. A text that is not Lua gives what can be read of it.
QList<NameUse> literalNames(const QString &lua);

} // namespace gridloom
