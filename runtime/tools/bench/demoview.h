// SPDX-License-Identifier: Apache-2.0
// DemoView: a status line as a screen for people, or as one line for a log. Pure: bytes come back.
#pragma once

#include "tools/bench/runtimestatus.h"

#include <QByteArray>
#include <QList>
#include <QString>

namespace gridloom {

/// A value on the screen.
struct ShownPoint {
    QString name; ///< "device.point"
    QString unit;
};

class DemoView {
public:
    /// `points`: the values to show, in this order. `isColoured`: ANSI colours (never the only sign of
    /// anything); `endS`: real seconds until the end, 0: until Ctrl+C; `speed`: of the runtime's clock.
    DemoView(QList<ShownPoint> points, bool isColoured, int endS, double speed)
        : m_points(std::move(points)), m_isColoured(isColoured), m_endS(endS), m_speed(speed)
    {
    }

    /// The whole screen for a terminal of `rows` lines, drawn over the one before without flicker.
    QByteArray screen(const RuntimeStatus &status, std::uint64_t messages, int rows) const;
    /// One line with the most telling figures, with a line feed.
    QByteArray line(const RuntimeStatus &status, std::uint64_t messages) const;

private:
    QByteArray coloured(const char *sgr, const QByteArray &text) const;
    QByteArray values(const RuntimeStatus &status) const;
    QByteArray alarms(const RuntimeStatus &status) const;
    QByteArray triggers(const RuntimeStatus &status) const;
    QByteArray accounts(const RuntimeStatus &status, std::uint64_t messages) const;

    QList<ShownPoint> m_points;
    bool m_isColoured;
    int m_endS;
    double m_speed;
};

} // namespace gridloom
