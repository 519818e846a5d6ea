// SPDX-License-Identifier: Apache-2.0
// Columns: the values of one kind in a block, packed. Each column begins with one byte that says how it was packed; the
// smallest of the ways tried is taken. docs/store-format.md is the byte layout. Pure; any thread.
#pragma once

#include "core/history/frames.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gridloom {

/// Integers as 64-bit patterns; differences wrap around, so that any int64 or uint64 comes back.
void packIntegers(std::span<const std::uint64_t> values, QByteArray &out);
/// Reads `count` integers into `values`, replacing what it held. False when the column is malformed.
bool unpackIntegers(FieldReader &in, std::size_t count, std::vector<std::uint64_t> &values);

/// Doubles as their bit patterns; every pattern comes back.
void packDoubles(std::span<const std::uint64_t> patterns, QByteArray &out);
bool unpackDoubles(FieldReader &in, std::size_t count, std::vector<std::uint64_t> &patterns);

} // namespace gridloom
