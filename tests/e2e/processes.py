"""Finding processes through /proc, and waiting for things to become so.

SPDX-License-Identifier: Apache-2.0
"""

import os
import signal
import time
from pathlib import Path


def wait_until(condition, what, timeout=120.0):
    """Waits for condition() to return something true and returns it."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.005)
    raise AssertionError(f"waited {timeout} s in vain for {what}")


def read_stat(pid):
    """(comm, state, parent) of a process, or None if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    opened, closed = text.index("("), text.rindex(")")
    fields = text[closed + 2 :].split()
    return text[opened + 1 : closed], fields[0], int(fields[1])


def descendants(pid):
    """All processes below `pid`: {pid: comm}."""
    table = {int(name): read_stat(name) for name in os.listdir("/proc") if name.isdigit()}
    found, front = {}, [pid]
    while front:
        parent = front.pop()
        for child, stat in table.items():
            if stat and stat[2] == parent and child not in found:
                found[child] = stat[0]
                front.append(child)
    return found


def find_collector(recorder_pid):
    """The collector process of a recording; None if there is none (yet)."""
    return next((pid for pid, comm in descendants(recorder_pid).items() if comm == "midden-collect"), None)


def find_program(recorder_pid, comm):
    return next((pid for pid, name in descendants(recorder_pid).items() if name == comm[:15]), None)


def stop(pid):
    """Stops a process and waits until it stands still: all it does from now on waits for SIGCONT."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: (read_stat(pid) or ("", "T", 0))[1] in "TtZX", f"process {pid} to stop")


def resident_bytes(pid):
    """(anonymous, all) resident memory of a process; None if it is gone."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    if "RssAnon" not in fields:
        return None
    return tuple(int(fields[name].split()[0]) * 1024 for name in ("RssAnon", "VmRSS"))
