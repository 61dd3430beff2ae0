"""A program may close, leave, limit or lose whatever it likes, before the recording or after.

SPDX-License-Identifier: Apache-2.0
"""

import os
import resource
import shlex
import signal
import subprocess
from itertools import combinations

import pytest

from faults import INJECTOR, UNSUPPORTED
from processes import wait_until
from recording import read_stats
from same import check_same

MODES = ("close", "chdir", "chroot", "newuser", "user", "nofile", "fsize", "nproc", "stack", "memory")
CLOSED = [set(some) for count in (1, 2, 3) for some in combinations((0, 1, 2), count)]


def run(command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, **options)


def preloaded(library, path):
    return {**os.environ, "LD_PRELOAD": library, "MIDDEN_OUTPUT": str(path)}


@pytest.fixture
def apart(tmp_path):
    """Runs a shell script as root of a mount namespace of its own; `*options` are further ones of unshare."""

    def start(script, *options, **more):
        return run(["unshare", "-rm", *options, "sh", "-c", script], cwd=tmp_path, **more)

    if start("mount -t tmpfs none /proc").returncode != 0:
        pytest.skip("no mount namespace can be made here")
    return start


# ---- what the program does to itself -------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_lost_when_the_program_changes_its_surroundings(record, tmp_path, mode):
    room = tmp_path / "room"
    room.mkdir()
    recording = record.victim("moved_house", mode, room)
    if recording.status == 77:
        pytest.skip("this is not allowed here")
    assert recording.status == 6, recording.stderr
    assert recording.stdout == b""
    stats, own = recording.stats, recording.truth.total
    assert (stats["lost_events"], stats["foreign_frees"]) == (0, 0)
    by_libc = stats["allocations"] - own["allocations"]  # what it keeps for the thread
    assert 0 <= by_libc <= 1
    assert (stats["frees"], stats["freed_bytes"]) == (own["frees"], own["freed_bytes"])
    assert stats["leaked_blocks"] == own["leaked_blocks"] + by_libc


@pytest.mark.parametrize("mode", ("close", "chdir", "chroot", "nofile"))
def test_nor_with_plain_preloading(native, library, tmp_path, mode):
    (tmp_path / "room").mkdir()
    path = tmp_path / "out.mdn"
    done = run(native.command("moved_house", mode, tmp_path / "room"), env=preloaded(library, "out.mdn"), cwd=tmp_path)
    if done.returncode == 77:
        pytest.skip("this is not allowed here")
    assert (done.returncode, done.stdout, done.stderr) == (6, "", "")
    wait_until(path.exists, "the profile")
    stats = read_stats(path)
    assert (stats["frees"], stats["lost_events"]) == (800, 0)


# ---- what it is started with ---------------------------------------------------------------------


def closing(descriptors):
    def close():
        for fd in descriptors:
            os.close(fd)

    return close


@pytest.mark.parametrize("closed", CLOSED, ids=lambda closed: "".join(map(str, sorted(closed))))
@pytest.mark.parametrize("how", ("record", "preload"))
def test_closed_standard_descriptors_stay_closed_and_are_not_written_to(
    midden, native, library, tmp_path, closed, how
):
    path, seen = tmp_path / "out.mdn", tmp_path / "seen"
    look = f"for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] && echo $fd; done >{seen}"
    program = ["sh", "-c", f"{look}; {native.victim('dying')} exit 300"]
    command = [midden, "record", "-q", "-o", path, "--", *program] if how == "record" else program
    process = subprocess.Popen(
        [str(word) for word in command],
        env=preloaded(library, path) if how == "preload" else None,
        cwd=tmp_path,
        preexec_fn=closing(closed),
    )
    assert process.wait(timeout=120) == 16
    wait_until(path.exists, "the profile")
    # The shell's own output is open while it looks.
    assert {int(line) for line in seen.read_text().split()} == {0, 1, 2} - closed | {1}
    assert read_stats(path)["lost_events"] == 0


