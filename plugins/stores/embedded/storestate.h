// SPDX-License-Identifier: Apache-2.0
// StoreState: what the store thread, the compactor and the readers of one embedded store share. Everything in it is
// guarded by its mutex, which nobody holds over a disk access.
#pragma once

#include "core/history/memorytable.h"
#include "historyio/blockreader.h"
#include "sdk/store.h"

#include <QHash>
#include <QStringList>
#include <QTimeZone>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace gridloom {

struct StoreSettings {
    std::int64_t segmentBytes = 0;
    std::int64_t quotaBytes = 0;
    std::size_t memoryBytes = 0;
    std::array<std::int64_t, kBlockKinds> keptDays{}; ///< by BlockKind; 0: as long as the quota allows
};

/// Numbers series and triggers of this run of the program; numbers only grow.
class StoreNames {
public:
    std::uint32_t series(const SegmentSeries &series);
    std::uint32_t trigger(const QByteArray &id);
    std::optional<std::uint32_t> findSeries(const QByteArray &id) const;
    const SegmentSeries &seriesAt(std::uint32_t number) const { return m_series[number]; }
    const QByteArray &triggerAt(std::uint32_t number) const { return m_triggers[number]; }
    const std::vector<QByteArray> &triggers() const { return m_triggers; }

private:
    std::vector<SegmentSeries> m_series;
    std::vector<QByteArray> m_triggers;
    QHash<QByteArray, std::uint32_t> m_seriesNumbers, m_triggerNumbers;
};

struct StoreState {
    struct Segment {
        qint64 bytes = 0;
        SegmentSummary summary;
        bool isCompacted = false; ///< its rows are in blocks
        bool isWaiting = false;   ///< its rows are neither in memory nor in blocks: read the file
    };
    /// Rows on their way into blocks.
    struct Sealed {
        std::shared_ptr<const MemoryTable> table;
        std::vector<std::uint64_t> segments; ///< all of their rows, and no others
    };

    std::mutex mutex;
    std::condition_variable changed; ///< there is something for the compactor
    bool isOpen = false;
    bool isStopping = false;
    QString folder;
    QTimeZone zone = QTimeZone::utc();
    StoreSettings settings;

    StoreNames names;
    QHash<QByteArray, PointHandle> handles; ///< of the running design
    QHash<QByteArray, int> triggers;

    std::map<std::uint64_t, Segment> segments; ///< files on disk, by number
    std::shared_ptr<MemoryTable> active = std::make_shared<MemoryTable>();
    std::vector<std::uint64_t> activeSegments;
    std::optional<Sealed> sealed;

    int databaseGeneration = 0;      ///< grows when history.db is replaced: readers open it again
    std::int64_t databaseBytes = 0;  ///< of history.db and its log
    bool isCompactorFailing = false; ///< it cannot write; segments wait meanwhile
    bool isOverQuota = false;        ///< the compactor should remove what is oldest
    bool isWoken = false;            ///< the compactor has not looked since
    bool isIdle = false;             ///< the compactor found nothing to do
    std::vector<BlockRef> damaged;   ///< found by readers, for the compactor to set aside
    QStringList faults;

    /// Under the mutex: the compactor looks again whether there is something to do.
    void wakeCompactor()
    {
        isIdle = false;
        isWoken = true;
        changed.notify_all();
    }
    QString segmentPath(std::uint64_t number) const;
    qint64 segmentBytes() const;
};

} // namespace gridloom
