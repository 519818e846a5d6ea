// SPDX-License-Identifier: Apache-2.0
// What the tests of the embedded store share: a folder, sample rows, and reading everything back.
#pragma once

#include "embeddedstore.h"

#include <QTemporaryDir>

namespace gridloom::test {

inline const WallTime kStart{std::chrono::seconds(1'785'542'400)}; // 2026-08-01T00:00:00Z
inline const QList<Series> kSeries{{QStringLiteral("meter1.p"), QStringLiteral("Leistung"), QStringLiteral("kW")},
                                   {QStringLiteral("meter1.e"), QStringLiteral("x'); DROP TABLE samples;--"), {}}};
inline const QList<QString> kTriggers{QStringLiteral("shave"), QStringLiteral("count")};
inline constexpr WallTime kEver = WallTime::max() - std::chrono::hours(1);

HistoryRow row(PointHandle point, std::int64_t atMs, Value value, int trigger = -1, std::uint64_t run = 0);
/// Rows with the values first, first + 1 ... each so many milliseconds after kStart.
std::vector<HistoryRow> numbers(int first, int count, PointHandle point = 0);
/// Whether rows are what numbers(first, count) makes.
bool areNumbers(const std::vector<HistoryRow> &rows, int first, int count);
/// Everything of a series, by query().
std::vector<HistoryRow> all(EmbeddedStore &store, const QString &id = kSeries[0].id, WallTime from = WallTime(),
                            WallTime to = kEver);

QByteArray readFile(const QString &path);
void writeFile(const QString &path, const QByteArray &bytes);

/// A folder for one test function.
class StoreFolder {
protected:
    void renew();
    Result<void> open(EmbeddedStore &store, int segmentMb = 8, int quotaMb = 1024);
    QString path(int number) const;
    QStringList files(const char *pattern) const;

    std::unique_ptr<QTemporaryDir> m_dir;
    QString m_folder;
    FakeClock m_clock;
};

} // namespace gridloom::test
