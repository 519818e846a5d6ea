#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the files that a guide quotes (a line with `path/NAME` alone, then a fenced block) with the example's files.

Usage: guide_matches.py GUIDE EXAMPLE-FOLDER. Exit status 1 when a quoted file differs or none is quoted.
"""

import pathlib
import re
import sys


def main():
    guide, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    quoted = re.findall(r"^`(?:\S+/)?([^`/]+)`\n```\w*\n(.*?)^```$", guide.read_text(encoding="utf-8"), re.S | re.M)
    compared, wrong = 0, []
    for name, text in quoted:
        file = folder / name
        if name == "CMakeLists.txt" or not file.is_file():
            continue
        compared += 1
        if file.read_text(encoding="utf-8") != text:
            wrong.append(name)
    for name in wrong:
        print(f"{guide}: the block of {name} differs from {folder / name}; copy the file", file=sys.stderr)
    print(f"{compared} files compared, {len(wrong)} differ")
    return 1 if wrong or compared < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
