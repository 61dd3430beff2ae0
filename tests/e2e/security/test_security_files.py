"""Profiles are private, and nobody can have them written elsewhere or listen.

Tests with a second user need root, who can become anybody.

SPDX-License-Identifier: Apache-2.0
"""

import os
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from processes import find_program, wait_until
from recording import read_stats

TIMEOUT_S = 300
OWNER, STRANGER = 12345, 12346

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")


def start(midden, *arguments, user=None, **options):
    who = {} if user is None else {"user": user, "group": user, "extra_groups": ()}
    return subprocess.Popen(
        [str(midden), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **who,
        **options,
    )


def run(midden, *arguments, **options):
    process = start(midden, *arguments, **options)
    try:
        stdout, stderr = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


@pytest.fixture
def shared(midden):
    """A directory like /tmp, and in it: all may write, each may remove only what is his."""
    try:
        run(midden, "--version", user=OWNER if os.geteuid() == 0 else None)
    except PermissionError:
        pytest.skip("other users cannot reach the command")
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        path = Path(name)
        path.chmod(0o1777)
        yield path


def test_a_profile_is_its_owners_alone_whatever_the_umask(midden, native, tmp_path):
    for options in ((), ("--trace",)):
        path = tmp_path / "out.mdn"
        done = run(midden, "record", *options, "-o", path, native.victim("basic_heap"), umask=0)
        assert done.returncode == 0, done.stderr
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    merged = tmp_path / "merged.mdn"
    assert run(midden, "merge", "-o", merged, path, path, umask=0).returncode == 0
    assert stat.S_IMODE(merged.stat().st_mode) == 0o600


@pytest.mark.parametrize("options", ((), ("--trace",)), ids=("plain", "trace"))
def test_a_link_in_the_place_of_the_profile_is_replaced_and_not_followed(midden, native, tmp_path, options):
    precious, path = tmp_path / "precious.mdn", tmp_path / "out.mdn"
    victim = native.victim("basic_heap")
    assert run(midden, "record", "-o", precious, victim).returncode == 0
    before = precious.read_bytes()
    for target in (precious, tmp_path / "not-there"):
        path.unlink(missing_ok=True)
        path.symlink_to(target)
        done = run(midden, "record", *options, "-o", path, victim)
        assert done.returncode == 0, done.stderr
        assert not path.is_symlink()
        assert read_stats(path)["allocations"] > 0
    assert precious.read_bytes() == before
    assert not (tmp_path / "not-there").exists()


def test_a_link_in_the_place_of_an_export_is_replaced_and_not_followed(midden, record, tmp_path):
    recording = record.victim("basic_heap")
    precious, path = tmp_path / "precious", tmp_path / "out.csv"
    precious.write_text("precious")
    path.symlink_to(precious)
    assert run(midden, "export", "-f", "csv", "-o", path, recording.path).returncode == 0
    assert precious.read_text() == "precious"
    assert not path.is_symlink()


@needs_root
@pytest.mark.parametrize("how", ("option", "variable"))
def test_a_file_that_a_stranger_put_there_is_not_written_to(midden, library, native, shared, how):
    path = shared / "out.mdn"
    path.write_text("")
    path.chmod(0o666)
    os.chown(path, STRANGER, STRANGER)
    program = native.victim("basic_heap")
    if how == "option":
        done = run(midden, "record", "-o", path, program, user=OWNER, cwd=shared)
        assert done.returncode == 0
        assert "written to /tmp/" in done.stderr and "instead" in done.stderr
        places = [line.split("wrote ")[1].split(";")[0] for line in done.stderr.splitlines() if "wrote" in line]
        assert len(places) == 1
        assert stat.S_IMODE(os.stat(places[0]).st_mode) == 0o600
        os.unlink(places[0])
    else:
        env = {**os.environ, "LD_PRELOAD": library, "MIDDEN_OUTPUT": str(path)}
        assert run(program, user=OWNER, cwd=shared, env=env).returncode == 0
    assert path.read_text() == ""
    assert path.stat().st_uid == STRANGER


@needs_root
def test_a_pipe_that_a_stranger_put_there_gets_nothing(midden, native, shared):
    path = shared / "out.mdn"
    os.mkfifo(path)
    path.chmod(0o666)
    os.chown(path, STRANGER, STRANGER)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    done = run(midden, "record", "-o", path, native.victim("basic_heap"), user=OWNER, cwd=shared)
    assert done.returncode == 0
    assert "Operation not permitted" in done.stderr
    assert os.read(reader, 1) == b""
    os.close(reader)
    place = done.stderr.split("wrote ")[1].split(";")[0]
    os.unlink(place)


def test_a_pipe_of_ones_own_gets_the_profile(midden, native, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    process = start(midden, "record", "-q", "-o", path, native.victim("basic_heap"))
    got = path.read_bytes()
    assert process.wait(TIMEOUT_S) == 0
    kept = tmp_path / "kept.mdn"
    kept.write_bytes(got)
    assert read_stats(kept)["allocations"] > 0


def find_socket(pid):
    environment = dict(
        entry.split("=", 1) for entry in open(f"/proc/{pid}/environ").read().split("\0") if "=" in entry
    )
    return environment["MIDDEN_SOCKET"]


def find_segment(pid):
    with open(f"/proc/{pid}/maps") as maps:
        return [line for line in maps if "memfd:midden" in line]


def find_started(running, name):
    """The process of a program that is being recorded."""
    pid = wait_until(lambda: find_program(running.process.pid, name), "the program")
    wait_until(lambda: find_segment(pid), "the segment")
    return pid


def stop(running, pid):
    os.kill(pid, 15)
    return running.finish()


def test_the_socket_is_in_a_private_directory_that_goes_away(record):
    running = record.start(["sleep", "600"])
    pid = find_started(running, "sleep")
    path = find_socket(pid)
    status = os.stat(os.path.dirname(path))
    assert stat.S_IMODE(status.st_mode) == 0o700
    assert status.st_uid == os.geteuid()
    stop(running, pid)
    assert not os.path.exists(os.path.dirname(path))


def test_the_segment_has_no_name_that_others_could_open(record):
    running = record.start(["sleep", "600"])
    pid = find_started(running, "sleep")
    assert all("(deleted)" in line for line in find_segment(pid))
    os.kill(pid, 9)
    running.finish()


@needs_root
def test_a_stranger_can_neither_connect_nor_ask_for_a_snapshot(midden, record, shared):
    running = record.start(["sleep", "600"])
    pid = find_started(running, "sleep")
    path = find_socket(pid)
    wait_until(lambda: run(midden, "snapshot", pid, "mine").returncode == 0, "an answer")
    script = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    done = run("/usr/bin/python3", "-c", script, path, user=STRANGER)
    assert done.returncode != 0
    assert "PermissionError" in done.stderr
    for command in (("snapshot", pid, "theirs"), ("leaks", pid), ("top", "-b", "-n", 1, pid)):
        done = run(midden, *command, user=STRANGER)
        assert done.returncode == 1
        assert done.stderr == f"midden: process {pid} is recorded by another user: only that user and root may ask\n"
    recording = stop(running, pid)
    kept = run(midden, "report", "--snapshots", recording.path).stdout
    assert "mine" in kept
    assert "theirs" not in kept


@needs_root
def test_an_answer_of_a_stranger_is_not_believed(midden, shared):
    """He may take the name of a recording's socket before the collector does."""
    program = subprocess.Popen(["sleep", "600"], user=OWNER)
    name = f"\0midden-recording-{program.pid}"
    script = (
        "import os, socket, sys\n"
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "s.bind('\\0' + sys.argv[1]); s.listen(); print('ready', flush=True); s.accept()[0].recv(1)"
    )
    squatter = start("/usr/bin/python3", "-c", script, name[1:], user=STRANGER)
    try:
        assert squatter.stdout.readline() == "ready\n"
        done = run(midden, "snapshot", program.pid, user=OWNER)
        assert done.returncode == 1
        assert "recorded by another user" in done.stderr
    finally:
        squatter.kill()
        squatter.communicate()
        program.kill()
        program.wait()


def test_one_who_connects_and_says_nothing_or_nonsense_is_ignored(record):
    running = record.start(["sleep", "600"])
    pid = find_started(running, "sleep")
    path = find_socket(pid)
    for words in (b"", b"nonsense", b"midhello" + bytes(48), os.urandom(4096)):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            if words:
                client.send(words)
    recording = stop(running, pid)
    assert recording.status == 143
    assert recording.stats["program"] == "sleep"


SETUID_PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
int main(void) { free(malloc(10)); printf("%lu\\n", getauxval(AT_SECURE)); return 0; }
"""


@needs_root
def test_a_setuid_program_that_is_linked_to_the_library_starts_nothing(library, shared):
    """Or MIDDEN_COMMAND would run with its owner's rights."""
    trap, sprung, program = shared / "trap", shared / "sprung", shared / "program"
    trap.write_text(f"#!/bin/sh\ntouch {sprung}\n")
    trap.chmod(0o755)
    place = f"-Wl,-rpath,{Path(library).parent}"
    build = ["cc", "-O0", "-x", "c", "-", "-x", "none", library, place, "-o", str(program)]
    subprocess.run(build, input=SETUID_PROGRAM, text=True, check=True, timeout=TIMEOUT_S)
    env = {**os.environ, "MIDDEN_COMMAND": str(trap), "MIDDEN_OUTPUT": str(shared / "out.mdn")}
    # Without the bit the trap works, or the test would prove nothing.
    assert run(program, user=OWNER, cwd=shared, env=env).returncode == 0
    assert sprung.exists()
    sprung.unlink()
    program.chmod(0o4755)
    done = run(program, user=OWNER, cwd=shared, env=env)
    if done.stdout == "0\n":
        pytest.skip("this file system knows no setuid programs")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert not sprung.exists()
    assert not (shared / "out.mdn").exists()
