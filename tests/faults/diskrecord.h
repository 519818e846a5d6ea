// SPDX-License-Identifier: Apache-2.0
// The record of what a process did to its files: a sequence of entries, each this header followed by `pathBytes` and
// `dataBytes` bytes. Files are known by inode numbers, which are used again: a Create begins a new file.
#pragma once

#include <cstdint>

namespace gridloom::faults {

enum class DiskChange : std::uint32_t {
    Create,     ///< path, inode
    Write,      ///< inode, offset, data
    Resize,     ///< inode, offset: the new size
    Sync,       ///< inode: everything of it until here is durable
    SyncFolder, ///< path
    Rename,     ///< path, data: the new path
    Link,       ///< path, data: the new path
    Unlink,     ///< path
    Told,       ///< data: bytes sent to a local socket; what a status line says was said at this place
};

struct DiskEntry {
    DiskChange change;
    std::uint32_t pathBytes;
    std::uint32_t dataBytes;
    std::uint32_t reserved;
    std::uint64_t inode;
    std::int64_t offset;
    std::int64_t wallNs; ///< real wall clock
};

} // namespace gridloom::faults
