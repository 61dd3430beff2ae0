#!/usr/bin/python3
"""Records random programs, round by round, and compares each profile with the program's own account. `make torture`.

usage: run.py [--seed N] [--minutes N | --rounds N] [--jobs N] [--keep DIRECTORY]
              [--kind KIND] [--only WORD]... [--steps-most N]

Round k has the seed N + k, which decides everything: what the program does, the allocator below it, the options of
`midden record`, and whether the library checks every walk against a full one. `--seed N --rounds 1` does one again.
What failed is kept, with its profiles, in DIRECTORY (default: BUILD/torture/failed). One line per round; the last
line is `N rounds, N failed`, and the status 1 if any did, 3 if an allocator that was asked for is missing.

--only takes rounds with that word in their line (libc, jemalloc, checked, follow, ...), --steps-most those with no more
steps; --kind makes all of one kind:
  calm      one thread, nothing but its own blocks: peak and temporary blocks are compared too
  wild      all there is
  anywhere  the same, above an allocator that handlers may enter at any moment: they interrupt midden's hooks
  jumping   and leave them by longjmp, which costs events

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import concurrent.futures
import fcntl
import os
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import account  # noqa: E402
from machine import BUILD, COMMAND, ROOT  # noqa: E402

OUT = BUILD / "torture"
ROUND_SECONDS_MOST = 600  # for a program that takes one: a hang, even on a busy machine
WALK_COMPLAINT = "a walk differs"
ALLOCATORS = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}


# ---- what is run ------------------------------------------------------------------------------------------------


def build_once(out, sources, steps):
    """Runs `steps` unless `out` is newer than `sources`; safe beside other processes."""
    out.mkdir(parents=True, exist_ok=True)
    stamp = out / ".built"
    with open(out / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.stat().st_mtime > max(path.stat().st_mtime for path in sources):
            return
        for step in steps:
            done = subprocess.run([str(word) for word in step], capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"run.py: {step[0]} failed:\n{done.stdout}{done.stderr}")
        stamp.touch()


def build_all():
    build_once(OUT / "program", list(HERE.iterdir()), [[HERE / "build.sh", OUT / "program"]])
    checked = OUT / "checked"
    configure = ["cmake", "-S", ROOT, "-B", checked, "-DMIDDEN_CAPTURE_ONLY=ON", "-DMIDDEN_CHECK_WALKS=ON"]
    sources = [*ROOT.glob("src/capture/**/*"), *ROOT.glob("src/format/*")]
    build_once(checked, sources, [[*configure, "-DMIDDEN_TESTS=OFF"], ["cmake", "--build", checked]])


def find_allocators():
    """Those that are installed: {name: path}."""
    listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    found = {"bump": str(OUT / "program" / "libbump.so")}
    for line in listing.splitlines():
        for name, library in ALLOCATORS.items():
            if line.strip().startswith(library + " "):
                found[name] = line.rpartition("=> ")[2]
    return found


class Plan:
    """All that a seed decides."""

    def __init__(self, seed, allocators, kind=None):
        draw = random.Random(seed)
        drawn = draw.choice(("calm", "wild", "wild", "wild", "anywhere", "jumping"))
        self.seed = seed
        self.kind = kind or drawn
        self.allocator = draw.choice(("libc", "libc", *ALLOCATORS))
        self.checked = draw.random() < 0.5
        self.follow = draw.random() < 0.5
        self.trace = draw.random() < 0.2
        self.buffer = draw.choice((None, None, "1M", "2M", "32M"))
        self.steps = draw.choice((50, 500, 2000, 5000))
        if self.kind == "calm":
            self.steps *= 4  # one thread and no children
        if self.kind in ("anywhere", "jumping"):
            self.allocator = "bump"
        self.is_entered = self.allocator == "bump"  # from handlers, while a hook is at work
        self.is_possible = self.allocator == "libc" or self.allocator in allocators
        self.preload = allocators.get(self.allocator)

    def options(self):
        library = ["--library", OUT / "checked" / "libmidden.so"] if self.checked else []
        return [
            *library,
            *(["--follow", "--keep-empty"] if self.follow else []),
            *(["--trace"] if self.trace else []),
            *(["--buffer", self.buffer] if self.buffer else []),
            # A machine with other work may not run the collector for a while.
            *("--patience", "60000"),
        ]

    def command(self, directory):
        program = OUT / "program" / "torture"
        words = [self.seed, self.steps, 0, self.kind, directory / "account", program.parent]
        record = [COMMAND, "record", "-q", "-o", directory / "%n.%p.mdn", *self.options(), "--"]
        return [str(word) for word in (*record, program, *words, program.with_name("torture_again"))]

    def environment(self):
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("MIDDEN_", "LD_"))}
        return {**ours, **({"LD_PRELOAD": self.preload} if self.preload else {})}

    def __str__(self):
        words = [self.kind, self.allocator, "checked" if self.checked else "release"]
        words += [word for word in ("follow", "trace") if getattr(self, word)]
        words += [f"buffer={self.buffer}"] if self.buffer else []
        return f"seed {self.seed}: {' '.join(words)} steps={self.steps}"


# ---- one round --------------------------------------------------------------------------------------------------


def wait_for_all(reader, seconds):
    """Until every process that inherited the other end of the pipe is gone. False: some are still there."""
    ready, _, _ = select.select([reader], [], [], seconds)
    return bool(ready)


def describe_hang(group):
    """What every thread of every process of the round is doing, if gdb is there to tell."""
    texts = []
    for name in os.listdir("/proc"):
        try:
            if not name.isdigit() or os.getpgid(int(name)) != group:
                continue
        except OSError:
            continue
        command = ["gdb", "-batch", "-nx", "-p", name, "-ex", "thread apply all bt 30"]
        if shutil.which("gdb"):
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
            texts.append(f"== process {name}\n{done.stdout}")
    return "\n".join(texts)


def run_recorded(plan, directory):
    """(status of midden record, whether anything hung)"""
    reader, writer = os.pipe()
    with open(directory / "stderr", "wb") as complaints:
        process = subprocess.Popen(
            plan.command(directory),
            env=plan.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            pass_fds=[writer],
            cwd=directory,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
        )
    os.close(writer)
    over = wait_for_all(reader, ROUND_SECONDS_MOST)
    os.close(reader)
    if not over:
        (directory / "hang").write_text(describe_hang(process.pid))
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait(), not over


def check_round(plan, directory):
    """(faults, images, allocations)"""
    status, hung = run_recorded(plan, directory)
    complaints = (directory / "stderr").read_text(errors="replace")
    if hung:
        return [f"not over after {ROUND_SECONDS_MOST} s"], 0, 0
    faults = []
    if WALK_COMPLAINT in complaints:
        faults.append(f"{complaints.count(WALK_COMPLAINT)} walks differ from full ones")
    elif complaints:
        faults.append(f"said: {complaints.splitlines()[0]}")
    if not (directory / "account").exists():
        return [*faults, f"the program did not start (status {status})"], 0, 0
    images = account.read_images(directory / "account")
    profiles = account.read_profiles(directory, COMMAND)
    faults += account.compare(plan, status, images, profiles)
    return faults, len(images), sum(stats["allocations"] for stats in profiles)


def play(plan, keep):
    """Plays a round; returns (line, whether it failed)."""
    start = time.monotonic()
    directory = Path(tempfile.mkdtemp(prefix="round.", dir=OUT))
    try:
        faults, images, allocations = check_round(plan, directory)
    except (OSError, ValueError, subprocess.SubprocessError) as fault:
        faults, images, allocations = [f"cannot be judged: {fault!r}"], 0, 0
    line = f"{plan}: {images} images, {allocations} allocations, {time.monotonic() - start:.1f} s"
    if not faults:
        shutil.rmtree(directory)
        return f"{line}: same", False
    keep.mkdir(parents=True, exist_ok=True)
    kept = keep / str(plan.seed)
    shutil.rmtree(kept, ignore_errors=True)
    directory.rename(kept)
    (kept / "faults").write_text("\n".join([line, *faults]) + "\n")
    return f"{line}: FAILED, see {kept}\n    " + "\n    ".join(faults[:6]), True


# ---- all rounds -------------------------------------------------------------------------------------------------


def draw_plans(arguments):
    """Plans until time or rounds run out."""
    allocators = find_allocators()
    end = time.monotonic() + 60 * arguments.minutes
    played, seed = 0, arguments.seed
    while played < arguments.rounds if arguments.rounds else time.monotonic() < end:
        plan = Plan(seed, allocators, arguments.kind)
        seed += 1
        wanted = plan.steps <= arguments.steps_most and all(word in str(plan) for word in arguments.only)
        if plan.is_possible and wanted:
            played += 1
            yield plan


def play_all(arguments):
    failed = played = 0
    waiting = set()
    with open(OUT / "log", "a") as log, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        plans = draw_plans(arguments)
        more = True
        while more or waiting:
            while more and len(waiting) < arguments.jobs:
                plan = next(plans, None)
                more = plan is not None
                if more:
                    waiting.add(pool.submit(play, plan, arguments.keep))
            done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                line, is_bad = future.result()
                played += 1
                failed += is_bad
                print(line, file=log, flush=True)
                print(line, flush=True)
        total = f"{played} rounds, {failed} failed"
        print(total, file=log)
        print(total)
    return played, failed


def read_arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--kind", choices=("calm", "wild", "anywhere", "jumping"))
    parser.add_argument("--steps-most", type=int, default=sys.maxsize)
    parser.add_argument("--keep", type=Path, default=OUT / "failed")
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = int(time.time())
    return arguments


def main():
    arguments = read_arguments()
    missing = set(arguments.only) & set(ALLOCATORS) - set(find_allocators())
    if missing:
        print(f"run.py: {missing.pop()} is not installed", file=sys.stderr)
        return 3
    build_all()
    played, failed = play_all(arguments)
    return 1 if failed or not played else 0


if __name__ == "__main__":
    sys.exit(main())
