"""Pages of 16 and 64 KiB, as on some aarch64 machines, under qemu-user.

SPDX-License-Identifier: Apache-2.0
"""

import os
import subprocess

import pytest

import cases
import machine
from recording import Recorder, check_exact

CASES = [
    case
    for case in (*cases.SINGLE, *cases.THREADED)
    if case.name in ("basic_heap", "aligned_forms", "realloc_chain-mapped", "deep_stack-400", "cross_free-full")
]


# qemu's larger pages depend on where the host's kernel puts its mappings: on some machines programs crash under them
# whatever they do. MIDDEN_TEST_PAGES=must-run makes such a crash a failure.
MUST_RUN = os.environ.get("MIDDEN_TEST_PAGES") == "must-run"


class CrashingEmulator(Recorder):
    """A recorder for an emulator that may crash by itself: says so, with its last system calls."""

    def victim(self, name, *arguments, **options):
        recording = super().victim(name, *arguments, **options)
        if recording.status == 128 + 11 and "uncaught target signal 11" in recording.stderr and not MUST_RUN:
            qemu, *rest = self.machine.command(name, *arguments)
            preload = ["-E", f"LD_PRELOAD={self.machine.library}", "-E", "MIDDEN_MODE=off"]
            traced = subprocess.run([qemu, "-strace", *preload, *rest], capture_output=True, text=True)
            last = "\n".join(traced.stderr.splitlines()[-12:])
            pytest.xfail(f"qemu crashed; without recording the program ended with {traced.returncode}:\n{last}")
        return recording


@pytest.fixture(params=(16384, 65536))
def record(request, midden, tmp_path):
    missing = machine.find_missing_cross_tool()
    if missing:
        pytest.skip(f"cannot run the other architecture's programs: {missing} is missing")
    if machine.OTHER_ARCH != "aarch64":
        pytest.skip("x86_64 has pages of one size")
    other = machine.emulated()
    qemu, *rest = other.prefix
    prefix = (qemu, "-p", request.param, *rest)
    larger = machine.Machine(other.name, other.victims, other.library, prefix)
    bare = subprocess.run(larger.command("basic_heap"), capture_output=True, text=True)
    if bare.returncode != 0:
        pytest.skip(f"qemu runs no program with pages of {request.param} bytes here: {bare.stderr.strip()}")
    return CrashingEmulator(tmp_path, larger)


@cases.each(CASES)
def test_every_figure_is_exact_with_larger_pages(record, case):
    recording, base = cases.record_case(record, case)
    check_exact(recording, base, but=case.but)


def test_a_plugin_that_comes_and_goes_is_named_with_larger_pages(record):
    plugin = record.machine.victim("plugin_one.so")
    recording = record.victim("plugin_host", "full", plugin)
    assert recording.status == 0, recording.stderr
    sites = [site for site in recording.stats["sites"] if any("plugin_one_make" in name for name in site["stack"])]
    assert sum(site["allocations"] for site in sites) == 20
