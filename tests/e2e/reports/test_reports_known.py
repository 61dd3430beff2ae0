"""`midden report` on programs whose every stack is known: figures, shapes, filters; all adds up.

SPDX-License-Identifier: Apache-2.0
"""

import json
import re
import subprocess

import pytest

PEAK = (200_030, 151)
LEAKED = (10_530, 16)
CALLS = 100 + 50 + 1 + 2_000_000 + 5


def run(midden, *arguments, status=0, env=None):
    done = subprocess.run(
        [midden, "report", *map(str, arguments)], capture_output=True, text=True, timeout=120, env=env
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def read(midden, *arguments):
    return json.loads(run(midden, "--json", *arguments))


def amount(report):
    return report["total_bytes"], report["total_blocks"]


def find(report, function, parent=None):
    """The nodes of a function, or those below a node."""
    return [
        node
        for node in report["nodes"]
        if node["function"] == function and (parent is None or node["parent"] == parent["id"])
    ]


def add_up(report, bytes_key="bytes", blocks_key="blocks"):
    """Every node equals its children, what ends there and what is left out; the top ones are the whole."""
    below = {}
    for node in report["nodes"]:
        sums = below.setdefault(node["parent"], [0, 0])
        sums[0] += node[bytes_key]
        sums[1] += node[blocks_key]
    whole = {"id": 0, "bytes": report["total_bytes"], "blocks": report["total_blocks"]}
    whole.update({key: report[key] for key in report if key.startswith("omitted")})
    for node in [whole, *report["nodes"]]:
        sums = below.get(node["id"], [0, 0])
        rest = [node["omitted_bytes"] + node.get("self_bytes", 0), node["omitted_blocks"] + node.get("self_blocks", 0)]
        assert node["bytes"] == sums[0] + rest[0], node
        assert node["blocks"] == sums[1] + rest[1], node


@pytest.fixture(scope="module")
def profiles(native, tmp_path_factory):
    from recording import Recorder

    recorder = Recorder(tmp_path_factory.mktemp("known"), native)
    made = {mode: recorder.victim("known_tree", mode) for mode in ("full", "nothing")}
    made["late"] = recorder.timely_victim("known_tree", "late", 400, within_s=1.1)
    assert [recording.status for recording in made.values()] == [0, 0, 0]
    return {mode: recording.path for mode, recording in made.items()}


@pytest.fixture(scope="module")
def full(profiles):
    return profiles["full"]


def test_the_tree_at_the_peak_has_every_stack(midden, full):
    report = read(midden, "-t", "0", full)
    assert amount(report) == PEAK == (report["counted_bytes"], report["counted_blocks"])
    (new,) = find(report, "table_new")
    assert (new["bytes"], new["blocks"]) == (200_000, 150)
    (load,) = find(report, "load", new)
    save = find(report, "save")
    assert (load["bytes"], load["blocks"]) == (100_000, 100)
    assert sorted((node["bytes"], node["blocks"]) for node in save) == [(30, 1), (100_000, 50)]
    add_up(report)


def test_the_tree_of_leaks_has_every_stack(midden, full):
    report = read(midden, "--leaks", "-t", "0", full)
    assert amount(report) == LEAKED
    (new,) = find(report, "table_new")
    (descend,) = find(report, "descend")
    assert (new["bytes"], new["blocks"]) == (10_000, 10)
    assert (descend["bytes"], descend["blocks"]) == (500, 5)
    assert (descend["repeats_min"], descend["repeats_max"]) == (1, 5)
    add_up(report)


def test_without_folding_each_depth_of_a_recursion_is_there(midden, full):
    report = read(midden, "--leaks", "-t", "0", "--no-fold", full)
    assert sorted(node["bytes"] for node in find(report, "descend")) == [100, 200, 300, 400, 500]
    add_up(report)


def test_numbers_above_a_million_are_whole(midden, full):
    assert f"{CALLS:,}" in run(midden, "--calls", full)
    report = read(midden, "--calls", full)
    assert report["total_blocks"] == CALLS
    (sum_,) = find(report, "sum")
    assert (sum_["bytes"], sum_["blocks"]) == (16_000_000, 2_000_000)
    (temporary,) = find(read(midden, "--temporary", full), "sum")
    assert temporary["blocks"] == 2_000_000


@pytest.mark.parametrize("threshold", (0, 1, 10, 49.99, 60, 100))
@pytest.mark.parametrize("direction", ("--inverted", "--top-down"))
@pytest.mark.parametrize("figure", ("--peak", "--leaks", "--allocated", "--calls", "--temporary"))
def test_whatever_is_left_out_the_sums_hold(midden, full, figure, direction, threshold):
    add_up(read(midden, figure, direction, "-t", threshold, full))
    add_up(read(midden, figure, direction, "-t", threshold, "-d", 2, full))


@pytest.mark.parametrize("threshold", (0, 30, 60))
def test_the_columns_of_the_text_add_up_too(midden, full, threshold):
    text = run(midden, "-t", threshold, full)
    rows = re.findall(r"^ *([\d.]+)%  +[\d.]+ \w+  +(\d+)  (?=[\w.\[])", text, re.M)
    assert abs(sum(float(share) for share, _ in rows) - 100) < 0.03
    assert sum(int(blocks) for _, blocks in rows) == PEAK[1]


@pytest.mark.parametrize("key", ("function", "line", "module"))
def test_what_rows_allocate_themselves_adds_up(midden, full, key):
    rows = read(midden, "--by", key, full)[key + "s"]
    assert sum(row["self_bytes"] for row in rows) == PEAK[0]
    assert sum(row["self_blocks"] for row in rows) == PEAK[1]


def test_a_table_has_functions_with_what_they_call(midden, full):
    rows = {row["function"]: row for row in read(midden, "--flat", full)["functions"]}
    assert (rows["table_new"]["self_bytes"], rows["table_new"]["bytes"]) == (200_000, 200_000)
    assert (rows["save"]["self_bytes"], rows["save"]["bytes"]) == (30, 100_030)
    assert (rows["main"]["self_bytes"], rows["main"]["bytes"]) == (0, 200_030)


def test_functions_are_included_and_excluded(midden, full):
    report = read(midden, "-i", "save", full)
    assert amount(report) == (100_030, 51)
    assert report["left_out"]["function"] == {"bytes": 100_000, "blocks": 100, "stacks": 1}
    report = read(midden, "-i", "/^(load|save)$/", "-x", "table_*", full)
    assert amount(report) == (30, 1)
    text = run(midden, "-x", "save", full)
    assert "filter       not through save" in text and "left out     97.7 KiB in 51 blocks of 2 stacks" in text


def test_sizes_choose_whole_stacks(midden, full):
    report = read(midden, "--min-size", "1000", "--max-size", "1K", full)
    assert amount(report) == (100_000, 100)
    assert report["left_out"]["size"]["bytes"] == 100_030


def test_blocks_of_mixed_sizes_are_told_apart_by_a_trace(midden, record):
    """Of each of 500 arrays that double from 16 to 16,384 bytes, the last two have 8 KiB and more."""
    large = (500 * (8192 + 16384), 1000)
    plain = record.victim("one_habit", "regrown").path
    traced = record.victim("one_habit", "regrown", options=("--trace",)).path
    words = ("--allocated", "--min-size", "8K", "-i", "regrown")
    report = read(midden, *words, traced)
    assert amount(report) == large and report["sizes_traced"]
    assert report["mixed_sizes"] == {"bytes": 0, "blocks": 0, "stacks": 0}
    assert "sizes        told apart block by block, from the trace" in run(midden, *words, traced)
    add_up(report)
    report = read(midden, *words, plain)
    assert amount(report)[0] > large[0] and not report["sizes_traced"]
    assert report["mixed_sizes"]["bytes"] == amount(report)[0]
    assert "with blocks of other sizes too, counted whole (record --trace tells them apart)" in run(
        midden, *words, plain
    )
    for path in (plain, traced):  # what was held at the peak is one array: its size is known in any case
        assert amount(read(midden, "--min-size", "8K", path)) == (16384, 1)
        assert amount(read(midden, "--max-size", "8K", path)) == (0, 0)
        assert amount(read(midden, "--live-at", "@peak", "--min-size", "8K", path)) == (16384, 1)


def test_what_name_services_keep_is_suppressed(midden, record):
    recording = record.victim("name_services")
    assert recording.stats["leaked_bytes"] >= 1024
    report = read(midden, "--leaks", recording.path)
    assert amount(report) == (0, 0), report["nodes"]
    assert sum(rule["bytes"] for rule in report["suppressed"]) == recording.stats["leaked_bytes"]
    assert amount(read(midden, "--leaks", record.victim("name_services", "leak").path)) == (4321, 1)


def test_the_start_of_the_program_is_in_no_module_and_it_is_said(midden, full):
    text = run(midden, "--module", "libc.so.6", full)
    assert "frames of the C library that start the program or a thread do not count" in text
    assert "do not count" not in run(midden, "--module", "known_tree", full)


def test_what_a_filter_names_in_vain_is_said(midden, full):
    words = ("-i", "save", "-x", "nobody", "--not-module", "libnothing")
    assert "  ! not in this profile: function nobody, module libnothing\n" in run(midden, *words, full)
    assert read(midden, *words, full)["filter"]["not_in_profile"] == ["nobody", "libnothing"]
    assert "not in this profile" not in run(midden, "-i", "save", full)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-i", "nobody"), "no function in the profile is 'nobody'"),
        (("-i", "save", "--module", "libnothing"), "no module in the profile is 'libnothing'"),
        (("--thread", "nothread"), "no thread in the profile is 'nothread'"),
        (("-i", "nobody", "--json"), "no function in the profile is 'nobody'"),
    ],
)
def test_a_report_of_what_is_not_there_fails(midden, full, words, said):
    done = subprocess.run([midden, "report", *words, full], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, f"midden: {said}\n")


