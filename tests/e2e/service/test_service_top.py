"""`midden top`: the figures of a program that runs, as text and on a terminal.

SPDX-License-Identifier: Apache-2.0
"""

import os
import re
import signal
import subprocess

import pytest
from serving import step, wait_for
from terminal import Terminal


def run(*command, **more):
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, timeout=120, **more
    )


@pytest.fixture
def victim(midden, record):
    """A recording of step_by_step that has made one step: 10 blocks of 1,000 bytes."""
    started = record.start_victim("step_by_step")
    step(started.process, "+")
    wait_for(lambda: run(midden, "top", "-n", "1", started.process.pid).returncode == 0)
    yield started
    if started.process.stdin.closed:  # it ends by itself
        started.process.stdin = None
    if started.process.poll() is None:
        started.finish()


@pytest.fixture
def screen(midden):
    """Starts `midden top` in a terminal."""
    opened = []

    def start(*words, **options):
        opened.append(Terminal([midden, "top", *words], **options))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


# A row: live, blocks, growth, calls/s, bytes/s, stacks, name.
ROW = r"^ +(?P<live>[\d.]+ \w+) +(?P<blocks>[\d,]+) +(?P<growth>\S+ \w+) +\S+ +\S+ \w+ +(?P<stacks>\d*) +{name}"


def row_of(text, name):
    found = re.search(ROW.format(name=name), text, re.M)
    return (found["live"], found["blocks"], found["growth"], found["stacks"]) if found else None


# ---- text -----------------------------------------------------------------------------------------------------


def test_text_has_the_figures_of_the_moment(midden, victim):
    text = run(midden, "top", "--batch", "-n", "1", victim.process.pid).stdout
    assert row_of(text, "truth_malloc") == ("9.77 KiB", "10", "0 B", "1")
    assert re.match(r"step_by_step \(\d+\), exact, ", text)
    assert re.search(r"^live .* in \d+ blocks?, 0 B since .*, peak .*, resident [1-9]", text, re.M)
    assert re.search(r"^ +live\* +blocks +growth +calls/s +bytes/s +stacks +function$", text, re.M)

    step(victim.process, "*")
    text = run(midden, "top", "-n1", victim.process.pid).stdout
    assert row_of(text, "truth_malloc") == ("19.5 KiB", "20", "0 B", "2")
    stacks = run(midden, "top", "-n1", "--stacks", victim.process.pid).stdout
    assert stacks.count("9.77 KiB         10") == 2
    assert "truth_malloc" not in run(midden, "top", "-n1", "--filter", "no_such", victim.process.pid).stdout
    assert row_of(run(midden, "top", "-n1", "-f", "GROW_else", victim.process.pid).stdout, "truth_malloc")[:2] == (
        "9.77 KiB",
        "10",
    )


def test_growth_is_since_the_first_text_and_text_ends_with_the_program(midden, victim):
    top = subprocess.Popen(
        [midden, "top", "--batch", "-d", "0.1", "-s", "growth", str(victim.process.pid)],
        stdout=subprocess.PIPE,
        text=True,
    )
    seen = ""
    while "truth_malloc" not in seen:
        seen += top.stdout.readline()
    step(victim.process, "+")
    step(victim.process, "-")
    while not (row_of(seen, "truth_malloc") == ("14.6 KiB", "15", "+4.88 KiB", "1")):
        line = top.stdout.readline()
        assert line, seen
        seen = line
    victim.process.stdin.close()
    rest, _ = top.communicate(timeout=120)
    assert top.returncode == 0
    assert "Traceback" not in rest


def test_the_last_text_has_what_the_program_did_at_its_end(midden, victim):
    command = [midden, "top", "--batch", "-d", "1", str(victim.process.pid)]
    top = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    seen = ""
    while "truth_malloc" not in seen:
        seen += top.stdout.readline()
    for _ in range(3):
        step(victim.process, "+")
    victim.process.stdin.close()
    rest, _ = top.communicate(timeout=120)
    assert row_of(rest[rest.rindex("step_by_step") :], "truth_malloc")[:2] == ("39.1 KiB", "40"), rest


def test_a_file_shows_its_end(midden, victim):
    victim.process.stdin.close()
    victim.process.wait()
    text = run(midden, "top", victim.path).stdout
    assert row_of(text, "truth_malloc") == ("9.77 KiB", "10", "+9.77 KiB", "1")
    assert "since the start" in text


