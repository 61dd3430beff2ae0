#!/usr/bin/env python3
"""How long everything in the viewer takes with large profiles: 200,000 stacks, 500 points in time.

usage: tools/viewer_speed.py [--stacks N] [--points N] [--build DIR] [--rounds N] [--times N]

Two profiles: one in which all stacks are alike, one as programs give them, with threads, looks at pages
and leaks, and maps (tests/large). Needs Chromium, Node.js and npm, and a build with tests. Prints a table:
milliseconds until the picture is on the screen, and of processor time of the page's thread, which say more
on a machine in use; with several rounds the middle of each, and the slowest with its processor time. A line
of which one round took
more than 100 ms is marked. --times 2 makes the page's thread half as fast as it is.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "e2e"))
from browser import install_readers  # noqa: E402

MOST_MS = 100

PAGES = [
    ("timeline", "goto", "#time"),
    ("timeline: a range", "goto", "#time?from=10&to=300"),
    ("flame graph", "goto", "#flame"),
    ("figure: calls", "goto", "#flame?figure=calls"),
    ("figure: growth of a range", "goto", "#flame?figure=growth&from=10&to=400"),
    ("figure: live at a time", "goto", "#flame?figure=live&from=300&to=300"),
    ("peak within a range", "goto", "#flame?from=10&to=400"),
    ("figure: peak again", "goto", "#flame"),
    ("pointer on a box", "move", ".flame", 400, 50),
    ("pointer on another box", "move", ".flame", 300, 110),
    ("zoom", "at", ".flame", 400, 70),
    ("zoom out", "click", "#zoom-out"),
    ("search: first letter", "type", "#search", "s"),
    ("search: a word", "type", "#search", "step19"),
    ("search: nothing", "type", "#search", ""),
    ("only stacks with a function", "goto", "#flame?functions=step19"),
    ("inverted", "goto", "#flame?inverted=1"),
    ("inverted, growth", "goto", "#flame?figure=growth&from=10&to=400&inverted=1"),
    ("inverted, with a function", "goto", "#flame?functions=step19&inverted=1"),
    ("by line", "goto", "#flame?byLine=1"),
    ("recursion folded", "goto", "#flame?fold=1"),
    ("recursion folded, inverted", "goto", "#flame?fold=1&inverted=1"),
    ("by thread", "goto", "#flame?byThread=1"),
    ("by thread, inverted", "goto", "#flame?byThread=1&inverted=1"),
    ("tree", "goto", "#table"),
    ("tree sorted by calls", "click", "#sort-calls"),
    ("tree: a row opened", "click", ".rows-inner .row:nth-child(3) .twist"),
    ("tree, inverted", "goto", "#table?inverted=1"),
    ("tree, inverted, by name", "click", "#sort-name"),
    ("tree of a function", "goto", "#table?functions=step19"),
    ("functions", "goto", "#callers"),
    ("functions: one chosen", "click", ".rows-inner .row:nth-child(4) a"),
    ("functions by what they call", "click", "#sort-total"),
    ("functions: search", "type", "#function-search", "step7"),
    ("functions of a range", "goto", "#callers?figure=growth&from=10&to=400"),
    ("source", "goto", "#source"),
    ("source: another file", "click", ".files li:nth-child(5) a"),
    ("source: further down", "scroll", "#source-text", 400),
    ("source of a range", "goto", "#source?figure=growth&from=10&to=400"),
    ("source: figure calls", "choose", "#figure", "calls"),
    ("sizes", "goto", "#sizes"),
    ("sizes: a cell over time", "goto", "#sizes?cell=7@1000000000000"),
    ("sizes of a range", "goto", "#sizes?from=10&to=400"),
    ("sizes of a moment", "goto", "#sizes?from=300&to=300"),
    ("threads", "goto", "#threads"),
    ("threads of a range", "goto", "#threads?from=10&to=400"),
    ("threads of a range, by its end", "click", "#sort-end_bytes"),
    ("leaks", "goto", "#leaks"),
    ("leaks of a range", "goto", "#leaks?from=10&to=400"),
    ("leaks of another range", "goto", "#leaks?from=100&to=480"),
    ("leaks at a moment", "goto", "#leaks?from=300&to=300"),
    ("overview", "goto", "#overview"),
    ("back", "back"),
    ("timeline again", "goto", "#time"),
    ("timeline: a range dragged", "drag", "#chart-bytes .u-over", 100, 50, 500),
    ("timeline: pointer on it", "move", "#chart-bytes .u-over", 300, 50),
    ("flame graph of what was dragged", "key", "3"),
    ("figure chosen: growth", "choose", "#figure", "growth"),
    ("inverted by a key", "key", "i"),
    ("by line, ticked", "click", "#by-line"),
    ("by line, not any more", "click", "#by-line"),
    ("inverted, not any more", "click", "#inverted"),
    ("the whole recording", "key", "w"),
    ("back to the range", "back"),
    ("a filter typed", "choose", "#functions", "step1"),
    ("tree of that", "key", "4"),
    ("tree of that, inverted", "key", "i"),
    ("functions of that", "key", "5"),
    ("source of that", "key", "6"),
    ("back to the functions", "back"),
    ("tree of the whole", "goto", "#table"),
    ("tree: all the way down", "key", "End", ".rows"),
    ("tree: scrolled", "scroll", ".rows", 4000),
    *((f"tree by {column}", "click", f"#sort-{column}") for column in ("self", "blocks", "peak", "leaked", "allocated", "calls", "temporary", "name", "value")),
    ("tree by line", "click", "#by-line"),
    ("tree by line, inverted", "click", "#inverted"),
    *((f"tree by line, inverted, by {column}", "click", f"#sort-{column}") for column in ("self", "calls", "name")),
    ("tree: figure calls", "choose", "#figure", "calls"),
    ("functions, by a link", "goto", "#callers?figure=leaked&zoom=1"),
    ("functions: search: a letter", "type", "#function-search", "s"),
    ("functions: search: nothing", "type", "#function-search", ""),
    ("functions: scrolled", "scroll", ".rows", 9000),
    ("functions: figure temporary", "choose", "#figure", "temporary"),
    ("threads by a key", "key", "8"),
    ("zoomed flame graph by a link", "goto", "#flame?zoom=1&search=step1"),
]
# What only the richer of the profiles has.
MORE_PAGES = [
    ("only a thread", "goto", "#flame?thread=2"),
    ("only a module", "goto", "#flame?module=libapp_part3.so.1"),
    ("sizes again", "goto", "#sizes"),
    ("sizes: a cell", "at", "#size-by-life", 400, 150),
    ("resident", "goto", "#resident"),
    ("resident by pinned", "click", "#holders-pinned"),
    ("resident of a range", "goto", "#resident?from=10&to=400"),
    ("flame graph of what is resident", "goto", "#flame?figure=resident"),
    ("maps", "goto", "#maps"),
    ("flame graph of maps", "goto", "#flame?maps=all"),
    ("tree of maps", "goto", "#table?maps=all"),
    ("leaks again", "goto", "#leaks"),
    ("overview again", "goto", "#overview"),
    ("tree of a thread", "goto", "#table?thread=2"),
    ("tree of a thread, inverted", "key", "i"),
    ("tree of another thread", "choose", "#thread", "3"),
    ("functions of a thread", "key", "5"),
    ("source of a thread", "key", "6"),
    ("tree of a module", "goto", "#table?module=libapp_part3.so.1"),
    ("tree of a module, inverted", "key", "i"),
    ("functions of a module", "key", "5"),
    ("source of a module", "key", "6"),
    ("flame graph of a module, inverted", "key", "3"),
]
COMPARE = [
    ("compare", "goto", "#compare"),
    ("compare: calls", "goto", "#compare?figure=calls"),
    ("compare: pointer on a box", "move", ".flame", 400, 50),
    ("compare: zoom", "at", ".flame", 400, 70),
    ("compare, inverted", "goto", "#compare?inverted=1"),
    ("compare: figure leaked", "choose", "#figure", "leaked"),
    ("compare: inverted by a key", "key", "i"),
    ("compare: only stacks with", "choose", "#functions", "step1"),
    ("compare: module", "goto", "#compare?module=libapp_part3.so.1"),
    ("compare: growth", "goto", "#compare?figure=growth&from=10&to=400"),
    ("compare: back", "back"),
    ("compare: flame graph", "key", "3"),
    ("compare: tree, inverted", "goto", "#table?inverted=1"),
    ("compare: functions", "key", "5"),
    ("compare: source", "key", "6"),
    ("compare: again", "key", "c"),
]


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, **options)


def in_time(steps, apart_ms):
    """The same steps, with ranges as times: those of the lists are numbers of points, which are so far apart."""
    moments = lambda match: f"from={int(match[1]) * apart_ms}ms&to={int(match[2]) * apart_ms}ms"  # noqa: E731
    timed = lambda word: re.sub(r"from=(\d+)&to=(\d+)", moments, word) if isinstance(word, str) else word  # noqa: E731
    return [[timed(word) for word in step] for step in steps]


def measure_once(readers, page, steps, times=1):
    done = run("node", readers / "interactions.mjs", shutil.which("chromium"), page.as_uri(), times, input=json.dumps(steps), stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def read_stolen():
    """Ticks of all CPUs, and those that the hypervisor gave to others."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(ticks), ticks[7]


