"""`midden record --trace`: every event is kept, and nothing else changes.

SPDX-License-Identifier: Apache-2.0
"""

import os
import shlex
import signal
import subprocess

import cases
import pytest
from processes import wait_until
from recording import check_exact, read_stats

TRACE = ("--trace",)


@cases.each(cases.SINGLE[:8] + cases.THREADED[1:2])
def test_figures_stay_exact_and_every_event_is_there(record, case):
    recording = record.victim(case.victim, *case.arguments, env=case.env, options=TRACE)
    base = record.victim(case.victim, *case.bare, options=TRACE).stats if case.bare else None
    check_exact(recording, base, but=case.but)
    stats = recording.stats
    assert stats["trace_events"] == stats["allocations"] + stats["frees"]
    assert stats["trace_lost_events"] == 0


def test_without_the_option_there_is_no_trace(record):
    assert record.victim("basic_heap").stats["trace_events"] == 0


def test_the_variable_does_the_same(record):
    stats = record.victim("basic_heap", env={"MIDDEN_TRACE": "1"}).stats
    assert stats["trace_events"] == stats["allocations"] + stats["frees"]


def test_symbols_that_are_looked_up_later_leave_the_trace_alone(record, midden):
    recording = record.victim("basic_heap", options=(*TRACE, "--no-symbols"))
    before = read_stats(recording.path)
    subprocess.run([midden, "resolve", recording.path], check=True, capture_output=True)
    after = read_stats(recording.path)
    assert after["resolved"] and not before["resolved"]
    assert after["trace_events"] == before["trace_events"] > 0


def test_nothing_is_left_beside_the_profile(record):
    recording = record.victim("basic_heap", options=TRACE)
    assert [p.name for p in recording.path.parent.glob("*partial*")] == []


@pytest.fixture
def small_disk(tmp_path):
    """Runs a shell command in a mount namespace where ./disk has `kib` KiB."""

    def run(kib, command):
        (tmp_path / "disk").mkdir(exist_ok=True)
        script = f"mount -t tmpfs -o size={kib}k tmpfs disk && {command}"
        return subprocess.run(["unshare", "-rm", "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True)

    probe = run(64, "true")
    if probe.returncode != 0:
        pytest.skip(f"no file system of a known size can be made here: {probe.stderr}")
    return run


# What the recorder keeps free for the tables of a small profile (src/profile/trace_write.c).
RESERVE = 16 << 10


@pytest.mark.parametrize("part", (4, 2))
def test_a_full_disk_ends_the_trace_and_is_told(record, midden, native, small_disk, tmp_path, part):
    """The disk has room for the tables and for one `part` of the trace; how large these are depends on the machine."""
    tables = record.victim("cross_free", "full").path.stat().st_size
    trace = record.victim("cross_free", "full", options=TRACE).path.stat().st_size - tables
    kib = (tables + RESERVE + trace // part) >> 10
    victim = shlex.join(map(str, native.command("cross_free", "full")))
    done = small_disk(kib, f"{midden} record --trace -o disk/a.mdn -- {victim} && cp disk/a.mdn .")
    assert done.returncode == 0, done.stderr
    assert "the trace misses the last" in done.stderr
    assert "wrote disk/a.mdn" in done.stderr
    stats = read_stats(tmp_path / "a.mdn")
    assert not stats["damaged"]
    assert stats["leaked_blocks"] == 88
    events = stats["allocations"] + stats["frees"]
    assert stats["trace_events"] + stats["trace_lost_events"] == events
    # The first events of a program take more bytes each than the rest.
    assert stats["trace_events"] * 4 * part >= events
    assert (tmp_path / "a.mdn").stat().st_size - tables >= trace // part * 3 // 4
    shown = subprocess.run([midden, "stats", tmp_path / "a.mdn"], capture_output=True, text=True).stdout
    assert "events missing in the trace" in shown


def test_a_recorder_that_is_killed_loses_nothing(record):
    running, program = record.start_and_stop_work(1, 2000000, options=TRACE)
    os.kill(running.process.pid, signal.SIGKILL)
    running.process.wait()
    assert not running.path.exists()
    os.kill(program, signal.SIGCONT)
    wait_until(running.path.exists, "the profile")
    stats = read_stats(running.path)
    assert stats["allocations"] >= 2000000
    assert stats["trace_events"] == stats["allocations"] + stats["frees"]
