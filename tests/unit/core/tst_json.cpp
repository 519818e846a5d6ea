// SPDX-License-Identifier: Apache-2.0
// JsonWriter against texts written by hand and against QJsonDocument as an independent parser.
#include "core/json.h"
#include "core/value.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QTest>

#include <cmath>
#include <limits>
#include <random>

using namespace gridloom;

class JsonTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void placesCommas();
    void integersAreExact();
    void doublesAreShortestAndReadBack();
    void nonFiniteIsNull();
    void roundsForPeople();
    void escapesText();
    void repairsInvalidUtf8_data();
    void repairsInvalidUtf8();
    void writesValues();
    void equalTreesGiveEqualBytes();
    void takeStartsAnew();
};

namespace {
template<typename Write>
QByteArray written(Write write)
{
    JsonWriter w;
    write(w);
    return w.take();
}
} // namespace

void JsonTest::placesCommas()
{
    JsonWriter w(64);
    w.beginObject().key("a").integer(1).key("b").beginArray().endArray().key("c").beginArray().integer(1).string("x");
    w.beginObject().endObject().beginObject().key("d").null().endObject().boolean(true).endArray();
    w.key("e").raw("[1,2]").key("f").boolean(false).endObject();
    QCOMPARE(w.text(), QByteArray(R"({"a":1,"b":[],"c":[1,"x",{},{"d":null},true],"e":[1,2],"f":false})"));
}

void JsonTest::integersAreExact()
{
    QCOMPARE(written([](JsonWriter &w) { w.integer(std::numeric_limits<std::int64_t>::min()); }),
             QByteArray("-9223372036854775808"));
    QCOMPARE(written([](JsonWriter &w) { w.integer(9007199254740993); }), QByteArray("9007199254740993"));
    QCOMPARE(written([](JsonWriter &w) { w.unsignedInteger(std::numeric_limits<std::uint64_t>::max()); }),
             QByteArray("18446744073709551615"));
}

void JsonTest::doublesAreShortestAndReadBack()
{
    QCOMPARE(written([](JsonWriter &w) { w.number(-1.3); }), QByteArray("-1.3"));
    QCOMPARE(written([](JsonWriter &w) { w.number(0.1 + 0.2); }), QByteArray("0.30000000000000004"));
    QCOMPARE(written([](JsonWriter &w) { w.number(230.5); }), QByteArray("230.5"));
    std::mt19937_64 random(1);
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t bits = random();
        const Value value = Value::fromBits(ValueType::Double, bits);
        if (!std::isfinite(value.real()))
            continue;
        const QByteArray text = written([&](JsonWriter &w) { w.number(value.real()); });
        bool ok = false;
        QCOMPARE(Value(text.toDouble(&ok)).bits(), bits);
        QVERIFY2(ok, text);
        QVERIFY2(!QJsonDocument::fromJson("[" + text + "]").isNull(), text);
    }
}

