"""Exports in a browser: flame graphs as people use them, and speedscope itself.

SPDX-License-Identifier: Apache-2.0
"""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from recording import read_stats

FIGURES = {
    "peak": ("bytes", "peak_bytes"),
    "leaked": ("bytes", "leaked_bytes"),
    "allocated": ("bytes", "allocated_bytes"),
    "calls": ("none", "allocations"),
    "temporary": ("none", "temporary_allocations"),
}


def test_a_flame_graph_can_be_searched_zoomed_and_flipped(record, export, browse):
    profile = record.victim("basic_heap").path
    path = export(profile, "flamegraph", "--figure", "allocated")
    seen = browse("svg.mjs", path, "^TRUTH_", "main")
    start = seen["start"]
    assert (seen["faults"], seen["requests"]) == ([], [path.as_uri()])
    assert start[0]["value"] == str(read_stats(profile)["allocated_bytes"])

    # Search: what is found is marked, and counted once where it calls itself.
    wanted = [box["name"].lower().startswith("truth_") for box in start]
    assert [box["hit"] for box in seen["searched"]] == wanted and any(wanted)
    assert seen["matched"].startswith(f"{sum(wanted)} found: ")
    assert "main" in seen["details"]

    # Zoom: the chosen box and those that it hangs from are as wide as the graph.
    whole = start[0]["width"]
    zoomed = {box["name"]: box for box in seen["zoomed"]}
    assert zoomed["main"]["width"] == pytest.approx(whole)
    assert zoomed[start[0]["name"]]["width"] == pytest.approx(whole)
    assert len(seen["zoomed"]) <= len(start)

    assert [(box["name"], box["x"], box["y"]) for box in seen["reset"]] == [
        (box["name"], box["x"], box["y"]) for box in start
    ]
    highest = max(box["y"] for box in start)
    assert seen["flipped"][0]["y"] == highest
    assert [box["x"] for box in seen["flipped"]] == [box["x"] for box in start]
    for state in ("start", "zoomed", "flipped"):
        assert [box["name"] for box in seen[state] if box["text"] and box["overflow"] > 0] == []


def test_what_is_found_inside_what_is_found_counts_once(make_profile, export, browse):
    seen = browse("svg.mjs", export(make_profile("huge"), "flamegraph"), "main|one|two", "one")
    assert seen["matched"] == "3 found: 27,021,597,764,222,979 bytes, 100.00 %"
    seen = browse("svg.mjs", export(make_profile("huge"), "flamegraph"), "o", "one")
    assert seen["matched"] == "2 found: 18,014,398,509,481,986 bytes, 66.67 %"


def test_hostile_names_are_text_in_a_flame_graph(make_profile, export, browse):
    path = export(make_profile("hostile"), "flamegraph")
    ElementTree.parse(path)
    seen = browse("svg.mjs", path, "semi;colon;", "main")
    assert (seen["faults"], seen["requests"]) == ([], [path.as_uri()])
    names = {box["name"] for box in seen["start"]}
    assert {
        "]]></script><script>alert(1)</script>",
        "tem<plate<int&>>::f(char const*)",
        "na\u00efve_\u6f22\u5b57_\U0001f40d",
        "line break  tab",
        "not utf-8 \ufffd\ufffd",
        "x" * 997 + "...",
    } <= names
    assert seen["matched"].startswith("1 found: 100 bytes")


def test_an_empty_flame_graph_opens(make_profile, export, browse):
    seen = browse("svg.mjs", export(make_profile("empty"), "flamegraph"), "x", "x")
    assert (seen["start"], seen["faults"]) == ([], [])


def test_a_search_that_is_no_regular_expression_is_a_text(make_profile, export, browse):
    seen = browse("svg.mjs", export(make_profile("hostile"), "flamegraph"), "operator(", "main")
    assert seen["matched"].startswith("1 found: ")


@pytest.mark.parametrize("victim", (("basic_heap",), ("temporaries",)), ids=str)
def test_speedscope_reads_one_profile_per_figure(record, export, browse, victim):
    profile = record.victim(*victim).path
    stats = read_stats(profile)
    path = export(profile, "speedscope", "--figure", "leaked")
    saved = browse("speedscope.mjs", path)
    assert {part["name"]: (part["unit"], part["endValue"]) for part in saved["profiles"]} == {
        figure: (unit, stats[total]) for figure, (unit, total) in FIGURES.items()
    }
    assert saved["activeProfileIndex"] == list(FIGURES).index("leaked")
    assert any(
        frame["name"] == "main" and frame["file"].endswith(f"{victim[0]}.c") and frame["line"]
        for frame in saved["shared"]["frames"]
    )


def test_speedscope_reads_hostile_names(make_profile, export, browse):
    path = export(make_profile("hostile"), "speedscope")
    saved = browse("speedscope.mjs", path)
    names = {frame["name"] for frame in saved["shared"]["frames"]}
    assert {"quote\"d 'twice'", "semi;colon;", "x" * 10000, "app+0x130", "[no stack]"} <= {
        re.sub(r"app\+0x\w+", "app+0x130", name) for name in names
    }


def test_speedscope_reads_collapsed_stacks(record, export, browse):
    profile = record.victim("basic_heap").path
    path = export(profile, "collapsed", "--figure", "allocated")
    saved = browse("speedscope.mjs", path)
    assert [part["endValue"] for part in saved["profiles"]] == [read_stats(profile)["allocated_bytes"]]
