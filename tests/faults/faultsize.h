// SPDX-License-Identifier: Apache-2.0
// How large a fault test is run, and the figures it leaves. tests/faults/run.py sets both by environment; without it a
// test has its short size, of seconds.
#pragma once

#include <QJsonObject>
#include <QString>

namespace gridloom::faults {

enum class Size { Short, Slow, Full };

/// From GRIDLOOM_FAULT_SIZE: "short", "slow" or "full".
Size size();
/// The value for the size asked for.
template<typename T>
T bySize(T forShort, T forSlow, T forFull)
{
    return size() == Size::Short ? forShort : size() == Size::Slow ? forSlow : forFull;
}
/// A number of the environment, for a part of a test; `fallback` when it is not set.
int numberFrom(const char *variable, int fallback);

/// Prints the figure and adds it to the file that GRIDLOOM_FAULT_FIGURES names, if any.
void report(const char *key, const QJsonValue &value);

} // namespace gridloom::faults
