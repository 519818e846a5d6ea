// SPDX-License-Identifier: Apache-2.0
// FlatJson: one JSON object (RFC 8259) of plain values, read strictly and without rounding: integers from -2^63 to 2^64-1
// keep every digit, which no parser of Qt does. For messages from outside. Pure.
#pragma once

#include "core/value.h"

#include <QByteArray>

#include <optional>
#include <utility>
#include <vector>

namespace gridloom {

struct FlatJson {
    std::vector<std::pair<QByteArray, Value>> members; ///< in their order; keys and texts as UTF-8
    /// What is wrong, for people; empty: nothing. The members are then those before the fault.
    QString fault;

    /// Nothing when the key is not there.
    const Value *find(QByteArrayView key) const;
};

/// Faults: no object, nested values, duplicate keys, invalid UTF-8 or escapes, numbers that are not finite or not
/// exact as integers, anything behind the object.
FlatJson readFlatJson(const QByteArray &text);

} // namespace gridloom
