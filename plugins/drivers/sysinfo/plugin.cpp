// SPDX-License-Identifier: Apache-2.0
#include "sysinfodriver.h"

#include <QObject>

namespace gridloom {

class SysInfoPlugin : public QObject, public DriverFactory {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID GRIDLOOM_DRIVER_IID FILE "plugin.json")
    Q_INTERFACES(gridloom::DriverFactory)
public:
    std::unique_ptr<Driver> createDriver(DriverHost &host, const Clock &clock) override
    {
        return std::make_unique<SysInfoDriver>(host, clock);
    }
};

} // namespace gridloom

#include "plugin.moc"
