"""Calls of realloc in a sampled profile.

SPDX-License-Identifier: Apache-2.0
"""

import json
import subprocess


def test_calls_of_realloc_are_estimated_right(midden, record):
    recording = record.victim("realloc_chain", "often", options=("--sample=64K", "--sample-seed=1"))
    done = subprocess.run([midden, "report", "--realloc", "--json", recording.path], capture_output=True, check=True)
    report = json.loads(done.stdout)
    # Few of the blocks that were resized are samples themselves: what they become is.
    assert recording.stats["reallocations"] == report["counted_blocks"] == 40000
    assert report["total_blocks_low"] <= 40000 <= report["total_blocks_high"]
    assert report["total_blocks_high"] - report["total_blocks_low"] < 0.2 * 40000
