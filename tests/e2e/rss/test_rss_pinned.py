"""Which blocks keep which pages of the heap resident, seen from outside while the program goes on.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

MIB = 1 << 20
ALLOCATORS = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}


def report(midden, path, *options, status=0):
    done = subprocess.run([midden, "report", "--rss", *options, path], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def found(midden, path, *options):
    return json.loads(report(midden, path, "--json", *options))


def row_of(rss, function):
    return next(row for row in rss["rows"] if row["function"] == function)


def check_sums(rss):
    """Every resident page of the heap is somebody's, and nobody's twice."""
    whole, stacks = rss["rss"], rss["stacks"]
    assert sum(stack["resident_bytes"] for stack in stacks) == whole["held_bytes"]
    assert sum(stack["pinned_bytes"] for stack in stacks) == whole["pinned_bytes"]
    assert sum(stack["live_bytes"] for stack in stacks) == whole["live_bytes"]
    assert whole["held_bytes"] + whole["free_bytes"] == whole["resident_bytes"]
    assert whole["touched_bytes"] + whole["pinned_bytes"] == whole["held_bytes"]
    assert all(stack["pinned_bytes"] <= stack["resident_bytes"] for stack in stacks)
    assert all(stack["alone_bytes"] <= stack["resident_bytes"] for stack in stacks)


def count_kernels_heap(pid):
    """What the kernel says is resident of the heap: brk, and private memory without a file that is large."""
    resident, size, is_heap = 0, 0, False
    for line in open(f"/proc/{pid}/smaps"):
        start = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+)\s*(\S*)", line)
        if start:
            low, high, rights, inode, name = start.groups()
            size = int(high, 16) - int(low, 16)
            is_heap = name == "[heap]" or (inode == "0" and rights == "rw-p" and size >= 4 * MIB)
        elif line.startswith("Rss:") and is_heap:
            resident += int(line.split()[1]) * 1024
    return resident


def child_of(pid, name):
    children = open(f"/proc/{pid}/task/{pid}/children").read().split()
    return next(int(child) for child in children if name in os.readlink(f"/proc/{child}/exe"))


def look(midden, pid, *arguments):
    """Asks until the recorder listens."""
    deadline = time.monotonic() + 120
    while True:
        done = subprocess.run(
            [midden, "snapshot", "--rss", str(pid), *arguments], capture_output=True, text=True
        )
        if "is not being recorded" not in done.stderr or time.monotonic() > deadline:
            return done
        time.sleep(0.02)


@pytest.fixture
def waiting(record):
    """Starts the victim and waits until its heap stands."""
    started = []

    def start(mib, options=(), env=None):
        running = record.start_victim("pinned_pages", str(mib), "wait", options=options, env=env)
        started.append(running)
        left = int(running.process.stdout.readline().split()[1])
        return running, child_of(running.process.pid, "pinned_pages"), left

    yield start
    for running in started:
        if running.process.poll() is None:
            running.finish(input=b"\n")


def test_one_block_on_each_page_pins_all_of_it(midden, waiting):
    running, pid, left = waiting(256)
    done = look(midden, pid, "thinned out")
    assert done.returncode == 0, done.stderr
    assert "snapshot 1 at " in done.stdout and "resident: " in done.stdout
    kernel = count_kernels_heap(pid)
    rss = found(midden, running.finish(input=b"\n").path, "--at", "thinned out")
    check_sums(rss)
    whole, crowd = rss["rss"], row_of(rss, "crowd")
    assert abs(whole["resident_bytes"] - kernel) <= kernel / 100
    assert abs(whole["held_bytes"] + whole["free_bytes"] - kernel) <= kernel / 100
    assert crowd["resident_bytes"] >= 0.95 * whole["resident_bytes"]
    assert crowd["alone_bytes"] >= 0.95 * whole["resident_bytes"]
    assert crowd["live_blocks"] == left and crowd["live_bytes"] == 240 * left
    assert crowd["lone_pages"] >= 0.99 * left
    assert crowd["pinned_bytes"] >= 0.9 * crowd["resident_bytes"]
    idle, busy = row_of(rss, "idle"), row_of(rss, "busy")
    assert idle["live_bytes"] == 64 * MIB and idle["resident_bytes"] <= MIB
    assert 64 * MIB - MIB <= whole["untouched_bytes"] <= 64 * MIB
    assert busy["live_bytes"] <= busy["resident_bytes"] <= 8 * MIB + 65536
    assert whole["live_bytes"] < whole["usable_bytes"] < whole["live_bytes"] * 1.02


def test_an_arena_without_a_live_block_is_part_of_the_heap(midden, record, need_victim):
    running = record.start_victim(need_victim("empty_arena"), "32")
    assert running.process.stdout.readline() == b"ready\n"
    pid = child_of(running.process.pid, "empty_arena")
    done = look(midden, pid, "empty")
    assert done.returncode == 0, done.stderr
    kernel = count_kernels_heap(pid) - 8 * MIB  # the program's own map is none
    rss = found(midden, running.finish(input=b"\n").path, "--at", "empty")
    check_sums(rss)
    assert kernel >= 25 * MIB
    assert abs(rss["rss"]["resident_bytes"] - kernel) <= kernel / 100
    assert rss["rss"]["free_bytes"] >= 0.99 * kernel


def test_the_end_and_the_peak_are_looked_at_on_request(midden, record):
    recording = record.victim("pinned_pages", "32", options=("--rss",))
    assert recording.status == 0, recording.stderr
    end = found(midden, recording.path, "--at", "@end")
    check_sums(end)
    assert end["rss"]["reason"] == "end"
    assert end["rss"]["live_bytes"] == recording.stats["leaked_bytes"]
    assert end["rss"]["live_blocks"] == recording.stats["leaked_blocks"]
    peak = found(midden, recording.path, "--at", "@peak")
    check_sums(peak)
    assert peak["rss"]["rss_bytes"] == max(look["rss_bytes"] for look in recording.stats["rss"])
    for look in recording.stats["rss"]:
        assert found(midden, recording.path, "--at", f"{look['time_ns']}ns")["rss"] == look
    text = report(midden, recording.path)
    assert "Who keeps the heap resident, at the end" in text and "crowd" in text
    assert "crowd" not in report(midden, recording.path, "-x", "crowd").partition("Who keeps")[2]


def test_snapshots_of_the_same_moment_share_a_look(midden, waiting):
    limits = "allocations=1000,live=1M,virtual=1M,rss=1M"
    running, pid, _ = waiting(16, options=("--rss", "--snapshot-at", limits))
    path = running.finish(input=b"\n").path
    done = subprocess.run([midden, "report", "--snapshots", "--json", path], capture_output=True, check=True)
    taken = json.loads(done.stdout)["snapshots"]
    assert {s["name"] for s in taken} == set(limits.split(","))
    for number in range(1, len(taken) + 1):
        rss = found(midden, path, "--at", str(number))
        check_sums(rss)
        assert rss["rss"]["reason"] == "snapshot" and rss["rss"]["snapshot"] == number


def test_a_snapshot_is_named_in_one_way_in_every_option(midden, waiting):
    running, pid, _ = waiting(16, options=("--rss",))
    assert look(midden, pid, "mark").returncode == 0
    path = running.finish(input=b"\n").path
    assert found(midden, path, "--at", "mark") == found(midden, path, "--at", "@snapshot:mark")
    for options in (("--live-at", "%s"), ("--growth", "@start..%s"), ("--growth", "%s..@end")):
        told = [
            subprocess.run(
                [midden, "report", options[0], options[1] % name, path], capture_output=True, text=True, check=True
            ).stdout
            for name in ("mark", "@snapshot:mark")
        ]
        assert told[0] == told[1]
    done = subprocess.run([midden, "report", "--live-at", "marc", path], capture_output=True, text=True)
    assert done.returncode == 1 and "no snapshot of that name" in done.stderr and "200ms" in done.stderr


def test_a_killed_program_has_no_end_but_what_was_seen_before(midden, waiting):
    running, pid, _ = waiting(16, options=("--rss",))
    assert look(midden, pid, "before").returncode == 0
    os.kill(pid, signal.SIGKILL)
    path = running.finish().path
    check_sums(found(midden, path, "--at", "before"))
    assert "did not get as far as exit()" in report(midden, path, "--at", "@end", status=1)
    check_sums(found(midden, path))


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_heaps_of_other_allocators_are_seen_too(midden, waiting, allocator):
    listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    paths = [line.rpartition("=> ")[2] for line in listing.splitlines() if ALLOCATORS[allocator] in line]
    if not paths:
        pytest.skip(f"{allocator} is not installed")
    running, pid, left = waiting(32, env={"LD_PRELOAD": paths[0]})
    assert look(midden, pid).returncode == 0
    rss = found(midden, running.finish(input=b"\n").path)
    check_sums(rss)
    crowd = row_of(rss, "crowd")
    assert crowd["live_blocks"] == left
    assert crowd["pinned_bytes"] >= 0.8 * crowd["resident_bytes"]
    assert crowd["resident_bytes"] + rss["rss"]["free_bytes"] >= 0.7 * rss["rss"]["resident_bytes"]


SCRIPT = """
def fill():
    return [str(i) * 40 for i in range(10000, 150000)]
