// SPDX-License-Identifier: Apache-2.0
// Modbus addresses as a design writes them: "holding:100". Numbers are those of the wire, from 0. Pure; any thread.
#pragma once

#include "core/result.h"

#include <QStringView>

#include <cstdint>

namespace gridloom::modbus {

/// The four tables of the data model (MODBUS Application Protocol V1.1b3, 4.3).
enum class Table : std::uint8_t { Coil, Discrete, Input, Holding };

constexpr bool isBitTable(Table table)
{
    return table == Table::Coil || table == Table::Discrete;
}

struct Address {
    Table table = Table::Holding;
    std::uint16_t offset = 0;
};

/// Addresses first <= a < end of one table. With first == end it is a border: a request may end or begin there but
/// not span it.
struct AddressRange {
    Table table = Table::Holding;
    int first = 0;
    int end = 0;
};

/// "holding:N", "input:N", "coil:N" or "discrete:N" with N from 0 in decimal digits, the whole value of `width`
/// registers (or 1 bit) below 65536. Error "modbus.address".
Result<Address> parseAddress(QStringView text, int width);

/// "holding:5" or, both ends included, "input:100-119". Error "modbus.address".
Result<AddressRange> parseRange(QStringView text);

/// "holding:5", as parseAddress() reads it.
QString addressText(Table table, int offset);

} // namespace gridloom::modbus
