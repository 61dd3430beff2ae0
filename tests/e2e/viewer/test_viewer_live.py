"""`midden view PID`: a program that is still being recorded.

SPDX-License-Identifier: Apache-2.0
"""

import gzip
import json
import os
import signal
import subprocess
import threading
import time
import urllib.request

import pytest
from recording import check_exact, read_stats

PATIENCE_S = 60


def wait_for(what):
    """What a function returns, once that is something."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    pytest.fail("it did not come")


def step(process, words):
    """Has step_by_step do something, and waits until it is done."""
    process.stdin.write(words.encode() + b"\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"done\n"


def children_of(pid, name):
    """Those with this name in /proc; the collector is called midden-collect."""
    children = open(f"/proc/{pid}/task/{pid}/children").read().split()
    return [int(child) for child in children if open(f"/proc/{child}/comm").read().strip() == name]


def wait_until_recorded(midden, pid):
    wait_for(lambda: subprocess.run([midden, "snapshot", str(pid)], capture_output=True).returncode == 0)


@pytest.fixture
def running(midden, record):
    """A recording of step_by_step that has made one step: 10 blocks of 1,000 bytes."""
    started = record.start_victim("step_by_step")
    step(started.process, "+")
    wait_until_recorded(midden, started.process.pid)
    yield started
    if started.process.poll() is None:
        started.finish()


def ask(viewing, path):
    with urllib.request.urlopen(viewing.base + path, timeout=PATIENCE_S) as answer:
        return answer.read()


def state_of(viewing):
    return json.loads(ask(viewing, "state"))


def header_of(viewing):
    pack = gzip.decompress(ask(viewing, "data"))
    return json.loads(pack[16 : 16 + int.from_bytes(pack[8:16], "little")])


def stats_when(viewing, **wanted):
    """The stats that are shown, once they have these figures."""

    def look():
        state_of(viewing)  # what a page does that wants news
        stats = header_of(viewing)["stats"]
        return stats if all(stats[name] == value for name, value in wanted.items()) else None

    return wait_for(look)


def test_the_page_follows_the_program_can_be_paused_and_shows_its_end(view, page, running, tmp_path):
    viewing = view(running.process.pid)
    marks = [tmp_path / f"{name}.png" for name in ("seen", "paused", "resumed")]
    peak = "#card-peak .figure"
    in_data = """(async () => { for (;;) { await fetch('state');
        if ((await (await fetch('data')).text()).includes('"peak_bytes": 30000')) return true;
        await new Promise((go) => setTimeout(go, 100)); } })()"""
    steps = (
        ("text", peak), ("text", "#live"), ("text", "#card-leaked h3"), ("shot", str(marks[0])),
        ("wait", peak + " >> text=19.5 KiB"), ("click", "#pause"), ("text", "#pause"), ("text", peak), ("shot", str(marks[1])),
        # The server knows better by now; the page stays as it is.
        ("eval", in_data), ("text", peak), ("click", "#pause"), ("text", "#pause"),
        ("wait", peak + " >> text=29.3 KiB"), ("shot", str(marks[2])),
        ("wait", ".status >> text=the program has ended"), ("text", peak), ("count", "#pause"), ("text", "#card-leaked h3"),
    )  # fmt: skip
    seen = []
    browser = threading.Thread(target=lambda: seen.extend(page(None, *steps, address=viewing.url)))
    browser.start()
    wait_for(marks[0].exists)
    step(running.process, "+")
    wait_for(marks[1].exists)
    step(running.process, "+")
    wait_for(marks[2].exists)
    recording = running.finish()
    browser.join()
    assert seen[0] == "9.77 KiB" and seen[1].startswith("recording") and seen[2] == "Live now"
    assert seen[3:] == ["go on", "19.5 KiB", True, "19.5 KiB", "pause", "29.3 KiB", 0, "Leaked"]
    assert viewing.end() == 0
    assert recording.status == 7
    check_exact(recording)


@pytest.mark.parametrize("asked", ("program", "recorder"))
def test_the_figures_are_those_of_the_moment(view, running, asked):
    program = children_of(running.process.pid, "step_by_step")[0]
    viewing = view(program if asked == "program" else running.process.pid, "--no-auth")
    first = header_of(viewing)
    assert first["live"] and first["generation"] == 1
    assert first["stats"]["pid"] == program
    step(running.process, "++-")
    stats = stats_when(viewing, leaked_bytes=25000)
    assert (stats["peak_bytes"], stats["peak_blocks"], stats["leaked_blocks"]) == (30000, 30, 25)
    assert (stats["allocations"], stats["frees"], stats["freed_bytes"], stats["lost_events"]) == (30, 5, 5000, 0)
    state = state_of(viewing)
    assert state["live"] and state["generation"] > 1
    recording = running.finish()
    wait_for(lambda: not state_of(viewing)["live"])
    end = header_of(viewing)
    assert not end["live"] and end["generation"] == state_of(viewing)["generation"]
    assert (end["stats"]["end"], end["stats"]["exit_code"]) == ("exited", 7)
    assert end["stats"] == read_stats(recording.path)
    check_exact(recording)


def test_nobody_asks_the_recorder_while_nobody_looks(view, running):
    viewing = view(running.process.pid, "--no-auth")
    step(running.process, "+")
    time.sleep(2.5)
    assert header_of(viewing)["generation"] == 1
    stats_when(viewing, peak_bytes=20000)


def test_the_recording_goes_on_when_the_viewer_is_ended(view, running):
    viewing = view(running.process.pid, "--no-auth")
    stats_when(viewing, peak_bytes=10000)
    viewing.process.send_signal(signal.SIGINT)
    assert viewing.process.wait(PATIENCE_S) == 0
    step(running.process, "+-+")
    recording = running.finish()
    assert (recording.status, recording.stderr) == (7, "")
    check_exact(recording)


def test_a_preloaded_program_is_followed_as_well(midden, view, native, library, tmp_path):
    environment = {**os.environ, "LD_PRELOAD": library, "MIDDEN_OUTPUT": "%n.mdn", "VICTIM_TRUTH": str(tmp_path / "truth")}
    process = subprocess.Popen(
        native.command("step_by_step"), env=environment, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    step(process, "+")
    wait_until_recorded(midden, process.pid)
    viewing = view(process.pid, "--no-auth")
    step(process, "+")
    stats_when(viewing, peak_bytes=20000)
    process.communicate()
    wait_for(lambda: not state_of(viewing)["live"])
    stats = header_of(viewing)["stats"]
    assert (stats["program"], stats["peak_bytes"], stats["end"]) == ("step_by_step", 20000, "exited")


def test_where_the_recording_is_lost_the_last_state_stays(view, running):
    viewing = view(running.process.pid, "--no-auth")
    step(running.process, "+")
    stats_when(viewing, peak_bytes=20000)
    os.kill(children_of(running.process.pid, "midden-collect")[0], signal.SIGKILL)
    wait_for(lambda: not state_of(viewing)["live"])
    header = header_of(viewing)
    assert not header["live"] and header["stats"]["peak_bytes"] == 20000


def test_what_one_looks_at_stays_when_new_functions_come_between(view, page, running, tmp_path):
    viewing = view(running.process.pid)
    mark = tmp_path / "seen.png"
    name = ("text", "#neighbours h2")
    steps = (
        ("goto", "#callers"), ("click", 'main a >> text="main"'), ("wait", "#neighbours h2"), name, ("hash",), ("shot", str(mark)),
        ("wait", "main a >> text=grow_elsewhere"), name, ("hash",), ("reload",), ("wait", "#neighbours h2"), name,
    )  # fmt: skip
    seen = []
    browser = threading.Thread(target=lambda: seen.extend(page(None, *steps, address=viewing.url)))
    browser.start()
    wait_for(mark.exists)
    step(running.process, "*")
    browser.join()
    assert [seen[0], seen[2], seen[4]] == ["main"] * 3
    assert seen[3] != seen[1]  # its number is another one, or this proved nothing


def follow(page, viewing, steps, mark, then):
    """Takes steps in the page of a running program; does something when the page has come to the mark."""
    seen = []
    browser = threading.Thread(target=lambda: seen.extend(page(None, *steps, address=viewing.url)))
    browser.start()
    wait_for(mark.exists)
    then()
    browser.join()
    return seen


def be_busy(process, seconds):
    """So that the time line gets more points than it has room for."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        step(process, "+--")


