"""Signal handlers that do to a hook what handlers are not expected to do.

SPDX-License-Identifier: Apache-2.0
"""

import pytest


@pytest.fixture
def own_allocator(native):
    """The environment in which a handler may leave or copy the allocator at any point."""
    return {"LD_PRELOAD": str(native.victim("own_allocator.so"))}


@pytest.mark.parametrize("arguments", ((), ("alternate",)), ids=("same-stack", "alternate-stack"))
def test_a_thread_whose_handler_jumped_out_of_a_hook_goes_on_being_recorded(record, own_allocator, arguments):
    recording = record.victim("signal_jump", *arguments, env=own_allocator)
    assert recording.status == 0, recording.stderr
    stats = recording.stats
    # What a hook was about to record when it was left is lost, and counted.
    assert 0 < stats["lost_events"] <= 200
    assert stats["reentrant_calls"] == 0
    assert stats["leaked_blocks"] in range(1000, 1000 + 201)
    assert stats["leaked_bytes"] >= 1000 * 1000
