#!/usr/bin/python3
"""Measures midden beside native runs, a forward-only library and other profilers. Run by `make bench`.

All contenders of a load take turns, round after round, so that what disturbs the machine disturbs all
alike. Native runs twice under two names: what differs between the two is noise. A full run writes its
tables into docs/performance.md, any other into BUILD/bench/performance.md.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import aims  # noqa: E402
import alone  # noqa: E402
import contenders as peers  # noqa: E402
import cores  # noqa: E402
import loads as programs  # noqa: E402
import measure  # noqa: E402
import reports  # noqa: E402
import tables  # noqa: E402
from figures import Cell, Result, said  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("MIDDEN_BUILD", ROOT / "build")).resolve()
SCRATCH = BUILD / "bench" / "runs"
DOCUMENT = ROOT / "docs" / "performance.md"

ROUNDS, QUICK_ROUNDS, ROUNDS_LEAST = 7, 3, 3
MINUTES, QUICK_MINUTES = 13.0, 1.4
QUICK_SCALE = 0.25
QUICK_LOADS = ("depth10", "depth60", "threads4", "threads1", "live", "churn", "sqlite3", "python3", "cc1plus")
QUICK_CONTENDERS = ("native", "native again", "forward", "midden", "midden --sample", "midden --tags", "heaptrack")
TIMEOUT_S = 120.0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller, fewer; two minutes")
    parser.add_argument("--load", action="append", metavar="NAME", help="only this load (may be repeated)")
    parser.add_argument("--contender", action="append", metavar="NAME", help="only native and this one")
    parser.add_argument("--rounds", type=int, help=f"timed rounds (default {ROUNDS}, quick {QUICK_ROUNDS})")
    parser.add_argument("--minutes", type=float, help="fewer rounds when this time would be exceeded")
    parser.add_argument("--list", action="store_true", help="show loads and contenders, measure nothing")
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (QUICK_ROUNDS if arguments.quick else ROUNDS)
    arguments.minutes = arguments.minutes or (QUICK_MINUTES if arguments.quick else MINUTES)
    return arguments


def choose(known, wanted, what):
    """Those of the known whose names are wanted, in their own order."""
    unknown = [name for name in wanted or [] if name not in [one.name for one in known]]
    if unknown:
        raise SystemExit(f"run.py: unknown {what}: {', '.join(unknown)} (see --list)")
    return [one for one in known if not wanted or one.name in wanted]


def say(text=""):
    print(text, flush=True)


# ---- one load -------------------------------------------------------------------------------------


class Bout:
    """One load and its contenders."""

    def __init__(self, load, contenders, scale):
        self.load = load
        self.result = Result(load, make_cells(load, contenders, scale))

    def run(self, cell, watch_memory=False):
        """One run; what it recorded is left in the scratch directory."""
        shutil.rmtree(SCRATCH, ignore_errors=True)
        SCRATCH.mkdir(parents=True)
        command, drive = self.load.plan(cell.size, SCRATCH)
        wrapped, environment = cell.contender.wrap(command, SCRATCH)
        program = shutil.which(self.load.program)
        order = measure.Order(wrapped, environment, SCRATCH, program, TIMEOUT_S, drive)
        done = measure.run(order, watch_memory)
        if self.load.kind != "real" and said(done.output, "own-cpu-ns") is None:
            raise measure.Died(measure.describe(order, "the program did not come to its end"))
        return done

    def try_run(self, cell, watch_memory=False):
        """A run, or None if the contender dies; it then has had its chance on this load."""
        if cell.died:
            return None
        try:
            return self.run(cell, watch_memory)
        except measure.Died as end:
            cell.died = str(end)
            return None

    def weigh(self, cell):
        """The run for memory, bytes written and the first report. It also warms the caches for the timed ones."""
        run = self.try_run(cell, watch_memory=True)
        if run is None:
            return
        cell.target_bytes, cell.all_bytes = run.target_bytes, run.all_bytes
        cell.written_bytes = measure.bytes_written(SCRATCH)
        report = cell.contender.report(SCRATCH, self.load.program)
        cell.report_s = time_report(report) if report else None
        if getattr(cell.contender, "stats", None):
            self.result.stats = read_stats(cell.contender.stats(SCRATCH))

    def weigh_all(self):
        for cell in self.result.cells:
            self.weigh(cell)

    def run_round(self, number):
        """Each cell once, beginning with another one each time."""
        cells = self.result.cells
        turn = number % len(cells)
        for cell in cells[turn:] + cells[:turn]:
            run = self.try_run(cell) if number < cell.contender.rounds_most else None
            if run:
                cell.runs.append(run)


def make_cells(load, contenders, scale):
    cells = []
    for contender in contenders:
        size = load.size_for(contender.pace, scale)
        if size is not None and contender.fits(load):
            cells.append(Cell(contender, size))
    native = contenders[0]
    sizes = {cell.size for cell in cells if cell.contender is native}
    for cell in list(cells):
        if cell.size not in sizes:
            sizes.add(cell.size)
            cells.insert(cells.index(cell), Cell(native, cell.size))
    return cells


def time_report(command):
    """Seconds until the report is there, or None if there is none."""
    start = time.monotonic()
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    return time.monotonic() - start if done.returncode == 0 else None


def read_stats(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, check=True)
    return json.loads(done.stdout)


# ---- all loads ------------------------------------------------------------------------------------


def measure_load(load, contenders, arguments, share_s):
    """Rounds as long as the load's share of the time lasts; for the least of them it may take twice that."""
    begin = time.monotonic()
    bout = Bout(load, contenders, QUICK_SCALE if arguments.quick else 1)
    bout.weigh_all()
    for number in range(arguments.rounds):
        start = time.monotonic()
        bout.run_round(number)
        now = time.monotonic()
        allowed_s = share_s if number + 1 >= ROUNDS_LEAST else 2 * share_s
        if now + (now - start) > begin + allowed_s:
            break
    return bout.result


