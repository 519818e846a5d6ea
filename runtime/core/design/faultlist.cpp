// SPDX-License-Identifier: Apache-2.0
#include "core/design/faultlist.h"

namespace gridloom {

QString DesignFault::text() const
{
    QString place = path + pointer;
    if (line > 0)
        place += QLatin1Char(':') + QString::number(line);
    return place + QStringLiteral(": ") + message;
}

void FaultList::add(DesignFault fault)
{
    if (m_total++ < kKept)
        m_faults.push_back(std::move(fault));
}

std::vector<DesignFault> FaultList::take()
{
    std::stable_sort(m_faults.begin(), m_faults.end(),
                     [](const DesignFault &a, const DesignFault &b) { return a.path < b.path; });
    if (m_total > m_faults.size())
        m_faults.push_back(
            {{},
             {},
             0,
             QStringLiteral("design.tooManyFaults"),
             QStringLiteral("%1 more faults are not listed; correct these first").arg(m_total - m_faults.size())});
    m_total = 0;
    return std::exchange(m_faults, {});
}

} // namespace gridloom
