"""What a program maps itself: mmap and its like, partial unmaps, moves and failures, to the byte.

SPDX-License-Identifier: Apache-2.0
"""

import json
import mmap
import subprocess

import pytest
from recording import read_stats

P = mmap.PAGESIZE
THREADS, ROUNDS = 4, 100  # of own_maps.c, whose head has all of this in words
# (maps, maps gone, bytes mapped, bytes unmapped, bytes left)
KINDS = {
    "anonymous": (408, 403, 854 * P, 827 * P, 27 * P),
    "file": (2, 1, 13 * P, 8 * P, 5 * P),
    "reserved": (2, 1, 23 * P, 3 * P, 20 * P),
    "shared": (2, 1, 14 * P, 7 * P, 7 * P),
    "break": (2, 0, 11000, 4000, 7000),
}
LEFT = {"plain": 10, "grown": 6, "moved": 3, "replaced": 8, "reserved": 20, "file": 5, "shared": 7, "work": 0}
FIELDS = ("allocations", "frees", "allocated_bytes", "freed_bytes", "leaked_bytes")


def run(midden, *words, status=0):
    done = subprocess.run([midden, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def by_kind(stats):
    return {kind["kind"]: kind for kind in stats["maps"]["kinds"]}


def check_exact(stats):
    kinds = by_kind(stats)
    assert {name: tuple(kinds[name][field] for field in FIELDS) for name in KINDS} == KINDS
    maps = stats["maps"]
    assert {field: maps[field] for field in FIELDS} == {
        field: sum(KINDS[name][i] for name in KINDS) for i, field in enumerate(FIELDS)
    }
    assert (maps["reallocations"], maps["failed_allocations"], maps["untracked_frees"]) == (3, 5, 0)
    # All that is left, and what the threads had at one time.
    least = maps["leaked_bytes"] + 2 * P
    assert least <= maps["peak_bytes"] <= least + 2 * P * (THREADS - 1)
    assert stats["lost_events"] == stats["reentrant_calls"] == 0


@pytest.fixture(scope="module")
def profile(tmp_path_factory, native):
    from recording import Recorder

    directory = tmp_path_factory.mktemp("maps")
    recording = Recorder(directory, native).victim("own_maps", str(directory / "file"), options=("--maps",))
    assert recording.status == 0, recording.stderr
    return recording


def test_every_map_is_counted_to_the_byte(profile):
    check_exact(profile.stats)


def test_figures_by_stack_are_exact_and_add_up(profile):
    stats = read_stats(profile.path, "--maps", "--sites")
    for function, pages in LEFT.items():
        sites = [site for site in stats["sites"] if any(f.startswith(function + " ") for f in site["stack"])]
        own = [site for site in sites if function != "moved" or site["kind"] != "reserved"]
        assert sum(site["leaked_bytes"] for site in own) == pages * P, function
    for name, (*_, left) in KINDS.items():
        assert sum(site["leaked_bytes"] for site in stats["sites"] if site["kind"] == name) == left
    for field in FIELDS + ("peak_bytes", "reallocations"):
        assert sum(site[field] for site in stats["sites"]) == stats["maps"][field] == stats[field]
    work = [site for site in stats["sites"] if any(f.startswith("work ") for f in site["stack"])]
    assert sum(site["allocations"] for site in work) == THREADS * ROUNDS


def test_the_figures_of_blocks_stay_as_they_are(profile, record):
    plain = record.victim("own_maps", str(profile.path.parent / "file2")).stats
    assert plain["maps"] is None
    for name in ("allocations", "frees", "allocated_bytes", "peak_bytes", "leaked_bytes", "stacks"):
        assert profile.stats[name] == plain[name]


@pytest.mark.parametrize("allocator", ("jemalloc", "tcmalloc", "mimalloc"))
def test_what_an_allocator_maps_is_counted_apart(record, need_victim, tmp_path, allocator):
    victim = need_victim(f"own_maps_{allocator}")
    stats = record.victim(victim, str(tmp_path / "file"), options=("--maps",)).stats
    check_exact(stats)
    own = by_kind(stats)["allocator"]
    assert own["allocations"] > 0 and own["allocated_bytes"] > own["freed_bytes"]


def test_samples_of_blocks_leave_maps_exact(record, tmp_path):
    check_exact(record.victim("own_maps", str(tmp_path / "file"), options=("--maps", "--sample")).stats)


def test_reports_and_exports_show_maps(midden, profile):
    text = run(midden, "report", "--maps", "--leaks", profile.path)
    assert "left mapped" in text and "grown" in text
    assert "grown" not in run(midden, "report", "--maps=file", "--leaks", profile.path)
    tree = json.loads(run(midden, "report", "--maps", "--leaks", "--json", profile.path))
    assert tree["counted_bytes"] == profile.stats["maps"]["leaked_bytes"]
    lines = run(midden, "export", "--maps", "-f", "collapsed", "--figure", "leaked", profile.path).splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == profile.stats["maps"]["leaked_bytes"]
    assert "reserved" in run(midden, "stats", profile.path).partition("Maps")[2]


def test_what_is_only_reserved_is_told_apart(midden, profile):
    told = "  of it 80.0 KiB in 1 block only reserved; --maps=anonymous, file, ... show one kind"
    assert told in run(midden, "report", "--leaks", "--maps", profile.path).splitlines()
    assert told in run(midden, "report", "--leaks", "--maps", "--flat", profile.path).splitlines()
    for words in (("--maps=reserved",), ("--maps=anonymous",), ("--maps", "-x", "reserved"), ()):
        assert "only reserved" not in run(midden, "report", "--leaks", *words, profile.path)


def test_what_was_mapped_over_time_ends_and_peaks_as_it_should(midden, profile, tmp_path):
    maps = profile.stats["maps"]
    points = json.loads(run(midden, "report", "--maps", "--timeline", "--json", profile.path))["points"]
    assert max(point["highest_bytes"] for point in points) == maps["peak_bytes"]
    assert (points[-1]["live_bytes"], points[-1]["live_blocks"]) == (maps["leaked_bytes"], maps["leaked_blocks"])
    assert [point["time_ns"] for point in points] == sorted(point["time_ns"] for point in points)
    assert "Live over time: at most" in run(midden, "report", "--maps", "--timeline", profile.path)
    blocks = json.loads(run(midden, "report", "--timeline", "--json", profile.path))["points"]
    assert blocks[-1]["live_bytes"] == profile.stats["leaked_bytes"]
    run(midden, "merge", "-o", tmp_path / "two.mdn", profile.path, profile.path)
    both = json.loads(run(midden, "report", "--maps", "--timeline", "--json", tmp_path / "two.mdn"))["points"]
    assert both[-1]["live_bytes"] == 2 * maps["leaked_bytes"]


def test_what_is_not_kept_of_maps_is_said(midden, record, profile):
    for more in (["--maps=file"], ["--maps", "-i", "main"]):
        assert "known together" in run(midden, "report", *more, "--timeline", profile.path, status=1)
    assert "not kept" in run(midden, "report", "--maps", "--by", "thread", profile.path, status=1)
    assert "anonymous, file" in run(midden, "report", "--maps=heap", profile.path, status=2)
    nothing = record.run(["/bin/true"], options=("--maps",))
    assert run(midden, "stats", nothing.path).endswith("Maps\n  none\n")
    plain = record.victim("basic_heap")
    assert "record with --maps" in run(midden, "report", "--maps", plain.path, status=1)
    assert "choose one" in run(midden, "record", "--maps", "--tags", "true", status=2)


def test_children_that_are_followed_have_maps_of_their_own(record):
    script = f"import mmap; kept = [mmap.mmap(-1, {5 * P}) for i in range(3)]"
    command = ["/bin/sh", "-c", f"/usr/bin/python3 -c '{script}'; true"]
    recording = record.run(command, options=("--maps", "--follow"))
    stats = [s for s in recording.profiles() if s["program"].startswith("python3")]
    assert len(stats) == 1
    assert by_kind(stats[0])["anonymous"]["allocated_bytes"] >= 15 * P


def test_maps_are_compared_checked_and_merged(midden, profile, tmp_path):
    both = tmp_path / "both.mdn"
    run(midden, "merge", "-q", "-o", both, profile.path, profile.path)
    merged, once = read_stats(both, "--maps", "--sites"), profile.stats["maps"]
    for field in FIELDS + ("peak_bytes", "reallocations", "failed_allocations"):
        assert merged["maps"][field] == 2 * once[field]
    for name, wanted in KINDS.items():
        assert tuple(by_kind(merged)[name][field] for field in FIELDS) == tuple(2 * n for n in wanted)
        assert sum(site["leaked_bytes"] for site in merged["sites"] if site["kind"] == name) == 2 * wanted[-1]
    rows = json.loads(run(midden, "diff", "--maps", "--leaks", "--json", profile.path, both))["rows"]
    assert sum(row["new_bytes"] - row["old_bytes"] for row in rows) == once["leaked_bytes"]
    assert "ok" in run(midden, "check", "--maps", "--max-leaked", once["leaked_bytes"], profile.path)
    done = subprocess.run([midden, "check", "--maps=file", "--max-leaked", str(5 * P - 1), profile.path], capture_output=True, text=True)
    assert done.returncode == 1 and "FAILED  leaked" in done.stdout and "file (" in done.stdout
    for mode in ("max", "mean"):
        run(midden, "merge", "-q", "--mode", mode, "-o", both, profile.path, profile.path)
        check_exact(read_stats(both))


def test_no_maps_are_no_missing_blocks(midden, record):
    nothing = record.run(["/bin/true"], options=("--maps",))
    assert "No map was recorded" in run(midden, "report", "--maps", nothing.path)
