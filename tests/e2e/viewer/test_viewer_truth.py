"""What the viewer says where it would be easy to say too much: ranges, inverted trees, tags, paper.

SPDX-License-Identifier: Apache-2.0
"""

import base64
import csv
import gzip
import json
import re
import struct
import subprocess

import pytest

from browser import span
from recording import read_stats


@pytest.fixture
def tree(record):
    """The profile of known_tree, whose heap is in its head comment."""
    return record.victim("known_tree", "full").path


ROWS = "[...document.querySelectorAll('.rows-inner .row')].map(r => [r.dataset.depth, r.querySelector('a').textContent, r.querySelectorAll('.cell')[2].textContent, r.querySelectorAll('.cell')[1].textContent])"


def test_in_an_inverted_tree_only_those_who_allocate_have_something_themselves(page, tree):
    (rows,) = page(tree, ("goto", "#table?inverted=1"), ("wait", ".rows-inner .row"), ("eval", ROWS))
    assert any(depth != "1" for depth, *_ in rows)
    for depth, _, self, value in rows:
        assert self == ("" if depth != "1" or value.endswith("  0 B") else value.split("  ")[1])


def test_columns_of_the_whole_recording_say_so_beside_a_range(page, tree):
    points = read_stats(tree, "--points")["points"]
    last = len(points) - 1
    seen = page(
        tree,
        ("goto", "#table"), ("wait", ".rows-inner .row"), ("text", "#tree-note"), ("goto", f"#table?{span(points, 0, last)}"), ("text", "#tree-note"),
        ("goto", f"#flame?figure=live&{span(points, last)}"), ("wait", ".flame"), ("hoverAt", ".flame", 300, 10), ("text", ".flame-page .hover"),
        ("goto", "#flame"), ("hoverAt", ".flame", 320, 10), ("text", ".flame-page .hover"),
    )
    assert seen[:2] == ["", "The columns from Peak on are of the whole recording."]
    assert "In the whole recording:" in seen[2] and "In the whole recording:" not in seen[3]


def test_the_overview_shows_the_range(page, record):
    profile = record.victim("known_tree", "late").path
    points = read_stats(profile, "--points")["points"]
    last = len(points) - 1
    middle = last // 2
    figures = "Object.fromEntries([...document.querySelectorAll('.card')].map(c => [c.querySelector('h3').textContent, c.querySelector('.figure').textContent]))"
    whole, part, moment, address = page(
        profile,
        ("eval", figures), ("goto", f"#overview?{span(points, middle, last)}"), ("wait", "#overview-range"), ("eval", figures),
        ("goto", f"#overview?{span(points, last)}"), ("eval", figures), ("click", "#overview-range button"), ("hash",),
    )
    assert "Leaked" in whole and "Leaked" not in part
    assert part["Calls within"] == f"{points[last]['allocations'] - points[middle]['allocations']:,}"
    assert set(moment) == {"Live", "Resident"} and address == "#overview"


def test_what_is_saved_is_what_is_zoomed_in_on(page, tree):
    whole, part, sheet = page(
        tree,
        # Rows are 20 pixels; load and save are in the seventh.
        ("goto", "#flame"), ("wait", "#save-collapsed"), ("save", "#save-collapsed"),
        ("clickAt", ".flame", 300, 130), ("wait", "#zoom-out"), ("save", "#save-collapsed"), ("save", "#save-csv"),
    )
    lines = part["text"].splitlines()
    assert 0 < len(lines) < len(whole["text"].splitlines()) and set(lines) < set(whole["text"].splitlines())
    rows = list(csv.DictReader(sheet["text"].splitlines()))
    assert len(rows) == len(lines) and sum(int(row["bytes"]) for row in rows) == sum(int(line.rpartition(" ")[2]) for line in lines)


