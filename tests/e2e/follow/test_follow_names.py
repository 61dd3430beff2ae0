"""Names for the profiles of followed processes: looked up one after the other, beside the program.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import signal
import subprocess

import pytest

from processes import descendants, wait_until

CHILD = """
#include <stdlib.h>
__attribute__((noinline)) void *leak_one(void) { return malloc(77); }
int main(void) { return leak_one() == 0; }
"""


@pytest.fixture(scope="module")
def child(tmp_path_factory):
    directory = tmp_path_factory.mktemp("child")
    (directory / "child.c").write_text(CHILD)
    subprocess.run(["cc", "-g", "-O1", "-o", "child", "child.c"], cwd=directory, check=True)
    return directory / "child"


def stats_of(midden, path):
    done = subprocess.run([midden, "stats", "--json", path], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def report_of(midden, path):
    done = subprocess.run([midden, "report", "--leaks", path], capture_output=True, text=True, check=True)
    return done.stdout


def test_every_process_of_a_tree_has_its_names(midden, child, tmp_path):
    script = f"for i in 1 2 3 4 5 6 7 8 9; do {child}; done"
    subprocess.run([midden, "record", "-q", "--follow", "-o", "out.mdn", "sh", "-c", script], cwd=tmp_path, check=True)
    files = [path for path in tmp_path.iterdir() if path.suffix != ".mdn"]
    assert files == []  # nor anything half written
    profiles = {path: stats_of(midden, path) for path in tmp_path.glob("*.mdn")}
    assert all(stats["resolved"] for stats in profiles.values())
    children = [path for path, stats in profiles.items() if stats["program"] == "child"]
    assert len(children) == 9
    for path in children:
        assert "leak_one" in report_of(midden, path)


def test_a_program_that_is_built_run_and_removed_has_its_names(midden, child, tmp_path):
    written = "until ls out.fresh.*.mdn; do sleep 0.01; done"
    script = f"cp {child} fresh; ./fresh; {written} >/dev/null 2>&1; rm fresh"
    command = [midden, "record", "-q", "--follow", "-o", "out.%n.mdn", "sh", "-c", script]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    (path,) = tmp_path.glob("out.fresh.*.mdn")
    assert "leak_one" in report_of(midden, path)


def test_names_can_be_left_out(midden, child, tmp_path):
    command = [midden, "record", "-q", "--follow", "--no-symbols", "-o", "out.mdn", "sh", "-c", f"{child}; {child}"]
    subprocess.run(command, cwd=tmp_path, check=True)
    profiles = [stats_of(midden, path) for path in tmp_path.glob("*.mdn")]
    assert len(profiles) >= 2 and not any(stats["resolved"] for stats in profiles)


def test_a_trace_is_not_written_twice(midden, child, tmp_path):
    command = [midden, "record", "-q", "--follow", "--trace", "-o", "out.mdn", "sh", "-c", f"{child}; {child}"]
    subprocess.run(command, cwd=tmp_path, check=True)
    children = [path for path in tmp_path.glob("*.mdn") if stats_of(midden, path)["program"] == "child"]
    assert len(children) == 2
    for path in children:
        stats = stats_of(midden, path)
        assert stats["resolved"] and stats["trace_events"] == stats["allocations"] == 1


def find_namer(recorder):
    named = [pid for pid in descendants(recorder) if name_of(pid) == "midden-names"]
    return named[0] if named else None


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def start_with_a_stopped_namer(midden, child, tmp_path, before=()):
    """A recording whose names are not looked up: three children have ended, and the program waits."""
    script = f"{child}; read line; {child}; {child}; read line; exit 0"
    command = [*before, midden, "record", "--follow", "-o", "out.mdn", "sh", "-c", script]
    recorder = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: find_namer(recorder.pid), "the process that looks up names")
    namer = find_namer(recorder.pid)
    os.kill(namer, signal.SIGSTOP)
    recorder.stdin.write("\n")
    recorder.stdin.flush()
    wait_until(lambda: len(list(tmp_path.glob("out.*.mdn"))) == 3, "the profiles of the children")
    return recorder, namer


def test_one_who_looks_up_names_and_dies_costs_no_profile(midden, child, tmp_path):
    recorder, namer = start_with_a_stopped_namer(midden, child, tmp_path)
    os.kill(namer, signal.SIGKILL)
    _, errors = recorder.communicate("\n", timeout=120)
    assert recorder.returncode == 0, errors
    profiles = [stats_of(midden, path) for path in tmp_path.glob("out*.mdn")]
    assert [stats["program"] for stats in profiles].count("child") == 3
    assert sum(stats["resolved"] for stats in profiles) >= len(profiles) - 1


def end_program(recorder, namer, tmp_path):
    recorder.stdin.close()
    wait_until(lambda: (tmp_path / "out.mdn").exists(), "the profile of the program")
    wait_until(lambda: not [pid for pid in descendants(recorder.pid) if pid != namer], "the end of the collectors")


def test_a_hangup_that_is_ignored_ends_no_look_up(midden, child, tmp_path):
    before = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh"]
    recorder, namer = start_with_a_stopped_namer(midden, child, tmp_path, before)
    end_program(recorder, namer, tmp_path)
    recorder.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        recorder.wait(0.5)
    os.kill(namer, signal.SIGCONT)
    errors = recorder.stderr.read()
    assert recorder.wait(120) == 0, errors
    assert all(stats_of(midden, path)["resolved"] for path in tmp_path.glob("out*.mdn")), errors


def test_who_does_not_want_to_wait_for_names_has_the_profiles(midden, child, tmp_path):
    recorder, namer = start_with_a_stopped_namer(midden, child, tmp_path)
    end_program(recorder, namer, tmp_path)
    recorder.send_signal(signal.SIGINT)
    errors = recorder.stderr.read()
    assert recorder.wait(120) == 0, errors
    for path in tmp_path.glob("out.*.mdn"):
        path.rename(path.with_suffix(".moved"))
    os.kill(namer, signal.SIGCONT)
    wait_until(lambda: name_of(namer) is None, "the end of the process that looks up names")
    assert list(tmp_path.glob("out.*.mdn")) == []  # it has made none anew
    assert "the symbols of 3 profiles are left to the first report on them" in errors
    for path in tmp_path.glob("out.*.moved"):
        assert "leak_one" in report_of(midden, path)
