"""The collector is killed or stopped in mid-run: the program goes on and ends as it should.

SPDX-License-Identifier: Apache-2.0
"""

import os
import signal
import subprocess

import pytest

from processes import find_collector, find_program, read_stat, wait_until
from truth import Truth

PATIENCE_MS = 1000
STEPS = 2_000_000

# Starting up, being scheduled on a busy machine; far below what a hang would take.
SLACK_S = 8.0

pytestmark = pytest.mark.alone


def start(record, threads):
    """A running victim that has done some of its work, and its collector."""
    running = record.start_victim("steady_work", threads, STEPS, env={"MIDDEN_PATIENCE": str(PATIENCE_MS)})
    collector = wait_until(lambda: find_collector(running.process.pid), "the collector")
    wait_until(
        lambda: running.truth_path.exists()
        and running.truth_path.stat().st_size > 0
        and Truth(running.truth_path).total["allocations"] > 20_000,
        "the victim's work",
    )
    assert Truth(running.truth_path).notes[0] == 0, "the victim ended before its collector could be disturbed"
    return running, collector


def all_was_done(recording, threads):
    assert recording.status == 42
    total = recording.truth.total
    assert total["allocations"] == total["frees"] == threads * STEPS


@pytest.mark.parametrize("threads", (1, 4))
def test_a_killed_collector_leaves_the_program_unharmed(record, threads):
    running, collector = start(record, threads)
    os.kill(collector, signal.SIGKILL)
    recording = running.finish()
    all_was_done(recording, threads)
    assert "midden" in recording.stderr, "the loss of the collector is not mentioned"


@pytest.mark.parametrize("threads", (1, 4))
def test_a_stopped_collector_delays_the_program_by_its_patience_at_most(record, threads):
    running, collector = start(record, threads)
    os.kill(collector, signal.SIGSTOP)
    try:
        limit = PATIENCE_MS / 1000 + SLACK_S
        wait_until(lambda: Truth(running.truth_path).notes[0], "the victim's end of work", timeout=limit)
    finally:
        os.kill(collector, signal.SIGCONT)
    recording = running.finish()
    all_was_done(recording, threads)
    longest_step_s = recording.truth.notes[2] / 1e9
    assert longest_step_s < PATIENCE_MS / 1000 + 1.0
    assert recording.stats["lost_events"] > 0


@pytest.mark.parametrize("options", ([], ["--stacks"]), ids=("plain", "stacks"))
def test_a_program_that_exits_waits_no_longer_for_a_stopped_collector(midden, tmp_path, options):
    command = [midden, "record", "-q", "--no-symbols", *options, "-o", tmp_path / "cat.mdn", "--", "cat"]
    environment = {**os.environ, "MIDDEN_PATIENCE": "200"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as recorder:
        collector = wait_until(lambda: find_collector(recorder.pid), "the collector")
        program = wait_until(lambda: find_program(recorder.pid, "cat"), "the program")
        os.kill(collector, signal.SIGSTOP)
        try:
            recorder.stdin.close()
            wait_until(lambda: (read_stat(program) or ("", "Z", 0))[1] in "ZX", "the program's end", timeout=SLACK_S)
        finally:
            os.kill(collector, signal.SIGCONT)
    assert recorder.returncode == 0


def test_a_short_pause_of_the_collector_loses_nothing(record):
    running, collector = start(record, 1)
    os.kill(collector, signal.SIGSTOP)
    wait_until(lambda: is_stopped(collector), "the collector to stop")
    os.kill(collector, signal.SIGCONT)
    recording = running.finish()
    all_was_done(recording, 1)
    assert recording.stats["lost_events"] == 0
    assert recording.stats["frees"] == STEPS


def is_stopped(pid):
    return (read_stat(pid) or ("", "T", 0))[1] in "Tt"
