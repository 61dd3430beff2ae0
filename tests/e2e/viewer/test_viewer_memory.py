"""Pages of the viewer beyond blocks: who keeps pages resident, what is mapped, what is lost.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import subprocess
import time
from collections import Counter

import pytest
from browser import span
from recording import TIMEOUT_S, Recorder, read_stats

ROWS = "[...document.querySelectorAll('#holders tbody tr')].map(r => ({...r.dataset}))"
SUMS = "Object.fromEntries([...document.querySelectorAll('#rss-sums tr')].map(r => [r.dataset.sum, Number(r.dataset.value)]))"
KINDS = "[...document.querySelectorAll('#map-kinds tbody tr')].map(r => [r.dataset.kind, Object.fromEntries([...r.querySelectorAll('td[data-value]')].map(c => [c.dataset.figure, Number(c.dataset.value)]))])"
CLASSES = "Object.fromEntries([...document.querySelectorAll('.leaks-page section[id^=lost-]')].map(s => [s.id.slice(5), [Number(s.dataset.bytes), Number(s.dataset.blocks)]]))"
PAINTED = "((c) => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size)(document.querySelector('#page-map'))"
COLUMNS = {"resident": "resident_bytes", "pinned": "pinned_bytes", "live": "live_bytes", "blocks": "live_blocks", "lone": "lone_pages", "alone": "alone_bytes"}


def ask(midden, *words):
    done = subprocess.run([midden, *map(str, words)], capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def recorder(tmp_path_factory, native):
    return Recorder(tmp_path_factory.mktemp("memory"), native)


@pytest.fixture(scope="module")
def resident(recorder):
    return recorder.victim("pinned_pages", "16", options=("--rss",)).path


@pytest.fixture(scope="module")
def mapped(recorder, tmp_path_factory):
    return recorder.victim("own_maps", str(tmp_path_factory.mktemp("file") / "file"), options=("--maps",)).path


def check_look(seen, wanted):
    sums, rows = seen
    assert {name: wanted["rss"][name] for name in sums} == sums and sums["resident_bytes"] > 0
    assert [row["function"] for row in rows] == [row["function"] for row in wanted["rows"]]
    for row, right in zip(rows, wanted["rows"]):
        assert {name: int(row[name]) for name in COLUMNS} == {name: right[key] for name, key in COLUMNS.items()}


def test_who_keeps_pages_is_what_the_command_says(page, midden, resident):
    wanted = ask(midden, "report", "--rss", "--json", resident)
    seen = page(
        resident, ("goto", "#resident"), ("wait", "#holders tbody tr"), ("eval", SUMS), ("eval", ROWS), ("eval", PAINTED),
        ("hoverAt", "#page-map", 20, 4), ("text", ".resident-page .hover"), ("clickAt", "#page-map", 20, 4), ("hash",), ("text", "#holders tr.chosen ol.stack"),
        ("goto", "#flame?figure=resident"), ("wait", "#flame-total"), ("data", "#flame-total", "bytes"), ("data", "#flame-total", "blocks"),
        ("goto", "#flame?figure=pinned"), ("wait", "#flame-total"), ("data", "#flame-total", "bytes"),
    )
    check_look(seen[:2], wanted)
    assert wanted["rows"][0]["function"] == "crowd"
    assert seen[2] > 2  # cells that are full, and others that are not
    assert "in memory" in seen[3] and "crowd" in seen[3]
    assert "site=" in seen[4] and "crowd" in seen[5] and "main" in seen[5]
    assert int(seen[6]) == wanted["rss"]["held_bytes"] and int(seen[7]) == wanted["rss"]["live_blocks"]
    assert int(seen[8]) == wanted["rss"]["pinned_bytes"]


def record_two_looks(midden, recorder):
    """One at a snapshot, one at the end."""
    running = recorder.start_victim("pinned_pages", "4", "wait", options=("--rss",))
    running.process.stdout.readline()
    children = open(f"/proc/{running.process.pid}/task/{running.process.pid}/children").read().split()
    child = next(pid for pid in children if "pinned_pages" in os.readlink(f"/proc/{pid}/exe"))
    deadline = time.monotonic() + TIMEOUT_S
    while True:  # until the recorder listens
        done = subprocess.run([midden, "snapshot", "--rss", child, "first"], capture_output=True, text=True, timeout=TIMEOUT_S)
        if "is not being recorded" not in done.stderr or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    time.sleep(0.1)  # points of the time line between the two
    profile = running.finish(input=b"\n").path
    assert done.returncode == 0, done.stderr
    return profile


def test_every_look_can_be_chosen(page, midden, recorder):
    profile = record_two_looks(midden, recorder)
    looks = [look for look in read_stats(profile)["rss"] if "fault" not in look]
    first = next(i for i, look in enumerate(read_stats(profile)["rss"]) if look.get("snapshot") == 1 and "fault" not in look)
    seen = page(
        profile, ("goto", "#resident"), ("wait", "#look"), ("count", "#look option"), ("choose", "#look", str(first)), ("hash",), ("text", "#look option:checked"),
        ("eval", SUMS), ("eval", ROWS), ("reload",), ("wait", "#holders tbody tr"), ("eval", ROWS), ("focus", "#page-map"), ("press", "ArrowRight"), ("press", "Enter"), ("hash",),
    )
    assert seen[0] == len(looks) > 1
    assert f"look={first}" in seen[1] and "at snapshot 1 first" in seen[2]
    check_look(seen[3:5], ask(midden, "report", "--rss", "--at", "1", "--json", profile))
    assert seen[5] == seen[4] and "site=" in seen[6]


def test_the_peak_is_where_the_resident_size_was_highest_of_all_looks(page, midden, recorder):
    profile = record_two_looks(midden, recorder)
    looks = {str(i): look for i, look in enumerate(read_stats(profile)["rss"]) if "fault" not in look}
    (options,) = page(profile, ("goto", "#resident"), ("wait", "#look"), ("eval", "Object.fromEntries([...document.querySelectorAll('#look option')].map(o => [o.value, o.textContent]))"))
    (highest,) = [i for i, text in options.items() if "at the peak of" in text or "was highest of" in text]
    assert looks[highest]["rss_bytes"] == max(look["rss_bytes"] for look in looks.values())
    report = subprocess.run([midden, "report", "--rss", "--at", "@peak", profile], capture_output=True, text=True, check=True).stdout
    (title,) = [line for line in report.splitlines() if line.startswith("Who keeps the heap resident, ")]
    words = title.partition(", ")[2].split(", ")  # where it was, when, and that it was the highest
    assert all(word in options[highest] for word in (words[0], *words[2:]))


def test_of_a_range_it_is_the_last_look_within(page, midden, recorder):
    profile = record_two_looks(midden, recorder)
    stats = read_stats(profile, "--points")
    times = [point["time_ns"] for point in stats["points"]]
    looks = [look for look in stats["rss"] if "fault" not in look]
    first = next(look for look in looks if look.get("snapshot") == 1)
    at, last = times.index(first["time_ns"]), len(times) - 1
    assert times[at + 1] < looks[-1]["time_ns"] and times[0] < looks[0]["time_ns"]
    see = (("text", "#look-range"), ("texts", "#look option"), ("eval", SUMS), ("eval", ROWS))
    steps = [step for a, b in ((0, at), (0, last), (at + 1, at + 1), (0, 0)) for step in (("goto", f"#resident?{span(stats['points'], a, b)}"), ("wait", "#look-range:not([hidden])"), ("wait", "#holders tbody tr"), *see)]
    seen = page(
        profile, *steps, ("count", "#of-all:visible"), ("goto", f"#resident?{span(stats['points'], 0, at)}"), ("choose", "#look", str(stats["rss"].index(looks[-1]))), ("text", "#look-range"), ("hash",), ("click", "#look-range button"), ("hash",), ("count", "#look-range:visible"),
        ("goto", f"#flame?figure=resident&{span(stats['points'], 0, at)}"), ("wait", "#flame-total"), ("data", "#flame-total", "bytes"), ("text", "#answer-note"), ("text", "#look option:checked"),
    )
    early, whole, none, before = (seen[i : i + 4] for i in range(0, 16, 4))
    notes, chosen, address, cleared, about, held, note, option = seen[16:]
    assert early[0].startswith("The last look within ") and "at snapshot 1 first" in early[0] and early[1][-1].endswith("(outside)")
    check_look(early[2:], ask(midden, "report", "--rss", "--at", "1", "--json", profile))
    assert "at the end" in whole[0] and not any("outside" in text for text in whole[1])
    check_look(whole[2:], ask(midden, "report", "--rss", "--json", profile))
    assert none[0].startswith("No look was taken at ") and "The last one before its end was at snapshot 1 first" in none[0] and none[2:] == early[2:]
    assert "The first one after was" in before[0] and before[2]["resident_bytes"] == looks[0]["resident_bytes"]
    assert notes == 0 and chosen.startswith("Not taken within ") and "at the end" in chosen and "look=" in address and (cleared, about) == ("#resident", 0)
    assert int(held) == early[2]["held_bytes"] and note == "at snapshot 1 first" in option


def test_maps_by_kind_and_stack_are_what_the_commands_say(page, midden, mapped):
    maps = read_stats(mapped, "--maps", "--sites")
    steps = [("goto", "#maps"), ("wait", "#map-kinds tbody tr"), ("eval", KINDS), ("eval", "Object.fromEntries([...document.querySelectorAll('#mappers tbody tr')].map(r => [r.dataset.function, Number(r.dataset.left)]))")]
    views = [("all", figure) for figure in ("peak", "leaked", "allocated")] + [("file", "leaked"), ("break", "leaked")]
    for kind, figure in views:
        steps += [("goto", f"#flame?maps={kind}&figure={figure}"), ("wait", "#flame-total"), ("data", "#flame-total", "bytes")]
    steps += [("goto", "#table?maps=all&figure=leaked&inverted=1"), ("wait", ".rows-inner .row"), ("eval", "Object.fromEntries([...document.querySelectorAll('.rows-inner .row')].map(r => [r.querySelector('a').textContent, Number(r.dataset.bytes)]))")]
    kinds, mappers, *totals, tree = page(mapped, *steps)
    for name, figures in kinds:
        right = maps["maps"] if name == "all" else next(kind for kind in maps["maps"]["kinds"] if kind["kind"] == name)
        assert {key: right[key] for key in figures} == figures and len(figures) >= 6
    assert {name for name, _ in kinds} == {"all", "anonymous", "file", "reserved", "shared", "break"}
    assert sum(mappers.values()) == maps["leaked_bytes"] and {"grown", "file", "heap"} <= set(mappers)
    for (kind, figure), total in zip(views, totals):
        option = "--maps" if kind == "all" else f"--maps={kind}"
        assert int(total) == ask(midden, "report", option, "--figure", figure, "--json", mapped)["total_bytes"] > 0
    rows = ask(midden, "report", "--maps", "--leaks", "--flat", "--json", mapped)["functions"]
    for row in rows:
        if row["self_bytes"]:
            assert tree[row["function"]] == row["self_bytes"]


def test_all_maps_together_are_those_of_the_range(page, midden, mapped):
    points = ask(midden, "report", "--maps", "--timeline", "--json", mapped)["points"]
    last = len(points) - 1
    sums = "(({ first, last, maps, most }) => [first, last, maps, most].map(Number))(document.querySelector('#maps-range').dataset)"
    kinds = "document.querySelectorAll('#map-kinds tbody tr').length"
    seen = page(
        mapped, ("goto", "#maps"), ("wait", "#map-kinds"), ("count", "#maps-range"), ("eval", kinds),
        ("goto", f"#maps?{span(points, 0, last)}"), ("wait", "#maps-range"), ("eval", sums), ("text", "#of-all"), ("eval", kinds), ("goto", f"#maps?{span(points, last)}"), ("eval", sums),
        ("goto", f"#flame?maps=all&{span(points, 0, last)}"), ("wait", "#flame-total"), ("data", "#flame-total", "bytes"), ("text", ".controls .range"),
    )
    assert seen[0] == 0 and seen[2] == [points[0]["live_bytes"], points[last]["live_bytes"], points[last]["live_blocks"], max([points[0]["live_bytes"], *(p["highest_bytes"] for p in points[1:])])]
    assert seen[2][1] > 0 and seen[2][3] > seen[2][1]
    assert seen[3].startswith("Which maps there were is kept without times") and seen[4] == seen[1] > 2
    assert seen[5] == [points[last]["live_bytes"], points[last]["live_bytes"], points[last]["live_blocks"], points[last]["live_bytes"]]
    assert int(seen[6]) == read_stats(mapped, "--maps")["peak_bytes"] and "the whole recording, not" in seen[7]


def test_maps_stay_on_the_pages_of_stacks(page, mapped):
    seen = page(
        mapped, ("goto", "#flame"), ("wait", "#of-maps"), ("choose", "#of-maps", "shared"), ("hash",), ("count", "#thread:visible"), ("texts", "#figure option"), ("click", "nav >> text=Tree"), ("hash",),
        ("click", "nav >> text=Overview"), ("hash",), ("count", "#not-recorded"), ("text", "#not-recorded"), ("goto", "#overview?maps=all"), ("wait", "#card-peak"), ("click", "#card-peak"), ("hash",),
        ("goto", "#callers?maps=all"), ("wait", ".rows-inner .row"), ("texts", ".rows-inner .row a"), ("goto", "#source?maps=all"), ("wait", ".files a"), ("text", ".files"),
    )
    assert seen[0] == "#flame?maps=shared" and seen[1] == 0 and "Growth" not in seen[2] and "Peak" in seen[2]
    assert seen[3] == "#table?maps=shared" and "maps" not in seen[4] and "maps" not in seen[7]
    assert "--rss" in seen[6] and "--leaks" in seen[6] and "--maps" not in seen[6]
    assert "reserved" in seen[8] and "own_maps.c" in seen[9]


def test_lost_blocks_are_those_of_the_command(page, midden, recorder, need_victim):
    profile = recorder.victim(need_victim("lost_shapes"), options=("--leaks",)).path
    leaks = ask(midden, "leaks", "--json", "--show", "all", profile)
    wanted = {name: [sums["bytes"], sums["blocks"]] for name, sums in leaks["classes"].items() if sums["blocks"]}
    held = next(stack for stack in leaks["stacks"] if stack["class"] == "reachable" and stack["chain"] and stack["chain"][-1]["kind"] == "variable")
    name = held["chain"][-1]["text"]
    stacks = Counter(stack["class"] for stack in leaks["stacks"])
    # Of many the last ones come a moment later.
    all_there = (("wait", f"#lost-{kind} details >> nth={stacks[kind] - 1}") for kind in ("definite", "reachable"))
    seen = page(
        profile, ("goto", "#leaks"), *all_there, ("eval", CLASSES), ("text", "#lost-look"), ("count", "#lost-definite details"),
        ("eval", "(document.querySelectorAll('#lost-reachable details').forEach(d => d.open = true), 0)"), ("wait", f"#lost-reachable .chain li:has-text('from {name}')"), ("texts", "#lost-reachable .chain li"),
        ("click", "#lost-definite summary"), ("wait", "#lost-definite ol.stack:has-text('main')"), ("text", "#lost-definite ol.stack"),
    )
    assert seen[0] == wanted and set(wanted) == {"definite", "indirect", "interior", "reachable"}
    assert "exit()" in seen[1]
    assert seen[2] == stacks["definite"]
    assert f"from {name}" in seen[4]
    assert "main" in seen[5]


def test_lists_of_leaks_are_the_same_when_the_page_comes_back(page, recorder, need_victim):
    profile = recorder.victim(need_victim("lost_shapes"), options=("--leaks",)).path
    items = "[...document.querySelectorAll('details.leak')].map(d => [d.parentElement.closest('section').id, d.dataset.site, d.open, d.textContent])"
    all_there = f"new Promise(done => {{ let last = -1; const look = () => {{ const now = {items}; now.length === last ? done(now) : setTimeout(look, 700); last = now.length; }}; look(); }})"
    back = f"new Promise(done => {{ location.hash = '#leaks'; addEventListener('hashchange', () => done({items}.length), {{ once: true }}) }})"
    before, at_once, after = page(
        profile, ("goto", "#leaks"), ("click", "#lost-definite summary"), ("wait", "#lost-definite ol.stack"), ("eval", all_there),
        ("goto", "#time"), ("eval", back), ("goto", "#time"), ("goto", "#leaks"), ("eval", all_there),
    )
    assert before == after and any(is_open for _, _, is_open, _ in before)
    assert 20 <= at_once < len(before)


def test_globals_are_those_of_the_command(page, midden, recorder):
    profile = recorder.victim("known_globals").path
    wanted = ask(midden, "report", "--globals", "--json", profile)["globals"]
    rows = "[...document.querySelectorAll('#variables tbody tr[data-name]')].map(r => [r.dataset.name, Number(r.dataset.bytes), Number(r.querySelector('[data-resident]')?.dataset.resident ?? -1)])"
    sums, objects, first, few, address = page(
        profile, ("goto", "#globals"), ("wait", "#variables tbody tr"), ("eval", "({...document.querySelector('#globals-sums').dataset})"),
        ("eval", "[...document.querySelectorAll('#global-objects tbody tr')].map(r => [r.dataset.object, Number(r.dataset.bytes)])"),
        ("eval", rows), ("fill", "#globals-search", "BIG_ZEROS"), ("eval", rows), ("hash",),
    )
    assert {key: int(value) for key, value in sums.items()} == {"bytes": wanted["bytes"], "variables": wanted["variables"], "local": wanted["thread_local_total_bytes"]}
    assert objects == [[o["path"], o["bytes"]] for o in wanted["objects"]]
    listed = {(v["name"], v["bytes"], v.get("resident_bytes", -1)) for v in wanted["list"]}
    assert len(first) > 10 and {tuple(row) for row in first} <= listed and first[0][0] == "big_zeros"
    assert few == [first[0]] and "search=BIG_ZEROS" in address


def test_pages_without_data_are_not_there(page, record):
    profile = record.victim("basic_heap").path
    pages, line = page(profile, ("texts", "nav a"), ("text", "#not-recorded"))
    assert not {"Resident", "Maps"} & set(pages)
    assert all(option in line for option in ("--rss", "--maps", "--leaks"))


def test_the_pages_fit_a_narrow_window_and_are_named(page, resident, mapped):
    unnamed = """[...document.querySelectorAll('button, a, input, select, canvas:not([aria-hidden]), [tabindex="0"]')].filter(e => e.checkVisibility?.() !== false &&
        !(e.textContent.trim() || e.getAttribute('aria-label') || e.getAttribute('title') || e.labels?.length)).map(e => e.outerHTML)"""
    for profile, name in ((resident, "resident"), (mapped, "maps")):
        seen = page(profile, ("size", 420, 800), ("goto", f"#{name}"), ("wait", f".{name}-page table"), ("eval", "document.documentElement.scrollWidth <= innerWidth + 1"), ("eval", unnamed), ("dark",), ("eval", "(dispatchEvent(new Event('beforeprint')), document.querySelectorAll('tbody tr').length)"))
        assert seen[0] is True and seen[1] == [] and seen[2] > 0
