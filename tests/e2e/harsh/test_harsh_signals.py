"""Signal handlers that do to a hook what handlers are not expected to do.

SPDX-License-Identifier: Apache-2.0
"""

import pytest
from tagging import read_trees


@pytest.fixture
def own_allocator(native):
    """The environment in which a handler may leave or copy the allocator at any point."""
    return {"LD_PRELOAD": str(native.victim("own_allocator.so"))}


@pytest.mark.parametrize("arguments", ((), ("alternate",)), ids=("same-stack", "alternate-stack"))
def test_a_thread_whose_handler_jumps_out_of_hooks_is_recorded_on(record, own_allocator, arguments):
    recording = record.victim("signal_jump", *arguments, env=own_allocator)
    assert recording.status == 0, recording.stderr
    check_jumps(recording.stats)


@pytest.mark.parametrize("way", ((), ("alternate",), ("realloc",)), ids=lambda way: way[0] if way else "same-stack")
def test_so_is_it_where_the_hooks_count_for_tags(midden, record, own_allocator, way):
    recording = record.victim("signal_jump", *way, options=["--tags"], env=own_allocator)
    assert recording.status == 0, recording.stderr
    scope = read_trees(midden, recording.path).root()
    # Whatever becomes of the 200 calls that were left, the blocks after them are all counted.
    assert scope["nBytesSelfRequested"] >= 1000 * 1000
    assert scope["nBytesSelfAllocated"] >= scope["nBytesSelfFreed"] + 1000 * 1000
    if way == ("realloc",):
        assert scope["nCallsTo_malloc"] in range(1200, 1200 + 10)
        assert recording.stats["lost_events"] == 200


def test_so_is_the_child_of_a_thread_whose_stack_is_not_the_first(record, own_allocator):
    recording = record.victim("signal_jump", "thread", options=["--follow"], env=own_allocator)
    assert recording.status == 0, recording.stderr
    (child,) = (stats for stats in recording.profiles() if stats["leaked_bytes"] > 500_000)
    check_jumps(child)


def test_so_is_a_thread_that_was_never_so_far_in_before(record, own_allocator):
    recording = record.victim("signal_jump", "deep", env=own_allocator)
    assert recording.status == 0, recording.stderr
    stats = recording.stats
    assert stats["reentrant_calls"] == 0
    assert stats["lost_events"] <= 20
    assert stats["leaked_bytes"] >= 20 * 1000


def check_jumps(stats):
    # What a hook was about to record when it was left is lost, and counted.
    assert 0 < stats["lost_events"] <= 200
    assert stats["reentrant_calls"] == 0
    assert stats["leaked_blocks"] in range(1000, 1000 + 201)
    assert stats["leaked_bytes"] >= 1000 * 1000


@pytest.mark.parametrize("options", ((), ("--sample=64",)), ids=("exact", "sampled"))
def test_a_handlers_calls_are_told_from_the_allocators_own(record, own_allocator, options):
    recording = record.victim("signal_in_realloc", options=list(options), env=own_allocator)
    assert recording.status == 0, recording.stderr
    stats, truth = recording.stats, recording.truth.total
    # The handler's malloc and free within each realloc: passed through, and nothing else was.
    assert stats["reentrant_calls"] == 100 * 2
    for name in ("lost_events", "foreign_frees", "failed_allocations"):
        assert stats[name] == 0, name
    for name in ("allocations", "frees", "reallocations"):
        assert stats[name] == truth[name], name


@pytest.mark.parametrize("arguments", (("100",), ("100", "bare")), ids=("fork", "_Fork"))
def test_a_child_forked_by_a_handler_inside_a_hook_lives(record, own_allocator, arguments):
    recording = record.victim("fork_in_handler", *arguments, env=own_allocator)
    assert recording.status == 0, recording.stderr
    assert recording.stats["reentrant_calls"] == 0


@pytest.mark.parametrize("options", ((), ("--follow",)), ids=("left-alone", "followed"))
def test_a_child_cloned_by_a_handler_inside_a_hook_lives_if_it_stays_in_the_handler(record, own_allocator, options):
    recording = record.victim("fork_in_handler", "20", "clone", options=list(options), env=own_allocator)
    assert recording.status == 0, recording.stderr
    children = [stats for stats in recording.profiles() if stats["leaked_bytes"] > 90_000]
    assert len(children) == (20 if options else 0)
    assert all(stats["leaked_blocks"] in (100, 101) for stats in children)


def test_such_a_child_is_followed_when_it_has_left_the_hook(record, own_allocator):
    recording = record.victim("fork_in_handler", "12", options=["--follow"], env=own_allocator)
    assert recording.status == 0, recording.stderr
    profiles = recording.profiles()
    assert len(profiles) == 13
    # The one event under way at the fork belongs to neither.
    for child in profiles:
        if child["leaked_bytes"] > 1000:
            assert 99 <= child["leaked_blocks"] <= 101
    assert sum(child["leaked_bytes"] > 90000 for child in profiles) == 12
