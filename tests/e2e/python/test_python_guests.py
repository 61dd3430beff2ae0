"""Stacks that other code than the interpreter's arranges: greenlets, interpreters inside of one, numpy, imports.

SPDX-License-Identifier: Apache-2.0
"""

import pytest
from interpreters import INTERPRETERS, check_equal, run_witness


@pytest.mark.parametrize("path", INTERPRETERS)
def test_every_stack_of_a_guest_is_what_python_says(record, interpreters, stacks, tmp_path, path):
    recording, wanted = run_witness(record, interpreters(path), "guests.py", tmp_path, "--max-depth", "4096")
    found = stacks(recording.path)
    check_equal(found.witnessed(), wanted)
    assert len(wanted) > 25
    assert found.totals["truncated_stacks"] == 0


def test_debian_has_every_guest_with_native_frames_too(record, debian, stacks, tmp_path):
    pytest.importorskip("greenlet")
    pytest.importorskip("numpy")
    recording, wanted = run_witness(record, debian, "guests.py", tmp_path, "--python", "full", "--max-depth", "4096")
    assert recording.stdout.decode().split() == ["greenlets", "interpreters", "numbers", "imports", "slots", "groups"]
    check_equal(stacks(recording.path).witnessed(), wanted)
