"""Profiles made on one architecture, read by the midden of the other: the same reports.

tools/portability.py runs this with MIDDEN_BUILD for the other architecture and MIDDEN_TEST_HERE, the directory of
a build for this one.

SPDX-License-Identifier: Apache-2.0
"""

import os
import subprocess
from pathlib import Path

import pytest

import machine
from recording import TIMEOUT_S, Recorder

HERE = os.environ.get("MIDDEN_TEST_HERE")
READINGS = (
    ("report",),
    ("report", "--leaks", "--tree"),
    ("report", "--flat", "--calls"),
    ("stats", "--json", "--sites", "--points"),
    ("export", "-f", "collapsed"),
    ("export", "-f", "callgrind"),
)


@pytest.fixture(scope="session")
def commands(midden):
    if not HERE or not machine.EMULATOR:
        pytest.skip("needs builds of midden for both architectures: make test-portability")
    return Path(HERE) / "midden", midden


def output_of(command, words, path):
    done = subprocess.run([command, *words, path], capture_output=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.fixture
def profiles(commands, tmp_path):
    """(one made there, one made here)"""
    there = Recorder(tmp_path, machine.native()).victim("deep_stack", "20")
    made_here = tmp_path / "here.mdn"
    # Any program of this machine will do.
    done = subprocess.run(
        [commands[0], "record", "-q", "-o", made_here, "/bin/ls", "/"],
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr.decode()
    return there.path, made_here


def test_both_read_each_others_profiles_alike(commands, profiles):
    for path in profiles:
        for words in READINGS:
            here, there = (output_of(command, words, path) for command in commands)
            assert here, f"{words}: nothing"
            assert here == there, f"{words} of {path.name}"
