"""Small objects of Python, which its own allocator cuts out of arenas.

SPDX-License-Identifier: Apache-2.0
"""

import ctypes
import os
import signal
import subprocess

import pytest
from interpreters import DEBIAN, HERE, INTERPRETERS, Stacks

# Floats are 24 bytes each; the list that holds them and the bytearray are malloc's.
KNOWN = """
import os, sys
def floats(kept):
    for i in range(len(kept)):
        kept[i] = i + 0.5
def array():
    return bytearray(5_000_000)
def dropped(count):
    for i in range(count):
        str(i) * 3
kept, large = [None] * 150_000, array()
floats(kept)
dropped(50_000)
if len(sys.argv) > 1:
    os.kill(os.getpid(), 9)
print(len(kept) + len(large))
"""
FLOATS = 150_000 * 24
ARRAY = 5_000_000
INTERPRETER = 2_200_000  # what it holds itself, about


@pytest.fixture
def known(tmp_path):
    script = tmp_path / "known.py"
    script.write_text(KNOWN)
    return script


def bytes_of(midden, recording, function, figure="peak_bytes"):
    """What stacks with a Python function of this name have."""
    return sum(
        stack[figure]
        for frames, stack in Stacks(midden, recording.path).all
        if any((name, module) == (function, "[python]") for name, _, _, module in frames)
    )


def closely(value, wanted, share):
    return abs(value - wanted) <= share * wanted


@pytest.mark.parametrize("path", INTERPRETERS)
def test_each_small_object_is_recorded_as_if_malloc_had_made_it(record, known, path):
    """Python makes the same objects whoever gives it memory, but for a few tables that depend on addresses."""
    exact = record.run([path, known], options=["--pymalloc", "exact"]).stats
    plain = record.run([path, known], options=["--pymalloc", "off"], env={"PYTHONMALLOC": "malloc"}).stats
    assert closely(exact["allocations"], plain["allocations"], 0.001)
    assert closely(exact["peak_blocks"], plain["peak_blocks"], 0.001)
    assert abs(exact["leaked_blocks"] - plain["leaked_blocks"]) < 10
    assert (exact["small_objects"], exact["foreign_frees"], exact["lost_events"]) == ("exact", 0, 0)
    assert exact["small_bytes"] <= exact["small_peak_bytes"] <= exact["arena_peak_bytes"]


@pytest.mark.parametrize("path", INTERPRETERS)
def test_samples_estimate_small_objects_while_malloc_stays_exact(record, midden, known, path):
    recording = record.run([path, known], options=["--sample-seed", "7"])
    stats = recording.stats
    assert (stats["mode"], stats["small_objects"], stats["sampled_blocks"]) == ("exact", "sampled", "small")
    assert (stats["foreign_frees"], stats["lost_events"]) == (0, 0)
    # 55 samples: five deviations are 67 %.
    assert closely(bytes_of(midden, recording, "floats"), FLOATS, 0.67)
    assert closely(bytes_of(midden, recording, "array"), ARRAY, 0.0001)
    arrays = [site for site in stats["sites"] if site["peak_bytes"] > ARRAY]
    assert [(s["peak_bytes_low"], s["peak_bytes_high"]) for s in arrays] == [(arrays[0]["peak_bytes"],) * 2]
    assert stats["small_bytes"] < 0.5 * stats["small_peak_bytes"] < stats["arena_peak_bytes"]


@pytest.mark.parametrize("setting", ["debug", "pymalloc_debug"])
def test_guard_bytes_change_nothing(record, known, setting):
    plain = record.run([DEBIAN, known], options=["--pymalloc", "exact"]).stats
    guarded = record.run([DEBIAN, known], options=["--pymalloc", "exact"], env={"PYTHONMALLOC": setting}).stats
    assert closely(guarded["peak_bytes"], plain["peak_bytes"], 0.03)
    assert (guarded["small_objects"], guarded["foreign_frees"], guarded["lost_events"]) == ("exact", 0, 0)


def test_python_that_has_all_from_malloc_is_said_to(record, midden, known):
    recording = record.run([DEBIAN, known], env={"PYTHONMALLOC": "malloc"})
    assert recording.stats["small_objects"] == "malloc"
    assert "sample_period" not in recording.stats
    text = subprocess.run([midden, "stats", recording.path], capture_output=True, text=True, check=True).stdout
    assert "from malloc (PYTHONMALLOC)" in text


