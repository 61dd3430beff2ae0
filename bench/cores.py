"""How far one core slows another one down: where they are halves of one, a collector's work on the other core is not
free. Used by run.py.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import statistics
import subprocess
import time

ROUNDS, QUICK_ROUNDS = 5, 2
PAIRS = 20_000_000  # a quarter of a second of a load that stays in the nearest cache


def time_copies(micro, count):
    """Seconds until all of so many copies of one program have ended."""
    begin = time.monotonic()
    copies = [
        subprocess.Popen([micro, "depth10", str(PAIRS)], stdout=subprocess.DEVNULL) for _ in range(count)
    ]
    for copy in copies:
        if copy.wait() != 0:
            raise SystemExit(f"run.py: {micro} failed")
    return time.monotonic() - begin


def measure(micro, quick):
    """By what factor two copies that run at once take longer than one: the median of rounds that take turns."""
    rounds = range(QUICK_ROUNDS if quick else ROUNDS)
    return statistics.median(time_copies(micro, 2) / time_copies(micro, 1) for _ in rounds)


def text(factor):
    return f"Two copies of a program that needs neither memory nor disk, run at once, take {factor:.2f} times as long as one."
