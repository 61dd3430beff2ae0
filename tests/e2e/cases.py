"""The victims whose whole heap is known: what to run and what to hold it against.

Used on this machine by exact/ and on the other architecture by crossarch/.

SPDX-License-Identifier: Apache-2.0
"""

from dataclasses import dataclass, field

import pytest


@dataclass
class Case:
    victim: str
    arguments: tuple = ()
    bare: tuple = None  # arguments of the run that shows what libc and libstdc++ allocate; None: nothing
    env: dict = field(default_factory=dict)
    bare_env: dict = field(default_factory=dict)
    but: tuple = ()  # figures that are not sums of the two runs
    threads: int = 1

    @property
    def name(self):
        return "-".join((self.victim, *self.arguments))


SINGLE = [
    Case("basic_heap"),
    *(Case("peak_places", (mode,)) for mode in ("middle", "end", "never", "tie")),
    *(Case("realloc_chain", (mode,)) for mode in ("moved", "inplace", "null", "zero", "fail", "mapped")),
    Case("aligned_forms"),
    *(Case("zero_failing", (mode,)) for mode in ("zero", "errno")),
    Case("temporaries"),
    Case("libc_strings"),
    Case("block_shapes"),
    Case("deep_stack", ("400",)),
    *(Case("new_forms", (mode,), bare=("bare",)) for mode in ("forms", "objects", "zero", "throwing")),
]

# A victim whose every call fails never has a block, nor an event: only the failures are there to see.
FAILING = Case("zero_failing", ("fail",))

# The list entry that libc makes for a thread_local destructor is temporary in the bare run, and not in the
# full one, where other allocations lie between.
STATIC = Case(
    "static_objects",
    env={"VICTIM_MODE": "full"},
    bare=(),
    bare_env={"VICTIM_MODE": "bare"},
    but=("temporary_allocations",),
    threads=2,
)

THREADED = [
    STATIC,
    Case("cross_free", ("full",), bare=("bare",), threads=9),
    Case("short_threads", ("full",), bare=("bare",), threads=10001),
    Case("named_threads", ("full",), bare=("bare",), threads=5),
]


def each(cases):
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def record_case(record, case):
    """(the recording, the stats of the bare run or None)"""
    recording = record.victim(case.victim, *case.arguments, env=case.env)
    assert recording.status == 0, recording.stderr
    base = None
    if case.bare is not None:
        base = record.victim(case.victim, *case.bare, env=case.bare_env).stats
    return recording, base