def test_a_range_stays_where_it_is_while_the_time_line_is_thinned_out(view, page, running, tmp_path):
    be_busy(running.process, 1)
    viewing = view(running.process.pid)
    mark = tmp_path / "seen.png"
    news = """(async () => { const text = () => document.querySelector('#live')?.textContent, seen = new Set();
        while (seen.size < 4) { seen.add(text()); await new Promise((go) => setTimeout(go, 50)); } })()"""
    steps = (
        ("goto", "#time"), ("wait", "#chart-bytes .u-over"), ("click", "#pause"), ("drag", "#chart-bytes .u-over", 0.3, 0.7), ("hash",), ("save", "#save-csv"),
        ("shot", str(mark)), ("click", "#pause"), ("eval", news), ("hash",), ("save", "#save-csv"),
        ("click", "#range-facts a >> text=Growth across"), ("eval", news), ("back",), ("hash",), ("reload",), ("wait", "#range-facts a"), ("hash",),
    )  # fmt: skip
    chosen, before, _, after, thinned, _, back, reloaded = follow(page, viewing, steps, mark, lambda: be_busy(running.process, 9))
    assert chosen == after == back == reloaded
    begin, end = (int(word.partition("=")[2].removesuffix("ns")) for word in chosen.partition("?")[2].split("&"))
    (first, *_, last), points = (times := [int(line.partition(",")[0]) for line in before["text"].splitlines()[1:]]), len(times)
    assert (first, last) == (begin, end)
    times = [int(line.partition(",")[0]) for line in thinned["text"].splitlines()[1:]]
    assert len(times) < points  # they are fewer, or this proved nothing
    apart = times[1] - times[0]
    assert begin - 2 * apart < times[0] <= begin and end - 2 * apart < times[-1] <= end


