"""The other architecture under qemu-user: exactness and death, with the same victims.

`midden` runs here, the library there: MIDDEN_CROSS_BUILD names its build directory, otherwise it is built.

SPDX-License-Identifier: Apache-2.0
"""

import dataclasses

import pytest

import cases
import machine
from death_modes import ENDINGS
from recording import Recorder, check_exact


@pytest.fixture(scope="session")
def other(midden):
    missing = machine.find_missing_cross_tool()
    if missing:
        pytest.skip(f"cannot run the other architecture's programs: {missing} is missing")
    return machine.emulated()


@pytest.fixture
def record(other, tmp_path):
    return Recorder(tmp_path, other)


def slimmed(case):
    """Ten thousand threads take an emulator a minute: a tenth of them must do."""
    if case.victim != "short_threads":
        return case
    return dataclasses.replace(case, arguments=("full", "20"), bare=("bare", "20"), threads=1001)


@cases.each(cases.SINGLE)
def test_every_figure_equals_the_victims_own_account(record, case):
    recording, base = cases.record_case(record, case)
    check_exact(recording, base)


@cases.each([slimmed(case) for case in cases.THREADED])
def test_every_figure_equals_the_threads_own_accounts(record, case):
    recording, base = cases.record_case(record, case)
    check_exact(recording, base, but=case.but)
    assert recording.stats["threads"] == case.threads


@pytest.mark.parametrize("mode", ENDINGS)
def test_nothing_is_missing_after(record, mode):
    recording = record.victim("dying", mode)
    assert recording.status == ENDINGS[mode]
    check_exact(recording)


def test_nothing_is_missing_when_the_program_becomes_another(record):
    recording = record.victim("dying", "exec", 10000, "/bin/echo", "another program")
    assert (recording.status, recording.stdout) == (0, b"another program\n")
    check_exact(recording)


def test_the_profile_names_the_other_machine(record, other):
    assert record.victim("basic_heap").stats["machine"] == other.name
