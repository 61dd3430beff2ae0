"""Control from many threads at once, while others allocate.

SPDX-License-Identifier: Apache-2.0
"""

import pytest
from recording import check_consistent, read_stats


@pytest.fixture
def storm(record, tmp_path):
    """The recording, with its notes named."""

    def run(rounds, *options):
        recording = record.victim("control_storm", str(rounds), str(tmp_path), options=("--no-symbols", *options))
        assert recording.status == 0, recording.stderr
        recording.odd, recording.live_before, recording.failed, recording.files = recording.truth.notes[:4]
        recording.written = sorted(tmp_path.glob("storm.?.mdn"))
        assert recording.files > 0
        assert (recording.stats["foreign_frees"], recording.stats["lost_events"]) == (0, 0)
        return recording

    return run


def test_nothing_is_lost_and_figures_stay_consistent(storm):
    recording = storm(100000)
    stats = recording.stats
    assert (recording.odd, recording.failed) == (0, 0)
    assert recording.live_before <= 8, "what pthread_create keeps for stacks; all blocks of the threads are gone"
    assert stats["allocations"] == 1000 + recording.live_before and stats["frees"] == 0
    check_consistent(stats)
    for path in recording.written:
        early = read_stats(path, "--sites")
        assert early["frees"] <= early["allocations"]
        check_consistent(early)


def test_nor_is_anything_where_each_block_is_a_sample_that_stands_for_itself(storm):
    recording = storm(100000, "--sample=1")
    stats = recording.stats
    assert recording.failed == 0 and recording.live_before <= 8
    assert stats["allocations"] == 1000 + recording.live_before and stats["frees"] == 0
    check_consistent(stats)


def test_so_it_is_where_few_blocks_are_samples(storm):
    recording = storm(400000, "--sample=4K")
    stats = recording.stats
    assert recording.failed == 0
    # What pthread_create keeps may be a sample or not, and stands for as many as its weight says.
    assert stats["allocations"] - recording.live_before == 1000
    for path in recording.written:
        assert not read_stats(path)["damaged"]


def test_and_where_nothing_but_counters_is_kept(storm):
    recording = storm(400000, "--tags")
    stats = recording.stats
    assert recording.failed == 0
    assert (stats["allocations"], stats["allocated_bytes"], stats["frees"]) == (1000, 100000, 0), "since the last clear"
    for path in recording.written:
        assert not read_stats(path)["damaged"]
