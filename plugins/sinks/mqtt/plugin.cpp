// SPDX-License-Identifier: Apache-2.0
#include "mqttsink.h"

namespace gridloom {

class MqttSinkPlugin : public QObject, public SinkFactory {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID GRIDLOOM_SINK_IID FILE "plugin.json")
    Q_INTERFACES(gridloom::SinkFactory)
public:
    std::unique_ptr<Sink> createSink(SinkHost &host, const Clock &clock) override
    {
        return std::make_unique<MqttSink>(host, clock);
    }
};

} // namespace gridloom

#include "plugin.moc"