def test_nothing_is_lost_when_python_is_killed(record, midden, known):
    recording = record.run([DEBIAN, known, "kill"], options=["--pymalloc", "exact"])
    assert recording.status == 128 + signal.SIGKILL
    assert closely(bytes_of(midden, recording, "floats", "leaked_bytes"), FLOATS, 0.01)


def test_small_objects_of_threads_and_fork_children_are_told_apart(record, tmp_path):
    script = tmp_path / "family.py"
    script.write_text(
        "import os, threading\n"
        "def work(): kept.append([i + 0.5 for i in range(100_000)])\n"
        "kept = []\n"
        "threads = [threading.Thread(target=work) for _ in range(3)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "if os.fork() == 0:\n"
        "    kept.clear(); work(); os._exit(0)\n"
        "os.wait()\n"
    )
    recording = record.run([DEBIAN, script], options=["--follow", "--pymalloc", "exact"])
    parent, child = sorted(recording.profiles(), key=lambda stats: -stats["small_peak_bytes"])
    assert parent["threads"] == 4
    floats = 2_390_000  # but for some that a free list keeps
    assert parent["small_peak_bytes"] >= 3 * floats
    assert floats <= child["small_peak_bytes"] < 2 * floats
    assert child["small_objects"] == "exact" and child["lost_events"] == 0


@pytest.mark.parametrize("path", INTERPRETERS)
def test_with_sample_small_objects_are_counted_each(record, known, path):
    """Python makes the same objects in both runs, but for a few tables that depend on addresses."""
    same = {"PYTHONHASHSEED": "1"}
    exact = record.run([path, known], options=["--pymalloc", "exact"], env=same).stats
    sampled = record.run([path, known], options=["--sample", "--sample-seed", "7"], env=same).stats
    assert (sampled["mode"], sampled["small_objects"], sampled["sampled_blocks"]) == ("sample", "sampled", "all")
    for figure in ("allocations", "frees"):
        assert closely(sampled[figure], exact[figure], 0.001), figure
    # Its map of arenas takes 128 KiB more where their addresses happen to lie on both sides of a border.
    assert closely(sampled["allocated_bytes"], exact["allocated_bytes"], 0.02)
    assert closely(sampled["reallocations"], exact["reallocations"], 0.02)
    assert (sampled["foreign_frees"], sampled["lost_events"]) == (0, 0)


def test_with_sample_small_objects_have_the_weights_of_all_blocks(record, midden, known):
    """The mean of some runs is within three of its standard deviations of what the script holds, and most runs are
    within their own intervals."""
    truth = record.run([DEBIAN, known, "die"], options=["--pymalloc", "exact"]).stats["peak_bytes"]
    found, inside = [], 0
    for seed in range(1, 9):
        recording = record.run([DEBIAN, known, "die"], options=["--sample=16K", "--sample-seed", str(seed)])
        assert recording.status == 128 + signal.SIGKILL
        found.append(bytes_of(midden, recording, "floats"))
        stats = recording.stats
        inside += stats["peak_bytes_low"] <= truth <= stats["peak_bytes_high"]
    deviation = FLOATS * (16384 / FLOATS) ** 0.5  # of one run: so many samples, each stands for 16 KiB
    assert abs(sum(found) / len(found) - FLOATS) <= 3 * deviation / len(found) ** 0.5
    assert all(abs(value - FLOATS) <= 4.5 * deviation for value in found)
    assert inside >= 6


def test_with_sample_a_small_object_that_grows_becomes_mallocs(record, tmp_path):
    """Lists begin with small tables of items and end with large ones; strings are shortened in place."""
    script = tmp_path / "growing.py"
    script.write_text("kept = []\nfor i in range(2000):\n    a = []\n    for k in range(100): a.append(None)\n    kept.append(a)\n")
    same = {"PYTHONHASHSEED": "1"}
    exact = record.run([DEBIAN, script], options=["--pymalloc", "exact"], env=same).stats
    sampled = record.run([DEBIAN, script], options=["--sample=1", "--sample-seed", "7"], env=same).stats
    for figure in ("allocations", "frees", "allocated_bytes", "reallocations", "peak_bytes", "peak_blocks"):
        assert closely(sampled[figure], exact[figure], 0.05), figure


def test_with_sample_and_off_small_objects_are_in_no_figure(record, known):
    stats = record.run([DEBIAN, known], options=["--sample", "--pymalloc", "off"]).stats
    assert stats["allocations"] < 50_000 and "small_objects" not in stats


