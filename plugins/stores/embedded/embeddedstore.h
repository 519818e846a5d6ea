// SPDX-License-Identifier: Apache-2.0
// EmbeddedStore: history in segment files 00000001.gls, 00000002.gls ... of one folder (core/history/segment.h). Only
// the newest is appended to; a full one ends with a summary and is never changed again, only removed whole when
// the quota asks for it. Store thread alone.
#pragma once

#include "core/history/segment.h"
#include "sdk/appendfile.h"
#include "sdk/store.h"

#include <QHash>

#include <map>
#include <vector>

namespace gridloom {

class EmbeddedStore final : public Store {
public:
    /// `clock` names the files that damage makes it set aside.
    explicit EmbeddedStore(const Clock &clock) : m_clock(clock) {}

    /// Damage never keeps it from opening: what can be read of a bad segment is kept, the bad file lies beside it as
    /// NAME.corrupt-TIME, and takeFaults() says so. Error "store.folder" when the folder cannot be used.
    Result<void> open(const QJsonObject &params, const QString &folder, const QList<Series> &series,
                      const QList<QString> &triggers) override;
    /// Errors "file.full", "file.failed"; the next call tries again. Rows of unknown points count as lost.
    Result<void> append(std::span<const HistoryRow> rows) override;
    Result<void> sync() override;
    /// One row for each (time, run): a batch that was stored twice reads as one. Times have the stored resolution
    /// of 1 ms. `point` is the handle of the running design, kNoPoint when it no longer has the series; `trigger`
    /// likewise. Needs memory for one segment's file and the rows of segments that overlap in time.
    Result<void> query(const QString &seriesId, WallTime from, WallTime to,
                       const std::function<bool(const HistoryRow &)> &visit) override;
    StoreStatistics statistics() const override;
    QStringList takeFaults() override;
    void close() override;

private:
    struct Segment {
        qint64 bytes = 0;
        SegmentSummary summary;
    };

    QString pathOf(std::uint64_t number) const;
    Result<void> openFolder(const QString &folder);
    void setTables(const QList<Series> &series, const QList<QString> &triggers);
    Result<void> makeRoom(qsizetype bytes);
    Result<void> beginSegment();
    void endSegment();
    void keepQuota();
    /// Into m_buffer; the number of rows that went in.
    std::uint64_t encode(std::span<const HistoryRow> rows, SegmentSummary &summary);
    Result<void> readMatches(std::uint64_t number, const QByteArray &seriesId, std::int64_t fromMs, std::int64_t toMs,
                             std::vector<HistoryRow> &matches);

    const Clock &m_clock;
    QString m_folder;
    qint64 m_segmentBytes = 0;
    qint64 m_quotaBytes = 0;

    SegmentTables m_tables;
    QHash<QByteArray, PointHandle> m_handles;
    QHash<QByteArray, int> m_triggers;
    std::uint64_t m_table = 0;       ///< number of m_tables in the current segment
    bool m_areTablesWritten = false; ///< whether the current segment has them

    std::map<std::uint64_t, Segment> m_segments; ///< by number; the last one is the current one while m_file is open
    AppendFile m_file;
    qint64 m_rowsBegin = 0; ///< offset in the current segment after its first tables
    qint64 m_bytes = 0;     ///< of all segments
    QByteArray m_buffer;
    std::uint64_t m_rows = 0;
    std::uint64_t m_unsyncedRows = 0;
    std::uint64_t m_lost = 0;
    QStringList m_faults;
};

} // namespace gridloom
