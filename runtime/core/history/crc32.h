// SPDX-License-Identifier: Apache-2.0
// CRC-32 (IEEE 802.3, reflected polynomial 0xEDB88320, the one of zip and PNG). Pure; any thread.
#pragma once

#include <QByteArrayView>

#include <cstdint>

namespace gridloom {

/// The CRC of `bytes`; crc32("123456789") is 0xCBF43926.
std::uint32_t crc32(QByteArrayView bytes);

} // namespace gridloom
