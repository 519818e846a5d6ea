// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

namespace gridloom::modbus {

class ModbusPlugin final : public QObject, public DriverFactory {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID GRIDLOOM_DRIVER_IID FILE "plugin.json")
    Q_INTERFACES(gridloom::DriverFactory)
public:
    std::unique_ptr<Driver> createDriver(DriverHost &host, const Clock &clock) override
    {
        return std::make_unique<ModbusDriver>(host, clock);
    }
};

} // namespace gridloom::modbus

#include "plugin.moc"