@pytest.mark.parametrize(
    "words, status, complaint",
    [
        (["-s", "colour"], 2, "colour is none of live, blocks, growth, calls, bytes"),
        (["-d", "0"], 2, "the delay must be"),
        (["-n", "x"], 2, "count"),
        (["-f", "x" * 64], 2, "at most 63 bytes"),
        (["1", "2"], 2, "one FILE or PID"),
        (["999999999"], 1, "there is no process 999999999"),
        (["/nowhere"], 1, "/nowhere"),
    ],
)
def test_what_makes_no_sense_is_refused(midden, words, status, complaint):
    done = run(midden, "top", *words)
    assert done.returncode == status
    assert done.stdout == "" and complaint in done.stderr and done.stderr.count("\n") <= 2


# ---- the terminal ---------------------------------------------------------------------------------------------


def test_the_screen_follows_the_program(victim, screen):
    top = screen("-d", "0.2", victim.process.pid)
    top.wait_for(ROW.format(name="truth_malloc"))
    assert row_of(top.text(), "truth_malloc") == ("9.77 KiB", "10", "0 B", "1")
    step(victim.process, "*")
    top.wait_for(r"19.5 KiB +20 +\+9.77 KiB .* truth_malloc")
    top.send("m")
    top.wait_for(r"19.5 KiB +20 +0 B .* truth_malloc")
    top.send("u")
    top.wait_for(r"19.5 KiB +20 +\+19.5 KiB .* truth_malloc")
    top.send("g")
    top.wait_for(r"growth\*")
    top.send("q")
    assert top.finish() == 0
    assert top.is_restored()


def test_stacks_filter_pause_and_help(victim, screen):
    step(victim.process, "*")
    top = screen("-d", "0.2", victim.process.pid)
    top.wait_for(r"19.5 KiB +20 .* truth_malloc")
    top.send("\r")
    top.wait_for(r"^    grow_elsewhere")
    top.wait_for_number(r"^    truth_malloc", 2)
    top.send("\x1b")
    top.wait_for(r"enter stacks")
    top.send("t")
    top.wait_for(r"stack$")
    top.wait_for_number(r"9.77 KiB +10 .* truth_malloc", 2)
    top.send("/elsewhere\r")
    top.wait_for(r", only elsewhere")
    top.wait_for_number(r"9.77 KiB +10 .* truth_malloc", 1)
    top.send("p")
    top.wait_for(r", paused")
    step(victim.process, "*")
    top.send("?")
    top.wait_for(r"pause, and go on")
    top.send("\x1b")
    top.wait_for(r"9.77 KiB +10 .* truth_malloc")
    top.send("p")
    top.wait_for(r"19.5 KiB +20 .* truth_malloc")
    top.send("\x03")
    assert top.finish() == 0
    assert top.is_restored()


def test_it_fits_any_size(victim, screen):
    top = screen("-d", "0.2", victim.process.pid)
    top.wait_for(ROW.format(name="truth_malloc"))
    for rows, columns in ((40, 160), (10, 60), (3, 20), (1, 1), (24, 80)):
        top.resize(rows, columns)
        top.read(0.3)
    top.wait_for(ROW.format(name="truth_malloc"))
    assert all(len(line) <= 80 for line in top.lines())
    top.send("q")
    assert top.finish() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_leave_the_terminal_as_it_was(victim, screen, number):
    top = screen(victim.process.pid)
    top.wait_for(ROW.format(name="truth_malloc"))
    assert not top.is_restored()
    os.kill(top.process.pid, number)
    assert top.finish() == (0 if number == signal.SIGINT else -number)
    assert top.is_restored()


def test_colours_are_for_those_who_want_them(victim, screen):
    for env, expected in (({}, True), ({"NO_COLOR": "1"}, False)):
        top = screen(victim.process.pid, kind="xterm-256color", env=env)
        top.send("q")
        assert top.finish() == 0
        assert (b"\x1b[36m" in top.raw) == expected, top.raw


def test_the_end_is_told(victim, screen):
    top = screen("-d", "0.2", victim.process.pid)
    top.wait_for(ROW.format(name="truth_malloc"))
    victim.process.stdin.close()
    top.wait_for(r", ended$")
    assert row_of(top.text(), "truth_malloc")[:2] == ("9.77 KiB", "10")
    top.send("q")
    assert top.finish() == 0
