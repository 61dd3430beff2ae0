"""Programs whose profiles are exported, and the export itself.

SPDX-License-Identifier: Apache-2.0
"""

import re
import shutil
import subprocess

import pytest

from machine import COMMAND, ROOT

# Legal as symbols, and each hostile to some format.
ODD_NAMES = (
    'quo"te',
    "less<&lt;>&amp;more",
    "new\nline\ttab",
    "(2) paren",
    "café_日本",
    "sp ace 12",
    "f()::{lambda#1}",
    "back\\slash\\n\\N",
    "semi;colon %s %n",
    "fn=(1)",
    "long" * 2500,
)

# A chain of functions, each of which allocates 100 times its place in the chain and leaks it; the last one then
# calls itself four times over, with 1,000 bytes each time, and a library that has no name for its inner function,
# which leaks 777 bytes.
ODD_HEAD = """
#include <stdlib.h>
void *bare_outer(void);
void *kept[64];
int count;
void recur(int left) { kept[count++] = malloc(1000); if (left > 1) recur(left - 1); else kept[count++] = bare_outer(); }
"""
BARE = """
#include <stdlib.h>
__attribute__((noinline)) static void *inner(void) { void *block = malloc(777); __asm__("" : : "r"(block)); return block; }
void *bare_outer(void) { void *block = inner(); __asm__("" : : "r"(block)); return block; }
"""
ODD_BYTES = 4 * 1000 + 777 + sum(100 * (i + 1) for i in range(len(ODD_NAMES)))
ODD_BLOCKS = 4 + 1 + len(ODD_NAMES)


def run(*command, complaints="", **options):
    """What a command prints; it must succeed, and complain of nothing but what matches `complaints`."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0 and re.fullmatch(complaints, done.stderr), f"{command[0]}: {done.stderr}"
    return done.stdout


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")


def build_odd_names(directory):
    """A program whose functions are called ODD_NAMES, without any debug information."""
    need("gcc", "objcopy")
    last = len(ODD_NAMES) - 1
    functions = [
        f"void odd_{i}(void) {{ kept[count++] = malloc({100 * (i + 1)}); {'recur(4)' if i == last else f'odd_{i + 1}()'}; }}"
        for i in reversed(range(len(ODD_NAMES)))
    ]
    (directory / "odd.c").write_text("\n".join([ODD_HEAD, *functions, "int main(void) { odd_0(); return 0; }\n"]))
    (directory / "bare.c").write_text(BARE)
    flags = ("-O0", "-w", "-fno-omit-frame-pointer")
    renames = [f"--redefine-sym=odd_{i}={name}" for i, name in enumerate(ODD_NAMES)]
    run("gcc", *flags, "-fPIC", "-shared", "-s", "bare.c", "-o", "libbare.so", cwd=directory)
    run("gcc", *flags, "-c", "odd.c", "-o", "plain.o", cwd=directory)
    run("objcopy", *renames, "plain.o", "odd.o", cwd=directory)
    run("gcc", "odd.o", "-o", "odd", "-L.", "-lbare", f"-Wl,-rpath,{directory}", cwd=directory)
    return directory / "odd"


def build_orchard(directory):
    """Four threads, recursion, tens of thousands of stacks."""
    need("gcc")
    run("gcc", "-O1", "-g", ROOT / "examples" / "orchard.c", "-o", directory / "orchard", "-pthread")
    return directory / "orchard"


def build_nothing(directory):
    """A program that allocates nothing."""
    need("gcc")
    (directory / "nothing.c").write_text("int main(void) { return 0; }\n")
    run("gcc", "nothing.c", "-o", "nothing", cwd=directory)
    return directory / "nothing"


PROGRAMS = ("basic_heap", "nothing", "odd", "orchard", "static_objects")


def record_program(name, record, directory):
    """The recording of one of PROGRAMS."""
    build = {"odd": build_odd_names, "orchard": build_orchard, "nothing": build_nothing}.get(name)
    recording = record.run([build(directory)]) if build else record.victim(name)
    assert recording.status == 0, recording.stderr
    if name == "odd":
        assert (recording.stats["leaked_bytes"], recording.stats["leaked_blocks"]) == (ODD_BYTES, ODD_BLOCKS)
    return recording


def export(recording, form, *options):
    """The path of an export beside the recording's profile."""
    out = recording.path.with_suffix(f".{form}.out")
    run(COMMAND, "export", "-f", form, "-o", out, *options, recording.path)
    return out
