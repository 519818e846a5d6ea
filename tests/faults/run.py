#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the fault tests in their slow or full size (docs/reliability.md). Called by `./dev test slow` and `./dev test full`.

Each test has a budget; those of the slow size add up to an hour at most. What has passed is kept in the build tree, so
that an interrupted series goes on with --resume.

Usage: run.py --size slow|full --build DIR [--only ID]... [--json FILE] [--resume] [--shard I/N]
       run.py --check
Exit status 1 when a test failed or took longer than its budget, 2 on wrong usage.
"""

import argparse
import ctypes
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

SLOW_LIMIT_S = 3600


@dataclasses.dataclass(frozen=True)
class Test:
    id: str
    what: str
    program: str
    functions: tuple  # of the Qt test; empty: all
    slow_s: int       # budgets
    full_s: int


TESTS = (
    Test("T01", "kill -9 at random moments under S2.5", "tst_fault_kill", (), 480, 14_400),
    Test("T03", "power cut: disks rebuilt from a record", "tst_fault_powercut", (), 240, 900),
    Test("T04-records", "each system call of the records fails", "tst_recordsfaults", (), 180, 180),
    Test("T04-store", "each system call of the store fails", "tst_embeddedfaults", (), 120, 120),
    Test("T04-runtime", "the nth system call of the runtime fails", "tst_fault_calls", (), 330, 1_800),
    Test("T05", "disk full", "tst_fault_disk", ("full",), 150, 2_100),
    Test("T06", "disk read-only", "tst_fault_disk", ("readOnly",), 150, 2_100),
    Test("T07", "each sync takes 2 s, then 11 s", "tst_fault_disk", ("slow",), 240, 1_500),
    Test("T08", "damaged state and design files (PC-18)", "tst_fault_damage", (), 420, 3_600),
    Test("T09", "the wall clock steps and slews", "tst_fault_clock", ("stepsOfTheWallClock",), 240, 1_200),
    Test("T12", "broker away, killed in outage and drain", "tst_fault_broker", ("awayAndKilled",), 300, 6_000),
    Test("T13", "broker silent, closing, refusing, late", "tst_fault_broker",
         ("silentDrop", "acceptsAndCloses", "lateAcknowledgements", "refusesTheLogin"), 360, 6_000),
    Test("T14", "outage longer than the outbox", "tst_fault_quota", (), 180, 1_800),
    Test("PC-20", "constant points, restart, other design, clock back, one bad", "tst_fault_clock",
         ("constantPointsLeaveNoGap",), 180, 900),
)


def say(text):
    print(text, file=sys.stderr, flush=True)


def check_budgets():
    ids = [test.id for test in TESTS]
    faults = [f"{i} is there twice" for i in sorted(set(ids)) if ids.count(i) > 1]
    total = sum(test.slow_s for test in TESTS)
    if total > SLOW_LIMIT_S:
        faults.append(f"the budgets of the slow size add up to {total} s; at most {SLOW_LIMIT_S} s are allowed")
    return faults, total


def die_with_parent():
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def run_test(test, size, build):
    """Runs one test to its end or to the end of its budget."""
    budget = test.slow_s if size == "slow" else test.full_s
    command = [str(build / "tests" / test.program), *test.functions]
    with tempfile.TemporaryDirectory() as folder:
        figures_file = pathlib.Path(folder) / "figures.json"
        environment = dict(os.environ, GRIDLOOM_FAULT_SIZE=size, GRIDLOOM_FAULT_FIGURES=str(figures_file),
                           QTEST_FUNCTION_TIMEOUT=str(budget * 1000))
        begin = time.monotonic()
        try:
            done = subprocess.run(command, env=environment, timeout=budget, check=False, text=True,
                                  errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  preexec_fn=die_with_parent)
            passed, output = done.returncode == 0, done.stdout
        except subprocess.TimeoutExpired as late:
            passed = False
            output = (late.stdout or b"").decode(errors="replace") + f"\nstopped after its budget of {budget} s\n"
        except OSError as error:
            passed, output = False, f"{command[0]}: {error}\n"
        seconds = round(time.monotonic() - begin, 1)
        figures = json.loads(figures_file.read_text()) if figures_file.exists() else {}
    if not passed:
        say(output[-6000:])
    return {"id": test.id, "what": test.what, "size": size, "pass": passed, "seconds": seconds, "budgetS": budget,
            "figures": figures, "command": f"./dev test {size} --only {test.id}"}


def write_json(path, results):
    text = json.dumps({"results": results}, indent=2) + "\n"
    if path == "-":
        print(text, end="")
        return
    # A series that is cut short leaves the old state or the new one.
    temporary = f"{path}.new"
    pathlib.Path(temporary).write_text(text)
    os.replace(temporary, path)


def select(arguments, parser):
    tests = list(TESTS)
    if arguments.only:
        unknown = set(arguments.only) - {test.id for test in tests} - {test.id.split("-")[0] for test in tests}
        if unknown:
            parser.error(f"no test {', '.join(sorted(unknown))}; there are {', '.join(t.id for t in tests)}")
        tests = [t for t in tests if t.id in arguments.only or t.id.split("-")[0] in arguments.only]
    if arguments.shard:
        try:
            shard, shards = (int(part) for part in arguments.shard.split("/"))
        except ValueError:
            parser.error("--shard is I/N, such as 1/4")
        if not 1 <= shard <= shards:
            parser.error("--shard I/N needs 1 <= I <= N")
        tests = tests[shard - 1::shards]
    return tests


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=("slow", "full"), default="slow")
    parser.add_argument("--build", type=pathlib.Path, help="build tree")
    parser.add_argument("--only", action="append", metavar="ID")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--resume", action="store_true", help="leaves out what passed in the last series")
    parser.add_argument("--shard", metavar="I/N")
    parser.add_argument("--check", action="store_true", help="checks the budgets and runs nothing")
    arguments = parser.parse_args()

    faults, total = check_budgets()
    for fault in faults:
        say(f"run.py: {fault}")
    if faults or arguments.check:
        say(f"{len(TESTS)} tests, {total} s of at most {SLOW_LIMIT_S} s in the slow size")
        return 1 if faults else 0
    if not arguments.build:
        parser.error("--build is needed")

    state_file = arguments.build / "faults" / f"{arguments.size}.json"
    state_file.parent.mkdir(parents=True, exist_ok=True)
    state = {}
    if arguments.resume and state_file.exists():
        state = {r["id"]: r for r in json.loads(state_file.read_text())["results"] if r["pass"]}
    results = []
    for test in select(arguments, parser):
        if test.id in state:
            results.append(state[test.id])
            say(f"{test.id:12} passed before")
            continue
        say(f"{test.id:12} {test.what} ...")
        result = run_test(test, arguments.size, arguments.build)
        results.append(result)
        state[test.id] = result
        write_json(state_file, list(state.values()))
        say(f"{test.id:12} {'pass' if result['pass'] else 'FAIL'} in {result['seconds']} of {result['budgetS']} s "
            f"{json.dumps(result['figures'])}")
    if arguments.json:
        write_json(arguments.json, results)
    failed = [r["id"] for r in results if not r["pass"]]
    say(f"{len(results) - len(failed)} of {len(results)} passed" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
