"""A program that lies to its collector spoils its own profile and nothing else.

SPDX-License-Identifier: Apache-2.0
"""

import pytest


@pytest.mark.parametrize("seed", range(1, 7))
def test_a_program_that_scribbles_over_its_segment_gets_a_profile_all_the_same(record, need_victim, seed):
    recording = record.victim(need_victim("scribbler"), seed)
    # The library in the program may trip over what it finds there; the collector may not.
    assert recording.status in (0, 128 + 4, 128 + 6, 128 + 7, 128 + 8, 128 + 11)
    assert "collector died" not in recording.stderr
    stats = recording.stats
    assert stats["program"] == "scribbler"
    assert stats["allocations"] <= 300_000
    assert stats["frees"] <= stats["allocations"]


def test_a_program_that_says_hello_again_and_again_gets_no_collector_for_each(record, need_victim):
    recording = record.victim(need_victim("greeter"), 80)
    assert recording.status == 0, recording.stderr
    # One of the 32 is the library's own.
    assert recording.stdout == b"31\n"
    assert recording.stderr.count("it gets no more") == 1
    assert "collector died" not in recording.stderr
