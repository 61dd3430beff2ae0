"""Tag mode: what is counted is what was done, by tag and thread.

SPDX-License-Identifier: Apache-2.0
"""

import subprocess

from tagging import read_trees


def test_each_tag_has_what_was_done_inside_it(counted):
    trees, recording = counted("nest")
    outer, inner = trees.scope("outer"), trees.scope("outer", "inner")
    assert recording.status == 0 and len(trees.trees) == 1
    assert outer["nBytesSelfRequested"] == 1000 and inner["nBytesSelfRequested"] == 1000
    assert outer["nBytesSelfAllocated"] == recording.truth.notes[0]
    assert inner["nBytesSelfAllocated"] == inner["nBytesSelfFreed"] == recording.truth.notes[1]
    assert outer["nBytesTotalAllocated"] == sum(recording.truth.notes[:2])
    assert (outer["nTimesEnteredAndExited"], inner["nTimesEnteredAndExited"]) == (1, 10)
    assert (outer["nCallsTo_malloc"], inner["nCallsTo_malloc"], inner["nCallsTo_free"]) == (1, 10, 10)
    assert trees.root()["nCallsTo_malloc"] == 0


def test_the_totals_of_the_profile_are_those_of_all_tags(counted):
    _, recording = counted("nest")
    stats = recording.stats
    assert stats["mode"] == "tags"
    assert (stats["allocations"], stats["frees"], stats["allocated_bytes"]) == (11, 10, 2000)
    assert stats["lost_events"] == 0


def test_a_million_blocks_in_ten_tags_are_all_counted(counted):
    trees, _ = counted("busy")
    for name in "abcdefghij":
        scope = trees.scope(name)
        assert (scope["nCallsTo_malloc"], scope["nCallsTo_free"]) == (100000, 100000)
        assert scope["nBytesSelfRequested"] == 4800000
        assert scope["nBytesSelfAllocated"] == scope["nBytesSelfFreed"]


def test_a_realloc_frees_the_old_size_and_one_that_fails_counts_nothing(counted):
    trees, recording = counted("resize")
    scope = trees.scope("resize")
    assert scope["nBytesSelfAllocated"] == scope["nBytesSelfFreed"] == recording.truth.notes[0]
    assert scope["nBytesSelfRequested"] == 1150
    assert (scope["nCallsTo_malloc"], scope["nCallsTo_realloc"], scope["nCallsTo_free"]) == (1, 2, 1)
    assert recording.stats["failed_allocations"] == 1 and recording.stats["reallocations"] == 2


def test_a_malloc_that_fails_counts_nothing_but_that(counted):
    trees, recording = counted("failing")
    scope = trees.scope("failing")
    assert (scope["nCallsTo_malloc"], scope["nCallsTo_free"]) == (1000, 1000)
    assert scope["nBytesSelfRequested"] == 100000
    assert recording.stats["failed_allocations"] == 10


def test_the_aligned_functions_are_seen_as_their_frees_are(counted):
    trees, _ = counted("aligned")
    scope = trees.scope("aligned")
    assert scope["nCallsTo_aligned"] == 5 and scope["nBytesSelfRequested"] == 500
    assert scope["nBytesSelfAllocated"] == scope["nBytesSelfFreed"] > 0
    scope = trees.scope("calloc")
    assert (scope["nCallsTo_calloc"], scope["nBytesSelfRequested"], scope["nCallsTo_free"]) == (1, 100, 1)
    assert scope["nBytesSelfAllocated"] == scope["nBytesSelfFreed"]


def test_a_scope_of_c_is_left_with_its_block(counted):
    trees, _ = counted("block_scope")
    assert trees.requested("block") == 10 and trees.requested() == 20
    assert trees.scope("block")["nTimesNotExited"] == 0


def test_a_thread_works_inside_the_tag_of_another(counted):
    trees, recording = counted("handing_on")
    before, stale, after = recording.truth.notes[:3]
    assert (before, stale, after) == (0, 0, 0)
    assert trees.requested("request", "parse", tree=1) == 500
    assert trees.requested("request", "parse", "inner", tree=1) == 600
    assert trees.requested(tree=1) == 1500
    assert trees.whole["nStaleHandles"] == 1
    assert trees.scope("request", "parse", tree=1)["nTimesEnteredAndExited"] == 1


def test_a_snapshot_has_what_was_counted_when_it_was_asked_for(midden, counted):
    trees, recording = counted("moments")
    steps = [read_trees(midden, "-s", which, recording.path).requested("step") for which in ("1", "two")]
    assert steps == [100, 300] and trees.requested("step") == 700


def test_snapshots_are_written_one_by_one(midden, counted, tmp_path):
    _, recording = counted("moments")
    prefix = tmp_path / "snap"
    done = subprocess.run([midden, "tags", "--each", "-o", prefix, recording.path], capture_output=True)
    assert done.returncode == 0
    assert sorted(path.name for path in tmp_path.glob("snap.*")) == ["snap.0000.json", "snap.0001.json"]


def test_preloading_alone_counts_too(midden, native, library, tmp_path):
    path = tmp_path / "alone.mdn"
    env = {"LD_PRELOAD": library, "MIDDEN_MODE": "tags", "MIDDEN_OUTPUT": str(path)}
    done = subprocess.run(native.command("tagged", "nest"), env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for _ in range(600):
        if path.exists():
            break
        subprocess.run(["sleep", "0.1"])
    assert read_trees(midden, path).requested("outer", "inner") == 1000


def test_without_midden_the_program_runs_unchanged(native):
    done = subprocess.run(native.command("tagged", "siblings"), capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_scopes_of_cxx_are_left_by_exceptions_and_adopted_by_threads(midden, record, need_victim):
    recording = record.victim(need_victim("tag_scopes"), options=("--tags",))
    trees = read_trees(midden, recording.path)
    assert trees.requested("Parser::run") == 1000
    assert trees.requested("outer", "thrower") >= 2000  # and the exception itself
    assert trees.scope("outer", "thrower")["nTimesNotExited"] == 0
    assert trees.scope("outer")["nTimesEnteredAndExited"] == 1
    assert trees.requested("outer", "task", tree=1) == 4000
    assert trees.requested("outer") >= 3000
    assert trees.whole["nUnmatchedPops"] == trees.whole["nSkippedPops"] == 0
