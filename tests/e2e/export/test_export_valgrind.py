"""Exports that valgrind's own tools read: ms_print, callgrind_annotate, dh_view. What they say of the figures is
what `midden stats --json` says.

SPDX-License-Identifier: Apache-2.0
"""

import json
import re
from pathlib import Path

import pytest

from exporting import ODD_BYTES, ODD_NAMES, PROGRAMS, export, need, record_program, run

HERE = Path(__file__).parent
EVENTS = {
    "peak_bytes": "peak_bytes",
    "peak_blocks": "peak_blocks",
    "leaked_bytes": "leaked_bytes",
    "leaked_blocks": "leaked_blocks",
    "allocated_bytes": "allocated_bytes",
    "calls": "allocations",
    "temporary": "temporary_allocations",
}


@pytest.fixture(params=PROGRAMS)
def recording(request, record, tmp_path):
    return record_program(request.param, record, tmp_path)


@pytest.fixture(params=[name for name in PROGRAMS if name != "nothing"])
def busy(request, record, tmp_path):
    return record_program(request.param, record, tmp_path)


@pytest.fixture
def odd(record, tmp_path):
    return record_program("odd", record, tmp_path)


def number(text):
    return int(text.replace(",", ""))


# massif


def ms_print(recording):
    """(page, {snapshot: (time, total)}, peak snapshot or None) as ms_print shows them."""
    need("ms_print")
    page = run("ms_print", "--threshold=0", export(recording, "massif"))
    rows = re.findall(r"^ *(\d+) +([\d,.]+) +([\d,]+) +([\d,]+) +0 +0$", page, re.M)
    peak = re.search(r"(\d+) \(peak\)", page)
    return page, {int(n): (float(t.replace(",", "")), number(b)) for n, t, b, _ in rows}, peak and int(peak[1])


