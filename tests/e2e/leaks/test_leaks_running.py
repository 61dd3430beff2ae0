"""`midden leaks PID` looks at a process that goes on as if nothing had been; and what the command says and refuses.

SPDX-License-Identifier: Apache-2.0
"""

import json
import platform
import subprocess
from pathlib import Path

import pytest
from looking import FILTER, ask, ask_json, find_listeners, list_children, start, sums, wait_for_listener
from processes import find_program, wait_until
from recording import TIMEOUT_S
from same import check_same, free_port, need


def test_a_busy_process_is_looked_at_again_and_again_and_does_not_notice(record, midden, need_victim):
    running, pid = start(record, need_victim("lost_worker"))
    for _ in range(10):
        leaks = ask_json(midden, pid)
        assert leaks["stopped"] and not leaks["at_exit"]
        found = sums(leaks)
        assert found["definite"] == (300, 3) and found["indirect"] == (0, 0)
        assert found["reachable"][1] >= 1000
    running.process.stdin.write(b"\n")
    running.process.stdin.flush()
    assert running.process.stdout.readline() == b"calm\n"
    assert sums(ask_json(midden, pid))["definite"] == (300, 3)
    assert running.finish(input=b"\n").status == 3


def test_every_way_to_look_tells_the_same_and_nothing_of_it_stays(record, midden, need_victim):
    found = {}
    for way in ("1", "later", "now", "0"):
        # The environment is memory too.
        running, pid = start(record, need_victim("lost_shapes"), "wait", env={"MIDDEN_TWIN": way})
        for _ in range(5):
            leaks = ask_json(midden, pid)
            assert leaks["stopped"]
            assert (leaks["copied"], leaks["looked_later"]) == (way == "1", way == "later")
            assert sums(leaks) == found.setdefault("sums", sums(leaks))
            wait_until(lambda: not list_children(pid), "the copy is gone")
        assert running.finish(input=b"\n").status == 7


def test_a_process_that_somebody_else_traces_is_not_said_to_have_been_stopped(record, midden, need_victim):
    need("strace")
    running, pid = start(record, need_victim("lost_shapes"), "wait")
    tracer = subprocess.Popen(["strace", "-qq", "-e", "trace=none", "-p", str(pid)], stderr=subprocess.DEVNULL)
    status = Path(f"/proc/{pid}/status")
    wait_until(lambda: f"TracerPid:\t{tracer.pid}\n" in status.read_text(), "strace")
    told = ask(midden, pid).stdout
    leaks = ask_json(midden, pid)
    tracer.terminate()
    tracer.wait()
    running.finish(input=b"\n")
    assert "threads could not be stopped" in told and "it was stopped for" not in told
    assert not leaks["stopped"] and leaks["pause_ns"] == 0


def test_a_copy_is_nothing_to_the_program(record, midden, need_victim):
    running, pid = start(record, need_victim("lost_childless"), env={"MIDDEN_TWIN": "1"})
    recorder = running.process.pid

    def check_childless():
        for _ in range(5):
            found = ask_json(midden, pid)
            assert found["copied"] and sums(found)["definite"] == (300, 3)
            assert not list_children(pid)
        running.process.stdin.write(b"\n")
        running.process.stdin.flush()
        assert running.process.stdout.readline() == b"0 heard, 0 pages, 0 us, none to wait for\n"
        wait_until(lambda: len(list_children(recorder)) == 2, "the program and its collector are all there is")

    check_childless()
    before = find_listeners(pid)
    running.process.stdin.write(b"\n")  # and it executes itself
    running.process.stdin.flush()
    assert running.process.stdout.readline() == b"ready\n"
    # The collector of what it was before has the same name until it is done.
    wait_until(lambda: find_listeners(pid) - before and not find_listeners(pid) & before, "its new collector listens")
    check_childless()
    assert running.finish(input=b"\n").status == 5


