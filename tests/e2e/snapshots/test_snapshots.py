"""Snapshots: what was live when the program, or somebody outside, asked for it to be kept.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import pty
import subprocess
import tempfile
import time

import pytest
from processes import find_collector, find_program
from recording import PEAKS, check_exact

NAMES = ["first", "second, with a name of more than one piece", ""]
BYTES = [1000, 6000, 5600]
BLOCKS = [10, 15, 11]


def report(midden, path, *options, status=0):
    done = subprocess.run([midden, "report", *options, path], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def listed(midden, path):
    return json.loads(report(midden, path, "--snapshots", "--json"))["snapshots"]


@pytest.fixture(params=("mark_moments", "mark_moments_fixed"))
def recording(request, record, need_victim):
    return record.victim(need_victim(request.param))


def test_a_program_keeps_what_is_live_between_two_of_its_events(midden, recording):
    kept = listed(midden, recording.path)
    assert recording.status == 0 and recording.truth.notes[0] == 1
    assert [s["name"] for s in kept] == NAMES
    assert [s["live_bytes"] for s in kept] == BYTES
    assert [s["live_blocks"] for s in kept] == BLOCKS
    assert [s["thread"] for s in kept] == [1, 1, 1]


def test_a_traced_recording_has_the_same_snapshots(midden, record):
    recording = record.victim("mark_moments", options=("--trace",))
    assert [s["live_bytes"] for s in listed(midden, recording.path)] == BYTES


def test_without_midden_the_program_runs_unchanged(native):
    done = subprocess.run(native.command("mark_moments"), capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_tree_at_a_snapshot_is_exactly_what_was_live(midden, record):
    path = record.victim("mark_moments").path
    for number, (name, bytes_) in enumerate(zip(NAMES, BYTES), 1):
        by_number = json.loads(report(midden, path, "--snapshot", str(number), "--json"))
        assert by_number["counted_bytes"] == bytes_
        if name:
            assert json.loads(report(midden, path, "--snapshot", name, "--json"))["counted_bytes"] == bytes_
    text = report(midden, path, "--snapshot", "2")
    assert "make_large" in text and "make_small" in text
    assert "make_large" not in report(midden, path, "--snapshot", "first")


def test_deltas_show_what_grew_and_what_shrank(midden, record):
    path = record.victim("mark_moments").path
    text = report(midden, path, "--snapshot-deltas")
    first, _, second = text.partition("snapshot 2")[2].partition("from snapshot 2")
    assert "make_large" in first and "make_small" not in first
    assert "make_small" in second and "make_large" not in second and "What shrank" in second
    whole = report(midden, path, "--snapshot-deltas=cumulative")
    assert "make_large" in whole and "make_small" in whole


def test_the_list_shows_changes(midden, record):
    text = report(midden, record.victim("mark_moments").path, "--snapshots")
    assert "+4.88 KiB" in text and "-400 B" in text and "with a name of more than one piece" in text


@pytest.mark.parametrize("name", ("nonesuch", "0", "4", "-1"))
def test_a_snapshot_that_is_not_there_is_told_in_one_line(midden, record, name):
    complaint = report(midden, record.victim("mark_moments").path, f"--snapshot={name}", status=1)
    assert complaint.count("\n") == 1 and "snapshot" in complaint


def test_a_profile_without_snapshots_says_so(midden, record):
    path = record.victim("basic_heap").path
    assert "There are no snapshots." in report(midden, path, "--snapshots")
    assert report(midden, path, "--snapshot", "1", status=1).count("\n") == 1
    assert report(midden, path, "--snapshot-deltas", status=1).count("\n") == 1


# From outside


def snapshot(midden, pid, *arguments):
    return subprocess.run([midden, "snapshot", str(pid), *arguments], capture_output=True, text=True)


def wait_until_ready(process):
    assert process.stdout.readline() == b"ready\n"


def take_when_it_listens(midden, pid, *arguments):
    deadline = time.monotonic() + 120
    done = snapshot(midden, pid, *arguments)
    while done.returncode and time.monotonic() < deadline:
        time.sleep(0.02)
        done = snapshot(midden, pid, *arguments)
    return done


def child_of(pid):
    """The program that a recorder runs."""
    children = open(f"/proc/{pid}/task/{pid}/children").read().split()
    return next(int(child) for child in children if "mark_moments" in os.readlink(f"/proc/{child}/exe"))


def test_somebody_outside_can_ask_too(midden, record):
    running = record.start_victim("mark_moments", "wait")
    wait_until_ready(running.process)
    pid = child_of(running.process.pid)
    done = take_when_it_listens(midden, pid, "from outside")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("snapshot 1 at ") and "1000 B in 10 blocks" in done.stdout
    assert snapshot(midden, pid).stdout.startswith("snapshot 2 at ")
    recording = running.finish()
    assert recording.status == 0
    kept = listed(midden, recording.path)
    assert [s["name"] for s in kept] == ["from outside", ""]
    assert [s["live_bytes"] for s in kept] == [1000, 1000]
    assert [s["thread"] for s in kept] == [0, 0]


def test_the_recorder_may_be_asked_in_place_of_its_program(midden, record):
    running = record.start_victim("mark_moments", "wait")
    wait_until_ready(running.process)
    done = take_when_it_listens(midden, running.process.pid, "through the recorder")
    assert (done.returncode, done.stderr) == (0, "")
    recording = running.finish()
    assert [(s["name"], s["live_bytes"]) for s in listed(midden, recording.path)] == [("through the recorder", 1000)]


THREADED = """import sys, threading
end = threading.Event()
threading.Thread(target=end.wait).start()
print("ready", flush=True)
sys.stdin.readline()
end.set()
"""


def test_a_thread_stands_for_its_process(midden, record):
    running = record.start(["/usr/bin/python3", "-c", THREADED])
    wait_until_ready(running.process)
    assert take_when_it_listens(midden, running.process.pid, "by process").returncode == 0
    program = find_program(running.process.pid, "python3")
    thread = next(tid for tid in os.listdir(f"/proc/{program}/task") if int(tid) != program)
    done = snapshot(midden, int(thread), "by thread")
    assert done.returncode == 0, done.stderr
    assert [s["name"] for s in listed(midden, running.finish(input=b"\n").path)] == ["by process", "by thread"]


@pytest.mark.parametrize("command", ("snapshot", "leaks", "top"))
def test_a_collector_that_is_asked_for_names_the_process_that_it_records(midden, record, command):
    running = record.start_victim("mark_moments", "wait")
    wait_until_ready(running.process)
    assert take_when_it_listens(midden, running.process.pid).returncode == 0
    collector, program = find_collector(running.process.pid), child_of(running.process.pid)
    done = subprocess.run([midden, command, str(collector)], capture_output=True, text=True)
    running.finish()
    assert done.returncode == 1
    assert done.stderr == f"midden: process {collector} is the collector of process {program}: ask for {program}\n"


def test_a_name_that_is_taken_is_said_and_told_by_number(midden, record):
    running = record.start_victim("mark_moments", "wait")
    wait_until_ready(running.process)
    assert take_when_it_listens(midden, running.process.pid, "same").stderr == ""
    done = snapshot(midden, running.process.pid, "same")
    assert done.returncode == 0 and done.stdout.startswith("snapshot 2 at ")
    assert "1 earlier snapshot is called same too" in done.stderr and done.stderr.count("\n") == 1
    assert snapshot(midden, running.process.pid).stderr == "" == snapshot(midden, running.process.pid).stderr
    path = running.finish().path
    assert "2 snapshots are called same, number 1 the first and 2 the last" in report(
        midden, path, "--snapshot", "same", status=1
    )
    assert "1000 B" in report(midden, path, "--snapshot", "2")


def test_record_tells_the_process_id_when_asked_to(record):
    loud = record.victim("mark_moments", options=("-v",))
    assert f"midden: recording process {loud.stats['pid']}\n" in loud.stderr
    assert "recording process" not in record.victim("mark_moments").stderr


def test_record_tells_the_process_id_on_a_terminal(midden, native, tmp_path):
    controller, terminal = pty.openpty()
    command = [midden, "record", "-o", tmp_path / "x.mdn", *native.command("mark_moments")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal)
    os.close(terminal)
    said = b""
    while b"wrote " not in said:
        said += os.read(controller, 4096)
    assert process.wait() == 0
    os.close(controller)
    assert said.startswith(b"midden: recording process ")


def test_a_preloaded_program_can_be_asked_as_well(midden, native, library, tmp_path):
    path = tmp_path / "preloaded.mdn"
    environment = {**os.environ, "LD_PRELOAD": library, "MIDDEN_OUTPUT": str(path)}
    process = subprocess.Popen(
        [*native.command("mark_moments", "wait")], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    wait_until_ready(process)
    done = take_when_it_listens(midden, process.pid, "x")
    assert done.returncode == 0, done.stderr
    process.communicate()
    deadline = time.monotonic() + 120
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [s["name"] for s in listed(midden, path)] == ["x"]


def write(midden, pid, path):
    return subprocess.run([midden, "snapshot", "--write", path, str(pid)], capture_output=True, text=True)


def stats_of(midden, path):
    return json.loads(subprocess.run([midden, "stats", "--json", path], capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("asked", ("program", "recorder"))
@pytest.mark.parametrize("options", ((), ("--trace",)))
def test_a_profile_of_a_running_program_can_be_written(midden, record, tmp_path, asked, options):
    running = record.start_victim("mark_moments", "wait", options=options)
    wait_until_ready(running.process)
    program = child_of(running.process.pid)
    take_when_it_listens(midden, program, "before")
    path = tmp_path / "so-far.mdn"
    done = write(midden, program if asked == "program" else running.process.pid, path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert path.stat().st_mode & 0o777 == 0o600
    assert [s["name"] for s in listed(midden, path)] == ["before"]
    so_far = stats_of(midden, path)
    assert (so_far["end"], so_far["pid"], so_far["exit_code"]) == ("abandoned", program, None)
    assert (so_far["leaked_bytes"], so_far["leaked_blocks"], so_far["allocations"], so_far["peak_bytes"]) == (1000, 10, 10, 1000)
    assert "make_small" in report(midden, path, "--leaks")
    # The recording has not noticed.
    recording = running.finish()
    assert (recording.status, recording.stderr) == (0, "")
    assert recording.stats["end"] == "exited" and recording.stats["lost_events"] == 0
    assert recording.stats["leaked_bytes"] == 1000 and recording.stats["allocations"] == 10
    assert [s["name"] for s in listed(midden, recording.path)] == ["before"]


def test_a_recording_that_is_asked_for_profiles_all_the_time_stays_exact(midden, record, tmp_path):
    base = record.victim("steady_work", "3", "0").stats
    running = record.start_victim("steady_work", "3", "1000000")
    seen = [0]
    while running.process.poll() is None:
        path = tmp_path / f"state{len(seen)}.mdn"
        if write(midden, running.process.pid, path).returncode == 0:
            stats = stats_of(midden, path)
            # What is live is what came less what went, whenever one asks.
            assert stats["allocations"] - stats["frees"] == stats["leaked_blocks"] <= 3000 + base["peak_blocks"]
            assert stats["allocated_bytes"] - stats["freed_bytes"] == stats["leaked_bytes"] <= stats["peak_bytes"]
            assert stats["lost_events"] == 0 and stats["allocations"] >= seen[-1]
            seen.append(stats["allocations"])
        time.sleep(0.02)
    recording = running.finish()
    assert recording.status == 42 and len(seen) > 1
    check_exact(recording, base, but=PEAKS)


def test_a_file_that_cannot_be_written_is_told_in_one_line(midden, record, tmp_path):
    running = record.start_victim("mark_moments", "wait")
    wait_until_ready(running.process)
    pid = child_of(running.process.pid)
    take_when_it_listens(midden, pid)
    done = write(midden, pid, tmp_path / "nowhere" / "x.mdn")
    running.finish()
    assert done.returncode == 1 and "nowhere" in done.stderr and done.stderr.count("\n") == 1


def test_a_program_can_be_asked_about_from_its_first_line_on(midden, record):
    script = f'"{midden}" snapshot $$ first && "{midden}" snapshot $$ second; exit'
    recording = record.start(["/bin/sh", "-c", script]).finish()
    assert "is not being recorded" not in recording.stderr
    assert recording.status == 0
    assert recording.stdout.startswith(b"snapshot 1 at ") and b"\nsnapshot 2 at " in recording.stdout


def test_a_process_that_is_not_recorded_is_told_in_one_line(midden):
    done = snapshot(midden, os.getpid())
    assert done.returncode == 1 and "is not being recorded" in done.stderr and done.stderr.count("\n") == 1


def test_a_process_that_is_not_there_is_told_in_one_line(midden):
    process = subprocess.Popen(["true"])
    process.wait()
    done = snapshot(midden, process.pid)
    assert done.returncode == 1 and "there is no process" in done.stderr


@pytest.mark.parametrize("arguments", ((), ("x",), ("-3",), ("1", "a", "b"), ("1", "n" * 96), ("-w", "x"), ("-w", "x", "1", "a")))
def test_wrong_usage_is_told(midden, arguments):
    done = subprocess.run([midden, "snapshot", *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""


def test_another_user_may_not_ask(midden, record):
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    running = record.start_victim("mark_moments", "wait")
    wait_until_ready(running.process)
    pid = child_of(running.process.pid)
    assert take_when_it_listens(midden, pid).returncode == 0
    command = ["setpriv", "--reuid=65534", "--clear-groups", midden, "snapshot", str(pid)]
    done = subprocess.run(command, capture_output=True, text=True)
    profile = subprocess.run([*command[:5], "-w", "/dev/stdout", str(pid)], capture_output=True)
    assert profile.returncode != 0 and profile.stdout == b""
    recording = running.finish()
    assert len(listed(midden, recording.path)) == 1
    assert done.returncode != 0 and "only that user and root may ask" in done.stderr


def test_users_who_are_not_root_are_told_who_may_ask(midden, record, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        os.chmod(place, 0o777)
        command = ["setpriv", "--reuid=65534", "--clear-groups", midden, "record", "-q", "-o", f"{place}/a.mdn", "cat"]
        recorder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        recorder.stdin.write(b"ready\n")
        recorder.stdin.flush()
        wait_until_ready(recorder)
        try:
            assert take_when_it_listens(midden, recorder.pid).returncode == 0, "root may"
            command = ["setpriv", "--reuid=65533", "--clear-groups", midden, "snapshot", str(recorder.pid)]
            done = subprocess.run(command, capture_output=True, text=True)
        finally:
            recorder.communicate()
    assert done.returncode == 1 and "is recorded by another user: only that user and root may ask" in done.stderr
