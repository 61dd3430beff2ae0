"""Asking `midden leaks` about programs that run.

SPDX-License-Identifier: Apache-2.0
"""

import ctypes
import json
import os
import re
import signal
import subprocess
from pathlib import Path

from processes import find_program, wait_until
from recording import TIMEOUT_S

# Types of mounts: these are on block devices, or have no direct reads.
KNOWN_MOUNTS = set(
    "bpf btrfs cgroup cgroup2 configfs debugfs devpts devtmpfs efivarfs ext4 fusectl hugetlbfs mqueue proc pstore "
    "securityfs sysfs tmpfs tracefs vfat xfs".split()
)

# Lines of Python: a filter of system calls that allows every one.
FILTER = """import ctypes
rule = (ctypes.c_uint64 * 1)(0x7fff000000000006)
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_uint16), ("rules", ctypes.c_void_p)]
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(1, ctypes.addressof(rule)))) == 0
"""


def ask(midden, *arguments):
    return subprocess.run(
        [midden, "leaks", *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT_S
    )


def ask_json(midden, *arguments):
    """However long it takes: the machine may be busy with other tests."""
    long_stop = ["--long-stop"] if str(arguments[-1]).isdigit() else []
    done = ask(midden, "--json", "--show", "all", *long_stop, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def start(record, name, *arguments, **options):
    """A victim that has said that it is ready: the recording, and its process id."""
    running = record.start_victim(name, *arguments, **options)
    assert running.process.stdout.readline() == b"ready\n"
    pid = wait_until(lambda: find_program(running.process.pid, name[:15]), f"{name} is there")
    wait_for_listener(pid)
    return running, pid


def start_below_a_shell(record, name, *arguments, **options):
    """The same of a victim whose parent is another program."""
    victim = record.machine.command(name, *arguments)
    shell = ["/bin/sh", "-c", '"$@"; exit $?', "sh", *victim]
    running = record.start(shell, options=("--follow",), **options)
    assert running.process.stdout.readline() == b"ready\n"
    wait_for_listener(pid := wait_until(lambda: find_program(running.process.pid, name[:15]), f"{name} is there"))
    return running, pid


def survives_requests():
    """Whether a fork harms nobody's requests: the kernel pins pages, and nothing is mounted but what is known to."""
    major, minor = map(int, re.match(r"(\d+)\.(\d+)", os.uname().release).groups())
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    types = {line.partition(" - ")[2].split()[0] for line in lines}
    return (major, minor) >= (6, 5) and types <= KNOWN_MOUNTS


def can_suspend_filters():
    """Whether the kernel lets us put the filters of system calls aside that a traced process has."""
    libc = ctypes.CDLL(None, use_errno=True)
    order = lambda request, data=0: libc.ptrace(request, pid, None, ctypes.c_void_p(data))  # noqa: E731
    if (pid := os.fork()) == 0:
        while True:
            signal.pause()
    seize, interrupt, set_options, suspend = 0x4206, 0x4207, 0x4200, 1 << 21
    can = order(seize) == 0 and order(interrupt) == 0
    can = can and os.waitpid(pid, 0)[0] == pid and order(set_options, suspend) == 0
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return can


def find_listeners(pid):
    """The inodes of sockets on which a process's collector listens."""
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    return {line[6] for line in lines if line[-1] == f"@midden-recording-{pid}"}


def wait_for_listener(pid):
    wait_until(lambda: find_listeners(pid), "the collector listens")


def sums(leaks):
    return {name: (row["bytes"], row["blocks"]) for name, row in leaks["classes"].items()}


def list_children(pid):
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            rest = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(rest[1]) == pid:
            found.append(path.parent.name)
    return found
