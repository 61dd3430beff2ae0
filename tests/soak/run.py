#!/usr/bin/env python3
"""A service in sampling mode for half an hour: does midden's memory stay as it is, and what is the cost?

Two copies of one program work in turn, a slice each: one alone, one under `midden record --sample`. What disturbs
the machine disturbs both alike. Fails if midden's mappings in the recorded program (its segment and its library),
all that this program has beyond the other, or the collector grow from the second quarter of the time to the last.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
SLICE_MS = 1000
GROWTH_KIB = 1024  # allocators and page tables breathe; a leak of a byte per request would be 100 times as much


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--options", default="--sample", help="of midden record")
    return parser.parse_args()


def build_service(directory):
    program = directory / "service"
    subprocess.run(["cc", "-O2", "-pthread", "-o", program, HERE / "service.c"], check=True)
    return program


def find_children(pid):
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def read_name(pid):
    return Path(f"/proc/{pid}/comm").read_text().strip()


def read_mapped_kib(pid):
    """What is resident of midden's own mappings: the segment, the library and the variables that follow it."""
    total, ours, name = 0, False, ""
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            before, name = name, Path(words[5]).name if len(words) > 5 else ""
            ours = "midden" in name or (not name and before.startswith("libmidden"))
        elif words[0] == "Rss:" and ours:
            total += int(words[1])
    return total


def read_memory_kib(pid):
    """What a process has of its own: shared memory counts once, with the program."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["RssAnon"].split()[0]), int(fields["VmRSS"].split()[0])


def read_cpu_s(pid):
    """The CPU time of all threads; none of the service's ends before it does."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


class Service:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.program = self.process.pid
        self.rates = []
        self.cpu_rates = []  # per second of CPU time: what others do on the machine matters less

    def work(self):
        start, used = time.monotonic(), read_cpu_s(self.program)
        self.process.stdin.write(f"{SLICE_MS}\n")
        self.process.stdin.flush()
        requests = int(self.process.stdout.readline())
        self.rates.append(requests / (time.monotonic() - start))
        self.cpu_rates.append(requests / max(read_cpu_s(self.program) - used, 1e-9))

    def forget(self):
        self.rates.clear()
        self.cpu_rates.clear()

    def finish(self):
        self.process.stdin.close()
        return self.process.wait()


class Watch:
    """Memory in KiB, round after round."""

    def __init__(self, alone, recorded):
        self.alone = alone.program
        children = find_children(recorded.process.pid)
        self.program = next(pid for pid in children if read_name(pid) == "service")
        recorded.program = self.program
        self.collector = next(pid for pid in children if pid != self.program)
        self.rounds = []

    def look(self):
        added = read_memory_kib(self.program)[1] - read_memory_kib(self.alone)[1]
        self.rounds.append((read_mapped_kib(self.program), added, read_memory_kib(self.collector)[0]))

    def growth(self):
        """From the second quarter to the last: of midden's mappings, of what the program has more, of the collector."""
        quarter = max(len(self.rounds) // 4, 1)
        early, late = self.rounds[quarter : 2 * quarter] or self.rounds, self.rounds[-quarter:]
        return [statistics.median(r[i] for r in late) - statistics.median(r[i] for r in early) for i in range(3)]


def compare(recorded, alone):
    """The median of the ratios, round by round, with their quartiles."""
    ratios = [100 * r / a for r, a in zip(recorded, alone)]
    spread = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
    return f"{statistics.median(ratios):6.2f} % (quartiles {spread[0]:.2f} to {spread[2]:.2f})"


def describe(watch, alone, recorded):
    mapped, added, collector = watch.rounds[-1]
    return (
        f"{len(watch.rounds):5} rounds: {statistics.median(alone.rates):9,.0f} requests/s alone, "
        f"throughput {compare(recorded.rates, alone.rates)}, per CPU second {compare(recorded.cpu_rates, alone.cpu_rates)}; "
        f"midden in the program {mapped:,} KiB, all of it {added:+,} KiB, collector {collector:,} KiB"
    )


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        program = build_service(directory)
        profile = directory / "soak.mdn"
        record = [arguments.build / "midden", "record", "-q", *arguments.options.split(), "-o", profile, "--", program]
        alone, recorded = Service([program]), Service(record)
        pair = [alone, recorded]
        for service in pair:  # the live blocks come into being
            service.work()
            service.forget()
        watch = Watch(alone, recorded)
        end = time.monotonic() + arguments.minutes * 60
        told = time.monotonic()
        while time.monotonic() < end:
            for service in pair:
                service.work()
            pair.reverse()
            watch.look()
            if time.monotonic() - told >= 60:
                told = time.monotonic()
                print(describe(watch, alone, recorded), flush=True)
        status = recorded.finish() or alone.finish()
        done = subprocess.run([arguments.build / "midden", "stats", profile], capture_output=True, text=True)
    growth = watch.growth()
    print(done.stdout)
    print(describe(watch, alone, recorded))
    told = "growth: midden in the program {:+,.0f} KiB, all of it {:+,.0f} KiB, collector {:+,.0f} KiB (at most {:,} each)"
    print(told.format(*growth, GROWTH_KIB))
    flat = max(growth) <= GROWTH_KIB
    print("memory is flat" if flat else "memory is NOT flat")
    return 0 if flat and status == 0 and done.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
