// SPDX-License-Identifier: Apache-2.0
#include "embeddedstore.h"

namespace gridloom {

class EmbeddedStoreFactory final : public QObject, public StoreFactory {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID GRIDLOOM_STORE_IID FILE "plugin.json")
    Q_INTERFACES(gridloom::StoreFactory)
public:
    std::unique_ptr<Store> createStore(const Clock &clock) override { return std::make_unique<EmbeddedStore>(clock); }
};

} // namespace gridloom

#include "plugin.moc"