def test_the_state_at_a_time_and_what_changed(midden, profiles):
    late = profiles["late"]
    middle = read(midden, "--live-at", "350ms", "-i", "table_new", late)
    assert amount(middle) == (100_000, 100)
    assert middle["at"]["time_ns"] <= 350_000_000 and middle["at"]["point"] is not None
    end = read(midden, "--live-at", "@end", "-t", "0", late)
    assert amount(end) == (150_000, 100)
    add_up(end)
    growth = read(midden, "--growth", "350ms..@end", late)
    assert (growth["total_bytes"], growth["total_blocks"]) == (50_000, 0)
    (grown,) = find(growth["grown"], "save")
    (shrunk,) = find(growth["shrunk"], "load")
    assert (grown["bytes"], grown["blocks"]) == (100_000, 50)
    assert (shrunk["bytes"], shrunk["blocks"]) == (-50_000, -50)
    assert "point" in run(midden, "--live-at", "50%", late)


def test_live_at_the_peak_is_the_peak(midden, full):
    peak = read(midden, full)
    live = read(midden, "--live-at", "@peak", full)
    assert live["nodes"] == peak["nodes"]


def test_own_peaks_may_be_more_than_the_peak(midden, profiles):
    report = read(midden, "--own-peak", profiles["late"])
    assert report["total_bytes"] == 200_000
    assert "most that was held at once is 146 KiB" in run(midden, "--own-peak", profiles["late"])


