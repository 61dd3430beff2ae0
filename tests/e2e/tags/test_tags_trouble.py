"""Tags in programs that forget to leave them, leave too many, jump, fork and die.

SPDX-License-Identifier: Apache-2.0
"""

import subprocess

from tagging import read_trees


def told(midden, path):
    done = subprocess.run([midden, "tags", path], capture_output=True, text=True)
    assert done.returncode == 0
    return done.stdout


def test_a_push_without_a_pop_is_said_and_so_is_a_pop_too_many(midden, counted):
    trees, recording = counted("unbalanced")
    assert trees.requested("open") == 10 and trees.scope("open")["nTimesNotExited"] == 1
    assert trees.whole["nUnmatchedPops"] == 3
    text = told(midden, recording.path)
    assert "(1 not left)" in text and "3 times: a pop of no tag" in text


def test_leaving_a_tag_leaves_those_that_were_jumped_out_of(counted):
    trees, _ = counted("jump")
    assert trees.requested("around", "inside", "further") == 20 and trees.requested("after") == 30
    assert trees.scope("around", "inside", "further")["nTimesNotExited"] == 0
    assert (trees.whole["nSkippedPops"], trees.whole["nUnmatchedPops"]) == (2, 1)


def test_a_killed_program_loses_no_count(counted):
    trees, recording = counted("killed")
    assert recording.status == 137
    scope = trees.scope("last")
    assert (scope["nCallsTo_malloc"], scope["nBytesSelfRequested"]) == (1000, 100000)
    assert scope["nTimesNotExited"] == 1


def test_a_signal_handler_may_enter_tags(counted):
    trees, _ = counted("interrupted")
    assert trees.requested("main") == 2000 and trees.requested("main", "handler") == 1000


def test_a_followed_child_is_inside_the_same_tags(midden, record):
    recording = record.victim("tagged", "split", options=("--tags", "--follow"))
    paths = sorted(recording.path.parent.glob("run1.*.mdn"))
    assert len(paths) == 2
    found = {read_trees(midden, path).whole["nInheritedScopes"]: read_trees(midden, path) for path in paths}
    parent, child = found[0], found[2]
    assert parent.requested("outer", "before") == 100 and parent.names("outer", "before") == []
    assert child.requested("outer", "before") == 200
    assert child.requested("outer", "before", "child") == 300
    assert child.requested("outer") == 400
    assert child.whole["nUnmatchedPops"] == child.whole["nSkippedPops"] == 0


def test_a_child_that_is_not_followed_leaves_the_counts_alone(counted):
    trees, _ = counted("split")
    assert trees.requested("outer", "before") == 100 and trees.names("outer", "before") == []
    assert trees.scope("outer", "before")["nTimesNotExited"] == 0


def test_counts_are_read_while_the_program_runs(midden, record, tmp_path):
    running = record.start(["sh", "-c", "echo ready; read line; exit 0"], options=("--tags",))
    assert running.process.stdout.readline() == b"ready\n"
    path = tmp_path / "now.mdn"
    for _ in range(600):
        done = subprocess.run([midden, "snapshot", "-w", path, str(running.process.pid)], capture_output=True)
        if done.returncode == 0:
            break
        subprocess.run(["sleep", "0.1"])
    now = read_trees(midden, path)
    running.finish(input=b"\n")
    assert now.root()["nCallsTo_malloc"] > 0
