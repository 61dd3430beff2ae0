"""`midden diff`: builds of one program with moved lines, other addresses and another optimisation level.

SPDX-License-Identifier: Apache-2.0
"""

import re

import pytest

from comparing import (
    CPP_BEFORE,
    CPP_NOW,
    LEAK_BLOCKS,
    LEAK_BYTES,
    LEAKING,
    MOVED,
    PLAIN,
    bad_files,
    build_cpp,
    record_build,
    run,
    run_json,
)


def added_up(diff):
    """(old, new) bytes and blocks of all rows and of what is unchanged."""
    rows = diff["rows"]
    return {
        f"{side}_{unit}": sum(row[f"{side}_{unit}"] for row in rows) + diff["unchanged"][unit]
        for side in ("old", "new")
        for unit in ("bytes", "blocks")
    }


def check_adds_up(diff):
    """Rows come to the stacks' sum, which is the recorder's total."""
    sums = added_up(diff)
    total = diff["totals"][diff["figure"]]
    assert sums == {name: diff["stacks"][name] for name in sums} == {name: total[name] for name in sums}


@pytest.mark.parametrize("levels", (("-O0", "-O0"), ("-O0", "-O2"), ("-O2", "-O0"), ("-O2", "-O3")), ids="".join)
@pytest.mark.parametrize("by", ("stack", "function", "module"))
def test_a_build_with_moved_lines_pairs_completely(record, tmp_path, levels, by):
    before = record_build(record, tmp_path, "before", PLAIN, levels[0])
    now = record_build(record, tmp_path, "now", MOVED, levels[1])
    for figure in ("peak", "allocated", "leaked"):
        diff = run_json("diff", "--figure", figure, "--by", by, before.path, now.path)
        check_adds_up(diff)
        assert diff["rows"] == []
        assert diff["totals"][figure]["change_bytes"] == 0


@pytest.mark.parametrize("levels", (("-O0", "-O0"), ("-O0", "-O2"), ("-O2", "-O1")), ids="".join)
@pytest.mark.parametrize("figure", ("leaked", "peak"))
def test_a_planted_leak_comes_out_on_top(record, tmp_path, levels, figure):
    before = record_build(record, tmp_path, "before", PLAIN, levels[0])
    now = record_build(record, tmp_path, "now", LEAKING, levels[1])
    diff = run_json("diff", "--figure", figure, before.path, now.path)
    check_adds_up(diff)
    top = diff["rows"][0]
    assert (top["status"], top["change_bytes"], top["change_blocks"]) == ("new", LEAK_BYTES, LEAK_BLOCKS)
    assert any(frame.startswith("hoard ") for frame in top["stack"])
    total = diff["totals"]["leaked"]
    assert (total["change_bytes"], total["change_blocks"]) == (LEAK_BYTES, LEAK_BLOCKS)


def test_a_planted_leak_is_named_by_function_line_and_tree(record, tmp_path):
    before = record_build(record, tmp_path, "before", PLAIN, "-O0")
    now = record_build(record, tmp_path, "now", LEAKING, "-O2")
    by_function = run_json("diff", "--leaks", "--by", "function", before.path, now.path)
    hoard = next(row for row in by_function["rows"] if row["function"] == "hoard")
    assert (hoard["status"], hoard["change_total_bytes"]) == ("new", LEAK_BYTES)
    check_adds_up(run_json("diff", "--leaks", "--by", "line", before.path, now.path))
    tree = run_json("diff", "--leaks", "--tree", "--top-down", before.path, now.path)
    (node,) = [node for node in tree["nodes"] if node["function"] == "hoard"]
    assert node["change_bytes"] == LEAK_BYTES
    text = run("diff", "--leaks", before.path, now.path)
    assert text.returncode == 0
    assert text.stdout.index("hoard (now.c:") > text.stdout.index("Grew")


@pytest.mark.parametrize("compiler", (("g++", "-O0"), ("g++", "-O2"), ("clang++", "-O1")), ids=" ".join)
def test_templates_lambdas_and_anonymous_functions_pair(record, tmp_path, compiler):
    before = record.run([build_cpp(tmp_path, "before", CPP_BEFORE, "g++", "-O0")])
    now = record.run([build_cpp(tmp_path, "now", CPP_NOW, *compiler)])
    assert (before.status, now.status) == (0, 0)
    diff = run_json("diff", "--allocated", before.path, now.path)
    check_adds_up(diff)
    (row,) = diff["rows"]
    assert (row["status"], row["change_bytes"], row["change_blocks"]) == ("grown", 2000 * 8, 0)
    assert "make<double>" in row["stack"][0]
    names = [row["function"] or "" for row in run_json("report", "--allocated", "--flat", now.path)["functions"]]
    assert any("{lambda" in name for name in names)
    assert [name for name in names if re.search(r"\$_|<lambda|lambda\(|'lambda|{unnamed}::operator", name)] == []


def test_stripped_builds_still_add_up(record, tmp_path):
    before = record_build(record, tmp_path, "before", PLAIN, "-O0")
    now = record_build(record, tmp_path, "now", LEAKING, "-O2", "-s")
    for by in ("stack", "function", "line", "module"):
        diff = run_json("diff", "--allocated", "--by", by, before.path, now.path)
        check_adds_up(diff)


def test_a_threshold_states_what_it_leaves_out(record, tmp_path):
    before = record_build(record, tmp_path, "before", PLAIN, "-O0")
    now = record_build(record, tmp_path, "now", LEAKING, "-O0")
    diff = run_json("diff", "--peak", "--by", "line", "-t", "100", before.path, now.path)
    shown = sum(row["change_bytes"] for row in diff["rows"])
    assert shown + diff["omitted_change_bytes"] == diff["totals"]["peak"]["change_bytes"]


def test_two_programs_are_compared_with_a_warning(record):
    one, other = record.victim("basic_heap"), record.victim("temporaries")
    assert one.stats and other.stats
    done = run("diff", one.path, other.path)
    assert done.returncode == 0
    assert done.stderr == "midden: warning: these are of two programs, basic_heap and temporaries\n"
    check_adds_up(run_json("diff", one.path, other.path))


def test_a_profile_that_cannot_be_read_gives_one_line(record, tmp_path):
    good = record.victim("basic_heap").path
    for what, bad in bad_files(tmp_path, good):
        for files in ((bad, good), (good, bad)):
            done = run("diff", *files)
            assert (done.returncode, done.stdout) == (1, ""), what
            assert done.stderr.count("\n") == 1 and str(bad) in done.stderr, done.stderr


def test_a_cut_off_profile_is_compared_and_said_to_be_damaged(record, tmp_path):
    good = record.victim("basic_heap").path
    cut = tmp_path / "cut.mdn"
    cut.write_bytes(good.read_bytes()[:-60])
    done = run("diff", good, cut)
    assert done.returncode == 1
    assert "the file is damaged" in done.stdout
    assert done.stderr.startswith(f"midden: {cut}: damaged: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    (
        ("one.mdn",),
        ("one.mdn", "two.mdn", "three.mdn"),
        ("--by", "colour", "a", "b"),
        ("--figure", "nonsense", "a", "b"),
        ("-t", "101", "a", "b"),
        ("-d", "0", "a", "b"),
        ("--tree", "--by", "module", "a", "b"),
        ("--unknown", "a", "b"),
    ),
    ids=" ".join,
)
def test_wrong_usage_is_said_and_gives_status_2(midden, arguments):
    done = run("diff", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("Try `midden diff --help`.\n")
