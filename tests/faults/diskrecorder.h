// SPDX-License-Identifier: Apache-2.0
// The writing half of diskrecord.h, inside the preloaded library. Any thread: a call and its entry are made under one
// RecordLock, so that the record has the order in which things happened.
#pragma once

#include "faults/diskrecord.h"

#include <cstddef>

namespace gridloom::faults {

/// Once, before anything else. Without it nothing is recorded and RecordLock does nothing.
void openDiskRecord(const char *path);
bool isRecording();

class RecordLock {
public:
    RecordLock();
    ~RecordLock();
    RecordLock(const RecordLock &) = delete;
    RecordLock &operator=(const RecordLock &) = delete;
};

// Under a RecordLock.
void recordCreate(int fd, const char *path);
void recordWrite(int fd, std::int64_t offset, const void *bytes, std::size_t size);
void recordResize(int fd, std::int64_t size);
void recordSync(int fd);
void recordPaths(DiskChange change, const char *path, const char *other);
void recordTold(const void *bytes, std::size_t size);

} // namespace gridloom::faults
