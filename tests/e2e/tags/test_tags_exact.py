"""Tags as frames of stacks, where every event is recorded or some are sampled.

SPDX-License-Identifier: Apache-2.0
"""

import json
import subprocess

import pytest


def report(midden, path, *options, status=0):
    done = subprocess.run([midden, "report", "--json", *options, path], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def by_tag(midden, path, *options):
    rows = report(midden, path, "--by", "tag", "--threshold", "0", *options)["tags"]
    return {row["tag"]: (row["self_bytes"], row["bytes"]) for row in rows}


def collapsed(midden, path):
    command = [midden, "export", "-f", "collapsed", "--figure", "allocated", path]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {tuple(line.rpartition(" ")[0].split(";")): int(line.rpartition(" ")[2]) for line in lines}


@pytest.mark.parametrize("options", ((), ("--sample=1",)), ids=("exact", "sampled"))
def test_tags_are_the_outermost_frames(midden, record, options):
    stacks = collapsed(midden, record.victim("tagged", "nest", options=options).path)
    tags = {stack[: stack.index("_start")]: count for stack, count in stacks.items()}
    assert tags == {("outer",): 1000, ("outer", "inner"): 1000}
    assert all("nest" in stack and stack.count("outer") == 1 for stack in stacks)


def test_what_is_live_belongs_to_the_tag_that_allocated_it(midden, record):
    path = record.victim("tagged", "crossing").path
    assert by_tag(midden, path, "--leaks") == {"maker": (100, 100), None: (50, 50)}
    assert by_tag(midden, path, "--allocated") == {"maker": (300, 300), None: (50, 50)}
    assert by_tag(midden, path) == {"maker": (300, 300)}


def test_the_total_of_a_tag_has_those_inside_it(midden, record):
    path = record.victim("tagged", "nest").path
    assert by_tag(midden, path, "--allocated") == {"outer": (1000, 2000), "inner": (1000, 1000)}
    text = subprocess.run([midden, "report", "--by-tag", "--allocated", path], capture_output=True, text=True).stdout
    assert [line.split()[-1] for line in text.splitlines()[-3:]] == ["tag", "inner", "outer"]


def test_a_pattern_chooses_the_stacks_inside_of_a_tag(midden, record):
    path = record.victim("tagged", "nest").path
    assert report(midden, path, "--allocated", "--tag", "inn*")["total_bytes"] == 1000
    assert report(midden, path, "--allocated", "--tag", "outer")["total_bytes"] == 2000
    missed = report(midden, path, "--allocated", "--tag", "nest", status=1)
    assert missed["total_bytes"] == 0 and missed["left_out"]["tag"]["bytes"] == 2000
    assert report(midden, path, "--allocated", "--not-module", "libc")["total_bytes"] == 2000


def test_each_thread_has_its_own_tags_and_the_same_names_are_the_same(midden, record):
    path = record.victim("tagged", "threads").path
    assert by_tag(midden, path, "--allocated")["work"] == (300 * 64, 300 * 64)


def test_of_very_many_tags_the_innermost_are_kept(midden, record):
    (stack,) = collapsed(midden, record.victim("tagged", "deep").path)
    tags = stack[: stack.index("_start")]
    assert tags == tuple(f"level_{i}" for i in range(2000 - 64, 2000))


def test_a_followed_child_has_the_tags_it_was_born_inside_of(midden, record):
    recording = record.victim("tagged", "split", options=("--follow",))
    found = [by_tag(midden, path, "--allocated") for path in recording.path.parent.glob("run1.*.mdn")]
    assert {"before": (100, 100), "outer": (0, 100)} in found
    assert {"child": (300, 300), "before": (200, 500), "outer": (400, 900)} in found


def test_visits_are_counted_in_exact_mode_too(midden, record):
    path = record.victim("tagged", "nest").path
    done = subprocess.run([midden, "tags", "--json", path], capture_output=True, text=True)
    scopes = next(tree for key, tree in json.loads(done.stdout).items() if key.startswith("tree"))["scope_tagged"]
    assert scopes["nestedScopes"]["scope_outer"]["nestedScopes"]["scope_inner"]["nTimesEnteredAndExited"] == 10