@pytest.mark.parametrize("way", ["1", "later", "now"])
def test_waits_that_a_stop_would_end_go_on(record, midden, need_victim, way):
    running, pid = start(record, need_victim("lost_waiter"), env={"MIDDEN_TWIN": way})
    wait_until(lambda: len(list(Path(f"/proc/{pid}/task").iterdir())) == 4, "all threads are there")
    for _ in range(5):
        found = ask_json(midden, pid)
        assert found["copied"] == (way == "1") and found["stopped"]
        assert sums(found)["definite"] == (300, 3)
    done = running.finish(input=b"\n")
    assert (done.status, done.stdout) == (5, b"0 ended\n")


@pytest.mark.parametrize("calls", [18, 22, 26, 30])
def test_a_program_goes_on_when_its_collector_is_killed_in_the_middle_of_a_look(record, midden, need_victim, calls):
    # strace kills the collector at one of its calls to ptrace: it makes some 40 of them, and these have the program's registers changed.
    need("strace")
    if platform.machine() != "x86_64":
        pytest.skip("a thread that waits is not safe for some microseconds there: docs/leaks.md")
    running, pid = start(record, need_victim("lost_shapes"), "wait", env={"MIDDEN_TWIN": "1"})
    collector = find_program(running.process.pid, "midden-collect")
    tracer = subprocess.Popen(
        ["strace", "-qq", "-e", f"inject=ptrace:signal=KILL:when={calls}", "-p", str(collector)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    status = Path(f"/proc/{collector}/status")
    wait_until(lambda: f"TracerPid:\t{tracer.pid}\n" in status.read_text(), "strace has the collector")
    assert ask(midden, pid).returncode == 1
    tracer.wait(timeout=TIMEOUT_S)
    assert running.finish(input=b"\n").status == 7


# Every call is allowed, but who is to know?
FILTERED = f"""
import sys
{FILTER}print("ready", flush=True)
sys.stdin.read()
"""


def test_a_process_with_a_filter_on_system_calls_is_looked_at_without_a_copy(record, midden):
    running = record.start(["/usr/bin/python3", "-c", FILTERED])
    assert running.process.stdout.readline() == b"ready\n"
    pid = wait_until(lambda: find_program(running.process.pid, "python3"), "the program is there")
    wait_for_listener(pid)
    leaks = ask_json(midden, pid)
    assert leaks["stopped"] and not leaks["copied"] and sums(leaks)["reachable"][1] > 100
    assert running.finish(input=b"").status == 0


def test_a_stopped_process_stays_stopped(record, midden, need_victim):
    running, pid = start(record, need_victim("lost_shapes"), "wait")
    state = lambda: open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]  # noqa: E731
    subprocess.run(["kill", "-STOP", str(pid)], check=True)
    wait_until(lambda: state() == "T", "the process has stopped")
    assert sums(ask_json(midden, pid))["definite"][1] == 24
    wait_until(lambda: state() == "T", "the process is as it was")
    subprocess.run(["kill", "-CONT", str(pid)], check=True)
    assert running.finish(input=b"\n").status == 7


def test_what_runs_and_what_exits_is_told_alike_and_can_be_kept(record, midden, need_victim, tmp_path):
    running, pid = start(record, need_victim("lost_shapes"), "wait")
    kept = tmp_path / "kept.mdn"
    now = ask_json(midden, "--write", kept, pid)
    assert sums(ask_json(midden, kept)) == sums(now)
    assert running.finish(input=b"\n").status == 7
    # Without --leaks the profile of the run does not tell: it was asked for one moment only.
    done = ask(midden, running.path)
    assert done.returncode == 1 and "record --leaks" in done.stderr
    at_exit = record.victim("lost_shapes", options=("--leaks",))
    assert sums(ask_json(midden, at_exit.path)) == sums(now)


def test_the_text_names_classes_stacks_and_holders(record, midden, need_victim):
    recording = record.victim(need_victim("lost_shapes"), options=("--leaks",))
    text = ask(midden, "--show", "all", "--limit", "0", recording.path).stdout
    for words in (
        "lost                                 1.00 MiB in 24 blocks",
        "lost: 64 B in 1 block, and with them 384 B in 2 blocks",
        "shape_lost_list",
        "from the variable zeroed_global\n",
        "from the variable slots+8\n",
        "from the stack of thread",
        "from a register of thread",
        "from mapped memory at",
        "points to byte 32 of it:",
        "at byte 8 of a block of",
    ):
        assert words in text
    assert "not shown" in ask(midden, "--limit", "1", recording.path).stdout


def test_lost_blocks_can_fail_a_test_and_be_suppressed(record, midden, need_victim, tmp_path):
    recording = record.victim(need_victim("lost_shapes"), options=("--leaks",))
    assert ask(midden, "--fail", recording.path).returncode == 1
    check = [midden, "check", "--max-unreachable"]
    done = subprocess.run([*check, "1M", recording.path], capture_output=True, text=True)
    assert done.returncode == 1 and "shape_lost_big" in done.stdout
    assert subprocess.run([*check, "2M", recording.path], capture_output=True).returncode == 0
    rules = tmp_path / "rules"
    rules.write_text("leak:shape_\n")
    done = ask(midden, "--fail", "--suppressions", rules, recording.path)
    assert done.returncode == 0
    assert "held by pointers to the inside only  0 B in 0 blocks" in done.stdout
    assert "suppressed                           1.00 MiB in 51 blocks" in done.stdout
    suppressed = ["--suppressions", rules, recording.path]
    assert subprocess.run([*check, "0B", *suppressed], capture_output=True).returncode == 0
    silent = record.victim("lost_shapes")
    done = subprocess.run([*check, "0B", silent.path], capture_output=True, text=True)
    assert done.returncode == 1 and "record --leaks" in done.stderr


def test_what_cannot_be_told_is_refused_with_a_reason(record, midden, need_victim):
    victim = record.machine.command(need_victim("lost_shapes"))
    for mode in ("--sample", "--tags"):
        done = subprocess.run([midden, "record", "--leaks", mode, *victim], capture_output=True, text=True)
        assert done.returncode == 2 and "exact mode" in done.stderr
    running = record.start_victim("lost_shapes", "wait", options=("--sample",))
    assert running.process.stdout.readline() == b"ready\n"
    wait_for_listener(running.process.pid)
    done = ask(midden, running.process.pid)
    assert done.returncode == 1 and "exact mode" in done.stderr
    running.finish(input=b"\n")
    for arguments, status in ((("1",), 1), (("--show", "most", "x.mdn"), 2), (("-w", "a.mdn", "b.mdn"), 2)):
        done = ask(midden, *arguments)
        assert done.returncode == status and done.stderr.startswith("midden: ")
    done = ask(midden, "--limit", "-1", "x.mdn")
    told = "midden: leaks: -1 is not a limit of 1 or more, or 0 for none\n"
    assert done.returncode == 2 and done.stderr.startswith(told)


@pytest.mark.parametrize(
    ("mode", "why", "signal"),
    (
        ("_exit", "the program did not end by exit() of glibc", None),
        ("quick_exit", "the program did not end by exit() of glibc", None),
        ("kill", "the program was killed", "9 (Killed)"),
        ("segv", "the program was killed", "11 (Segmentation fault)"),
    ),
)
def test_a_program_that_was_not_looked_at_is_told_of(native, midden, tmp_path, mode, why, signal):
    path = tmp_path / "out.mdn"
    victim = native.command("dying", mode, 300)
    done = subprocess.run([midden, "record", "--leaks", "-o", path, *victim], capture_output=True, text=True)
    (told,) = [line for line in done.stderr.splitlines() if "lost" in line]
    assert told == f"midden: it cannot be told what is lost: {why}"
    for command in (("leaks",), ("check", "--max-unreachable", "0B")):
        done = subprocess.run([midden, *command, path], capture_output=True, text=True)
        assert done.returncode == 1
        words = "it was not recorded with `midden record --leaks`, or the program did not end by exit()"
        if signal:
            words = f"the program was killed by signal {signal}, and `midden record --leaks` looks when it exits"
        assert done.stderr == f"midden: {path}: does not tell what is lost: {words}\n"


def test_nothing_is_pointed_to_where_nothing_is_lost(native, midden, tmp_path):
    path = tmp_path / "out.mdn"
    for victim, words in (
        (native.command("dying", "exit", 300), "nothing lost"),
        (native.command("lost_shapes"), f"lost 1.00 MiB in 46 blocks; see `midden leaks {path}`"),
    ):
        done = subprocess.run([midden, "record", "--leaks", "-o", path, *victim], capture_output=True, text=True)
        told = done.stderr.splitlines()
        assert told[0].startswith("midden: maximum ") and told[1] == f"midden: {words}"


def test_a_child_that_does_not_know_all_of_its_heap_calls_nothing_lost_that_may_be_held(record, midden):
    need("bash")
    recording = record.run(["bash", "-c", "(echo a; x=b; echo $x)"], options=("--leaks", "--follow"))
    assert recording.status == 0
    children = 0
    for path in recording.path.parent.glob("run*.mdn"):
        done = ask(midden, "--json", path)
        if done.returncode == 0 and not json.loads(done.stdout)["all_blocks_known"]:
            children += 1
            assert json.loads(done.stdout)["classes"]["definite"]["blocks"] == 0
    assert children or recording.stdout == b"a\nb\n"


@pytest.mark.parametrize(
    "command",
    [
        ["sqlite3", ":memory:", "create table t(a); insert into t values(1),(2); select sum(a) from t"],
        ["git", "--version"],
        ["perl", "-e", "my @a = map { { n => $_ } } 1..1000; print scalar(@a)"],
    ],
    ids=lambda command: command[0],
)
def test_programs_do_not_change_by_the_look_at_their_exit(record, command):
    need(command[0])
    check_same(record, command, options=("--leaks",))


def test_a_server_answers_after_it_was_looked_at(record, midden):
    need("redis-server", "redis-cli")
    port = free_port()
    running = record.start(["redis-server", "--port", str(port), "--save", "", "--daemonize", "no"])

    def talk(*words):
        return subprocess.run(
            ["redis-cli", "-p", str(port), *words], capture_output=True, text=True, timeout=TIMEOUT_S
        ).stdout.strip()

    wait_until(lambda: talk("ping") == "PONG", "redis answers")
    talk("set", "key", "value")
    # It can be asked a moment after it has begun.
    asked = [midden, "snapshot", str(running.process.pid)]
    wait_until(lambda: subprocess.run(asked, capture_output=True).returncode == 0, "the recording answers")
    leaks = ask_json(midden, running.process.pid)
    assert leaks["stopped"] and sums(leaks)["reachable"][1] > 1000
    assert sums(leaks)["definite"] == (0, 0)
    assert talk("get", "key") == "value"
    talk("shutdown", "nosave")
    assert running.finish().status == 0


@pytest.mark.parametrize("how", ["sampled", "exact"])
def test_small_objects_that_are_sampled_are_said_to_be_missing(record, midden, how):
    python = need("/usr/bin/python3")
    recording = record.run([python, "-c", "kept = [str(i) for i in range(9999)]"], options=("--leaks", f"--pymalloc={how}"))
    assert recording.status == 0
    told = ask(midden, recording.path)
    assert ("Small objects of Python are not among the blocks" in told.stdout) == (how == "sampled")
    assert ask_json(midden, recording.path)["all_blocks_known"] == (how == "exact")
