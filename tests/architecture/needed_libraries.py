#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads which shared libraries gridloomd and the plugins need, and reports

- Qt Gui, Qml, Quick or Widgets among them, direct or not: the runtime is headless,
- GPL-only Qt modules in gridloomd,
- a plugin that does not need libgridloom, or carries a second copy of core.

Usage: needed_libraries.py --core LIBGRIDLOOM --program FILE [--plugin FILE]... | --self-test
"""

import argparse
import pathlib
import re
import subprocess
import sys

FORBIDDEN = re.compile(r"^libQt6(Gui|Qml\w*|Quick\w*|Widgets|OpenGL\w*)\.so")
GPL_ONLY = re.compile(r"^libQt6(Charts|Mqtt|HttpServer)\.so")
# A handful of inline functions of headers is emitted in every binary; functions of core's .cpp files are not.
STRONG_FUNCTION = "T"


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(readelf_output):
    """The names in the NEEDED entries of readelf -d."""
    return set(re.findall(r"\(NEEDED\)\s+Shared library: \[([^\]]+)\]", readelf_output))


def loaded(ldd_output):
    """All libraries that the loader would load, those of libraries included; and those it does not find."""
    names = [pathlib.PurePath(line.split()[0]).name for line in ldd_output.splitlines() if line.strip()]
    missing = [line.split()[0] for line in ldd_output.splitlines() if "not found" in line]
    return set(names), missing


def strong_functions(nm_output):
    """Mangled names of functions that are defined once and for all (not weak, as inline ones are)."""
    return {fields[2] for fields in map(str.split, nm_output.splitlines())
            if len(fields) == 3 and fields[1].upper() == STRONG_FUNCTION and "8gridloom" in fields[2]}


def faults_of(name, readelf_output, ldd_output, own_functions, core, core_functions, is_plugin):
    direct = needed(readelf_output)
    libraries, missing = loaded(ldd_output)
    faults = [f"{name}: {library} is not found at run time; check the RPATH" for library in missing]
    faults += [f"{name}: needs {library}, a user interface library" for library in sorted(libraries)
               if FORBIDDEN.match(library)]
    if not is_plugin:
        faults += [f"{name}: needs {library}, which is GPL only" for library in sorted(libraries)
                   if GPL_ONLY.match(library)]
    if core not in direct:
        faults.append(f"{name}: does not need {core}; link gridloom::sdk")
    copies = sorted(own_functions & core_functions)
    if copies:
        faults.append(f"{name}: carries its own copy of core ({len(copies)} functions, such as {copies[0]})")
    return faults


def self_test():
    def elf(*libraries):
        return "\n".join(f" 0x0000000000000001 (NEEDED)             Shared library: [{name}]" for name in libraries)

    def ldd(*libraries):
        lines = [f"\t{name} => /usr/lib/{name} (0x7f)" for name in libraries]
        return "\n".join(["\tlinux-vdso.so.1 (0x00007ffc)", *lines])

    core = "libgridloom.so.1"
    exported = strong_functions("0000000000001000 T _ZN8gridloom5ValueC1Ev\n0000000000001010 W _ZN8gridloom4weakEv\n")
    assert exported == {"_ZN8gridloom5ValueC1Ev"}, exported

    def check(elf_text, ldd_text, own=frozenset(), is_plugin=True):
        return faults_of("x", elf_text, ldd_text, own, core, exported, is_plugin)

    assert not check(elf(core, "libQt6Core.so.6"), ldd(core, "libQt6Core.so.6", "libQt6Network.so.6"))
    for bad in ("libQt6Gui.so.6", "libQt6Qml.so.6", "libQt6QmlModels.so.6", "libQt6Quick.so.6", "libQt6Widgets.so.6"):
        assert len(check(elf(core), ldd(core, bad))) == 1, bad  # also when another library brings it
    assert len(check(elf(core), ldd(core, "libQt6Charts.so.6"), is_plugin=False)) == 1
    assert not check(elf(core), ldd(core, "libQt6Charts.so.6"))
    assert len(check(elf("libQt6Core.so.6"), ldd("libQt6Core.so.6"))) == 1
    assert len(check(elf(core), ldd(core), own=exported)) == 1
    assert len(check(elf(core), "\tlibgridloom.so.1 => not found\n")) == 1
    print("self-test: every fault found")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--core")
    arguments.add_argument("--program", action="append", default=[])
    arguments.add_argument("--plugin", action="append", default=[])
    arguments.add_argument("--self-test", action="store_true")
    given = arguments.parse_args()
    if given.self_test:
        self_test()
        return 0
    if not given.core or not given.program or not given.plugin:
        arguments.error("name libgridloom, a program and at least one plugin")
    core = re.search(r"\(SONAME\)\s+Library soname: \[([^\]]+)\]", output_of("readelf", "-d", given.core)).group(1)
    core_functions = strong_functions(output_of("nm", "-D", "--defined-only", given.core))
    if not core_functions:
        print(f"{given.core}: exports nothing of core", file=sys.stderr)
        return 1
    faults = []
    for file, is_plugin in [(f, False) for f in given.program] + [(f, True) for f in given.plugin]:
        faults += faults_of(pathlib.Path(file).name, output_of("readelf", "-d", file), output_of("ldd", file),
                            strong_functions(output_of("nm", "--defined-only", file)), core, core_functions, is_plugin)
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(given.program) + len(given.plugin)} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
