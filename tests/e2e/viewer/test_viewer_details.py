"""What the viewer's pages do beyond showing totals: shapes of the flame graph, comparison by function, long files, keys.

SPDX-License-Identifier: Apache-2.0
"""

import json
import re
import subprocess

import pytest

from browser import span
from recording import read_stats

TREE_ROWS = "[...document.querySelectorAll('.rows-inner .row')].map(r => [r.querySelector('a').textContent, Number(r.dataset.bytes), Number(r.dataset.blocks), Number(r.dataset.depth)])"
FUNCTION_ROWS = "[...document.querySelectorAll('.rows-inner .row')].map(r => [r.querySelector('a').textContent, Number(r.dataset.self), Number(r.dataset.total)])"


@pytest.fixture
def tree(record):
    """The profile of known_tree, whose heap is in its head comment."""
    return record.victim("known_tree", "full").path


def ask(midden, *words):
    done = subprocess.run([midden, *map(str, words)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def saved_svg_titles(text):
    return [part.partition("</title>")[0] for part in text.split("<title>")[1:]]


def test_recursion_can_be_folded(page, tree):
    # descend calls itself up to 5 times and leaks 500 bytes.
    seen = page(
        tree,
        ("goto", "#flame?figure=leaked&functions=descend"), ("wait", "#save-svg"), ("save", "#save-svg"),
        ("click", "#fold"), ("hash",), ("save", "#save-svg"), ("data", "#flame-total", "bytes"),
    )
    descents = [sum(title.startswith("descend") for title in saved_svg_titles(svg["text"])) for svg in (seen[0], seen[2])]
    assert descents == [5, 1]
    assert "fold=1" in seen[1]
    assert seen[3] == "500"


def test_threads_can_be_the_first_level(page, midden, record):
    # Thread i of 4 makes 10 x (i + 1) blocks of 100 bytes, all in one function.
    profile = record.victim("named_threads", "full").path
    seen = page(profile, ("goto", "#flame?figure=allocated&functions=work"), ("wait", "#by-thread"), ("click", "#by-thread"), ("save", "#save-svg"), ("hash",), ("data", "#flame-total", "bytes"))
    titles = saved_svg_titles(seen[0]["text"])
    for i in range(4):
        (title,) = [t for t in titles if t.startswith(f"worker-{i} (")]
        assert title.endswith(f"{10 * (i + 1) * 100 / 1024:.2f} KiB" if i else "1000 B")
    assert "byThread=1" in seen[1] and seen[2] == "10000"


def test_growth_shows_what_shrank_beside_what_grew(page, record):
    # Of load's 100,000 bytes half are freed while save makes 100,000.
    profile = record.victim("known_tree", "late").path
    points = read_stats(profile, "--points")["points"]
    first = next(i for i, p in enumerate(points) if p["live_bytes"] == 100000)
    last = len(points) - 1
    seen = page(
        profile,
        ("goto", f"#flame?figure=growth&{span(points, first, last)}"), ("wait", "#save-svg"), ("save", "#save-svg"), ("text", "#legend"),
        ("hoverAt", ".flame", 300, 10), ("text", ".flame-page .hover"),
    )
    titles = saved_svg_titles(seen[0]["text"])
    assert any(t.startswith("load: −33.3 %, −48.8 KiB") for t in titles)
    assert any(t.startswith("save: 66.7 %, +97.7 KiB") for t in titles)
    assert "grown" in seen[1] and "shrunk" in seen[1]
    assert "48.8 KiB: 97.7 KiB more, 48.8 KiB less" in seen[2]


def test_of_a_graph_that_is_higher_than_the_window_what_is_in_sight_is_painted_at_once(page, record):
    # 300 calls, one inside of the other: 6,000 pixels.
    profile = record.victim("deep_stack", "300").path
    look = """(act, event) => new Promise(done => { act(); addEventListener(event, () => done([...document.querySelectorAll('.flame canvas')].map(canvas => {
        const { top, bottom } = canvas.getBoundingClientRect();
        return [top < innerHeight && bottom > 0, canvas.width > 0 && canvas.getContext('2d').getImageData(9, 9, 1, 1).data[3] > 0];
    })), { once: true }) })"""
    first, after = page(profile, ("size", 900, 400), ("wait", "main > *"), ("eval", f"({look})(() => location.hash = '#flame', 'hashchange')"), ("eval", f"({look})(() => scrollTo(0, 5000), 'scroll')"))
    for parts in (first, after):
        assert any(is_seen for is_seen, _ in parts) and all(is_painted for is_seen, is_painted in parts if is_seen)
    assert len(first) > 2 and first[0] == [True, True] and first[-1] == [False, False]


def test_of_a_long_table_what_is_in_sight_is_there_at_once_and_a_little_more_a_moment_later(page, record):
    profile = record.victim("deep_stack", "300").path
    rows = """[...document.querySelectorAll('.rows-inner .row')].map(row => row.getBoundingClientRect().top)"""
    look = f"""new Promise(done => {{ location.hash = '#table'; addEventListener('hashchange', () => done([{rows}, document.querySelector('.rows').getBoundingClientRect().bottom]), {{ once: true }}) }})"""
    more = f"""new Promise(done => {{ const look = () => {{ const all = {rows}; all.length > %d ? done(all) : setTimeout(look, 50); }}; look(); }})"""
    ((first, bottom),) = page(profile, ("size", 900, 500), ("wait", "main > *"), ("eval", look))
    assert first[-1] + 24 >= bottom > first[-2]
    (later,) = page(profile, ("size", 900, 500), ("goto", "#table"), ("wait", ".rows-inner .row"), ("eval", more % len(first)))
    assert len(later) == len(first) + 8 and all(b - a == 24 for a, b in zip(later, later[1:]))


ROW_ELEMENTS = "[...document.querySelectorAll('.rows-inner, .rows-inner *')].map(e => [e.tagName, [...e.attributes].map(a => `${a.name}=${a.value}`).sort(), e.children.length ? '' : e.textContent])"


def test_rows_that_take_on_other_figures_are_like_rows_made_anew(page, tree):
    ways = (("#table", "#table?inverted=1&sort=calls"), ("#table?inverted=1&byLine=1&sort=name", "#table?figure=leaked"), ("#callers?search=table", "#callers?sort=total"))
    for first, then in ways:
        (changed,) = page(tree, ("goto", first), ("wait", ".rows-inner .row"), ("goto", then), ("eval", ROW_ELEMENTS))
        (made,) = page(tree, ("goto", then), ("wait", ".rows-inner .row"), ("eval", ROW_ELEMENTS))
        assert changed == made and len(made) > 20


def test_who_sorts_a_table_stays_on_the_head_of_the_column(page, tree):
    heads = "[document.activeElement.id, [...document.querySelectorAll('.head [aria-pressed=true]')].map(b => b.id), document.querySelectorAll('.head .cell').length]"
    seen = page(
        tree, ("goto", "#table"), ("wait", ".rows-inner .row"), ("eval", heads), ("click", "#sort-calls"), ("eval", heads), ("choose", "#figure", "leaked"), ("text", "#sort-value"),
        ("goto", "#callers"), ("wait", ".rows-inner .row"), ("click", "#sort-total"), ("eval", heads),
    )
    assert seen[0][1:] == [["sort-value"], 9] and seen[1] == ["sort-calls", ["sort-calls"], 9]
    assert seen[2] == "Share of leaked" and seen[3] == ["sort-total", ["sort-total"], 3]


def test_rows_are_where_the_table_is_whatever_it_was_before(page, record):
    profile = record.victim("deep_stack", "300").path
    rows = """(() => { const list = document.querySelector('.rows'), { top, bottom } = list.getBoundingClientRect();
        const all = [...document.querySelectorAll('.rows-inner .row')].map(row => row.getBoundingClientRect());
        return [list.scrollTop > 0, all.length > 0 && all[0].top - list.firstChild.offsetHeight <= top + 2, all.at(-1)?.bottom >= bottom - 2, all.length]; })()"""
    seen = page(
        profile, ("size", 900, 500), ("goto", "#table"), ("wait", ".rows-inner .row"), ("focus", ".rows"), ("press", "End"), ("eval", rows),
        ("goto", "#time"), ("goto", "#table"), ("eval", rows), ("goto", "#time"), ("size", 900, 900), ("goto", "#table"), ("eval", rows),
        ("goto", "#table?functions=nothing-has-this"), ("eval", rows), ("goto", "#table"), ("eval", rows), ("goto", "#table?inverted=1&sort=name"), ("eval", rows),
    )
    assert seen[0][:3] == [True] * 3
    assert seen[1][1:3] == seen[2][1:3] == seen[4][1:3] == [True] * 2 and seen[3][3] == 0
    assert seen[5][1] is True


def test_sizes_over_time_are_drawn_when_they_come_into_sight_and_when_the_page_comes_back(page, tree):
    # Colours of the picture; a canvas that nobody has drawn on has one.
    count = "new Set(new Uint32Array(document.querySelector('#size-by-time').getContext('2d').getImageData(0, 0, 300, 150).data.buffer)).size"
    look = f"""(act, event) => new Promise(done => {{ act(); addEventListener(event, () => done({count}), {{ once: true }}) }})"""
    go = lambda hash: ("eval", f"({look})(() => location.hash = '{hash}', 'hashchange')")  # noqa: E731
    wait = ("eval", f"new Promise(done => {{ const look = () => {count} > 1 ? done(true) : setTimeout(look, 50); look(); }})")
    seen = page(tree, ("size", 900, 400), ("wait", "main > *"), go("#sizes"), ("eval", f"({look})(() => scrollTo(0, 5000), 'scroll')"))
    assert seen[0] == 1 and seen[1] > 1
    leave = "new Promise(done => { location.hash = '#overview'; addEventListener('hashchange', () => done(), { once: true }) })"
    assert page(tree, ("size", 900, 400), ("wait", "main > *"), go("#sizes"), ("eval", leave), ("eval", "new Promise(done => setTimeout(done, 1500))"), ("goto", "#sizes"), ("wait", "#size-by-time"), wait)[-1] is True


def test_colours_are_explained(page, tree):
    (modules,) = page(tree, ("goto", "#flame"), ("wait", "#legend li"), ("eval", "[...document.querySelectorAll('#legend li')].map(e => e.dataset.module)"))
    assert "known_tree" in modules


@pytest.mark.parametrize(("figure", "option", "key"), (("peak", "--peak", "bytes"), ("leaked", "--leaks", "bytes"), ("calls", "--calls", "blocks")))
def test_changes_by_function_are_those_of_the_command(page, midden, record, figure, option, key):
    old = record.victim("known_tree", "late").path
    new = record.victim("known_tree", "full").path
    rows = ask(midden, "diff", "--by", "function", "--json", "--no-suppressions", option, old, new)["rows"]
    wanted = {row["function"]: [row[f"old_{key}"], row[f"new_{key}"]] for row in rows if row[f"old_{key}"] != row[f"new_{key}"]}
    (seen,) = page(
        new, ("goto", f"#compare?figure={figure}"), ("wait", ".rows-inner .row"),
        ("eval", "Object.fromEntries([...document.querySelectorAll('.rows-inner .row')].map(r => [r.querySelector('.name').firstChild.textContent, [Number(r.dataset.old), Number(r.dataset.now)]]))"),
        options=("--compare", old),
    )
    assert seen == wanted
    assert "save" in seen


def test_a_comparison_can_be_saved(page, record):
    old = record.victim("known_tree", "late").path
    new = record.victim("known_tree", "full").path
    sheet, picture = page(new, ("goto", "#compare"), ("wait", "#save-csv"), ("save", "#save-csv"), ("save", "#save-svg"), options=("--compare", old))
    changes = sum(int(line.split(",")[2]) for line in sheet["text"].splitlines()[1:])
    assert changes == read_stats(new)["peak_bytes"] - read_stats(old)["peak_bytes"]
    assert "everything: before 146 KiB, now 195 KiB: +48.9 KiB" in saved_svg_titles(picture["text"])


def test_a_zoomed_comparison_has_an_address(page, record):
    old = record.victim("known_tree", "late").path
    new = record.victim("known_tree", "full").path
    seen = page(
        new, ("goto", "#compare?inverted=1"), ("wait", "#compare-totals"), ("clickAt", ".compare-page .flame", 100, 30), ("hash",), ("text", ".compare-page .path"),
        ("reload",), ("wait", "#compare-out"), ("text", ".compare-page .path"), ("hoverAt", ".compare-page .flame", 100, 10), ("text", ".compare-page .hover"),
        ("click", "#compare-out"), ("hash",), ("focus", ".compare-page .flame"), ("press", "ArrowDown"), ("press", "Enter"), ("hash",),
        options=("--compare", old),
    )
    assert "pair=" in seen[0] and seen[1] == "all › table_new" == seen[2]
    assert "before 146 KiB, now 195 KiB: +48.8 KiB" in seen[3]
    assert "pair=" not in seen[4] and seen[5] == seen[0]


def test_the_row_of_a_tree_that_is_chosen_has_an_address(page, tree):
    chosen = "[...document.querySelectorAll('.rows-inner .row.chosen')].map(r => [r.dataset.depth, r.querySelector('a').innerText])"
    seen = page(
        tree, ("goto", "#table?inverted=1"), ("wait", ".rows-inner .row"), ("focus", ".rows"), ("press", "Home"), ("press", "ArrowRight"), ("press", "ArrowDown"), ("eval", chosen), ("hash",),
        ("reload",), ("wait", ".rows-inner .row.chosen"), ("eval", chosen), ("click", "nav >> text=Flame graph"), ("text", ".path"), ("click", "#zoom-table"), ("eval", chosen), ("focus", ".rows"), ("press", "Enter"), ("hash",), ("text", "#neighbours h2"),
    )
    assert seen[0] == seen[2] == seen[4] and len(seen[0]) == 1 and seen[0][0][0] == "2"
    assert "zoom=" in seen[1] and seen[0][0][1] in seen[3]
    assert seen[5].startswith("#callers?") and seen[6] == seen[0][0][1]


def test_pages_that_have_no_ranges_say_so(page, tree):
    seen = page(tree, ("goto", "#globals"), ("count", "#of-all:visible"), ("goto", "#globals?from=0&to=1"), ("wait", "#of-all:not([hidden])"), ("text", "#of-all"), ("click", "#of-all button"), ("hash",), ("count", "#of-all:visible"))
    assert seen[0] == 0 and seen[1].startswith("Variables are as they were at the last look, after ") and ", not " in seen[1] and seen[2:] == ["#globals", 0]


def test_columns_of_the_tree_are_those_of_the_thread(page, record):
    profile = record.victim("named_threads", "full").path
    (serial,) = page(profile, ("goto", "#threads"), ("wait", "#thread-table"), ("eval", "[...document.querySelectorAll('#thread-table tbody tr')].find(r => r.textContent.includes('worker-3')).dataset.serial"))
    (cells,) = page(
        profile, ("goto", f"#table?figure=allocated&thread={serial}&functions=work&inverted=1"), ("wait", ".rows-inner .row"),
        ("eval", "[...document.querySelector('.rows-inner .row').querySelectorAll('[data-figure]')].map(c => [c.dataset.figure, Number(c.dataset.value)])"),
    )
    assert dict(cells)["allocated"] == 4000 and dict(cells)["calls"] == 40


def test_rows_with_nothing_of_the_figure_come_last(page, tree):
    # sum has nothing at the peak, and descend has nothing before it.
    for sort in ("", "&sort=name"):
        (rows,) = page(tree, ("goto", f"#table?inverted=1{sort}"), ("wait", ".rows-inner .row"), ("eval", TREE_ROWS))
        top = [size for _, size, _, depth in rows if depth == 1]
        assert top.count(0) > 0 and all(top[: len(top) - top.count(0)])


def test_functions_can_be_searched(page, tree):
    seen = page(tree, ("goto", "#callers"), ("press", "/"), ("eval", "document.activeElement.id"), ("fill", "#function-search", "TABLE"), ("eval", FUNCTION_ROWS), ("text", "#functions-found"), ("hash",))
    assert seen[0] == "function-search"
    assert seen[1] == [["table_new", 200000, 200000]]
    assert seen[2].startswith("1 of ") and "search=TABLE" in seen[3]


def test_a_line_leads_to_the_callers_of_its_function(page, tree):
    seen = page(
        tree, ("goto", "#source"), ("wait", ".files a"), ("click", ".files a >> text=known_tree.c"), ("wait", "table.lines a"),
        ("click", "tr:has-text('malloc(size)') td.line a"), ("hash",), ("text", "#neighbours"), options=("--sources",),
    )
    assert seen[0].startswith("#callers?") and "table_new" in seen[1] and "load" in seen[1] and "save" in seen[1]


def test_of_a_long_file_only_what_is_in_sight_is_made(page, view, make_profile, tmp_path):
    # The profile's functions are in /src/app.cc, one to a line.
    source = tmp_path / "moved" / "app.cc"
    source.parent.mkdir()
    source.write_text("".join(f"int line_{i};\n" for i in range(1, 20001)))
    viewing = view(make_profile("many", "300"), "--map", f"/src={source.parent}")
    seen = page(
        None, ("goto", "#source"), ("wait", ".files a"), ("click", ".files a"), ("wait", "table.lines tr"), ("count", "table.lines tr"),
        ("eval", "(location.hash += '&line=19000', 0)"), ("wait", "#line-19000"), ("text", "#line-19000"), ("count", "table.lines tr"),
        ("eval", "document.querySelector('#source-text').scrollTop = 0"), ("wait", "#line-1"), ("text", "#line-1"), ("eval", "document.querySelector('#source-text').scrollHeight > 18 * 20000"),
        address=viewing.url,
    )
    assert seen[0] < 400 and seen[3] < 400
    assert "line_19000" in seen[2] and "line_1;" in seen[5]
    assert seen[6] is True


def test_threads_have_time_lines(page, record):
    profile = record.victim("named_threads", "full").path
    stats = read_stats(profile, "--points")
    (ends,) = page(profile, ("goto", "#threads"), ("wait", "#thread-table .sparkline"), ("eval", "[...document.querySelectorAll('#thread-table td.line')].map(c => Number(c.dataset.end))"))
    assert sum(ends) == stats["points"][-1]["live_bytes"] > 0


def test_snapshots_are_named(page, record):
    profile = record.victim("mark_moments").path
    points = read_stats(profile, "--points")["points"]
    seen = page(
        profile, ("goto", "#time"), ("wait", "#snapshots a"), ("texts", "#snapshots tr"), ("focus", ".charts"), ("press", "Home"), ("hash",), ("press", "Shift+End"), ("hash",),
        ("press", "Escape"), ("hash",), ("click", "#snapshots a >> text=second"), ("wait", "#flame-total"), ("data", "#flame-total", "bytes"),
    )
    assert "first" in seen[0][0] and "1000 B" in seen[0][0] and "10 blocks" in seen[0][0]
    assert "more than one piece" in seen[0][1]
    assert seen[1:4] == [f"#time?{span(points, 0)}", f"#time?{span(points, 0, -1)}", "#time"]
    assert int(seen[4]) == 6000


def test_the_line_of_a_snapshot_says_its_name(page, record):
    profile = record.victim("mark_moments").path
    (names,) = page(profile, ("goto", "#time"), ("wait", "#chart-bytes .u-over"), ("sweep", "#chart-bytes .u-over", "#snapshot-name"))
    assert any("snapshot first" in name for name in names)


def test_the_time_axis_begins_with_the_program(page, record):
    profile = record.victim("known_tree", "late").path
    stats = read_stats(profile)
    (name,) = page(profile, ("goto", "#time"), ("wait", "#chart-bytes .u-over"), ("hoverShare", "#chart-bytes .u-over", stats["peak_time_ns"] / stats["duration_ns"]), ("text", "#snapshot-name"))
    assert name == "peak"


def test_the_source_page_begins_where_most_comes_from(page, tree):
    seen = page(tree, ("goto", "#source"), ("wait", "table.lines tr.chosen"), ("text", "table.lines tr.chosen"), ("text", ".files a[aria-current]"), options=("--sources=3",))
    assert "malloc(size)" in seen[0] and "195 KiB" in seen[0]
    assert seen[1].endswith("known_tree.c")


def test_a_file_is_all_there_a_moment_after_its_chosen_line(page, record, tmp_path):
    (tmp_path / "padded.c").write_text("#include <stdlib.h>\n" + "/* */\n" * 400 + "int main(void) { return malloc(7000) == 0; }\n" + "/* */\n" * 400)
    subprocess.run(["cc", "-g", "-o", "padded", "padded.c"], cwd=tmp_path, check=True)
    profile = record.run([tmp_path / "padded"]).path
    count = "document.querySelectorAll('table.lines tr[id]').length"
    look = (("goto", "#source"), ("wait", "table.lines tr.chosen"), ("eval", count))
    later = ("eval", f"new Promise(done => setTimeout(() => done({count}), 4000))")
    printed = ("eval", f"dispatchEvent(new Event('beforeprint')), {count}")
    top = ("eval", "document.querySelector('tr.chosen').getBoundingClientRect().top")
    options = ("--sources=500",)
    first, before, whole, after = page(profile, ("size", 900, 400), *look, top, later, top, options=options)
    assert 20 < first < 200 and whole == 803
    assert abs(before - after) < 2  # what is in sight stays there
    assert page(profile, ("size", 900, 400), *look, printed, options=options)[-1] == 803


def test_cells_of_sizes_can_be_chosen_by_keys(page, tree):
    # Cells without blocks are passed over, so that the way back may lead to another cell of the same size.
    keys = ("ArrowRight", "ArrowUp", "ArrowDown", "ArrowRight", "ArrowLeft")
    seen = page(tree, ("goto", "#sizes"), ("wait", "#size-by-life"), ("focus", "#size-by-life"), *(step for key in keys for step in (("press", key), ("hash",), ("text", "#cell-stacks h3"))))
    cells = [tuple(map(int, re.search(r"cell=(\d+)%2C(\d+)", address).groups())) for address in seen[::2]]
    assert cells[0][0] == cells[2][0] < cells[1][0] and cells[4][1] < cells[3][1]
    assert all(re.match(r"[1-9][\d,]* blocks? of ", text) for text in seen[1::2])


def test_names_cannot_turn_or_control_the_text(page, make_profile):
    (rows,) = page(make_profile("hostile"), ("goto", "#callers"), ("wait", ".rows-inner .row"), ("texts", ".rows-inner .row a"))
    assert "\\u001b[31mred" in rows
    assert "]]></script><script>alert(1)</script>" in rows
    assert not any(ord(c) < 32 and c not in "\t\n\r" for row in rows for c in row)


def test_a_script_that_is_put_in_does_not_run(page, tree):
    (ran,) = page(tree, ("inject", "window.injected = 1"))
    assert ran is False


def test_huge_figures_are_shown(page, make_profile):
    (total, rows) = page(make_profile("huge"), ("goto", "#flame"), ("wait", "#flame-total"), ("text", "#flame-total"), ("goto", "#callers"), ("wait", ".rows-inner .row"), ("count", ".rows-inner .row"))
    assert total == "24.0 PiB in 3 blocks in all" and rows == 4


def test_paper_is_light_and_has_the_rows(page, tree):
    seen = page(tree, ("dark",), ("goto", "#table"), ("wait", ".rows-inner .row"), ("eval", "(dispatchEvent(new Event('beforeprint')), getComputedStyle(document.documentElement).getPropertyValue('--paper').trim())"), ("count", ".rows-inner .row"), ("eval", "(dispatchEvent(new Event('afterprint')), getComputedStyle(document.documentElement).getPropertyValue('--paper').trim())"), ("count", ".rows-inner .row"))
    assert seen[0] == "#ffffff" and seen[2] == "#16181b" and seen[1] == seen[3] > 0


def test_no_page_is_wider_than_a_narrow_window(page, record, tree):
    old = record.victim("known_tree", "late").path
    pages = ("overview", "time", "flame", "table", "callers", "source", "sizes", "threads", "leaks", "compare")
    seen = page(tree, ("size", 420, 800), *(step for name in pages for step in (("goto", f"#{name}"), ("wait", "main > *"), ("eval", "document.documentElement.scrollWidth <= innerWidth + 1"))), options=("--compare", old))
    assert dict(zip(pages, seen)) == dict.fromkeys(pages, True)
    assert page(tree, ("size", 420, 800), ("goto", "#sizes?from=0&to=1"), ("wait", "#sizes-range"), ("eval", "document.documentElement.scrollWidth <= innerWidth + 1")) == [True]


def test_what_can_be_used_has_a_name(page, record, tree):
    old = record.victim("known_tree", "late").path
    unnamed = """[...document.querySelectorAll('button, a, input, select, canvas:not([aria-hidden]), [tabindex="0"]')].filter(e => e.checkVisibility?.() !== false &&
        !(e.textContent.trim() || e.getAttribute('aria-label') || e.getAttribute('title') || e.labels?.length)).map(e => e.outerHTML)"""
    pages = ("overview", "time", "flame", "table", "callers", "source", "sizes", "threads", "leaks", "compare")
    seen = page(tree, *(step for name in pages for step in (("goto", f"#{name}"), ("wait", "main > *"), ("eval", unnamed))), options=("--compare", old))
    assert dict(zip(pages, seen)) == dict.fromkeys(pages, [])


INTERVAL = re.compile(r"[\d.,]+ (?:[KMG]i)?B to [\d.,]+ (?:[KMG]i)?B")


@pytest.fixture
def sampled(record):
    return record.victim("four_places", options=("--sample=65536", "--sample-seed=3")).path


def test_estimates_come_with_the_intervals_of_the_command(page, midden, sampled):
    report = subprocess.run([midden, "report", "--leaks", "--by", "function", sampled], capture_output=True, text=True, check=True).stdout
    total = INTERVAL.search(next(line for line in report.splitlines() if line.startswith("Not freed"))).group()
    places = {name: INTERVAL.search(next(line for line in report.splitlines() if f"  {name} (" in line)).group() for name in ("tiny", "mixed", "large", "grown")}
    seen = page(
        sampled,
        ("text", "#sampled"), ("text", "#card-leaked"),
        ("goto", "#flame?figure=leaked"), ("wait", "#flame-total"), ("text", "#flame-total"), ("hoverAt", ".flame", 300, 10), ("text", ".flame-page .hover"),
        ("goto", "#table?figure=leaked&inverted=1"), ("wait", ".rows-inner .row"),
        ("eval", "Object.fromEntries([...document.querySelectorAll('.rows-inner .row')].map(r => [r.querySelector('a').textContent, r.querySelectorAll('.cell')[1].title]))"),
        ("goto", "#callers?figure=leaked"), ("wait", ".rows-inner .row.functions"),
        ("eval", "Object.fromEntries([...document.querySelectorAll('.rows-inner .row')].map(r => [r.querySelector('a').textContent, r.querySelectorAll('.cell')[1].title]))"),
        ("goto", "#leaks"), ("wait", ".leak"), ("text", ".leaks-page"),
    )
    note, card, flame, hover, table, functions, leaks = seen
    assert "one block in 64.0 KiB" in note and "192 KiB may be missing" in note
    assert total in card and f"({total}) in" in flame and total in hover
    for name, interval in places.items():
        assert interval in table[name] and interval in functions[name]
        assert interval in leaks


def test_figures_at_a_time_are_as_doubtful_as_the_command_says(page, midden, sampled):
    points = read_stats(sampled, "--points")["points"]
    last = len(points) - 1
    wanted = ask(midden, "report", "--live-at", f"{points[last]['time_ns']}ns", "--json", sampled)
    (shown,) = page(sampled, ("goto", f"#flame?figure=live&{span(points, last)}"), ("wait", "#flame-total"), ("text", "#flame-total"))
    assert wanted["total_bytes_low"] < wanted["total_bytes"] < wanted["total_bytes_high"]
    low, high = INTERVAL.search(shown).group().split(" to ")
    for text, value in ((low, wanted["total_bytes_low"]), (high, wanted["total_bytes_high"])):
        number, unit = text.split()
        assert abs(float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[unit] / value - 1) < 0.01


def test_exact_figures_have_no_intervals(page, tree):
    seen = page(tree, ("count", "#sampled"), ("goto", "#flame?figure=leaked"), ("wait", "#flame-total"), ("text", "#flame-total"), ("hoverAt", ".flame", 300, 10), ("text", ".flame-page .hover"))
    assert seen[0] == 0 and not any(" to " in text for text in seen[1:])


def test_every_page_of_estimates_has_intervals(page, midden, record, sampled):
    report = subprocess.run([midden, "report", "--leaks", "--by", "line", sampled], capture_output=True, text=True, check=True).stdout
    lines = {match[1]: INTERVAL.search(line).group() for line in report.splitlines() if (match := re.search(r"four_places\.c:(\d+)\)", line)) and INTERVAL.search(line)}
    other = record.victim("four_places", options=("--sample=65536", "--sample-seed=4")).path
    titles = "Object.fromEntries([...document.querySelectorAll('table.lines tr[id]')].map(r => [r.id.slice(5), [...r.querySelectorAll('td.number')].map(c => c.title).join()]))"
    source, threads, sizes, facts, changes, totals = page(
        sampled,
        ("goto", "#source?figure=leaked"), ("wait", "table.lines tr[id]"), ("eval", titles),
        ("goto", "#threads"), ("wait", "#thread-table td"), ("eval", "document.querySelector('#thread-table td[data-figure=live_bytes]').title"),
        ("goto", "#sizes"), ("wait", "#size-histogram td"), ("eval", "[...document.querySelectorAll('#size-histogram td.number')].map(c => c.title).filter(Boolean)"),
        ("goto", "#time?from=0&to=1"), ("wait", "#range-facts a"), ("text", "#range-facts"),
        ("goto", "#compare?figure=leaked"), ("wait", "#compare-totals"), ("eval", "[...document.querySelectorAll('.row.changes .cell[title]')].map(c => c.title)"), ("text", "#compare-totals"),
        options=("--compare", other),
    )
    assert len(lines) >= 4 and all(interval in source[line] for line, interval in lines.items())
    assert INTERVAL.search(threads) and INTERVAL.search(facts)
    assert any(INTERVAL.search(title) for title in sizes)
    assert "(± " in totals and all("(± " in title for title in changes)


def test_threads_have_their_stacks(page, record):
    profile = record.victim("named_threads", "full").path
    wanted = {str(t["serial"]): t for t in read_stats(profile)["thread_list"] if "stack_deepest_bytes" in t}
    (seen,) = page(profile, ("goto", "#threads"), ("wait", "#thread-table td"), ("eval", "Object.fromEntries([...document.querySelectorAll('[data-figure=stack_deepest_bytes]')].map(c => [c.parentElement.dataset.serial, [Number(c.dataset.value), c.title]]))"))
    assert "1" in wanted
    for serial, thread in wanted.items():
        deepest, about = seen[serial]
        assert deepest == thread["stack_deepest_bytes"] > 0
        assert f"of {thread['stack_reserved_bytes'] / (1 << 20):.2f} MiB" in about
