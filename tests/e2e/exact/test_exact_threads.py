"""Programs with threads and a known heap: every figure is exactly theirs, every time.

MIDDEN_TEST_REPEATS says how often (5; the acceptance figure is 100).

SPDX-License-Identifier: Apache-2.0
"""

import cases
from recording import check_exact


@cases.each(cases.THREADED)
def test_every_figure_equals_the_threads_own_accounts(record, case, repeat):
    recording, base = cases.record_case(record, case)
    check_exact(recording, base, but=case.but)
    assert recording.stats["threads"] == case.threads


def test_what_static_and_thread_local_objects_free_at_once_is_temporary(record):
    recording, base = cases.record_case(record, cases.STATIC)
    assert base["temporary_allocations"] == 2
    assert recording.stats["temporary_allocations"] == recording.truth.total["temporary_allocations"]


def test_each_thread_has_its_own_figures_and_its_name(record):
    recording = record.victim("named_threads", "full")
    threads = {thread["name"]: thread for thread in recording.stats["thread_list"]}
    for i in range(4):
        worker, slot = threads[f"worker-{i}"], recording.truth.slots[i + 1]
        for name in ("allocations", "allocated_bytes", "frees", "freed_bytes"):
            assert worker[name] == slot[name], f"worker-{i}: {name}"
        assert worker["temporary"] == slot["temporary_allocations"]
        assert worker["start_ns"] <= worker["end_ns"]
    # The dtv of each new thread is the creating thread's allocation, so only the frees are its own alone.
    assert threads["the-boss"]["frees"] == 0
    assert threads["the-boss"]["allocations"] >= 7


def test_blocks_freed_by_another_thread_belong_to_the_one_that_made_them(record):
    recording = record.victim("cross_free", "full")
    workers = sorted(recording.stats["thread_list"], key=lambda thread: thread["serial"])[1:]
    made = sorted(slot["allocations"] for slot in recording.truth.slots[1:])
    assert sorted(worker["allocations"] for worker in workers) == made
    assert all(worker["live_blocks"] == 10 for worker in workers)


SHARED = ("allocations", "allocated_bytes", "frees", "freed_bytes", "leaked_bytes", "peak_bytes", "temporary")


def shares_of(stats, serial):
    """The sum of a thread's shares over all sites."""
    shares = [share for site in stats["sites"] for share in site["threads"] if share["serial"] == serial]
    return {name: sum(share[name] for share in shares) for name in SHARED}


def check_shares_add_up(stats):
    for site in stats["sites"]:
        for name in SHARED:
            assert sum(share[name] for share in site["threads"]) == site[name], (name, site["stack"])


def test_the_shares_of_threads_add_up_to_each_site_and_to_each_thread(record, repeat):
    stats = record.victim("cross_free", "full").stats
    check_shares_add_up(stats)
    for thread in stats["thread_list"]:
        sums = shares_of(stats, thread["serial"])
        assert sums["allocations"] == thread["allocations"]
        assert sums["allocated_bytes"] == thread["allocated_bytes"]
        assert sums["leaked_bytes"] == thread["live_bytes"]
        assert sums["peak_bytes"] == thread["at_peak_bytes"]
        assert sums["temporary"] == thread["temporary"]


def test_threads_that_share_a_stack_are_told_apart(record):
    recording = record.victim("named_threads", "full")
    stats = recording.stats
    (site,) = [s for s in stats["sites"] if any("work" in f for f in s["stack"]) and s["size_min"] == 100]
    made = {share["serial"]: share["allocations"] for share in site["threads"]}
    names = {thread["serial"]: thread["name"] for thread in stats["thread_list"]}
    assert {names[serial]: count for serial, count in made.items()} == {
        f"worker-{i}": 10 * (i + 1) for i in range(4)
    }


def test_the_shares_of_ten_thousand_threads_add_up(record):
    stats = record.victim("short_threads", "full").stats
    check_shares_add_up(stats)
    assert max(len(site["threads"]) for site in stats["sites"]) == 10000
