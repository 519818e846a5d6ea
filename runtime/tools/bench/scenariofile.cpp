// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/scenariofile.h"

#include <QCoreApplication>
#include <QFile>

namespace gridloom {

Result<Scenario> loadScenario(const QString &id)
{
    QFile file(QCoreApplication::applicationDirPath() + QLatin1String("/../share/gridloom/baselines/scenarios.json"));
    if (!file.open(QIODevice::ReadOnly))
        return Error{QStringLiteral("bench.scenario"),
                     QStringLiteral("%1 cannot be read: %2").arg(file.fileName(), file.errorString())};
    return parseScenario(file.readAll(), id);
}

} // namespace gridloom
