// SPDX-License-Identifier: Apache-2.0
// The canonical form and its hash, against bytes and digests made by another program (Python's json and hashlib).
#include "smalldesign.h"

#include <QTest>

using namespace gridloom;
using namespace gridloom::test;

class CanonicalFormTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void equalsTheReference();
    void hashesKnownVectors();
    void equalMeaningGivesEqualBytes_data();
    void equalMeaningGivesEqualBytes();
    void otherMeaningGivesOtherBytes_data();
    void otherMeaningGivesOtherBytes();
    void keysAreSortedByBytes();
    void refusesWhatDoesNotParse();
    void designCarriesItsRevision();
};

namespace {

DesignDocument reference()
{
    return {{"triggers/t.lua", "-- \xC3\xBC\nlog(\"x\\t\")\n"},
            {"gridloom.json", R"({"schema": 1, "x": [0.1, -1.30, 1e21, true, null],
                                  "site": {"zone": "Europe/Vienna", "name": "Höfe"}})"},
            {"devices/m.json", R"({"n": 9007199254740993, "id": "m"})"}};
}

QByteArray hashOf(const DesignDocument &document)
{
    const auto canonical = canonicalForm(document);
    return canonical.ok() ? revisionHash(canonical.value()) : canonical.error().message.toUtf8();
}

constexpr auto kReferenceHash = "137458f938eb80eeccfd5b198cee47ea9a045301ad6ed72dbe8e37b8e9d0c1a9";

} // namespace

void CanonicalFormTest::equalsTheReference()
{
    const auto canonical = canonicalForm(reference());
    QVERIFY(canonical.ok());
    const QByteArray expected = R"({"devices/m.json":{"id":"m","n":9007199254740993},"gridloom.json":{"schema":1,)"
                                R"("site":{"name":"Höfe","zone":"Europe/Vienna"},"x":[0.1,-1.3,1e+21,true,null]},)"
                                R"("triggers/t.lua":"-- ü\nlog(\"x\\t\")\n"})";
    QCOMPARE(canonical.value(), expected);
    QCOMPARE(revisionHash(canonical.value()), QByteArray(kReferenceHash));
}

// FIPS 180-2, appendix B.1, and the empty message.
void CanonicalFormTest::hashesKnownVectors()
{
    QCOMPARE(revisionHash("abc"), QByteArray("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    QCOMPARE(revisionHash(""), QByteArray("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
}

void CanonicalFormTest::equalMeaningGivesEqualBytes_data()
{
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("order of keys and white space")
        << QByteArray("devices/m.json") << QByteArray("\r\n{\"id\":\"m\",\t\"n\":9007199254740993}");
    QTest::newRow("escapes") << QByteArray("devices/m.json")
                             << QByteArray(R"({"\u0069d": "\u006d", "n": 9007199254740993})");
    QTest::newRow("numbers") << QByteArray("gridloom.json")
                             << QByteArray(R"({"schema": 1.0, "x": [1e-1, -1.3, 1000000000000000000000, true, null],
                                               "site": {"zone": "Europe\/Vienna", "name": "H\u00f6fe"}})");
    QTest::newRow("byte order mark") << QByteArray("devices/m.json")
                                     << QByteArray("\xEF\xBB\xBF{\"id\":\"m\",\"n\":9007199254740993}");
    QTest::newRow("CRLF in Lua") << QByteArray("triggers/t.lua") << QByteArray("-- \xC3\xBC\r\nlog(\"x\\t\")\r\n");
    QTest::newRow("CR in Lua") << QByteArray("triggers/t.lua") << QByteArray("-- \xC3\xBC\rlog(\"x\\t\")\r");
    QTest::newRow("read-me") << QByteArray("README.md") << QByteArray("anything \xFF");
    QTest::newRow("notes in a known folder") << QByteArray("devices/notes.txt") << QByteArray("anything");
    QTest::newRow("documents beside") << QByteArray("papers/plan.json") << QByteArray("{ no design");
}

void CanonicalFormTest::equalMeaningGivesEqualBytes()
{
    QFETCH(QByteArray, path);
    QFETCH(QByteArray, text);
    DesignDocument document = reference();
    document[path] = text;
    QCOMPARE(hashOf(document), QByteArray(kReferenceHash));
}

void CanonicalFormTest::otherMeaningGivesOtherBytes_data()
{
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("last digit beyond 2^53")
        << QByteArray("devices/m.json") << QByteArray(R"({"n": 9007199254740992, "id": "m"})");
    QTest::newRow("Lua space") << QByteArray("triggers/t.lua") << QByteArray("-- \xC3\xBC\nlog( \"x\\t\")\n");
    QTest::newRow("one more part") << QByteArray("devices/n.json") << QByteArray("{}");
}

void CanonicalFormTest::otherMeaningGivesOtherBytes()
{
    QFETCH(QByteArray, path);
    QFETCH(QByteArray, text);
    DesignDocument document = reference();
    document[path] = text;
    QCOMPARE(hashOf(document).size(), 64);
    QVERIFY(hashOf(document) != kReferenceHash);
}

// U+FF5E is before U+1F50B by bytes of UTF-8 (EF.. < F0..) and behind it by UTF-16 units (FF5E > D83D).
void CanonicalFormTest::keysAreSortedByBytes()
{
    const auto canonical =
        canonicalForm({{"gridloom.json", "{\"\xF0\x9F\x94\x8B\":1,\"\xEF\xBD\x9E\":2,\"Z\":3,\"a\":4}"}});
    QCOMPARE(canonical.value(),
             QByteArray("{\"gridloom.json\":{\"Z\":3,\"a\":4,\"\xEF\xBD\x9E\":2,\"\xF0\x9F\x94\x8B\":1}}"));
}

void CanonicalFormTest::refusesWhatDoesNotParse()
{
    DesignDocument document = reference();
    document["devices/m.json"] = "{\n\"id\": }";
    const auto canonical = canonicalForm(document);
    QVERIFY(!canonical.ok());
    QCOMPARE(canonical.error().code, QStringLiteral("design.syntax"));
    QVERIFY2(canonical.error().message.startsWith(QLatin1String("devices/m.json:2: ")),
             qPrintable(canonical.error().message));
}

void CanonicalFormTest::designCarriesItsRevision()
{
    const ParsedDesign parsed = parseDesign(smallDesign(), smallContext());
    QVERIFY2(parsed.design, texts(parsed.faults));
    QCOMPARE(parsed.design->revision, hashOf(smallDesign()));
}

QTEST_APPLESS_MAIN(CanonicalFormTest)
#include "tst_canonicalform.moc"
