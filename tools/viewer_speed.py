#!/usr/bin/env python3
"""How long everything in the viewer takes with a large profile: 200,000 stacks, 500 points in time.

usage: tools/viewer_speed.py [--stacks N] [--points N] [--build DIR]

Needs Chromium, Node.js and npm, and a build with tests. Prints a table: milliseconds until the picture
is on the screen, and of processor time of the page's thread, which say more on a machine in use. A line
above 100 ms is marked.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "e2e"))
from browser import install_readers  # noqa: E402

MOST_MS = 100

PAGES = [
    ("timeline", "goto", "#time"),
    ("flame graph", "goto", "#flame"),
    ("figure: calls", "goto", "#flame?figure=calls"),
    ("figure: growth of a range", "goto", "#flame?figure=growth&from=10&to=400"),
    ("figure: live at a time", "goto", "#flame?figure=live&from=300&to=300"),
    ("peak within a range", "goto", "#flame?from=10&to=400"),
    ("figure: peak again", "goto", "#flame"),
    ("pointer on a box", "move", "canvas.flame", 400, 50),
    ("pointer on another box", "move", "canvas.flame", 300, 110),
    ("zoom", "at", "canvas.flame", 400, 70),
    ("zoom out", "click", "#zoom-out"),
    ("search: first letter", "type", "#search", "s"),
    ("search: a word", "type", "#search", "step19"),
    ("search: nothing", "type", "#search", ""),
    ("only stacks with a function", "goto", "#flame?functions=step19"),
    ("inverted", "goto", "#flame?inverted=1"),
    ("by line", "goto", "#flame?byLine=1"),
    ("recursion folded", "goto", "#flame?fold=1"),
    ("by thread", "goto", "#flame?byThread=1"),
    ("by thread, inverted", "goto", "#flame?byThread=1&inverted=1"),
    ("tree", "goto", "#table"),
    ("tree sorted by calls", "click", "#sort-calls"),
    ("tree: a row opened", "click", ".rows-inner .row:nth-child(3) .twist"),
    ("tree, inverted", "goto", "#table?inverted=1"),
    ("tree, inverted, by name", "click", "#sort-name"),
    ("functions", "goto", "#callers"),
    ("functions: one chosen", "click", ".rows-inner .row:nth-child(4) a"),
    ("functions by what they call", "click", "#sort-total"),
    ("functions: search", "type", "#function-search", "step7"),
    ("source", "goto", "#source"),
    ("source: another file", "click", ".files li:nth-child(5) a"),
    ("sizes", "goto", "#sizes"),
    ("sizes: a cell", "at", "#size-by-life", 400, 150),
    ("threads", "goto", "#threads"),
    ("leaks", "goto", "#leaks"),
    ("overview", "goto", "#overview"),
]
COMPARE = [
    ("compare", "goto", "#compare"),
    ("compare: calls", "goto", "#compare?figure=calls"),
    ("compare: pointer on a box", "move", "canvas.flame", 400, 50),
    ("compare: zoom", "at", "canvas.flame", 400, 70),
    ("compare, inverted", "goto", "#compare?inverted=1"),
]


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, **options)


def measure(build, page, steps):
    readers = build / "tests" / "readers"
    fault = install_readers(readers)
    if fault:
        sys.exit(f"viewer_speed.py: npm cannot install the browser's driver: {fault}")
    done = run("node", readers / "interactions.mjs", shutil.which("chromium"), page.as_uri(), input=json.dumps(steps), stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def show(title, page, seen):
    print(f"{title}: {page.stat().st_size / 1e6:.1f} MB")
    print(f"  first paint {seen['first_paint_ms'] / 1000:.2f} s, all made ahead {seen['ready_ms'] / 1000:.2f} s, "
          f"heap {seen['heap_bytes'] / 1e6:.0f} MB, process {seen['process_bytes'] / 1e6:.0f} MB")
    print(f"  {'':32} {'ms':>6} {'cpu ms':>8}")
    for step in seen["steps"]:
        slow = " <" if step["wall_ms"] > MOST_MS else ""
        print(f"  {step['name']:32} {step['wall_ms']:6.0f} {step['cpu_ms']:8.0f}{slow}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stacks", type=int, default=200000)
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--build", type=Path, default=HERE.parent / "build")
    words = parser.parse_args()
    for tool in ("chromium", "node", "npm"):
        if shutil.which(tool) is None:
            sys.exit(f"viewer_speed.py: {tool} is not installed")
    with tempfile.TemporaryDirectory() as home:
        profile, page = Path(home, "large.mdn"), Path(home, "large.html")
        run(words.build / "tests" / "large_profile", profile, words.stacks, words.points)
        run(words.build / "midden", "html", "-o", page, profile)
        show("one profile", page, measure(words.build, page, PAGES))
        page = Path(home, "compared.html")
        run(words.build / "midden", "html", "-o", page, "--compare", profile, profile)
        show("compared with itself", page, measure(words.build, page, COMPARE))


if __name__ == "__main__":
    main()
