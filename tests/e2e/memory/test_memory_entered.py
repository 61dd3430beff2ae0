"""Programs whose functions say when they are entered: the deepest stack by function, stacks that are not walked.

SPDX-License-Identifier: Apache-2.0
"""

import json
import shutil
import subprocess

import machine
import pytest
from recording import Recorder

MODE = "--stack-mode=enter-exit"


@pytest.fixture(params=("native", "clang"))
def anywhere(request, midden, tmp_path):
    """A recorder of the victims as each compiler builds them."""
    native = request.getfixturevalue("native")
    if request.param == "clang":
        if not shutil.which("clang") or machine.EMULATOR:
            pytest.skip("clang is not installed")
        native = machine.Machine("clang", tmp_path)
        flags = ["-std=gnu11", "-g", "-D_GNU_SOURCE", "-finstrument-functions", "-pthread"]
        for name, level in (("entered", "-O0"), ("entered_fast", "-O2")):
            source = machine.VICTIM_SOURCES / "entered.c"
            subprocess.run(["clang", level, *flags, source, "-o", tmp_path / name], check=True)
    return Recorder(tmp_path, native)


def deepest(midden, recording, *options):
    """By thread's name: its frames, outermost first, but for what is around the first function."""
    command = [midden, "report", "--stacks", "--json", *options, recording.path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    stacks = json.loads(done.stdout)["deepest_stacks"]
    for stack in stacks:
        assert stack["bytes"] == sum(frame["bytes"] for frame in stack["frames"])
    return {stack["name"]: stack["frames"][1:] for stack in stacks}


def named(frames):
    return [(frame["function"].split("(")[0], frame["calls"]) for frame in frames]


def stacks_of(midden, path):
    """Of each allocating stack: (functions from the first of the program's own on, blocks, bytes)."""
    command = [midden, "export", "-f", "collapsed", "--all-frames", path, "--figure"]
    found = {}
    for figure in ("calls", "allocated"):
        done = subprocess.run([*command, figure], capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            stack, _, value = line.rpartition(" ")
            found.setdefault(stack, {})[figure] = int(value)
    return {stack: (value["calls"], value["allocated"]) for stack, value in found.items() if "main;begin" in stack}


@pytest.mark.parametrize("victim", ("entered", "entered_fast"))
def test_each_call_of_a_recursion_has_its_bytes(midden, anywhere, victim):
    recording = anywhere.victim(victim, "recursion", options=(MODE,))
    assert recording.status == 0, recording.stderr
    each = int(recording.stdout)
    assert 4000 < each < 4200
    (frames,) = deepest(midden, recording).values()
    assert named(frames) == [("main", 1), ("begin", 1), ("deeper", 100)]
    assert frames[2]["bytes"] == 100 * each
    assert frames[1]["bytes"] < 256 and frames[1]["line"] and frames[1]["file"].endswith("entered.c")
    (single,) = deepest(midden, recording, "--no-fold").values()
    assert [frame["bytes"] for frame in single[2:]] == [each] * 100
    (stack,) = [stack for stack in stacks_of(midden, recording.path) if "deeper" in stack]
    assert stack.split(";")[-102:] == ["main", "begin", *["deeper"] * 100]


@pytest.mark.parametrize("victim", ("entered", "entered_fast"))
def test_so_it_is_on_the_other_architecture(midden, tmp_path, victim):
    missing = machine.find_missing_cross_tool()
    if missing:
        pytest.skip(f"cannot run the other architecture's programs: {missing} is missing")
    recording = Recorder(tmp_path, machine.emulated()).victim(victim, "recursion", options=(MODE,))
    assert recording.status == 0, recording.stderr
    (frames,) = deepest(midden, recording, "--no-fold").values()  # an emulator's, without names
    assert [frame["bytes"] for frame in frames[2:]] == [int(recording.stdout)] * 100


def test_alloca_counts_and_each_thread_has_its_own(midden, anywhere):
    (frames,) = deepest(midden, anywhere.victim("entered", "alloca", options=(MODE,))).values()
    assert named(frames) == [("main", 1), ("begin", 1), ("roomy", 1)]
    assert 50000 <= frames[2]["bytes"] <= 50000 + 256
    recording = anywhere.victim("entered", "threads", options=(MODE,))
    found = deepest(midden, recording)
    for number in range(3):
        frames = found[f"t{number}"]
        assert named(frames) == [("thread", 1), ("deeper", 10 * (number + 1))]
        assert frames[1]["bytes"] % frames[1]["calls"] == 0
    assert named(found[next(name for name in found if name.startswith("ent"))])[-1] == ("run_threads", 1)


# What stacks of 'main;begin' hold in blocks of known sizes; what comes before may be more or less.
KNOWN = {
    "longjmp": {"main;begin;after": (1, 128)},
    "handler": {"main;begin;run_handler;small": (1, 32)},
    "coroutine": {"main;begin;run_fiber;small": (1, 40)},
}


@pytest.mark.parametrize("what", KNOWN)
def test_nothing_is_left_behind_by(midden, anywhere, what):
    recording = anywhere.victim("entered", what, options=(MODE,))
    assert recording.status == 0, recording.stderr
    found = {stack[stack.index("main;begin") :]: value for stack, value in stacks_of(midden, recording.path).items()}
    for stack, value in KNOWN[what].items():
        assert found.get(stack) == value, found
    (frames,) = deepest(midden, recording).values()
    assert sum(frame["bytes"] for frame in frames) < 4096  # arrays on other stacks are not this one's
    assert recording.stats["lost_events"] == 0


def test_functions_on_a_signal_stack_or_a_coroutines_are_walked(midden, record):
    recording = record.victim("entered", "handler", options=(MODE,))
    (handler,) = [stack for stack in stacks_of(midden, recording.path) if stack.endswith(";on_signal")]
    assert "main;begin;run_handler;" in handler
    recording = record.victim("entered", "coroutine", options=(MODE,))
    sites = recording.stats["allocations"]
    text = subprocess.run([midden, "export", "-f", "collapsed", recording.path], capture_output=True, text=True).stdout
    assert "fiber " in text and "fiber;small " in text and sites >= 4


def test_a_function_that_calls_back_stands_between(midden, record):
    recording = record.victim("entered", "callback", options=(MODE,))
    (stack,) = [stack for stack in stacks_of(midden, recording.path) if stack.endswith(";compare")]
    assert stack.split(";")[-4:-2] == ["main", "begin"]
    (frames,) = deepest(midden, recording).values()
    assert [name for name, _ in named(frames)][::3] == ["main", "compare"]


def test_exceptions_and_inlined_functions_leave_the_right_stacks(midden, record, need_victim):
    need_victim("entered_throw")
    recording = record.victim("entered_throw", options=(MODE,))
    done = subprocess.run([midden, "export", "-f", "collapsed", "--figure", "calls", recording.path], capture_output=True, text=True, check=True)
    calls = {stack.split("main;")[-1]: int(value) for stack, _, value in (line.rpartition(" ") for line in done.stdout.splitlines())}
    assert calls["after()"] == 2
    assert next(value for stack, value in calls.items() if stack.startswith("outer()")) == 100
    assert sum(value for stack, value in calls.items() if stack.startswith("catcher();thrower(int)")) == 2000
    (frames,) = deepest(midden, recording).values()
    assert named(frames) == [("main", 1), ("recurse", 50)]


def test_a_child_goes_on_in_the_functions_of_its_parent(midden, record, tmp_path):
    recording = record.victim("entered", "fork", options=(MODE, "--follow", "-o", tmp_path / "%p.mdn"))
    assert recording.status == 0
    stacks = {}
    for path in tmp_path.glob("*.mdn"):
        stacks.update(stacks_of(midden, path))
    (stack,) = [stack for stack, value in stacks.items() if value == (1, 1024)]
    assert stack.endswith("main;begin;run_fork;small")


def test_signals_at_any_moment_lose_no_frame(midden, record):
    recording = record.victim("entered", "storm", options=(MODE,))
    assert recording.status == 0
    stacks = stacks_of(midden, recording.path)
    for depth in range(31):
        wanted = ";".join(["main", "begin", "run_storm", *["twist"] * (depth + 1)])
        assert sum(calls for stack, (calls, _) in stacks.items() if stack.endswith(wanted)) == 20000
    assert stacks[next(stack for stack in stacks if stack.endswith("run_storm;small"))] == (1, 72)


def told(midden, native, tmp_path, victim, *options):
    command = [midden, "record", *options, *native.record_options(), "-o", tmp_path / "told.mdn", "--"]
    done = subprocess.run([*command, *native.command(victim, "alloca")], capture_output=True, text=True)
    assert done.returncode == 0 and "wrote" in done.stderr, done.stderr
    return done.stderr


def test_a_program_that_says_nothing_is_walked_and_that_is_told(midden, native, record, tmp_path):
    recording = record.victim("entered_mute", "recursion", options=(MODE,))
    assert recording.status == 0
    assert "-finstrument-functions" in told(midden, native, tmp_path, "entered_mute", MODE)
    (stack,) = [stack for stack in stacks_of(midden, recording.path) if "deeper" in stack]
    assert stack.split(";")[-102:] == ["main", "begin", *["deeper"] * 100]
    report = subprocess.run([midden, "report", "--stacks", recording.path], capture_output=True, text=True)
    assert report.returncode == 1 and "-finstrument-functions" in report.stderr
    for wrong in (["--stack-mode=sideways"], [MODE, "--tags"]):
        done = subprocess.run([midden, "record", *wrong, "-o", tmp_path / "x.mdn", "true"], capture_output=True, text=True)
        assert done.returncode == 2 and len(done.stderr.splitlines()) <= 2, done.stderr


def test_who_does_not_ask_is_not_told(midden, native, tmp_path):
    assert "-finstrument" not in told(midden, native, tmp_path, "entered")
    report = subprocess.run([midden, "report", "--stacks", tmp_path / "told.mdn"], capture_output=True, text=True)
    assert report.returncode == 1 and "--stack-mode" in report.stderr
