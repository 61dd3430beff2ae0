"""Libraries that go away while their addresses are still looked at.

SPDX-License-Identifier: Apache-2.0
"""


def test_a_stale_frame_record_into_a_library_that_goes_away_does_no_harm(record, native):
    plugin = native.victim("plugin_one.so")
    recording = record.victim("stale_record", plugin, 4000)
    assert recording.status == 0, recording.stderr
    stats = recording.stats
    assert stats["lost_events"] == 0
    assert stats["allocations"] - stats["frees"] == stats["leaked_blocks"]
