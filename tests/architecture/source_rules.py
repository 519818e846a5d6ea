#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every source file of the tree and reports what breaks the rules of docs/ARCHITECTURE.md:

- an #include of a part, Qt module or library that the including part may not use,
- an impure core (threads, timers, files, sockets, clocks),
- a missing SPDX line, a file of more than 500 lines (more than 400: a remark).

Usage: source_rules.py --qt-include DIR [--self-test | TREE]. Exit status 1 when a rule is broken.
"""

import argparse
import dataclasses
import pathlib
import re
import sys
import tempfile


@dataclasses.dataclass(frozen=True)
class Part:
    """A folder whose files share one set of permissions. A part may always include its own files."""

    parts: tuple = ()      # other parts, "protocols/" means each of them
    files: tuple = ()      # single headers of other parts
    qt: tuple = ()         # Qt modules beside QtCore
    libraries: tuple = ()
    is_pure: bool = False  # no threads, timers, files, sockets, clocks


# Who may use whom; docs/ARCHITECTURE.md has the same table for people. The longest matching folder counts.
PARTS = {
    "runtime/core": Part(is_pure=True),
    "runtime/sdk": Part(parts=("runtime/core",)),
    "runtime/designio": Part(parts=("runtime/core",), libraries=("zstd", "sodium")),
    "runtime/historyio": Part(parts=("runtime/core", "runtime/sdk"), libraries=("sqlite",)),
    "runtime/protocols/modbus": Part(parts=("runtime/core",), qt=("QtSerialBus",)),
    "runtime/protocols/mqtt": Part(parts=("runtime/core",), libraries=("mosquitto",)),
    "runtime/script": Part(parts=("runtime/core",), libraries=("lua",)),
    "runtime/link": Part(parts=("runtime/core",), qt=("QtNetwork", "QtWebSockets"), libraries=("openssl",)),
    "runtime/engine": Part(parts=("runtime/core", "runtime/sdk", "runtime/script")),
    "runtime/daemon": Part(parts=("runtime/core", "runtime/sdk", "runtime/script", "runtime/engine", "runtime/link",
                                  "runtime/designio", "runtime/daemon/records"),
                           qt=("QtNetwork", "QtSql"), libraries=("openssl", "sodium")),
    "runtime/daemon/records": Part(parts=("runtime/core", "runtime/sdk"), qt=("QtSql",)),
    "runtime/tools/procs": Part(parts=("runtime/core",), qt=("QtNetwork",)),
    "runtime/tools/ctl": Part(parts=("runtime/core", "runtime/designio", "runtime/link", "runtime/script",
                                     "runtime/protocols/"), qt=("QtNetwork",)),
    "runtime/tools/store": Part(parts=("runtime/core", "runtime/sdk", "runtime/historyio"), libraries=("sqlite",)),
    "runtime/tools/sim": Part(parts=("runtime/core", "runtime/designio", "runtime/protocols/"), qt=("QtNetwork",)),
    "runtime/tools/bench": Part(parts=("runtime/core", "runtime/designio", "runtime/historyio", "runtime/protocols/",
                                       "runtime/link", "runtime/tools/procs"),
                                files=("tools/sim/bulklayout.h",),
                                qt=("QtNetwork",), libraries=("sqlite", "xlsxwriter")),
    "app": Part(parts=("runtime/core", "runtime/designio", "runtime/link", "runtime/script", "runtime/protocols/"),
                qt=("QtGui", "QtNetwork", "QtQml", "QtQuick", "QtQuickControls2", "QtCharts", "QtWidgets",
                    "QtWebSockets")),
}
# Every plugin folder (plugins/KINDs/ID) is a part of its own; beside these each may use the libraries it is made for.
PLUGIN_PARTS = ("runtime/core", "runtime/sdk", "runtime/protocols/")
PLUGIN_QT = ("QtNetwork",)
PLUGIN_OWN = {
    "plugins/drivers/modbus": Part(qt=("QtSerialBus", "QtSerialPort")),
    "plugins/drivers/can": Part(qt=("QtSerialBus",)),
    "plugins/stores/embedded": Part(parts=("runtime/historyio",), libraries=("sqlite",)),
    "plugins/stores/postgres": Part(qt=("QtSql",), libraries=("postgres",)),
    "plugins/sinks/as2": Part(libraries=("openssl",)),
}

LIBRARY_HEADERS = {
    "lua": ("lua.h", "lualib.h", "lauxlib.h", "luaconf.h", "lua.hpp"),
    "mosquitto": ("mosquitto.h", "mqtt_protocol.h"),
    "sqlite": ("sqlite3.h",),
    "zstd": ("zstd.h",),
    "sodium": ("sodium.h",),
    "openssl": ("openssl/",),
    "xlsxwriter": ("xlsxwriter.h", "xlsxwriter/"),
    "postgres": ("libpq-fe.h",),
    "simdjson": ("simdjson.h",),
}
POSIX_HEADERS = set("""arpa/inet.h dirent.h dlfcn.h fcntl.h grp.h ifaddrs.h locale.h malloc.h net/if.h netdb.h netinet/in.h
netinet/tcp.h poll.h pthread.h pwd.h sched.h signal.h spawn.h stdint.h stdlib.h string.h syslog.h termios.h time.h
unistd.h""".split())
POSIX_FOLDERS = ("sys/", "linux/")

# A pure part names none of these: it is told the time, and given bytes.
IMPURE_HEADERS = set("""thread future stop_token fstream filesystem iostream cstdio ctime csignal
QCoreApplication QDeadlineTimer QDir QDirIterator QElapsedTimer QEventLoop QFile QFileInfo QFileSystemWatcher
QFutureWatcher QLockFile QProcess QSaveFile QSettings QSharedMemory QSocketNotifier QStandardPaths QStorageInfo
QTemporaryDir
QTemporaryFile QThread QThreadPool QTimer QTimerEvent QBasicTimer""".split())
IMPURE_TEXT = re.compile(r"_clock::now|currentDateTime|currentTime\b|currentDate\b|currentMSecsSinceEpoch"
                         r"|currentSecsSinceEpoch|clock_gettime|gettimeofday|\btime\(nullptr\)|\bfopen\(|std::thread"
                         r"|std::jthread|std::async")
CLOCK_HEADER = "runtime/core/clock.h"  # where the machine's clocks enter

SOURCE_FOLDERS = ("runtime", "plugins", "app", "qml", "tests", "cmake")
SOURCE_NAMES = re.compile(r"(\.(h|hpp|c|cc|cpp|py|qml|js|cmake)|^CMakeLists\.txt)$")
CODE_NAMES = re.compile(r"\.(h|hpp|c|cc|cpp)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
WISHED_LINES = 400
MOST_LINES = 500


class QtHeaders:
    """Which Qt module a header such as QString or QtCore/qstring.h belongs to."""

    def __init__(self, folder):
        self.modules = {}
        for module in sorted(pathlib.Path(folder).glob("Qt*")):
            for header in module.iterdir() if module.is_dir() else ():
                self.modules.setdefault(header.name, set()).add(module.name)

    def modules_of(self, header):
        if "/" in header:
            return {header.split("/")[0]}
        return self.modules.get(header, set())


def part_of(path):
    """The longest folder of PARTS, or the plugin's folder, that contains the file; None outside of all parts."""
    names = path.split("/")
    if names[0] == "plugins" and len(names) > 3:
        return "/".join(names[:3])
    folders = ["/".join(names[:n]) for n in range(len(names) - 1, 0, -1)]
    return next((folder for folder in folders if folder in PARTS), None)


