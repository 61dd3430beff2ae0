"""From runs to figures: medians, ratios to native at the same size, cost per pair and per event. Used by run.py.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from contenders import AGAIN, NATIVE

# Of a program that allocates more seldom than this, the cost per pair would be all noise.
PAIRS_PER_S_LEAST = 100_000


def said(output, key):
    """A figure that the program printed on a line of its own, among what its profiler prints; or None."""
    for line in output.splitlines():
        name, _, value = line.partition(" ")
        if name == key:
            return float(value)
    return None


@dataclass
class Cell:
    """All runs of one contender at one size of one load."""

    contender: object
    size: int
    runs: list = field(default_factory=list)
    died: str | None = None
    target_bytes: int | None = None
    all_bytes: int | None = None
    written_bytes: int | None = None
    report_s: float | None = None

    def wall_s(self):
        return statistics.median(run.wall_s for run in self.runs)

    def cpu_s(self):
        return statistics.median(run.cpu_s for run in self.runs)

    def own_ns(self):
        """What the program says of itself: ns per pair."""
        return statistics.median(said(run.output, "ns-per-pair") for run in self.runs)

    def others_cpu_s(self):
        """CPU time of all processes but the program, whose own word is taken for its part."""
        return statistics.median(run.cpu_s - said(run.output, "own-cpu-ns") / 1e9 for run in self.runs)


@dataclass
class Result:
    """All that was measured on one load."""

    load: object
    cells: list
    stats: dict = field(default_factory=dict)  # midden's own, at full size

    def has(self, name):
        return any(cell.contender.name == name for cell in self.cells)

    def find(self, name, size=None):
        """The cell of a contender that has figures, or None."""
        for cell in self.cells:
            if cell.contender.name == name and size in (None, cell.size) and cell.runs and not cell.died:
                return cell
        return None

    def native(self, cell):
        return self.find(NATIVE, cell.size)

    def full_size(self):
        return max(cell.size for cell in self.cells)

    def pairs(self, cell):
        """Allocations in one run of the cell, as midden counted them at full size; 0: not known, or too few."""
        native = self.native(cell)
        pairs = self.stats.get("allocations", 0) * cell.size / self.full_size()
        return pairs if native and pairs / native.wall_s() >= PAIRS_PER_S_LEAST else 0

    # Each of these is None where a part of it was not measured.

    def wall_ratio(self, cell):
        native = self.native(cell)
        return cell.wall_s() / native.wall_s() if native else None

    def wall_range(self, cell):
        """The ratio of the fastest and of the slowest run."""
        native = self.native(cell)
        walls = [run.wall_s for run in cell.runs]
        return (min(walls) / native.wall_s(), max(walls) / native.wall_s()) if native else None

    def cpu_ratio(self, cell):
        native = self.native(cell)
        return cell.cpu_s() / native.cpu_s() if native else None

    def added_wall_ns(self, cell):
        """Per pair. Allocation loads time their own loop: starting up is not in it."""
        native = self.native(cell)
        if native and self.load.kind == "micro":
            return cell.own_ns() - native.own_ns()
        if native and self.pairs(cell):
            return (cell.wall_s() - native.wall_s()) * 1e9 / self.pairs(cell)
        return None

    def added_cpu_ns(self, cell):
        """Per pair, all processes."""
        native = self.native(cell)
        if native and self.pairs(cell):
            return (cell.cpu_s() - native.cpu_s()) * 1e9 / self.pairs(cell)
        return None

    def added_bytes(self, cell, which):
        native = self.native(cell)
        mine, theirs = getattr(cell, which), getattr(native, which, None)
        return mine - theirs if mine is not None and theirs is not None else None

    def collector_ns(self):
        """midden's CPU time outside of the program, per event; includes its start and the writing of the file."""
        cell = self.find("midden")
        events = self.stats.get("allocations", 0) + self.stats.get("frees", 0)
        if self.load.kind == "real" or not cell or not events or not self.native(cell):
            return None
        # What native shows is the end of the process, after it printed.
        return (cell.others_cpu_s() - self.native(cell).others_cpu_s()) * 1e9 / events

    def added_wall(self, cell):
        """As a part of the native run."""
        ratio = self.wall_ratio(cell)
        return None if ratio is None else ratio - 1

    def added_cpu(self, cell):
        ratio = self.cpu_ratio(cell)
        return None if ratio is None else ratio - 1

    def times_less(self, figure):
        """How many times less midden adds than heaptrack does, by one of the functions above.

        None: one of them has no figure, or what midden adds is less than native differs from itself.
        """
        midden, heaptrack, again = (self.find(name) for name in ("midden", "heaptrack", AGAIN))
        if not midden or not heaptrack or figure(midden) is None or figure(heaptrack) is None:
            return None
        noise = abs(figure(again)) if again else 0
        return figure(heaptrack) / figure(midden) if figure(midden) > noise else None
