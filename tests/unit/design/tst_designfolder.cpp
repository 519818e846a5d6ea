// SPDX-License-Identifier: Apache-2.0
#include "designio/designfolder.h"
#include "smalldesign.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace gridloom;
using namespace gridloom::test;

class DesignFolderTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void readsWhatWasWritten();
    void leavesOutWhatIsNoPart();
    void keepsMisplacedPartsForTheCheck();
    void refusesLargeFiles();
    void refusesLargeFolders();
    void namesAMissingFolder();
    void readsManifests();
    void refusesDamagedManifests();
};

namespace {
void write(const QString &path, const QByteArray &bytes)
{
    QVERIFY(QDir().mkpath(QFileInfo(path).path()));
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    QCOMPARE(file.write(bytes), bytes.size());
}
} // namespace

void DesignFolderTest::readsWhatWasWritten()
{
    QTemporaryDir folder;
    for (const auto &[path, bytes] : smallDesign())
        write(folder.filePath(QString::fromUtf8(path)), bytes);
    const auto read = readDesignFolder(folder.path());
    QVERIFY(read.ok());
    QVERIFY(read.value() == smallDesign());
}

void DesignFolderTest::leavesOutWhatIsNoPart()
{
    QTemporaryDir folder;
    for (const char *path : {"gridloom.json", "README.md", "other.json", "devices/a.json", "devices/a.json~",
                             "devices/.hidden.json", "devices/deep/b.json", ".git/c.json", "triggers/t.lua"})
        write(folder.filePath(QString::fromLatin1(path)), "{}");
    QTemporaryDir outside;
    write(outside.filePath(QStringLiteral("secret.json")), "{}");
    QVERIFY(QFile::link(outside.filePath(QStringLiteral("secret.json")),
                        folder.filePath(QStringLiteral("devices/l.json"))));
    QVERIFY(QFile::link(outside.path(), folder.filePath(QStringLiteral("channels"))));
    const auto read = readDesignFolder(folder.path());
    QVERIFY(read.ok());
    QVERIFY(read.value()
            == (DesignDocument{{"gridloom.json", "{}"}, {"devices/a.json", "{}"}, {"triggers/t.lua", "{}"}}));
}

void DesignFolderTest::keepsMisplacedPartsForTheCheck()
{
    QTemporaryDir folder;
    write(folder.filePath(QStringLiteral("gridloom.json")), smallDesign()["gridloom.json"]);
    write(folder.filePath(QStringLiteral("device/m.json")), "{}");
    const ParsedDesign parsed = parseDesign(readDesignFolder(folder.path()).value(), {});
    QCOMPARE(parsed.faults.size(), std::size_t(1));
    QCOMPARE(parsed.faults.front().path, QStringLiteral("device/m.json"));
}

void DesignFolderTest::refusesLargeFiles()
{
    QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("devices/big.json"));
    write(path, QByteArray(4 << 20, ' '));
    QVERIFY(readDesignFolder(folder.path()).ok());
    write(path, QByteArray((4 << 20) + 1, ' '));
    const auto read = readDesignFolder(folder.path());
    QVERIFY(!read.ok());
    QCOMPARE(read.error().code, QStringLiteral("design.tooLarge"));
    QVERIFY(read.error().message.contains(path));
}

void DesignFolderTest::refusesLargeFolders()
{
    QTemporaryDir folder;
    for (int i = 0; i < 16; ++i)
        write(folder.filePath(QStringLiteral("devices/d%1.json").arg(i)), QByteArray(4 << 20, ' '));
    QVERIFY(readDesignFolder(folder.path()).ok());
    write(folder.filePath(QStringLiteral("triggers/t.lua")), " ");
    const auto read = readDesignFolder(folder.path());
    QVERIFY(!read.ok());
    QCOMPARE(read.error().code, QStringLiteral("design.tooLarge"));
}

void DesignFolderTest::namesAMissingFolder()
{
    const auto read = readDesignFolder(QStringLiteral("/nonexistent/design"));
    QVERIFY(!read.ok());
    QCOMPARE(read.error().code, QStringLiteral("design.noFolder"));
    QVERIFY(read.error().message.contains(QLatin1String("/nonexistent/design")));
}

void DesignFolderTest::readsManifests()
{
    QTemporaryDir plugins;
    write(plugins.filePath(QStringLiteral("drivers/a/plugin.json")), R"({"id": "a", "kind": "driver", "params": {}})");
    write(plugins.filePath(QStringLiteral("sinks/a/plugin.json")), R"({"id": "a", "kind": "sink"})");
    write(plugins.filePath(QStringLiteral("sinks/empty/README.md")), "x");
    const auto manifests = readManifests(plugins.path());
    QVERIFY(manifests.ok());
    QCOMPARE(manifests.value().size(), std::size_t(2));
    QVERIFY(manifests.value().at(QStringLiteral("driver/a")).contains(u"params"));
    QCOMPARE(manifests.value().count(QStringLiteral("sink/a")), std::size_t(1));
    QVERIFY(readManifests(QStringLiteral("/nonexistent")).value().empty());
}

void DesignFolderTest::refusesDamagedManifests()
{
    for (const char *text : {"", "{", "{}", R"({"id": "a"})"}) {
        QTemporaryDir plugins;
        const QString path = plugins.filePath(QStringLiteral("drivers/a/plugin.json"));
        write(path, text);
        const auto manifests = readManifests(plugins.path());
        QVERIFY(!manifests.ok());
        QCOMPARE(manifests.error().code, QStringLiteral("design.unreadable"));
        QVERIFY(manifests.error().message.contains(path));
    }
}

QTEST_GUILESS_MAIN(DesignFolderTest)
#include "tst_designfolder.moc"
