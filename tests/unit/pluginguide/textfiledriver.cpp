// SPDX-License-Identifier: Apache-2.0
#include "textfiledriver.h"

#include <QDir>
#include <QFile>

namespace gridloom::textfile {

Result<void> TextFileDriver::configure(const QJsonObject &channelParams, const QList<DeviceBinding> &devices)
{
    m_folder = channelParams[QLatin1String("folder")].toString();
    if (!QDir::isAbsolutePath(m_folder))
        return Error{QStringLiteral("textfile.folder"),
                     QStringLiteral("The folder \"%1\" is not an absolute path: write it from / on.").arg(m_folder)};
    m_devices = static_cast<int>(devices.size());
    for (const DeviceBinding &device : devices) {
        for (const Point *point : device.points)
            m_points[point->handle] = point;
    }
    return {};
}

void TextFileDriver::start()
{
    for (DeviceHandle device = 0; device < m_devices; ++device)
        m_host.deviceHealthChanged(device, LinkHealth::Online, {});
}

void TextFileDriver::poll(std::span<const PointHandle> due)
{
    m_batch.clear();
    for (const PointHandle point : due)
        m_batch.push_back(read(point));
    m_host.publish(m_batch);
}

Sample TextFileDriver::read(PointHandle handle)
{
    const Point &point = *m_points.at(handle);
    ++m_statistics.reads;
    QFile file(m_folder + QLatin1Char('/') + point.address);
    const QByteArray text = file.open(QIODevice::ReadOnly) ? file.read(64).trimmed() : QByteArray();
    // Stamped once, when the bytes are here.
    Sample sample{handle, Quality::BadConfigurationError, {}, m_clock.wallNow(), m_clock.steadyNow()};
    if (!file.isOpen())
        return sample;
    bool isInteger = false;
    bool isNumber = false;
    const qlonglong integer = text.toLongLong(&isInteger);
    const double number = text.toDouble(&isNumber);
    sample.quality = isNumber && std::isfinite(number) ? Quality::Good : Quality::BadOutOfRange;
    if (sample.quality != Quality::Good)
        return sample; // bad quality goes with null: an error is never a number
    const bool isScaled = point.format.scale != 1.0 || point.format.offset != 0.0;
    if (isInteger && !isScaled)
        sample.value = Value(std::int64_t{integer}); // an integer keeps every digit
    else
        sample.value = Value(number * point.format.scale + point.format.offset);
    return sample;
}

void TextFileDriver::write(const WriteRequest &request)
{
    m_host.writeFinished(request.id, written(request));
}

WriteResult TextFileDriver::written(const WriteRequest &request)
{
    const Point &point = *m_points.at(request.point);
    ++m_statistics.writes;
    const bool isScaled = point.format.scale != 1.0 || point.format.offset != 0.0;
    const Value raw =
        isScaled ? Value((*request.value.toDouble() - point.format.offset) / point.format.scale) : request.value;
    QFile file(m_folder + QLatin1Char('/') + point.address);
    // Without ExistingOnly a wrong address would create a file and look like a success.
    if (!file.open(QIODevice::WriteOnly | QIODevice::ExistingOnly) || file.write(raw.toText()) < 0 || !file.flush())
        return {WriteResult::State::Rejected,
                {},
                {QStringLiteral("textfile.write"),
                 QStringLiteral("%1 cannot be written: %2").arg(file.fileName(), file.errorString()), true}};
    if (!request.verify)
        return {};
    ++m_statistics.readBacks;
    const Sample back = read(request.point);
    const bool isEqual = compareNumbers(back.value, request.value) == 0;
    WriteResult result{isEqual ? WriteResult::State::Confirmed : WriteResult::State::Mismatch, back.value, {}};
    if (!isEqual)
        result.error = {QStringLiteral("textfile.mismatch"),
                        QStringLiteral("%1 reads %2 after the write.")
                            .arg(file.fileName(), QString::fromUtf8(back.value.toText()))};
    return result;
}

} // namespace gridloom::textfile
