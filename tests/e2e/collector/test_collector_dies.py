"""The collector is killed or stopped in mid-run: the program goes on and ends as it should.

SPDX-License-Identifier: Apache-2.0
"""

import os
import signal
import subprocess
import time

import pytest

from processes import find_collector, find_program, read_stat, stop, wait_until
from recording import TIMEOUT_S
from truth import Truth

PATIENCE_MS = 1000
STEPS = 2_000_000

# Being scheduled on a busy machine; far below what a hang would take. It may be busier than that: then once more.
SLACK_S = 8.0
TRIES = 5

pytestmark = pytest.mark.alone


def start(record, threads, patience_ms=PATIENCE_MS):
    """A victim that was stopped after some of its work, and its collector."""
    environment = {"MIDDEN_PATIENCE": str(patience_ms)}
    running, program = record.start_and_stop_work(threads, STEPS, after=20_000, env=environment)
    return running, program, find_collector(running.process.pid)


def all_was_done(recording, threads):
    assert recording.status == 42
    total = recording.truth.total
    assert total["allocations"] == total["frees"] == threads * STEPS


@pytest.mark.parametrize("threads", (1, 4))
def test_a_killed_collector_leaves_the_program_unharmed(record, threads):
    running, program, collector = start(record, threads)
    os.kill(collector, signal.SIGKILL)
    os.kill(program, signal.SIGCONT)
    recording = running.finish()
    all_was_done(recording, threads)
    assert "midden" in recording.stderr, "the loss of the collector is not mentioned"


@pytest.mark.parametrize("threads", (1, 4))
def test_a_stopped_collector_delays_the_program_by_its_patience_at_most(record, threads):
    longest_steps_s = []
    while len(longest_steps_s) < TRIES and min(longest_steps_s, default=TIMEOUT_S) >= PATIENCE_MS / 1000 + 1.0:
        running, program, collector = start(record, threads)
        stop(collector)
        os.kill(program, signal.SIGCONT)
        try:
            wait_until(lambda: Truth(running.truth_path).notes[0], "the victim's end of work")
        finally:
            os.kill(collector, signal.SIGCONT)
        recording = running.finish()
        all_was_done(recording, threads)
        assert recording.stats["lost_events"] > 0
        longest_steps_s.append(recording.truth.notes[2] / 1e9)
    assert min(longest_steps_s) < PATIENCE_MS / 1000 + 1.0


@pytest.mark.parametrize("options", ([], ["--stacks"]), ids=("plain", "stacks"))
def test_a_program_that_exits_waits_no_longer_for_a_stopped_collector(midden, tmp_path, options):
    command = [midden, "record", "-q", "--no-symbols", *options, "-o", tmp_path / "cat.mdn", "--", "cat"]
    times_s = []
    while len(times_s) < TRIES and min(times_s, default=SLACK_S) >= SLACK_S:
        times_s.append(time_of_exit(command))
    assert min(times_s) < SLACK_S


def time_of_exit(command):
    """How long a program takes to end whose collector stands still: the seconds after the end of its input."""
    environment = {**os.environ, "MIDDEN_PATIENCE": "200"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as recorder:
        recorder.stdin.write(b"ready\n")
        recorder.stdin.flush()
        assert recorder.stdout.readline() == b"ready\n"
        collector, program = find_collector(recorder.pid), find_program(recorder.pid, "cat")
        stop(collector)
        try:
            start = time.monotonic()
            recorder.stdin.close()
            wait_until(lambda: (read_stat(program) or ("", "Z", 0))[1] in "ZX", "the program's end")
            taken_s = time.monotonic() - start
        finally:
            os.kill(collector, signal.SIGCONT)
    assert recorder.returncode == 0
    return taken_s


def test_a_short_pause_of_the_collector_loses_nothing(record):
    running, program, collector = start(record, 1, patience_ms=60_000)  # a busy machine may make it a long one
    stop(collector)
    os.kill(program, signal.SIGCONT)
    os.kill(collector, signal.SIGCONT)
    recording = running.finish()
    all_was_done(recording, 1)
    assert recording.stats["lost_events"] == 0
    assert recording.stats["frees"] == STEPS
