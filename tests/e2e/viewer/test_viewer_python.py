"""Python programs in the viewer: functions with their files, source lines with their figures.

SPDX-License-Identifier: Apache-2.0
"""

import json
import subprocess

import pytest

from browser import span
from recording import read_stats

APP = """import helper

def load():
    return bytearray(3_000_000)

data = load()
"""


@pytest.fixture
def profile(record, tmp_path):
    (tmp_path / "helper.py").write_text("table = bytearray(1_000_000)\n")
    (tmp_path / "app.py").write_text(APP)
    # A sample of a small object would stand for more than it is.
    recording = record.run(["/usr/bin/python3", "-B", "app.py"], options=("--pymalloc=off",))
    assert recording.status == 0, recording.stderr
    return recording.path


def test_lines_of_python_have_their_figures_and_modules_their_files(page, profile):
    seen = page(
        profile,
        ("goto", "#source"), ("wait", ".files a"), ("click", ".files a >> text=app.py"), ("wait", "table.lines"),
        ("texts", "table.lines tbody tr"), ("goto", "#tree"), ("wait", "main table"), ("text", "main"),
        options=("--sources=3",),
    )
    line = next(text for text in seen[0] if "bytearray(3_000_000)" in text)
    assert "2.86 MiB" in line
    assert any("import helper" in text for text in seen[0])
    assert "load" in seen[1] and "<module> (app.py)" in seen[1] and "_find_and_load" not in seen[1]


def test_where_small_objects_alone_are_samples_the_page_says_so(page, record, tmp_path):
    (tmp_path / "app.py").write_text("keep = [[i] for i in range(100_000)]\n")
    recording = record.run(["/usr/bin/python3", "-B", "app.py"])
    note, run = page(recording.path, ("text", "#sampled"), ("text", "#run"))
    assert note.startswith("Small objects of Python are sampled, one block in ") and "figures with them are estimates" in note
    assert "exact but for small objects of Python" in run


def test_what_is_no_small_object_is_sure_at_any_time(page, midden, record, tmp_path):
    (tmp_path / "app.py").write_text("import os\nlarge = bytearray(5_000_000)\nkeep = [[i] for i in range(100_000)]\nos._exit(0)\n")
    profile = record.run(["/usr/bin/python3", "-B", "app.py"]).path
    points = read_stats(profile, "--points")["points"]
    last = len(points) - 1
    report = subprocess.run([midden, "report", "--live-at", f"{points[last]['time_ns']}ns", "--json", profile], capture_output=True, text=True, check=True).stdout
    wanted = json.loads(report)
    (shown,) = page(profile, ("goto", f"#flame?figure=live&{span(points, last)}"), ("wait", "#flame-total"), ("text", "#flame-total"))
    low, high = shown.partition("(")[2].partition(")")[0].split(" to ")
    for text, key in ((low, "total_bytes_low"), (high, "total_bytes_high")):
        assert abs(float(text.split()[0]) * 2**20 / wanted[key] - 1) < 0.01
