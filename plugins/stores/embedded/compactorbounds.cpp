// SPDX-License-Identifier: Apache-2.0
// What keeps the blocks within quota and age, and sets damaged ones aside.
#include "compactor.h"

#include <QFileInfo>

#include <algorithm>

namespace gridloom {

namespace {
constexpr std::chrono::seconds kBoundsPeriod{60};
constexpr std::int64_t kDayMs = 86'400'000;
} // namespace

bool Compactor::setAsideDamaged()
{
    std::vector<BlockRef> damaged;
    {
        const std::lock_guard lock(m_state->mutex);
        damaged = std::exchange(m_state->damaged, {});
    }
    for (const BlockRef &ref : damaged) {
        if (const auto done = m_writer->setAside(ref.kind, ref.key); !done) {
            failed(done.error(), QStringLiteral("a damaged block cannot be set aside"));
            return false;
        }
    }
    return !damaged.empty();
}

void Compactor::keepBounds(bool isOverQuota)
{
    Result<void> done;
    if (!isOverQuota) {
        m_nextBounds = std::chrono::steady_clock::now() + kBoundsPeriod;
        done = keepDays();
    }
    if (done)
        done = keepQuota(0);
    if (!done)
        failed(done.error(), QStringLiteral("old history cannot be removed"));
    measure();
}

// At most one group of a kind a minute goes by its age: a clock that is wrong for an hour costs little.
Result<void> Compactor::keepDays()
{
    const auto now = std::chrono::floor<std::chrono::milliseconds>(m_clock.wallNow()).time_since_epoch().count();
    for (std::size_t kind = 0; kind < kBlockKinds; ++kind) {
        std::int64_t days = 0;
        {
            const std::lock_guard lock(m_state->mutex);
            days = m_state->settings.keptDays[kind];
        }
        if (days == 0)
            continue;
        const auto oldest = m_writer->oldest(static_cast<BlockKind>(kind));
        if (!oldest)
            return oldest.error();
        if (!oldest.value().exists || oldest.value().lastMs >= now - days * kDayMs)
            continue;
        if (const auto removed = m_writer->removeOldest(static_cast<BlockKind>(kind)); !removed)
            return removed.error();
    }
    return {};
}

// The oldest rows go first; where there are none left, the finest roll-ups. Room is made before it is needed: for the
// segment to come, and for what is about to be written, which lies in the log and in the file for a moment.
Result<void> Compactor::keepQuota(std::int64_t coming)
{
    std::int64_t limit = 0;
    {
        const std::lock_guard lock(m_state->mutex);
        limit = m_state->settings.quotaBytes - m_state->segmentBytes() - m_state->settings.segmentBytes - coming;
    }
    bool hasRemoved = false;
    for (std::size_t kind = 0;;) {
        const auto size = m_writer->size();
        if (!size)
            return size.error();
        const auto [file, free] = size.value();
        if (file + std::max<std::int64_t>(0, coming - free) <= limit)
            break;
        // Free pages beyond what is coming can go back; else more must be freed.
        if (free > coming) {
            if (const auto shrunk = m_writer->shrink(std::min(free - coming, file - limit)); !shrunk)
                return shrunk;
            hasRemoved = true;
            if (const auto now = m_writer->size(); now && now.value().fileBytes < file)
                continue;
        }
        const auto removed = m_writer->removeOldest(static_cast<BlockKind>(kind));
        if (!removed)
            return removed.error();
        hasRemoved = true;
        if (!removed.value() && ++kind == kBlockKinds)
            break;
    }
    if (!hasRemoved)
        return {};
    const auto moved = m_writer->checkpoint();
    return moved ? Result<void>() : Result<void>(moved.error());
}

void Compactor::measure()
{
    std::int64_t bytes = 0;
    for (const char *suffix : {"", "-wal", "-shm"})
        bytes +=
            QFileInfo(m_state->folder + QLatin1Char('/') + QLatin1String(kBlocksFile) + QLatin1String(suffix)).size();
    const std::lock_guard lock(m_state->mutex);
    m_state->databaseBytes = bytes;
}

} // namespace gridloom
