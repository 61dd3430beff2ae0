"""The built library: what it takes, what it gives, what it needs. And headers, each compiled alone.

SPDX-License-Identifier: Apache-2.0
"""

import os
import platform
import re
import shutil
from pathlib import Path

import pytest

import tree

BUILD = Path(os.environ.get("MIDDEN_BUILD", tree.ROOT / "build"))
LIBRARY = BUILD / "libmidden.so"
# Another machine's header holds that machine's instructions.
HEADERS = [
    path
    for path in tree.files("src/**/*.h", "include/**/*.h")
    if path.parent.name != "arch" or path.stem == platform.machine()
]


@pytest.fixture(scope="module")
def library():
    if not LIBRARY.exists():
        pytest.fail(f"{LIBRARY} is missing: run make first", pytrace=False)
    return LIBRARY


def dynamic_names(library, which):
    done = tree.run("nm", "-D", which, library)
    assert done.returncode == 0, done.stderr
    return {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}


def listed_imports():
    """The words of imports.txt: a name per line, `#` starts a comment, [machine] after a name restricts it."""
    names = set()
    for line in tree.read("src/capture/imports.txt").splitlines():
        words = line.partition("#")[0].split()
        if words and (len(words) == 1 or f"[{platform.machine()}]" in words[1:]):
            names.add(words[0])
    return names


def listed_exports():
    text = re.sub(r"/\*.*?\*/", "", tree.read("src/capture/exports.map"), flags=re.S)
    public = re.search(r"global:(.*?)local:", text, re.S)[1]
    return set(re.findall(r"[\w]+(?=;)", public))


def test_what_comes_in_is_what_the_list_says(library):
    assert dynamic_names(library, "--undefined-only") == listed_imports()


def test_what_leaves_is_what_the_map_says(library):
    assert dynamic_names(library, "--defined-only") == listed_exports()


def test_only_libc_is_needed(library):
    done = tree.run("readelf", "-d", library)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout)
    assert [name for name in needed if not re.match(r"(libc\.so|ld-linux)", name)] == []
    assert any(name.startswith("libc.so") for name in needed)


def test_the_library_runs_nothing_from_a_writable_or_executable_stack(library):
    done = tree.run("readelf", "-lW", library)
    stack = next(line for line in done.stdout.splitlines() if "GNU_STACK" in line)
    assert " E " not in stack.replace("RWE", " E ")


def test_thread_local_storage_is_reached_without_a_call(library):
    # The dynamic TLS models call __tls_get_addr, which may call malloc.
    assert "__tls_get_addr" not in dynamic_names(library, "--undefined-only")


def test_what_is_copied_refers_to_nothing_but_itself(library):
    """Code that nearby.c copies elsewhere: jumps, calls and addresses that depend on where it is stay within it."""
    done = tree.run("objdump", "-dw", "--no-show-raw-insn", "-j", "nearby", library)
    lines = re.findall(r"^ *([0-9a-f]+):\t(.*)$", done.stdout, re.M)
    assert len(lines) > 100, done.stderr
    start = int(re.search(r"^0*([0-9a-f]+) <", done.stdout, re.M)[1], 16)
    end = int(lines[-1][0], 16)
    page = start - start % 4096  # adrp gives the page of an address
    strange = []
    for _, text in lines:
        targets = [int(target, 16) for target in re.findall(r"\b([0-9a-f]+) <", text)]
        within = all((page if text.startswith("adrp") else start) <= target <= end for target in targets)
        if not within or re.match(r"(call|bl)\b", text):
            strange.append(text)
    assert strange == []


def test_every_header_compiles_alone(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    faults = []
    for path in HEADERS:
        (tmp_path / "alone.c").write_text(f'#include "{"/".join(path.parts[1:])}"\n')
        done = tree.run(
            compiler,
            "-std=gnu11",
            "-D_GNU_SOURCE",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsyntax-only",
            "-Isrc",
            "-Iinclude",
            tmp_path / "alone.c",
        )
        if done.returncode != 0:
            faults.append(f"{path}: {done.stderr}")
    assert faults == []