def test_ms_print_shows_the_peak_the_end_and_all_points(recording):
    stats = recording.stats
    page, snapshots, peak = ms_print(recording)
    has_peak = stats["peak_bytes"] > 0
    assert len(snapshots) == 1 + len(stats["points"]) + has_peak
    assert max(total for _, total in snapshots.values()) == stats["peak_bytes"]
    assert snapshots[len(snapshots) - 1][1] == stats["leaked_bytes"]
    assert (peak is not None) == has_peak
    if has_peak:
        assert snapshots[peak] == (stats["peak_time_ns"] // 1000 / 1000, stats["peak_bytes"])
        assert f"100.00% ({stats['peak_bytes']:,}B) (heap allocation functions)" in page


def test_trees_of_massif_add_up(recording):
    lines = export(recording, "massif").read_text().split("\n")
    trees = [i for i, line in enumerate(lines) if re.match(r"n\d+: ", line)]
    assert len(trees) == sum(line in ("heap_tree=detailed", "heap_tree=peak") for line in lines)
    for i in trees:
        total = re.search(r"mem_heap_B=(\d+)", lines[i - 4])
        assert lines[i].split()[1] == total[1]
        check_tree(iter(lines[i:]), 0)


def check_tree(lines, depth):
    """Reads one node with what is below it; its bytes. Callers of a block are known to the end but where a stack
    stops, so children hold no more than their parent."""
    line = next(lines)
    indent, children, held = re.match(r"( *)n(\d+): (\d+) ", line).groups()
    assert len(indent) == depth, line
    below = sum(check_tree(lines, depth + 1) for _ in range(int(children)))
    assert below <= int(held), line
    if depth == 0:
        assert below == int(held), line
    return int(held)


def test_ms_print_shows_odd_names_whole(odd):
    page = ms_print(odd)[0]
    for name in ODD_NAMES:
        shown = re.sub(r"[\n\t]", " ", name).replace("#", "@")
        assert f": {shown} (in " in page
    assert ": ??? (in " in page


# callgrind


def annotate(recording, *options, export_options=()):
    """(totals by event, {function: figures by event}) as callgrind_annotate shows them."""
    need("callgrind_annotate")
    path = export(recording, "callgrind", *export_options)
    quiet = ("--auto=no", "--threshold=100", "--show-percs=no")
    page = run("callgrind_annotate", *quiet, *options, path, cwd=recording.path.parent)
    events = re.search(r"Events shown: +(.*)", page)[1].split()
    rows = re.findall(rf"^ *((?:[\d,.]+ +){{{len(events)}}}) (.*)$", page, re.M)
    figures = {
        name: dict(zip(events, (0 if n == "." else number(n) for n in numbers.split()))) for numbers, name in rows
    }
    return figures.pop("PROGRAM TOTALS"), figures


def test_callgrind_annotate_counts_what_stats_count(busy):
    totals, functions = annotate(busy)
    assert totals == {event: busy.stats[key] for event, key in EVENTS.items()}
    for event in EVENTS:
        assert sum(figures[event] for figures in functions.values()) == totals[event]


def test_a_program_that_allocates_nothing_makes_a_file_of_totals_alone(record, tmp_path):
    need("callgrind_annotate")
    path = export(record_program("nothing", record, tmp_path), "callgrind")
    head, _, body = path.read_text().partition("\n\n")
    assert head.endswith("temporary") and body == "totals: 0 0 0 0 0 0 0\n"
    assert "PROGRAM TOTALS" in run("callgrind_annotate", path)


def test_inclusive_costs_count_each_stack_once(busy):
    stats = busy.stats
    functions = annotate(busy, "--inclusive=yes")[1]
    expected = {}
    for site in stats["sites"]:
        for function in {frame.rpartition(" (")[0] or frame for frame in site["stack"]}:
            name = re.sub(r"[\n\t]", " ", function)
            expected[name] = expected.get(name, 0) + site["peak_bytes"]
    shown = {}
    for name, figures in functions.items():
        function = re.match(r"[^:]*:(.*) \[[^]]*\]$", name, re.S)[1]
        shown[function] = shown.get(function, 0) + figures["peak_bytes"]
    assert shown.pop("[start]") == stats["peak_bytes"]
    assert shown == expected


def test_recursion_is_counted_once(odd):
    functions = annotate(odd, "--inclusive=yes")[1]
    recur = [figures for name, figures in functions.items() if ":recur [" in name]
    assert [figures["leaked_bytes"] for figures in recur] == [4 * 1000 + 777]
    main = [figures for name, figures in functions.items() if ":main [" in name]
    assert [figures["leaked_bytes"] for figures in main] == [ODD_BYTES]


def test_the_figure_that_was_asked_for_comes_first(odd):
    totals = annotate(odd, export_options=["--figure", "calls"])[0]
    assert list(totals)[0] == "calls"


# dhat


def view(recording):
    need("node")
    viewer = next((path for path in Path("/usr").glob("lib*/valgrind/dh_view.js")), None)
    if not viewer:
        pytest.skip("valgrind's dh_view.js is not installed")
    return json.loads(run("node", HERE / "dh_view_run.js", viewer, export(recording, "dhat")))


def test_dh_view_counts_what_stats_count(recording):
    stats = recording.stats
    shown = view(recording)
    sums = shown["sums"]
    lifetimes = sums.pop("totalLifetimes")
    assert sums == {
        "totalBytes": stats["allocated_bytes"],
        "totalBlocks": stats["allocations"],
        "atTGmaxBytes": stats["peak_bytes"],
        "atTGmaxBlocks": stats["peak_blocks"],
        "atTEndBytes": stats["leaked_bytes"],
        "atTEndBlocks": stats["leaked_blocks"],
    }
    assert len(shown["pages"]) == 6
    freed = sum(site["lifetime_sum_ns"] for site in stats["sites"])
    assert freed <= lifetimes <= freed + stats["leaked_blocks"] * stats["duration_ns"]


def test_dh_view_shows_odd_names(odd):
    shown = view(odd)
    page = shown["pages"]["At t-end (bytes)"]
    for name in ODD_NAMES:
        clean = re.sub(r"[\n\t]", " ", name)
        assert any(f": {clean} (in " in frame for frame in shown["frames"])
    assert ": recur (in " in page
    assert f"{ODD_BYTES:,} bytes (100%" in page


def test_a_block_that_leaks_early_has_lived_long(record):
    """peak_places never: all blocks leak, none is freed, so that their lifetimes come from the time line alone."""
    recording = record.victim("peak_places", "never")
    shown = view(recording)
    assert 0 < shown["sums"]["totalLifetimes"] <= 1001 * recording.stats["duration_ns"]
