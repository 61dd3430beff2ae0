"""Snapshots that nobody has to ask for: by time, by amounts of memory, by a signal.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import signal
import subprocess
import time

import pytest

from processes import find_program, read_stat, wait_until

DEADLINE_S = 120


class Steps:
    """The victim step_by_step under `midden record`, told what to do line by line."""

    def __init__(self, midden, record, need_victim, *options):
        self.midden = midden
        self.running = record.start_victim(need_victim("step_by_step"), options=options)
        self.process = self.running.process

    def tell(self, words):
        for word in words:
            self.process.stdin.write(word.encode() + b"\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == b"done\n"

    @property
    def pid(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as f:
            for pid in f.read().split():
                if os.readlink(f"/proc/{pid}/exe").endswith("step_by_step"):
                    return int(pid)
        raise AssertionError("the program is not there")

    def snapshot(self):
        subprocess.run([self.midden, "snapshot", str(self.process.pid)], check=True, capture_output=True)

    def listed(self, tmp_path):
        path = tmp_path / "so_far.mdn"
        end = time.monotonic() + DEADLINE_S
        while True:  # a recording can be asked a moment after it has begun
            command = [self.midden, "snapshot", "-w", path, str(self.process.pid)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0:
                break
            assert "is not being recorded" in done.stderr and time.monotonic() < end, done.stderr
        done = subprocess.run([self.midden, "report", "--snapshots", "--json", path], capture_output=True, check=True)
        return json.loads(done.stdout)["snapshots"]

    def wait_for(self, tmp_path, name, count):
        end = time.monotonic() + DEADLINE_S
        while True:
            found = [s for s in self.listed(tmp_path) if s["name"].startswith(name)]
            if len(found) >= count:
                return found
            assert time.monotonic() < end, f"{len(found)} snapshots, not {count}"

    def finish(self):
        return self.running.finish()


@pytest.fixture
def steps(midden, record, need_victim):
    started = []

    def start(*options):
        started.append(Steps(midden, record, need_victim, *options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.finish()


def test_a_limit_of_live_bytes_is_taken_note_of_each_time_it_is_reached(steps, tmp_path):
    run = steps("--snapshot-at", "live=25000")
    run.tell("+++")
    first = run.wait_for(tmp_path, "live=25000", 1)
    assert first[0]["live_bytes"] >= 25000
    run.tell("---")
    run.snapshot()
    run.snapshot()  # the limit has been looked at since the first was answered
    run.tell("++")
    run.wait_for(tmp_path, "live=25000", 2)
    recording = run.finish()
    assert recording.status == 7, "the program went its way"


def test_limits_of_the_process_and_of_the_machine(steps, tmp_path):
    run = steps("--snapshot-at", "rss=64K,memory=1%", "--snapshot-at", "rss=1000G")
    run.tell("+")
    run.wait_for(tmp_path, "rss=64K", 1)
    run.wait_for(tmp_path, "memory=1%", 1)
    assert not [s for s in run.listed(tmp_path) if s["name"] == "rss=1000G"]


# Half of what the victim maps and unmaps with these words is more than it has otherwise.
@pytest.mark.parametrize("figure, words, field, more", (("rss", "Mm", 1, 32 << 10), ("virtual", "Vv", 0, 32 << 20)))
def test_limits_of_the_process_count_each_time_they_are_reached(steps, tmp_path, figure, words, field, more):
    probe = steps()
    probe.tell("+")
    with open(f"/proc/{probe.pid}/statm", encoding="ascii") as f:
        now = int(f.read().split()[field]) * os.sysconf("SC_PAGESIZE")
    limit = f"{figure}={now // 1024 + more}K"
    run = steps("--snapshot-at", limit)
    end = time.monotonic() + DEADLINE_S
    seen = 0
    while seen < 3:  # a collector that sleeps through a fall sees the next one
        assert time.monotonic() < end, f"{seen} snapshots"
        run.tell(words[0])
        time.sleep(0.2)
        seen = len([s for s in run.listed(tmp_path) if s["name"] == limit])
        run.tell(words[1])
        time.sleep(0.2)
    assert run.finish().status == 7


def test_allocations_count_again_and_again(steps, tmp_path):
    run = steps("--snapshot-at", "allocations=20")
    for count in (1, 2, 3):
        run.tell("+++")
        kept = run.wait_for(tmp_path, "allocations=20", count)
    assert [s["live_blocks"] for s in kept[:3]] == sorted(s["live_blocks"] for s in kept[:3])
    assert run.finish().status == 7


def test_a_deep_stack_is_taken_note_of_and_a_deeper_one_again(steps, tmp_path):
    run = steps("--snapshot-at", "stack=1M")
    run.tell("+")
    assert run.listed(tmp_path) == []
    for count in (1, 2, 3):
        run.tell("D")
        run.wait_for(tmp_path, "stack=1M", count)
    assert run.finish().status == 7


def test_snapshots_are_taken_at_intervals(steps, tmp_path):
    run = steps("--snapshot-every", "0.05")
    run.tell("+")
    kept = run.wait_for(tmp_path, "at ", 3)
    times = [s["time_ns"] for s in kept]
    assert times == sorted(times) and times[0] >= 50_000_000


def test_a_signal_asks_for_a_snapshot_if_it_was_named(steps, tmp_path):
    run = steps("--snapshot-signal", "USR2")
    run.tell("+")
    os.kill(run.pid, signal.SIGUSR2)
    assert run.wait_for(tmp_path, "signal", 1)[0]["live_bytes"] == 10000
    os.kill(run.pid, signal.SIGUSR2)
    run.wait_for(tmp_path, "signal", 2)
    assert run.finish().status == 7


def check_signalled(midden, recording):
    done = subprocess.run([midden, "report", "--snapshots", "--json", recording.path], capture_output=True, check=True)
    found = json.loads(done.stdout)["snapshots"]
    assert [(s["name"], s["live_blocks"], s["live_bytes"]) for s in found] == [
        ("signal", 1000, 100_000),
        ("signal", 600, 60_000),
    ]


@pytest.mark.parametrize("end", ("", "at-once", "killed"))
@pytest.mark.parametrize("options", ((), ("--rss",)))
def test_a_signal_just_before_the_end_has_its_snapshot_of_that_moment(midden, record, need_victim, end, options):
    recording = record.victim(need_victim("signalled"), end, options=("--snapshot-signal", "USR1", *options))
    check_signalled(midden, recording)


def test_a_signal_ends_a_sleep_and_has_its_snapshot_though_the_program_ends_then(midden, record, need_victim):
    running = record.start_victim(need_victim("signalled"), "asleep", options=("--snapshot-signal", "USR1"))
    assert running.process.stdout.readline() == b"ready\n"
    program = find_program(running.process.pid, "signalled")
    wait_until(lambda: read_stat(program)[1] == "S", "the sleep")
    os.kill(program, signal.SIGUSR1)
    check_signalled(midden, running.finish())


def test_a_handler_of_the_program_takes_the_signal_for_itself_and_help_says_so(record, midden):
    script = "import os, signal; signal.signal(signal.SIGUSR2, lambda *_: print('mine')); os.kill(os.getpid(), signal.SIGUSR2)"
    recording = record.run(["/usr/bin/python3", "-c", script], options=("--snapshot-signal", "USR2"))
    assert (recording.status, recording.stdout) == (0, b"mine\n")
    told = subprocess.run([midden, "report", "--snapshots", recording.path], capture_output=True, text=True)
    assert "no snapshots" in told.stdout + told.stderr
    told = subprocess.run([midden, "help", "record"], capture_output=True, text=True).stdout
    assert "not if it has a handler of its own for it" in " ".join(told.split())


def test_no_signal_is_touched_otherwise(steps):
    run = steps()
    run.tell("+")
    os.kill(run.pid, signal.SIGUSR2)
    assert run.finish().status == 128 + signal.SIGUSR2


@pytest.mark.parametrize(
    "options",
    (
        ("--snapshot-every", "0"),
        ("--snapshot-every", "soon"),
        ("--snapshot-at", "rss"),
        ("--snapshot-at", "live=much"),
        ("--snapshot-at", "memory=101%"),
        ("--snapshot-at", "memory=5"),
        ("--snapshot-at", "stack=deep"),
        ("--snapshot-at", "live=1.5"),
        ("--snapshot-at", "allocations=1KiB"),
        ("--snapshot-signal", "KILL"),
        ("--snapshot-signal", "RTMIN"),
    ),
)
def test_what_makes_no_sense_is_refused(midden, options):
    done = subprocess.run([midden, "record", *options, "true"], capture_output=True, text=True)
    assert done.returncode == 2 and options[1] in done.stderr and "Traceback" not in done.stderr


def test_what_is_refused_comes_with_examples_of_what_is_not(midden):
    done = subprocess.run([midden, "record", "--snapshot-at", "rss=50X", "true"], capture_output=True, text=True)
    assert done.returncode == 2 and "512K, 1.5M, 2GiB" in done.stderr and "rss=50X" in done.stderr


def test_sizes_are_written_as_everywhere_else(steps, tmp_path):
    limits = ("live=20k", "live=20KB", "live=20KiB", "live=0.02m", "rss=1.5m", "allocations=0.02k")
    run = steps("--snapshot-at", ",".join(limits))
    run.tell("++")
    kept = {limit: run.wait_for(tmp_path, limit, 1)[0] for limit in ("live=20KB", "allocations=0.02k")}
    assert kept["live=20KB"]["live_bytes"] == 20000 and kept["allocations=0.02k"]["live_blocks"] == 20
    assert "live=20k" not in {s["name"] for s in run.listed(tmp_path)}
    run.tell("+")
    for limit in limits:
        run.wait_for(tmp_path, limit, 1)
    assert run.finish().status == 7
