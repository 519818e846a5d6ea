// SPDX-License-Identifier: Apache-2.0
#include "daemon/lastdesign.h"

#include "core/history/frames.h"
#include "sdk/appendfile.h"

#include <QFile>

namespace gridloom {

namespace {
constexpr QByteArrayView kMagic("GLDESIGN");
constexpr std::uint16_t kVersion = 1;
constexpr std::uint8_t kFile = 1;
constexpr std::uint8_t kEnd = 2;

QString pathIn(const QString &stateDir)
{
    return stateDir + QStringLiteral("/design.last");
}

QByteArray readFile(const QString &path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QByteArray encoded(const DesignDocument &document)
{
    QByteArray out = fileHeader(kMagic, kVersion);
    FrameWriter writer(out);
    for (const auto &[path, content] : document) {
        writer.begin(kFile);
        writer.bytes(path);
        writer.bytes(content);
        writer.end();
    }
    writer.begin(kEnd);
    writer.varint(document.size());
    writer.end();
    return out;
}
} // namespace

Result<void> keepLastDesign(const QString &stateDir, const DesignDocument &document)
{
    const QByteArray bytes = encoded(document);
    if (readFile(pathIn(stateDir)) == bytes)
        return {};
    const auto written = AppendFile::create(pathIn(stateDir), bytes);
    return written ? Result<void>() : Result<void>(written.error());
}

Result<DesignDocument> readLastDesign(const QString &stateDir)
{
    const QByteArray bytes = readFile(pathIn(stateDir));
    DesignDocument document;
    bool isWhole = false;
    if (hasFileHeader(bytes, kMagic, kVersion)) {
        FrameReader frames(bytes, kEnd);
        for (Frame frame; frames.next(frame);) {
            FieldReader fields(frame.payload);
            if (frame.kind == kEnd) {
                isWhole = fields.varint() == document.size() && fields.isOk();
                continue;
            }
            const QByteArray path = fields.bytes().toByteArray();
            document[path] = fields.bytes().toByteArray();
        }
        isWhole = isWhole && frames.firstDamage() < 0;
    }
    if (!isWhole)
        return Error{QStringLiteral("design.noCopy"),
                     QStringLiteral("There is no whole copy of a design in %1.").arg(pathIn(stateDir))};
    return document;
}

} // namespace gridloom
