"""The viewer of a file of which the end is missing: what it lost is not shown as 0.

SPDX-License-Identifier: Apache-2.0
"""

import subprocess

import pytest

LOST = "the stacks over time are missing from this file"


@pytest.fixture(scope="module")
def cut(midden, native, tmp_path_factory):
    """A profile with its time line, of which the stacks over time are cut off."""
    folder = tmp_path_factory.mktemp("cut")
    subprocess.run([midden, "record", "-q", "-o", folder / "whole.mdn", native.victim("known_tree"), "late"], check=True, timeout=120)
    content = (folder / "whole.mdn").read_bytes()
    path = folder / "cut.mdn"
    for end in range(len(content) - 1, 0, -64):
        path.write_bytes(content[:end])
        done = subprocess.run([midden, "report", "--live-at", "@end", path], capture_output=True, text=True)
        if LOST in done.stderr:
            return path
    pytest.fail("no cut loses the stacks alone")


@pytest.fixture
def cut_page(midden, cut, tmp_path):
    """As a page: the command fails, as of all that is damaged."""
    out = tmp_path / "cut.html"
    assert subprocess.run([midden, "html", "-o", out, cut], capture_output=True).returncode == 1
    return out.as_uri()


WHOLE = ("goto", "#leaks"), ("wait", "#leaks-one-off"), ("text", "#leaks-one-off h2"), ("count", ".quarters"), ("goto", "#sizes"), ("text", "#sizes-over-time"), ("goto", "#threads"), ("wait", "#thread-table"), ("text", "#threads-lost"), ("count", "#thread-table .line")
FIGURES = "[...document.querySelectorAll('#thread-table [data-figure$=_bytes]:not([data-figure=allocated_bytes])')].map(c => c.textContent)"


def test_pages_of_a_range_say_that_its_stacks_are_missing(page, cut_page):
    hottest, leaks, threads, figures, sizes, flames, table, callers, source = range(9)
    seen = page(
        None,
        ("goto", "#overview?from=0&to=1"), ("wait", "#overview-range"), ("text", "#hottest"),
        ("goto", "#leaks?from=0&to=1"), ("wait", "#leaks-range"), ("text", ".leaks-page"),
        ("goto", "#threads?from=0&to=1"), ("wait", "#threads-range"), ("text", "#threads-lost"), ("eval", FIGURES),
        ("goto", "#sizes?from=0&to=1"), ("wait", "#sizes-range:not([hidden])"), ("text", "#size-histogram"),
        ("goto", "#flame?from=0&to=1"), ("wait", "#flame-total"), ("text", ".flame-page"),
        ("goto", "#table?from=0&to=1"), ("text", ".table-page"),
        ("goto", "#callers?from=0&to=1"), ("text", ".callers-page"),
        ("goto", "#source?from=0&to=1"), ("text", ".source-page"),
        address=cut_page,
    )  # fmt: skip
    for text in (seen[i] for i in (hottest, leaks, threads, sizes, flames, table, callers, source)):
        assert LOST in text.lower()
    assert set(seen[figures]) == {"–"}
    assert "Nothing was held" not in seen[hottest] and "Nothing was live" not in seen[leaks] and "Nothing to show" not in seen[flames]
    assert "0 B" not in seen[flames] + seen[sizes] + seen[source]


@pytest.mark.parametrize("figure", ("live", "growth"))
def test_figures_of_a_time_say_that_its_stacks_are_missing(page, cut_page, figure):
    text, note = page(None, ("goto", f"#flame?figure={figure}"), ("wait", "#flame-total"), ("text", ".flame-page .path"), ("text", "#answer-note"), address=cut_page)
    assert LOST in text.lower() and note == LOST


def test_what_needs_no_stacks_over_time_is_told_as_ever(page, cut_page):
    peak, held, title, bars, over_time, threads, lines = page(None, ("text", "#card-peak .figure"), ("text", "#hottest"), *WHOLE, address=cut_page)
    assert peak != "0 B" and LOST not in held.lower() and "Nothing" not in held
    assert title == f"Not freed; {LOST}, so what grows is not known" and bars == 0
    assert LOST in over_time.lower() and LOST in threads.lower() and lines == 0


def test_a_whole_file_has_lost_nothing(page, record):
    title, bars, over_time, notes = page(record.victim("known_tree", "late").path, *WHOLE[:5], ("wait", "#sizes-over-time"), ("text", "#sizes-over-time"), ("goto", "#threads"), ("wait", "#thread-table"), ("count", "#threads-lost"))
    assert LOST not in title and bars > 0 and LOST not in over_time.lower() and notes == 0
