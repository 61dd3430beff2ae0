"""What malloc-tag has limits for, or gets wrong: none of it here.

SPDX-License-Identifier: Apache-2.0
"""

from tagging import read_trees


def test_a_tag_may_have_more_than_sixteen_others_inside(counted):
    trees, _ = counted("siblings")
    assert len(trees.names("many")) == 300
    assert all(trees.requested("many", f"child{i}") == 2 * (i + 1) for i in range(300))
    assert all(trees.scope("many", f"child{i}")["nTimesEnteredAndExited"] == 2 for i in range(300))
    assert trees.whole["nPushFailures"] == 0


def test_names_may_have_more_than_31_letters_and_differ_in_the_last(counted):
    trees, _ = counted("names")
    stem = "x" * 4999
    assert (trees.requested(stem + "a"), trees.requested(stem + "b")) == (20, 40)
    assert trees.scope(stem + "a")["nTimesEnteredAndExited"] == 2


def test_a_name_that_begins_another_is_another(counted):
    trees, _ = counted("names")
    assert [trees.requested(name) for name in ("FooBar", "Foo", "FooBarBaz", "Foo::Bar")] == [30, 40, 50, 120]
    assert trees.requested("") == 70


def test_tags_nest_as_deep_as_they_like(counted):
    trees, _ = counted("deep")
    assert trees.trees[0]["nTreeLevels"] == 2001
    assert trees.requested(*(f"level {i}" for i in range(2000))) == 5


def test_more_than_128_threads_have_a_tree_each(midden, counted):
    trees, recording = counted("threads")
    assert len(trees.trees) == 301
    assert all(trees.requested("work", tree=i) == 64 for i in range(1, 301))
    merged = read_trees(midden, "-m", "odd one", "-m", "/^tag/", recording.path)
    assert [tree["nThreads"] for tree in merged.trees] == [151, 150]
    assert [merged.requested("work", tree=i) for i in range(2)] == [150 * 64, 150 * 64]
    assert merged.trees[1]["manipulatedByRule"] == "Rule#0: aggregate threads odd one"
