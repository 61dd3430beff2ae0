"""Pages of 16 and 64 KiB, as on some aarch64 machines, under qemu-user.

SPDX-License-Identifier: Apache-2.0
"""

import os
import shutil
from pathlib import Path

import pytest

import cases
import machine
from recording import Recorder, check_exact

CASES = [
    case
    for case in (*cases.SINGLE, *cases.THREADED)
    if case.name in ("basic_heap", "aligned_forms", "realloc_chain-mapped", "deep_stack-400", "cross_free-full")
]


# What a larger page holds behind the end of a file belongs to the program too: the loader's first heap, and libc's last
# variables. qemu 7.2 does not know them for the program's, and answers with EFAULT or SIGSEGV where it checks (getrandom,
# `dc zva`); what lies there depends on the length of paths. So all files are given copies that are a page longer.
PAGE_MOST = 65536


def copy_longer(source, target):
    shutil.copyfile(source, target)
    shutil.copymode(source, target)
    os.truncate(target, target.stat().st_size + PAGE_MOST)


@pytest.fixture(scope="module")
def longer(midden, tmp_path_factory):
    """The other architecture's machine, of files that are a page longer."""
    missing = machine.find_missing_cross_tool()
    if missing:
        pytest.skip(f"cannot run the other architecture's programs: {missing} is missing")
    if machine.OTHER_ARCH != "aarch64":
        pytest.skip("x86_64 has pages of one size")
    other = machine.emulated()
    root = tmp_path_factory.mktemp("longer")
    libraries, victims = root / "lib", root / "victims"
    libraries.mkdir()
    victims.mkdir()
    for library in Path("/usr/aarch64-linux-gnu/lib").glob("*.so.[0-9]"):
        copy_longer(library, libraries / library.name)
    for victim in other.victims.glob("[!.]*"):
        copy_longer(victim, victims / victim.name)
    copy_longer(other.library, root / "libmidden.so")
    prefix = (other.prefix[0], "-L", root, "-E", f"LD_LIBRARY_PATH={libraries}")
    return machine.Machine(other.name, victims, root / "libmidden.so", prefix)


@pytest.fixture(params=(16384, PAGE_MOST))
def record(request, longer, tmp_path):
    qemu, *rest = longer.prefix
    prefix = (qemu, "-p", request.param, *rest)
    return Recorder(tmp_path, machine.Machine(longer.name, longer.victims, longer.library, prefix))


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