class Quietness:
    """How much of the machine others used meanwhile."""

    def __init__(self):
        self.ticks, self.own = read_ticks(), own_cpu_s()

    def text(self):
        ticks = [now - then for now, then in zip(read_ticks(), self.ticks)]
        total, idle, steal = sum(ticks), ticks[3] + ticks[4], ticks[7]
        own = (own_cpu_s() - self.own) * os.sysconf("SC_CLK_TCK")
        others = max(0.0, total - idle - steal - own) / total
        note = " **The machine was not quiet.**" if others > 0.05 or steal / total > 0.02 else ""
        return (
            f"Meanwhile other processes used {others:.1%} of the CPUs, the hypervisor {steal / total:.1%}.{note}"
        )


def read_ticks():
    return [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:9]]


def own_cpu_s():
    return sum(
        measure.cpu_of(resource.getrusage(who)) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )


def measure_all(loads, contenders, arguments):
    results = []
    end = time.monotonic() + 60 * arguments.minutes
    for number, load in enumerate(loads):
        share_s = (end - time.monotonic()) / (len(loads) - number)
        result = measure_load(load, contenders, arguments, share_s)
        say(tables.load_text(result))
        results.append(result)
    return results


def without_missing(ones):
    missing = {one.name: why for one in ones if (why := one.missing())}
    return [one for one in ones if one.name not in missing], missing


def choose_all(arguments):
    default_loads = QUICK_LOADS if arguments.quick else None
    loads = choose(programs.all_loads(BUILD), arguments.load or default_loads, "load")
    default_contenders = QUICK_CONTENDERS if arguments.quick else None
    wanted = arguments.contender and [*arguments.contender, peers.NATIVE]
    contenders = choose(peers.all_contenders(BUILD), wanted or default_contenders, "contender")
    return loads, contenders


def write_down(arguments, text):
    whole = not (arguments.quick or arguments.load or arguments.contender)
    path = DOCUMENT if whole else BUILD / "bench" / "performance.md"
    if not whole:
        path.write_text(f"{tables.BEGIN}\n{tables.END}\n", encoding="utf-8")
    tables.replace_generated(path, text)
    say(f"written to {path}")


def main():
    arguments = parse_arguments()
    loads, contenders = choose_all(arguments)
    if arguments.list:
        for one in [*loads, *contenders]:
            say(f"{one.name:14} {one.what}")
        return
    programs.build(BUILD / "bench")
    measure.adopt_orphans()
    loads, missing_loads = without_missing(loads)
    contenders, missing = without_missing(contenders)
    if not loads:
        raise SystemExit(f"run.py: nothing to run: {', '.join(missing_loads.values())}")
    quietness = Quietness()
    cores_factor = cores.measure(BUILD / "bench" / "micro", arguments.quick)
    some = arguments.load or arguments.contender
    parts_alone = [] if some else alone.measure(BUILD, programs.LIVE_BLOCKS, arguments.quick)
    large = [] if some else reports.measure_all(BUILD, SCRATCH, arguments.quick)
    results = measure_all(loads, contenders, arguments)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    parts = [
        tables.head_text(BUILD, quietness.text()),
        tables.noise_text(results),
        cores.text(cores_factor) + "\n",
        tables.contenders_text(contenders, {**missing, **missing_loads}),
        tables.aims_text(aims.check(results) + aims.check_alone(parts_alone) + aims.check_reports(large)),
        tables.alone_text(parts_alone),
        tables.reports_text(large, reports.STACKS),
        tables.heaptrack_text(results),
        *map(tables.load_text, results),
    ]
    # The tables of the loads were shown when they were measured.
    say("\n".join(filter(None, parts[: -len(results)])))
    write_down(arguments, "\n".join(filter(None, parts)))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit("run.py: interrupted") from None