@pytest.mark.parametrize("count", range(3, 16))
def test_with_hardly_a_descriptor_to_open_the_program_runs_all_the_same(midden, native, library, tmp_path, count):
    """0 to 2 are taken; the program itself needs one more."""
    path = tmp_path / "out.mdn"
    program = native.command("dying", "exit", 300)

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))

    plain = run(program, preexec_fn=limit)
    by_hand = run(program, preexec_fn=limit, env=preloaded(library, path))
    if plain.returncode == 16 and by_hand.returncode == 127:
        assert "libmidden.so" in by_hand.stderr  # the loader could not open one more file
    else:
        assert by_hand.returncode == plain.returncode
    recorded = run([midden, "record", "-q", "-o", tmp_path / "other.mdn", "--", *program], preexec_fn=limit)
    if recorded.returncode != plain.returncode:
        assert recorded.returncode in (1, 126, 127) and recorded.stderr
    elif not (tmp_path / "other.mdn").exists():
        assert recorded.stderr


@pytest.mark.parametrize("kib", (20_000, 40_000, 80_000, 200_000, 1_000_000))
def test_with_little_address_space_the_program_runs_all_the_same(midden, native, library, tmp_path, kib):
    program = native.command("dying", "exit", 300)

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (kib << 10, kib << 10))

    by_hand = run(program, preexec_fn=limit, env=preloaded(library, tmp_path / "out.mdn"))
    assert by_hand.returncode == 16, by_hand.stderr
    recorded = run([midden, "record", "-q", "-o", tmp_path / "other.mdn", "--", *program], preexec_fn=limit)
    if recorded.returncode != 16:
        assert recorded.returncode in (1, 126, 127) and recorded.stderr
    elif not (tmp_path / "other.mdn").exists():
        assert recorded.stderr


@pytest.mark.parametrize("kib", (0, 64, 4096, 65536))
def test_a_limit_on_files_is_told_or_respected(midden, native, tmp_path, kib):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, kib << 10))

    path = tmp_path / "out.mdn"
    program = native.command("dying", "exit", 300)
    done = run([midden, "record", "-o", path, "--", *program], preexec_fn=limit)
    assert done.returncode == 16
    if path.exists():
        assert read_stats(path)["allocations"] == 300
    else:
        assert "ulimit -f" in done.stderr


def test_a_soft_limit_on_files_does_not_bind_the_collector(midden, native, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))

    path = tmp_path / "out.mdn"
    done = run([midden, "record", "-o", path, "--", *native.command("dying", "exit", 300)], preexec_fn=limit)
    assert done.returncode == 16
    assert read_stats(path)["allocations"] == 300


def test_a_small_stack_is_enough(midden, native, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_STACK, (128 << 10, 128 << 10))

    path = tmp_path / "out.mdn"
    for victim in (("dying", "exit", 300), ("moved_house", "nothing")):
        plain = run(native.command(*victim), preexec_fn=limit)
        done = run([midden, "record", "-q", "-o", path, "--", *native.command(*victim)], preexec_fn=limit)
        assert (done.returncode, done.stderr) == (plain.returncode, "")
        assert read_stats(path)["lost_events"] == 0


def test_signals_that_are_ignored_or_blocked_stay_so(record, native):
    ignored = (signal.SIGCHLD, signal.SIGPIPE, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGTSTP)

    def change():
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGALRM, signal.SIGTERM})

    options = {"preexec_fn": change, "restore_signals": False, "stdin": subprocess.DEVNULL, "cwd": "/"}
    truth = {"VICTIM_TRUTH": str(record.directory / "truth")}
    check_same(record, native.command("show_state"), env=truth, **options)


