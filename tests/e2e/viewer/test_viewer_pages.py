"""Each page of the viewer shows the figures that the commands print.

SPDX-License-Identifier: Apache-2.0
"""

import csv
import json
import re
import shutil
import subprocess

import pytest

from browser import span
from recording import read_stats

FIGURES = {
    "peak": ("peak_bytes", "peak_blocks"),
    "leaked": ("leaked_bytes", "leaked_blocks"),
    "allocated": ("allocated_bytes", "allocations"),
    "calls": ("allocated_bytes", "allocations"),
    "temporary": (None, "temporary_allocations"),
}


@pytest.fixture
def tree(record):
    """The profile of known_tree, whose heap is in its head comment."""
    return record.victim("known_tree", "full").path


def ask(midden, *words):
    done = subprocess.run([midden, *map(str, words)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_overview_shows_the_totals(page, tree):
    stats = read_stats(tree)
    cards = page(tree, *(("text", f"#card-{name} .figure") for name in ("peak", "calls")), ("text", "#card-peak .note"), ("text", "#run"), ("text", "#warnings"), ("texts", "#hottest tr"))
    assert stats["peak_bytes"] == 200030
    assert cards[0] == "195 KiB"
    assert cards[1] == f"{stats['allocations']:,}"
    assert cards[2].startswith("151 blocks")
    assert "known_tree full" in cards[3]
    assert cards[5][0].split()[:4] == ["100.0", "%", "195", "KiB"] and "table_new" in cards[5][0]
    assert "nothing was lost" in cards[4] or "freed before the next allocation" in cards[4]


def test_findings_are_listed_and_lead_to_their_place(page, midden, record):
    profile = record.victim("one_habit", "temporary").path
    findings = ask(midden, "report", "--findings", "--json", profile)["findings"]
    listed, target = page(profile, ("count", "#findings li"), ("eval", "document.querySelector('#findings a')?.getAttribute('href')"))
    assert listed == len(findings) > 0
    assert target.startswith("#flame?")


@pytest.mark.parametrize("figure", FIGURES)
def test_the_flame_graph_adds_up_to_the_total(page, tree, figure):
    stats = read_stats(tree)
    total_bytes, blocks = page(tree, ("goto", f"#flame?figure={figure}"), ("wait", "#flame-total"), ("data", "#flame-total", "bytes"), ("data", "#flame-total", "blocks"))
    wanted_bytes, wanted_blocks = FIGURES[figure]
    assert int(total_bytes) == (stats[wanted_bytes] if wanted_bytes else 0)
    assert int(blocks) == stats[wanted_blocks]


def test_a_search_marks_and_says_how_much(page, tree):
    # load has 100,000 of the 200,030 bytes.
    seen = page(tree, ("goto", "#flame"), ("wait", "#search"), ("fill", "#search", "LOAD"), ("text", "#search-share"), ("hash",))
    assert seen[0] == "50.0 % of what is shown"
    assert "search=LOAD" in seen[1]


def test_zooming_is_in_the_address_and_can_be_undone(page, tree):
    # The third box from the top; rows are 20 pixels.
    seen = page(tree, ("goto", "#flame"), ("wait", ".flame"), ("clickAt", ".flame", 300, 50), ("text", ".path"), ("hash",), ("click", "#zoom-out"), ("text", ".path"), ("back",), ("hash",))
    assert seen[0].startswith("all ›") and "zoom=" in seen[1]
    assert seen[2] == "" and seen[3] == seen[1]


def test_hovering_shows_all_figures(page, tree):
    (card,) = page(tree, ("goto", "#flame"), ("wait", ".flame"), ("hoverAt", ".flame", 300, 10), ("text", ".hover"))
    assert "195 KiB in 151 blocks" in card
    assert "100.0 %" in card


def test_keys_choose_pages_and_move(page, tree):
    seen = page(tree, ("press", "3"), ("hash",), ("focus", ".flame"), ("press", "ArrowDown"), ("press", "Enter"), ("hash",), ("press", "Escape"), ("hash",), ("press", "/"), ("eval", "document.activeElement.id"))
    assert seen[0] == "#flame"
    assert "zoom=" in seen[1]
    assert "zoom=" not in seen[2]
    assert seen[3] == "search"


def test_every_page_has_a_key_and_the_help_names_it(page, tree):
    keys = "[...document.querySelectorAll('nav a')].map(a => [a.getAttribute('aria-keyshortcuts'), a.hash.slice(1)])"
    help_keys = "[...document.querySelectorAll('#help div > div:first-child tr')].map(r => r.innerText.split(/\\s/)[0])"
    seen = page(
        tree, ("eval", keys), ("press", "?"), ("eval", help_keys), ("press", "3"), ("hash",), ("press", "Escape"), ("count", "#help[open]"), ("press", "5"), ("hash",), ("press", "]"), ("hash",), ("press", "["), ("press", "["), ("hash",),
        ("press", "1"), ("press", "["), ("hash",), ("press", "3"), ("press", "i"), ("hash",),
    )
    pages = dict(seen[0])
    assert len(pages) == len(seen[0]) and None not in pages and seen[1] == list(pages)
    assert seen[2:] == ["", 0, "#callers", "#source", "#table", f"#{list(pages.values())[-1]}", "#flame?inverted=1"]
    seen = page(tree, *(step for key in pages for step in (("press", key), ("hash",))))
    assert seen == [f"#{id}" for id in pages.values()]


def test_who_chooses_by_keyboard_stays_where_they_are(page, tree):
    seen = page(tree, ("goto", "#flame"), ("focus", "#figure"), ("press", "ArrowDown"), ("hash",), ("eval", "document.activeElement.id"), ("focus", "#inverted"), ("press", "Space"), ("hash",), ("eval", "document.activeElement.id"))
    assert seen == ["#flame?figure=leaked", "figure", "#flame?figure=leaked&inverted=1", "inverted"]


def test_the_tree_shows_what_the_report_shows(page, midden, tree):
    report = ask(midden, "report", "--top-down", "--json", tree)
    names = page(tree, ("goto", "#table"), ("wait", ".rows-inner .row"), ("texts", ".rows-inner .row"))[0]
    first = next(line for line in names if line.startswith(("▾", "▸", "·")))
    assert "195 KiB" in first and "151" in first and "100.0 %" in first
    assert report["total_bytes"] == 200030 if "total_bytes" in report else True


def test_functions_have_callers_and_callees(page, tree):
    seen = page(tree, ("goto", "#callers"), ("wait", ".rows-inner .row"), ("click", ".rows-inner .row a >> text=table_new"), ("text", "#neighbours"))
    assert "table_new" in seen[0] and "load" in seen[0] and "save" in seen[0]
    assert "195 KiB with callees, 195 KiB by itself" in seen[0]


def test_leaks_add_up_to_what_leaked(page, tree):
    stats = read_stats(tree)
    sums = page(tree, ("goto", "#leaks"), ("wait", ".leaks-page section"), ("eval", "[...document.querySelectorAll('.leaks-page section')].map(s => [Number(s.dataset.bytes), Number(s.dataset.blocks)])"))[0]
    assert sum(b for b, _ in sums) == stats["leaked_bytes"]
    assert sum(n for _, n in sums) == stats["leaked_blocks"]


def test_a_leak_that_grows_is_called_growing(page, record):
    profile = record.timely_victim("one_habit", "growing", within_s=1.6).path
    (text,) = page(profile, ("goto", "#leaks"), ("wait", "#leaks-growing"), ("text", "#leaks-growing"))
    assert text.startswith("Growing")


def test_threads_have_their_own_figures(page, record):
    recording = record.victim("named_threads")
    rows = page(recording.path, ("goto", "#threads"), ("wait", "#thread-table tbody tr"), ("texts", "#thread-table tbody tr"))[0]
    stats = read_stats(recording.path)
    assert len(rows) == stats["threads"]


def test_sizes_are_those_of_the_profile(page, tree):
    cells = page(tree, ("goto", "#sizes"), ("wait", "#size-histogram tbody tr"), ("texts", "#size-histogram tbody tr"))[0]
    # sum's 2,000,000 blocks of 8 bytes are the most frequent by far.
    row = next(line for line in cells if line.startswith("8 B"))
    assert any(word.startswith("2,000,0") for word in row.split())


def test_a_cell_of_sizes_and_lifetimes_leads_to_stacks(page, tree):
    seen = page(tree, ("goto", "#sizes"), ("wait", "#size-by-life"), ("eval", """(() => {
        const c = document.querySelector('#size-by-life'); const p = c.getContext('2d');
        const s = devicePixelRatio;
        // The first cell that is painted.
        for (let y = 4; y < c.clientHeight - 30; y += 4) for (let x = 90; x < c.clientWidth - 4; x += 4)
          if (p.getImageData(x * s, y * s, 1, 1).data[3] > 200) {
            const r = c.getBoundingClientRect();
            c.dispatchEvent(new MouseEvent('click', { clientX: r.left + x, clientY: r.top + y })); return true; }
        return false; })()"""), ("text", "#cell-stacks"), ("count", "#cell-stacks details"))
    assert seen[0] is True
    stacks = int(re.search(r"blocks? of [^\n]*\n+(\d+) stacks? can have made them", seen[1]).group(1))
    assert seen[2] == stacks > 0


def test_source_lines_have_their_figures(page, tree):
    seen = page(tree, ("goto", "#source"), ("wait", ".files a"), ("click", ".files a >> text=known_tree.c"), ("wait", "table.lines"), ("texts", "table.lines tbody tr"), options=("--sources=3",))
    line = next(text for text in seen[0] if "malloc(size)" in text)
    assert "195 KiB" in line
    assert any("#" in text or "/*" in text or "static" in text for text in seen[0])


def test_a_dragged_range_holds_on_every_page(page, midden, record):
    profile = record.victim("known_tree", "late").path
    points = read_stats(profile, "--points")["points"]
    seen = page(
        profile,
        ("goto", "#time"), ("wait", "#chart-bytes .u-over"), ("drag", "#chart-bytes .u-over", 0.55, 0.95), ("hash",), ("text", "#range-facts"),
        ("click", "#range-facts a >> text=Live at its end"), ("wait", "#flame-total"), ("data", "#flame-total", "bytes"), ("hash",),
        ("choose", "#figure", "growth"), ("data", "#flame-total", "bytes"),
        ("click", "#whole-range"), ("hash",),
    )
    marks = dict(word.split("=") for word in seen[0].partition("?")[2].split("&"))
    first, last = (next(p for p in points if f"{p['time_ns']}ns" == marks[end]) for end in ("from", "to"))
    assert first["time_ns"] < last["time_ns"]
    assert int(seen[2]) == last["live_bytes"]
    assert "from=" in seen[3]
    assert int(seen[4]) == last["live_bytes"] - first["live_bytes"]
    assert "from=" not in seen[5]


def test_live_at_a_time_is_what_the_report_says(page, midden, record):
    profile = record.victim("known_tree", "late").path
    points = read_stats(profile, "--points")["points"]
    middle = len(points) // 2
    report = ask(midden, "report", "--live-at", f"{points[middle]['time_ns']}ns", "--json", profile)
    (live,) = page(profile, ("goto", f"#flame?figure=live&{span(points, middle)}"), ("wait", "#flame-total"), ("data", "#flame-total", "bytes"))
    assert int(live) == points[middle]["live_bytes"]
    assert report


def test_an_address_brings_back_what_was_looked_at(page, tree):
    seen = page(tree, ("goto", "#flame?figure=calls&inverted=1&functions=sum"), ("reload",), ("wait", "#flame-total"), ("data", "#flame-total", "blocks"), ("eval", "document.querySelector('#inverted').checked"), ("eval", "document.querySelector('#functions').value"))
    assert seen == ["2000000", True, "sum"]


def test_addresses_that_make_no_sense_show_something(page, tree):
    for address in ("#nowhere", "#flame?figure=bogus&from=9&to=1&zoom=9999.x", "#source?file=99999999", "#callers?zoom=123456789", "#sizes?cell=a,b", "#threads?thread=-1"):
        assert page(tree, ("goto", address), ("count", "main *"))[0] > 0


def test_two_profiles_are_compared(page, record, midden):
    old = record.victim("known_tree", "late").path
    new = record.victim("known_tree", "full").path
    diff = [read_stats(path)["peak_bytes"] for path in (old, new)]
    seen = page(new, ("goto", "#compare"), ("wait", "#compare-totals"), ("data", "#compare-totals", "old"), ("data", "#compare-totals", "now"), ("texts", ".rows-inner .row"), options=("--compare", old))
    assert [int(seen[0]), int(seen[1])] == diff
    assert any("table_new" in row for row in seen[2])


def test_two_profiles_that_are_compared_are_named(page, record):
    old = record.victim("known_tree", "late").path
    new = record.victim("known_tree", "full").path
    before, now = page(new, ("goto", "#compare"), ("wait", "#compare-totals"), ("texts", "#compare-runs tr"), options=("--compare", old))[0]
    assert before.startswith("Before") and old.name in before and "known_tree late" in before
    assert now.startswith("Now") and new.name in now and "known_tree full" in now
    overview = page(new, ("goto", "#overview"), ("text", "#run"))[0]
    assert new.name in overview and str(new.parent) + "/" + new.name not in overview


def test_a_build_under_another_name_is_compared_as_the_same_program(page, record, native, tmp_path):
    other = tmp_path / "known_tree.old"
    shutil.copy(native.victim("known_tree"), other)
    old = record.run([other, "late"]).path
    new = record.victim("known_tree", "full").path
    rows = page(new, ("goto", "#compare"), ("wait", ".rows-inner .row"), ("texts", ".rows-inner .row"), options=("--compare", old))[0]
    table_new = [row.split() for row in rows if row.startswith("table_new")]
    assert [row[2] for row in table_new] == ["grown"]


def test_of_a_short_recording_no_leak_is_called_one_off(page, midden, record):
    profile = record.victim("known_tree", "late").path
    assert ask(midden, "report", "--findings", "--json", profile)["has_time_line"] is False
    assert "too short" in page(profile, ("goto", "#leaks"), ("wait", "#leaks-one-off"), ("text", "#leaks-one-off h2"))[0]


def test_heads_of_columns_stay_above_their_columns(page, tree):
    edges = "[...document.querySelectorAll('.rows .row')].slice(0, 2).map(r => Math.round(r.children[4].getBoundingClientRect().right))"
    seen = page(tree, ("size", 420, 800), ("goto", "#table"), ("wait", ".rows-inner .row"), ("eval", "document.querySelector('.rows').scrollLeft = 300"), ("eval", edges))
    assert seen[1][0] == seen[1][1]


def test_dark_mode_and_narrow_windows_work(page, tree):
    seen = page(tree, ("dark",), ("size", 420, 800), ("goto", "#flame"), ("wait", ".flame"), ("eval", "getComputedStyle(document.body).backgroundColor"), ("eval", "document.documentElement.scrollWidth <= innerWidth + 1"))
    assert seen[0] == "rgb(22, 24, 27)"
    assert seen[1] is True


def test_views_can_be_saved(page, midden, tree, tmp_path):
    seen = page(tree, ("goto", "#flame?figure=allocated"), ("wait", "#save-svg"), ("save", "#save-svg"), ("save", "#save-csv"), ("save", "#save-collapsed"))
    stats = read_stats(tree)
    assert seen[0]["name"] == "known_tree.allocated.svg" and "<svg" in seen[0]["text"] and "table_new" in seen[0]["text"]
    assert sum(int(line.split(",")[0]) for line in seen[1]["text"].splitlines()[1:]) == stats["allocated_bytes"]
    lines = seen[2]["text"].splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == stats["allocated_bytes"]


def test_tables_of_all_pages_can_be_saved(page, tree):
    stats = read_stats(tree)
    names = ("callers", "sizes", "threads", "leaks", "time", "globals")
    steps = [step for name in names for step in (("goto", f"#{name}"), ("wait", f"main:has(.{name}-page) #save-csv"), ("save", "#save-csv"))]
    tables = {name: list(csv.DictReader(saved["text"].splitlines())) for name, saved in zip(names, page(tree, *steps))}

    def total(name, column):
        return sum(int(row[column]) for row in tables[name])

    assert total("callers", "self") == stats["peak_bytes"]
    assert (total("sizes", "count"), total("sizes", "bytes")) == (stats["allocations"], stats["allocated_bytes"])
    assert total("threads", "allocations") == stats["allocations"]
    assert (total("leaks", "bytes"), total("leaks", "blocks")) == (stats["leaked_bytes"], stats["leaked_blocks"])
    assert int(tables["time"][-1]["allocations"]) == stats["allocations"]
    assert any(row["object"].endswith("known_tree") for row in tables["globals"])


def test_hostile_names_are_text(page, make_profile):
    profile = make_profile("hostile")
    for name in ("flame", "table", "callers", "leaks", "source", "sizes", "threads"):
        seen = page(profile, ("goto", f"#{name}"), ("count", "main *"), ("eval", "document.querySelectorAll('main script, main b, main img').length"))
        assert seen[0] > 0 and seen[1] == 0


def test_an_empty_profile_has_pages_too(page, make_profile):
    profile = make_profile("empty")
    for name in ("overview", "time", "flame", "table", "callers", "source", "sizes", "threads", "leaks"):
        assert page(profile, ("goto", f"#{name}"), ("count", "main *"))[0] > 0
