// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/mbapframer.h"

#include <QTest>

using namespace gridloom;

namespace {

using Next = MbapFramer::Next;

void feed(MbapFramer &framer, const QByteArray &bytes)
{
    const auto space = framer.space();
    QVERIFY(space.size() >= static_cast<std::size_t>(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), space.begin());
    framer.received(static_cast<std::size_t>(bytes.size()));
}

QByteArray bytesOf(std::span<const std::uint8_t> bytes)
{
    return {reinterpret_cast<const char *>(bytes.data()), static_cast<qsizetype>(bytes.size())};
}

// Two requests of the specification's kind: read holding 0x006B x 3 of unit 17, write single register of unit 2.
const QByteArray kFirst = QByteArray::fromHex("0001 0000 0006 11 03 006B 0003");
const QByteArray kSecond = QByteArray::fromHex("FFFE 0000 0006 02 06 0001 0003");

} // namespace

class MbapFramerTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void findsMergedRequests();
    void findsRequestsSplitAnywhere();
    void longestRequestFits();
    void brokenHeadersEndTheStream_data();
    void brokenHeadersEndTheStream();
    void writesFrames();
    void manyRequestsPassThroughTheBuffer();
};

void MbapFramerTest::findsMergedRequests()
{
    MbapFramer framer;
    feed(framer, kFirst + kSecond);
    MbapFrame frame;
    QCOMPARE(framer.next(frame), Next::Frame);
    QCOMPARE(frame.transaction, std::uint16_t{1});
    QCOMPARE(frame.unit, std::uint8_t{17});
    QCOMPARE(bytesOf(frame.pdu), QByteArray::fromHex("03006B0003"));
    QCOMPARE(framer.next(frame), Next::Frame);
    QCOMPARE(frame.transaction, std::uint16_t{0xFFFE});
    QCOMPARE(frame.unit, std::uint8_t{2});
    QCOMPARE(bytesOf(frame.pdu), QByteArray::fromHex("0600010003"));
    QCOMPARE(framer.next(frame), Next::Incomplete);
}

void MbapFramerTest::findsRequestsSplitAnywhere()
{
    const QByteArray stream = kFirst + kSecond;
    for (qsizetype cut = 1; cut < stream.size(); ++cut) {
        MbapFramer framer;
        MbapFrame frame;
        int frames = 0;
        for (const QByteArray &part : {stream.left(cut), stream.mid(cut)}) {
            feed(framer, part);
            while (framer.next(frame) == Next::Frame)
                ++frames;
        }
        QCOMPARE(frames, 2);
        QCOMPARE(bytesOf(frame.pdu), QByteArray::fromHex("0600010003"));
    }
}

void MbapFramerTest::longestRequestFits()
{
    MbapFramer framer;
    MbapFrame frame;
    feed(framer, QByteArray::fromHex("0007 0000 00FE 01") + QByteArray(252, 'x'));
    QCOMPARE(framer.next(frame), Next::Incomplete);
    feed(framer, "y");
    QCOMPARE(framer.next(frame), Next::Frame);
    QCOMPARE(frame.pdu.size(), std::size_t{253});
    QCOMPARE(frame.pdu.back(), std::uint8_t{'y'});
}

void MbapFramerTest::brokenHeadersEndTheStream_data()
{
    QTest::addColumn<QByteArray>("header");
    QTest::newRow("protocol 1") << QByteArray::fromHex("0001 0001 0006");
    QTest::newRow("length 0") << QByteArray::fromHex("0001 0000 0000");
    QTest::newRow("no function") << QByteArray::fromHex("0001 0000 0001");
    QTest::newRow("length 255") << QByteArray::fromHex("0001 0000 00FF");
    QTest::newRow("garbage") << QByteArray::fromHex("FFFF FFFF FFFF");
}

void MbapFramerTest::brokenHeadersEndTheStream()
{
    QFETCH(QByteArray, header);
    MbapFramer framer;
    MbapFrame frame;
    feed(framer, header.chopped(1));
    QCOMPARE(framer.next(frame), Next::Incomplete);
    feed(framer, header.right(1));
    QCOMPARE(framer.next(frame), Next::Broken);
}

void MbapFramerTest::writesFrames()
{
    const QByteArray pdu = QByteArray::fromHex("8302");
    std::vector<std::uint8_t> out{0xAA}; // is kept
    MbapFramer::append(out, {0x1234, 9, std::span(reinterpret_cast<const std::uint8_t *>(pdu.data()), 2)});
    QCOMPARE(bytesOf(out), QByteArray::fromHex("AA 1234 0000 0003 09 8302"));
}

void MbapFramerTest::manyRequestsPassThroughTheBuffer()
{
    MbapFramer framer;
    MbapFrame frame;
    QByteArray stream;
    for (int i = 0; i < 10'000; ++i)
        stream += kSecond;
    int frames = 0;
    for (qsizetype at = 0; at < stream.size();) {
        const qsizetype part = std::min<qsizetype>(stream.size() - at, static_cast<qsizetype>(framer.space().size()));
        QVERIFY(part > 0);
        feed(framer, stream.mid(at, part));
        at += part;
        for (; framer.next(frame) == Next::Frame; ++frames)
            QCOMPARE(frame.transaction, std::uint16_t{0xFFFE});
    }
    QCOMPARE(frames, 10'000);
}

QTEST_APPLESS_MAIN(MbapFramerTest)
#include "tst_mbapframer.moc"
