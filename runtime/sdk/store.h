// SPDX-License-Identifier: Apache-2.0
// Store: keeps history. Used on the store thread alone (no event loop), but for reader(); calls block that thread and
// no other.
#pragma once

#include "sdk/historyreader.h"
#include "sdk/historyrow.h"
#include "sdk/plugin.h"

#include <QJsonObject>
#include <QList>
#include <QStringList>

#include <memory>
#include <span>

namespace gridloom {

struct StoreStatistics {
    std::uint64_t rows = 0;        ///< appended since start
    std::uint64_t lost = 0;        ///< refused by the disk since start, or not known to survive a power cut
    std::uint64_t bytes = 0;       ///< on disk now
    std::uint64_t waitingRows = 0; ///< durable, but not yet in the form in which they are kept
};

/// What a store is opened with.
struct StoreOpening {
    QJsonObject params;
    QString folder;
    QList<Series> series;    ///< `series[h]` is what point handle h means
    QList<QString> triggers; ///< ids; the index is that of HistoryRow::trigger
    QByteArray siteZone;     ///< IANA zone of the site, for its days; UTC when empty
};

class Store {
public:
    virtual ~Store() = default;
    /// Opens or creates the store in the folder, repairs a torn end. May be called again after a deployment with
    /// other lists.
    virtual Result<void> open(const StoreOpening &opening) = 0;
    /// Hands the rows to the operating system by write(2); when it returns they survive a crash of the process.
    /// All or nothing: on an error none of them counts as stored.
    virtual Result<void> append(std::span<const HistoryRow> rows) = 0;
    /// Makes what was appended survive a power cut. Called about once a second.
    virtual Result<void> sync() = 0;
    /// Any thread, at any time: a reader of what is stored, which is used at the same time as append().
    virtual std::unique_ptr<HistoryReader> reader() = 0;
    virtual StoreStatistics statistics() const = 0;
    /// What damage was found since the last call, one text a damaged file, for an alarm to name. Such damage makes
    /// no call fail: the store goes on with what can be read.
    virtual QStringList takeFaults() { return {}; }
    virtual void close() = 0;
};

} // namespace gridloom