big = fill()
keep = big[::16]
del big
print("ready", flush=True)
input()
"""


PYTHON = "/usr/bin/python3"


@pytest.fixture
def freed(record):
    """Starts a program that has freed a large list, all but each sixteenth of its strings."""
    if not os.path.exists(PYTHON):
        pytest.skip("needs Python")

    def start(*options, **env):
        running = record.start([PYTHON, "-c", SCRIPT], options=options, env=env)
        assert running.process.stdout.readline() == b"ready\n"
        return running

    return start


@pytest.mark.parametrize("options, env", [((), {"PYTHONMALLOC": "malloc"}), (("--rss",), {}), (("--pymalloc=exact",), {})])
def test_a_python_program_that_frees_a_large_list_is_left_with_what_pins_it(midden, freed, options, env):
    running = freed(*options, **env)
    assert look(midden, running.process.pid, "freed").returncode == 0
    rss = found(midden, running.finish(input=b"\n").path, "--at", "freed")
    check_sums(rss)
    through = [stack for stack in rss["stacks"] if any(frame["function"] == "fill" for frame in stack["stack"])]
    resident = sum(stack["resident_bytes"] for stack in through)
    assert resident >= 0.7 * rss["rss"]["held_bytes"]
    assert sum(stack["pinned_bytes"] for stack in through) >= 0.7 * resident
    assert 140000 / 16 <= sum(stack["live_blocks"] for stack in through) <= 140000 / 16 + 10


@pytest.mark.parametrize("options", [(), ("--rss", "--pymalloc=sampled")])
def test_where_small_objects_of_python_are_sampled_their_pages_are_not_told(midden, freed, options):
    running = freed(*options)
    done = look(midden, running.process.pid, "freed")
    assert done.returncode == 1 and "small objects of Python are sampled here" in done.stderr
    assert done.stderr.count("\n") == 1
    path = running.finish(input=b"\n").path
    told = subprocess.run([midden, "report", "--rss", path], capture_output=True, text=True)
    assert told.returncode == 1 and "--pymalloc=exact" in told.stderr
    types = subprocess.run([midden, "report", "--types", path], capture_output=True, text=True)
    assert types.returncode == 0 and "  str\n" in types.stdout


def test_a_heap_that_is_sampled_cannot_be_told_by_pages(midden, record, waiting):
    refused = record.victim("basic_heap", options=("--rss", "--sample"))
    assert refused.status == 2 and "every block is recorded" in refused.stderr
    _, pid, _ = waiting(4, options=("--sample",))
    done = look(midden, pid)
    assert done.returncode == 1 and "every block is recorded" in done.stderr
    assert done.stderr.count("\n") == 1


def test_however_little_each_stack_holds_some_are_named(midden, record):
    path = record.victim("pinned_pages", "4", options=("--rss",)).path
    text = report(midden, path, "--threshold", "99.9")
    assert all(name in text.partition("allocated by")[2] for name in ("crowd", "busy", "idle"))
    figures = re.findall(r"^  (?:resident|live|touched|pinned|free|lone) +[\d.,]+(?: \w*B)?(?= )", text.partition("Who keeps")[2], re.M)
    assert len(figures) == 6 and {len(figure) for figure in figures} == {22}


def test_a_profile_without_a_look_says_how_to_get_one(midden, record):
    path = record.victim("basic_heap").path
    message = report(midden, path, status=1)
    assert "--rss" in message and message.count("\n") == 1
    wrong = subprocess.run([midden, "report", "--at", "@end", path], capture_output=True, text=True)
    assert wrong.returncode == 2


def test_where_the_kernel_hides_the_pages_it_is_said(midden, library, native):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("being another user takes root and setpriv")
    as_other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        os.chmod(directory, 0o777)
        path = os.path.join(directory, "run.mdn")
        victim, command, _ = (shutil.copy(file, directory) for file in (native.victim("pinned_pages"), midden, library))
        for arguments in ("16",), ("16", "hide"):
            done = subprocess.run(
                [*as_other, command, "record", "-q", "--rss", "-o", path, victim, *arguments],
                capture_output=True,
                text=True,
                cwd=directory,
            )
            assert done.returncode == 0, done.stderr
            if "hide" in arguments:
                assert "does not let us see" in report(midden, path, "--at", "@end", status=1)
            else:
                check_sums(found(midden, path, "--at", "@end"))