def test_an_environment_beyond_measure_is_handed_on_whole(midden, native, library, tmp_path):
    many = {f"VARIABLE_{number:05}": "x" * 100 for number in range(6000)}
    program = ["/usr/bin/python3", "-c", "import os; print(sum(name[:9] == 'VARIABLE_' for name in os.environ))"]
    path = tmp_path / "out.mdn"
    env = {**many, "MIDDEN_OUTPUT": str(path), "LD_PRELOAD": library}
    by_hand = run(program, env=env, cwd=tmp_path)
    assert (by_hand.stdout, by_hand.stderr) == ("6000\n", "")
    wait_until(path.exists, "the profile, under the name in the last variable but one")
    recorded = run([midden, "record", "-q", "-o", tmp_path / "other.mdn", "--", *program], env=many)
    assert (recorded.stdout, recorded.stderr) == ("6000\n", "")


# ---- what the machine lacks ----------------------------------------------------------------------


@pytest.mark.parametrize("how", ("record", "preload"))
def test_without_proc_a_program_is_recorded(apart, midden, native, library, tmp_path, how):
    program = shlex.join(map(str, native.command("dying", "exit", 300)))
    command = (
        f"{midden} record -q -o out.mdn -- {program}"
        if how == "record"
        else f"LD_PRELOAD={library} MIDDEN_OUTPUT=out.mdn {program}"
    )
    done = apart(f"mount -t tmpfs none /proc; {command}")
    assert (done.returncode, done.stderr) == (16, "")
    wait_until((tmp_path / "out.mdn").exists, "the profile")
    stats = read_stats(tmp_path / "out.mdn")
    assert (stats["allocations"], stats["lost_events"]) == (300, 0)


def test_without_memfd_and_shm_the_segment_lies_in_tmp(apart, midden, native, tmp_path):
    if not INJECTOR.exists():
        pytest.skip("fail_nth was not built: there is no static libc")
    program = shlex.join(map(str, native.command("dying", "exit", 300)))
    inject = f"{INJECTOR} memfd_create ENOSYS 0 any report"
    done = apart(f"mount -t tmpfs -o ro none /dev/shm; {inject} {midden} record -q -o out.mdn -- {program}")
    if done.returncode == UNSUPPORTED:
        pytest.skip("the kernel does not hand system calls to another process")
    assert (done.returncode, done.stderr) == (16, "")
    assert read_stats(tmp_path / "out.mdn")["allocations"] == 300


def test_a_full_disk_is_told_and_the_profile_goes_elsewhere(apart, midden, native, tmp_path):
    (tmp_path / "disk").mkdir()
    program = shlex.join(map(str, native.command("dying", "exit", 300)))
    fill = "mount -t tmpfs -o size=16k none disk; cat /dev/zero >disk/rest 2>/dev/null"
    done = apart(f"{fill}; {midden} record -o disk/out.mdn -- {program}; echo $? >status; ls disk >left")
    assert (tmp_path / "status").read_text() == "16\n"
    (line,) = [line for line in done.stderr.splitlines() if "instead" in line]
    assert "No space left on device" in line
    elsewhere = line.split("written to ")[1].split(" instead")[0]
    try:
        assert read_stats(elsewhere)["allocations"] == 300
    finally:
        os.unlink(elsewhere)
    assert (tmp_path / "left").read_text() == "rest\n"


def test_a_directory_that_cannot_be_written_is_told_before_the_program_runs(apart, midden, tmp_path):
    (tmp_path / "disk").mkdir()
    mount = "mount -t tmpfs -o ro none disk"
    done = apart(f"{mount}; cd disk; {midden} record echo ran")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("midden: cannot write into") and len(done.stderr.splitlines()) == 1


def test_with_plain_preloading_it_runs(apart, native, library, tmp_path):
    (tmp_path / "disk").mkdir()
    program = shlex.join(map(str, native.command("dying", "exit", 300)))
    done = apart(f"mount -t tmpfs -o ro none disk; cd disk; TMPDIR={tmp_path} LD_PRELOAD={library} {program}")
    assert done.returncode == 16
