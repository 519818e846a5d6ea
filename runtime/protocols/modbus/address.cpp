// SPDX-License-Identifier: Apache-2.0
#include "protocols/modbus/address.h"

#include <optional>

namespace gridloom::modbus {

namespace {

constexpr int kAddresses = 65536;
constexpr const char *kTableNames[] = {"coil", "discrete", "input", "holding"};

std::optional<Table> tableFromName(QStringView name)
{
    for (int i = 0; i < 4; ++i)
        if (name == QLatin1String(kTableNames[i]))
            return static_cast<Table>(i);
    return std::nullopt;
}

// Digits only: no sign, no space, no leading zero.
std::optional<int> offsetFromText(QStringView digits)
{
    if (digits.isEmpty() || digits.size() > 5 || (digits.size() > 1 && digits.front() == QLatin1Char('0')))
        return std::nullopt;
    int offset = 0;
    for (const QChar c : digits) {
        if (c < QLatin1Char('0') || c > QLatin1Char('9'))
            return std::nullopt;
        offset = offset * 10 + (c.unicode() - '0');
    }
    return offset < kAddresses ? std::optional<int>(offset) : std::nullopt;
}

Error badAddress(QStringView text)
{
    return {QStringLiteral("modbus.address"),
            QStringLiteral("\"%1\" is no Modbus address; write holding:N, input:N, coil:N or discrete:N with N from 0 "
                           "to 65535.")
                .arg(text),
            false};
}

} // namespace

Result<Address> parseAddress(QStringView text, int width)
{
    const auto colon = text.indexOf(QLatin1Char(':'));
    if (colon < 0)
        return badAddress(text);
    const auto table = tableFromName(text.left(colon));
    const auto offset = offsetFromText(text.mid(colon + 1));
    if (!table || !offset)
        return badAddress(text);
    if (*offset + width > kAddresses)
        return Error{QStringLiteral("modbus.address"),
                     QStringLiteral("The %1 registers from \"%2\" go beyond address 65535; choose a lower address or a "
                                    "shorter type.")
                         .arg(width)
                         .arg(text),
                     false};
    return Address{*table, static_cast<std::uint16_t>(*offset)};
}

Result<AddressRange> parseRange(QStringView text)
{
    const auto dash = text.indexOf(QLatin1Char('-'));
    const auto first = parseAddress(dash < 0 ? text : text.left(dash), 1);
    if (!first)
        return first.error();
    int last = first.value().offset;
    if (dash >= 0) {
        const auto end = offsetFromText(text.mid(dash + 1));
        if (!end || *end < last)
            return badAddress(text);
        last = *end;
    }
    return AddressRange{first.value().table, first.value().offset, last + 1};
}

QString addressText(Table table, int offset)
{
    return QStringLiteral("%1:%2").arg(QLatin1String(kTableNames[static_cast<int>(table)])).arg(offset);
}

} // namespace gridloom::modbus
