"""Blocks are lost, or held, as memcheck and LeakSanitizer say. The table is what all of them must come to; where one of
them differs by its own rules, it is said so.

SPDX-License-Identifier: Apache-2.0
"""

import json
import re
import shutil
import subprocess

import pytest
from machine import VICTIM_SOURCES
from recording import TIMEOUT_S

DEFINITE, INDIRECT, INTERIOR, REACHABLE = "definite", "indirect", "interior", "reachable"

# What becomes of the blocks of each function of lost_shapes.c: class -> (bytes, blocks).
SHAPES = {
    "zeroed_global": {REACHABLE: (64, 1)},
    "filled_global": {REACHABLE: (64, 1)},
    "number": {REACHABLE: (64, 1)},
    "zero_bytes": {REACHABLE: (0, 1)},
    "static_local": {REACHABLE: (64, 1)},
    "held_list": {REACHABLE: (320, 5)},
    "long_list": {REACHABLE: (32000, 1000)},
    "held_circle": {REACHABLE: (192, 2)},
    "held_from_the_middle": {REACHABLE: (448, 3)},
    "held_tree": {REACHABLE: (31 * 64, 31)},
    "start_and_inside": {REACHABLE: (64, 1)},
    "big_holder": {REACHABLE: ((4 << 20) + 64, 2)},
    "environment": {REACHABLE: (64, 1)},
    "inside": {INTERIOR: (64, 1)},
    "inside_over_a_block": {REACHABLE: (64, 1), INTERIOR: (128, 1)},
    "behind_an_inside": {INTERIOR: (448, 3)},
    "lost": {DEFINITE: (64, 1)},
    "overwritten": {DEFINITE: (64, 1), REACHABLE: (128, 1)},
    "hidden": {DEFINITE: (64, 1)},
    "past_its_end": {DEFINITE: (100, 1)},
    "unaligned": {DEFINITE: (64, 1)},
    "lost_zero_bytes": {DEFINITE: (0, 1)},
    "lost_big": {DEFINITE: (1 << 20, 1)},
    "lost_list": {DEFINITE: (64, 1), INDIRECT: (384, 2)},
    "lost_tree": {DEFINITE: (64, 1), INDIRECT: (14 * 64, 14)},
    "lost_circle": {DEFINITE: (64, 1), INDIRECT: (128, 2)},
    "lost_into_circle": {DEFINITE: (128, 1), INDIRECT: (128, 2)},
    "points_to_itself": {DEFINITE: (64, 1)},
    "two_share_one": {DEFINITE: (128, 2), INDIRECT: (128, 1)},
    "lost_inside": {DEFINITE: (64, 1), INDIRECT: (128, 1)},
    "holder_freed": {DEFINITE: (128, 1)},
    "lost_by_realloc": {DEFINITE: (192, 2)},
    "dead_frames": {DEFINITE: (256, 4)},
    "main_local": {REACHABLE: (64, 1)},
    "mapped": {REACHABLE: (64, 1)},
    "mapped_at_64_mib": {REACHABLE: (64, 1)},
    "coroutine": {REACHABLE: (64, 1)},
    "coroutine_stack": {REACHABLE: (65536, 1)},
    "main_stack": {REACHABLE: (64, 1)},
    "thread_local": {REACHABLE: (64, 1)},
    "thread_specific": {REACHABLE: (64, 1)},
    "thread_stack": {REACHABLE: (64, 1)},
    "thread_register": {REACHABLE: (64, 1)},
    "thread_vector": {DEFINITE: (64, 1)},
    "ended_thread": {DEFINITE: (64, 1)},
}

# LeakSanitizer looks at no memory that was mapped, and at all vector registers of threads that wait; a whole circle is
# indirect for it; a block of no bytes has one.
LSAN_OTHERWISE = {
    "mapped": {DEFINITE: (64, 1)},
    "mapped_at_64_mib": {DEFINITE: (64, 1)},
    "thread_vector": {},
    "lost_circle": {INDIRECT: (192, 3)},
    "lost_zero_bytes": {DEFINITE: (1, 1)},
}


def add(found, stack, wanted, kind, size):
    """Counts (bytes, blocks) for the function PREFIX_NAME of a stack that is a text."""
    name = re.search(rf"\b{wanted}_(\w+)", stack)
    if name:
        before = found.setdefault(name.group(1), {}).get(kind, (0, 0))
        found[name.group(1)][kind] = (before[0] + size[0], before[1] + size[1])


