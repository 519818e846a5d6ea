// SPDX-License-Identifier: Apache-2.0
#include "core/timetext.h"

namespace gridloom {

namespace {
void append(QByteArray &text, char before, std::int64_t value, qsizetype width)
{
    const QByteArray digits = QByteArray::number(static_cast<qlonglong>(value));
    if (before != '\0')
        text.append(before);
    if (digits.size() < width)
        text.append(width - digits.size(), '0');
    text.append(digits);
}
} // namespace

QByteArray utcText(WallTime t)
{
    const auto day = std::chrono::floor<std::chrono::days>(t);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss time(t - day);
    QByteArray text;
    text.reserve(32);
    append(text, '\0', static_cast<int>(date.year()), 4);
    append(text, '-', static_cast<unsigned>(date.month()), 2);
    append(text, '-', static_cast<unsigned>(date.day()), 2);
    append(text, 'T', time.hours().count(), 2);
    append(text, ':', time.minutes().count(), 2);
    append(text, ':', time.seconds().count(), 2);
    if (const auto us = time.subseconds().count(); us != 0) {
        append(text, '.', us, 6);
        while (text.endsWith('0'))
            text.chop(1);
    }
    return text.append('Z');
}

} // namespace gridloom
