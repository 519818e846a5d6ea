// SPDX-License-Identifier: Apache-2.0
#include "protocols/modbus/readplan.h"

#include <QTest>

#include <random>

using namespace gridloom::modbus;

namespace {

// "3:0+10" = holding registers from 0, ten of them.
QByteArray text(const std::vector<ReadBlock> &blocks)
{
    QByteArray out;
    for (const auto &b : blocks)
        out += (out.isEmpty() ? "" : " ") + QByteArray::number(b.address) + '+' + QByteArray::number(b.count);
    return out;
}

std::vector<ReadPoint> registers(int first, int last, std::uint16_t width = 1)
{
    std::vector<ReadPoint> points;
    for (int a = first; a <= last; a += width)
        points.push_back({Table::Holding, static_cast<std::uint16_t>(a), width, 0});
    return points;
}

std::vector<ReadPoint> operator+(std::vector<ReadPoint> a, const std::vector<ReadPoint> &b)
{
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

} // namespace

class ReadPlanTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void limits();
    void gaps();
    void holes();
    void groupsAndTablesStayApart();
    void splits();
    void randomPlansKeepEveryRule();
};

// PC-09
void ReadPlanTest::limits()
{
    QCOMPARE(text(planReads(registers(0, 125), {})), QByteArray("0+125 125+1"));
    QCOMPARE(text(planReads(registers(0, 123) + registers(124, 125, 2), {})), QByteArray("0+124 124+2"));
    std::vector<ReadPoint> coils;
    for (int a = 0; a <= 2000; ++a)
        coils.push_back({Table::Coil, static_cast<std::uint16_t>(a), 1, 0});
    QCOMPARE(text(planReads(coils, {})), QByteArray("0+2000 2000+1"));
    PlanOptions small;
    small.maxRegisters = 10;
    QCOMPARE(text(planReads(registers(0, 11, 4), small)), QByteArray("0+8 8+4"));
    QCOMPARE(text(planReads(registers(65535, 65535), {})), QByteArray("65535+1"));
    QVERIFY(planReads({}, {}).empty());
}

void ReadPlanTest::gaps()
{
    QCOMPARE(text(planReads(registers(0, 0) + registers(17, 17), {})), QByteArray("0+18"));
    QCOMPARE(text(planReads(registers(0, 0) + registers(18, 18), {})), QByteArray("0+1 18+1"));
    PlanOptions none;
    none.maxGap = 0;
    QCOMPARE(text(planReads(registers(0, 4) + registers(6, 9), none)), QByteArray("0+5 6+4"));
    // Points may share or overlap registers; the list need not be in order.
    QCOMPARE(text(planReads(registers(11, 11) + registers(10, 10, 4) + registers(11, 11), {})), QByteArray("10+4"));
}

// PC-08
void ReadPlanTest::holes()
{
    const auto points = registers(0, 4) + registers(6, 9);
    QCOMPARE(text(planReads(points, {})), QByteArray("0+10"));
    const AddressRange hole[] = {{Table::Holding, 5, 6}};
    PlanOptions options;
    options.holes = hole;
    QCOMPARE(text(planReads(points, options)), QByteArray("0+5 6+4"));
    QCOMPARE(text(planReads(registers(0, 9), options)), QByteArray("0+5 6+4")); // the point at 5 is in no block
    QCOMPARE(text(planReads(registers(4, 5, 2), options)), QByteArray());
    const AddressRange border[] = {{Table::Holding, 6, 6}};
    options.holes = border;
    QCOMPARE(text(planReads(registers(0, 9), options)), QByteArray("0+6 6+4"));
    const AddressRange otherTable[] = {{Table::Input, 5, 6}};
    options.holes = otherTable;
    QCOMPARE(text(planReads(points, options)), QByteArray("0+10"));
}

void ReadPlanTest::groupsAndTablesStayApart()
{
    auto points = registers(0, 3);
    points[1].group = points[3].group = 100;
    points[2].table = Table::Input;
    const auto blocks = planReads(points, {});
    QCOMPARE(blocks.size(), std::size_t{3});
    QCOMPARE(text(blocks), QByteArray("2+1 0+1 1+3"));
}

void ReadPlanTest::splits()
{
    const auto halves = [](const std::vector<ReadPoint> &points) {
        const auto block = planReads(points, {}).front();
        const auto split = splitBlock(block, points);
        return split ? text({split->first, split->second}) : QByteArray();
    };
    QCOMPARE(halves(registers(0, 4) + registers(6, 9)), QByteArray("0+5 6+4"));
    QCOMPARE(halves(registers(0, 9)), QByteArray("0+5 5+5"));
    QCOMPARE(halves(registers(0, 7) + registers(9, 9)), QByteArray("0+8 9+1")); // a gap before the middle
    QCOMPARE(halves(registers(0, 7, 4)), QByteArray("0+4 4+4"));
    QCOMPARE(halves(registers(0, 0)), QByteArray());
    QCOMPARE(halves(registers(0, 0) + registers(0, 0)), QByteArray()); // two bits of one register
    QCOMPARE(halves(registers(0, 3, 4) + registers(2, 2)), QByteArray());
}

void ReadPlanTest::randomPlansKeepEveryRule()
{
    std::mt19937 random(7);
    const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
    for (int run = 0; run < 500; ++run) {
        std::vector<ReadPoint> points;
        for (int i = below(60); i >= 0; --i)
            points.push_back({static_cast<Table>(below(4)), static_cast<std::uint16_t>(below(400)),
                              static_cast<std::uint16_t>(1 << below(3)), static_cast<std::uint32_t>(below(2))});
        for (auto &p : points)
            if (isBitTable(p.table))
                p.width = 1;
        std::vector<AddressRange> holes;
        for (int i = below(6); i > 0; --i) {
            const int first = below(400);
            holes.push_back({static_cast<Table>(below(4)), first, first + below(4)});
        }
        PlanOptions options;
        options.maxGap = below(20);
        options.maxRegisters = 4 + below(122);
        options.holes = holes;
        std::vector<int> served(points.size(), 0);
        for (const auto &block : planReads(points, options)) {
            QVERIFY(block.count <= (isBitTable(block.table) ? options.maxBits : options.maxRegisters));
            for (int a = block.address; a < block.address + block.count; ++a)
                for (const auto &h : holes) {
                    const bool isInside = h.table == block.table && a >= h.first && a < h.end;
                    QVERIFY(!isInside);
                }
            for (const auto index : block.points) {
                const auto &p = points[index];
                QVERIFY(p.table == block.table && p.group == points[block.points.front()].group);
                QVERIFY(p.address >= block.address && p.end() <= block.address + block.count);
                ++served[index];
            }
        }
        for (std::size_t i = 0; i < points.size(); ++i) {
            const bool isInHole = std::any_of(holes.begin(), holes.end(), [&](const AddressRange &h) {
                return h.table == points[i].table && points[i].address < h.end && points[i].end() > h.first;
            });
            QCOMPARE(served[i], isInHole ? 0 : 1);
        }
    }
}

QTEST_APPLESS_MAIN(ReadPlanTest)
#include "tst_readplan.moc"