def rights_of(part):
    if part in PARTS:
        return PARTS[part]
    own = PLUGIN_OWN.get(part, Part())
    return Part(parts=PLUGIN_PARTS + own.parts, qt=PLUGIN_QT + own.qt, libraries=own.libraries)


def may_use(rights, part, other):
    return other == part or any(other == p or (p.endswith("/") and other.startswith(p)) for p in rights.parts)


class Checker:
    def __init__(self, tree, qt):
        self.tree = pathlib.Path(tree)
        self.qt = qt
        self.faults = []
        self.remarks = []

    def check(self):
        for folder in SOURCE_FOLDERS:
            for file in sorted((self.tree / folder).rglob("*")):
                if file.is_file() and SOURCE_NAMES.search(file.name):
                    self.check_file(file)

    def check_file(self, file):
        path = file.relative_to(self.tree).as_posix()
        lines = file.read_text(encoding="utf-8").splitlines()
        if not any("SPDX-License-Identifier: " in line for line in lines[:2]):
            self.faults.append(f"{path}:1: no SPDX line; begin the file with "
                               "'SPDX-License-Identifier: Apache-2.0' in a comment")
        if len(lines) > MOST_LINES:
            self.faults.append(f"{path}: {len(lines)} lines, more than {MOST_LINES}: split it")
        elif len(lines) > WISHED_LINES:
            self.remarks.append(f"{path}: {len(lines)} lines, more than {WISHED_LINES}")
        if path.startswith("tests/") or path.startswith("cmake/") or not CODE_NAMES.search(path):
            return
        part = part_of(path)
        if part is None:
            self.faults.append(f"{path}: belongs to no part of the architecture; add its folder to the table in "
                               "tests/architecture/source_rules.py and docs/ARCHITECTURE.md")
            return
        for number, line in enumerate(lines, 1):
            self.check_line(f"{path}:{number}", part, file, line)

    def check_line(self, place, part, file, line):
        rights = rights_of(part)
        if rights.is_pure and not place.startswith(CLOCK_HEADER) and IMPURE_TEXT.search(line.split("//")[0]):
            self.faults.append(f"{place}: {part} reads no clock and starts nothing: pass it in")
        include = INCLUDE.match(line)
        if not include:
            return
        quote, header = include.groups()
        why = (self.wrong_own_header(part, rights, file, header) if quote == '"'
               else self.wrong_foreign_header(rights, header))
        if why:
            self.faults.append(f"{place}: {part} must not include {header}: {why}")

    def wrong_own_header(self, part, rights, file, header):
        if header.endswith(".moc") or header in rights.files:
            return None
        for candidate in (file.parent / header, self.tree / "runtime" / header, self.tree / header):
            if candidate.is_file():
                other = part_of(candidate.resolve().relative_to(self.tree.resolve()).as_posix())
                if other and may_use(rights, part, other):
                    return None
                return f"it may not use {other or 'that folder'}"
        return "there is no such file; write the path from runtime/ on"

    def wrong_foreign_header(self, rights, header):
        if rights.is_pure and header.split("/")[-1] in IMPURE_HEADERS:
            return "core is pure"
        if header.startswith("Q"):
            modules = self.qt.modules_of(header)
            if not modules:
                return "no Qt module with this header is installed"
            allowed = {"QtCore", *rights.qt}
            return None if modules & allowed else f"it may not use {' or '.join(sorted(modules))}"
        for library, headers in LIBRARY_HEADERS.items():
            if any(header == h or (h.endswith("/") and header.startswith(h)) for h in headers):
                return None if library in rights.libraries else f"it may not use {library}"
        if header in POSIX_HEADERS or header.startswith(POSIX_FOLDERS):
            return "core is pure" if rights.is_pure else None
        if "." in header or "/" in header:
            return "unknown library; name it in tests/architecture/source_rules.py"
        return None  # the C++ library


SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
BAD_TREE = {
    # file: (content, text that must stand in the report)
    "runtime/core/timer.cpp": (SPDX + "#include <QTimer>\n", "must not include QTimer"),
    "runtime/core/worker.cpp": (SPDX + "#include <thread>\n", "must not include thread"),
    "runtime/core/posix.cpp": (SPDX + "#include <unistd.h>\n", "include unistd.h"),
    "runtime/core/now.cpp": (SPDX + "auto t = std::chrono::steady_clock::now();\n",
                             "reads no clock"),
    "runtime/core/up.cpp": (SPDX + '#include "engine/e.h"\n',
                            "may not use runtime/engine"),
    "runtime/core/gui.cpp": (SPDX + "#include <QtGui/QColor>\n", "may not use QtGui"),
    "runtime/engine/e.h": (SPDX + "#include <QTcpSocket>\n", "may not use QtNetwork"),
    "runtime/engine/lua.cpp": (SPDX + "#include <lua.h>\n", "may not use lua"),
    "runtime/engine/odd.cpp": (SPDX + "#include <boost/any.hpp>\n", "unknown library"),
    "runtime/engine/lost.cpp": (SPDX + '#include "nowhere.h"\n', "no such file"),
    "runtime/odd/x.cpp": (SPDX, "belongs to no part"),
    "plugins/drivers/one/one.h": (SPDX, None),
    "plugins/drivers/two/two.cpp": (SPDX + '#include "../one/one.h"\n',
                                    "may not use plugins/drivers/one"),
    "plugins/drivers/two/engine.cpp": (SPDX + '#include "engine/e.h"\n',
                                       "may not use runtime/engine"),
    "app/sdk.cpp": (SPDX + '#include "sdk/s.h"\n', "may not use runtime/sdk"),
    "runtime/sdk/s.h": ("#pragma once\n", "no SPDX line"),
    "runtime/script/long.cpp": (SPDX + "\n" * 501, "lines, more than 500"),
}
GOOD_TREE = {
    "runtime/core/a.h": SPDX + "#include <QString>\n#include <vector>\n",
    "runtime/core/clock.h": SPDX + "auto t = std::chrono::steady_clock::now();\n",
    "runtime/core/b.cpp": SPDX + '#include "core/a.h"\n// steady_clock::now is for others\n',
    "runtime/script/s.cpp": SPDX + '#include <lua.h>\n#include "core/a.h"\n',
    "runtime/protocols/mqtt/m.h": SPDX + "#include <mosquitto.h>\n#include <sys/socket.h>\n",
    "plugins/sinks/mqtt/p.cpp": SPDX + '#include "protocols/mqtt/m.h"\n#include "p.moc"\n'
                                "#include <QTcpSocket>\n",
    "tests/unit/x/tst_x.cpp": SPDX + "#include <anything.h>\n",
}


