"""Reports on a large profile: CPU time until they are there. Used by run.py.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass

import measure

STACKS = 200_000
RUNS, QUICK_RUNS = 5, 2
REPORTS = ((), ("--flat",), ("--top-down",), ("--leaks", "--json"))


@dataclass
class Report:
    options: tuple[str, ...]
    seconds: float | None = None  # the best of the runs

    def name(self):
        return " ".join(("report", *self.options))


def measure_all(build, scratch, quick):
    """All reports, made in turns; an empty list where the program that makes the profile was not built."""
    maker = build / "tests" / "large_profile"
    if not maker.exists():
        return []
    scratch.mkdir(parents=True, exist_ok=True)
    profile = scratch / "large.mdn"
    subprocess.run([maker, profile, str(STACKS)], check=True)
    reports = [Report(options) for options in REPORTS]
    for _ in range(QUICK_RUNS if quick else RUNS):
        for report in reports:
            seconds = time_once([build / "midden", "report", *report.options, profile])
            report.seconds = seconds if report.seconds is None else min(report.seconds, seconds)
    profile.unlink()
    return reports


def time_once(command):
    """CPU seconds of a command."""
    nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    process = os.posix_spawn(command[0], command, os.environ, file_actions=nowhere)
    _, status, usage = os.wait4(process, 0)
    if status != 0:
        raise SystemExit(f"run.py: {' '.join(map(str, command))} failed")
    return measure.cpu_of(usage)
