"""Large programs that `midden leaks` looks at in the way that is best for them, and that know nothing of it.

SPDX-License-Identifier: Apache-2.0
"""

import os
import signal
import subprocess

import pytest
from looking import (
    FILTER,
    ask_json,
    can_suspend_filters,
    list_children,
    start,
    start_below_a_shell,
    sums,
    survives_requests,
    wait_for_listener,
)
from processes import find_program, wait_until
from recording import TIMEOUT_S

LOST = {"definite": (300, 3), "indirect": (0, 0)}
HELD_BYTES = 100 << 20


def check_classes(leaks):
    found = sums(leaks)
    assert leaks["stopped"] and leaks["unread_bytes"] == 0
    assert {name: found[name] for name in LOST} == LOST
    assert found["reachable"][0] >= HELD_BYTES and found["interior"] == (0, 0)
    return found


def ask_for_children(process):
    """What the program knows of children: how often it has heard of one, what they have used, if there is one."""
    process.stdin.write(b"\n")
    process.stdin.flush()
    return process.stdout.readline()


def check_looks(midden, pid, process, copied):
    # Of a preloaded program, the library's way to its collector was a child.
    before = ask_for_children(process)
    assert before.startswith(b"0 heard,") and before.endswith(b" none to wait for\n")
    for _ in range(3):
        leaks = ask_json(midden, pid)
        assert (leaks["copied"], leaks["looked_later"]) == (copied, not copied)
        check_classes(leaks)
        assert not list_children(pid)
    assert ask_for_children(process) == before


def start_if_permitted(record, name, how):
    running = record.start_victim(name, how)
    if running.process.stdout.readline() != b"ready\n":
        running.finish(input=b"")
        pytest.skip("the kernel does not permit it")
    wait_for_listener(pid := wait_until(lambda: find_program(running.process.pid, name), "the program"))
    return running, pid


@pytest.mark.parametrize("how", ["plain", "sealed", "ring"])
def test_a_program_is_looked_at_later_where_there_can_be_no_copy(record, midden, need_victim, how):
    running, pid = start_if_permitted(record, need_victim("lost_large"), how)
    can_copy = {"plain": lambda: True, "sealed": can_suspend_filters, "ring": survives_requests}
    check_looks(midden, pid, running.process, copied=can_copy[how]())
    assert running.finish(input=b"").status == 5


def test_what_a_filter_forbids_is_forbidden_after_a_copy(record, midden, need_victim):
    if not can_suspend_filters():
        pytest.skip("the kernel does not let us put filters aside (CAP_SYS_ADMIN)")
    running, pid = start_if_permitted(record, need_victim("lost_large"), "sealed")
    check_looks(midden, pid, running.process, copied=True)
    assert running.finish(input=b"fork\n").status == 128 + signal.SIGSYS


@pytest.mark.parametrize("how", ["ring", "aio"])
def test_what_a_program_reads_meanwhile_gets_to_it(record, midden, need_victim, how):
    if not survives_requests():
        pytest.skip("there are no copies of such programs: an old kernel, or mounts that are not known")
    running, pid = start_if_permitted(record, need_victim("lost_reader"), how)
    for _ in range(10):
        leaks = ask_json(midden, pid)
        assert leaks["copied"]
        check_classes(leaks)
    assert running.finish(input=b"").status == 5


def test_every_way_finds_the_same_in_a_large_program(record, midden, need_victim):
    found = {}
    for way in ("1", "later", "0", "now"):
        running, pid = start(record, need_victim("lost_large"), "plain", env={"MIDDEN_TWIN": way})
        ask_for_children(running.process)  # its buffer for input is a block, and comes with the first line
        leaks = ask_json(midden, pid)
        assert (leaks["copied"], leaks["looked_later"]) == (way == "1", way in ("later", "0"))
        found[way] = check_classes(leaks)
        assert running.finish(input=b"").status == 5
    assert len(set(map(str, found.values()))) == 1


def test_a_preloaded_program_gets_no_child(native, midden, library, need_victim, tmp_path):
    env = {**os.environ, "LD_PRELOAD": library, "MIDDEN_OUTPUT": str(tmp_path / "out.mdn")}
    command = native.command(need_victim("lost_large"), "plain")
    process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    wait_for_listener(process.pid)
    check_looks(midden, process.pid, process, copied=False)
    process.stdin.close()
    assert process.wait(timeout=TIMEOUT_S) == 5


def test_a_child_that_is_recorded_gets_no_child(record, midden, need_victim):
    running, pid = start_below_a_shell(record, need_victim("lost_large"), "plain")
    check_looks(midden, pid, running.process, copied=False)
    assert running.finish(input=b"").status == 5


def test_a_child_that_is_recorded_gets_one_if_somebody_wants_that(record, midden, need_victim):
    running, pid = start_below_a_shell(record, need_victim("lost_large"), "plain")
    before = ask_for_children(running.process)
    for _ in range(3):
        leaks = ask_json(midden, "--child-copy", pid)
        assert leaks["copied"] and not leaks["looked_later"]
        check_classes(leaks)
        wait_until(lambda: not list_children(pid), "the copy is gone")
    after = ask_for_children(running.process)
    assert after != before
    assert after.startswith(b"0 heard,") and after.endswith(b" none to wait for\n")
    assert running.finish(input=b"").status == 5


# Every call is allowed, as by the filter of a container: here and in all that is started from here.
CONTAINED = f"""
import os, sys
{FILTER}os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize("how", ["plain", "sealed"])
def test_under_the_filter_of_a_container_there_are_copies_if_the_program_has_no_other(
    native, midden, need_victim, tmp_path, how
):
    if "Seccomp_filters:" not in open("/proc/self/status").read():
        pytest.skip("the kernel does not tell how many filters there are")
    command = [midden, "record", "-q", "-o", tmp_path / "out.mdn", "--", *native.command(need_victim("lost_large"), how)]
    process = subprocess.Popen(
        ["/usr/bin/python3", "-c", CONTAINED, *map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"ready\n"
    wait_for_listener(pid := wait_until(lambda: find_program(process.pid, "lost_large"), "the program"))
    check_looks(midden, pid, process, copied=how == "plain")
    process.stdin.close()
    assert process.wait(timeout=TIMEOUT_S) == 5
