"""However a program ends, the profile holds everything it did up to then.

The victim keeps its own account in a shared page, which outlives it.

SPDX-License-Identifier: Apache-2.0
"""

import os
import signal
from itertools import count
from pathlib import Path

import pytest

from death_modes import ENDINGS
from processes import find_program, wait_until
from recording import check_exact

WINDOW = 100  # tests/victims/dying.c


def size_of(step):
    return 1 + step * 7919 % 4096


def bytes_of_first(steps):
    return sum(size_of(step) for step in range(steps))


def check_up_to_the_event(stats, truth, threads=1):
    """The profile is at most one event per thread ahead of the page (an allocation) or behind it (a free
    announced and not made), and consistent in itself down to the byte."""
    assert 0 <= stats["allocations"] - truth["allocations"] <= threads
    assert 0 <= truth["frees"] - stats["frees"] <= threads
    assert (stats["lost_events"], stats["foreign_frees"]) == (0, 0)
    assert stats["leaked_blocks"] == stats["allocations"] - stats["frees"]
    if threads == 1:
        assert stats["allocated_bytes"] == bytes_of_first(stats["allocations"])
        assert stats["freed_bytes"] == bytes_of_first(stats["frees"])


@pytest.mark.parametrize("mode", ENDINGS)
def test_nothing_is_missing_after(record, mode):
    recording = record.victim("dying", mode)
    assert recording.status == ENDINGS[mode]
    check_exact(recording)
    code, killed_by = recording.stats["exit_code"], recording.stats["exit_signal"]
    if ENDINGS[mode] < 128:
        assert (code, killed_by or 0) == (ENDINGS[mode], 0)
    else:
        assert killed_by == ENDINGS[mode] - 128


@pytest.mark.parametrize("steps", (10, 500, 10000))
def test_nothing_is_missing_when_the_program_becomes_another(record, steps, repeat):
    recording = record.victim("dying", "exec", steps, "/bin/echo", "another program")
    assert (recording.status, recording.stdout) == (0, b"another program\n")
    check_exact(recording)


def test_nothing_is_missing_when_memory_runs_out_and_the_program_aborts(record):
    recording = record.victim("dying", "limit")
    assert recording.status == 128 + signal.SIGABRT
    check_exact(recording)
    assert recording.stats["failed_allocations"] == 1


def test_a_kill_by_the_kernel_at_any_instruction_loses_no_event(record):
    recording = record.victim("dying", "cpu")
    assert recording.status == 128 + signal.SIGKILL
    check_up_to_the_event(recording.stats, recording.truth.total)


def test_a_kill_from_outside_loses_no_event(record, repeat):
    running = record.start_victim("dying", "forever", 0)
    goal = 100_000 + 30_000 * repeat
    wait_until(
        lambda: running.truth_path.exists() and running.truth_path.stat().st_size > 0, "the truth page"
    )
    pid = wait_until(lambda: find_program(running.process.pid, "dying"), "the victim")
    wait_until(lambda: peek_allocations(running) > goal, "the victim's work")
    os.kill(pid, signal.SIGKILL)
    recording = running.finish()
    assert recording.status == 128 + signal.SIGKILL
    check_up_to_the_event(recording.stats, recording.truth.total)


def peek_allocations(running):
    with open(running.truth_path, "rb") as page:
        page.seek(8 * 16)
        return int.from_bytes(page.read(8), "little")


def test_a_kill_amid_eight_busy_threads_loses_no_event(record, repeat):
    recording = record.victim("dying", "threads", 0)
    assert recording.status == 128 + signal.SIGKILL
    stats, truth = recording.stats, recording.truth
    by_libc = stats["allocations"] - sum(t["allocations"] for t in stats["thread_list"] if t["serial"] != 1)
    check_up_to_the_event(
        {
            **stats,
            "allocations": stats["allocations"] - by_libc,
            "leaked_blocks": stats["leaked_blocks"] - by_libc,
        },
        truth.total,
        threads=8,
    )


def memory_group():
    """A memory control group that we may fill in, or None: (directory, limit file, processes file)."""
    for root, limit in (
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        (Path("/sys/fs/cgroup"), "memory.max"),
    ):
        for number in count():
            group = root / f"midden-test-{os.getpid()}-{number}"
            if not group.exists():
                break
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / limit).exists():
            return group, group / limit, group / "cgroup.procs"
        group.rmdir()
    return None


def test_the_out_of_memory_killer_loses_no_event(record):
    made = memory_group()
    if made is None:
        pytest.skip("no memory control group can be made here (needs root and a writable cgroup)")
    group, limit, processes = made
    try:
        limit.write_text(str(200 << 20))
        recording = record.victim("dying", "hog", 1000, processes)
    finally:
        wait_until(lambda: remove_group(group), "the control group to be empty")
    stats, truth = recording.stats, recording.truth.total
    assert recording.status == 128 + signal.SIGKILL
    assert stats["exit_signal"] == signal.SIGKILL
    assert 0 <= stats["allocations"] - truth["allocations"] <= 1
    assert (stats["frees"], stats["lost_events"]) == (truth["frees"], 0)


def remove_group(group):
    try:
        group.rmdir()
    except OSError:
        return False
    return True


def test_the_exit_status_is_the_programs(record):
    for status in (0, 1, 42, 255):
        assert record.run(["/bin/sh", "-c", f"exit {status}"]).status == status
