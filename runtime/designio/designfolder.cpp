// SPDX-License-Identifier: Apache-2.0
#include "designio/designfolder.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>

namespace gridloom {

namespace {

constexpr qint64 kMostFileBytes = qint64(4) << 20;
constexpr qint64 kMostBytes = qint64(64) << 20;

Error unreadable(const QString &path, const QString &reason)
{
    return {QStringLiteral("design.unreadable"),
            QStringLiteral("%1 cannot be read: %2; check the file and its permissions").arg(path, reason), true};
}

Error tooLarge(const QString &path, qint64 limit)
{
    return {QStringLiteral("design.tooLarge"),
            QStringLiteral("%1 is larger than the %2 MB that are allowed; split it or remove what is no design")
                .arg(path)
                .arg(limit >> 20)};
}

/// At most `limit` bytes, whatever the file's size claims to be.
Result<QByteArray> readFile(const QString &path, qint64 limit)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return unreadable(path, file.errorString());
    QByteArray bytes = file.read(limit + 1);
    bytes.squeeze(); // read() keeps as much memory as it might have needed
    if (file.error() != QFileDevice::NoError)
        return unreadable(path, file.errorString());
    if (bytes.size() > limit)
        return tooLarge(path, limit);
    return bytes;
}

class FolderReader {
public:
    explicit FolderReader(const QString &folder) : m_folder(folder) {}
    Result<DesignDocument> read();

private:
    Result<void> readInto(const QString &subFolder, const QStringList &patterns);

    QDir m_folder;
    DesignDocument m_document;
    qint64 m_bytes = 0;
};

Result<void> FolderReader::readInto(const QString &subFolder, const QStringList &patterns)
{
    const QDir folder(m_folder.filePath(subFolder));
    if (!QFileInfo(folder.path()).isReadable()) // entryList() would take it for an empty one
        return unreadable(folder.path(), QStringLiteral("permission denied"));
    // Links are left out: a design must not reach beyond its folder.
    const auto entries = folder.entryList(patterns, QDir::Files | QDir::NoSymLinks, QDir::Name);
    for (const QString &name : entries) {
        const auto bytes = readFile(folder.filePath(name), kMostFileBytes);
        if (!bytes.ok())
            return bytes.error();
        m_bytes += bytes.value().size();
        if (m_bytes > kMostBytes)
            return tooLarge(m_folder.path(), kMostBytes);
        const QString path = subFolder.isEmpty() ? name : subFolder + QLatin1Char('/') + name;
        m_document.emplace(QFile::encodeName(path), bytes.value());
    }
    return {};
}

Result<DesignDocument> FolderReader::read()
{
    if (!m_folder.exists())
        return Error{
            QStringLiteral("design.noFolder"),
            QStringLiteral("there is no design folder %1; name a folder with a gridloom.json").arg(m_folder.path()),
            true};
    if (const auto read = readInto({}, {QStringLiteral("gridloom.json")}); !read.ok())
        return read.error();
    const auto folders = m_folder.entryList(QDir::Dirs | QDir::NoDotAndDotDot | QDir::NoSymLinks, QDir::Name);
    for (const QString &folder : folders) {
        const auto read = readInto(folder, {QStringLiteral("*.json"), QStringLiteral("*.lua")});
        if (!read.ok())
            return read.error();
    }
    return std::move(m_document);
}

} // namespace

Result<DesignDocument> readDesignFolder(const QString &folder)
{
    return FolderReader(folder).read();
}

Result<std::map<QString, QJsonObject>> readManifests(const QString &pluginFolder)
{
    std::map<QString, QJsonObject> manifests;
    const QDir plugins(pluginFolder);
    const auto folders = QDir::Dirs | QDir::NoDotAndDotDot;
    for (const QString &kinds : plugins.entryList(folders, QDir::Name)) {
        const QDir kindFolder(plugins.filePath(kinds));
        for (const QString &id : kindFolder.entryList(folders, QDir::Name)) {
            const QString path = kindFolder.filePath(id + QStringLiteral("/plugin.json"));
            if (!QFileInfo::exists(path))
                continue;
            const auto bytes = readFile(path, kMostFileBytes);
            if (!bytes.ok())
                return bytes.error();
            QJsonParseError parsed;
            const QJsonObject manifest = QJsonDocument::fromJson(bytes.value(), &parsed).object();
            if (parsed.error != QJsonParseError::NoError)
                return unreadable(path, parsed.errorString());
            const QString kind = manifest.value(u"kind").toString();
            const QString name = manifest.value(u"id").toString();
            if (kind.isEmpty() || name.isEmpty())
                return unreadable(path, QStringLiteral("it states no \"kind\" and \"id\""));
            manifests.emplace(kind + QLatin1Char('/') + name, manifest);
        }
    }
    return manifests;
}

} // namespace gridloom
