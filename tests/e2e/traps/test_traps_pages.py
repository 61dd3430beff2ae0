"""Pages of 16 and 64 KiB, as on some aarch64 machines, under qemu-user.

SPDX-License-Identifier: Apache-2.0
"""

import pytest

import cases
import machine
from recording import Recorder, check_exact

CASES = [
    case
    for case in (*cases.SINGLE, *cases.THREADED)
    if case.name in ("basic_heap", "aligned_forms", "realloc_chain-mapped", "deep_stack-400", "cross_free-full")
]


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
    return Recorder(tmp_path, machine.Machine(other.name, other.victims, other.library, prefix))


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
