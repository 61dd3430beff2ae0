"""Programs with one thread and a known heap: every figure is exactly theirs.

SPDX-License-Identifier: Apache-2.0
"""

import cases
from recording import check_exact, function_names, sites_through

# libstdc++ up to 12, and since: set aside at start-up for exceptions when memory is out.
EMERGENCY_POOL_BYTES = (72704, 73728)


@cases.each(cases.SINGLE)
def test_every_figure_equals_the_victims_own_account(record, case):
    recording, base = cases.record_case(record, case)
    check_exact(recording, base)
    assert recording.stats["threads"] == 1


def test_failing_calls_are_counted_and_leave_no_block(record):
    recording, _ = cases.record_case(record, cases.FAILING)
    assert recording.stats["failed_allocations"] == 200
    assert recording.stats["allocations"] == 0
    check_exact(recording)


def test_a_cxx_program_that_does_nothing_has_only_libstdcxx_s_emergency_pool(record):
    stats = record.victim("new_forms", "bare").stats
    assert (stats["allocations"], stats["frees"], stats["peak_blocks"]) == (1, 0, 1)
    assert stats["allocated_bytes"] in EMERGENCY_POOL_BYTES


def test_streams_give_back_what_they_took(record):
    stats = record.victim("libc_strings", "streams").stats
    assert stats["allocations"] > 1000
    assert (stats["leaked_blocks"], stats["leaked_bytes"], stats["foreign_frees"]) == (0, 0, 0)


def test_a_stack_deeper_than_the_limit_is_cut_and_counted(record):
    recording = record.victim("deep_stack", "600")
    stats = recording.stats
    assert stats["truncated_stacks"] == 1
    assert (stats["allocations"], stats["allocated_bytes"]) == (11, 180)
    deep = sites_through(stats, "at_the_bottom")
    assert len(deep) == 1 and deep[0]["allocated_bytes"] == 100


def test_a_stack_within_the_limit_reaches_from_the_leaf_to_main(record):
    stats = record.victim("deep_stack", "400").stats
    (deep,) = sites_through(stats, "at_the_bottom")
    names = function_names(deep)
    assert names.count("descend") == 400
    assert "main" in names


def test_a_plugin_that_was_unloaded_is_still_named(record, native):
    plugins = [native.victim("plugin_one.so"), native.victim("plugin_two.so")]
    bare = record.victim("plugin_host", "bare", *plugins).stats
    recording = record.victim("plugin_host", "full", *plugins)
    stats, truth = recording.stats, recording.truth.total
    for name in ("allocations", "frees", "allocated_bytes", "freed_bytes", "leaked_bytes"):
        assert stats[name] == truth[name] + bare[name], name
    for name, size in (("plugin_one_make", 1111), ("plugin_two_make", 2222)):
        sites = sites_through(stats, name)
        assert sum(site["allocations"] for site in sites) == 20
        assert sum(site["allocated_bytes"] for site in sites) == 20 * size
        assert sum(site["leaked_blocks"] for site in sites) == 10


def test_allocations_in_a_signal_handler_are_counted_or_counted_as_lost(record):
    recording = record.victim("signal_alloc")
    stats, truth = recording.stats, recording.truth
    assert recording.status == 0
    assert truth.notes[0] > 0, "the timer never fired: the test tests nothing"
    # A call that interrupted a hook passes through unrecorded. A missed free makes a block look live, and a
    # missed malloc makes its free foreign: each difference is covered by a counted call.
    missed = truth.total["allocations"] - stats["allocations"]
    assert 0 <= missed <= stats["reentrant_calls"]
    assert abs(truth.total["frees"] - stats["frees"]) <= stats["reentrant_calls"]
    if stats["reentrant_calls"] == 0:
        assert stats["leaked_blocks"] == 0


def test_a_rust_program_is_exact_and_its_names_are_readable(record, need_victim):
    need_victim("rust_heap")
    bare = record.victim("rust_heap", "bare").stats
    stats = record.victim("rust_heap", "full").stats
    assert stats["allocations"] - bare["allocations"] == 1001
    assert stats["frees"] - bare["frees"] == 401
    assert stats["allocated_bytes"] - bare["allocated_bytes"] == 1000 * 128 + 5000
    assert stats["leaked_bytes"] - bare["leaked_bytes"] == 600 * 128
    sites = sites_through(stats, "rust_heap::ledger::fill")
    assert sum(site["allocations"] for site in sites) == 1000