def read_leaks(midden, *arguments):
    done = subprocess.run(
        [midden, "leaks", "--json", "--show", "all", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def by_function(leaks, prefix, maker=""):
    """The classes by function; of blocks that `maker` has made, if it is given."""
    found = {}
    for row in leaks["stacks"]:
        if maker in row["stack"][0].split(" ")[0]:
            add(found, "\n".join(row["stack"]), prefix, row["class"], (row["bytes"], row["blocks"]))
    return found


def chain_of(leaks, function, kind=REACHABLE):
    return [
        row["chain"] for row in leaks["stacks"] if row["class"] == kind and any(function in f for f in row["stack"])
    ][0]


def test_blocks_are_lost_or_held_as_the_table_says_at_exit(record, midden, need_victim):
    recording = record.victim(need_victim("lost_shapes"), options=("--leaks",))
    assert recording.status == 7
    leaks = read_leaks(midden, recording.path)
    assert by_function(leaks, "shape", "block") == SHAPES
    assert leaks["at_exit"] and leaks["stopped"] and leaks["all_blocks_known"]
    assert leaks["unread_bytes"] == 0
    stats = recording.stats
    for figure, whole in (("bytes", "leaked_bytes"), ("blocks", "leaked_blocks")):
        assert sum(row[figure] for row in leaks["classes"].values()) + leaks["suppressed"][figure] == stats[whole]


@pytest.mark.parametrize("allocator", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"])
def test_other_allocators_make_no_difference(record, midden, need_victim, allocator):
    recording = record.victim(need_victim("lost_shapes"), options=("--leaks",), env={"LD_PRELOAD": allocator})
    if "cannot be preloaded" in recording.stderr:
        pytest.skip(f"{allocator} is not here")
    assert recording.status == 7
    found = by_function(read_leaks(midden, recording.path), "shape", "block")
    # Where an allocator puts a new block on the place of a freed one, what pointed there still does; and its tables may
    # hold a pointer to a big block.
    for name in ("holder_freed", "lost_by_realloc", "lost_big", "lost_circle"):
        assert sum(blocks for _, blocks in found.pop(name).values()) == sum(b for _, b in SHAPES[name].values())
    assert found == {name: classes for name, classes in SHAPES.items() if name in found}
    assert len(found) == len(SHAPES) - 4


def test_chains_name_what_holds_a_block(record, midden, need_victim):
    leaks = read_leaks(midden, record.victim(need_victim("lost_shapes"), options=("--leaks",)).path)
    kinds = {
        name: [link["kind"] for link in chain_of(leaks, f"shape_{name}")]
        for name in ("zeroed_global", "main_stack", "thread_register", "mapped", "thread_local")
    }
    assert kinds == {
        "zeroed_global": ["block", "variable"],
        "main_stack": ["block", "stack"],
        "thread_register": ["block", "register"],
        "mapped": ["block", "mapping"],
        "thread_local": ["block", "thread-local"],
    }
    inside = chain_of(leaks, "shape_inside_over_a_block", INTERIOR)
    assert [(link["offset_in_holder"], link["offset_inside"]) for link in inside[:1]] == [(8, 32)]
    lost = chain_of(leaks, "shape_lost_list", INDIRECT)
    assert [link["kind"] for link in lost] == ["block"] * 3


def ask_memcheck(command):
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    done = subprocess.run(
        ["valgrind", "--leak-check=full", "--show-leak-kinds=all", "--run-libc-freeres=no", "--num-callers=20", *command],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 7
    text = re.sub(r"^==\d+== ?", "", done.stderr, flags=re.M)
    names = {"definitely": DEFINITE, "indirectly": INDIRECT, "possibly": INTERIOR, "still": REACHABLE}
    found = {}
    size = r"^ *([\d,]+) (?:\(([\d,]+) direct.*\) )?bytes in ([\d,]+) blocks"
    record = re.compile(size + r" are (\w+) .*\n((?:.+\n)*)", re.M)
    for whole, direct, blocks, kind, stack in record.findall(text):
        if " block (" in stack:
            size = (int((direct or whole).replace(",", "")), int(blocks.replace(",", "")))
            add(found, stack, "shape", names[kind], size)
    return found


def test_memcheck_agrees(native, need_victim):
    assert ask_memcheck(native.command(need_victim("lost_shapes"))) == SHAPES


# What lost_shapes.c can do alone, as a program of its own, and which functions that are.
ALONE = {name: {name} for name in SHAPES}
del ALONE["coroutine_stack"], ALONE["main_stack"]
ALONE["coroutine"] = {"coroutine", "coroutine_stack"}
ALONE["threads"] = {name for name in SHAPES if "thread" in name}
for name in ALONE["threads"]:
    del ALONE[name]


@pytest.mark.parametrize("name", ALONE)
def test_each_alone_is_as_memcheck_says(record, midden, native, need_victim, name):
    victim = need_victim("lost_shapes")
    wanted = {function: SHAPES[function] for function in ALONE[name] | {"main_stack"}}
    recording = record.victim(victim, "only", name, options=("--leaks",))
    assert recording.status == 7
    assert by_function(read_leaks(midden, recording.path), "shape", "block") == wanted
    assert ask_memcheck(native.command(victim, "only", name)) == wanted


EXITS = {
    (): {"buried": {DEFINITE: (64, 1)}},
    ("exit",): {"buried": {DEFINITE: (64, 1)}, "in_a_frame": {REACHABLE: (64, 1)}},
    ("register",): {"buried": {DEFINITE: (64, 1)}, "in_a_register": {REACHABLE: (64, 1)}},
}


@pytest.mark.parametrize("how", EXITS)
def test_what_lies_in_the_frames_of_exit_holds_nothing(record, midden, native, need_victim, how):
    victim = need_victim("lost_exit")
    recording = record.victim(victim, *how, options=("--leaks",))
    assert recording.status == 7
    assert by_function(read_leaks(midden, recording.path), "shape", "block") == EXITS[how]
    assert ask_memcheck(native.command(victim, *how)) == EXITS[how]


def test_leak_sanitizer_agrees(tmp_path):
    program = tmp_path / "lost_shapes"
    clang = shutil.which("clang")
    source = VICTIM_SOURCES / "lost_shapes.c"
    build = [clang, "-std=gnu11", "-g", "-D_GNU_SOURCE", "-fsanitize=leak", "-pthread", source, "-o", program]
    if not clang or subprocess.run(build, capture_output=True).returncode:
        pytest.skip("clang or its sanitizers are not installed")
    done = subprocess.run([program], capture_output=True, text=True, timeout=TIMEOUT_S)
    if "LeakSanitizer has encountered a fatal error" in done.stderr:
        pytest.skip("LeakSanitizer cannot stop threads here")
    found = {}
    record = re.compile(r"^(Direct|Indirect) leak of (\d+) byte.* in (\d+) object.*\n((?:.+\n)*)", re.M)
    for kind, size, blocks, stack in record.findall(done.stderr):
        add(found, stack, "shape", {"Direct": DEFINITE, "Indirect": INDIRECT}[kind], (int(size), int(blocks)))
    lost = {
        name: {kind: size for kind, size in classes.items() if kind in (DEFINITE, INDIRECT)}
        for name, classes in {**SHAPES, **LSAN_OTHERWISE}.items()
    }
    # A copy of the pointer may stay in what the compiler has left on the stack.
    lost.pop("unaligned")
    found.pop("unaligned", None)
    assert found == {name: classes for name, classes in lost.items() if classes}


def test_objects_of_cpp_that_are_held_by_their_inside_are_reachable(record, midden, need_victim):
    recording = record.victim(need_victim("lost_objects"), options=("--leaks",))
    assert recording.status == 5
    found = by_function(read_leaks(midden, recording.path), "object")
    kinds = {name: set(classes) for name, classes in found.items()}
    assert kinds.pop("lost_vector") == {DEFINITE, INDIRECT}
    assert kinds == {name: {REACHABLE} for name in ("array", "second_base", "vector", "map", "shared")}
    assert found["lost_vector"][DEFINITE] == (24, 1)
    assert found["lost_vector"][INDIRECT][1] == 5


def test_what_the_loader_holds_by_its_inside_is_known(record, midden, need_victim):
    plugin = record.machine.victim("plugin_one.so")
    recording = record.victim(need_victim("plugin_host"), "full", str(plugin), options=("--leaks",))
    all_of_it = read_leaks(midden, "--no-suppressions", recording.path)
    held = [s for s in all_of_it["stacks"] if s["class"] == "interior" and "_dlfo" in json.dumps(s)]
    if not held:
        pytest.skip("the loader keeps none, or has no names")
    leaks = read_leaks(midden, recording.path)
    assert leaks["classes"]["interior"]["blocks"] == 0
    assert leaks["classes"]["definite"]["blocks"] == 10
    assert leaks["suppressed"]["bytes"] == sum(s["bytes"] for s in held)


def test_merged_profiles_have_lost_what_each_has_lost(record, midden, need_victim, tmp_path):
    profile = record.victim(need_victim("lost_shapes"), options=("--leaks",)).path
    both = tmp_path / "both.mdn"
    subprocess.run([midden, "merge", "-q", "-o", both, profile, profile], check=True, timeout=TIMEOUT_S)
    one, two = read_leaks(midden, profile), read_leaks(midden, both)
    for kind, sums in one["classes"].items():
        assert two["classes"][kind] == {key: 2 * value for key, value in sums.items()} and sums["blocks"]
    assert (one["merge"], one["processes"]) == (None, 1) and one["pid"] > 0
    assert (two["merge"], two["processes"], two["pid"]) == ("sum", 2, None)
    text = subprocess.run([midden, "leaks", both], capture_output=True, text=True, timeout=TIMEOUT_S).stdout
    assert text.splitlines()[0] == "lost_shapes, 2 processes together"
    # Chains keep the names of what holds: those of one of the two.
    ends = [{stack["chain"][-1].get("text") for stack in leaks["stacks"] if stack["chain"]} for leaks in (one, two)]
    assert ends[0] == ends[1] and any("variable" in str(text) for text in ends[0])


def test_what_is_mapped_beside_large_blocks_holds_blocks(record, midden):
    recording = record.victim("lost_joined", options=("--leaks",))
    classes = read_leaks(midden, recording.path)["classes"]
    if recording.truth.notes[0] != 1:
        pytest.skip("the kernel has not joined them")
    assert (classes[DEFINITE]["bytes"], classes[DEFINITE]["blocks"]) == (300, 1)
    assert classes[REACHABLE]["bytes"] >= 100 * 1000 + 500 + (1 << 20) - 4096
    assert classes[INTERIOR]["blocks"] == classes[INDIRECT]["blocks"] == 0
