// SPDX-License-Identifier: Apache-2.0
// SolarDay: the irradiance of one clear day. Read once, then pure and immutable.
#pragma once

#include "core/result.h"

#include <QByteArray>

#include <vector>

namespace gridloom {

class SolarDay {
public:
    /// Lines `HH:MM,W/m2`, every 5 minutes from 00:00 to 23:55. Error "sim.profile" when they are not.
    static Result<SolarDay> parse(const QByteArray &csv);

    /// W/m2, interpolated between the samples, also over midnight. `secondsOfDay` 0 to 86,400, local time.
    double irradiance(double secondsOfDay) const;

private:
    std::vector<double> m_samples;
};

} // namespace gridloom
