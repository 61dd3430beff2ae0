"""Children: never hang, never spoil the parent's profile; with --follow each has its own.

SPDX-License-Identifier: Apache-2.0
"""

import os
import shutil
import subprocess

import pytest

from processes import descendants, wait_until
from recording import check_consistent, check_exact, read_stats

CHILD_MODES = ("exit", "_exit", "threads", "heap", "exec")


@pytest.mark.parametrize("mode", CHILD_MODES)
def test_forks_amid_busy_threads_do_not_hang(record, mode):
    recording = record.victim("fork_busy", mode)
    assert recording.status == 0, recording.stderr
    assert recording.stats["lost_events"] == 0
    check_consistent(recording.stats)


@pytest.mark.parametrize("mode", CHILD_MODES)
def test_followed_forks_amid_busy_threads_do_not_hang(record, mode):
    recording = record.victim("fork_busy", mode, 10, options=["--follow"])
    assert recording.status == 0, recording.stderr
    profiles = recording.profiles("fork_busy")
    assert len(profiles) == 11
    assert len({stats["pid"] for stats in profiles}) == 11


def test_children_that_are_not_followed_are_left_alone_and_mentioned(record):
    recording = record.victim("fork_busy", "heap", 7)
    assert recording.stats["children_not_recorded"] == 7
    assert len(list(recording.path.parent.glob("*.mdn"))) == 1


def test_a_followed_child_has_exactly_its_own_heap(record):
    recording = record.victim("fork_busy", "quiet", options=["--follow"])
    child, parent = sorted(
        recording.profiles("fork_busy"), key=lambda stats: stats["allocations"], reverse=True
    )
    assert (parent["allocations"], parent["allocated_bytes"], parent["leaked_blocks"]) == (5, 5000, 5)
    assert (child["allocations"], child["frees"]) == (1000, 400)
    assert (child["allocated_bytes"], child["freed_bytes"]) == (77000, 30800)
    assert (child["leaked_blocks"], child["foreign_frees"], child["lost_events"]) == (600, 0, 0)
    for stats in (child, parent):
        check_consistent(stats)


