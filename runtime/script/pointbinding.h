// SPDX-License-Identifier: Apache-2.0
// PointBinding: the script function point("device.point"). It answers with a small object that reads the image of the
// current run when asked for .value, .quality, .good or .age: made once per name and state, so that a read of a
// point allocates nothing. Belongs to one LuaSandbox, which it must outlive.
#pragma once

#include "script/scripttypes.h"

#include <lua.h>

#include <string_view>

namespace gridloom {

class PointBinding {
public:
    /// The design outlives the binding.
    explicit PointBinding(const Design &design) : m_design(design) {}
    PointBinding(const PointBinding &) = delete;
    PointBinding &operator=(const PointBinding &) = delete;

    /// Makes point() a sandbox global. In protected mode, once.
    void open(lua_State *state);

    /// Where the next run reads: a frozen image or the live store, and the moment ages are counted from.
    void readFrom(const ProcessImage &image, SteadyTime now);
    void readFrom(const PointStore &store, SteadyTime now);
    /// Worst quality of the points whose .value was read since readFrom().
    Quality usedQuality() const { return m_usedQuality; }

    /// The handle of a name; raises "unknown point ..." with the nearest name there is.
    PointHandle resolve(lua_State *state, std::string_view name) const;
    const Design &design() const { return m_design; }

private:
    static int pointFunction(lua_State *state);
    static int readField(lua_State *state);
    const ImageSlot &slot(PointHandle point) const;

    const Design &m_design;
    const ProcessImage *m_image = nullptr;
    const PointStore *m_store = nullptr;
    SteadyTime m_now{};
    Quality m_usedQuality = Quality::Good;
};

} // namespace gridloom
