"""How deep the stacks of threads were, seen from outside by their pages.

SPDX-License-Identifier: Apache-2.0
"""

import json
import mmap
import resource
import subprocess

import pytest

P, KIB, MIB = mmap.PAGESIZE, 1 << 10, 1 << 20
SLACK = 16 * P  # what libc, the library and the frames themselves take
# Of stack_depths.c, whose head has it in words: (deepest, resident, reserved)
STACKS = {
    "deep": (1 * MIB, 1 * MIB, 4 * MIB),
    "leap": (2 * MIB, 0, 4 * MIB),
    "flat": (0, 0, 1 * MIB),
    "late": (512 * KIB, 512 * KIB, 2 * MIB),
}
FIGURES = ("stack_deepest_bytes", "stack_resident_bytes", "stack_reserved_bytes")


def figures_of(stats):
    threads = {thread["name"]: thread for thread in stats["thread_list"]}
    return {name: tuple(t[figure] for figure in FIGURES) for name, t in threads.items() if FIGURES[0] in t}


def check(found, names):
    for name in names:
        deepest, resident, reserved = STACKS[name]
        assert deepest <= found[name][0] <= deepest + SLACK, name
        assert resident <= found[name][1] <= resident + SLACK, name
        assert reserved - SLACK <= found[name][2] <= reserved, name
        assert all(value % P == 0 for value in found[name])


@pytest.mark.parametrize("mode", ((), ("--sample",)))
def test_every_stack_is_as_deep_as_it_was(record, mode):
    recording = record.victim("stack_depths", options=("--stacks", *mode))
    assert recording.status == 0
    found = figures_of(recording.stats)
    check(found, STACKS)
    deepest, resident, reserved = found["stack_depths"]
    assert 3 * MIB <= resident <= deepest <= 3 * MIB + 64 * P
    assert deepest - resident <= 2 * P  # what the kernel may leave free below the environment
    limit = resource.getrlimit(resource.RLIMIT_STACK)[0]
    if limit != resource.RLIM_INFINITY:
        assert reserved == limit


def test_a_program_that_is_killed_tells_of_the_threads_that_had_ended(midden, record):
    recording = record.victim("stack_depths", "kill", options=("--stacks",))
    assert recording.status == 128 + 9
    found = figures_of(recording.stats)
    assert set(found) == {"deep", "leap", "flat"}
    check(found, found)
    by_thread = subprocess.run(
        [midden, "report", "--by", "thread", "--allocated", "--json", recording.path], capture_output=True, check=True
    )
    assert figures_of(json.loads(by_thread.stdout)) == found


def test_who_does_not_ask_gets_those_that_are_there_at_the_end_and_tags_go_without(midden, record, tmp_path):
    found = figures_of(record.victim("stack_depths").stats)
    assert set(found) == {"stack_depths", "late"}
    check(found, ["late"])
    done = subprocess.run(
        [midden, "record", "--stacks", "--tags", "-o", tmp_path / "x.mdn", "true"], capture_output=True, text=True
    )
    assert done.returncode == 2 and "--stacks" in done.stderr
