// SPDX-License-Identifier: Apache-2.0
// RowOutput: where an export goes. Rows of a series come together, oldest first. Blocking; main thread.
#pragma once

#include "core/history/segment.h"
#include "core/result.h"

#include <memory>

namespace gridloom {

class RowOutput {
public:
    virtual ~RowOutput() = default;
    virtual Result<void> begin(const SegmentSeries &series) = 0;
    /// `trigger` is the id of the one that wrote the row, else empty.
    virtual Result<void> row(const SegmentRow &row, const QByteArray &trigger) = 0;
    /// What was written is whole and on the disk when it returns.
    virtual Result<void> end() = 0;
};

/// One line a row: series,name,unit,time,type,value,quality,trigger,run as RFC 4180 with a head; times RFC 3339 in UTC,
/// integers as digits, doubles shortest, a value that is null empty. "-" is stdout. Error "store.exportFailed".
Result<std::unique_ptr<RowOutput>> csvOutput(const QString &path);
/// A new SQLite file with tables `series` and `samples`, and the view `history` for people, in which times and unsigned
/// integers are text. Error "store.exportFailed" also when the file exists.
Result<std::unique_ptr<RowOutput>> sqliteOutput(const QString &path);

/// "null", "bool", "int64", "uint64", "double" or "text".
const char *typeName(ValueType type);

} // namespace gridloom
