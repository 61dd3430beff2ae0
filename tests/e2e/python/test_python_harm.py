"""Python programs that damage themselves: stacks may be short then, but nothing is lost and nothing crashes.

SPDX-License-Identifier: Apache-2.0
"""

import pathlib
import signal

import pytest
from interpreters import DEBIAN, Stacks, ask

SCRIPT = pathlib.Path(__file__).parent / "scribbles.py"


@pytest.mark.parametrize("how, small", [("mixed", "exact"), ("full", "sampled")])
def test_damaged_frames_neither_crash_nor_lose_anything(record, midden, how, small):
    if ask(DEBIAN, "sys.version_info[:2] == (3, 11)") != "True":
        pytest.skip("the script knows Python 3.11")
    recording = record.run([DEBIAN, SCRIPT], options=["--python", how, "--pymalloc", small])
    assert recording.status == 0, recording.stderr
    count = int(recording.stdout)
    assert count > 500
    assert (recording.stats["lost_events"], recording.stats["foreign_frees"]) == (0, 0)
    # The function that allocates is not damaged: each block has it. Its callers' frames are gone where they had to be;
    # a code object that was read before it was damaged need not be read again.
    large = [(f, s) for f, s in Stacks(midden, recording.path).all if 3000 <= s["size_min"] <= s["size_max"] < 3100]
    made = [([name for name, *_ in f], s["allocations"]) for f, s in large]
    assert sum(blocks for names, blocks in made if "allocate" in names) == count
    cut = sum(blocks for names, blocks in made if "allocate" in names and "caller" not in names)
    assert 50 < cut < count


def test_a_killed_python_keeps_what_its_threads_held(record, midden, tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(
        "import os, threading\n"
        "def hold(): kept.append(bytearray(700_000)); ready.wait(); ever.wait()\n"
        "kept, ready, ever = [], threading.Barrier(4), threading.Event()\n"
        "[threading.Thread(target=hold).start() for _ in range(3)]\n"
        "ready.wait()\n"
        "os.kill(os.getpid(), 9)\n"
    )
    recording = record.run([DEBIAN, script])
    assert recording.status == 128 + signal.SIGKILL
    stacks = [(f, s) for f, s in Stacks(midden, recording.path).all if s["leaked_bytes"] > 700_000]
    held = sum(s["leaked_blocks"] for f, s in stacks if "hold" in [name for name, *_ in f])
    assert (held, recording.stats["lost_events"]) == (3, 0)


def test_frames_that_went_with_their_pages_are_not_read(record, tmp_path):
    """A generator is resumed from deep inside and from the outside: frames that were between lay on pages that are gone."""
    script = tmp_path / "resumed.py"
    script.write_text(
        "def make():\n"
        "    while True: yield bytearray(1500)\n"
        "def deep(g, n=60):\n"
        "    if n: return deep(g, n - 1)\n"
        "    next(g); next(g); return next(g)\n"
        "def turn(k):\n"
        "    if k: return turn(k - 1)\n"
        "    for way in (deep, next, deep, next): way(g)\n"
        "g = make()\n"
        "for k in range(200): turn(k)\n"
        "print('done')\n"
    )
    recording = record.run([DEBIAN, script])
    assert (recording.status, recording.stdout.strip()) == (0, b"done")
    assert recording.stats["lost_events"] == 0