def measure(build, page, steps, rounds, times=1):
    """What a page took: the middle of all rounds, of steps the slowest as well."""
    readers = build / "tests" / "readers"
    fault = install_readers(readers)
    if fault:
        sys.exit(f"viewer_speed.py: npm cannot install the browser's driver: {fault}")
    before = read_stolen()
    seen = [measure_once(readers, page, steps, times) for _ in range(rounds)]
    whole, stolen = (now - then for now, then in zip(read_stolen(), before))
    result = {key: median(one[key] for one in seen) for key in seen[0] if key != "steps"}
    result["stolen_share"] = stolen / max(1, whole)
    result["slowest_paint_ms"] = max(one["first_paint_ms"] for one in seen)
    result["slowest_whole_ms"] = max(one["whole_ms"] for one in seen)
    result["steps"] = [summarise(same) for same in zip(*(one["steps"] for one in seen))]
    return result


def summarise(same):
    """One step in all rounds."""
    middle = {key: median(one[key] for one in same) for key in ("wall_ms", "cpu_ms")}
    slowest = max(same, key=lambda one: one["wall_ms"])
    return {"name": same[0]["name"], **middle, "slowest_ms": slowest["wall_ms"], "slowest_cpu_ms": slowest["cpu_ms"]}


def show(title, page, seen):
    print(f"{title}: {page.stat().st_size / 1e6:.1f} MB")
    print(f"  first paint {seen['first_paint_ms'] / 1000:.2f} s (slowest {seen['slowest_paint_ms'] / 1000:.2f}), all of the page {seen['whole_ms'] / 1000:.2f} s (slowest {seen['slowest_whole_ms'] / 1000:.2f}), all made ahead {seen['ready_ms'] / 1000:.2f} s, "
          f"heap {seen['heap_bytes'] / 1e6:.0f} MB, process {seen['process_bytes'] / 1e6:.0f} MB")
    if seen["stolen_share"] > 0.005:
        print(f"  the hypervisor took {100 * seen['stolen_share']:.0f} % of the CPUs' time meanwhile")
    print(f"  {'':32} {'ms':>6} {'cpu ms':>8} {'slowest':>8} {'its cpu':>8}")
    for step in seen["steps"]:
        slow = " <" if step["slowest_ms"] > MOST_MS else ""
        print(f"  {step['name']:32} {step['wall_ms']:6.0f} {step['cpu_ms']:8.0f} {step['slowest_ms']:8.0f} {step['slowest_cpu_ms']:8.0f}{slow}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stacks", type=int, default=200000)
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--build", type=Path, default=HERE.parent / "build")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--times", type=float, default=1)
    words = parser.parse_args()
    for tool in ("chromium", "node", "npm"):
        if shutil.which(tool) is None:
            sys.exit(f"viewer_speed.py: {tool} is not installed")
    tests, midden = words.build / "tests", words.build / "midden"
    with tempfile.TemporaryDirectory() as home:
        alike, rich, page = Path(home, "alike.mdn"), Path(home, "rich.mdn"), Path(home, "page.html")
        run(tests / "large_profile", alike, words.stacks, words.points)
        run(tests / "rich_profile", rich, words.stacks, words.points)
        for title, profiles, steps, apart_ms in (
            ("all stacks alike", [alike], PAGES, 1),
            ("as programs give them", [rich], PAGES + MORE_PAGES, 10),
            ("compared", ["--compare", alike, rich], COMPARE, 10),
        ):
            run(midden, "html", "-o", page, *profiles)
            show(title, page, measure(words.build, page, in_time(steps, apart_ms), words.rounds, words.times))


if __name__ == "__main__":
    main()
