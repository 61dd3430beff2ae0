"""A large profile's overview is there before its stacks are read.

SPDX-License-Identifier: Apache-2.0
"""

import json
import subprocess

import machine as machines
import pytest

STACKS, POINTS = 60000, 100
# Of what was shown first, and of the page as it is in the end.
PARTS = "((root) => Object.fromEntries(['h1', '.cards', '#findings', '#warnings', '#run'].map(s => [s, root?.querySelector(s)?.textContent])))"
LINKS = "((root) => [...root.querySelectorAll('main .cards a')].map(a => a.getAttribute('href')))"
FIRST, LAST = "(window.begun)", "(document.getElementById('app'))"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large.mdn"
    subprocess.run([machines.BUILD / "tests" / "large_profile", path, str(STACKS), str(POINTS)], check=True)
    return path


def check(seen):
    first, last, first_links, last_links, hottest, rows = seen
    assert first == last and all(first.values())
    assert first_links == last_links and len(first_links) == 6
    assert "being read" in hottest and rows > 0


LOOKS = (
    ("eval", PARTS + FIRST), ("eval", PARTS + LAST), ("eval", LINKS + FIRST), ("eval", LINKS + LAST),
    ("eval", "window.begun.querySelector('#hottest').textContent"), ("count", "#hottest tr"),
)


def test_what_is_shown_first_is_what_the_whole_says(page, large):
    check(page(large, *LOOKS))


def test_a_server_sends_the_beginning_first(page, view, large):
    check(page(large, *LOOKS, address=view(large).url))


def test_another_page_has_nothing_to_show_first(page, midden, large, tmp_path):
    out = tmp_path / "other.html"
    subprocess.run([midden, "html", "-o", out, large], check=True)
    assert page(large, ("eval", "!window.begun"), ("count", ".flame"), address=out.as_uri() + "#flame") == [True, 1]


def test_who_goes_on_before_all_is_read_gets_there(page, large):
    """The name of the window is where the reader goes as soon as it sees the beginning."""
    seen = page(large, ("eval", "window.name = '#flame?figure=calls'"), ("reload",), ("wait", "main:not([aria-busy]) .flame"), ("eval", "Boolean(window.begun)"), ("data", "#flame-total", "blocks"))
    assert seen[1] is True and int(seen[2]) > 0


def test_a_small_profile_is_shown_at_once(page, midden, tmp_path):
    small = tmp_path / "small.mdn"
    subprocess.run([machines.BUILD / "tests" / "large_profile", small, "10", "5"], check=True)
    assert page(small, ("eval", "!window.begun")) == [True]


def test_data_that_is_cut_off_is_said_to_be(page, midden, large, tmp_path):
    out = tmp_path / "cut.html"
    subprocess.run([midden, "html", "-o", out, large], check=True)
    text = out.read_text()
    start = text.index('value="', text.index('id="midden-data"')) + len('value="')
    end = text.index('"', start)
    out.write_text(text[: start + (end - start) // 16 * 12] + text[end:])
    begun, error = page(large, ("eval", "Boolean(window.begun)"), ("text", "p.error"), address=out.as_uri())
    assert begun and "damaged or cut off" in error


def test_a_large_profile_shows_the_figures_that_the_commands_tell(page, midden, tmp_path):
    """Its columns are long enough to lie in planes of bytes."""
    path = tmp_path / "rich.mdn"
    subprocess.run([machines.BUILD / "tests" / "rich_profile", path, "10000", "50"], check=True)
    stats = json.loads(subprocess.run([midden, "stats", "--json", path], capture_output=True, check=True).stdout)
    sums = "(figure => [...document.querySelectorAll(`#thread-table [data-figure=${figure}]`)].reduce((n, cell) => n + Number(cell.dataset.value), 0))"
    seen = page(path, ("goto", "#flame"), ("wait", ".flame"), ("data", "#flame-total", "bytes"), ("goto", "#flame?figure=calls"), ("data", "#flame-total", "blocks"),
                ("goto", "#threads"), ("wait", "#thread-table"), ("eval", sums + "('allocated_bytes')"), ("goto", "#leaks"), ("wait", "[id^=leaks-]"), ("eval", "[...document.querySelectorAll('[id^=leaks-]')].reduce((n, part) => n + Number(part.dataset.bytes), 0)"))
    assert [int(n) for n in seen] == [stats["peak_bytes"], stats["allocations"], stats["allocated_bytes"], stats["leaked_bytes"]]
