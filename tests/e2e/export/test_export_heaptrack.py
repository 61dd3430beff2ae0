"""heaptrack's own reader on exports of profiles with a trace: its totals are what `midden stats --json` says.

SPDX-License-Identifier: Apache-2.0
"""

import re
import subprocess

import pytest

from exporting import export, need, run

CASES = {
    "basic_heap": (),
    "realloc_chain": ("moved",),
    "temporaries": (),
    "cross_free": ("full",),
    "static_objects": (),
    "deep_stack": ("400",),
}
FIGURES = {"allocations": "allocations", "leaked": "leaked_bytes", "peak": "peak_bytes"}


@pytest.fixture(params=CASES)
def recording(request, record):
    need("heaptrack_print")
    return record.victim(request.param, *CASES[request.param], options=("--trace",))


def folded(path, figure):
    """{stack: number} of heaptrack_print, which shows bytes in full only there."""
    out = path.with_suffix(".folded")
    run("heaptrack_print", "--disable-builtin-suppressions", "--flamegraph-cost-type", figure, "-F", out, "-f", path)
    lines = (line.rpartition(" ") for line in out.read_text().splitlines())
    sums = {}
    for stack, _, number in lines:
        sums[stack] = sums.get(stack, 0) + int(number)
    return sums


def test_heaptrack_print_counts_what_we_count(recording):
    path = export(recording, "heaptrack")
    for figure, name in FIGURES.items():
        assert sum(folded(path, figure).values()) == recording.stats[name], figure
    page = run("heaptrack_print", "-f", path)
    calls = re.search(r"calls to allocation functions: (\d+)", page)[1]
    assert int(calls) == recording.stats["allocations"]


def test_heaptrack_print_finds_the_same_stacks(record):
    need("heaptrack_print")
    recording = record.victim("basic_heap", options=("--trace",))
    stacks = folded(export(recording, "heaptrack"), "leaked")
    ours = {}
    for site in recording.stats["sites"]:
        names = tuple(re.sub(r" \(.*", "", frame) for frame in reversed(site["stack"]))
        ours[names] = ours.get(names, 0) + site["leaked_bytes"]
    theirs = {}
    for stack, number in stacks.items():
        names = tuple(stack.split(";")[1:])
        theirs[names] = theirs.get(names, 0) + number
    leaks = {names: number for names, number in ours.items() if number}
    assert leaks and sorted(leaks.values()) == sorted(number for number in theirs.values() if number)


def test_temporary_is_what_heaptrack_calls_so(record):
    """A free right after an allocation of the same size and stack, whatever the block: 1,000 at once, 1,000 in
    reverse order, and 499 of the last loop, whose blocks are all of one kind."""
    need("heaptrack_print")
    recording = record.victim("temporaries", options=("--trace",))
    page = run("heaptrack_print", "-f", export(recording, "heaptrack"))
    assert int(re.search(r"temporary memory allocations: (\d+)", page)[1]) == 2499


def test_a_profile_without_a_trace_is_refused_in_one_line(record, midden):
    recording = record.victim("basic_heap")
    done = subprocess.run(
        [midden, "export", "-f", "heaptrack", recording.path], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1 and "midden record --trace" in done.stderr


def test_a_file_that_is_named_so_is_compressed(record, midden, tmp_path):
    need("heaptrack_print")
    recording = record.victim("basic_heap", options=("--trace",))
    path = tmp_path / "x.heaptrack.gz"
    run(midden, "export", "-o", path, recording.path)
    assert path.read_bytes()[:2] == b"\x1f\x8b"
    page = run("heaptrack_print", "-f", path)
    assert int(re.search(r"calls to allocation functions: (\d+)", page)[1]) == recording.stats["allocations"]
