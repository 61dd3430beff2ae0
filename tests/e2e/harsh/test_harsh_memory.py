"""Programs that are strict about their memory.

SPDX-License-Identifier: Apache-2.0
"""

import re
import subprocess

import pytest


def kilobytes(output):
    """{VmLck, VmRSS} as the victim printed them."""
    return {name: int(value) for name, value in re.findall(r"(Vm\w+):\s+(\d+) kB", output)}


def test_locking_all_memory_does_not_bring_in_that_of_the_recording(record, native):
    plain = subprocess.run(native.command("lock_memory"), capture_output=True, text=True, check=True).stdout
    if "refused" in plain:
        pytest.skip("memory may not be locked here")
    recording = record.victim("lock_memory")
    assert recording.status == 0, recording.stderr
    alone, recorded = kilobytes(plain), kilobytes(recording.stdout.decode())
    assert recorded["VmLck"] >= alone["VmLck"]
    # The segment alone is 400 MB of address space.
    assert recorded["VmLck"] < alone["VmLck"] + 64 * 1024
    assert recorded["VmRSS"] < alone["VmRSS"] + 64 * 1024
    assert recording.stats["allocations"] >= 2000
    assert recording.stats["lost_events"] == 0


def test_threads_that_begin_when_all_memory_is_locked_do_not_bring_in_room_for_others(record, native):
    plain = subprocess.run(native.command("lock_memory", "threads"), capture_output=True, text=True, check=True).stdout
    if "refused" in plain:
        pytest.skip("memory may not be locked here")
    recording = record.victim("lock_memory", "threads")
    assert recording.status == 0, recording.stderr
    alone, recorded = kilobytes(plain), kilobytes(recording.stdout.decode())
    assert recorded["VmRSS"] < alone["VmRSS"] + 12 * 1024
    assert recorded["VmLck"] < alone["VmLck"] + 12 * 1024
    assert recording.stats["allocations"] >= 2040
    assert recording.stats["lost_events"] == 0


@pytest.mark.parametrize("arguments", ((), ("return",)), ids=("exits", "returns"))
def test_a_filter_on_system_calls_that_is_set_in_main_finds_nothing_to_kill(record, native, arguments):
    alone = subprocess.run(native.command("sealed"))
    if alone.returncode != 0:
        pytest.skip("no filter can be set here")
    recording = record.victim("sealed", *arguments)
    assert recording.status == 0, recording.stderr
    assert recording.stats["allocations"] == 100000
    assert recording.stats["lost_events"] == 0
