"""Sizes of a range of the time line.

SPDX-License-Identifier: Apache-2.0
"""

import csv
import json
import re
import subprocess
from collections import Counter

import pytest
from browser import span
from recording import TIMEOUT_S, Recorder, read_stats


def ask(midden, *words):
    done = subprocess.run([midden, *map(str, words)], capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def recorder(tmp_path_factory, native):
    return Recorder(tmp_path_factory.mktemp("span"), native)


@pytest.fixture(scope="module")
def late(recorder):
    return recorder.victim("known_tree", "late").path


# By bucket, or "all": the figures of its row.
ROWS = "Object.fromEntries([...document.querySelectorAll('#size-histogram [data-bucket]')].map(r => [r.dataset.bucket, [...r.querySelectorAll('[data-value]')].map(c => Number(c.dataset.value))]))"


def live_by_size(midden, profile, time_ns):
    """Blocks and bytes by bucket of the mean size of each stack, as the report has them at a time."""
    report = ask(midden, "report", "--live-at", f"{time_ns}ns", "--threshold", "0", "--json", profile)
    blocks, size = Counter(), Counter()
    for stack in report["nodes"]:
        if stack["self_blocks"]:
            bucket = str((stack["self_bytes"] // stack["self_blocks"]).bit_length())
            blocks[bucket] += stack["self_blocks"]
            size[bucket] += stack["self_bytes"]
    assert sum(size.values()) == report["total_bytes"] and sum(blocks.values()) == report["total_blocks"]
    return blocks, size


def split(points):
    """Points with load's blocks alone, and with half of them and all of save's."""
    return next(i for i, p in enumerate(points) if p["live_bytes"] == 100_000), len(points) - 1


def test_sizes_of_a_range_are_what_the_report_says_of_its_ends(page, midden, late):
    points = read_stats(late, "--points")["points"]
    first, last = split(points)
    steps = (("goto", f"#sizes?{span(points, first, last)}"), ("wait", "#sizes-range:not([hidden])"), ("eval", ROWS), ("count", "#of-all:visible"), ("save", "#save-csv"), ("texts", ".sizes-page h2"))
    rows, notes, saved, heads = page(late, *steps)
    before, after = (live_by_size(midden, late, points[i]["time_ns"]) for i in (first, last))
    most = max(p["live_bytes"] for p in points[first:])
    growth = ask(midden, "report", "--growth", f"{points[first]['time_ns']}ns..{points[last]['time_ns']}ns", "--json", late)["total_bytes"]
    assert rows.pop("all") == [100, 100_000, 100, 150_000, 0, growth, most] and growth == 50_000
    # load's blocks are of 1,000 bytes, save's of 2,000.
    assert rows == {"10": [100, 100_000, 50, 50_000, -50, -50_000, 100_000], "11": [0, 0, 50, 100_000, 50, 100_000, 100_000]}
    for bucket, (blocks, size, blocks_then, size_then, more_blocks, more, _) in rows.items():
        assert (blocks, size) == (before[0][bucket], before[1][bucket]) and (blocks_then, size_then) == (after[0][bucket], after[1][bucket])
        assert (more_blocks, more) == (blocks_then - blocks, size_then - size)
    assert notes == 0 and "Size and lifetime of freed blocks, of the whole recording" in heads
    sheet = {row["smallest_mean"]: row for row in csv.DictReader(saved["text"].splitlines())}
    assert {name: row["growth_bytes"] for name, row in sheet.items()} == {"512": "-50000", "1024": "100000"}
    assert sheet["512"]["start_count"] == "100" and sheet["1024"]["end_bytes"] == "100000"


def test_sizes_of_a_moment_and_of_all_again(page, midden, late):
    points = read_stats(late, "--points")["points"]
    first, last = split(points)
    steps = [step for i in (first, last, 0) for step in (("goto", f"#sizes?{span(points, i)}"), ("wait", "#sizes-range:not([hidden])"), ("eval", ROWS))]
    *moments, charts, address, heads, whole, chart = page(late, *steps, ("count", "#size-by-time:visible"), ("click", "#sizes-range button"), ("hash",), ("texts", ".sizes-page h2"), ("eval", ROWS), ("count", "#size-by-time:visible"))
    for i, rows in zip((first, last, 0), moments):
        blocks, size = live_by_size(midden, late, points[i]["time_ns"])
        assert rows.pop("all") == [points[i]["live_blocks"], points[i]["live_bytes"]]
        assert {bucket: row for bucket, row in rows.items() if any(row)} == {bucket: [blocks[bucket], size[bucket]] for bucket in blocks}
    assert (charts, address, chart) == (0, "#sizes", 1) and "Size and lifetime of freed blocks" in heads
    assert whole["10"] == [100, 100_000, 50, 50_000]


def test_sizes_of_a_range_of_estimates_have_intervals(page, record):
    sampled = record.victim("four_places", options=("--sample=65536", "--sample-seed=3")).path
    points = read_stats(sampled, "--points")["points"]
    last = len(points) - 1
    titles = "[...document.querySelectorAll('#size-histogram tfoot td.number')].map(c => c.title)"
    (row,) = page(sampled, ("goto", f"#sizes?{span(points, 0, last)}"), ("wait", "#sizes-range:not([hidden])"), ("eval", titles))
    assert all(" to " in title for title in (row[2], row[3], row[6])) and all(title.startswith("(± ") for title in row[4:6])


def test_a_cell_of_sizes_over_time_leads_to_its_stacks(page, midden, late):
    points = read_stats(late, "--points")["points"]
    first, last = split(points)
    time_ns = points[last]["time_ns"]
    blocks, size = live_by_size(midden, late, time_ns)
    for bucket in size:
        shown = page(late, ("goto", f"#sizes?cell={bucket}@{time_ns}"), ("wait", "#moment-stacks h3"), ("data", "#moment-stacks h3", "bytes"), ("data", "#moment-stacks h3", "blocks"), ("count", "#moment-stacks details"), ("count", "#cell-stacks *"))
        assert [int(shown[0]), int(shown[1])] == [size[bucket], blocks[bucket]]
        assert shown[2] > 0 and shown[3] == 0
    # By a click on the right end of the lowest row, which is of the smallest size; then by a key.
    smallest = min(int(bucket) for bucket in live_by_size(midden, late, points[first]["time_ns"])[1] + size)
    place = "(() => { const c = document.querySelector('#size-by-time'); c.scrollIntoView(); const r = c.getBoundingClientRect(); return { clientX: r.right - 1, clientY: r.bottom - 30, bubbles: true }; })()"
    click = f"document.querySelector('#size-by-time').dispatchEvent(new MouseEvent('click', {place}))"
    steps = (("goto", f"#sizes?{span(points, first, last)}"), ("wait", "#size-by-time"), ("eval", place), ("eval", click), ("hash",), ("focus", "#size-by-time"), ("press", "ArrowLeft"), ("hash",))
    _, _, clicked, moved = page(late, *steps)
    (size_clicked, then), (size_moved, before) = (map(int, re.search(r"cell=(\d+)(?:@|%40)(\d+)", seen).groups()) for seen in (clicked, moved))
    assert size_clicked == size_moved == smallest
    assert points[first]["time_ns"] <= before < then <= time_ns and {before, then} <= {p["time_ns"] for p in points}
    # What makes no sense chooses nothing.
    for cell in ("5@", f"@{time_ns}", "x@y", "5@-1", f"-3@{time_ns}", f"65@{time_ns}", f"5.5@{time_ns}", "5,65", "-1,2"):
        assert page(late, ("goto", f"#sizes?cell={cell}"), ("wait", ".sizes-page"), ("count", "#moment-stacks *"), ("count", "#cell-stacks *")) == [0, 0]
