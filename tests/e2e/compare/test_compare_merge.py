"""`midden merge`: runs, processes and ranks made one profile that every command reads.

SPDX-License-Identifier: Apache-2.0
"""

import json

import pytest

from comparing import PLAIN, bad_files, record_build, run, run_json
from recording import check_consistent, check_parts, read_stats

# What is no sum: times, and what describes the merged profile itself.
NOT_SUMMED = {"peak_time_ns", "duration_ns", "stacks", "start_unix_ns", "page_bytes", "pid", "parent_pid", "exit_code"}


def merge(out, *arguments):
    done = run("merge", "-o", out, *arguments)
    assert done.returncode == 0, done.stderr
    return read_stats(out, "--sites", "--points")


def numbers(stats):
    return {
        name: value
        for name, value in stats.items()
        if isinstance(value, int) and not isinstance(value, bool) and name not in NOT_SUMMED
    }


def test_a_merge_of_two_runs_doubles_every_total(record, tmp_path):
    runs = [record_build(record, tmp_path, "app", PLAIN, "-O1") for _ in range(2)]
    one, two = (numbers(each.stats) for each in runs)
    merged = merge(tmp_path / "both.mdn", runs[0].path, runs[1].path)
    assert numbers(merged) == {name: one[name] + two[name] for name in one}
    exact = ("allocations", "frees", "allocated_bytes", "freed_bytes", "peak_bytes", "peak_blocks", "leaked_bytes")
    assert all(merged[name] == 2 * one[name] == 2 * two[name] for name in exact)
    assert merged["stacks"] == runs[0].stats["stacks"]
    check_consistent(merged)
    check_parts(merged)
    assert [each["name"] for each in merged["inputs"]] == [str(each.path) for each in runs]
    assert merged["points"][-1]["live_bytes"] == merged["leaked_bytes"]
    assert merged["points"][-1]["allocations"] == merged["allocations"]


@pytest.mark.parametrize("mode", ("max", "mean"))
def test_the_maximum_and_the_mean_of_equal_runs_are_one_of_them(record, tmp_path, mode):
    runs = [record_build(record, tmp_path, "app", PLAIN, "-O1") for _ in range(3)]
    merged = merge(tmp_path / "merged.mdn", "--mode", mode, *(each.path for each in runs))
    one = runs[0].stats
    for name in ("allocations", "frees", "allocated_bytes", "peak_bytes", "peak_blocks", "leaked_bytes", "stacks"):
        assert merged[name] == one[name], name
    check_consistent(merged)
    check_parts(merged)


def test_each_process_keeps_its_threads_and_their_shares(record, tmp_path):
    runs = [record.victim("named_threads", "full") for _ in range(2)]
    out = tmp_path / "both.mdn"
    merged = merge(out, *(each.path for each in runs))
    check_parts(merged)
    for site in merged["sites"]:
        for name in ("allocations", "allocated_bytes", "frees", "leaked_bytes", "peak_bytes", "temporary"):
            assert sum(share[name] for share in site["threads"]) == site[name], (name, site)
    rows = run_json("report", "--calls", "--by", "thread", "-i", "work", out)["thread_list"]
    workers = [(row["name"], row["input"], row["blocks"]) for row in rows if row["blocks"]]
    assert sorted(workers) == [(f"worker-{i}", run, 10 * (i + 1)) for i in range(4) for run in range(2)]
    leaked = run_json("report", "--leaks", "--thread", "worker-3", "-i", "work", out)
    assert (leaked["total_bytes"], leaked["total_blocks"]) == (7000, 70)
    text = run("report", "--calls", "--by", "thread", out).stdout
    assert f"of {runs[0].path})" in text and f"of {runs[1].path})" in text
    usual = merge(tmp_path / "usual.mdn", "--mode", "mean", *(each.path for each in runs))
    assert len(usual["thread_list"]) == 5
    leaked = run_json("report", "--leaks", "--thread", "worker-3", "-i", "work", tmp_path / "usual.mdn")
    assert (leaked["total_bytes"], leaked["total_blocks"]) == (3500, 35)


def test_snapshots_of_all_are_kept_at_their_moments(record, tmp_path):
    runs = [record.victim("mark_moments", options=options) for options in ((), ("--trace",))]
    before = [run_json("report", "--snapshots", each.path)["snapshots"] for each in runs]
    out = tmp_path / "both.mdn"
    done = run("merge", "-o", out, *(each.path for each in runs))
    assert done.returncode == 0 and f"{runs[1].path}: its trace stays behind" in done.stderr
    assert f"{runs[0].path}: its trace" not in done.stderr
    after = run_json("report", "--snapshots", out)["snapshots"]
    left = runs[0].stats["leaked_bytes"]  # the second began when the first had ended
    assert [s["live_bytes"] for s in after] == [s["live_bytes"] for s in before[0]] + [
        s["live_bytes"] + left for s in before[1]
    ]
    assert after[0]["name"] == f"first ({runs[0].path})" and after[5]["name"] == f"({runs[1].path})"
    tree = run_json("report", "--snapshot", after[4]["name"], out)
    assert tree["counted_bytes"] == after[4]["live_bytes"]
    assert "the peaks of 2 profiles added up" in run("report", out).stdout


