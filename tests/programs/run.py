#!/usr/bin/python3
"""Real programs, natively and under midden: same results, and figures that hold. `make test-programs`.

usage: run.py [NAME...]      names: the first column of the table (default: all)

Prints a line per program: the result of both runs, allocations, frees and lost events of all its profiles. Ends with
`N programs, N differ, N left out`; the status is 1 if any differ. What a program leaves behind is in BUILD/programs.

SPDX-License-Identifier: Apache-2.0
"""

import sys
import time
from dataclasses import dataclass

import servers
import suites
from recorded import OUT, Missing, Way


@dataclass(frozen=True)
class Program:
    name: str
    run: object
    follow: bool = True


# CPython's own tests look at what children and descriptors they have, so both ways of recording are of interest; the
# long ones start so many children that recording each would take an hour.
PROGRAMS = (
    Program("jansson", suites.run_jansson),
    Program("zlib", suites.run_zlib),
    Program("python-threading", suites.run_cpython("test_threading", "test_thread"), follow=False),
    Program("python-generators", suites.run_cpython("test_generators", "test_coroutines"), follow=False),
    Program("python-ctypes", suites.run_cpython("test_ctypes")),
    Program("python-subprocess", suites.run_cpython("test_subprocess"), follow=False),
    Program("python-fork", suites.run_cpython("test_fork1", "test_wait3", "test_posix", "test_os")),
    Program("python-multiprocessing", suites.run_cpython("test_multiprocessing_fork"), follow=False),
    Program("python-asyncio", suites.run_cpython("test_asyncio"), follow=False),
    Program("redis", servers.run_redis),
    Program("postgres", servers.run_postgres),
    Program("nginx", servers.run_nginx),
    Program("node", suites.run_node),
    Program("java", suites.run_java),
    Program("git", suites.run_git),
    Program("stress-ng", suites.run_stress),
)

# Tests of real programs depend on time here and there: what differs once is tried again, both ways.
TRIES = 2


def compare(program):
    """(native result, recorded result, figures)"""
    native = Way(OUT / f"{program.name}.native", recorded=False)
    recorded = Way(OUT / f"{program.name}.midden", recorded=True, follow=program.follow)
    results = program.run(native), program.run(recorded)
    return *results, recorded.figures()


def check(program):
    """Prints a program's part of the table; True if both runs gave the same."""
    for left in reversed(range(TRIES)):
        start = time.monotonic()
        native, recorded, figures = compare(program)
        good = native == recorded and not figures.faults
        if good or not left:
            break
    print(f"{program.name:<24}{'same' if good else 'DIFFERS'}  ({time.monotonic() - start:.0f} s)")
    print(f"    native  {native}")
    if recorded != native:
        print(f"    midden  {recorded}")
    print(
        f"    {figures.profiles} profiles, {figures.allocations} allocations, {figures.frees} frees, "
        f"{figures.lost} lost events"
    )
    for fault in figures.faults[:10]:
        print(f"    {fault}")
    sys.stdout.flush()
    return good


def main(names):
    unknown = set(names) - {program.name for program in PROGRAMS}
    if unknown:
        print(f"run.py: there is no program {sorted(unknown)[0]}\n{__doc__}", file=sys.stderr)
        return 2
    OUT.mkdir(parents=True, exist_ok=True)
    differ = left_out = played = 0
    for program in PROGRAMS:
        if names and program.name not in names:
            continue
        try:
            played += 1
            differ += not check(program)
        except Missing as what:
            left_out += 1
            print(f"{program.name:<24}left out: {what}", flush=True)
        except Exception as fault:  # one that cannot be run must not hide the others
            differ += 1
            print(f"{program.name:<24}FAILED: {fault}", flush=True)
    print(f"{played} programs, {differ} differ, {left_out} left out")
    return 1 if differ or played == left_out else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
