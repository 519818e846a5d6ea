// SPDX-License-Identifier: Apache-2.0
#include "script/luatext.h"

#include <QTest>

using namespace gridloom;

class LuaTextTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void oneLineOfPrintableText();
    void cutsBetweenCharacters();
    void utf8AgreesWithQt();
};

void LuaTextTest::oneLineOfPrintableText()
{
    QCOMPARE(printable("a\nb\r\tc", 100), QByteArray("a\\nb\\r\\tc"));
    QCOMPARE(printable(std::string_view("\0\x1b[31m\x7f", 7), 100), QByteArray("\\x00\\x1b[31m\\x7f"));
    QCOMPARE(printable("Z\xC3\xA4hler \xE2\x82\xAC", 100), QByteArray("Z\xC3\xA4hler \xE2\x82\xAC"));
    QCOMPARE(printable("\xC2\x85\xE2\x80\xA8", 100), QByteArray("\\xc2\\x85\\xe2\\x80\\xa8"));
    QCOMPARE(printable("\xFF\xC0\x80", 100), QByteArray("\\xff\\xc0\\x80"));
}

void LuaTextTest::cutsBetweenCharacters()
{
    QCOMPARE(printable("ab\xE2\x82\xAC", 4), QByteArray("ab"));
    QCOMPARE(printable("ab\xE2\x82\xAC", 5), QByteArray("ab\xE2\x82\xAC"));
    QCOMPARE(printable("ab\n", 3), QByteArray("ab"));
}

// Qt's decoder is the second opinion, over every sequence of two bytes and a choice of longer ones.
void LuaTextTest::utf8AgreesWithQt()
{
    const auto agrees = [](const QByteArray &bytes) {
        const bool isValid = QString::fromUtf8(bytes).toUtf8() == bytes;
        return isUtf8({bytes.constData(), static_cast<std::size_t>(bytes.size())}) == isValid;
    };
    const QByteArray tails[] = {QByteArray(), QByteArray("\x80"), QByteArray("\x80\x80"), QByteArray("\xBF\xBF"),
                                QByteArray("a")};
    for (int a = 0; a < 256; ++a)
        for (int b = 0; b < 256; ++b)
            for (const QByteArray &tail : tails) {
                const QByteArray bytes = QByteArray(1, static_cast<char>(a)) + static_cast<char>(b) + tail;
                if (bytes != "\xEF\xBB\xBF") // fromUtf8 takes a byte order mark off
                    QVERIFY2(agrees(bytes), bytes.toHex().constData());
            }
}

QTEST_APPLESS_MAIN(LuaTextTest)
#include "tst_luatext.moc"
