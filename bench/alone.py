"""The collector alone, without a target beside it: CPU time per event of bench/collector.c. Used by run.py.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from figures import said

RUNS, QUICK_RUNS = 5, 2


@dataclass
class Part:
    load: str
    what: str
    events: int
    live_blocks: int = 0
    ns: float | None = None  # the best of the medians
    least_ns: float | None = None


def all_parts(live_blocks):
    live = f"{live_blocks:,} live blocks; one freed, one made, at random places"
    return [
        Part("small", "one thread, 64 sites, one block made and freed", 4_000_000),
        Part("merge", "the same in two threads whose events alternate", 4_000_000),
        Part(f"live{live_blocks}", live, 4_000_000, live_blocks),
    ]


def measure(build, live_blocks, quick):
    """All parts, run in turns; an empty list where the program was not built."""
    program = build / "bench" / "collector"
    parts = all_parts(live_blocks) if program.exists() else []
    for _ in range(QUICK_RUNS if quick else RUNS):
        for part in parts:
            run_once(program, part)
    return parts


def run_once(program, part):
    done = subprocess.run(
        [program, part.load, str(part.events)], stdout=subprocess.PIPE, text=True, check=True
    )
    ns, least_ns = said(done.stdout, "ns-per-event"), said(done.stdout, "least-ns-per-event")
    part.ns = ns if part.ns is None else min(part.ns, ns)
    part.least_ns = least_ns if part.least_ns is None else min(part.least_ns, least_ns)
