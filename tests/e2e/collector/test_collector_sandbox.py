"""Sandboxes that forbid a program to read its own memory through the kernel.

SPDX-License-Identifier: Apache-2.0
"""

import json
import subprocess

import pytest

from recording import COUNTED, PEAKS, TIMEOUT_S, check_consistent, read_stats
from truth import Truth

WARNING = "process_vm_readv is not allowed here"


def record_denied(midden, native, tmp_path, victim, *arguments):
    path, truth = tmp_path / "denied.mdn", tmp_path / "denied.truth"
    done = subprocess.run(
        [native.victim("deny_reads"), midden, "record", "-o", path, native.victim(victim), *arguments],
        env={"VICTIM_TRUTH": str(truth)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done, read_stats(path, "--sites", "--points"), Truth(truth).total


@pytest.mark.parametrize("victim, arguments", (("basic_heap", ()), ("deep_stack", ("400",))))
def test_all_figures_and_stacks_are_there_and_the_limits_are_named(midden, native, tmp_path, victim, arguments):
    done, stats, truth = record_denied(midden, native, tmp_path, victim, *arguments)
    assert WARNING in done.stderr
    assert {name: stats[name] for name in COUNTED + PEAKS} == {name: truth[name] for name in COUNTED + PEAKS}
    assert stats["truncated_stacks"] == 0, json.dumps(stats["sites"])
    check_consistent(stats)


def test_nothing_is_said_where_reading_is_allowed(midden, native, tmp_path):
    done = subprocess.run(
        [midden, "record", "-o", tmp_path / "free.mdn", native.victim("basic_heap")],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0
    assert WARNING not in done.stderr
