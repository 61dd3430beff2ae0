"""Live objects of Python by their type, as a look from outside finds them.

SPDX-License-Identifier: Apache-2.0
"""

import collections
import json
import subprocess
import time

import pytest
from interpreters import DEBIAN, INTERPRETERS

# What is kept of each; the script says itself what the garbage collector knows of some types.
KEPT = """
import collections, gc, json, os, sys
class Plain:
    pass
class Slotted:
    __slots__ = ("a", "b")
class Referred:
    __slots__ = ("__weakref__",)
class Table(dict):
    pass
class Meta(type):
    pass
class Odd(metaclass=Meta):
    pass
def make():
    yield
kept = [
    [Plain() for _ in range(1000)], [Slotted() for _ in range(20000)], [Table() for _ in range(500)],
    [Odd() for _ in range(70)], [Referred() for _ in range(90)], [[i] for i in range(3000)],
    [make() for _ in range(40)], [i + 0.5 for i in range(5000)], [str(i) * 40 for i in range(1000, 5000)],
    [b"x" * 2000 + bytes([i]) for i in range(100)], [bytearray(5000) for i in range(30)]]
tracked = collections.Counter(type(o).__name__ for o in gc.get_objects())
print(os.getpid(), json.dumps({name: tracked[name] for name in ("function", "set", "list", "module", "generator")}))
sys.stdout.flush()
sys.stdin.readline()
"""
CLASSES = {"Plain": 1000, "Slotted": 20000, "Table": 500, "Odd": 70, "Referred": 90, "Meta": 1}


def look(midden, pid, name):
    """Asks until the recorder listens. Of samples the types are told, not the pages."""
    deadline = time.monotonic() + 120
    while True:
        done = subprocess.run([midden, "snapshot", "--rss", str(pid), name], capture_output=True, text=True)
        if "is not being recorded" not in done.stderr or time.monotonic() > deadline:
            assert done.returncode == 0 or "are sampled here" in done.stderr, done.stderr
            return
        time.sleep(0.02)


def types_of(midden, path, *options):
    done = subprocess.run([midden, "report", "--types", "--json", *options, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def kept(midden, record, tmp_path):
    """Records the script until its objects stand; (what a look found, what the script says, the profile)."""

    def run(path, options=(), env=None):
        script = tmp_path / "kept.py"
        script.write_text(KEPT)
        running = record.start([path, script], options=options, env=env)
        pid, said = running.process.stdout.readline().split(b" ", 1)
        look(midden, int(pid), "kept")
        recording = running.finish(input=b"\n")
        assert recording.status == 0, recording.stderr
        return types_of(midden, recording.path, "--at", "kept"), json.loads(said), recording

    return run


def check_exactly(found, said):
    counts, sizes = collections.Counter(), collections.Counter()
    for row in found["types"]:  # two types may have the same name
        counts[row["type"]] += row["objects"]
        sizes[row["type"]] += row["bytes"]
    assert {name: counts[name] for name in CLASSES} == CLASSES
    assert all(abs(counts[name] - said[name]) <= 5 for name in said), (counts, said)
    assert counts["float"] >= 5000 and counts["str"] >= 4000 and counts["bytearray"] >= 30
    assert sizes["float"] == 24 * counts["float"]
    assert sizes["Slotted"] == 20000 * 48  # 16 for the garbage collector, 16 for every object, two slots
    assert sizes["bytes"] >= 100 * 2001
    whole = sum(sizes.values()) + found["no_objects"]["bytes"]
    assert whole == found["look"]["live_bytes"]
    assert sum(counts.values()) + found["no_objects"]["blocks"] == found["look"]["live_blocks"]


@pytest.mark.parametrize("path", INTERPRETERS)
def test_each_object_is_counted_under_its_type(kept, path):
    found, said, _ = kept(path, options=["--pymalloc", "exact"])
    check_exactly(found, said)


def test_objects_from_malloc_are_told_apart_too(kept):
    found, said, _ = kept(DEBIAN, env={"PYTHONMALLOC": "malloc"})
    check_exactly(found, said)


def test_guard_bytes_of_debugging_do_not_hide_small_objects(kept):
    """Larger ones are malloc's blocks, which begin with the guard."""
    found, _, _ = kept(DEBIAN, options=["--pymalloc", "exact"], env={"PYTHONMALLOC": "debug"})
    counts = {row["type"]: row["objects"] for row in found["types"]}
    assert all(counts[name] == CLASSES[name] for name in CLASSES if name != "Meta")


def test_samples_estimate_how_many_there_are(kept):
    found, _, recording = kept(DEBIAN, options=["--sample-seed", "7"])
    assert recording.stats["small_objects"] == "sampled"
    slotted = next(row for row in found["types"] if row["type"] == "Slotted")
    assert slotted["objects_deviation"] > 0 and slotted["bytes_deviation"] > 0
    assert abs(slotted["objects"] - 20000) <= 3 * slotted["objects_deviation"]
    large = next(row for row in found["types"] if row["type"] == "bytes")
    assert 100 * 2001 <= large["bytes"] and large["objects"] >= 100


def test_the_report_shows_types_by_size(midden, kept):
    _, _, recording = kept(DEBIAN, options=["--pymalloc", "exact"])
    done = subprocess.run([midden, "report", "--types", recording.path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout[done.stdout.index("Objects by type, at snapshot 1 kept") :].splitlines()
    slotted = next(line for line in lines if line.endswith("  Slotted"))
    assert slotted.split() == ["938", "KiB", slotted.split()[2], "20,000", "48", "B", "Slotted"]
    assert lines[-1].endswith("no objects: tables of dicts, items of lists, memory of C code")


def test_a_profile_without_types_says_how_to_get_them(midden, record):
    recording = record.victim("pinned_pages", "1", options=("--rss",))
    done = subprocess.run([midden, "report", "--types", recording.path], capture_output=True, text=True)
    assert done.returncode == 1 and "no objects of Python were found then" in done.stderr
    plain = record.victim("pinned_pages", "1")
    done = subprocess.run([midden, "report", "--types", plain.path], capture_output=True, text=True)
    assert done.returncode == 1 and "record a Python program with --rss" in done.stderr