def test_what_is_open_stays_open_while_the_program_runs_on(view, page, running, tmp_path):
    viewing = view(running.process.pid)
    mark = tmp_path / "seen.png"
    row = ".rows-inner .row"
    steps = (
        # The tree has the hottest path open: shut, it is to stay shut.
        ("goto", "#table"), ("wait", row), ("count", row), ("click", f"{row} .twist"), ("count", row),
        ("goto", "#leaks"), ("click", ".leak summary"), ("wait", ".leak ol.stack"), ("shot", str(mark)),
        ("wait", ".leak summary >> text=19.5 KiB"), ("count", ".leak[open] ol.stack"), ("click", ".leak[open] summary"),
        ("goto", "#table"), ("wait", row), ("count", row), ("goto", "#leaks"), ("count", ".leak[open]"),
    )  # fmt: skip
    path, shut, stacks, rows, open_rows = follow(page, viewing, steps, mark, lambda: step(running.process, "+"))
    assert path > shut == rows and (stacks, open_rows) == (1, 0)


def test_what_is_no_recorded_process_is_told_in_one_line(midden):
    done = subprocess.run([midden, "view", "--no-open", str(os.getpid())], capture_output=True, text=True)
    assert done.returncode == 1 and "is not being recorded" in done.stderr and done.stderr.count("\n") == 1


def test_a_file_with_a_number_for_its_name_is_a_file(midden, tmp_path):
    (tmp_path / "1").write_text("nothing")
    done = subprocess.run([midden, "view", "--no-open", "1"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("midden: 1:")
