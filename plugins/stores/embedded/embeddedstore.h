// SPDX-License-Identifier: Apache-2.0
// EmbeddedStore: history of one folder. Rows go into segment files 00000001.gls, 00000002.gls ... (core/history/segment.h)
// and into memory; what memory holds is compacted into blocks of history.db in the background, after which its
// segments are removed. Only the newest segment is appended to. Store thread alone, but for reader().
#pragma once

#include "compactor.h"

#include "sdk/appendfile.h"

namespace gridloom {

class EmbeddedStore final : public Store {
public:
    /// `clock` names the files that damage makes it set aside, and says how old history is.
    explicit EmbeddedStore(const Clock &clock) : m_clock(clock) {}
    ~EmbeddedStore() override;

    /// Damage never keeps it from opening: what can be read of a bad segment is kept, the bad file lies beside it as
    /// NAME.corrupt-TIME, and takeFaults() says so. Error "store.folder" when the folder cannot be used.
    Result<void> open(const StoreOpening &opening) override;
    /// Errors "file.full", "file.failed"; the next call tries again. Rows of unknown points count as lost.
    Result<void> append(std::span<const HistoryRow> rows) override;
    Result<void> sync() override;
    std::unique_ptr<HistoryReader> reader() override;
    StoreStatistics statistics() const override;
    QStringList takeFaults() override;
    void close() override;

    /// Hands everything in memory to the compactor and waits until it has nothing left to do, or cannot write.
    void settle();

private:
    Result<void> openFolder(const QString &folder);
    void setTables(const QList<Series> &series, const QList<QString> &triggers);
    Result<void> makeRoom(qsizetype bytes);
    Result<void> beginSegment();
    void endSegment();
    void seal();
    void keepQuota();
    /// Into m_rowsBuffer and m_buffer.
    void encode(std::span<const HistoryRow> rows, SegmentSummary &summary);
    void remember(const SegmentSummary &added);

    const Clock &m_clock;
    const std::shared_ptr<StoreState> m_state = std::make_shared<StoreState>();
    std::unique_ptr<Compactor> m_compactor;

    SegmentTables m_tables;                ///< of the running design
    std::vector<std::uint32_t> m_series;   ///< by point: number in memory
    std::vector<std::uint32_t> m_triggers; ///< by trigger: number in memory
    std::uint64_t m_table = 0;             ///< number of m_tables in the current segment
    bool m_areTablesWritten = false;       ///< whether the current segment has them

    AppendFile m_file;
    std::uint64_t m_number = 0; ///< of the current segment
    qint64 m_rowsBegin = 0;     ///< offset in the current segment after its first tables
    QByteArray m_buffer;
    std::vector<SegmentRow> m_rowsBuffer;
    std::uint64_t m_rows = 0;
    std::uint64_t m_unsyncedRows = 0;
    std::uint64_t m_lost = 0;
};

} // namespace gridloom