def test_lifetimes_tell_short_from_long(midden, full):
    report = read(midden, "--lifetime=shortest", full)
    assert report["lifetimes"][0]["function"] == "sum"
    assert report["lifetimes"][0]["freed_blocks"] == 2_000_000
    assert sum(row["freed_blocks"] for row in report["lifetimes"]) == report["freed_blocks"]
    longest = read(midden, "--lifetime", full)
    assert longest["lifetimes"][0]["function"] == "table_new"
    assert longest["lifetimes"][0]["live_blocks"] == 10


def test_histograms_hold_all_blocks(midden, full):
    sizes = read(midden, "--histogram", "size", full)["size_histogram"]
    assert sum(row["count"] for row in sizes) == CALLS
    lifetimes = read(midden, "--histogram", "lifetime", full)
    assert sum(row["count"] for row in lifetimes["lifetime_histogram"]) + lifetimes["never_freed_blocks"] == CALLS


def test_the_time_line_of_a_filter_ends_with_what_is_left(midden, full):
    points = read(midden, "--timeline", "-i", "load", full)["points"]
    assert points[-1]["live_bytes"] == 10_000
    assert read(midden, "--timeline", full)["points"][-1]["live_bytes"] == LEAKED[0]


@pytest.mark.parametrize(
    "options",
    (
        (),
        ("--leaks",),
        ("--flat",),
        ("--by", "thread"),
        ("--lifetime",),
        ("--histogram", "size"),
        ("--histogram", "lifetime"),
        ("--timeline",),
        ("--findings",),
        ("--live-at", "50%"),
        ("--growth", "..",),
    ),
)
def test_a_program_that_allocates_nothing_is_no_fault(midden, profiles, options):
    text = run(midden, *options, profiles["nothing"])
    assert "allocations  0" in text
    read(midden, *options, profiles["nothing"])


def test_in_the_c_locale_all_is_ascii(midden, full, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    for options in ((), ("--timeline",), ("--histogram", "size"), ("--findings",)):
        assert run(midden, *options, full).isascii()


def test_without_a_terminal_there_is_no_colour(midden, full):
    assert "\x1b" not in run(midden, full)
    assert "\x1b" in run(midden, "--color", "always", full)


def test_leaks_are_suppressed_and_stated(midden, full, tmp_path):
    rules = tmp_path / "known.supp"
    rules.write_text("# ours\nleak:descend\nleak:^save$\n")
    report = read(midden, "--leaks", "--suppressions", rules, full)
    assert amount(report) == (10_000, 10)
    assert report["left_out"]["suppressed"] == {"bytes": 530, "blocks": 6, "stacks": 6}
    text = run(midden, "--leaks", "--suppressions", rules, full)
    assert "suppressed: 530 B in 6 blocks by 2 rules" in text
    assert run(midden, "--leaks", "--suppressions", tmp_path / "none", full, status=1).count("\n") == 1
    rules.write_text("race:x\n")
    assert "line 1" in run(midden, "--leaks", "--suppressions", rules, full, status=1)
