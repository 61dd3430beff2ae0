"""Sampled programs: what is counted is exact, whatever is sampled.

SPDX-License-Identifier: Apache-2.0
"""

import subprocess

import pytest

import cases
from recording import sites_through

COUNTED = ("allocations", "frees", "allocated_bytes", "reallocations", "failed_allocations")
LOSSES = ("lost_events", "foreign_frees", "reentrant_calls", "truncated_stacks")


def record_sampled(record, case, *options):
    """(the recording, the stats of the bare run or None)"""
    recording = record.victim(case.victim, *case.arguments, env=case.env, options=options)
    assert recording.status == 0, recording.stderr
    assert recording.stats["mode"] == "sample"
    base = None
    if case.bare is not None:
        base = record.victim(case.victim, *case.bare, env=case.bare_env, options=options).stats
    return recording, base


def check_counted(recording, base=None):
    stats, truth = recording.stats, recording.truth.total
    expected = {name: truth.get(name, 0) + (base[name] if base else 0) for name in COUNTED if name in truth}
    expected.update(dict.fromkeys(LOSSES, 0))
    assert {name: stats[name] for name in expected} == expected


@cases.each([case for case in [*cases.SINGLE, *cases.THREADED] if case.victim not in ("peak_places", "deep_stack")])
def test_calls_and_bytes_are_counted_exactly(record, case):
    recording, base = record_sampled(record, case, "--sample=64K", "--no-symbols")
    check_counted(recording, base)
    assert recording.stats["threads"] == case.threads


@cases.each([case for case in [*cases.SINGLE, *cases.THREADED] if case.victim != "short_threads"])
def test_with_a_period_of_one_byte_nearly_every_block_is_a_sample(record, case):
    """Blocks of 40 bytes and more always are: what others add is theirs to be wrong about."""
    recording, base = record_sampled(record, case, "--sample=1", "--no-symbols")
    check_counted(recording, base)
    stats, truth = recording.stats, recording.truth.total
    for name in ("peak_bytes", "leaked_bytes"):
        true = truth[name] + (base[name] if base else 0)
        assert abs(stats[name] - true) <= 0.01 * true + 60, name


def test_of_ten_thousand_threads_few_have_figures_of_their_own_and_the_rest_one_sum(record):
    stats = record.victim("short_threads", "full", options=("--sample=64K", "--no-symbols")).stats
    own, others = stats["thread_list"][:-1], stats["thread_list"][-1]
    assert stats["threads"] == 10001 and len(own) == 1023
    assert others["name"] == "(other threads)" and others["allocations"] >= 3 * (10001 - 1023)
    for name in ("allocations", "allocated_bytes"):
        assert sum(thread[name] for thread in stats["thread_list"]) == stats[name]


ALLOCATORS = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_other_allocators_are_counted_as_they_are_in_exact_mode(record, allocator):
    listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    if ALLOCATORS[allocator] not in listing:
        pytest.skip(f"{allocator} is not installed")
    env = {"LD_PRELOAD": ALLOCATORS[allocator]}
    for victim, mode in (("realloc_chain", "moved"), ("realloc_chain", "null"), ("new_forms", "forms")):
        exact = record.victim(victim, mode, env=env, options=("--no-symbols",)).stats
        for period in ("--sample=1", "--sample=64K"):
            stats = record.victim(victim, mode, env=env, options=(period, "--no-symbols")).stats
            assert {name: stats[name] for name in COUNTED} == {name: exact[name] for name in COUNTED}, victim


def test_temporary_blocks_are_known_though_few_are_sampled(record):
    stats = record.victim("temporaries", options=("--sample=1",)).stats
    exact = record.victim("temporaries").stats
    assert exact["temporary_allocations"] > 0
    assert abs(stats["temporary_allocations"] - exact["temporary_allocations"]) <= (
        0.05 * exact["temporary_allocations"] + 3
    )


def test_samples_have_the_stacks_of_their_blocks(record):
    stats = record.victim("deep_stack", "400", options=("--sample=1",)).stats
    (deep,) = sites_through(stats, "at_the_bottom")
    assert deep["allocated_bytes"] == 100
