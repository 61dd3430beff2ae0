"""How the viewer's pages put things into words: growth, nothing, moments; and that what they offer leads somewhere.

SPDX-License-Identifier: Apache-2.0
"""

import subprocess

import pytest
from browser import span
from recording import Recorder, read_stats


@pytest.fixture(scope="module")
def recorder(tmp_path_factory, native):
    return Recorder(tmp_path_factory.mktemp("words"), native)


@pytest.fixture(scope="module")
def late(recorder):
    return recorder.victim("known_tree", "late").path


@pytest.fixture(scope="module")
def threaded(recorder):
    return recorder.victim("named_threads", "full").path


def test_growth_is_written_with_its_sign_and_shares_of_it_are_of_all_changes(page, late):
    # Of load's 100,000 bytes in 100 blocks half are freed while save makes 50 blocks of 2,000 bytes.
    points = read_stats(late, "--points")["points"]
    first = next(i for i, p in enumerate(points) if p["live_bytes"] == 100_000)
    growth = f"figure=growth&{span(points, first, -1)}"
    rows = "Object.fromEntries([...document.querySelectorAll('.rows-inner .row')].map(r => [r.querySelector('a').textContent, [...r.querySelectorAll('.cell')].map(c => c.textContent)]))"
    total, note, tree, functions, about, zoomed, path = page(
        late, ("goto", f"#flame?{growth}"), ("wait", "#flame-total"), ("text", "#flame-total"), ("text", ".saving .note"),
        ("goto", f"#table?{growth}&byLine=0"), ("wait", ".rows-inner .row"), ("eval", rows), ("goto", f"#callers?{growth}"), ("wait", ".rows-inner .row"), ("eval", rows), ("text", "#functions-note"),
        ("goto", f"#flame?{growth}&functions=load"), ("wait", ".flame canvas"), ("clickAt", ".flame", 100, 90), ("text", "#zoom-amount"), ("text", ".path"),
    )
    assert total == "+48.8 KiB and 0 blocks in all: 97.7 KiB more, 48.8 KiB less"
    assert "what grew alone" in note
    assert functions["save"][2] == "66.7 %  +97.7 KiB" and functions["load"][2] == "−33.3 %  −48.8 KiB"
    assert "grew and what shrank" in about
    cells = [cell for row in (*tree.values(), *functions.values()) for cell in row[1:]]
    assert any("−" in cell for cell in cells) and not any("-" in cell for cell in cells)
    assert "−48.8 KiB and −50 blocks, −100.0 %" in zoomed and zoomed[2:].partition(":")[0] in path


def test_above_a_zoomed_graph_stands_what_its_box_comes_to(page, late):
    seen = page(late, ("goto", "#flame?inverted=1"), ("wait", ".flame canvas"), ("count", "#zoom-amount"), ("clickAt", ".flame", 100, 30), ("text", "#flame-total"), ("press", "Escape"))
    assert seen[0] == 0
    whole, _, box = seen[1].partition(" in all; ")
    assert whole.startswith("146 KiB in ") and box.startswith("table_new: 146 KiB in 100 blocks, 100.0 %")


EARLY = r"""
#include <pthread.h>
#include <stdlib.h>
static void *volatile kept;
static void *work(void *unused) { for (int i = 0; i < 10; i++) { kept = malloc(1000); free(kept); } return unused; }
int main(void) { pthread_t t; pthread_create(&t, NULL, work, NULL); pthread_join(t, NULL); kept = malloc(500000); return kept == NULL; }
"""


