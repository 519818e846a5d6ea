// SPDX-License-Identifier: Apache-2.0
#include "faults/historyrows.h"

#include "engine/pluginhost.h"

#include <QDeadlineTimer>

#include <thread>

namespace gridloom::faults {

QMap<QString, std::vector<HistoryRow>> historyRows(const QString &stateDir, const QStringList &series, QString &why)
{
    const auto factory = PluginHost(QStringLiteral(GRIDLOOM_PLUGIN_FOLDER)).store(QStringLiteral("embedded"));
    if (!factory) {
        why = factory.error().message;
        return {};
    }
    static const SystemClock clock;
    const std::unique_ptr<Store> store = factory.value()->createStore(clock);
    QList<Series> all;
    for (const QString &id : series)
        all.append({id, id, {}});
    if (const auto opened = store->open({{}, stateDir + QStringLiteral("/history"), all, {}, {}}); !opened) {
        why = opened.error().message;
        return {};
    }
    const auto reader = store->reader();
    QMap<QString, std::vector<HistoryRow>> rows;
    // A database that was cut short is taken back by the store's own thread, at first.
    QDeadlineTimer patience(std::chrono::seconds(10));
    for (const QString &id : series)
        for (bool isRead = false; !isRead;) {
            rows[id].clear();
            const auto read =
                reader->query(id, WallTime{}, WallTime{std::chrono::hours(24 * 36'500)}, [&](const HistoryRow &row) {
                    rows[id].push_back(row);
                    return true;
                });
            isRead = read.ok();
            if (!isRead && patience.hasExpired()) {
                why = read.error().message;
                isRead = true;
            } else if (!isRead) {
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
        }
    store->close();
    return rows;
}

} // namespace gridloom::faults
