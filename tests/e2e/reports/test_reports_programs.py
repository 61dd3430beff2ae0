"""`midden report` where others go wrong: programs that never free, peaks between frees, moved blocks, threads that
share a number, plugins, what the C++ library keeps.

SPDX-License-Identifier: Apache-2.0
"""

import json
import subprocess


def read(midden, *arguments):
    done = subprocess.run(
        [midden, "report", "--json", *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def amount(report):
    return report["total_bytes"], report["total_blocks"]


def test_a_program_that_never_frees_has_its_peak_at_the_end(midden, record):
    path = record.victim("peak_places", "never").path
    assert amount(read(midden, "-i", "fill", path)) == (64_000, 1000)
    assert read(midden, "-i", "fill", path)["nodes"][0]["bytes"] == 64_000
    assert amount(read(midden, "--leaks", "-i", "fill", path)) == (64_000, 1000)


def test_what_was_freed_before_the_peak_is_not_in_it(midden, record):
    path = record.victim("peak_places", "end").path
    assert amount(read(midden, "-i", "main", path)) == (1_000_000, 1)
    path = record.victim("peak_places", "middle").path
    assert amount(read(midden, "-i", "main", path)) == (100_000, 100)


def test_a_block_that_realloc_moved_is_held_once(midden, record):
    recording = record.victim("realloc_chain", "moved")
    report = read(midden, recording.path)
    assert amount(report) == (recording.truth.total["peak_bytes"], recording.truth.total["peak_blocks"])
    resized = read(midden, "--realloc", recording.path)
    assert resized["total_blocks"] == recording.truth.total["reallocations"] == 16
    assert amount(read(midden, "--leaks", recording.path)) == (0, 0)


def test_threads_that_share_a_number_have_rows_of_their_own(midden, record):
    recording = record.victim("named_threads", "full")
    threads = read(midden, "--by", "thread", "--calls", recording.path)["thread_list"]
    counts = {row["name"]: row["blocks"] for row in threads if row["name"].startswith("worker")}
    assert counts == {f"worker-{i}": 10 * (i + 1) for i in range(4)}
    assert len({row["serial"] for row in threads}) == len(threads)
    some = read(midden, "--by", "thread", "--thread", "worker-[01]", "--calls", recording.path)
    assert some["total_blocks"] == 30


def test_each_thread_has_its_part_of_a_shared_stack(midden, record):
    path = record.victim("named_threads", "full").path
    every = read(midden, "--calls", "-i", "work", path)
    assert every["total_blocks"] == 100
    for i in range(4):
        one = read(midden, "--calls", "-i", "work", "--thread", f"worker-{i}", path)
        assert one["total_blocks"] == 10 * (i + 1)
        assert one["total_blocks"] + one["left_out"]["thread"]["blocks"] == 100
    leaked = read(midden, "--leaks", "--thread", "worker-3", "-i", "work", path)
    assert amount(leaked) == (3500, 35)
    rows = read(midden, "--by", "thread", "--calls", "-i", "work", path)["thread_list"]
    assert [(row["name"], row["blocks"]) for row in rows[:4]] == [(f"worker-{i}", 10 * (i + 1)) for i in (3, 2, 1, 0)]


def test_with_a_trace_the_state_at_a_time_is_exact(midden, record):
    path = record.timely_victim("known_tree", "late", 400, within_s=1.1, options=("--trace",)).path
    report = read(midden, "--live-at", "350.5ms", "-i", "table_new", path)
    assert amount(report) == (100_000, 100)
    at = report["at"]
    assert (at["asked_ns"], at["time_ns"], at["exact"]) == (350_500_000, 350_500_000, True)
    done = subprocess.run([midden, "report", "--live-at", "350.5ms", path], capture_output=True, text=True, timeout=120)
    assert "exactly, from the trace" in done.stdout


def test_ten_thousand_threads_add_up(midden, record):
    recording = record.victim("short_threads", "full")
    report = read(midden, "--by", "thread", "--calls", recording.path)
    assert sum(row["blocks"] for row in report["thread_list"]) == recording.stats["allocations"]


def test_modules_are_told_apart(midden, record, native):
    plugins = [native.victim("plugin_one.so"), native.victim("plugin_two.so")]
    path = record.victim("plugin_host", "full", *plugins).path
    one = read(midden, "--leaks", "--module", "plugin_one", path)
    assert amount(one) == (10 * 1111, 10)
    everything = read(midden, "--allocated", path)
    neither = read(midden, "--allocated", "--not-module", "plugin_*.so", path)
    both = read(midden, "--allocated", "--module", "plugin_one", "--module", "plugin_two", path)
    assert both["total_blocks"] == 40
    assert both["total_bytes"] + neither["total_bytes"] == everything["total_bytes"]
    rows = {row["module"].rpartition("/")[2]: row for row in read(midden, "--leaks", "--by", "module", path)["modules"]}
    assert rows["plugin_one.so"]["self_bytes"] == 10 * 1111


def test_what_the_cpp_library_keeps_is_suppressed_and_stated(midden, record):
    path = record.victim("new_forms").path
    every = read(midden, "--leaks", "--no-suppressions", path)
    report = read(midden, "--leaks", path)
    pool = [rule for rule in report["suppressed"] if "emergency pool" in rule["rule"]]
    assert [rule["blocks"] for rule in pool] == [1]
    assert report["total_bytes"] + report["left_out"]["suppressed"]["bytes"] == every["total_bytes"]
    text = subprocess.run([midden, "report", "--leaks", path], capture_output=True, text=True, timeout=120).stdout
    assert "  suppressed: " in text and "emergency pool" in text


def test_plain_c_programs_leak_nothing_that_is_suppressed_wrongly(midden, record):
    path = record.victim("basic_heap").path
    assert read(midden, "--leaks", path)["total_bytes"] == 250_000
