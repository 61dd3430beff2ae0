"""What was live at a time: with a trace, exactly what all events up to it come to.

SPDX-License-Identifier: Apache-2.0
"""

import json
import random
import re
import subprocess

import pytest


def live_at(midden, path, time_ns):
    done = subprocess.run(
        [midden, "report", "--live-at", f"{time_ns}ns", "--json", path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def count_events(path):
    """[(ms, live bytes, live blocks)] after each event, from an export that knows nothing of points."""
    sizes, live, blocks, ms, states = [], 0, 0, 0, []
    for line in path.read_text().splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "a":
            sizes.append(int(rest.split()[0], 16))
        elif kind == "c":
            ms = int(rest, 16)
        elif kind in "+-":
            sign = 1 if kind == "+" else -1
            live += sign * sizes[int(rest, 16)]
            blocks += sign
            states.append((ms, live, blocks))
    return states


@pytest.fixture
def traced(record):
    return record.victim("cross_free", "full", options=("--trace",))


def test_any_time_is_exact_with_a_trace(midden, traced, tmp_path):
    out = tmp_path / "events"
    subprocess.run([midden, "export", "-f", "heaptrack", "-o", out, traced.path], check=True)
    states = count_events(out)
    last = states[-1][0]
    for ms in random.Random(7).sample(range(last), min(last, 12)):
        before = [state for state in states if state[0] <= ms]
        found = live_at(midden, traced.path, (ms + 1) * 1000000 - 1)
        assert found["counted_bytes"] == (before[-1][1] if before else 0)
        assert found["counted_blocks"] == (before[-1][2] if before else 0)
        assert found["at"]["exact"]


def test_without_a_trace_a_point_stands_for_the_time_and_is_named(midden, record):
    path = record.victim("cross_free", "full").path
    page = subprocess.run([midden, "report", "--live-at", "50%", path], capture_output=True, text=True).stdout
    assert re.search(r"is point \d+ of \d+ on the time line", page)


def test_a_time_behind_the_end_is_said_and_the_end_is_no_mere_point(midden, record, traced):
    for path in (traced.path, record.victim("basic_heap").path):
        for options, words in (
            (("--live-at", "9h"), "9 h 00 min is after the end of the recording, "),
            (("--growth", "1ns..@end"), " is the end of the recording"),
            (("--live-at", "@end"), " is the end of the recording"),
        ):
            page = subprocess.run([midden, "report", *options, path], capture_output=True, text=True, check=True)
            assert words in page.stdout
            assert "of the time line, taken at" not in page.stdout.partition(words)[2]


def test_the_text_says_that_the_trace_was_asked(midden, traced):
    page = subprocess.run([midden, "report", "--live-at", "51.7%", traced.path], capture_output=True, text=True)
    assert "exactly, from the trace" in page.stdout
