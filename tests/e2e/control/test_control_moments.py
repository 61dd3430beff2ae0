"""A program directs its own recording: stop and start, clear, thresholds, figures, files.

SPDX-License-Identifier: Apache-2.0
"""

import json
import subprocess

import pytest
from recording import check_consistent, read_stats, sites_through


@pytest.fixture
def scene(record):
    def run(name, *arguments, **options):
        recording = record.victim("control_moments", name, *arguments, **options)
        assert recording.status == 0, recording.stderr
        assert recording.truth.notes[11] == 1
        check_consistent(recording.stats)
        return recording

    return run


def figures(stats, *names):
    return tuple(stats[name] for name in names)


COUNTS = ("allocations", "frees", "leaked_blocks", "leaked_bytes", "untracked_frees", "foreign_frees", "lost_events")


def test_while_stopped_known_blocks_are_seen_to_go_and_none_to_come(scene):
    stats = scene("switch").stats
    assert figures(stats, *COUNTS) == (14, 4, 10, 800, 3, 0, 0)
    assert stats["stopped_ns"] > 0 and stats["temporary_allocations"] == 0


def test_one_thread_stops_and_the_others_are_recorded(scene):
    stats = scene("thread").stats
    assert figures(stats, *COUNTS) == (21, 4, 17, 870, 3, 0, 0)
    assert stats["stopped_ns"] == 0


def test_the_last_word_holds_whether_it_was_about_one_thread_or_all(scene):
    stats = scene("last").stats
    through = sum(site["allocations"] for site in sites_through(stats, "make"))
    other = sum(site["allocations"] for site in sites_through(stats, "make_ten_each"))
    assert (through, other) == (3, 0), "of the 3 + 5 and the 7 of another thread"


def test_clear_begins_anew_with_what_is_live(midden, scene):
    recording = scene("clear")
    stats = recording.stats
    assert figures(stats, *COUNTS) == (11, 2, 9, 5400, 0, 0, 0)
    assert stats["peak_bytes"] == 5400 and stats["cleared_ns"] > 0
    done = subprocess.run([midden, "report", "--snapshots", "--json", recording.path], capture_output=True, check=True)
    assert [s["name"] for s in json.loads(done.stdout)["snapshots"]] == ["kept"]


def test_a_trace_is_not_cleared(scene):
    stats = scene("clear", options=("--trace",)).stats
    assert figures(stats, *COUNTS) == (15, 6, 9, 5400, 0, 0, 0)


@pytest.mark.parametrize("how", ("option", "variable"))
def test_a_delayed_recording_waits_for_the_program(scene, how):
    options = {"options": ("--delayed",)} if how == "option" else {"env": {"MIDDEN_START": "0"}}
    recording = scene("delayed", **options)
    assert recording.truth.notes[:2] == (0, 1)
    assert figures(recording.stats, *COUNTS) == (3, 0, 3, 30, 1, 0, 0)


def test_a_program_that_never_starts_its_delayed_recording_has_an_empty_one(scene):
    stats = scene("threshold", options=("--delayed",)).stats
    assert figures(stats, *COUNTS) == (0, 0, 0, 0, 0, 0, 0)


def test_only_blocks_beyond_the_threshold_have_a_stack(midden, scene):
    recording = scene("threshold")
    assert recording.stats["allocations"] == 15
    command = [midden, "export", "-f", "collapsed", "--figure", "calls", recording.path]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    counts = {}
    for line in lines:
        stack, count = line.rsplit(" ", 1)
        place = "none" if stack == "[no stack]" else "make" if ";make" in stack else stack
        counts[place] = counts.get(place, 0) + int(count)
    assert counts == {"none": 5 + 2, "make": 4 + 3 + 1}


def test_the_profile_so_far_is_written_when_asked_for(scene, tmp_path):
    recording = scene("write", str(tmp_path / "so_far.mdn"))
    assert recording.truth.notes[:2] == (10, 9), "written, and not written where there is no directory"
    early = read_stats(tmp_path / "so_far.mdn")
    assert figures(early, "allocations", "leaked_bytes") == (10, 1000)
    assert recording.stats["allocations"] == 15


def test_a_relative_path_is_the_programs_own(scene, tmp_path):
    recording = scene("write", "near.mdn", cwd=tmp_path)
    assert recording.truth.notes[0] == 10 and (tmp_path / "near.mdn").exists()


def test_the_profile_so_far_is_written_over_no_other_file(scene, tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("mine, all mine\n", encoding="ascii")
    recording = scene("write", str(notes))
    assert recording.truth.notes[0] == 9 and notes.read_text(encoding="ascii") == "mine, all mine\n"


def test_figures_are_those_of_the_moment_of_the_call(scene):
    notes = scene("summary").truth.notes
    made = 10 + 1 + 7  # blocks, the resized one, the other thread's
    assert notes[:3] == (10, 10, 10)
    assert notes[3] - notes[6] == 7, "the other thread's"
    assert notes[6] >= made - 7 and notes[4] - notes[5] == 70
    assert notes[5] % 304 == (6 * 100 + 300) % 304, "and what pthread_create keeps"
    assert notes[7] == 1 and notes[8] == 2 * 15 + 2 and notes[9] == 1 << 32 | 2 and notes[10] == 1


def test_blocks_of_an_own_allocator_count_as_reported(scene):
    stats = scene("report").stats
    assert figures(stats, *COUNTS) == (6, 3, 3, 30 + 10 + 10, 0, 0, 0)
    assert stats["reallocations"] == 1 and len(sites_through(stats, "report")) == stats["stacks"]


@pytest.mark.parametrize("options", ((), ("--trace",)))
def test_no_byte_of_a_pool_counts_twice(midden, scene, options):
    recording = scene("pool", options=options)
    stats = recording.stats
    assert figures(stats, *COUNTS) == (1 + 3 + 2 + 1, 7, 0, 0, 0, 0, 0)
    done = subprocess.run([midden, "report", "--snapshots", "--json", recording.path], capture_output=True, check=True)
    kept = {s["name"]: (s["live_blocks"], s["live_bytes"]) for s in json.loads(done.stdout)["snapshots"]}
    assert kept == {"full": (4, 300), "back": (1, 4096)}
    named = sites_through(stats, "nodes")
    assert sum(site["allocated_bytes"] for site in named) == 400
    assert sum(site["allocated_bytes"] for site in sites_through(stats, "take_more")) == 100


def test_threads_are_called_what_they_call_themselves(scene):
    names = [t["name"] for t in scene("name").stats["thread_list"]]
    assert names == ["accountant", "clerk of the wo"]


def test_without_midden_every_call_does_nothing(native):
    for name in ("switch", "clear", "summary", "name", "threshold", "delayed", "report", "pool"):
        done = subprocess.run(native.command("control_moments", name), capture_output=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), name
