// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/machine.h"

#include <QStorageInfo>
#include <QSysInfo>

#include <unistd.h>

namespace gridloom {

namespace {

QString cpuName()
{
    for (const QByteArray &line : readWhole("/proc/cpuinfo").split('\n'))
        if (line.startsWith("model name") || line.startsWith("Model"))
            return QString::fromUtf8(line.mid(line.indexOf(':') + 1)).trimmed();
    return QSysInfo::currentCpuArchitecture();
}

} // namespace

Machine describeMachine(const QString &folder)
{
    Machine m;
    m.cpu = cpuName();
    m.cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
    m.memoryMb = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES))
        * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / (1024 * 1024);
    m.kernel = QSysInfo::kernelType() + QLatin1Char(' ') + QSysInfo::kernelVersion();
    m.system = QSysInfo::prettyProductName();
    m.fileSystem = QString::fromUtf8(QStorageInfo(folder).fileSystemType());
    return m;
}

} // namespace gridloom
