// SPDX-License-Identifier: Apache-2.0
#include "tools/store/rowoutput.h"

#include "core/timetext.h"

#include <QFile>

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace gridloom {

namespace {
constexpr qsizetype kBufferSize = 1 << 20;

// RFC 4180: a field with a separator, a quote or a line break stands in quotes, quotes in it are doubled.
void appendField(QByteArray &line, QByteArrayView field)
{
    const bool isPlain =
        std::none_of(field.begin(), field.end(), [](char c) { return c == ',' || c == '"' || c == '\n' || c == '\r'; });
    if (isPlain) {
        line.append(field.data(), field.size());
        return;
    }
    line.append('"');
    for (const char c : field) {
        if (c == '"')
            line.append('"');
        line.append(c);
    }
    line.append('"');
}

class CsvOutput final : public RowOutput {
public:
    Result<void> open(const QString &path)
    {
        const bool isStdout = path == QLatin1String("-");
        m_file.setFileName(path);
        const bool isOpen = isStdout ? m_file.open(stdout, QIODevice::WriteOnly)
                                     : m_file.open(QIODevice::WriteOnly | QIODevice::Truncate);
        if (!isOpen)
            return failed();
        m_isStdout = isStdout;
        m_buffer = "series,name,unit,time,type,value,quality,trigger,run\n";
        return {};
    }
    Result<void> begin(const SegmentSeries &series) override
    {
        m_prefix.clear();
        for (const QByteArray *field : {&series.id, &series.name, &series.unit}) {
            appendField(m_prefix, *field);
            m_prefix.append(',');
        }
        return {};
    }
    Result<void> row(const SegmentRow &row, const QByteArray &trigger) override
    {
        m_buffer.append(m_prefix);
        m_buffer.append(utcText(WallTime(std::chrono::milliseconds(row.timeMs)))).append(',');
        m_buffer.append(typeName(row.value.type())).append(',');
        if (!row.value.isNull())
            appendField(m_buffer, row.value.toText());
        m_buffer.append(',');
        if (const auto name = qualityName(row.quality); !name.empty())
            m_buffer.append(name.data(), static_cast<qsizetype>(name.size()));
        else
            m_buffer.append(QByteArray::number(static_cast<int>(row.quality)));
        m_buffer.append(',');
        appendField(m_buffer, trigger);
        m_buffer.append(',');
        if (row.run != 0 || !trigger.isEmpty())
            m_buffer.append(QByteArray::number(static_cast<qulonglong>(row.run)));
        m_buffer.append('\n');
        return m_buffer.size() < kBufferSize ? Result<void>() : write();
    }
    Result<void> end() override
    {
        if (const auto written = write(); !written)
            return written;
        if (!m_file.flush() || (!m_isStdout && ::fsync(m_file.handle()) != 0))
            return failed();
        return {};
    }

private:
    Result<void> write()
    {
        const bool isWritten = m_file.write(m_buffer) == m_buffer.size();
        m_buffer.resize(0);
        return isWritten ? Result<void>() : failed();
    }
    Result<void> failed() const
    {
        return Error{QStringLiteral("store.exportFailed"),
                     QStringLiteral("%1 cannot be written: %2").arg(m_file.fileName(), m_file.errorString())};
    }

    QFile m_file;
    QByteArray m_prefix, m_buffer;
    bool m_isStdout = false;
};
} // namespace

const char *typeName(ValueType type)
{
    switch (type) {
    case ValueType::Null: return "null";
    case ValueType::Bool: return "bool";
    case ValueType::Int64: return "int64";
    case ValueType::UInt64: return "uint64";
    case ValueType::Double: return "double";
    case ValueType::Text: break;
    }
    return "text";
}

Result<std::unique_ptr<RowOutput>> csvOutput(const QString &path)
{
    auto output = std::make_unique<CsvOutput>();
    if (const auto opened = output->open(path); !opened)
        return opened.error();
    return std::unique_ptr<RowOutput>(std::move(output));
}

} // namespace gridloom