def test_threads_that_are_told_apart_are_saved_apart(page, record):
    # Thread i of 4 makes 10 x (i + 1) blocks of 100 bytes, all in one function.
    profile = record.victim("named_threads", "full").path
    saved, sheet = page(profile, ("goto", "#flame?figure=allocated&functions=work&byThread=1"), ("wait", "#save-collapsed"), ("save", "#save-collapsed"), ("save", "#save-csv"))
    for i in range(4):
        assert sum(int(line.rpartition(" ")[2]) for line in saved["text"].splitlines() if line.startswith(f"worker-{i} (")) == 1000 * (i + 1)
        assert sum(int(row["allocated"]) for row in csv.DictReader(sheet["text"].splitlines()) if f"< worker-{i} (" in row["stack"]) == 1000 * (i + 1)


def test_a_filter_that_lets_nothing_through_is_named(page, tree):
    seen = page(tree, ("goto", "#flame?functions=nosuch"), ("wait", ".path"), ("text", ".path"), ("goto", "#table?functions=nosuch"), ("text", "#tree-note"))
    assert seen == ["Nothing to show: no stack with “nosuch” has anything of this figure."] * 2


def test_a_card_goes_when_its_box_does(page, tree):
    seen = page(tree, ("goto", "#flame"), ("wait", ".flame"), ("hoverAt", ".flame", 300, 50), ("count", ".flame-page .hover:visible"), ("clickAt", ".flame", 300, 50), ("count", ".flame-page .hover:visible"))
    assert seen == [1, 0]


def test_tags_alone_are_no_peak_of_nothing(page, record):
    profile = record.victim("tagged", "nest", options=("--tags",)).path
    stats = read_stats(profile)
    assert stats["mode"] == "tags" and stats["allocations"] > 0
    pages, cards, text, flame, heads, charts = page(
        profile,
        ("texts", "nav a"), ("texts", ".card h3"), ("text", "#of-tags"), ("goto", "#flame"), ("count", ".overview"),
        ("goto", "#threads"), ("wait", "#thread-table"), ("texts", "#thread-table thead th"), ("goto", "#time"), ("wait", ".chart"), ("count", ".chart"),
    )
    assert pages == ["Overview", "Timeline", "Threads"] and flame == 1
    assert cards == ["Allocated", "Calls", "Frees", "Resident at most"] and "midden tags" in text
    assert heads == ["Thread", "Calls", "Allocated", "Calls/s", "Lived", "When"] and charts == 1


class Pack:
    """The data of a page that `midden html` wrote, to be changed (web/schema.md)."""

    def __init__(self, midden, profile, path):
        self.path = path
        subprocess.run([midden, "html", "-o", path, profile], check=True)
        self.before, self.text, self.after = re.fullmatch(r'(.*id="midden-data" value=")([^"]+)(".*)', path.read_text(), re.DOTALL).groups()
        raw = gzip.decompress(base64.b64decode(self.text))
        (length,) = struct.unpack_from("<Q", raw, 8)
        self.header, self.columns = json.loads(raw[16 : 16 + length]), bytearray(raw[16 + length :])

    def change(self, name, values):
        column = self.header["columns"][name]
        assert "planes" not in column
        old = struct.unpack_from(f"<{column['count']}d", self.columns, column["at"])
        struct.pack_into(f"<{column['count']}d", self.columns, column["at"], *values(old))

    def write(self):
        head = json.dumps(self.header).encode()
        head += b" " * (-len(head) % 8)
        raw = b"MDNPACK1" + struct.pack("<Q", len(head)) + head + self.columns
        self.path.write_text(self.before + base64.b64encode(gzip.compress(raw)).decode() + self.after)
        return self.path.as_uri()


# By share of the plot's width: how far above its bottom the line is, as a share of its height; 0: not above.
HEIGHTS = """((id, shares) => {
    const canvas = document.querySelector(`#chart-${id} canvas`), scale = canvas.width / canvas.clientWidth;
    const box = canvas.getBoundingClientRect(), plot = document.querySelector(`#chart-${id} .u-over`).getBoundingClientRect();
    const [top, height] = [plot.top - box.top, plot.height].map(n => Math.round(n * scale));
    return shares.map(share => {
        const { data } = canvas.getContext('2d').getImageData(Math.round((plot.left - box.left + plot.width * share) * scale), top, 1, height);
        const isColoured = y => Math.max(...data.slice(4 * y, 4 * y + 3)) - Math.min(...data.slice(4 * y, 4 * y + 3)) > 60;
        for (let y = 0; y < height; y++) if (data[4 * y + 3] > 200 && isColoured(y)) return 1 - y / height;
        return 0;
    });
})"""


