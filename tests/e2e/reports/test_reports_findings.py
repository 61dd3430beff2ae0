"""What `midden report --findings` finds in programs with one habit each, and in ordinary programs.

SPDX-License-Identifier: Apache-2.0
"""

import json
import shutil
import subprocess

import pytest


def findings(midden, path):
    done = subprocess.run(
        [midden, "report", "--json", "--findings", path], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def text(midden, path, *options):
    return subprocess.run(
        [midden, "report", *options, path], capture_output=True, text=True, timeout=120
    ).stdout


def own(finding):
    return finding["stack"][finding["own_frame"]]["function"]


def only(report):
    assert len(report["findings"]) == 1, report["findings"]
    return report["findings"][0]


def test_a_leak_that_grows_is_told_from_one_that_was_made_once(midden, record):
    path = record.timely_victim("one_habit", "growing", within_s=1.6).path
    report = findings(midden, path)
    finding = only(report)
    assert (finding["kind"], own(finding)) == ("growing-leak", "forget")
    assert (finding["bytes"], finding["blocks"]) == (150_000, 1500)
    assert (report["other_leaked_bytes"], report["other_leaked_blocks"]) == (200_000, 1001)
    assert "a leak that grows: 146 KiB in 1,500 blocks" in text(midden, path)
    assert "forget" in text(midden, path, "--findings")


def test_temporary_blocks_in_a_loop(midden, record):
    finding = only(findings(midden, record.victim("one_habit", "temporary").path))
    assert (finding["kind"], own(finding)) == ("temporary", "temporary")
    assert (finding["calls"], finding["size_max"]) == (60_000, 200)


def test_arrays_that_grow_by_realloc(midden, record):
    finding = only(findings(midden, record.victim("one_habit", "regrown").path))
    assert (finding["kind"], own(finding)) == ("regrown", "regrown")
    assert (finding["calls"], finding["size_min"], finding["size_max"]) == (5_000, 32, 16_384)


def test_one_array_that_doubles_in_a_short_run(midden, record):
    path = record.victim("one_habit", "doubling").path
    finding = only(findings(midden, path))
    assert (finding["kind"], own(finding)) == ("regrown", "doubling")
    assert (finding["calls"], finding["size_max"]) == (22, 64 << 20)
    assert "blocks that grow step by step: 22 times" in text(midden, path)


def test_many_tiny_blocks(midden, record):
    finding = only(findings(midden, record.victim("one_habit", "tiny").path))
    assert (finding["kind"], own(finding)) == ("tiny-blocks", "tiny")
    assert (finding["blocks"], finding["bytes"], finding["saved_bytes"]) == (40_000, 960_000, 320_000)


def test_a_block_left_behind(midden, record):
    finding = only(findings(midden, record.timely_victim("one_habit", "left", within_s=3).path))
    assert (finding["kind"], own(finding)) == ("left-behind", "left")
    assert (finding["bytes"], finding["blocks"]) == (200_000, 1)
    assert 1.2e9 < finding["span_ns"] < 5e9


def test_a_program_without_such_habits_is_left_in_peace(midden, record):
    path = record.victim("one_habit", "quiet").path
    assert findings(midden, path)["findings"] == []
    assert "Findings" not in text(midden, path)
    assert "Nothing to report" in text(midden, path, "--findings")


@pytest.mark.parametrize(
    "command",
    (
        ("ls", "-lR", "/usr/include/linux"),
        ("grep", "-rc", "malloc", "/usr/include/linux"),
        ("sort", "/etc/services"),
        ("find", "/usr/include/linux", "-name", "*.h"),
        ("tar", "-cf", "/dev/null", "/usr/include/linux"),
        ("gzip", "-c", "/bin/bash"),
        ("openssl", "version"),
        ("curl", "--version"),
    ),
    ids=lambda command: command[0],
)
def test_ordinary_programs_are_left_in_peace(midden, record, command):
    program = shutil.which(command[0])
    if program is None:
        pytest.skip(f"{command[0]} is not installed")
    recording = record.run([program, *command[1:]])
    assert findings(midden, recording.path)["findings"] == []
