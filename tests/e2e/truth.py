"""The page in which a victim keeps its own account (tests/victims/truth.h), read from outside.

SPDX-License-Identifier: Apache-2.0
"""

import struct

SLOT_NAMES = (
    "allocations",
    "frees",
    "allocated_bytes",
    "freed_bytes",
    "temporary_allocations",
    "reallocations",
    "failed_allocations",
    "peak_bytes",
    "peak_blocks",
)
HEAD_WORDS = 16
NOTES = 12
SLOT_WORDS = 16

# What a victim counts event by event; peaks are not sums.
SUMMED = SLOT_NAMES[:7]


class Truth:
    """What the victim says it did. `slots` are its threads, `total` their sum, `notes` its own remarks."""

    def __init__(self, path):
        with open(path, "rb") as page:
            head = struct.unpack(f"<{HEAD_WORDS}Q", page.read(8 * HEAD_WORDS))
            used, peak_bytes, peak_blocks, peak_set = head[:4]
            self.notes = head[4 : 4 + NOTES]
            rows = page.read(8 * SLOT_WORDS * used)
        words = struct.iter_unpack(f"<{SLOT_WORDS}Q", rows)
        self.slots = [dict(zip(SLOT_NAMES, row)) for row in words]
        self.total = {name: sum(slot[name] for slot in self.slots) for name in SUMMED}
        first = self.slots[0] if self.slots else dict.fromkeys(SLOT_NAMES, 0)
        self.total["peak_bytes"] = peak_bytes if peak_set else first["peak_bytes"]
        self.total["peak_blocks"] = peak_blocks if peak_set else first["peak_blocks"]
        self.total["leaked_bytes"] = self.total["allocated_bytes"] - self.total["freed_bytes"]
        self.total["leaked_blocks"] = self.total["allocations"] - self.total["frees"]
