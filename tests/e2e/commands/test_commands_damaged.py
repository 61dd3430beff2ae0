"""A profile that was cut off: every command shows what could be read of it, and fails.

SPDX-License-Identifier: Apache-2.0
"""

import json
import signal
import subprocess

import pytest

# Where the file is cut, from the first section to the last byte.
SHARES = (0.05, 0.2, 0.35, 0.5, 0.7, 0.9, 0.99, 1.0)

READERS = {
    "stats": ("stats",),
    "stats json": ("stats", "--json", "--sites", "--points"),
    "report": ("report",),
    "report json": ("report", "--json"),
    "flat report": ("report", "--flat", "--leaks"),
    "time line": ("report", "--timeline"),
    "findings": ("report", "--findings"),
    "export": ("export", "-f", "csv"),
    "pprof": ("export", "-f", "pprof"),
    "html": ("html",),
    "check": ("check", "--max-peak", "1T", "--max-lost", "1"),
    "check json": ("check", "--json", "--max-peak", "1T", "--max-lost", "1"),
}


def run(midden, *arguments):
    return subprocess.run([midden, *map(str, arguments)], capture_output=True, timeout=120)


@pytest.fixture(scope="module")
def whole(midden, native, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "whole.mdn"
    subprocess.run([midden, "record", "-q", "-o", path, native.victim("basic_heap")], check=True, timeout=120)
    return path


@pytest.fixture(scope="module")
def cuts(midden, whole):
    """The file cut off at several places: those of which something can be read, and those of which nothing."""
    content = whole.read_bytes()
    readable, useless = [], []
    for share in SHARES:
        path = whole.parent / f"cut-{share}.mdn"
        path.write_bytes(content[: int((len(content) - 1) * share)])
        shown = run(midden, "stats", path).stdout
        (readable if shown else useless).append(path)
    assert len(readable) >= 3 and useless
    return readable, useless


def check_message(done, path):
    assert done.returncode == 1, f"{path}: status {done.returncode}: {done.stderr}"
    assert done.stderr.startswith(b"midden: ") and done.stderr.count(b"\n") == 1, done.stderr
    assert path.name.encode() in done.stderr


@pytest.mark.parametrize("command", READERS.values(), ids=READERS.keys())
def test_what_can_be_read_is_shown_and_the_command_fails(midden, cuts, whole, command):
    readable, useless = cuts
    for path in readable:
        done = run(midden, *command, path)
        check_message(done, path)
        assert b": damaged: " in done.stderr
        assert done.stdout, f"{path}: nothing was shown"
        if "--json" in command:
            json.loads(done.stdout)
    for path in useless:
        done = run(midden, *command, path)
        check_message(done, path)
        assert done.stdout == b""
    done = run(midden, *command, whole)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_comparison_with_a_cut_off_profile_on_either_side_fails(midden, cuts, whole):
    for path in cuts[0]:
        for pair in ((whole, path), (path, whole)):
            done = run(midden, "diff", *pair)
            check_message(done, path)
            assert done.stdout
            limit = ("check", "--max-growth-vs", pair[0], "1000000%", pair[1])
            check_message(run(midden, *limit), path)
            assert run(midden, "check", "--allow-damaged", *limit[1:]).stderr == b""


def test_a_limit_alone_decides_where_damage_is_allowed(midden, cuts):
    for path in cuts[0]:
        done = run(midden, "check", "--allow-damaged", "--max-peak", "1T", path)
        assert (done.returncode, done.stderr) == (0, b"")


def test_what_is_written_from_a_cut_off_profile_counts_as_damaged_too(midden, cuts, whole, tmp_path):
    for path in cuts[0]:
        for command in (("merge", "-q"), ("resolve",)):
            out = tmp_path / "out.mdn"
            done = run(midden, *command, "-o", out, path)
            check_message(done, path)
            done = run(midden, "stats", "--json", out)
            check_message(done, out)
            assert json.loads(done.stdout)["damaged"]
            out.unlink()


def test_a_cut_off_profile_is_served_until_interrupted_and_then_fails(midden, cuts):
    path = cuts[0][-1]
    process = subprocess.Popen(
        [midden, "view", "--no-open", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline().startswith("http://")
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 1
    assert stderr.count("\n") == 1 and ": damaged: " in stderr


def test_wrong_usage_stays_wrong_usage(midden, cuts):
    assert run(midden, "report", "--no-such-option", cuts[0][0]).returncode == 2


@pytest.mark.parametrize("command", READERS.values(), ids=READERS.keys())
def test_a_file_of_a_directory_that_cannot_be_read_is_named_and_the_rest_shown(midden, whole, tmp_path, command):
    for name in ("a", "c"):
        (tmp_path / f"{name}.mdn").write_bytes(whole.read_bytes())
    bad = tmp_path / "b.mdn"
    for content in (b"", b"nothing of ours"):
        bad.write_bytes(content)
        done = run(midden, *command, tmp_path)
        assert done.returncode == 1 and done.stdout
        named = [line for line in done.stderr.splitlines() if line.startswith(f"midden: {bad}: ".encode())]
        assert len(named) == 1 and b"not a midden profile" in named[0]
        if "--json" in command:
            json.loads(done.stdout)
    assert run(midden, "check", "--allow-damaged", "--max-peak", "1T", tmp_path).returncode == 0


def test_a_directory_without_a_file_that_can_be_read_shows_nothing(midden, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.mdn").touch()
    done = run(midden, "report", tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (1, b"", 2)
