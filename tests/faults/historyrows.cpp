// SPDX-License-Identifier: Apache-2.0
#include "faults/historyrows.h"

#include "engine/pluginhost.h"

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
    for (const QString &id : series) {
        const auto read =
            reader->query(id, WallTime{}, WallTime{std::chrono::hours(24 * 36'500)}, [&](const HistoryRow &row) {
                rows[id].push_back(row);
                return true;
            });
        if (!read)
            why = read.error().message;
    }
    store->close();
    return rows;
}

} // namespace gridloom::faults
