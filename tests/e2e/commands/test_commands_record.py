"""`midden record` as a command: names, messages, statuses, signals.

SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import time

import pytest

from processes import find_program, wait_until
from recording import count_allocations, read_stats, shell_status


def run(midden, *arguments, cwd, **options):
    return subprocess.run(
        [midden, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=120, **options
    )


def test_the_default_name_has_program_and_pid(midden, native, tmp_path):
    done = run(midden, "record", native.victim("basic_heap"), cwd=tmp_path)
    assert done.returncode == 0
    (path,) = tmp_path.glob("midden.basic_heap.*.mdn")
    assert read_stats(path)["pid"] == int(path.name.split(".")[2])


def test_a_profile_is_for_its_owner_alone(midden, native, tmp_path):
    run(midden, "record", "-o", "out.mdn", native.victim("basic_heap"), cwd=tmp_path)
    assert stat.S_IMODE((tmp_path / "out.mdn").stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["out.mdn"]


def test_percent_signs_in_the_name_are_filled_in(midden, native, tmp_path):
    run(midden, "record", "-o", "a-%n-%p-%%.mdn", native.victim("basic_heap"), cwd=tmp_path)
    (path,) = tmp_path.glob("a-basic_heap-*-%.mdn")
    assert path.name.split("-")[2].isdigit()


def test_the_summary_has_maximum_leaks_allocations_and_file(midden, native, tmp_path):
    done = run(midden, "record", "-o", "out.mdn", native.victim("basic_heap"), cwd=tmp_path)
    assert done.stdout == ""
    for word in ("maximum 489 KiB", "leaked 244 KiB in 500 blocks", "1,100 allocations", "out.mdn"):
        assert word in done.stderr, done.stderr
    assert all(line.startswith("midden: ") for line in done.stderr.splitlines())


def test_quiet_means_quiet(midden, native, tmp_path):
    done = run(midden, "record", "-q", "-o", "out.mdn", native.victim("basic_heap"), cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("", "")


def test_options_of_the_program_are_its_own(midden, tmp_path):
    done = run(midden, "record", "-q", "-o", "out.mdn", "/bin/echo", "-q", "--", "--follow", cwd=tmp_path)
    assert done.stdout == "-q -- --follow\n"


def test_an_empty_place_in_the_search_path_is_the_working_directory(midden, tmp_path):
    script = tmp_path / "true"
    script.write_text("#!/bin/sh\necho mine\n")
    script.chmod(0o755)
    done = run(midden, "record", "-q", "true", cwd=tmp_path, env={**os.environ, "PATH": ":/usr/bin"})
    assert (done.returncode, done.stdout) == (0, "mine\n")


def test_without_a_search_path_the_working_directory_is_not_searched(midden, tmp_path):
    shutil.copy("/bin/true", tmp_path / "echo")
    without = {name: value for name, value in os.environ.items() if name != "PATH"}
    done = run(midden, "record", "-q", "echo", "found", cwd=tmp_path, env=without)
    assert (done.returncode, done.stdout) == (0, "found\n")


def test_children_that_were_not_recorded_are_mentioned(midden, native, tmp_path):
    done = run(midden, "record", "-o", "out.mdn", native.victim("fork_busy"), "heap", "3", cwd=tmp_path)
    assert "3 child processes were not recorded" in done.stderr


@pytest.mark.parametrize(
    "program, status",
    (("./no-such-program", 127), ("no-such-program", 127), ("/etc/passwd", 126), ("/tmp", 126)),
)
def test_a_program_that_cannot_be_started_is_reported_as_a_shell_would(midden, tmp_path, program, status):
    done = run(midden, "record", program, cwd=tmp_path)
    assert done.returncode == status
    assert done.stderr.startswith("midden: ") and program in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "arguments",
    (
        ("record",),
        ("record", "--no-such-option", "true"),
        ("record", "-o"),
        ("no-such-command",),
        ("stats", "a", "b"),
        ("report", "--depth", "x"),
        ("record", "--max-depth", "0", "true"),
        ("record", "--python", "perhaps", "true"),
    ),
)
def test_wrong_usage_is_status_2_with_a_hint(midden, tmp_path, arguments):
    done = run(midden, *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("midden: ") and done.stdout == ""


def test_a_directory_that_cannot_be_written_is_said_and_the_program_runs(midden, tmp_path):
    done = run(midden, "record", "-o", "/nonexistent/further/out.mdn", "/bin/echo", "ran", cwd=tmp_path)
    assert "/nonexistent" in done.stderr
    assert done.stdout in ("ran\n", "")


def test_a_missing_directory_is_made_but_none_above_it(midden, native, tmp_path):
    done = run(midden, "record", "-q", "-o", "made/%n.mdn", native.victim("basic_heap"), cwd=tmp_path, umask=0o027)
    assert (done.returncode, done.stderr) == (0, "")
    assert read_stats(tmp_path / "made" / "basic_heap.mdn")["allocations"] == 1100
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o750
    done = run(midden, "record", "-o", "far/away/out.mdn", "/bin/echo", "ran", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "midden: cannot write into far/away/ (No such file or directory): choose another file with -o\n"
    assert os.listdir(tmp_path) == ["made"]


@pytest.mark.parametrize(
    ("mode", "words"),
    (
        ("segv", "the program was killed by signal 11 (Segmentation fault)"),
        ("kill", "the program was killed by signal 9 (Killed)"),
        ("exit", None),
    ),
)
def test_the_summary_tells_of_a_signal_that_killed_the_program(midden, native, tmp_path, mode, words):
    done = run(midden, "record", "-o", "out.mdn", *native.command("dying", mode, 300), cwd=tmp_path)
    told = [line for line in done.stderr.splitlines() if "killed" in line]
    assert told == ([f"midden: {words}"] if words else [])


@pytest.mark.parametrize(
    "number", (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGQUIT)
)
def test_signals_are_handed_on_to_the_program(record, number):
    # Many short naps: a signal that comes just before a sleep does not cut it short.
    script = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: sys.exit(33))\nprint('ready', flush=True)\n"
        "for _ in range(500): time.sleep(0.05)"
    )
    running = record.start(["/usr/bin/python3", "-c", script])
    assert running.process.stdout.readline() == b"ready\n"
    running.process.send_signal(number)
    assert running.finish().status == 33


def test_a_signal_that_ends_the_program_ends_the_recorder_the_same_way(record):
    running = record.start_victim("dying", "forever", 0)
    wait_until(lambda: count_allocations(running), "the victim's work")
    running.process.send_signal(signal.SIGTERM)
    recording = running.finish()
    assert recording.status == 128 + signal.SIGTERM
    assert recording.stats["exit_signal"] == signal.SIGTERM


def test_a_recorder_that_is_killed_leaves_the_program_running(record):
    running = record.start_victim("steady_work", 1, 3_000_000)
    program = wait_until(lambda: find_program(running.process.pid, "steady_work"), "the victim")
    running.process.kill()
    running.process.wait()
    wait_until(lambda: not os.path.exists(f"/proc/{program}"), "the victim's end")
    total = running.finish().truth.total
    assert total["allocations"] == total["frees"] == 3_000_000


def test_stopping_and_continuing_the_program_loses_nothing(record):
    running, program = record.start_and_stop_work(2, 500_000)
    os.kill(program, signal.SIGCONT)
    with contextlib.suppress(ProcessLookupError):  # it may be done before the last of them
        for _ in range(5):
            os.kill(program, signal.SIGSTOP)
            time.sleep(0.02)
            os.kill(program, signal.SIGCONT)
    recording = running.finish()
    assert recording.status == 42
    assert (recording.stats["frees"], recording.stats["lost_events"]) == (1_000_000, 0)


def test_a_statically_linked_program_is_run_and_the_reason_for_the_missing_profile_given(midden, tmp_path):
    (tmp_path / "static.c").write_text("int main(void) { return 9; }\n")
    built = subprocess.run(["cc", "-static", "static.c", "-o", "static"], cwd=tmp_path, capture_output=True)
    if built.returncode != 0:
        pytest.skip("static programs cannot be linked here")
    done = run(midden, "record", "-o", "out.mdn", "./static", cwd=tmp_path)
    assert shell_status(done.returncode) == 9
    assert "static" in done.stderr


@pytest.mark.parametrize("way", ("whole", "relative", "beside"))
def test_a_program_is_known_by_the_link_that_started_it(midden, native, tmp_path, way):
    directory = tmp_path / "bin"
    directory.mkdir()
    program = directory / "file-of-many-names"
    shutil.copy(native.victim("basic_heap"), program)
    link = directory / "short-name"
    link.symlink_to(program.name)
    word = {"whole": str(link), "relative": "./bin/short-name", "beside": "short-name"}[way]
    env = {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}
    out = tmp_path / "out.mdn"
    subprocess.run([midden, "record", "-q", "-o", out, word], cwd=tmp_path, env=env, check=True, timeout=120)
    stats = read_stats(out)
    assert (stats["program"], stats["executable"]) == ("short-name", str(link))
    done = subprocess.run([midden, "report", "--by", "module", out], capture_output=True, text=True, timeout=120)
    assert "short-name" in done.stdout and "file-of-many-names" not in done.stdout
    assert "basic_heap.c" in subprocess.run([midden, "report", out], capture_output=True, text=True).stdout
