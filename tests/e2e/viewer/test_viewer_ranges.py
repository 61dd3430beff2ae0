"""Pages of the viewer that show a range of the recording have the figures that reports of the same times have.

SPDX-License-Identifier: Apache-2.0
"""

import csv
import json
import re
import subprocess

import pytest

from browser import span
from recording import read_stats

LEFT = "Object.fromEntries([...document.querySelectorAll('.leaks-page section[id^=leaks-]')].map(s => [s.id.slice(6), [Number(s.dataset.bytes), Number(s.dataset.blocks), Number(s.dataset.growth)]]))"
CELLS = "Object.fromEntries([...document.querySelectorAll('#thread-table tbody tr')].map(r => [r.dataset.serial, Object.fromEntries([...r.querySelectorAll('[data-figure]')].map(c => [c.dataset.figure, Number(c.dataset.value)]))]))"


def ask(midden, *words):
    done = subprocess.run([midden, *map(str, words)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def live_at(midden, profile, point):
    return ask(midden, "report", "--live-at", f"{point['time_ns']}ns", "--flat", "--threshold=0", "--json", profile)


def growth(midden, profile, first, last):
    return ask(midden, "report", "--growth", f"{first['time_ns']}ns..{last['time_ns']}ns", "--flat", "--threshold=0", "--json", profile)


def points_of(profile):
    return read_stats(profile, "--points")["points"]


@pytest.fixture
def late(record):
    """load's 100 blocks of 1,000; later half of them are freed and save makes 50 of 2,000: a range from one to the other."""
    profile = record.victim("known_tree", "late").path
    points = points_of(profile)
    first = next(i for i, p in enumerate(points) if p["live_bytes"] == 100000)
    return profile, points, first, len(points) - 1


def test_leaks_of_a_range_are_what_was_live_at_its_end(page, midden, late):
    profile, points, first, last = late
    at_end, grown = live_at(midden, profile, points[last]), growth(midden, profile, points[first], points[last])
    assert (at_end["total_bytes"], grown["total_bytes"]) == (150000, 50000)
    sums, title, text, sheet, note = page(
        profile, ("goto", f"#leaks?{span(points, first, last)}"), ("wait", "#leaks-one-off"), ("eval", LEFT), ("text", "#leaks-one-off h2"), ("click", "#leaks-one-off .of-place summary"), ("wait", "#leaks-one-off .of-place .leak"), ("text", "#leaks-one-off"), ("save", "#save-csv"), ("count", "#of-all:visible"),
    )
    assert "146 KiB in 100 blocks, +48.8 KiB within · table_new known_tree.c:20, 2 stacks" in text  # both of one place
    assert sums == {"one-off": [150000, 100, 50000]} and note == 0
    assert "too short to tell what grows" in title  # a tenth of a second
    assert "97.7 KiB in 50 blocks, +97.7 KiB within" in text and "48.8 KiB in 50 blocks, −48.8 KiB within" in text
    rows = list(csv.DictReader(sheet["text"].splitlines()))
    assert {row["kind"] for row in rows} == {"one-off"}
    assert sum(int(row["bytes"]) for row in rows) == at_end["total_bytes"] and sum(int(row["blocks"]) for row in rows) == at_end["total_blocks"]
    assert sum(int(row["growth bytes"]) for row in rows) == grown["total_bytes"] and sum(int(row["growth blocks"]) for row in rows) == grown["total_blocks"]


def test_leaks_at_a_moment_are_what_was_alive(page, midden, late):
    profile, points, first, _ = late
    report = live_at(midden, profile, points[first])
    sums, text, address = page(profile, ("goto", f"#leaks?{span(points, first)}"), ("wait", "#leaks-one-off"), ("eval", LEFT), ("text", ".leaks-page"), ("click", "#leaks-range button"), ("hash",))
    assert sums["one-off"][:2] == [report["total_bytes"], report["total_blocks"]] == [100000, 100]
    assert "Alive then" in text and "within" not in text and address == "#leaks"


def test_before_anything_was_live_nothing_is_left(page, record):
    profile = record.victim("known_tree", "late").path
    points = points_of(profile)
    text = page(profile, ("goto", "#leaks?from=0&to=0"), ("wait", "#leaks-range"), ("text", ".leaks-page"))[0]
    assert ("Nothing was live then." in text) == (points[0]["live_blocks"] == 0)


def test_what_grows_within_a_range_is_what_findings_call_growing(page, midden, record):
    # 100 bytes each millisecond for 1.5 s; 1,000 blocks of 100 and a table were there before.
    profile = record.timely_victim("one_habit", "growing", within_s=1.6).path
    points = points_of(profile)
    (finding,) = [f for f in ask(midden, "report", "--findings", "--json", profile)["findings"] if f["kind"] == "growing-leak"]
    last = len(points) - 1
    end = points[last]["time_ns"]
    begin = next(i for i, p in enumerate(points) if p["time_ns"] >= end - 1.2e9)
    late = next(i for i, p in enumerate(points) if p["time_ns"] >= end - 0.5e9)
    items = "[...document.querySelectorAll('#leaks-growing .leak')].map(d => [Number(d.dataset.bytes), Number(d.dataset.growth), d.querySelector('summary').innerText, d.querySelector('.quarters').title])"
    whole, part, sums, short, title = page(
        profile,
        ("goto", f"#leaks?{span(points, 0, last)}"), ("wait", "#leaks-growing .quarters[title]"), ("eval", items),
        ("goto", f"#leaks?{span(points, begin, last)}"), ("wait", "#leaks-growing .quarters[title]"), ("eval", items), ("eval", LEFT),
        ("goto", f"#leaks?{span(points, late, last)}"), ("wait", "#leaks-one-off"), ("count", "#leaks-growing"), ("text", "#leaks-one-off h2"),
    )
    for ((size, _, words, _),) in (whole, part):
        assert size == finding["bytes"] == 150000 and "forget" in words and "forget_once" not in words
    grown = growth(midden, profile, points[begin], points[last])["total_bytes"]
    (_, more, _, quarters), = part
    assert more == grown == sums["growing"][2] > 100000
    sizes = [float(re.match(r"[\d.]+", text).group()) for text in quarters.split(" → ")]
    assert sizes == sorted(sizes) and len(set(sizes)) == 4
    assert short == 0 and "the range is too short to tell what grows" in title


def test_threads_of_a_range_come_to_what_the_time_line_has(page, midden, record):
    # Four threads, one after the other, each of which leaves some blocks; all came through the same stack.
    profile = record.victim("named_threads", "full").path
    points = points_of(profile)
    first, last = 0, len(points) - 1
    cells, shown, heads, sheet, sorted_by = page(
        profile, ("goto", f"#threads?{span(points, first, last)}"), ("wait", "#threads-range"), ("eval", CELLS), ("eval", "[...document.querySelectorAll('#thread-table tbody tr')].filter(r => r.dataset.serial !== '0').map(r => [r.dataset.serial, r.querySelector('[data-figure=end_bytes]').textContent])"), ("texts", "#thread-table thead tr:last-child th"), ("save", "#save-csv"),
        ("click", "#sort-most_bytes"), ("eval", "document.querySelector('#thread-table th[aria-sort]').textContent"),
    )
    for figure, wanted in (("start_bytes", points[first]["live_bytes"]), ("end_bytes", points[last]["live_bytes"]), ("growth_bytes", growth(midden, profile, points[first], points[last])["total_bytes"])):
        assert sum(row[figure] for row in cells.values()) == wanted
    assert heads == ["Thread", "Live at the start", "Live at the end", "Growth", "Highest, at its points", "Lived within", "When", "Live bytes over time", "Calls", "Allocated"]
    rows = list(csv.DictReader(sheet["text"].splitlines()))
    assert rows[-1]["thread"] == "stacks of several threads" and sum(int(row["end_bytes"] or 0) for row in rows) == points[last]["live_bytes"]
    # What the workers had live is not known thread by thread.
    assert {row["end_bytes"] for row in rows if row["thread"].startswith("worker-")} == {""} and {text for serial, text in shown if cells[serial]["allocated_bytes"] >= 1000} == {"–"}
    assert sum(int(row["allocations"]) for row in rows if row["allocations"]) == read_stats(profile)["allocations"]
    assert sorted_by == "Highest, at its points"


def test_a_thread_of_a_range_leads_to_the_same_figure(page, late):
    profile, points, first, last = late
    cells, name, address, total = page(
        profile, ("goto", f"#threads?{span(points, first, last)}"), ("wait", "#threads-range"), ("eval", CELLS),
        ("text", "#thread-table tbody a"), ("click", "#thread-table tbody a"), ("wait", "#flame-total"), ("hash",), ("data", "#flame-total", "bytes"),
    )
    (row,) = cells.values()
    lasted = points[last]["time_ns"] - points[first]["time_ns"]
    assert (row["start_bytes"], row["end_bytes"], row["growth_bytes"], row["most_bytes"]) == (100000, 150000, 50000, max(p["live_bytes"] for p in points[first:]))
    assert row["lived_ns"] == lasted
    assert name == "known_tree" and "figure=growth" in address and "byThread=1" in address and int(total) == 50000


def test_threads_at_a_moment_have_what_was_live(page, midden, late):
    profile, points, first, _ = late
    cells, heads = page(profile, ("goto", f"#threads?{span(points, first)}"), ("wait", "#threads-range"), ("eval", CELLS), ("texts", "#thread-table thead tr:last-child th"))
    (row,) = cells.values()
    assert row["end_bytes"] == live_at(midden, profile, points[first])["total_bytes"] == 100000
    assert heads == ["Thread", "Live", "Had lived", "Calls", "Allocated"]


def test_threads_that_were_not_there_are_counted_alone(page, record):
    profile = record.victim("named_threads", "full").path
    points = points_of(profile)
    last = len(points) - 1
    whole, text, rows = page(profile, ("goto", "#threads"), ("count", "#thread-table tbody tr"), ("goto", f"#threads?{span(points, last)}"), ("wait", "#threads-range"), ("text", "#threads-range"), ("count", "#thread-table tbody tr"))
    gone = re.search(r"(\d+) of its threads (was|were) not there then", text)
    assert gone and whole - rows == int(gone.group(1)) > 0


def test_estimates_of_a_range_have_intervals(page, midden, record):
    sampled = record.victim("four_places", options=("--sample=65536", "--sample-seed=3")).path
    points = points_of(sampled)
    last = len(points) - 1
    seen = page(
        sampled, ("goto", f"#threads?{span(points, 0, last)}"), ("wait", "#threads-range"), ("eval", "Object.fromEntries([...document.querySelectorAll('#thread-table tbody [data-figure]')].map(c => [c.dataset.figure, c.title]))"),
        ("goto", f"#leaks?{span(points, 0, last)}"), ("wait", ".leak"), ("text", ".leak summary"), ("text", "#leaks-one-off .note"),
    )
    assert re.search(r"\(.* to .*\)", seen[0]["end_bytes"]) and re.search(r"\(.* to .*\)", seen[0]["most_bytes"]) and seen[0]["growth_bytes"].startswith("(± ")
    assert all(re.search(r"\(.* to .*\) in .*\(± .*\) within", text) for text in seen[1:])


def test_no_thread_can_be_chosen_where_threads_are_not_told_apart(page, record):
    profile = record.victim("named_threads", "full").path
    menu = "(({ disabled, value, parentElement }) => [disabled, value, parentElement.title])(document.querySelector('#thread'))"
    figures = (("wait", "#flame-total"), ("eval", menu), ("data", "#flame-total", "bytes"), ("texts", "#answer-note"))
    everything, range_, moment, allocated, whole, address = (seen := page(
        profile,
        ("goto", "#flame?from=0&to=9"), *figures, ("goto", "#flame?thread=2&from=0&to=9"), *figures, ("goto", "#flame?figure=live&thread=2"), *figures,
        ("goto", "#flame?figure=allocated&thread=2&from=0&to=9"), *figures, ("goto", "#flame?thread=2&from=0&to=9"), ("click", "#whole-range"), *figures, ("hash",),
    ))[0:3], seen[3:6], seen[6:9], seen[9:12], seen[12:15], seen[15]  # fmt: skip
    why = "all threads: they are not told apart over time"
    assert everything[0] == range_[0] == moment[0] == [True, "0", why]
    assert range_[1] == everything[1] and range_[2] == [f"the highest point of the range; {why}"] and everything[2] == ["the highest point of the range"] and moment[2] == [why]
    assert allocated[0] == whole[0] == [False, "2", ""] and whole[2] == [] and int(whole[1]) < int(everything[1])
    assert address == "#flame?thread=2"  # the address has kept it


def test_what_is_lost_is_of_its_look_whatever_the_range(page, midden, record):
    profile = record.victim("lost_shapes", options=("--leaks",)).path
    classes = ask(midden, "leaks", "--json", profile)["classes"]
    note, lost, of_range = page(
        profile, ("goto", "#leaks?from=0&to=0"), ("wait", "#lost-definite"), ("text", "#lost-of-all"), ("data", "#lost-definite", "bytes"),
        ("eval", "Boolean(document.querySelector('#leaks-range').compareDocumentPosition(document.querySelector('#lost-look')) & Node.DOCUMENT_POSITION_FOLLOWING)"),
    )
    assert "whatever range" in note and int(lost) == classes["definite"]["bytes"] and of_range


def test_by_tag_there_is_no_range(page, record):
    profile = record.victim("tagged", "nest", options=("--tags",)).path
    points = points_of(profile)
    last = len(points) - 1
    text, heads = page(profile, ("goto", f"#threads?{span(points, 0, last)}"), ("wait", "#of-all:not([hidden])"), ("text", "#of-all"), ("texts", "#thread-table thead th"))
    assert text.startswith("This page shows the whole recording") and heads == ["Thread", "Calls", "Allocated", "Calls/s", "Lived", "When"]
