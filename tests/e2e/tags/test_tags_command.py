"""`midden tags`: formats, merging of threads, and what it refuses.

SPDX-License-Identifier: Apache-2.0
"""

import shutil
import subprocess

import pytest
from tagging import read_trees


def run(midden, *arguments, status=0):
    done = subprocess.run([midden, "tags", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


@pytest.fixture
def nested(counted):
    return counted("nest")[1].path


def test_the_text_is_a_table_with_the_tags_as_a_tree(midden, nested):
    lines = run(midden, nested).splitlines()
    assert lines[0] == "" and lines[1].startswith("tagged (tid ")
    assert lines[2].split() == ["total", "self", "freed", "calls", "visits", "share", "tag"]
    assert [line.split()[-1] for line in lines[4:]] == ["outer", "inner"]
    assert lines[5].split()[:2] == ["1.02", "KiB"] and lines[5].endswith("      inner")


def test_small_tags_are_left_out_on_request(midden, counted):
    path = counted("siblings")[1].path
    text = run(midden, "-t", "0.6", path)
    assert "child299" in text and "child1\n" not in text and "left out" in text


def test_a_pattern_merges_the_threads_of_several_files(midden, counted):
    paths = [counted("nest")[1].path for _ in range(2)]
    merged = read_trees(midden, "-m", "tag*", *paths)
    assert len(merged.trees) == 1 and merged.trees[0]["nThreads"] == 2
    assert merged.requested("outer") == 2000
    apart = read_trees(midden, *paths)
    assert len(apart.trees) == 2 and apart.requested("outer", tree=1) == 1000


@pytest.mark.parametrize("mode", ("sum", "max", "mean"))
def test_a_merged_profile_has_the_tags_of_all(midden, counted, tmp_path, mode):
    paths = [counted("nest")[1].path for _ in range(3)]
    merged = tmp_path / "merged.mdn"
    subprocess.run([midden, "merge", "-q", "--mode", mode, "-o", merged, *paths], check=True)
    trees = read_trees(midden, merged)
    assert len(trees.trees) == (3 if mode == "sum" else 1), "threads of different processes, or of runs of one"
    for tree in range(len(trees.trees)):
        assert (trees.requested("outer", tree=tree), trees.requested("outer", "inner", tree=tree)) == (1000, 1000)


def test_graphviz_draws_the_graph(midden, counted, tmp_path):
    if not shutil.which("dot"):
        pytest.skip("Graphviz is not here")
    path = counted("handing_on")[1].path
    graph = run(midden, "-f", "dot", path)
    assert graph.count("subgraph cluster_") == 2 and "colorscheme=reds9" in graph
    assert "scope=parse" in graph and "num_malloc_self=1" in graph
    run(midden, "-o", tmp_path / "tags.svg", path)
    assert "<svg" in (tmp_path / "tags.svg").read_text() and "parse" in (tmp_path / "tags.svg").read_text()


def test_colours_follow_what_a_tag_allocates_itself(midden, nested):
    nodes = {line.split("\\n")[0]: line for line in run(midden, "-f", "dot", nested).splitlines() if "scope=" in line}
    outer = next(line for name, line in nodes.items() if "scope=outer" in name)
    assert "fillcolor=5, fontsize=16" in outer  # 1,000 of 2,000 bytes, and some more


def test_a_profile_without_tags_is_refused(midden, record):
    path = record.victim("basic_heap").path
    assert "has no tags" in run(midden, path, status=1)


@pytest.mark.parametrize(
    "arguments, message",
    (
        (("-f", "yaml"), "there is no format yaml"),
        (("-t", "101"), "101 is not a percentage"),
        (("-m", "/(/"), "("),
        (("--each",), "--each goes with -o PREFIX"),
        (("--nonsense",), "--nonsense"),
    ),
)
def test_wrong_usage_is_one_line_and_status_2(midden, arguments, message):
    told = run(midden, *arguments, status=2)
    assert message in told


def test_a_snapshot_that_is_not_there_is_an_error(midden, nested):
    assert "no snapshots" in run(midden, "-s", "9", nested, status=1)


def test_a_mode_that_does_not_exist_is_refused(midden, native):
    done = subprocess.run(
        [midden, "record", *native.command("basic_heap")],
        env={"MIDDEN_MODE": "guess"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "guess" in done.stderr
