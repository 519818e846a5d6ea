#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a history segment by docs/store-format.md alone and prints one JSON line a row. Its standard library is its
only dependency, and it shares no code with the store: the tests compare the two."""
import json
import struct
import sys
import zlib


class Fields:
    def __init__(self, payload):
        self.payload, self.at = payload, 0

    def more(self):
        return self.at < len(self.payload)

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

    def signed(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def bytes(self):
        n = self.varint()
        self.at += n
        return self.payload[self.at - n:self.at]

    def double(self):
        self.at += 8
        return struct.unpack("<d", self.payload[self.at - 8:self.at])[0]


def frames(file):
    assert file[:8] == b"GLHISTOR" and struct.unpack("<HH", file[8:12]) == (1, 0), "not a segment"
    assert struct.unpack("<I", file[12:16])[0] == zlib.crc32(file[:12]), "damaged header"
    at = 16
    while at + 9 <= len(file):
        length, crc = struct.unpack("<II", file[at:at + 8])
        covered = file[at + 8:at + 9 + length]
        if len(covered) != length + 1 or zlib.crc32(covered) != crc:
            return  # torn or damaged from here on
        yield covered[0], Fields(covered[1:])
        at += 9 + length


def rows(file):
    table, series, triggers = None, [], []
    for kind, f in frames(file):
        if kind == 1:
            table = f.varint()
            series = [[f.bytes().decode() for _ in range(3)] for _ in range(f.varint())]
            triggers = [f.bytes().decode() for _ in range(f.varint())]
        elif kind == 2 and f.varint() == table:
            time = 0
            while f.more():
                row = {"series": series[f.varint()][0]}
                tag = f.byte()
                row["quality"] = f.byte()
                time += f.signed()
                row["time"] = time
                read = [lambda: None, lambda: bool(f.byte()), f.signed, f.varint, f.double,
                        lambda: f.bytes().decode()][tag & 0x7F]
                row["value"] = read()
                if tag & 0x80:
                    row["trigger"] = triggers[f.varint()]
                    row["run"] = f.varint()
                yield row


if __name__ == "__main__":
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            for row in rows(file.read()):
                print(json.dumps(row))
