"""Runs one command and measures it: time, CPU of its whole process tree, memory, bytes written. Used by run.py.

Timed runs are left alone: nothing is read while they run. Memory is taken in runs of its own, where a thread
looks at the process tree every few milliseconds.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
SAMPLE_PAUSE_S = 0.004
ORPHANS_WAIT_S = 10.0
MESSAGE_MOST = 160  # letters of what a program said before it died
TERMINAL_CODE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Died(Exception):
    """The command ended otherwise than it should; says how."""


@dataclass
class Run:
    wall_s: float
    cpu_s: float  # user and system, all processes of the tree
    output: str = field(repr=False)
    target_bytes: int | None = None  # largest resident set of the program itself
    all_bytes: int | None = None  # largest sum of proportional set sizes over the tree


@dataclass
class Order:
    """What to run. `drive`, if given, works on the running program, ends it, and returns the seconds that count."""

    command: list
    environment: dict
    directory: Path  # private to this run: what is written there is the run's output
    program: str  # the executable that is the target, wherever in the tree it runs
    timeout_s: float
    drive: object = None


def adopt_orphans():
    """Makes this process the parent of what its descendants leave behind, so that their CPU time is counted."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


# ---- the process tree -----------------------------------------------------------------------------


def read_text(path):
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def children_by_parent():
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            after_name = read_text(f"/proc/{entry}/stat").rpartition(") ")[2].split()
            if len(after_name) > 1:
                children.setdefault(int(after_name[1]), []).append(int(entry))
    return children


def descendants(root):
    children, found, waiting = children_by_parent(), [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children.get(pid, [])
    return found


def read_kib(path, key):
    for line in read_text(path).splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    return 0


class MemoryWatch(threading.Thread):
    """Samples a process tree until told to stop. The target's own figure is the kernel's high-water mark."""

    def __init__(self, root, program):
        super().__init__(daemon=True)
        self.root, self.program = root, os.path.realpath(program)
        self.target_bytes, self.all_bytes = 0, 0
        self.ended = threading.Event()

    def is_target(self, pid):
        try:
            return os.readlink(f"/proc/{pid}/exe") == self.program
        except OSError:
            return False

    def sample(self):
        pids = descendants(self.root)
        total = sum(read_kib(f"/proc/{pid}/smaps_rollup", "Pss:") for pid in pids)
        self.all_bytes = max(self.all_bytes, total)
        for pid in filter(self.is_target, pids):
            self.target_bytes = max(self.target_bytes, read_kib(f"/proc/{pid}/status", "VmHWM:"))

    def run(self):
        pause_s = SAMPLE_PAUSE_S
        while not self.ended.wait(pause_s):
            start = time.monotonic()
            self.sample()
            # Reading the size of a large process holds it up: never more than a third of the time.
            pause_s = max(SAMPLE_PAUSE_S, 2 * (time.monotonic() - start))

    def stop(self):
        self.ended.set()
        self.join()


# ---- one run --------------------------------------------------------------------------------------


def kill_tree(pid):
    for victim in descendants(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)


@contextlib.contextmanager
def time_limit(pid, seconds):
    """Kills the tree below pid when the time is over; the value tells whether that happened."""
    over = threading.Event()

    def end():
        over.set()
        kill_tree(pid)

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        yield over
    finally:
        timer.cancel()
        timer.join()


def start(order):
    output = os.open(order.directory / "stdout", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    errors = os.open(order.directory / "stderr", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, output, 1),
        (os.POSIX_SPAWN_DUP2, errors, 2),
    ]
    environment = {**os.environ, **order.environment}
    command = [str(word) for word in order.command]
    try:
        return os.posix_spawnp(command[0], command, environment, file_actions=actions, setsid=True)
    except OSError as error:
        raise Died(f"cannot be run: {error.strerror}") from error
    finally:
        os.close(output)
        os.close(errors)


def cpu_of(usage):
    return usage.ru_utime + usage.ru_stime


def reap_orphans():
    """CPU time of processes that outlived the command; they are ended if they do not end by themselves."""
    cpu_s, deadline = 0.0, time.monotonic() + ORPHANS_WAIT_S
    while True:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return cpu_s
        if pid:
            cpu_s += cpu_of(usage)
            continue
        if time.monotonic() > deadline:
            for child in children_by_parent().get(os.getpid(), []):
                kill_tree(child)
        time.sleep(0.002)


def describe(order, how):
    """How it ended, and the last thing that it said."""
    said = (read_text(order.directory / "stderr") or read_text(order.directory / "stdout")).strip()
    last = said.splitlines()[-1] if said else ""
    last = TERMINAL_CODE.sub("", last).replace("`", "'").replace("|", "/").strip()
    return f"{how}: {last}"[:MESSAGE_MOST] if last else how


def fault_of(code, status):
    """What is wrong with the end of a process, in the terms of waitid, or None."""
    if code == os.CLD_EXITED:
        signals = [one for one in signal.Signals if status == 128 + one]  # a shell's word for a signal
        return signals[0].name if signals else f"exit status {status}" if status else None
    return signal.Signals(status).name


def end_so_far(pid):
    """The fault of a process that has ended (it is not reaped), or None."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    return fault_of(ended.si_code, ended.si_status) if ended else None


def attend(order, pid, started):
    """Waits for the end of the command; (seconds that count, whether it took too long)."""
    with time_limit(pid, order.timeout_s) as over:
        driven_s = order.drive() if order.drive else None
        # Not reaped yet, so that a late kill cannot meet another process of the same number.
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return driven_s or time.monotonic() - started, over


@contextlib.contextmanager
def nothing_left(pid):
    """Whatever goes wrong meanwhile (a driver that fails, an interrupt), the command does not outlive it."""
    try:
        yield
    except BaseException:
        kill_tree(pid)
        os.wait4(pid, 0)
        reap_orphans()
        raise


@contextlib.contextmanager
def memory_watch(pid, program):
    watch = MemoryWatch(pid, program)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()


def run(order, watch_memory=False):
    """One run of the order; raises Died."""
    started = time.monotonic()
    pid = start(order)
    with nothing_left(pid):
        with memory_watch(pid, order.program) if watch_memory else contextlib.nullcontext() as watch:
            try:
                wall_s, over = attend(order, pid, started)
            except (OSError, subprocess.SubprocessError) as error:
                fault = end_so_far(pid) or f"could not be driven ({error})"
                raise Died(describe(order, fault)) from error
    fault = f"not finished after {order.timeout_s:.0f} s" if over.is_set() else end_so_far(pid)
    cpu_s = cpu_of(os.wait4(pid, 0)[2]) + reap_orphans()
    if fault:
        raise Died(describe(order, fault))
    result = Run(wall_s, cpu_s, read_text(order.directory / "stdout"))
    if watch:
        result.target_bytes, result.all_bytes = watch.target_bytes or None, watch.all_bytes or None
    return result


def bytes_written(directory):
    """Size of the files that a run left, its own words apart."""
    return sum(
        path.stat().st_size for path in directory.iterdir() if path.name not in ("stdout", "stderr", "product")
    )
