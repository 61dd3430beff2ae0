"""Running programs in which the n-th system call of a kind fails (tests/fault/fail_nth.c).

SPDX-License-Identifier: Apache-2.0
"""

import os
import subprocess
from dataclasses import dataclass

import pytest

from machine import BUILD, COMMAND, LIBRARY
from processes import wait_until
from recording import shell_status

INJECTOR = BUILD / "tests" / "fault" / "fail_nth"
UNSUPPORTED = 77
MOST = 400  # calls of a kind; more would take too long, and be an endless loop


@dataclass
class Outcome:
    number: int
    status: int
    stdout: bytes
    stderr: str
    has_profile: bool
    path: object


def run_once(directory, how, calls, error, number, who, program, options=()):
    """One run, in a fresh directory. Returns an Outcome and how many calls have failed."""
    if not INJECTOR.exists():
        pytest.skip("fail_nth was not built: there is no static libc")
    place = directory / f"n{number}"
    place.mkdir(exist_ok=True)
    report, path = place / "report", place / "out.mdn"
    inject = [INJECTOR, calls, error, number, who, report]
    record = [COMMAND, "record", "-q", "-o", path, *options, "--"]
    # Symbols are many calls, all of the collector's.
    env = {**os.environ, "MIDDEN_SYMBOLS": "1" if who == "collector" else "0"}
    if how == "preload":
        env.update(LD_PRELOAD=str(LIBRARY), MIDDEN_OUTPUT=str(path))
        command = [*inject, *program]
    else:
        command = [*record, *inject, *program] if who == "library" else [*inject, *record, *program]
    done = subprocess.run(
        [str(word) for word in command],
        env=env,
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
    )
    if done.returncode == UNSUPPORTED:
        pytest.skip("the kernel does not hand system calls to another process")
    wait_until(lambda: report.exists() and report.read_text().endswith("\n"), "the injector's report")
    failed = int(report.read_text().split()[1])
    status = shell_status(done.returncode)
    outcome = Outcome(
        number, status, done.stdout, done.stderr.decode(errors="replace"), path.exists(), path
    )
    return outcome, failed


def each_failing(directory, how, calls, error, who, program, options=()):
    """Runs `program` once for every call of the kinds: the first fails, then the second alone, until there is none.
    `how`: preload or record, with `options`; `who`: see fail_nth.c."""
    for number in range(1, MOST):
        outcome, failed = run_once(directory, how, calls, error, number, who, program, options)
        if not failed:
            assert (options or outcome.has_profile) and not outcome.stderr, "the run in which nothing failed was not recorded"
            return
        yield outcome
    raise AssertionError(f"there is no end of {calls}")
