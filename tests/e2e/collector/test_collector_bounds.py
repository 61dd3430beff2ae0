"""Memory and disk do not grow with the number of events.

20 million events by default; 500 million with MIDDEN_TEST_LONG=1.

SPDX-License-Identifier: Apache-2.0
"""

import time

import pytest

from processes import find_collector, resident_bytes, wait_until

FILE_BYTES_MOST = 10 << 20
GROWTH_BYTES_MOST = 4 << 20

pytestmark = pytest.mark.alone


def watch(running, collector):
    """The collector's anonymous memory, sampled until the recording ends."""
    samples = []
    while running.process.poll() is None:
        resident = resident_bytes(collector)
        if resident:
            samples.append(resident[0])
        time.sleep(0.01)
    return samples


def test_a_small_live_set_keeps_the_collector_flat_and_the_file_small(record, is_long):
    events = 500_000_000 if is_long else 20_000_000
    running = record.start_victim("churn", events)
    collector = wait_until(lambda: find_collector(running.process.pid), "the collector")
    samples = watch(running, collector)
    recording = running.finish()
    stats = recording.stats
    assert recording.status == 0
    assert stats["allocations"] == stats["frees"] == events // 2
    assert (stats["leaked_bytes"], stats["lost_events"]) == (0, 0)
    assert recording.path.stat().st_size < FILE_BYTES_MOST
    assert len(samples) > 20, "the run was too short to watch"
    # From a third of the run on nothing may grow; the last samples see symbols being resolved.
    early, late = samples[len(samples) // 3], samples[len(samples) * 9 // 10]
    assert late - early < GROWTH_BYTES_MOST


def test_the_time_series_stays_a_few_hundred_points(record):
    recording = record.victim("churn", 2_000_000)
    points = recording.stats["points"]
    assert 2 <= len(points) <= 1024
    times = [point["time_ns"] for point in points]
    assert times == sorted(times)
    assert points[-1]["allocations"] == recording.stats["allocations"]
    assert max(point["peak_bytes"] for point in points) == recording.stats["peak_bytes"]
