"""Programs and library built for musl, recorded by the midden of this machine; and a system with musl alone.

SPDX-License-Identifier: Apache-2.0
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import cases
import machine
from death_modes import ENDINGS
from recording import TIMEOUT_S, Recorder, check_exact, function_names, read_stats, sites_through
from truth import Truth


@pytest.fixture(scope="session")
def musl(midden):
    if not shutil.which("musl-gcc"):
        pytest.skip("musl-gcc is missing")
    return machine.musl()


@pytest.fixture
def record(musl, tmp_path):
    return Recorder(tmp_path, musl)


# C++ needs a libstdc++ for musl, which Debian does not have; and to musl a realloc to 0 bytes is not a free.
LEFT_OUT = ("new_forms", "static_objects", "realloc_chain-zero")


def of_musl(chosen):
    return [case for case in chosen if not {case.victim, case.name} & set(LEFT_OUT)]


@cases.each(of_musl(cases.SINGLE))
def test_every_figure_equals_the_victims_own_account(record, case):
    recording, base = cases.record_case(record, case)
    check_exact(recording, base)


@cases.each(of_musl(cases.THREADED))
def test_every_figure_equals_the_threads_own_accounts(record, case):
    recording, base = cases.record_case(record, case)
    check_exact(recording, base, but=case.but)
    assert recording.stats["threads"] == case.threads


@pytest.mark.parametrize("mode", ENDINGS)
def test_nothing_is_missing_after(record, mode):
    recording = record.victim("dying", mode)
    assert recording.status == ENDINGS[mode]
    check_exact(recording)


def test_stacks_reach_main(record):
    stats = record.victim("deep_stack", "100").stats
    deepest = max(stats["sites"], key=lambda site: len(site["stack"]))
    assert len(deepest["stack"]) > 100
    assert "main" in function_names(deepest)


def test_libraries_opened_later_are_named(record, musl):
    plugins = [musl.victim("plugin_one.so"), musl.victim("plugin_two.so")]
    stats = record.victim("plugin_host", "full", *plugins).stats
    for name in ("plugin_one_make", "plugin_two_make"):
        assert sum(site["allocations"] for site in sites_through(stats, name)) == 20


# ---- a system with musl's loader ---------------------------------------------------------------


def put(tree, path, source=None):
    """Copies a file of this machine to the same path below `tree`."""
    target = tree / str(path).lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source or path, target)


def lay_out(tree, musl):
    """musl as the only libc for programs; midden comes with the libraries of its own."""
    listing = subprocess.run(["ldd", machine.COMMAND], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"(/\S+) \(0x", listing):
        put(tree, library)
    loader = next(Path("/lib").glob("ld-musl-*.so.1"))
    put(tree, loader)
    put(tree, "/opt/midden", machine.COMMAND)
    put(tree, "/opt/libmidden.so", musl.library)
    put(tree, "/opt/cross_free", musl.victim("cross_free"))
    for name in ("proc", "dev", "tmp"):
        (tree / name).mkdir()
    return tree


ENTER = 'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && exec chroot "$@"'


def run_in(tree, *command):
    enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "VICTIM_TRUTH": "/tmp/truth"}
    return subprocess.run(
        [*enter, "sh", "-c", ENTER, "sh", tree, *command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


def test_a_system_with_musls_loader_alone_is_recorded(musl, tmp_path):
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        pytest.skip("a changed root directory needs root")
    tree = lay_out(tmp_path / "tree", musl)
    for mode in ("bare", "full"):
        done = run_in(tree, "/opt/midden", "record", "-o", f"/tmp/{mode}.mdn", "/opt/cross_free", mode)
        assert done.returncode == 0, done.stderr
    stats, base = (read_stats(tree / "tmp" / f"{mode}.mdn") for mode in ("full", "bare"))
    truth = Truth(tree / "tmp" / "truth").total
    for name in ("allocations", "frees", "allocated_bytes", "freed_bytes", "peak_bytes"):
        assert stats[name] == truth[name] + base[name], name
    assert stats["lost_events"] == 0
