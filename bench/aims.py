"""What midden promises, checked against the figures. Used by run.py.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20
TARGET_BYTES_MOST = 8 * MIB
THREAD_BYTES_MOST = 64 << 10
BYTES_PER_LIVE_BLOCK_MOST = 64
WALL_LESS_THAN_HEAPTRACK = 10
CPU_LESS_THAN_HEAPTRACK = 8
THREADS_FACTOR_MOST = 1.5
REPORT_S_MOST = 1.0
COLLECTOR_NS_MOST, COLLECTOR_LIVE_NS_MOST = 25, 60
ADDED_NS_MOST = {"depth10": 60, "depth60": 120, "live": 125}
DEPTH10_WALL_MOST = 3.2
REAL_WALL_MOST = 1.15
PYTHON_WALL_MOST = {"python3": 1.1, "numpy": 1.1, "wsgi": 1.1}
SMALL_OBJECTS_WALL_MOST = 1.5
TAGGED_WALL_MOST = {"depth10": 1.15, "threads4": 1.15}
SAMPLED_WALL_MOST = {"depth10": 1.1, "sqlite3": 1.02, "cc1plus": 1.02, "redis": 1.02}


@dataclass
class Aim:
    text: str
    limit: str
    measured: str
    reached: bool | None  # None: not measured

    def verdict(self):
        return {True: "reached", False: "**not reached**", None: "not measured"}[self.reached]


def short(value):
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def at_most(text, value, limit, unit):
    if value is None:
        return Aim(text, f"≤ {limit:.3g}{unit}", "", None)
    return Aim(text, f"≤ {limit:.3g}{unit}", f"{short(value)}{unit}", value <= limit)


def at_least(text, value, limit, why_not):
    if value is None:
        return Aim(text, f"≥ {limit:g}×", why_not, None)
    return Aim(text, f"≥ {limit:g}×", f"{short(value)}×", value >= limit)


def of_midden(result, figure, name="midden"):
    cell = result.find(name)
    return figure(cell) if cell else None


def why_not_compared(result):
    for cell in result.cells:
        if cell.contender.name == "heaptrack" and cell.died:
            return f"heaptrack died: {cell.died}"
    return "less than the noise"


def speed_aims(result):
    name = result.load.name
    if name in ADDED_NS_MOST:
        added = of_midden(result, result.added_wall_ns)
        yield at_most(f"{name}: added wall time per pair", added, ADDED_NS_MOST[name], " ns")
    if name == "depth10":
        ratio = of_midden(result, result.wall_ratio)
        yield at_most(f"{name}: wall time against native", ratio, DEPTH10_WALL_MOST, "×")
    if result.load.kind == "real":
        limit = PYTHON_WALL_MOST.get(name, REAL_WALL_MOST)
        yield at_most(f"{name}: wall time against native", of_midden(result, result.wall_ratio), limit, "×")


def python_aims(result):
    name = result.load.name
    if name in PYTHON_WALL_MOST:
        ratio = of_midden(result, result.wall_ratio, "midden --pymalloc=exact")
        yield at_most(f"{name}: each small object, wall time against native", ratio, SMALL_OBJECTS_WALL_MOST, "×")


def sampling_aims(result):
    name = result.load.name
    if name in SAMPLED_WALL_MOST:
        ratio = of_midden(result, result.wall_ratio, "midden --sample")
        yield at_most(f"{name}: sampled, wall time against native", ratio, SAMPLED_WALL_MOST[name], "×")


def tagging_aims(result):
    name = result.load.name
    if name in TAGGED_WALL_MOST:
        ratio = of_midden(result, result.wall_ratio, "midden --tags")
        yield at_most(f"{name}: counted by tag, wall time against native", ratio, TAGGED_WALL_MOST[name], "×")


def peer_aims(result):
    if result.load.kind == "real" or not result.has("heaptrack"):
        return
    wall, cpu = result.times_less(result.added_wall_ns), result.times_less(result.added_cpu_ns)
    why_not = why_not_compared(result)
    text = f"{result.load.name}: less added"
    yield at_least(f"{text} wall time than heaptrack", wall, WALL_LESS_THAN_HEAPTRACK, why_not)
    yield at_least(f"{text} CPU time than heaptrack", cpu, CPU_LESS_THAN_HEAPTRACK, why_not)


def thread_aims(results):
    by_name = {result.load.name: result for result in results}
    if "threads4" in by_name and "threads1" in by_name:
        four, one = (
            of_midden(by_name[name], by_name[name].added_wall_ns) for name in ("threads4", "threads1")
        )
        factor = four / one if four is not None and one else None
        text = "threads4: added wall time per pair against one thread"
        yield at_most(text, factor, THREADS_FACTOR_MOST, "×")


def memory_aims(result):
    added = of_midden(result, lambda cell: result.added_bytes(cell, "target_bytes"))
    if added is not None:
        limit = TARGET_BYTES_MOST + THREAD_BYTES_MOST * result.stats.get("threads", 1)
        yield at_most(f"{result.load.name}: added memory in the program", added / MIB, limit / MIB, " MiB")
    if result.load.live_blocks:
        everywhere = of_midden(result, lambda cell: result.added_bytes(cell, "all_bytes"))
        per_block = None if everywhere is None else everywhere / result.load.live_blocks
        text = f"{result.load.name}: added memory in all processes per live block"
        yield at_most(text, per_block, BYTES_PER_LIVE_BLOCK_MOST, " bytes")


def collector_aims(result):
    if result.load.kind != "real":
        limit = COLLECTOR_LIVE_NS_MOST if result.load.live_blocks else COLLECTOR_NS_MOST
        text = f"{result.load.name}: collector's CPU time per event"
        yield at_most(text, result.collector_ns(), limit, " ns")


def loss_aims(results):
    lost = [result.stats["lost_events"] for result in results if "lost_events" in result.stats]
    if lost:
        yield at_most("all loads: events lost", sum(lost), 0, "")


def check(results):
    """All aims that concern what was run, by subject."""
    results = [result for result in results if result.has("midden")]
    aims = []
    for subject in (speed_aims, python_aims, sampling_aims, tagging_aims, peer_aims):
        aims += [aim for result in results for aim in subject(result)]
    aims += thread_aims(results)
    for subject in (memory_aims, collector_aims):
        aims += [aim for result in results for aim in subject(result)]
    return aims + list(loss_aims(results))


def check_alone(parts):
    """The aims of the collector without a target beside it."""
    aims = []
    for part in parts:
        limit = COLLECTOR_LIVE_NS_MOST if part.live_blocks else COLLECTOR_NS_MOST
        aims.append(at_most(f"collector alone, {part.load}: CPU time per event", part.ns, limit, " ns"))
    return aims


def check_reports(reports):
    """The aims of reports on a large profile."""
    return [at_most(f"{one.name()}, 200,000 stacks: CPU time", one.seconds, REPORT_S_MOST, " s") for one in reports]
