// SPDX-License-Identifier: Apache-2.0
// What the preloaded library does in place of the system calls: on files of FaultControl's folder as it says, otherwise as
// the kernel does. No allocation; any thread. Answers and errno are those of the calls stood in for.
#pragma once

#include <cstddef>
#include <ctime>

#include <sys/types.h>

namespace gridloom::faults {

/// Sets errno; -1.
int failed(int code);
/// Whether the descriptor is a file or folder that is touched.
bool isOurs(int fd);
/// The descriptor is about to be closed.
void closed(int fd);

int openedAt(int folder, const char *path, int flags, mode_t mode);
ssize_t changedWrite(int fd, const void *bytes, std::size_t size, off64_t offset, bool isPositioned);
/// `call`: SYS_fsync or SYS_fdatasync.
int changedSync(int fd, long call);
int resized(int fd, off64_t size);
/// 0 or an errno, as posix_fallocate() answers.
int allocated(int fd, int mode, off64_t offset, off64_t size);
int renamedAt(int fromFolder, const char *from, int toFolder, const char *to, unsigned flags);
int linkedAt(int fromFolder, const char *from, int toFolder, const char *to, int flags);
int unlinkedAt(int folder, const char *path, int flags);
ssize_t sent(int fd, const void *bytes, std::size_t size, int flags);
int changedTime(clockid_t clock, timespec *time);

} // namespace gridloom::faults