@pytest.mark.parametrize("python", INTERPRETERS)
def test_with_sample_tracemalloc_may_stand_before_the_hooks(record, python, known):
    # So rare that the first sample, when the interpreter is looked at, comes behind tracemalloc.
    recording = record.run([python, "-X", "tracemalloc", known], options=["--sample=64M"])
    assert recording.status == 0, recording.stderr
    stats = recording.stats
    assert (stats["small_objects"], stats["foreign_frees"], stats["lost_events"]) == ("sampled", 0, 0)
    assert stats["allocations"] > 150_000


# Prints what may be run of the program itself, of midden, and of no file.
CODE = """
for line in open("/proc/self/maps"):
    span, may, *_, name = line.rstrip("\\n").split(" ", 5)
    if "x" in may and (name.strip() == "" or "python" in name or "libmidden" in name):
        print(*span.split("-"), may, name.strip() or "none")
"""


def find_code(recording):
    """(start, end, permissions) of what the program, libmidden.so and no file at all may run."""
    found = {"python": [], "libmidden": [], "none": []}
    for line in recording.stdout.decode().splitlines():
        start, end, may, name = line.split()
        kind = next(kind for kind in found if kind in name.rpartition("/")[2])
        found[kind].append((int(start, 16), int(end, 16), may))
    return found


@pytest.mark.parametrize("options", [[], ["--sample"], ["--pymalloc", "exact"]])
def test_hooks_lie_beside_an_interpreter_that_is_far_from_libraries(record, options):
    found = find_code(record.run([DEBIAN, "-c", CODE], options=options))
    if abs(found["python"][0][0] - found["libmidden"][0][0]) < 2**31:
        pytest.skip("this Python is close to libraries")
    assert [may for _, _, may in found["none"]] == ["r-xp"]
    assert 0 < found["python"][0][0] - found["none"][0][1] < 2**26


def test_where_there_are_no_hooks_nothing_is_put_beside_the_interpreter(record):
    assert find_code(record.run([DEBIAN, "-c", CODE], options=["--pymalloc", "off"]))["none"] == []


def forbid_new_code():
    """As MemoryDenyWriteExecute= of systemd does: what was written to is never run."""
    if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) != 0:  # PR_SET_MDWE, from Linux 6.3 on
        os._exit(77)


@pytest.mark.parametrize("options", [[], ["--sample"]])
def test_where_no_code_may_be_made_small_objects_are_sampled_too(record, known, options):
    recording = record.run([DEBIAN, "-c", CODE], options=options, preexec_fn=forbid_new_code)
    if recording.status == 77:
        pytest.skip("this kernel forbids nobody to make code")
    assert (recording.status, find_code(recording)["none"]) == (0, [])
    stats = record.run([DEBIAN, known], options=options, preexec_fn=forbid_new_code).stats
    assert (stats["small_objects"], stats["foreign_frees"], stats["lost_events"]) == ("sampled", 0, 0)
    # One sample in 512 KiB: the spread is 1.6 MB here, and this five times that.
    assert closely(stats["peak_bytes"], FLOATS + ARRAY + 150_000 * 8 + INTERPRETER, 0.75)


# Works until a handler has interrupted a copy of the hooks three times.
INTERRUPTED = """
import ctypes, sys, time
interrupt = ctypes.CDLL(sys.argv[1])
for line in open("/proc/self/maps"):
    span, may, *_, name = line.rstrip("\\n").split(" ", 5)
    if may == "r-xp" and name.strip() == "":
        interrupt.interrupt_begin(*(ctypes.c_uint64(int(end, 16)) for end in span.split("-")))
        break
else:
    sys.exit(77)
def work():
    end = time.monotonic() + 60
    while interrupt.interrupt_count() < 3 and time.monotonic() < end:
        [str(number) for number in range(1000)]
work()
print(interrupt.interrupt_count())
"""


def test_the_stack_of_a_handler_that_interrupts_a_hook_is_whole(record, midden, tmp_path):
    library = tmp_path / "interrupt.so"
    source = HERE / "interrupt.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-g", source, "-o", library], check=True)
    recording = record.run([DEBIAN, "-c", INTERRUPTED, library])
    if recording.status == 77:
        pytest.skip("this Python is close to libraries")
    assert recording.status == 0, recording.stderr
    met = int(recording.stdout)
    assert met >= 3
    stacks = [(frames, stack) for frames, stack in Stacks(midden, recording.path).all if frames[0][0] == "allocate"]
    assert sum(stack["allocations"] for _, stack in stacks) == met
    assert all("work" in [function for function, *_ in frames] for frames, _ in stacks), stacks
    assert recording.stats["truncated_stacks"] == 0
