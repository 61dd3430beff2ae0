"""A profile is never written over a file that is not one: a slip of the pen must not cost somebody's work.

SPDX-License-Identifier: Apache-2.0
"""

import os
import subprocess

import pytest
from recording import TIMEOUT_S

TEXT = "an afternoon's work\n"


@pytest.fixture(scope="module")
def profile(native, midden, tmp_path_factory):
    path = tmp_path_factory.mktemp("profile") / "in.mdn"
    subprocess.run([midden, "record", "-q", "-o", path, *native.command("basic_heap")], check=True, timeout=TIMEOUT_S)
    return path


@pytest.mark.parametrize(
    "words",
    (
        ("record", "-o", "OUT", "true"),
        ("merge", "-o", "OUT", "FILE", "FILE"),
        ("resolve", "-o", "OUT", "FILE"),
        ("leaks", "-w", "OUT", "PID"),
        ("snapshot", "-w", "OUT", "PID"),
    ),
    ids=lambda words: words[0],
)
def test_no_command_writes_a_profile_over_another_file(midden, profile, tmp_path, words):
    out = tmp_path / "notes.txt"
    out.write_text(TEXT, encoding="ascii")
    names = {"OUT": out, "FILE": profile, "PID": str(os.getpid())}
    command = [midden, *(names.get(word, word) for word in words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert (done.returncode, done.stdout) == (1, "")
    told = f"midden: {out} exists and is not a midden profile: choose another file with {words[1]}\n"
    assert done.stderr == told
    assert out.read_text(encoding="ascii") == TEXT and os.listdir(tmp_path) == ["notes.txt"]


@pytest.mark.parametrize("words", (("merge", "-q"), ("resolve",)), ids=("merge", "resolve"))
def test_a_profile_and_an_empty_file_are_written_over(midden, profile, tmp_path, words):
    out = tmp_path / "out.mdn"
    for before in (b"", profile.read_bytes()):
        out.write_bytes(before)
        subprocess.run([midden, *words, "-o", out, profile], check=True, capture_output=True, timeout=TIMEOUT_S)
        assert out.read_bytes()[:8] == profile.read_bytes()[:8]
