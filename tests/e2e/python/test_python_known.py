"""Python programs whose answers are known: what held most, in which line, and what grows.

SPDX-License-Identifier: Apache-2.0
"""

import json
import signal
import subprocess
import time

import pytest
from interpreters import DEBIAN, Stacks

MIB = 1 << 20
UNIT = 64 * MIB
OBJECT = 100  # what the head of an object takes at most

# At the peak, when text is made of both: 2 + 2 units; of the unit before nothing is left.
INTERMEDIATES = """
import sys

def read(size):
    return b"x" * size

def double(data):
    return data + data

def convert(size):
    raw = read(size)
    both = double(raw)
    del raw
    text = both.decode("ascii")
    del both
    return len(text.split("y"))

convert(int(sys.argv[1]))
"""


def report(midden, path, *options):
    done = subprocess.run([midden, "report", "--json", *options, path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def by_line(midden, path, figure):
    """Bytes by the innermost function and line of Python, for all that have a MiB or more."""
    sums = {}
    for frames, stack in Stacks(midden, path).all:
        lines = [(function, line) for function, _, line, module in frames if module == "[python]"]
        if lines:
            sums[lines[0]] = sums.get(lines[0], 0) + stack[figure]
    return {line: size for line, size in sums.items() if size >= MIB}


def first_tree(nodes):
    """Functions of the first tree of a report."""
    ends = [at for at, node in enumerate(nodes) if node["depth"] == 1][1:] or [len(nodes)]
    return [node["function"] for node in nodes[: ends[0]]]


def assert_sizes(found, wanted):
    """The same lines, each with its size and at most the head of an object more."""
    assert found.keys() == wanted.keys()
    assert all(wanted[line] <= found[line] <= wanted[line] + OBJECT for line in wanted), found


def test_large_intermediates_have_their_peak_in_the_right_lines(record, midden, tmp_path):
    script = tmp_path / "intermediates.py"
    script.write_text(INTERMEDIATES)
    recording = record.run([DEBIAN, script, UNIT], options=["--pymalloc", "off"])
    held = by_line(midden, recording.path, "peak_bytes")
    assert_sizes(held, {("double", 8): 2 * UNIT, ("convert", 14): 2 * UNIT})
    made = by_line(midden, recording.path, "allocated_bytes")
    assert UNIT <= made["read", 5] <= UNIT + OBJECT
    assert 4 * UNIT <= recording.stats["peak_bytes"] < 4 * UNIT + 16 * MIB


# A number has 8 bytes. At the peak: ones, the product, and the sum of it with ones.
ARRAYS = """
import numpy

def ones():
    return numpy.ones((1000, 500))

def scale(array):
    return array * 2.0

def total(array):
    return (array + scale(array)).sum()

kept = ones()
print(total(kept))
view = kept[10:]
"""


def test_arrays_of_numpy_are_in_the_lines_that_make_them(record, midden, tmp_path):
    if subprocess.run([DEBIAN, "-c", "import numpy"], capture_output=True).returncode != 0:
        pytest.skip("python3-numpy is not installed")
    script = tmp_path / "arrays.py"
    script.write_text(ARRAYS)
    recording = record.run([DEBIAN, script], options=["--pymalloc", "off"], env={"OPENBLAS_NUM_THREADS": "1"})
    assert recording.stdout.strip() == b"1500000.0"
    arrays = {}
    for frames, stack in Stacks(midden, recording.path).all:
        ours = [(function, line) for function, file, line, _ in frames if file == str(script)]
        if ours and stack["peak_bytes"] >= MIB:
            arrays[ours[0]] = arrays.get(ours[0], 0) + stack["peak_bytes"]
    # numpy makes the sum in place of the product, which nobody else has.
    assert_sizes(arrays, {("ones", 5): 4_000_000, ("scale", 8): 4_000_000})


# Lasts ten times as long as it took to start, so that the loop is most of it however slow the machine is.
SERVICE = """
import json, os, sys, time

requests, config = [], bytearray(1_000_000)
text = json.dumps(["x" * 2000] * 3)

def remember(number):
    requests.append(json.loads(text))

def handle(number):
    remember(number)
    return len(json.dumps({"number": number, "text": "x" * 1000}))

def serve(rounds, seconds):
    start = time.monotonic()
    for number in range(rounds):
        while time.monotonic() < start + seconds * number / rounds:
            time.sleep(0.0005)
        handle(number)

serve(1000, max(1.5, 10 * (time.time() - float(sys.argv[1]))))
os.kill(os.getpid(), 15)
"""


def test_a_list_that_leaks_in_a_loop_is_first_and_growing(record, midden, tmp_path):
    script = tmp_path / "service.py"
    script.write_text(SERVICE)
    recording = record.run([DEBIAN, script, time.time()])
    assert recording.status == 128 + signal.SIGTERM
    finding = report(midden, recording.path, "--findings")["findings"][0]
    own = finding["stack"][finding["own_frame"]]
    assert (finding["kind"], own["function"], own["line"]) == ("growing-leak", "remember", 8)
    assert 6_000_000 <= finding["bytes"] < 8_000_000
    leaks = report(midden, recording.path, "--leaks")["nodes"]
    assert "remember" in first_tree(leaks)
