// SPDX-License-Identifier: Apache-2.0
// AppendFile: a file that only grows and survives crashes: what stores and the records log write to. Beside it the
// steps that make files durable as a whole. Every call blocks on the disk; one thread at a time.
// Error codes: "file.full" (no space, quota or size limit; retryable), "file.failed" (any other refusal of the disk).
#pragma once

#include "core/clock.h"
#include "core/result.h"

#include <QByteArrayView>
#include <QString>

namespace gridloom {

class AppendFile {
public:
    AppendFile() = default; ///< not open
    /// A new file with these first bytes, durable and whole under its name: written beside it as NAME.new, synced,
    /// renamed, the folder synced. Replaces an older file of that name. `reserve` bytes of disk are taken at once, as
    /// zeros after the head: appending into them costs a sync half of its time and of its writes, since the file
    /// system has nothing of its own to note down.
    static Result<AppendFile> create(const QString &path, QByteArrayView head, qint64 reserve = 0);
    /// An existing file without a reserve, to append after its last byte.
    static Result<AppendFile> open(const QString &path);
    /// An existing file with a reserve, to append after its first `size` bytes.
    static Result<AppendFile> open(const QString &path, qint64 size);
    ~AppendFile();
    AppendFile(AppendFile &&other) noexcept;
    AppendFile &operator=(AppendFile &&other) noexcept;

    bool isOpen() const { return m_fd >= 0; }
    const QString &path() const { return m_path; }
    /// Bytes appended, without what is reserved.
    qint64 size() const { return m_size; }

    /// Appends by one write, after which the bytes survive a crash of the process. All or nothing: on an error the
    /// file is cut back to what it was, and loses what was reserved.
    Result<void> append(QByteArrayView bytes);
    /// Makes what was appended survive a power cut. An error can mean that the kernel has dropped pages: nothing
    /// since the last good sync() counts as stored, and isBroken() is true from then on.
    Result<void> sync();
    /// Cuts off everything after `size`.
    Result<void> truncate(qint64 size);
    /// A sync() or truncate() failed: what the file ends with is not known. Go on in a new one.
    bool isBroken() const { return m_isBroken; }
    void close();

private:
    AppendFile(int fd, QString path, qint64 size);
    int m_fd = -1;
    qint64 m_size = 0;
    bool m_isBroken = false;
    QString m_path;
};

/// Makes renames and removals in a folder survive a power cut.
Result<void> syncFolder(const QString &folder);

/// Keeps a damaged file under a second name, PATH.corrupt-20260801T120000Z (-2, -3 ... when taken), and answers that
/// name. The original stays: the caller replaces or removes it next. Of one folder the newest five such files are kept.
Result<QString> keepAside(const QString &path, WallTime now);

} // namespace gridloom
