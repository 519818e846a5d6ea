// SPDX-License-Identifier: Apache-2.0
#include "core/history/crc32.h"

#include <QtEndian>

#include <array>

namespace gridloom {

namespace {
constexpr std::uint32_t kPolynomial = 0xEDB88320U;
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// Table 0 is the CRC of one byte; table k that of a byte followed by k zero bytes. Eight of them take eight bytes a
// step: reading a store back is bound by the disk then and not by this loop.
constexpr Tables makeTables()
{
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc & 1U) != 0 ? (crc >> 1U) ^ kPolynomial : crc >> 1U;
        tables[0][byte] = crc;
    }
    for (std::size_t k = 1; k < tables.size(); ++k) {
        for (std::size_t byte = 0; byte < 256; ++byte)
            tables[k][byte] = (tables[k - 1][byte] >> 8U) ^ tables[0][tables[k - 1][byte] & 0xFFU];
    }
    return tables;
}
constexpr Tables kTables = makeTables();
} // namespace

std::uint32_t crc32(QByteArrayView bytes)
{
    std::uint32_t crc = 0xFFFFFFFFU;
    const auto *at = reinterpret_cast<const uchar *>(bytes.data());
    qsizetype left = bytes.size();
    for (; left >= 8; left -= 8, at += 8) {
        const std::uint32_t low = crc ^ qFromLittleEndian<std::uint32_t>(at);
        const auto high = qFromLittleEndian<std::uint32_t>(at + 4);
        crc = kTables[7][low & 0xFFU] ^ kTables[6][(low >> 8U) & 0xFFU] ^ kTables[5][(low >> 16U) & 0xFFU]
            ^ kTables[4][low >> 24U] ^ kTables[3][high & 0xFFU] ^ kTables[2][(high >> 8U) & 0xFFU]
            ^ kTables[1][(high >> 16U) & 0xFFU] ^ kTables[0][high >> 24U];
    }
    for (; left > 0; --left, ++at)
        crc = (crc >> 8U) ^ kTables[0][(crc ^ *at) & 0xFFU];
    return ~crc;
}

} // namespace gridloom