def test_a_threads_name_leads_to_a_figure_that_it_has(page, recorder, tmp_path):
    (tmp_path / "early.c").write_text(EARLY)
    subprocess.run(["cc", "-g", "-pthread", "-o", "early", "early.c"], cwd=tmp_path, check=True)
    profile = recorder.run([tmp_path / "early"]).path
    rows, clicked, total, text, links = page(
        profile, ("goto", "#threads"), ("wait", "#thread-table"), ("eval", "Object.fromEntries([...document.querySelectorAll('#thread-table tbody tr')].map(r => [r.dataset.serial, r.querySelector('a')?.getAttribute('href')]))"),
        ("click", "#thread-table [data-serial='2'] a"), ("hash",), ("data", "#flame-total", "bytes"),
        ("goto", "#flame?thread=2"), ("wait", ".flame-page .path a"), ("text", ".flame-page .path"), ("texts", ".flame-page .path a"),
    )
    assert rows["1"] == "#flame?thread=1" and rows["2"] == clicked == "#flame?figure=allocated&thread=2" and int(total) >= 10_000
    assert text.startswith("Nothing to show: no stack of this thread") and links == ["Allocated bytes", "Calls", "Temporary"]


def test_no_element_is_called_like_a_page(page, threaded):
    ids = "[...document.querySelectorAll('nav a')].map(a => a.getAttribute('href').slice(1).split('?')[0]).filter(id => document.getElementById(id))"
    names = ("overview", "time", "flame", "table", "callers", "source", "sizes", "threads", "leaks", "globals")
    seen = page(threaded, ("size", 420, 700), *(step for name in names for step in (("goto", f"#{name}"), ("wait", f"[data-page={name}]"), ("eval", ids), ("eval", "[scrollY, document.activeElement.tagName]"))))
    assert seen[::2] == [[]] * len(names) and seen[1::2] == [[0, "BODY"]] * len(names)


def test_in_a_narrow_window_the_list_of_files_is_above_the_text(page, late):
    tops = "['.files', '.source'].map(name => document.querySelector(name).getBoundingClientRect().top)"
    ((files, text),) = page(late, ("size", 420, 700), ("goto", "#source"), ("wait", "table.lines"), ("eval", tops))
    assert files < text


def test_the_source_page_begins_with_a_file_that_can_be_read(page, recorder, tmp_path):
    script = tmp_path / "short.py"
    script.write_text("kept = bytearray(5_000_000)\nexec('more = bytearray(9_000_000)')\n")
    profile = recorder.run(["/usr/bin/python3", script]).path
    title, lines = page(profile, ("goto", "#source"), ("wait", "table.lines"), ("text", ".source h2"), ("texts", "td.code"), options=("--sources",))
    assert title == str(script) and any("bytearray(5_000_000)" in line for line in lines)


def test_a_program_that_allocates_nothing_is_told_in_a_sentence(page, recorder, tmp_path):
    (tmp_path / "idle.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-o", "idle", "idle.c"], cwd=tmp_path, check=True)
    profile = recorder.run([tmp_path / "idle"]).path
    assert read_stats(profile)["allocations"] == 0
    shown = "[...document.querySelectorAll('main .rows, main canvas.heat, main table, main .source')].filter(e => e.checkVisibility() && e.getBoundingClientRect().height > 0).length"
    names = ("flame", "table", "callers", "source", "sizes")
    *seen, facts, charts = page(profile, *(step for name in names for step in (("goto", f"#{name}"), ("wait", f"[data-page={name}]"), ("eval", "document.querySelector('main').innerText"), ("eval", shown))),
                                ("goto", "#time"), ("wait", "#chart-bytes"), ("text", "#range-facts"), ("count", ".chart"))
    assert all("the program allocated nothing while it was recorded" in text for text in seen[::2])
    assert dict(zip(names, seen[1::2])) == dict.fromkeys(names, 0)
    assert "allocated nothing" in facts and charts == 1


