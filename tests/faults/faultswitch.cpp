// SPDX-License-Identifier: Apache-2.0
#include "faults/faultswitch.h"

#include <QFile>

#include <cstring>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace gridloom::faults {

namespace {
void setPath(char (&target)[512], const QString &path)
{
    const QByteArray bytes = QFile::encodeName(path);
    if (bytes.size() >= qsizetype{sizeof target})
        qFatal("the path %s is too long", bytes.constData());
    std::memcpy(target, bytes.constData(), static_cast<std::size_t>(bytes.size()) + 1);
}
} // namespace

FaultSwitch::FaultSwitch(const QString &folder, const QString &recordPath)
{
    const QByteArray path = QFile::encodeName(m_folder.filePath(QStringLiteral("control")));
    const int fd = ::open(path.constData(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ::ftruncate(fd, sizeof(FaultControl)) != 0)
        qFatal("the control file %s cannot be made", path.constData());
    void *memory = ::mmap(nullptr, sizeof(FaultControl), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (memory == MAP_FAILED)
        qFatal("the control file %s cannot be mapped", path.constData());
    m_control = new (memory) FaultControl{};
    setPath(m_control->folder, folder);
    setPath(m_control->recordPath, recordPath);
}

FaultSwitch::~FaultSwitch()
{
    ::munmap(m_control, sizeof(FaultControl));
}

QStringList FaultSwitch::environment() const
{
    return {QStringLiteral("LD_PRELOAD=" GRIDLOOM_FAULTS_LIBRARY),
            QLatin1String(kControlVariable) + QLatin1Char('=') + m_folder.filePath(QStringLiteral("control")),
            // A sanitizer wants to be the first library otherwise.
            QStringLiteral("ASAN_OPTIONS=verify_asan_link_order=0:%1").arg(qEnvironmentVariable("ASAN_OPTIONS"))};
}

void FaultSwitch::fillDisk(std::int64_t freeBytes)
{
    m_control->freeBytes = freeBytes;
    m_control->disk = Disk::Full;
}

void FaultSwitch::failNth(const Nth &nth)
{
    m_control->nthKinds = 0;
    m_control->calls = 0;
    m_control->injected = 0;
    m_control->nth = nth.n;
    m_control->nthErrno = nth.error;
    m_control->isNthShort = nth.isShort ? 1 : 0;
    m_control->isNthForGood = nth.isForGood ? 1 : 0;
    m_control->nthKinds = nth.kinds;
}

} // namespace gridloom::faults
