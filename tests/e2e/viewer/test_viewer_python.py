"""Python programs in the viewer: functions with their files, source lines with their figures.

SPDX-License-Identifier: Apache-2.0
"""

import pytest

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
