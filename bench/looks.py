#!/usr/bin/env python3
"""What a look at a program's memory costs: which blocks are lost (`midden leaks`), which keep pages resident
(`midden snapshot --rss`). How long the look takes, and how long it keeps the program from running. What is lost is
looked for in each way that there is (docs/leaks.md): by a copy, in memory that is read at once and looked at later, and
while the program waits. The last two may take longer than 100 ms per GB: what becomes of them without --long-stop is
told too.

A thread of the program reads the clock all the time; the longest stretch between two readings is the pause. Beside it
stands the longest in as much time without a look: what the machine does by itself.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent
CASES = (  # blocks, bytes of each
    (1_000_000, 1_000),
    (5_000_000, 48),
)
LONG_STOP = "--long-stop"
LOOKS = (  # name, command, MIDDEN_TWIN of the recording
    ("leaks, by a copy", ("leaks",), None),
    ("leaks, later", ("leaks", LONG_STOP), "later"),
    ("leaks, at once", ("leaks", LONG_STOP), "now"),
    ("snapshot --rss", ("snapshot", "--rss"), None),
)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    return parser.parse_args()


def build_holder(directory):
    program = directory / "holder"
    compiler = os.environ.get("CC", "gcc")
    subprocess.run([compiler, "-std=gnu11", "-O2", "-pthread", "-o", program, HERE / "holder.c"], check=True)
    return program


class Holder:
    """The program under `midden record`."""

    def __init__(self, midden, program, profile, case, way=None):
        words = [midden, "record", "-q", "--no-symbols", "-o", profile, "--", program, *map(str, case)]
        env = {**os.environ, **({"MIDDEN_TWIN": way} if way else {})}
        self.process = subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("looks.py: the program did not come up")
        self.wait_for_collector(midden)

    def wait_for_collector(self, midden):
        """Until it has caught up with the events of all blocks."""
        subprocess.run([midden, "snapshot", str(self.process.pid)], check=True, stdout=subprocess.DEVNULL)
        self.read_pause_s()

    def read_pause_s(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline()) / 1e9

    def end(self):
        self.process.stdin.close()
        return self.process.wait()


def look(holder, command):
    """Seconds that it takes, seconds of pause, and of pause in as much time without it."""
    holder.read_pause_s()
    begin = time.monotonic()
    done = subprocess.run([*command, str(holder.process.pid)], stdout=subprocess.DEVNULL, check=False)
    took_s = time.monotonic() - begin
    if done.returncode != 0:
        raise SystemExit(f"looks.py: {' '.join(map(str, command))} failed")
    pause_s = holder.read_pause_s()
    time.sleep(took_s)
    return took_s, pause_s, holder.read_pause_s()


def look_briefly(holder, command):
    """What becomes of it without the option: seconds of pause, and what is said."""
    holder.read_pause_s()
    words = [word for word in command if word != LONG_STOP] + [str(holder.process.pid)]
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    pause_s = holder.read_pause_s()
    return pause_s, "is taken" if done.returncode == 0 else done.stderr.strip().removeprefix("midden: ")


def measure_briefly(holder, command, rounds):
    runs = [look_briefly(holder, command) for _ in range(rounds)]
    pauses = [1000 * pause_s for pause_s, _ in runs]
    taken = sum(said == "is taken" for _, said in runs)
    print(f"    without {LONG_STOP}: {taken} of {rounds} taken, pause {min(pauses):.1f} to {max(pauses):.1f} ms")
    for said in sorted({said for _, said in runs if said != "is taken"})[:1]:
        print(f"    ({said})", flush=True)


def measure(midden, program, directory, case, rounds):
    gib = case[0] * case[1] / 2**30
    print(f"{case[0]:,} blocks of {case[1]:,} bytes ({gib:.2f} GiB):")
    for name, words, way in LOOKS:
        holder = Holder(midden, program, directory / f"{case[0]}.mdn", case, way)
        runs = [look(holder, [midden, *words]) for _ in range(rounds)]
        took_s, pause_s, idle_s = (statistics.median(column) for column in zip(*runs))
        print(
            f"  midden {name:17} {took_s:6.2f} s, pause {1000 * pause_s:6.1f} ms "
            f"({1000 * pause_s / gib:.0f} ms per GiB; {1000 * min(r[1] for r in runs):.1f} to "
            f"{1000 * max(r[1] for r in runs):.1f}), without a look {1000 * idle_s:.1f} ms",
            flush=True,
        )
        if LONG_STOP in words:
            measure_briefly(holder, [midden, *words], rounds)
        if holder.end() != 0:
            raise SystemExit("looks.py: the program failed")


def main():
    arguments = parse_arguments()
    midden = arguments.build / "midden"
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        program = build_holder(directory)
        for case in CASES:
            measure(midden, program, directory, case, arguments.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
