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
    // What the rows that come next in the newest segment may refer to.
    SegmentTables tables;
    std::uint64_t table = 0;
};

/// A full segment is trusted by its summary, so that a start does not read the whole store; the newest one, and a full
/// one without a summary, is read through. Whatever is damaged goes through mendSegment(). Error "file.failed".
Result<SegmentState> openSegment(const QString &path, bool isNewest, WallTime now, QStringList &faults);

/// Reads a segment through. When something in it is damaged, the file is kept aside as it was, replaced by one with
/// what could be read, and a text is added to `faults`. A full segment is given the summary it lacks.
Result<SegmentState> mendSegment(const QString &path, bool isNewest, WallTime now, QStringList &faults);

/// The whole file. Error "store.readFailed".
Result<QByteArray> readSegmentFile(const QString &path);

} // namespace gridloom
