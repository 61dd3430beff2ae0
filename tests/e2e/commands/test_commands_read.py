"""`midden stats` and `midden report`: what they print and how they fail.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import subprocess

import pytest

FIELDS = """
    program command pid exit_code exit_signal duration_ns allocations frees allocated_bytes
    freed_bytes peak_bytes peak_blocks peak_time_ns leaked_bytes leaked_blocks temporary_allocations
    reallocations failed_allocations threads stacks mode lost_events truncated_stacks foreign_frees
    reentrant_calls own_memory_bytes rss_peak_bytes
""".split()


def run(midden, *arguments, cwd=None):
    return subprocess.run([midden, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=120)


@pytest.fixture
def profile(record):
    recording = record.victim("basic_heap")
    assert recording.stats
    return recording.path


def test_stats_as_json_has_every_field_that_scripts_rely_on(midden, profile):
    stats = json.loads(run(midden, "stats", "--json", profile).stdout)
    assert [name for name in FIELDS if name not in stats] == []
    assert (stats["program"], stats["mode"], stats["exit_code"], stats["exit_signal"]) == (
        "basic_heap",
        "exact",
        0,
        None,
    )
    assert stats["command"].endswith("basic_heap")
    assert stats["duration_ns"] > 0 and stats["rss_peak_bytes"] > 0 and stats["own_memory_bytes"] > 0


def test_stats_for_people_has_the_totals(midden, profile):
    done = run(midden, "stats", profile)
    assert done.returncode == 0
    assert "1,100" in done.stdout and "basic_heap" in done.stdout


@pytest.mark.parametrize("figure", ("--peak", "--leaks", "--allocated", "--calls", "--temporary"))
@pytest.mark.parametrize("form", ("--tree", "--flat"))
def test_a_report_names_function_file_and_line(midden, profile, figure, form):
    done = run(midden, "report", figure, form, profile)
    assert done.returncode == 0, done.stderr
    assert "main" in done.stdout or "truth_" in done.stdout
    assert "basic_heap.c" in done.stdout or "truth.h" in done.stdout


def test_a_report_of_leaks_shows_the_leaked_bytes(midden, profile):
    assert "250000" in run(midden, "report", "--leaks", "--json", profile).stdout


def test_a_report_names_demangled_functions(midden, record):
    recording = record.victim("new_forms", "objects")
    done = run(midden, "report", "--calls", recording.path)
    assert "(anonymous namespace)::objects()" in done.stdout
    assert "_Z" not in done.stdout


def test_the_newest_profile_is_the_default(midden, native, tmp_path):
    for victim in ("basic_heap", "temporaries"):
        subprocess.run([midden, "record", "-q", native.victim(victim)], cwd=tmp_path, check=True)
        for path in tmp_path.glob("midden.basic_heap.*"):
            os.utime(path, (1, 1))
    assert json.loads(run(midden, "stats", "--json", cwd=tmp_path).stdout)["program"] == "temporaries"
    assert run(midden, "report", cwd=tmp_path).returncode == 0


def test_no_profile_at_all_is_said(midden, tmp_path):
    done = run(midden, "stats", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("midden: ")


@pytest.mark.parametrize("content", (b"", b"not a profile", b"\0" * 4096), ids=("empty", "text", "zeros"))
@pytest.mark.parametrize("command", ("stats", "report"))
def test_a_file_that_is_no_profile_is_refused(midden, tmp_path, command, content):
    (tmp_path / "bad.mdn").write_bytes(content)
    done = run(midden, command, tmp_path / "bad.mdn")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("midden: ") and "bad.mdn" in done.stderr


def test_every_flipped_byte_is_noticed_or_harmless(midden, profile, tmp_path):
    content = profile.read_bytes()
    intact = json.loads(run(midden, "stats", "--json", "--no-write", profile).stdout)
    for at in range(0, len(content), max(1, len(content) // 60)):
        spoiled = bytearray(content)
        spoiled[at] ^= 0x40
        (tmp_path / "spoiled.mdn").write_bytes(spoiled)
        done = run(midden, "stats", "--json", "--no-write", tmp_path / "spoiled.mdn")
        assert done.returncode in (0, 1), f"byte {at}: {done.stderr}"
        if done.returncode == 0:
            assert json.loads(done.stdout) == intact, f"byte {at} changed a figure unnoticed"
        else:
            assert done.stderr.count("\n") == 1 and "spoiled.mdn" in done.stderr


def test_a_profile_can_be_read_after_the_program_is_gone(midden, native, tmp_path):
    victim = tmp_path / "moved"
    victim.write_bytes(native.victim("basic_heap").read_bytes())
    victim.chmod(0o755)
    subprocess.run([midden, "record", "-q", "-o", "out.mdn", victim], cwd=tmp_path, check=True)
    victim.unlink()
    done = run(midden, "report", "--peak", "--no-write", tmp_path / "out.mdn")
    assert done.returncode == 0
    assert "basic_heap.c" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    (
        ("help",),
        ("--help",),
        ("--version",),
        ("help", "record"),
        ("record", "--help"),
        ("stats", "--help"),
        ("report", "--help"),
    ),
    ids=" ".join,
)
def test_help_goes_to_standard_output(midden, arguments):
    done = run(midden, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_what_a_child_has_resident_is_not_the_parents(record):
    recording = record.run(["sh", "-c", "/usr/bin/python3 -c 'bytearray(b\"x\") * (100 << 20)'; exit 0"])
    assert 0 < recording.stats["rss_peak_bytes"] < 50 << 20