def report_on(files, qt):
    with tempfile.TemporaryDirectory() as folder:
        for path, content in files.items():
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        checker = Checker(folder, qt)
        checker.check()
        return checker.faults


def self_test(qt):
    good = report_on(GOOD_TREE, qt)
    assert not good, good
    faults = report_on({path: content for path, (content, _) in BAD_TREE.items()}, qt)
    for path, (_, expected) in BAD_TREE.items():
        of_file = [fault for fault in faults if fault.startswith(path + ":")]
        if expected is None:
            assert not of_file, of_file
        else:
            assert len(of_file) == 1 and expected in of_file[0], (path, expected, of_file)
    print(f"self-test: {len(faults)} of {len(faults)} faults found, none in the good tree")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--qt-include", required=True, help="folder with QtCore/, QtNetwork/, ...")
    arguments.add_argument("--self-test", action="store_true")
    arguments.add_argument("tree", nargs="?")
    given = arguments.parse_args()
    qt = QtHeaders(given.qt_include)
    if given.self_test:
        self_test(qt)
        return 0
    if not given.tree:
        arguments.error("name the tree")
    checker = Checker(given.tree, qt)
    checker.check()
    for remark in checker.remarks:
        print("remark:", remark)
    for fault in checker.faults:
        print(fault, file=sys.stderr)
    print(f"{len(checker.faults)} faults, {len(checker.remarks)} remarks")
    return 1 if checker.faults else 0


if __name__ == "__main__":
    sys.exit(main())
