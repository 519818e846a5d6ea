// SPDX-License-Identifier: Apache-2.0
// The fields of each record inside its frame, and the kinds of frames: docs/records.md, "The log". Pure; any thread.
#pragma once

#include "core/history/frames.h"
#include "sdk/records.h"

namespace gridloom {

enum FrameKind : std::uint8_t {
    kAlarmFrame = 1,
    kControlFrame,
    kRunFrame,
    kOutboxFrame,
    kAcknowledgedFrame,
    kBoundsFrame, ///< of no record: see recordlog.h
    kStateFrame,
    kAuditFrame,
    kDeploymentFrame,
    kCoordinationFrame,
    kReplyFrame,
    kNumbersFrame,
    kPackedFrame, ///< frames of records, compressed together: see recordlog.h
};

std::uint8_t kindOf(const Record &record);
void writeFields(FrameWriter &w, const Record &record);
/// False when `kind` is none of a record, or the payload is not exactly its fields.
bool readFields(FieldReader &r, std::uint8_t kind, Record &record);

} // namespace gridloom
