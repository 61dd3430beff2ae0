"""Control from many threads at once, while others allocate.

SPDX-License-Identifier: Apache-2.0
"""

from recording import check_consistent, read_stats


def test_nothing_is_lost_and_figures_stay_consistent(record, tmp_path):
    recording = record.victim("control_storm", "100000", str(tmp_path), options=("--no-symbols",))
    assert recording.status == 0, recording.stderr
    odd, live_before, failed, files = recording.truth.notes[:4]
    stats = recording.stats
    assert (odd, failed) == (0, 0)
    assert live_before <= 8, "what pthread_create keeps for stacks; all blocks of the threads are gone"
    assert stats["allocations"] == 1000 + live_before and stats["frees"] == 0
    assert (stats["foreign_frees"], stats["lost_events"]) == (0, 0)
    check_consistent(stats)
    assert files > 0
    written = sorted(tmp_path.glob("storm.?.mdn"))
    for path in written:
        early = read_stats(path, "--sites")
        assert early["frees"] <= early["allocations"]
        check_consistent(early)