def test_a_followed_recording_becomes_one_profile(record, native, tmp_path):
    victim = native.victim("basic_heap")
    recording = record.run(["/bin/sh", "-c", f"{victim}; {victim}"], options=["--follow"])
    parts = sorted(tmp_path.glob("run1.*.mdn"))
    whole = [read_stats(path) for path in parts]
    assert len(whole) >= 3, recording.stderr
    merged = merge(tmp_path / "all.mdn", *parts)
    for name in ("allocations", "frees", "allocated_bytes", "freed_bytes", "peak_bytes", "leaked_bytes", "threads"):
        assert merged[name] == sum(stats[name] for stats in whole), name
    check_parts(merged)
    assert len(merged["inputs"]) == len(parts)
    assert {stats["pid"] for stats in whole} == {each["pid"] for each in merged["inputs"]}
    assert {thread["input"] for thread in merged["thread_list"]} <= set(range(len(parts)))


def test_every_command_reads_a_merged_profile(record, tmp_path):
    runs = [record.victim("cross_free", "full"), record.victim("static_objects", env={"VICTIM_MODE": "full"})]
    assert all(each.stats for each in runs)
    out = tmp_path / "merged.mdn"
    merge(out, *(each.path for each in runs))
    for command in (
        ("report",),
        ("report", "--leaks", "--flat"),
        ("stats",),
        ("diff", runs[0].path),
        ("export", "-f", "pprof", "-o", tmp_path / "x.pb.gz"),
        ("export", "-f", "collapsed", "--figure", "allocated"),
        ("export", "-f", "csv", "-o", tmp_path / "x.csv"),
        ("resolve", "-o", tmp_path / "resolved.mdn"),
        ("merge", "-o", tmp_path / "again.mdn", runs[1].path),
    ):
        done = run(*command, out)
        assert done.returncode == 0, (command, done.stderr)
    again = read_stats(tmp_path / "again.mdn")
    assert len(again["inputs"]) == 3
    text = run("stats", out).stdout
    assert "sum of 2 profiles" in text and str(runs[0].path) in text


def test_a_profile_that_cannot_be_read_gives_one_line_and_no_output(record, tmp_path):
    good = record.victim("basic_heap").path
    out = tmp_path / "out.mdn"
    for what, bad in bad_files(tmp_path, good):
        done = run("merge", "-o", out, good, bad)
        assert (done.returncode, done.stdout) == (1, ""), what
        assert done.stderr.count("\n") == 1 and str(bad) in done.stderr, done.stderr
        assert not out.exists()


def test_a_damaged_input_is_said_and_stays_known(record, tmp_path):
    good = record.victim("basic_heap").path
    cut = tmp_path / "cut.mdn"
    cut.write_bytes(record.victim("basic_heap").path.read_bytes()[:-60])
    done = run("merge", "-q", "-o", tmp_path / "out.mdn", good, cut)
    assert done.returncode == 1
    assert done.stderr.startswith(f"midden: {cut}: damaged: ") and done.stderr.count("\n") == 1
    known = run("stats", "--json", tmp_path / "out.mdn")
    assert known.returncode == 1 and json.loads(known.stdout)["damaged"]


def test_a_process_that_is_in_several_inputs_is_named(record, tmp_path):
    runs = [record.victim("basic_heap") for _ in range(2)]
    one, two = (each.path for each in runs)
    pid = runs[0].stats["pid"]
    out = tmp_path / "out.mdn"
    done = run("merge", "-q", "-o", out, one, two, one)
    assert done.returncode == 0
    assert done.stderr == f"midden: process {pid} (basic_heap) is counted more than once: it is in {one} and again in {one}\n"
    assert len(read_stats(out)["inputs"]) == 3
    merge(out, one, two)
    done = run("merge", "-q", "-o", tmp_path / "again.mdn", out, two, one)
    assert done.returncode == 0 and done.stderr.endswith("; so is 1 other\n") and done.stderr.count("\n") == 1


def test_an_output_that_cannot_be_written_gives_one_line(record):
    good = record.victim("basic_heap").path
    done = run("merge", "-o", "/nonexistent/out.mdn", good)
    assert done.returncode == 1
    assert done.stderr == "midden: cannot write /nonexistent/out.mdn: No such file or directory\n"


def test_an_input_is_never_overwritten(record):
    good = record.victim("basic_heap").path
    before = good.read_bytes()
    assert run("merge", "-o", good, good).returncode == 2
    assert good.read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    (("a.mdn",), ("-o", "out.mdn"), ("-o", "out.mdn", "--mode", "median", "a.mdn"), ("-o", "x", "--align", "end", "a")),
    ids=" ".join,
)
def test_wrong_usage_is_said_and_gives_status_2(midden, arguments, tmp_path):
    done = run("merge", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("Try `midden merge --help`.\n")


def test_a_merged_profile_has_no_process_of_its_own_in_any_json(record, tmp_path):
    part = record_build(record, tmp_path, "app", PLAIN, "-O1")
    both = tmp_path / "both.mdn"
    stats = merge(both, part.path, part.path)
    assert stats["pid"] is None and stats["parent_pid"] is None
    assert [each["pid"] for each in stats["inputs"]] == [part.stats["pid"]] * 2
    for path, pid in ((both, None), (part.path, part.stats["pid"])):
        for command in (("report", "--json"), ("report", "--flat", "--json"), ("check", "--max-peak", "1G", "--json")):
            done = run(*command, path)
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["pid"] == pid, command
    told = json.loads(run("diff", "--json", part.path, both).stdout)
    assert (told["old"]["pid"], told["new"]["pid"]) == (part.stats["pid"], None)
