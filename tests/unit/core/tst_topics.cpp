// SPDX-License-Identifier: Apache-2.0
#include "core/topics.h"

#include <QTest>

using namespace gridloom;

class TopicsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void names_data();
    void names();
    void onlyOwnLevelsAreUnescaped_data();
    void onlyOwnLevelsAreUnescaped();
    void differentNamesGiveDifferentLevels();
    void lengthIsBounded();
    void emptyNamesAreRefused();
    void validity_data();
    void validity();
    void everyCodePoint();
};

// PC-15: names that would make a broker close the connection.
void TopicsTest::names_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QByteArray>("level");
    QTest::newRow("plain") << QStringLiteral("activePower") << QByteArray("activePower");
    QTest::newRow("plus") << QStringLiteral("T2 candle 5W RGB+CW") << QByteArray("T2 candle 5W RGB%2BCW");
    QTest::newRow("hash") << QStringLiteral("A#1") << QByteArray("A%231");
    QTest::newRow("slash") << QStringLiteral("a/b") << QByteArray("a%2Fb");
    QTest::newRow("dollar") << QStringLiteral("$SYS/x") << QByteArray("$SYS%2Fx");
    QTest::newRow("percent") << QStringLiteral("100%2B") << QByteArray("100%252B");
    QTest::newRow("empty") << QString() << QByteArray();
    QTest::newRow("umlauts") << QString::fromUtf8("Z\xC3\xA4hler K\xC3\xBC"
                                                  "che")
                             << QByteArray::fromHex("5AC3A4686C6572204BC3BC636865");
    QTest::newRow("NUL") << QStringLiteral("a") + QChar(0) + QStringLiteral("b") << QByteArray("a%00b");
    QTest::newRow("C0") << QStringLiteral("a\tb\x7F") << QByteArray("a%09b%7F");
    QTest::newRow("C1") << QString(QChar(0x85)) << QByteArray("%C2%85");
    QTest::newRow("non-character") << QString(QChar(0xFFFE)) << QByteArray("%EF%BF%BE");
    QTest::newRow("beyond the BMP") << QString::fromUtf8("\xF0\x9F\x94\x8B") << QByteArray("\xF0\x9F\x94\x8B");
}

void TopicsTest::names()
{
    QFETCH(QString, name);
    QFETCH(QByteArray, level);
    QCOMPARE(escapeLevel(name), level);
    QCOMPARE(unescapeLevel(level).value_or(QStringLiteral("?")), name);
    if (!name.isEmpty())
        QVERIFY(validTopic(level));
}

void TopicsTest::onlyOwnLevelsAreUnescaped_data()
{
    QTest::addColumn<QByteArray>("level");
    QTest::newRow("cut") << QByteArray("a%2");
    QTest::newRow("no hex") << QByteArray("a%G0");
    QTest::newRow("lower case") << QByteArray("a%2f");
    QTest::newRow("needless") << QByteArray("%41");
    QTest::newRow("bare slash") << QByteArray("a/b");
    QTest::newRow("bare plus") << QByteArray("+");
    QTest::newRow("not UTF-8") << QByteArray("\xC3");
    QTest::newRow("not UTF-8, escaped") << QByteArray("%C3");
}

void TopicsTest::onlyOwnLevelsAreUnescaped()
{
    QFETCH(QByteArray, level);
    QVERIFY(!unescapeLevel(level));
}

void TopicsTest::differentNamesGiveDifferentLevels()
{
    QVERIFY(escapeLevel(QStringLiteral("a%2Fb")) != escapeLevel(QStringLiteral("a/b")));
    QVERIFY(escapeLevel(QStringLiteral("a+")) != escapeLevel(QStringLiteral("a%2B")));
}

void TopicsTest::lengthIsBounded()
{
    const QByteArray prefix = topicPrefix(QStringLiteral("gw 1/a"));
    QCOMPARE(prefix, QByteArray("gridloom/v1/gw 1%2Fa"));
    const auto fits = makeTopic(prefix, {QStringLiteral("state"), QString(65'535 - 20 - 7, QLatin1Char('x'))});
    QVERIFY(fits.ok());
    QCOMPARE(fits.value().size(), 65'535);
    QVERIFY(validTopic(fits.value()));
    const auto tooLong = makeTopic(prefix, {QStringLiteral("state"), QString(65'536 - 20 - 7, QLatin1Char('x'))});
    QVERIFY(!tooLong);
    QCOMPARE(tooLong.error().code, QStringLiteral("mqtt.topic"));
    QVERIFY(tooLong.error().message.size() < 400);
    // The limit is in bytes after escaping: 21,846 slashes are 65,538 bytes.
    QVERIFY(!makeTopic({}, {QString(21'846, QLatin1Char('/'))}));
    QVERIFY(makeTopic({}, {QString(21'845, QLatin1Char('/'))}).ok());
    QVERIFY(!validTopic(QByteArray(65'536, 'x')));
}

void TopicsTest::emptyNamesAreRefused()
{
    QCOMPARE(makeTopic("gridloom/v1/gw", {QString()}).error().code, QStringLiteral("mqtt.topic"));
}

void TopicsTest::validity_data()
{
    QTest::addColumn<QByteArray>("topic");
    QTest::addColumn<bool>("isValid");
    QTest::newRow("levels") << QByteArray("gridloom/v1/gw/state/a/b") << true;
    QTest::newRow("empty") << QByteArray() << false;
    QTest::newRow("plus") << QByteArray("a/+") << false;
    QTest::newRow("hash") << QByteArray("a/#") << false;
    QTest::newRow("NUL") << QByteArray("a\0b", 3) << false;
    QTest::newRow("overlong UTF-8") << QByteArray("a\xC0\xAF") << false;
    QTest::newRow("surrogate in UTF-8") << QByteArray("\xED\xA0\x80") << false;
    QTest::newRow("umlaut") << QByteArray("Z\xC3\xA4hler") << true;
}

void TopicsTest::validity()
{
    QFETCH(QByteArray, topic);
    QTEST(validTopic(topic), "isValid");
}

// MQTT 5.0, 1.5.4: the rule by QChar's tables, over all of Unicode.
void TopicsTest::everyCodePoint()
{
    for (char32_t c = 1; c <= QChar::LastValidCodePoint; ++c) {
        if (QChar::isSurrogate(c))
            continue;
        const bool isControl = QChar::category(c) == QChar::Other_Control;
        const bool isWildcard = c == U'+' || c == U'#';
        const QByteArray topic = "a" + QString::fromUcs4(&c, 1).toUtf8() + "b";
        QVERIFY2(validTopic(topic) == !(isControl || isWildcard || QChar::isNonCharacter(c)), topic.toHex());
    }
}

QTEST_APPLESS_MAIN(TopicsTest)
#include "tst_topics.moc"
