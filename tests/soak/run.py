#!/usr/bin/env python3
"""Services in sampling mode for half an hour: does midden's memory stay as it is, and what is the cost?

There are two: a program that does little but make and free blocks (service.c), and redis with redis-benchmark as its
client, if it is installed. Of each, two copies work in turn, a slice each: one alone, one under `midden record
--sample`. What disturbs the machine disturbs both alike. Fails if midden's mappings in a recorded program (its
segment and its library), all that this program has beyond the other, or the collector grow from the second quarter of
the time to the last.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from loads import free_port, wait_for_port  # noqa: E402

HERE = Path(__file__).resolve().parent
SLICE_MS = 1000
SLICE_REQUESTS = 20_000  # of each kind, to redis
KEYS = 20_000  # so few that all of them are there after the first slices
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
    """A program that works on demand, and the process in which it does."""

    def __init__(self, command, name):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.program = self.process.pid
        self.name = name
        self.rates = []
        self.cpu_rates = []  # per second of CPU time: what others do on the machine matters less

    def work(self):
        start, used = time.monotonic(), read_cpu_s(self.program)
        requests = self.handle()
        self.rates.append(requests / (time.monotonic() - start))
        self.cpu_rates.append(requests / max(read_cpu_s(self.program) - used, 1e-9))

    def forget(self):
        self.rates.clear()
        self.cpu_rates.clear()

    def finish(self):
        self.process.stdin.close()
        return self.process.wait()


class Blocks(Service):
    """service.c"""

    def handle(self):
        self.process.stdin.write(f"{SLICE_MS}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


class Redis(Service):
    KINDS = ("set", "get", "hset", "lpush", "lpop")  # together they leave as much as they find

    def __init__(self, command, name):
        self.port = free_port()
        options = {"--port": self.port, "--bind": "127.0.0.1", "--save": "", "--appendonly": "no"}
        words = [str(word) for option in options.items() for word in option]
        super().__init__([*command, *words, "--logfile", "/dev/null"], name)
        wait_for_port(self.port)

    def handle(self):
        options = {"-p": self.port, "-n": SLICE_REQUESTS, "-r": KEYS, "-d": 100, "-t": ",".join(self.KINDS)}
        words = [str(word) for option in options.items() for word in option]
        subprocess.run(["redis-benchmark", "-q", *words], stdout=subprocess.DEVNULL, check=True)
        return SLICE_REQUESTS * len(self.KINDS)

    def finish(self):
        subprocess.run(["redis-cli", "-p", str(self.port), "shutdown", "nosave"], check=True)
        return super().finish()


class Watch:
    """Memory in KiB, round after round."""

    def __init__(self, alone, recorded):
        self.alone = alone.program
        children = find_children(recorded.process.pid)
        self.program = next(pid for pid in children if read_name(pid) == recorded.name)
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


class Load:
    """Two copies of a service, one of them recorded, that work in turn."""

    def __init__(self, kind, program, record, profile):
        self.name = Path(program).name
        self.midden, self.profile = record[0], profile
        self.alone = kind([program], self.name)
        self.recorded = kind([*record, "-o", profile, "--", program], self.name)
        self.pair = [self.alone, self.recorded]
        self.work()  # what lives comes into being
        for service in self.pair:
            service.forget()
        self.watch = Watch(self.alone, self.recorded)

    def work(self):
        for service in self.pair:
            service.work()
        self.pair.reverse()

    def describe(self):
        mapped, added, collector = self.watch.rounds[-1]
        alone, recorded = self.alone, self.recorded
        return (
            f"{self.name}: {len(self.watch.rounds):5} rounds: {statistics.median(alone.rates):9,.0f} requests/s alone, "
            f"throughput {compare(recorded.rates, alone.rates)}, per CPU second {compare(recorded.cpu_rates, alone.cpu_rates)}; "
            f"midden in the program {mapped:,} KiB, all of it {added:+,} KiB, collector {collector:,} KiB"
        )

    def finish(self):
        """Whether both ended well, with a profile, and the memory was flat."""
        ended = [service.finish() for service in self.pair] == [0, 0]
        done = subprocess.run([self.midden, "stats", self.profile], capture_output=True, text=True)
        growth = self.watch.growth()
        flat = max(growth) <= GROWTH_KIB
        print(done.stdout)
        print(self.describe())
        told = "growth: midden in the program {:+,.0f} KiB, all of it {:+,.0f} KiB, collector {:+,.0f} KiB (at most {:,} each)"
        print(told.format(*growth, GROWTH_KIB))
        print("memory is flat" if flat else "memory is NOT flat")
        return ended and flat and done.returncode == 0


def make_loads(arguments, directory):
    record = [arguments.build / "midden", "record", "-q", *arguments.options.split()]
    loads = [Load(Blocks, build_service(directory), record, directory / "service.mdn")]
    if shutil.which("redis-server") and shutil.which("redis-benchmark"):
        loads.append(Load(Redis, shutil.which("redis-server"), record, directory / "redis.mdn"))
    else:
        print("redis is not installed: left out")
    return loads


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as name:
        loads = make_loads(arguments, Path(name))
        end = time.monotonic() + arguments.minutes * 60
        told = time.monotonic()
        while time.monotonic() < end:
            for load in loads:
                load.work()
                load.watch.look()
            if time.monotonic() - told >= 60:
                told = time.monotonic()
                print(*(load.describe() for load in loads), sep="\n", flush=True)
        good = [load.finish() for load in loads]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
