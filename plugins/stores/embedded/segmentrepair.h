// SPDX-License-Identifier: Apache-2.0
// Opens segment files and mends damaged ones. Blocks on the disk; store thread.
#pragma once

#include "core/clock.h"
#include "core/history/segment.h"
#include "core/result.h"

#include <QStringList>

namespace gridloom {

struct SegmentState {
    qint64 bytes = 0; ///< 0: nothing could be read, the file is no longer there under its name
    SegmentSummary summary;
};

/// A full segment is trusted by its summary, so that a start does not read all of them; one without is read through
/// by mendSegment(). Error "file.failed".
Result<SegmentState> openSegment(const QString &path, WallTime now, QStringList &faults);

/// Reads a segment through that nobody appends to. When something in it is damaged, the file is kept aside as it was,
/// replaced by one with what could be read, and a text is added to `faults`.
Result<SegmentState> mendSegment(const QString &path, WallTime now, QStringList &faults);

/// What can be read of a segment, which stays as it is. Error "store.readFailed".
Result<SegmentState> scanSegment(const QString &path);

/// The whole file. Error "store.readFailed".
Result<QByteArray> readSegmentFile(const QString &path);

} // namespace gridloom