void JsonTest::nonFiniteIsNull()
{
    for (const double v :
         {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
        QCOMPARE(written([v](JsonWriter &w) { w.number(v); }), QByteArray("null"));
        QCOMPARE(written([v](JsonWriter &w) { w.rounded(v, 2); }), QByteArray("null"));
        QCOMPARE(written([v](JsonWriter &w) { w.value(Value(v)); }), QByteArray("null"));
    }
}

void JsonTest::roundsForPeople()
{
    QCOMPARE(written([](JsonWriter &w) { w.rounded(12.34567, 2); }), QByteArray("12.35"));
    QCOMPARE(written([](JsonWriter &w) { w.rounded(-0.04, 1); }), QByteArray("-0"));
    QCOMPARE(written([](JsonWriter &w) { w.rounded(1e308, 4); }), QByteArray("1e+308"));
}

void JsonTest::escapesText()
{
    QCOMPARE(written([](JsonWriter &w) { w.string(std::string_view("a\"\\/\n\r\t\b\0\x1F\x7F", 11)); }),
             QByteArray("\"a\\\"\\\\/\\n\\r\\t\\u0008\\u0000\\u001f\x7F\""));
    QCOMPARE(written([](JsonWriter &w) { w.string(QStringView(u"Zähler Küche")); }), QByteArray("\"Zähler Küche\""));
    QCOMPARE(written([](JsonWriter &w) {
                 w.beginObject().key(QStringView(u"p1")).null().key(QStringView(u"a\"ß")).null().endObject();
             }),
             QByteArray("{\"p1\":null,\"a\\\"ß\":null}"));
    QCOMPARE(written([](JsonWriter &w) { w.string("plain\ttail\x7F\x01"); }),
             QByteArray("\"plain\\ttail\x7F\\u0001\""));
    QCOMPARE(written([](JsonWriter &w) { w.beginObject().key("a\"b").null().endObject(); }),
             QByteArray("{\"a\\\"b\":null}"));
}

void JsonTest::repairsInvalidUtf8_data()
{
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<int>("replacements");
    QTest::newRow("valid, 1 to 4 bytes") << QByteArray("A\xC3\xA4\xE2\x82\xAC\xF0\x9F\x94\x8B") << 0;
    QTest::newRow("lone continuation") << QByteArray("\x80") << 1;
    QTest::newRow("cut sequence") << QByteArray("\xE2\x82") << 2;
    QTest::newRow("overlong slash") << QByteArray("\xC0\xAF") << 2;
    QTest::newRow("overlong, 3 bytes") << QByteArray("\xE0\x80\xAF") << 3;
    QTest::newRow("surrogate") << QByteArray("\xED\xA0\x80") << 3;
    QTest::newRow("above U+10FFFF") << QByteArray("\xF4\x90\x80\x80") << 4;
    QTest::newRow("FF") << QByteArray("\xFF") << 1;
}

void JsonTest::repairsInvalidUtf8()
{
    QFETCH(QByteArray, bytes);
    QFETCH(int, replacements);
    const QByteArray text = written(
        [&](JsonWriter &w) { w.beginArray().string(std::string_view(bytes.constData(), bytes.size())).endArray(); });
    QVERIFY(text.isValidUtf8());
    QVERIFY(!QJsonDocument::fromJson(text).isNull());
    QCOMPARE(text.count("\xEF\xBF\xBD"), replacements);
    QCOMPARE(bytes.isValidUtf8(), replacements == 0);
}

void JsonTest::writesValues()
{
    const auto text = [](const Value &v) { return written([&](JsonWriter &w) { w.value(v); }); };
    QCOMPARE(text(Value()), QByteArray("null"));
    QCOMPARE(text(Value(true)), QByteArray("true"));
    QCOMPARE(text(Value(std::int64_t{-9007199254740993})), QByteArray("-9007199254740993"));
    QCOMPARE(text(Value(std::uint64_t{18446744073709551615U})), QByteArray("18446744073709551615"));
    QCOMPARE(text(Value(77.51460266113281)), QByteArray("77.51460266113281"));
    QCOMPARE(text(Value(QByteArray("a\nb"))), QByteArray("\"a\\nb\""));
}

void JsonTest::equalTreesGiveEqualBytes()
{
    const auto rewritten = [](const QByteArray &json) {
        return written([&](JsonWriter &w) { w.json(QJsonDocument::fromJson(json).object()); });
    };
    const QByteArray expected(R"({"a":[9223372036854775807,-1.5,{}],"b":{"x":null,"y":true},"c":"\"ä"})");
    QCOMPARE(rewritten(R"({ "c": "\"\u00e4", "b": {"y": true, "x": null}, "a": [9223372036854775807, -1.50, {}] })"),
             expected);
    QCOMPARE(rewritten(expected), expected);
    QCOMPARE(rewritten(R"({"n": [1.0, 1e2, -0.0, 0.5e1]})"), QByteArray(R"({"n":[1,100,0,5]})"));
}

void JsonTest::takeStartsAnew()
{
    JsonWriter w;
    w.beginArray().integer(1).endArray();
    QCOMPARE(w.take(), QByteArray("[1]"));
    w.beginArray().integer(2).endArray();
    QCOMPARE(w.take(), QByteArray("[2]"));
    QVERIFY(w.text().isEmpty());
}

QTEST_APPLESS_MAIN(JsonTest)
#include "tst_json.moc"
