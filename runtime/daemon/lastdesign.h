// SPDX-License-Identifier: Apache-2.0
// The last design that ran, kept in the state folder for a start at which the design folder cannot be used: a gateway goes
// on with it rather than standing still. One file, `design.last`: frames (core/history/frames.h) with the magic GLDESIGN,
// version 1; kind 1: text path, bytes content; kind 2, the last: varint number of files. Blocking; main thread.
#pragma once

#include "core/design/designdocument.h"

namespace gridloom {

/// Writes the copy, unless it is the same already; a crash leaves the old one or the new one. Errors "file.full",
/// "file.failed".
Result<void> keepLastDesign(const QString &stateDir, const DesignDocument &document);
/// Error "design.noCopy" when there is none that is whole.
Result<DesignDocument> readLastDesign(const QString &stateDir);

} // namespace gridloom
