// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/registermap.h"

#include <algorithm>

namespace gridloom {

namespace {

constexpr std::uint16_t kAllBits = 0xFFFF;

} // namespace

void RegisterMap::addBlock(RegisterTable table, int first, int count)
{
    const auto words = static_cast<std::size_t>(count);
    m_blocks[static_cast<std::size_t>(table)].push_back(
        {first, std::vector<std::uint16_t>(words), std::vector<int>(words, kNoValue)});
}

RegisterMap::ValueId RegisterMap::addValue(RegisterTable table, int address, const RegisterFormat &format,
                                           bool isWritable)
{
    const int count = registerCount(format.type);
    const auto index = blockIndex(table, address, count);
    Q_ASSERT_X(index, "RegisterMap::addValue", "the value lies outside every block");
    Block &home = block(table, *index);
    const auto offset = home.owners.begin() + (address - home.first);
    Q_ASSERT_X(std::all_of(offset, offset + count, [](int owner) { return owner == kNoValue; }),
               "RegisterMap::addValue", "two values share a register");
    std::fill_n(offset, count, static_cast<int>(m_entries.size()));
    m_entries.push_back({table, address, format, isWritable});
    return m_entries.size() - 1;
}

void RegisterMap::set(ValueId id, const Value &value)
{
    const Entry &entry = m_entries[id];
    const auto words = wordsOf(entry);
    const auto encoded = encodeRegisters(value, entry.format);
    if (encoded)
        std::copy(encoded.value().begin(), encoded.value().end(), words.begin());
    else
        std::fill(words.begin(), words.end(), kAllBits);
}

std::optional<std::span<const std::uint16_t>> RegisterMap::read(RegisterTable table, int address, int count) const
{
    const auto index = blockIndex(table, address, count);
    if (!index)
        return std::nullopt;
    const Block &home = block(table, *index);
    return std::span(home.words)
        .subspan(static_cast<std::size_t>(address - home.first), static_cast<std::size_t>(count));
}

std::optional<std::vector<RegisterMap::Write>> RegisterMap::decodeWrite(RegisterTable table, int address,
                                                                        std::span<const std::uint16_t> words) const
{
    const auto index = blockIndex(table, address, static_cast<int>(words.size()));
    if (!index)
        return std::nullopt;
    const Block &home = block(table, *index);
    std::vector<Write> writes;
    for (std::size_t done = 0; done < words.size();) {
        const int owner = home.owners[static_cast<std::size_t>(address - home.first) + done];
        if (owner == kNoValue)
            return std::nullopt;
        const Entry &entry = m_entries[static_cast<std::size_t>(owner)];
        const auto count = static_cast<std::size_t>(registerCount(entry.format.type));
        const bool startsHere = entry.address == address + static_cast<int>(done);
        if (!entry.isWritable || !startsHere || done + count > words.size())
            return std::nullopt;
        writes.push_back({static_cast<ValueId>(owner), decodeRegisters(words.subspan(done, count), entry.format)});
        done += count;
    }
    return writes;
}

void RegisterMap::store(const std::vector<Write> &writes)
{
    for (const Write &write : writes) {
        set(write.id, write.value);
        ++m_entries[write.id].writes;
    }
}

std::optional<std::size_t> RegisterMap::blockIndex(RegisterTable table, int address, int count) const
{
    const auto &blocks = m_blocks[static_cast<std::size_t>(table)];
    const auto found = std::find_if(blocks.begin(), blocks.end(), [&](const Block &b) {
        return address >= b.first && address + count <= b.first + static_cast<int>(b.words.size());
    });
    if (found == blocks.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - blocks.begin());
}

std::span<std::uint16_t> RegisterMap::wordsOf(const Entry &entry)
{
    const int count = registerCount(entry.format.type);
    Block &home = block(entry.table, *blockIndex(entry.table, entry.address, count));
    return std::span(home.words)
        .subspan(static_cast<std::size_t>(entry.address - home.first), static_cast<std::size_t>(count));
}

} // namespace gridloom
