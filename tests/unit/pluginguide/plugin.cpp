// SPDX-License-Identifier: Apache-2.0
#include "textfiledriver.h"

namespace gridloom::textfile {

class TextFilePlugin final : public QObject, public DriverFactory {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID GRIDLOOM_DRIVER_IID FILE "plugin.json")
    Q_INTERFACES(gridloom::DriverFactory)
public:
    std::unique_ptr<Driver> createDriver(DriverHost &host, const Clock &clock) override
    {
        return std::make_unique<TextFileDriver>(host, clock);
    }
};

} // namespace gridloom::textfile

#include "plugin.moc"
