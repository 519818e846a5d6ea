// SPDX-License-Identifier: Apache-2.0
#include "core/design/jsontext.h"

#include <QTest>

using namespace gridloom;

class JsonTextTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void reads();
    void faults_data();
    void faults();
    void listsEveryDuplicate();
    void keepsTheObjectBesideScanFaults();
    void survivesEveryCutAndFlip();
};

namespace {
std::vector<DesignFault> faultsOf(const QByteArray &bytes, std::optional<QJsonObject> *object = nullptr)
{
    FaultList list;
    const auto read = readJsonText(bytes, QStringLiteral("f.json"), list);
    if (object)
        *object = read;
    return list.take();
}
} // namespace

void JsonTextTest::reads()
{
    std::optional<QJsonObject> object;
    QVERIFY(
        faultsOf("\xEF\xBB\xBF{\"a\": [1, {\"b\": \"\\u00e4\\ud83d\\udd0b\\\\\\\"{\"}], \"c\": {\"a\": 1}}", &object)
            .empty());
    QCOMPARE(object->value(u"a")[1][u"b"].toString(), QString::fromUtf8("ä\xF0\x9F\x94\x8B\\\"{"));
    QVERIFY(faultsOf("{}").empty());
}

void JsonTextTest::faults_data()
{
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("code");
    QTest::addColumn<int>("line");
    QTest::addColumn<QString>("pointer");
    const auto row = [](const char *name, const QByteArray &bytes, const char *code, int line,
                        const char *pointer = "") {
        QTest::newRow(name) << bytes << QString::fromLatin1(code) << line << QString::fromLatin1(pointer);
    };
    row("empty", "", "design.syntax", 1);
    row("white space", "  \n ", "design.syntax", 2);
    row("zero bytes", QByteArray(100, '\0'), "design.syntax", 1);
    row("cut", "{\n \"a\": [1,\n", "design.syntax", 3);
    row("garbage behind", "{\n}\n]", "design.syntax", 3);
    row("trailing comma", "{\"a\": 1,\n}", "design.syntax", 2);
    row("comment", "{\n// why\n}", "design.syntax", 2);
    row("single quotes", "{'a': 1}", "design.syntax", 1);
    row("NaN", "{\"a\":\nNaN}", "design.syntax", 2);
    row("too large a number", "{\"a\":\n1e999}", "design.syntax", 2);
    row("leading zero", "{\"a\": 01}", "design.syntax", 1);
    row("deep", QByteArray("{\"a\":") + QByteArray(100'000, '['), "design.syntax", 1);
    row("list", "[{}]", "design.wrongType", 1);
    row("text", "\"a\"", "design.syntax", 1);
    row("Latin-1", "{\"a\":\n\n\"Z\xE4hler\"}", "design.notUtf8", 3);
    row("UTF-16", QByteArray("\xFF\xFE{\0}\0", 6), "design.notUtf8", 1);
    row("overlong", "{\"a\": \"\xC0\xAF\"}", "design.notUtf8", 1);
    row("surrogate as UTF-8", "{\"a\": \"\xED\xA0\x80\"}", "design.notUtf8", 1);
    row("duplicate", "{\"a\": 1,\n\"b\": 2,\n\"a\": 3}", "design.duplicateKey", 3, "/a");
    row("duplicate by escape", "{\"a\": 1, \"\\u0061\": 3}", "design.duplicateKey", 1, "/a");
    row("duplicate below", "{\"x\": [{}, {\"a~/b\": [1, 2], \"a~/b\": 1}]}", "design.duplicateKey", 1, "/x/1/a~0~1b");
    row("duplicate empty key", "{\"\": 1, \"\": 2}", "design.duplicateKey", 1, "/");
    row("line feed in a text", "{\"a\": \"x\ny\"}", "design.syntax", 2, "/a");
    row("unknown escape", "{\"a\": \"\\q\"}", "design.syntax", 1, "/a");
    row("high half alone", "{\"a\": \"\\ud83dx\"}", "design.syntax", 1, "/a");
    row("low half alone", "{\"a\": [\"\\udd0b\"]}", "design.syntax", 1, "/a/0");
}

void JsonTextTest::faults()
{
    QFETCH(QByteArray, bytes);
    QFETCH(QString, code);
    QFETCH(int, line);
    QFETCH(QString, pointer);
    const auto list = faultsOf(bytes);
    QCOMPARE(list.size(), std::size_t(1));
    QCOMPARE(list[0].code, code);
    QCOMPARE(list[0].line, line);
    QCOMPARE(list[0].pointer, pointer);
    QVERIFY(!list[0].message.isEmpty());
    QVERIFY(list[0].text().startsWith(QStringLiteral("f.json%1:%2: ").arg(pointer).arg(line)));
}

void JsonTextTest::listsEveryDuplicate()
{
    const auto list = faultsOf("{\"a\":1,\"a\":{\"b\":1,\"b\":2},\"a\":3}");
    QCOMPARE(list.size(), std::size_t(3));
    QCOMPARE(list[1].pointer, QStringLiteral("/a/b"));
}

void JsonTextTest::keepsTheObjectBesideScanFaults()
{
    std::optional<QJsonObject> object;
    faultsOf("{\"a\": 1, \"a\": 2, \"b\": 3}", &object);
    QVERIFY(object);
    QCOMPARE(object->value(u"b").toInt(), 3);
}

// Each prefix and each flipped bit of a file either reads or is a fault; the sanitizers watch the scan.
void JsonTextTest::survivesEveryCutAndFlip()
{
    const QByteArray whole = "{\"a\\n\": [1, {\"b\": \"\\ud83d\\udd0b\\u0012\xC3\xA4\"}], \"c\": {\"\\\\\": -1.5e3}}";
    for (qsizetype i = 0; i < whole.size(); ++i) {
        std::optional<QJsonObject> object;
        QVERIFY(!faultsOf(whole.left(i), &object).empty());
        QVERIFY(!object);
        for (int bit = 0; bit < 8; ++bit) {
            QByteArray flipped = whole;
            flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
            const auto list = faultsOf(flipped, &object);
            QVERIFY(object || !list.empty());
        }
    }
}

QTEST_APPLESS_MAIN(JsonTextTest)
#include "tst_jsontext.moc"
