"""Other allocators underneath, linked or preloaded, are recorded as exactly as libc's own.

SPDX-License-Identifier: Apache-2.0
"""

import subprocess

import pytest

from recording import check_exact

LIBRARIES = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}

EACH = pytest.mark.parametrize("allocator", LIBRARIES)

# realloc_chain `zero` is left out: what realloc(p, 0) does is the allocator's choice.
C_VICTIMS = (
    ("basic_heap", ()),
    ("realloc_chain", ("moved",)),
    ("realloc_chain", ("null",)),
    ("realloc_chain", ("inplace",)),
)


def find_library(allocator):
    """The library's path, or a skip."""
    name = LIBRARIES[allocator]
    listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    for line in listing.splitlines():
        if line.strip().startswith(name + " "):
            return line.rpartition("=> ")[2]
    pytest.skip(f"{name} is not installed")


def record_with(record, victim, arguments, env=None):
    """A run of a victim and one that does nothing of its own, under the same allocator."""
    recording = record.victim(victim, *arguments, env=env)
    assert recording.status == 0, recording.stderr
    base = record.victim(victim, "bare", env=env).stats if "bare" not in arguments else None
    return recording, base


@EACH
@pytest.mark.parametrize(
    "victim, arguments", C_VICTIMS, ids=lambda value: "-".join(value) if isinstance(value, tuple) else value
)
def test_a_preloaded_allocator_is_recorded_exactly(record, allocator, victim, arguments):
    env = {"LD_PRELOAD": find_library(allocator)}
    recording = record.victim(victim, *arguments, env=env)
    assert recording.status == 0, recording.stderr
    check_exact(recording, base=idle_heap(record, "temporaries", env))


@pytest.mark.parametrize("mode", ("moved", "null"))
def test_a_realloc_that_goes_through_malloc_and_free_is_counted_once(record, native, mode):
    env = {"LD_PRELOAD": str(native.victim("own_allocator.so"))}
    recording = record.victim("realloc_chain", mode, env=env)
    assert recording.status == 0, recording.stderr
    check_exact(recording)


def idle_heap(record, victim, env):
    """What the allocator's library (and libstdc++ behind it) allocates in any program: the heap of a known victim
    beyond that victim's own account. It is never freed, and is there from the start."""
    recording = record.victim(victim, env=env)
    stats, truth = recording.stats, recording.truth.total
    return {name: stats[name] - truth[name] for name in truth}


@EACH
@pytest.mark.parametrize(
    "victim, arguments", C_VICTIMS, ids=lambda value: "-".join(value) if isinstance(value, tuple) else value
)
def test_a_linked_allocator_is_recorded_exactly(record, need_victim, allocator, victim, arguments):
    linked = need_victim(f"{victim}_{allocator}")
    recording = record.victim(linked, *arguments)
    assert recording.status == 0, recording.stderr
    check_exact(recording, base=idle_heap(record, f"basic_heap_{allocator}", None))


@EACH
@pytest.mark.parametrize("how", ("linked", "preloaded"))
@pytest.mark.parametrize("mode", ("forms", "objects"))
def test_the_allocators_own_operator_new_is_recorded_exactly(record, need_victim, allocator, how, mode):
    victim = need_victim(f"new_forms_{allocator}" if how == "linked" else "new_forms")
    env = {"LD_PRELOAD": find_library(allocator)} if how == "preloaded" else None
    recording, base = record_with(record, victim, (mode,), env)
    check_exact(recording, base)


@EACH
def test_threads_that_free_each_others_blocks_are_recorded_exactly(record, need_victim, allocator, repeat):
    victim = need_victim(f"cross_free_{allocator}")
    recording, base = record_with(record, victim, ("full",))
    check_exact(recording, base)


@EACH
def test_the_allocators_own_interface_is_recorded_exactly(record, need_victim, allocator):
    victim = need_victim(f"direct_{allocator}")
    recording, base = record_with(record, victim, ("full",))
    check_exact(recording, base)


def test_jemallocs_resize_in_place_is_a_reallocation(record, need_victim):
    recording, base = record_with(record, need_victim("direct_jemalloc"), ("xallocx",))
    check_exact(recording, base)
    assert recording.stats["reallocations"] == 100


@EACH
def test_the_allocator_underneath_is_the_one_that_serves(record, native, allocator):
    # A recorder that went to libc regardless would leave these libraries unused: their blocks look different.
    library = find_library(allocator)
    plain = subprocess.run(native.command("block_shapes"), env={"LD_PRELOAD": library}, capture_output=True)
    recording = record.victim("block_shapes", env={"LD_PRELOAD": library})
    sizes = [[line.split()[0] for line in output.splitlines()] for output in (plain.stdout, recording.stdout)]
    assert sizes[0] == sizes[1]
