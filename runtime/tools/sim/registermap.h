// SPDX-License-Identifier: Apache-2.0
// RegisterMap: the four tables of one Modbus unit: which addresses exist, what value each holds and which of them may
// be written (MODBUS Application Protocol V1.1b3, section 4.3). Not thread-safe.
#pragma once

#include "core/codec/registers.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gridloom {

enum class RegisterTable : std::uint8_t { Coils, DiscreteInputs, Holding, Inputs };

class RegisterMap {
public:
    using ValueId = std::size_t; ///< counts from 0 in the order of addValue()
    struct Entry {
        RegisterTable table;
        int address;
        RegisterFormat format;
        bool isWritable;
        std::uint64_t writes = 0; ///< accepted ones
    };
    struct Write {
        ValueId id;
        Value value;
    };

    /// Addresses first to first + count - 1 exist and read 0. Blocks of a table do not touch.
    void addBlock(RegisterTable table, int first, int count);
    /// A value inside a block that was added before. Coils and discrete inputs take one address and a bool.
    ValueId addValue(RegisterTable table, int address, const RegisterFormat &format, bool isWritable = false);

    /// Places a value; one that does not fit reads as all bits set.
    void set(ValueId id, const Value &value);

    /// The words (or bits, 0 and 1) of a range; nothing when it does not lie in one block. Valid until the next change.
    std::optional<std::span<const std::uint16_t>> read(RegisterTable table, int address, int count) const;
    /// The writable values that `words` would set from `address` on; nothing when the range leaves the block, touches a
    /// word that is not writable or cuts a value.
    std::optional<std::vector<Write>> decodeWrite(RegisterTable table, int address,
                                                  std::span<const std::uint16_t> words) const;
    /// Stores what decodeWrite() accepted.
    void store(const std::vector<Write> &writes);

    const std::vector<Entry> &entries() const { return m_entries; }

private:
    static constexpr int kNoValue = -1;
    struct Block {
        int first;
        std::vector<std::uint16_t> words;
        std::vector<int> owners; ///< of each word: the id of its value, or kNoValue
    };

    /// Of the table's block that holds the whole range; nothing when there is none.
    std::optional<std::size_t> blockIndex(RegisterTable table, int address, int count) const;
    Block &block(RegisterTable table, std::size_t index) { return m_blocks[static_cast<std::size_t>(table)][index]; }
    const Block &block(RegisterTable table, std::size_t index) const
    {
        return m_blocks[static_cast<std::size_t>(table)][index];
    }
    std::span<std::uint16_t> wordsOf(const Entry &entry);

    std::array<std::vector<Block>, 4> m_blocks; ///< by table
    std::vector<Entry> m_entries;
};

} // namespace gridloom
