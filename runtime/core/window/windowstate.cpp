// SPDX-License-Identifier: Apache-2.0
// The state of a TumblingWindow over a restart. Layout, in the fields of core/history/frames.h:
//   byte 1 (format) | fixed64 definition | svarint start, opened after start, newest sample after start (us)
//   fixed64 sum, min, max | varint count, offered | byte worst quality
//   varint inputs, each: byte 1 holds + 2 broken | fixed64 last | svarint last after start | fixed64 area | varint covered
//   varint spans given out, each: svarint from start, to start
// Doubles are their bits.
#include "core/history/frames.h"
#include "core/window/tumblingwindow.h"

#include <bit>

namespace gridloom {

namespace {
constexpr std::uint8_t kFormat = 1;
constexpr std::uint8_t kHolds = 1;
constexpr std::uint8_t kBroken = 2;

void writeReal(FrameWriter &w, double v)
{
    w.fixed64(std::bit_cast<std::uint64_t>(v));
}
double readReal(FieldReader &r)
{
    return std::bit_cast<double>(r.fixed64());
}
void writeAfter(FrameWriter &w, WallTime start, WallTime t)
{
    w.signedVarint((t - start).count());
}
WallTime readAfter(FieldReader &r, WallTime start)
{
    return start + std::chrono::microseconds(r.signedVarint());
}
} // namespace

void TumblingWindow::save(QByteArray &out) const
{
    if (!m_start)
        return;
    FrameWriter w(out);
    w.byte(kFormat);
    w.fixed64(m_definition);
    writeAfter(w, WallTime{}, *m_start);
    writeAfter(w, *m_start, m_openedAt);
    writeAfter(w, *m_start, m_latest);
    for (const double v : {m_sum, m_min, m_max})
        writeReal(w, v);
    w.varint(m_count);
    w.varint(m_offered);
    w.byte(static_cast<std::uint8_t>(m_worst));
    w.varint(m_inputs.size());
    for (const Input &input : m_inputs) {
        w.byte(static_cast<std::uint8_t>((input.hasLast ? kHolds : 0) | (input.isBroken ? kBroken : 0)));
        writeReal(w, input.last);
        writeAfter(w, *m_start, input.lastTime);
        writeReal(w, input.area);
        w.varint(static_cast<std::uint64_t>(input.covered.count()));
    }
    w.varint(m_givenOut.size());
    for (const Span &span : m_givenOut) {
        writeAfter(w, *m_start, span.from);
        writeAfter(w, *m_start, span.to);
    }
}

bool TumblingWindow::restore(QByteArrayView state, WallTime now, bool isGivenOut)
{
    TumblingWindow restored = *this;
    FieldReader r(state);
    if (r.byte() != kFormat || r.fixed64() != m_definition || !restored.readOpenWindow(r) || !restored.readInputs(r))
        return false;
    const std::uint64_t spans = r.varint();
    for (std::uint64_t i = 0; i < spans && r.isOk(); ++i) {
        const WallTime from = readAfter(r, *restored.m_start);
        restored.m_givenOut.push_back({from, readAfter(r, *restored.m_start)});
    }
    if (!r.isOk() || !r.atEnd())
        return false;
    if (isGivenOut && now >= restored.m_end) {
        restored.rememberGivenOut();
        restored.open(restored.firstFree(now), now);
    }
    m_inputs = std::move(restored.m_inputs);
    m_givenOut = std::move(restored.m_givenOut);
    m_start = restored.m_start;
    m_end = restored.m_end;
    m_openedAt = restored.m_openedAt;
    m_latest = restored.m_latest;
    m_sum = restored.m_sum;
    m_min = restored.m_min;
    m_max = restored.m_max;
    m_count = restored.m_count;
    m_offered = restored.m_offered;
    m_worst = restored.m_worst;
    return true;
}

bool TumblingWindow::readOpenWindow(FieldReader &r)
{
    m_start = readAfter(r, WallTime{});
    m_openedAt = readAfter(r, *m_start);
    m_latest = readAfter(r, *m_start);
    for (double *v : {&m_sum, &m_min, &m_max})
        *v = readReal(r);
    m_count = r.varint();
    m_offered = r.varint();
    m_worst = static_cast<Quality>(r.byte());
    if (!r.isOk())
        return false;
    m_end = windowEnd(*m_start, m_aggregation.window, m_zone);
    return true;
}

bool TumblingWindow::readInputs(FieldReader &r)
{
    if (r.varint() != m_inputs.size())
        return false;
    for (Input &input : m_inputs) {
        const std::uint8_t flags = r.byte();
        input.hasLast = (flags & kHolds) != 0;
        input.isBroken = (flags & kBroken) != 0;
        input.last = readReal(r);
        input.lastTime = readAfter(r, *m_start);
        input.area = readReal(r);
        input.covered = Microseconds(static_cast<std::int64_t>(r.varint()));
    }
    return r.isOk();
}

} // namespace gridloom
