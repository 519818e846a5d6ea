// SPDX-License-Identifier: Apache-2.0
#include "core/design/designfiles.h"

#include "core/design/designnames.h"
#include "core/design/jsontext.h"
#include "core/design/nearestname.h"
#include "core/json.h"

#include <QCryptographicHash>

namespace gridloom {

namespace {

struct FolderName {
    DesignFolder folder;
    QString name;
};

const std::array<FolderName, 8> &folderNames()
{
    static const std::array<FolderName, 8> names{{
        {DesignFolder::Channels, QStringLiteral("channels")},
        {DesignFolder::Devices, QStringLiteral("devices")},
        {DesignFolder::Aggregations, QStringLiteral("aggregations")},
        {DesignFolder::Alarms, QStringLiteral("alarms")},
        {DesignFolder::Triggers, QStringLiteral("triggers")},
        {DesignFolder::Coordination, QStringLiteral("coordination")},
        {DesignFolder::Sinks, QStringLiteral("sinks")},
        {DesignFolder::Stores, QStringLiteral("stores")},
    }};
    return names;
}

const FolderName *findFolder(const QString &name)
{
    for (const FolderName &known : folderNames())
        if (known.name == name)
            return &known;
    return nullptr;
}

constexpr QStringView kRootFile = u"gridloom.json";
constexpr QStringView kJson = u".json";
constexpr QStringView kLua = u".lua";

// Lua reads CR, LF, CRLF and LFCR as one line end each, inside long strings too: the text means the same with LF.
QString luaText(const QByteArray &bytes)
{
    QString text = QString::fromUtf8(bytes);
    if (text.startsWith(QChar::ByteOrderMark))
        text.remove(0, 1);
    text.replace(QStringLiteral("\r\n"), QStringLiteral("\n"));
    return text.replace(QLatin1Char('\r'), QLatin1Char('\n'));
}

DesignPart readPart(const QString &path, const QString &id, const QByteArray &bytes, FaultList &faults)
{
    const auto object = readJsonText(bytes, path, faults);
    return {path, id, object.value_or(QJsonObject()), object.has_value()};
}

// A file outside the known folders is a note, unless its folder is one of ours mistyped.
void checkStrayFile(const QString &path, const QString &folder, FaultList &faults)
{
    QStringList names;
    for (const FolderName &known : folderNames())
        names.append(known.name);
    const QString meant = folder.isEmpty() ? QString() : nearestName(folder, names);
    if (!meant.isEmpty())
        faults.add({path,
                    {},
                    0,
                    QStringLiteral("design.unknownFile"),
                    QStringLiteral("the folder \"%1\" is none of a design; did you mean \"%2\"?").arg(folder, meant)});
}

} // namespace

const std::map<QString, DesignPart> &DesignFiles::in(DesignFolder folder) const
{
    static const std::map<QString, DesignPart> none;
    const auto it = parts.find(folder);
    return it == parts.end() ? none : it->second;
}

DesignFiles DesignFiles::read(const DesignDocument &document, FaultList &faults)
{
    DesignFiles files;
    for (const auto &[pathBytes, bytes] : document) {
        const QString path = QString::fromUtf8(pathBytes);
        if (path == kRootFile)
            files.root = readPart(path, {}, bytes, faults);
        else if (path.endsWith(kJson) || path.endsWith(kLua))
            files.add(path, bytes, faults);
    }
    return files;
}

void DesignFiles::add(const QString &path, const QByteArray &bytes, FaultList &faults)
{
    const qsizetype slash = std::max<qsizetype>(path.indexOf(QLatin1Char('/')), 0);
    const FolderName *folder = findFolder(path.left(slash));
    if (!folder) {
        checkStrayFile(path, path.left(slash), faults);
        return;
    }
    const bool isScript = path.endsWith(kLua);
    if (isScript && folder->folder != DesignFolder::Triggers) {
        faults.add({path,
                    {},
                    0,
                    QStringLiteral("design.unknownFile"),
                    QStringLiteral("scripts stand in the folder \"triggers\"; move or remove the file")});
        return;
    }
    const QString id = path.mid(slash + 1).chopped(isScript ? kLua.size() : kJson.size());
    if (!isValidId(id)) {
        faults.add({path,
                    {},
                    0,
                    QStringLiteral("design.badId"),
                    QStringLiteral("the file name is the part's id: 1 to 63 of a-z, 0-9 and -, not starting "
                                   "with -; rename the file")});
        return;
    }
    if (!isScript)
        parts[folder->folder].emplace(id, readPart(path, id, bytes, faults));
    else
        scripts.emplace(id, checkUtf8(bytes, path, faults) ? luaText(bytes) : QString());
}

QByteArray DesignFiles::canonicalForm() const
{
    std::map<QByteArray, QJsonValue> contents; // ordered by bytes
    if (root)
        contents.emplace(root->path.toUtf8(), root->object);
    for (const auto &[folder, byId] : parts)
        for (const auto &[id, part] : byId)
            contents.emplace(part.path.toUtf8(), part.object);
    for (const auto &[id, text] : scripts)
        contents.emplace("triggers/" + id.toUtf8() + ".lua", text);

    JsonWriter w;
    w.beginObject();
    for (const auto &[path, content] : contents)
        w.key(path.toStdString()).json(content);
    w.endObject();
    return w.take();
}

Result<QByteArray> canonicalForm(const DesignDocument &document)
{
    FaultList faults;
    const DesignFiles files = DesignFiles::read(document, faults);
    if (!faults.isEmpty()) {
        const DesignFault first = faults.take().front();
        return Error{first.code, first.text()};
    }
    return files.canonicalForm();
}

QByteArray revisionHash(const QByteArray &canonicalForm)
{
    return QCryptographicHash::hash(canonicalForm, QCryptographicHash::Sha256).toHex();
}

} // namespace gridloom