def test_charts_show_neither_slopes_where_nothing_happened_nor_less_than_all(page, midden, tree, tmp_path):
    # As if the program had slept ten times as long as it ran, after its busiest moment.
    pack = Pack(midden, tree, tmp_path / "slept.html")
    points = read_stats(tree, "--points")["points"]
    steps = [(b["allocations"] - a["allocations"]) / (b["time_ns"] - a["time_ns"]) for a, b in zip(points, points[1:])]
    busiest = steps.index(max(steps)) + 1
    sleep = 10 * pack.header["duration_ns"]
    pack.header["duration_ns"] += sleep
    pack.change("point.time_ns", lambda times: [t + sleep * (i > busiest) for i, t in enumerate(times)])
    pack.change("point.live_blocks", lambda blocks: [100_000 + 10_000 * (i > busiest) for i in range(len(blocks))])
    calls, blocks = page(
        tree, ("goto", "#time"), ("wait", "#chart-rates canvas"), ("eval", f"{HEIGHTS}('rates', [0.3, 0.5, 0.8])"), ("eval", f"{HEIGHTS}('blocks', [0.3, 0.5])"),
        address=pack.write(),
    )
    assert max(calls) < 0.05
    assert min(blocks) > 0.5


# By share of the width of the chart: how many pixels down are painted.
PAINTED = """(shares => {
    const c = document.querySelector('#size-by-time'), scale = c.width / c.clientWidth, p = c.getContext('2d');
    return shares.map(share => {
        const { data } = p.getImageData(Math.round((80 + (c.clientWidth - 80) * share) * scale), 0, 1, Math.round((c.clientHeight - 24) * scale));
        return data.filter((v, i) => i % 4 === 3 && v > 200).length;
    });
})"""
DRAWN = ("eval", f"new Promise(done => {{ scrollTo(0, 5000); const look = () => {PAINTED}([0.99])[0] > 0 ? done(true) : setTimeout(look, 50); look(); }})")


def test_sizes_over_time_are_as_wide_as_their_time(page, midden, record, tmp_path):
    late = record.victim("known_tree", "late").path
    points = read_stats(late, "--points")["points"]
    last = len(points) - 1
    saves = next(i for i, p in enumerate(points) if p["live_bytes"] > 100_000)
    # As if the program had waited for nine tenths of its time before save's blocks.
    pack = Pack(midden, late, tmp_path / "waited.html")
    wait = 9 * pack.header["duration_ns"]
    pack.header["duration_ns"] += wait
    pack.change("point.time_ns", lambda times: [t + wait * (i >= saves) for i, t in enumerate(times)])
    moved = [{"time_ns": p["time_ns"] + wait * (i >= saves)} for i, p in enumerate(points)]
    whole, part = page(
        late, ("goto", "#sizes"), ("wait", "#size-by-time"), DRAWN, ("eval", f"{PAINTED}([0.3, 0.8, 0.97])"),
        ("goto", f"#sizes?{span(moved, saves - 1, last)}"), DRAWN, ("eval", f"{PAINTED}([0.3, 0.8, 0.999])"), address=pack.write(),
    )[1::2]
    assert saves < 0.7 * last
    for seen in (whole, part):
        assert 0 < seen[0] == seen[1] < seen[2]


def test_tables_keep_their_heads_on_paper(page, tree):
    styles = "(() => { const rules = [...document.styleSheets].flatMap(s => [...s.cssRules]).filter(r => r.media?.mediaText === 'print').flatMap(r => [...r.cssRules]); const button = document.querySelector('#thread-table thead button'); return rules.filter(r => button.matches(r.selectorText)).at(-1).style.display; })()"
    assert page(tree, ("goto", "#threads"), ("wait", "#thread-table"), ("eval", styles)) == ["inline"]
