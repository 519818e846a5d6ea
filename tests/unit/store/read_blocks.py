#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the row blocks of a history.db by docs/store-format.md alone and prints one line a row: series, time, type, value,
quality, trigger, run, with tabs between. Doubles are printed as their 64 bits. Its standard library is its only
dependency, and it shares no code with the store: the tests compare the two."""
import sqlite3
import struct
import sys
import zlib

MASK = (1 << 64) - 1
GROUP = 128


def signed(v):
    return v - (1 << 64) if v >> 63 else v


class Fields:
    def __init__(self, payload):
        self.payload, self.at = payload, 0

    def byte(self):
        self.at += 1
        return self.payload[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            part = self.byte()
            value |= (part & 0x7F) << shift
            if part < 0x80:
                return value
            shift += 7

    def svarint(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def raw(self, n):
        self.at += n
        assert self.at <= len(self.payload)
        return self.payload[self.at - n:self.at]


def packed(f, count):
    values = []
    while len(values) < count:
        n = min(GROUP, count - len(values))
        width, least = f.byte(), f.svarint()
        bits = int.from_bytes(f.raw((n * width + 7) // 8), "little")
        values += [(least + ((bits >> (i * width)) & ((1 << width) - 1))) & MASK for i in range(n)]
    return values


def plain_integers(f, form, count):
    if form == 3:
        return [f.svarint() & MASK] * count
    seeds = [f.svarint() & MASK for _ in range(form)]
    values = packed(f, count - form)
    for seed in reversed(seeds):  # sums of sums
        sums = [seed]
        for v in values:
            sums.append((sums[-1] + v) & MASK)
        values = sums
    return values


def double_bits(v):
    return struct.unpack("<Q", struct.pack("<d", v))[0]


def plain_doubles(f, form, count):
    decimals = f.byte() if form in (2, 3) else 0
    result = []
    for v in map(signed, plain_integers(f, f.byte(), count)):
        if form == 0:
            result.append(v if v >= 0 else ~v | 1 << 63)
        elif form == 1:
            bits = v if v >= 0 else (~v & 0x7FFFFFFF) | 0x80000000
            result.append(double_bits(struct.unpack("<f", struct.pack("<I", bits))[0]))
        elif form == 2:
            result.append(double_bits(v / float("1e%d" % decimals)))
        else:
            result.append(double_bits(v * float("1e-%d" % decimals)))
    return result


def column(f, count, plain):
    if count == 0:
        return []
    form = f.byte()
    if form != 0x80:
        return plain(f, form, count)
    runs = f.varint()
    lengths = plain_integers(f, f.byte(), runs)
    values = plain(f, f.byte(), runs)
    return [v for v, n in zip(values, lengths) for _ in range(n)]


def rows(block):
    assert struct.unpack("<I", block[:4])[0] == zlib.crc32(block[4:]), "damaged block"
    f = Fields(block[4:])
    assert f.byte() == 1, "not a block of rows"
    count = f.varint()
    labels = []
    while len(labels) < count:
        n = f.varint()
        labels += [(f.byte(), f.byte())] * n
    times = column(f, count, plain_integers)
    of_type = [sum(1 for tag, _ in labels if tag & 0x7F == kind) for kind in range(6)]
    values = [None] + [column(f, of_type[kind], plain_doubles if kind == 4 else plain_integers) for kind in range(1, 6)]
    with_trigger = sum(1 for tag, _ in labels if tag & 0x80)
    triggers = column(f, with_trigger, plain_integers)
    runs = column(f, with_trigger, plain_integers)
    following = [0] * 6
    next_trigger = 0
    for (tag, quality), time in zip(labels, times):
        kind = tag & 0x7F
        value, trigger, run = "", None, 0
        if kind:
            bits = values[kind][following[kind]]
            following[kind] += 1
            value = (f.raw(bits).decode() if kind == 5 else "%016x" % bits if kind == 4
                     else str(signed(bits) if kind == 2 else bits))
        if tag & 0x80:
            trigger, run = triggers[next_trigger], runs[next_trigger]
            next_trigger += 1
        yield signed(time), kind, value, quality, trigger, run
    assert f.at == len(f.payload), "bytes left over"


if __name__ == "__main__":
    database = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
    trigger_ids = dict(database.execute("SELECT number, id FROM triggers"))
    for key, t0, t1, count, data, series in database.execute(
            "SELECT b.key, t0, t1, b.count, data, s.id FROM row_blocks b"
            " JOIN groups g ON g.kind = 0 AND g.number = b.key >> 39"
            " JOIN series s ON s.number = (b.key >> 15) & 0xFFFFFF ORDER BY s.id, b.key"):
        read = list(rows(data))
        assert len(read) == count and read[0][0] == t0 and read[-1][0] == t1, "block %d is not what it says" % key
        for time, kind, value, quality, trigger, run in read:
            print(series, time, kind, value, quality, trigger_ids.get(trigger, ""), run, sep="\t")