def test_a_cell_of_sizes_can_be_told_chosen_and_left(page, late):
    # The only cells with something, by their places: blocks of 1,000 bytes that were freed.
    cells = "(() => { const c = document.querySelector('#size-by-life'), r = c.getBoundingClientRect(), d = c.getContext('2d'), k = c.width / r.width; const found = []; for (let x = 90; x < r.width - 5; x += 8) for (let y = 8; y < r.height - 30; y += 8) found.push([x, y, d.getImageData(x * k, y * k, 1, 1).data[3] > 0]); return found; })()"
    (places,) = page(late, ("goto", "#sizes"), ("wait", "#size-by-life"), ("eval", cells))
    full = next([x, y] for x, y, is_full in places if is_full)
    shades, told, clicked, title, again, stacks, by_key, left = page(
        late, ("goto", "#sizes"), ("wait", "#size-by-life"), ("text", "#cell-told"), ("hoverAt", "#size-by-life", *full), ("text", "#cell-told"),
        ("clickAt", "#size-by-life", *full), ("hash",), ("text", "#cell-stacks h3"), ("clickAt", "#size-by-life", *full), ("hash",), ("count", "#cell-stacks *"),
        ("press", "ArrowRight"), ("hash",), ("press", "Escape"), ("hash",),
    )
    assert shades.startswith("The darker a cell, the more blocks")
    assert told == title and " of 512 B to 1023 B that lived " in told
    assert "cell=10%2C" in clicked and again == "#sizes" and stacks == 0
    assert "cell=" in by_key and left == "#sizes"
    empty = [[x, y] for x, y, is_full in places if not is_full]
    if empty:
        assert page(late, ("goto", "#sizes"), ("wait", "#size-by-life"), ("clickAt", "#size-by-life", *empty[0]), ("hash",)) == ["#sizes"]


def test_a_comparison_offers_what_both_have_and_says_if_nothing_changed(page, late, threaded):
    old = late
    modules, figures, of_range = page(
        threaded, ("goto", "#compare"), ("wait", "#compare-totals"), ("texts", "#module option"), ("texts", "#figure option"), ("goto", "#compare?from=0&to=1"), ("wait", "#compare-note"), ("texts", "#figure option"),
        options=("--compare", old),
    )
    assert {"known_tree", "named_threads"} <= set(modules) and modules[0] == "all modules"
    assert not {"Live at a time", "Growth"} & set(figures) and {"Live at a time", "Growth"} <= set(of_range)
    text, rows = page(late, ("goto", "#compare"), ("wait", "#compare-totals"), ("text", "#compare-same"), ("count", ".compare-page .rows:visible"), options=("--compare", old))
    assert text == "Nothing changed." and rows == 0


def test_escape_empties_a_search_box_leaves_it_and_zooms_out(page, late):
    focus = ("eval", "document.activeElement.id || document.activeElement.tagName")
    seen = page(
        late, ("goto", "#flame?search=load"), ("wait", ".flame canvas"), ("focus", "#search"), ("press", "Escape"), ("hash",), focus, ("press", "Escape"), focus, ("press", "4"), ("hash",),
        ("goto", "#flame?inverted=1"), ("clickAt", ".flame", 100, 30), ("reload",), ("wait", "#zoom-out"), ("press", "Escape"), ("hash",),
    )
    assert seen == ["#flame", "search", "BODY", "#table", "#flame?inverted=1"]
    assert page(late, ("goto", "#callers?functions=load"), ("wait", "#functions"), ("focus", "#functions"), ("press", "Escape"), ("hash",)) == ["#callers"]


def test_a_moment_and_a_signal_are_called_by_name(page, recorder, late, tmp_path):
    points = read_stats(late, "--points")["points"]
    text, links = page(late, ("goto", f"#time?{span(points, -1)}"), ("wait", "#range-facts a"), ("text", "#range-facts"), ("texts", "#range-facts a"))
    assert text.startswith("At ") and "146 KiB live in 100 blocks." in text and links == ["Live then"]
    (tmp_path / "abort.c").write_text("#include <stdlib.h>\nint main(void) { if (!malloc(1000)) return 1; abort(); }\n")
    subprocess.run(["cc", "-o", "abort", "abort.c"], cwd=tmp_path, check=True)
    run, card = page(recorder.run([tmp_path / "abort"]).path, ("text", "#run"), ("text", "#card-peak"))
    assert "6 (Aborted)" in run and "1 block at" in card
