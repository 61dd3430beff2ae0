"""`midden export`: where it writes, how it fails, how long it takes.

SPDX-License-Identifier: Apache-2.0
"""

import os
import pty
import resource
import signal
import subprocess

import pytest

FORMATS = ("collapsed", "csv", "flamegraph", "json", "mallocprofiler", "pprof", "speedscope")


def run(midden, *arguments, **options):
    command = [midden, "export", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=120, **options)


@pytest.fixture
def profile(record):
    recording = record.victim("basic_heap")
    assert recording.stats
    return recording.path


@pytest.mark.parametrize("form", FORMATS)
def test_standard_output_gets_what_a_file_gets(midden, profile, tmp_path, form):
    printed = run(midden, "-f", form, profile)
    written = run(midden, "-f", form, "-o", tmp_path / "out", profile)
    assert (printed.returncode, printed.stderr) == (0, b"")
    assert (written.returncode, written.stdout, written.stderr) == (0, b"", b"")
    assert (tmp_path / "out").read_bytes() == printed.stdout != b""


@pytest.mark.parametrize("form", FORMATS)
def test_an_export_is_the_same_each_time(midden, profile, form):
    assert run(midden, "-f", form, profile).stdout == run(midden, "-f", form, profile).stdout


def test_the_ending_tells_the_format(midden, profile, tmp_path):
    assert run(midden, "-o", tmp_path / "x.pb.gz", profile).returncode == 0
    assert (tmp_path / "x.pb.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert run(midden, "-o", tmp_path / "x.speedscope.json", profile).returncode == 0
    assert b"speedscope" in (tmp_path / "x.speedscope.json").read_bytes()[:200]
    done = run(midden, "-o", tmp_path / "x", profile)
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_binary_format_is_not_printed_on_a_terminal(midden, profile):
    controller, terminal = pty.openpty()
    try:
        done = subprocess.run(
            [midden, "export", "-f", "pprof", profile], stdout=terminal, stderr=subprocess.PIPE, timeout=120
        )
    finally:
        os.close(terminal)
        os.close(controller)
    assert done.returncode == 2
    assert b"not for terminals" in done.stderr


def limit_files():
    """Makes writing fail as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def test_a_full_disk_is_said_and_leaves_nothing(midden, profile, tmp_path):
    done = run(midden, "-f", "json", "-o", "/dev/full", profile)
    assert done.returncode == 1
    assert done.stderr.startswith(b"midden: cannot write /dev/full: ")
    done = run(
        midden,
        "-f",
        "json",
        "-o",
        tmp_path / "out.json",
        profile,
        preexec_fn=limit_files,
    )
    assert done.returncode == 1
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("out.json")] == []


def test_a_file_that_was_there_is_replaced_only_by_a_whole_one(midden, profile, tmp_path):
    out = tmp_path / "out.folded"
    out.write_text("before")
    assert run(midden, "-o", out, tmp_path / "missing.mdn").returncode == 1
    assert out.read_text() == "before"
    assert run(midden, "-o", out, profile).returncode == 0
    assert out.read_text() != "before"


def test_losses_are_said_on_standard_error(midden, profile, tmp_path):
    content = profile.read_bytes()
    (tmp_path / "cut.mdn").write_bytes(content[: len(content) - 40])
    done = run(midden, "-f", "collapsed", tmp_path / "cut.mdn")
    assert done.returncode == 1
    assert done.stderr.startswith(b"midden: ") and done.stderr.count(b"\n") == 1
    assert b"cut.mdn: damaged: " in done.stderr and done.stdout


def seconds_of(midden, form, profile, out):
    """CPU seconds of an export."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert run(midden, "-f", form, "-o", out, profile).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.alone
@pytest.mark.parametrize("form", FORMATS)
def test_many_stacks_take_seconds_and_twice_as_many_twice_as_long(midden, make_profile, tmp_path, form):
    small = make_profile("many", 100000)
    small = small.rename(tmp_path / "small.mdn")
    large = make_profile("many", 200000)
    few = many = float("inf")
    for tried in range(6):  # the least of two, and of more while the machine is uneven
        few = min(few, seconds_of(midden, form, small, tmp_path / "out"))
        many = min(many, seconds_of(midden, form, large, tmp_path / "out"))
        if tried and many < 3.2 * few + 0.2:
            break
    assert many < 20
    assert many < 3.2 * few + 0.2