@pytest.mark.parametrize(("options", "count"), ((("--follow",), 1), (("--follow", "--keep-empty"), 3), (("--only", "idle"), 2)))
def test_children_that_did_nothing_leave_no_profile_unless_asked_for(midden, tmp_path, options, count):
    (tmp_path / "idle.c").write_text("int main(void) { return 3; }\n")
    subprocess.run(["cc", "-o", tmp_path / "idle", tmp_path / "idle.c"], check=True)
    command = [midden, "record", *options, "-o", "out.mdn", "sh", "-c", "./idle; ./idle; exit 5"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 5
    assert len(list(tmp_path.glob("out*.mdn"))) == count, done.stderr
    told = "midden: 2 processes allocated nothing and left no profile (--keep-empty writes them)\n"
    assert (told in done.stderr) == (count == 1)


MANY = "for i in 1 2 3 4 5 6 7 8 9 10; do %s; done; "


def follow_many(midden, native, tmp_path, *options, end="exit 5"):
    script = MANY % native.victim("basic_heap") + end
    command = [midden, "record", "--follow", "-o", "r/%n.%p.mdn", *options, "sh", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 5, done.stderr
    return done.stderr, len(list((tmp_path / "r").glob("*.mdn")))


def test_of_many_processes_a_few_have_lines_and_all_are_counted_with_what_shows_them(midden, native, tmp_path):
    told, count = follow_many(midden, native, tmp_path)
    last = told.splitlines()[-1]
    assert last == f"midden: wrote {count} profiles ({count - 5} of them not named above); `midden report r` shows all that are there as one"
    assert told.count("; see `midden report r/") == 5 and f"wrote r/{native.victim('basic_heap').name}" in told
    done = subprocess.run([midden, "report", "r"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "basic_heap" in done.stdout


def test_with_verbose_every_process_has_its_lines(midden, native, tmp_path):
    told, count = follow_many(midden, native, tmp_path, "-v")
    assert told.count("; see `midden report r/") == count
    assert told.splitlines()[-1] == f"midden: wrote {count} profiles; `midden report r` shows all that are there as one"


def test_a_process_with_a_warning_is_named_however_many_there_are(midden, native, tmp_path):
    deep = f"{native.victim('deep_stack')} 600 >/dev/null; exit 5"
    told, count = follow_many(midden, native, tmp_path, "--max-depth", "8", end=deep)
    assert f"({count - 6} of them not named above)" in told
    assert told.count("some events or frames were lost: see `midden stats r/deep_stack.") == 1


def test_one_process_and_quiet_recordings_have_no_line_about_all(midden, native, tmp_path):
    assert follow_many(midden, native, tmp_path, "-q")[0] == ""
    command = [midden, "record", "--follow", "-o", "one.mdn", native.victim("basic_heap")]
    assert "profiles" not in subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stderr


def test_a_fork_leaves_the_parents_figures_exact(record):
    recording = record.victim("fork_busy", "quiet")
    check_exact(recording)


@pytest.mark.parametrize("options", ((), ("--follow",)), ids=("alone", "followed"))
@pytest.mark.parametrize("mode", ("spawn", "vfork", "system"))
def test_starting_programs_beside_eight_threads_keeps_every_count(record, mode, options):
    recording = record.victim("spawn_storm", mode, "/bin/true", options=list(options))
    assert recording.status == 0, recording.stderr
    stats = recording.profiles("spawn_storm")[0] if options else recording.stats
    truth = recording.truth
    assert stats["lost_events"] == 0
    threads = {thread["serial"]: thread for thread in stats["thread_list"]}
    workers = [thread for serial, thread in threads.items() if serial != 1]
    assert len(workers) == 8
    assert all(worker["allocations"] == worker["frees"] == 200_000 for worker in workers)
    assert threads[1]["frees"] >= truth.slots[0]["frees"]


def test_a_followed_exec_loses_nothing_of_either_program(record, repeat):
    env = "/usr/bin/env"
    alone = record.run([env, "true"]).stats
    recording = record.victim("dying", "exec", 500, env, "true", options=["--follow"])
    assert recording.status == 0
    (before,) = recording.profiles("dying")
    (after,) = recording.profiles("env")
    assert before["allocations"] == recording.truth.total["allocations"]
    assert (before["end"], after["end"]) == ("exec", "exec")
    assert after["allocations"] == alone["allocations"] > 0


def test_a_followed_shell_pipeline_gives_every_program_a_profile(record, native):
    victim = native.victim("basic_heap")
    recording = record.run(["/bin/sh", "-c", f"{victim}; {victim} | cat; ({victim})"], options=["--follow"])
    profiles = recording.profiles("basic_heap")
    assert len(profiles) == 3
    assert all((stats["allocations"], stats["leaked_blocks"]) == (1100, 500) for stats in profiles)


def list_pipes(pid):
    """The pipes that a process holds an end of."""
    targets = (os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))
    return {target for target in targets if target.startswith("pipe:")}


def test_collectors_hold_no_ends_of_each_others_pipes(midden, tmp_path):
    # The recorder may go before they do: a report must then fail, and not wait for a reader.
    command = [midden, "record", "--follow", "--", "sh", "-c", "exec 3<&0; cat <&3 & cat; wait"]
    recorder = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path
    )

    def are_apart():
        below = descendants(recorder.pid)
        try:
            pipes = [list_pipes(pid) for pid, comm in below.items() if comm == "midden-collect"]
        except OSError:
            return False  # one has just ended
        started = list(below.values()).count("cat") == 2 and len(pipes) >= 3
        return started and all(pipes) and len(set.union(*pipes)) == sum(map(len, pipes))

    try:
        wait_until(are_apart, "three collectors, each with pipes of its own")
    finally:
        recorder.stdin.close()
        assert recorder.wait(60) == 0


# Its children are made one after the other, and all have the same number.
SAME_NUMBER = """
import os
def make(size, number):
    if number:
        with open("/proc/sys/kernel/ns_last_pid", "w") as last:
            last.write(str(number - 1))
    child = os.fork()
    if child == 0:
        kept = bytearray(size)
        os._exit(0)
    os.waitpid(child, 0)
    return child
first = make(1_000_000, 0)
assert make(3_000_000, first) == make(5_000_000, first) == first
"""


def test_a_child_with_the_number_of_one_that_has_ended_has_a_profile_of_its_own(midden, tmp_path):
    apart = ["unshare", "-rmpf", "--mount-proc"]  # nobody else takes numbers there
    program = ["/usr/bin/python3", "-c", SAME_NUMBER]
    if not shutil.which("unshare") or subprocess.run([*apart, *program], capture_output=True).returncode != 0:
        pytest.skip("no numbers of processes can be chosen here")
    # A process that looks up symbols would take a number, and maybe this one.
    record = [midden, "record", "-q", "--no-symbols", "--follow", "-o", tmp_path / "out.mdn", "--", *program]
    done = subprocess.run([*apart, *record], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    children = [read_stats(path) for path in tmp_path.glob("out.*.mdn")]
    assert len({stats["pid"] for stats in children}) == 1
    assert sorted(stats["peak_bytes"] // 1_000_000 for stats in children) == [1, 3, 5]
