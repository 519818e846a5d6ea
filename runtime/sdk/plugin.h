// SPDX-License-Identifier: Apache-2.0
// What every plugin is: a Qt plugin whose factory creates drivers, sinks or stores, with a manifest beside it.
// plugin.json: {"id","kind":"driver"|"sink"|"store","api":1,"qt":"6.4","name","description",
//   "params":{NAME:{"type":"string"|"integer"|"number"|"boolean"|"object"|"array","default"?,"min"?,"max"?,"enum"?,
//                   "unit"?,"required"?,"description"}},
//   "deviceParams":{..same form, drivers only..},"addressPattern":"regular expression, drivers only","capabilities":[..]}
// It is read as data before any code of the plugin runs: the loader compares IID, api and Qt version first.
#pragma once

#include "core/clock.h"
#include "core/result.h"

#include <QtPlugin>

#include <memory>

namespace gridloom {

/// Grows when any header of the SDK changes incompatibly. Also the SONAME of libgridloom.
inline constexpr int kSdkApi = 1;

class Driver;
class DriverHost;
class Sink;
class SinkHost;
class Store;

/// Implemented by a driver plugin's root object. Called in the engine's io thread.
class DriverFactory {
public:
    virtual ~DriverFactory() = default;
    /// A driver for one channel. `host` and `clock` outlive it.
    virtual std::unique_ptr<Driver> createDriver(DriverHost &host, const Clock &clock) = 0;
};

class SinkFactory {
public:
    virtual ~SinkFactory() = default;
    virtual std::unique_ptr<Sink> createSink(SinkHost &host, const Clock &clock) = 0;
};

class StoreFactory {
public:
    virtual ~StoreFactory() = default;
    virtual std::unique_ptr<Store> createStore(const Clock &clock) = 0;
};

} // namespace gridloom

#define GRIDLOOM_DRIVER_IID "org.gridloom.Driver/1"
#define GRIDLOOM_SINK_IID "org.gridloom.Sink/1"
#define GRIDLOOM_STORE_IID "org.gridloom.Store/1"
Q_DECLARE_INTERFACE(gridloom::DriverFactory, GRIDLOOM_DRIVER_IID)
Q_DECLARE_INTERFACE(gridloom::SinkFactory, GRIDLOOM_SINK_IID)
Q_DECLARE_INTERFACE(gridloom::StoreFactory, GRIDLOOM_STORE_IID)
