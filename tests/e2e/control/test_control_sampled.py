"""A program directs its own recording while blocks are sampled.

With a period of one byte every block is a sample that stands for itself: all figures must be those of
exact mode. (A block of 7 bytes, which scene threshold has, stands for 1.0003 blocks.)

SPDX-License-Identifier: Apache-2.0
"""

import subprocess

import pytest

SCENES = ("switch", "thread", "last", "clear", "delayed", "threshold", "summary", "report", "name")
FIGURES = """allocations frees allocated_bytes freed_bytes leaked_blocks leaked_bytes peak_blocks peak_bytes
temporary_allocations reallocations foreign_frees lost_events threads stacks""".split()


@pytest.fixture
def scene(record):
    def run(name, *options):
        delay = ("--delayed",) if name == "delayed" else ()
        recording = record.victim("control_moments", name, options=(*delay, *options))
        assert recording.status == 0, recording.stderr
        return recording

    return run


def figures(stats):
    return {name: stats[name] for name in FIGURES}


def threads(stats):
    return sorted((t["allocations"], t["allocated_bytes"]) for t in stats["thread_list"])


@pytest.mark.parametrize("name", SCENES)
def test_orders_have_the_same_effect_as_in_exact_mode(scene, name):
    exact, sampled = scene(name), scene(name, "--sample=1")
    assert figures(sampled.stats) == figures(exact.stats)
    assert threads(sampled.stats) == threads(exact.stats)
    assert sampled.truth.notes == exact.truth.notes


def test_what_is_counted_between_orders_is_exact_however_rare_samples_are(scene):
    counted = {name: scene(name, "--sample=1G").stats for name in ("switch", "clear", "delayed", "report")}
    assert {name: (s["allocations"], s["allocated_bytes"]) for name, s in counted.items()} == {
        "switch": (14, 1200),
        "clear": (5, 5000),
        "delayed": (3, 30),
        "report": (6, 80),
    }
    assert counted["clear"]["frees"] == 2


def test_the_memory_of_a_pool_counts_as_the_block_that_it_is(scene):
    stats = scene("pool", "--sample=1").stats
    assert (stats["allocations"], stats["frees"], stats["peak_bytes"]) == (1, 1, 4096)


def test_in_tag_mode_counters_and_snapshots_start_over_at_a_clear(midden, scene):
    recording = scene("clear", "--tags")
    assert (recording.stats["allocations"], recording.stats["frees"]) == (5, 2)
    done = subprocess.run([midden, "tags", "-s", "1", recording.path], capture_output=True, text=True, check=True)
    assert "  4.88 KiB   4.88 KiB      208 B            5  " in done.stdout, "since the clear, and of the second snapshot"


def test_in_tag_mode_a_summary_has_what_was_counted(scene):
    notes = scene("summary", "--tags").truth.notes
    exact = scene("summary").truth.notes
    assert notes[:3] == (10, 10, 10) and (notes[3], notes[6]) == (exact[3], exact[6])
    # Usable sizes: 6 of 104 and one of 312 bytes, 7 of 24 by the other thread.
    assert notes[4] - notes[5] == 7 * 24 and notes[5] >= 6 * 104 + 312
    assert notes[7] == 1 and notes[9] == exact[9]


def test_in_tag_mode_threads_have_their_counts(midden, scene):
    recording = scene("summary", "--tags")
    threads = sorted(recording.stats["thread_list"], key=lambda thread: thread["serial"])
    assert threads[1]["allocations"] == 7 and threads[1]["allocated_bytes"] == 70
    shown = subprocess.run([midden, "stats", recording.path], capture_output=True, text=True, check=True).stdout
    assert "by tag" in shown and "peak  " not in shown and "leaked" not in shown
