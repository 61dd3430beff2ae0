"""How long `midden leaks` may stop a program: 100 ms per GB, and longer only for who asks for it.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from looking import (
    ask,
    ask_json,
    can_suspend_filters,
    list_children,
    start,
    start_below_a_shell,
    sums,
    survives_requests,
)
from processes import find_program, wait_until
from same import need

# Without names: threads and memory of the collector are those of the look alone.
NO_TIME = {"MIDDEN_STOP_LIMIT": "0", "MIDDEN_SYMBOLS": "0"}
LOST = (300, 3)


def refuse(midden, pid):
    done = ask(midden, "--json", pid)
    assert done.returncode == 1 and done.stdout == ""
    return done.stderr


def check_refused(text, pid, why, besides=""):
    pattern = (
        rf"midden: process {pid} cannot be copied \({re.escape(why)}\), and to read its memory would stop it for about "
        r"(\d+\.\d\d) s, where 100 ms per GB are \d+\.\d\d s: it was not looked at; `midden leaks --long-stop` allows such a stop"
        rf"{besides}\n"
    )
    assert (found := re.fullmatch(pattern, text)), text
    return float(found[1])


def check_let_go(text, pid):
    pattern = (
        rf"midden: process {pid} was let go after (\d+\.\d\d\d) s, before all of its memory was read: a look may stop it for "
        r"100 ms per GB, unless `midden leaks --long-stop` allows more\n"
    )
    assert re.fullmatch(pattern, text), text


def check_alive(process):
    process.stdin.write(b"\n")
    process.stdin.flush()
    assert process.stdout.readline().endswith(b" none to wait for\n")


def test_a_program_that_can_be_copied_needs_no_leave(record, midden, need_victim):
    running, pid = start(record, need_victim("lost_large"), "plain", env=NO_TIME)
    done = ask(midden, "--json", pid)
    assert done.returncode == 0 and json.loads(done.stdout)["copied"]
    assert running.finish(input=b"").status == 5


@pytest.mark.parametrize(
    ("how", "why", "can_copy"),
    [
        ("socket", "it has a device or a socket mapped", lambda: False),
        ("sealed", "it has a filter of system calls", can_suspend_filters),
        ("ring", "it has an io_uring", survives_requests),
    ],
)
def test_a_stop_that_would_be_too_long_is_not_begun(record, midden, need_victim, how, why, can_copy):
    if can_copy():
        pytest.skip("it can be copied here")
    running = record.start_victim(need_victim("lost_large"), how, env=NO_TIME)
    if running.process.stdout.readline() != b"ready\n":
        running.finish(input=b"")
        pytest.skip("the kernel does not permit it")
    pid = wait_until(lambda: find_program(running.process.pid, "lost_large"), "the program")
    collector = find_program(running.process.pid, "midden-collect")
    for _ in range(3):
        assert check_refused(refuse(midden, pid), pid, why) < 30
    found = ask_json(midden, pid)
    assert found["stopped"] and found["looked_later"] and sums(found)["definite"] == LOST
    check_refused(refuse(midden, pid), pid, why)
    assert len(os.listdir(f"/proc/{collector}/task")) == 1
    check_alive(running.process)
    assert running.finish(input=b"").status == 5


def test_a_child_that_is_recorded_gets_no_child_for_a_shorter_stop(record, midden, need_victim):
    running, pid = start_below_a_shell(record, need_victim("lost_large"), "plain", env=NO_TIME)
    check_refused(
        refuse(midden, pid), pid, "`midden record` is not its parent", ", --child-copy a copy that is its child"
    )
    done = ask(midden, "--json", "--child-copy", pid)
    assert done.returncode == 0 and json.loads(done.stdout)["copied"]
    wait_until(lambda: not list_children(pid), "the copy is gone")
    check_alive(running.process)
    assert running.finish(input=b"").status == 5


def test_no_thread_is_stopped_where_the_stop_would_be_too_long(record, midden, need_victim, tmp_path):
    need("strace")
    running, pid = start(record, need_victim("lost_large"), "socket", env=NO_TIME)
    collector = find_program(running.process.pid, "midden-collect")
    calls = tmp_path / "calls"
    tracer = subprocess.Popen(["strace", "-qq", "-f", "-e", "trace=ptrace", "-o", calls, "-p", str(collector)])
    status = Path(f"/proc/{collector}/status")
    wait_until(lambda: f"TracerPid:\t{tracer.pid}\n" in status.read_text(), "strace has the collector")
    check_refused(refuse(midden, pid), pid, "it has a device or a socket mapped")
    assert calls.read_text() == ""
    assert sums(ask_json(midden, pid))["definite"] == LOST
    assert "PTRACE_SEIZE" in calls.read_text()
    assert running.finish(input=b"").status == 5
    tracer.wait()


def test_where_a_copy_fails_the_program_is_not_read_for_long(record, midden, need_victim):
    running, pid = start(record, need_victim("lost_large"), "plain", env=NO_TIME)
    subprocess.run(["kill", "-STOP", str(pid)], check=True)
    why = "the kernel refuses it, or no thread can be asked for it"
    wait_until(lambda: ") T " in Path(f"/proc/{pid}/stat").read_text(), "the process has stopped")
    check_refused(refuse(midden, pid), pid, why)
    subprocess.run(["kill", "-CONT", str(pid)], check=True)
    found = ask_json(midden, pid)
    assert found["copied"] and sums(found)["definite"] == LOST
    assert running.finish(input=b"").status == 5


def read_kib(pid, name):
    return int(re.search(rf"^{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M)[1])


@pytest.mark.parametrize("way", ["later", "now"])
def test_a_program_that_is_read_too_slowly_is_let_go(record, midden, need_victim, way):
    running, pid = start(record, need_victim("lost_shapes"), "wait", env={**NO_TIME, "MIDDEN_TWIN": way})
    collector = find_program(running.process.pid, "midden-collect")

    def count():
        return len(os.listdir(f"/proc/{collector}/task")), len(os.listdir(f"/proc/{collector}/fd"))

    for i in range(20):
        check_let_go(refuse(midden, pid), pid)
        if i == 0:
            before, kib = count(), read_kib(collector, "VmSize")
    # The collector has answered before it closes the connection.
    wait_until(lambda: all(now <= then for now, then in zip(count(), before, strict=True)), "nothing is left open")
    assert read_kib(collector, "VmSize") < kib + 8192
    assert "\nTracerPid:\t0\n" in Path(f"/proc/{pid}/status").read_text()
    found = ask_json(midden, pid)
    assert found["looked_later"] == (way == "later") and sums(found)["definite"][1] == 24
    check_let_go(refuse(midden, pid), pid)
    assert running.finish(input=b"\n").status == 7


@pytest.mark.parametrize("leave", ["--long-stop", "--child-copy"])
def test_leave_is_for_programs_that_run(midden, tmp_path, leave):
    done = ask(midden, leave, tmp_path / "some.mdn")
    assert done.returncode == 2 and f"{leave} goes with a process id" in done.stderr
