"""The built library: what it takes, what it gives, what it needs. And headers, each compiled alone.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import platform
import re
import shlex
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


def find_strange(file):
    """What code that nearby.c copies elsewhere must not have: jumps, calls and addresses that depend on where it is and
    do not stay within it."""
    done = tree.run("objdump", "-drw", "--no-show-raw-insn", "-j", "nearby", file)
    lines = re.findall(r"^ *([0-9a-f]+):\t(.*)$", done.stdout, re.M)
    assert len(lines) > 100, done.stderr
    start = int(re.search(r"^0*([0-9a-f]+) <", done.stdout, re.M)[1], 16)
    end = int(lines[-1][0], 16)
    page = start - start % 4096  # adrp gives the page of an address
    strange = []
    for _, text in lines:
        instruction, is_open, relocation = text.partition(": R_")
        targets = [] if is_open else [int(target, 16) for target in re.findall(r"\b([0-9a-f]+) <", instruction)]
        within = all((page if text.startswith("adrp") else start) <= target <= end for target in targets)
        is_own = not is_open or re.search(r"\t(nearby|nearby_words)\b", relocation)
        if not within or not is_own or re.match(r"(call|bl)", text):
            strange.append(text)
    return strange


def test_what_is_copied_refers_to_nothing_but_itself(library):
    assert find_strange(library) == []


HOW = [
    "-O1",
    "-Og",
    "-O3",
    "-O2 -flto",
    "-O2 --coverage",
    "-O2 -pg",
    "-O2 -finstrument-functions",
    "-O2 -fprofile-generate",
    "-O2 -fsanitize=address,undefined -fstack-protector-all",
    "-O2 -fsanitize=thread",
    "-O2 -mindirect-branch=thunk -mfunction-return=thunk",
    "-O2 -mretpoline",
    "-O2 -fprofile-instr-generate -fcoverage-mapping",
]


def find_command(build, kind, compiler):
    """How nearby.c is compiled, as a list of words."""
    if not all(map(shutil.which, ("cmake", "ninja", compiler))):
        pytest.skip(f"cmake, ninja and {compiler} are not all installed")
    choice = [f"-DCMAKE_BUILD_TYPE={kind}", f"-DCMAKE_C_COMPILER={compiler}", "-DMIDDEN_CAPTURE_ONLY=ON"]
    done = tree.run("cmake", "-G", "Ninja", "-S", ".", "-B", build, "-DMIDDEN_WERROR=ON", *choice)
    assert done.returncode == 0, done.stderr
    commands = json.loads((build / "compile_commands.json").read_text())
    (command,) = (entry["command"] for entry in commands if entry["file"].endswith("/nearby.c"))
    words = shlex.split(command)
    return words[: words.index("-o")] + ["-c", str(tree.ROOT / "src/capture/nearby.c")]


@pytest.fixture(scope="module", params=["gcc", "clang"])
def command_without_a_kind(request, tmp_path_factory):
    return find_command(tmp_path_factory.mktemp("build"), "None", request.param)


@pytest.mark.parametrize("kind", ["Debug", "MinSizeRel"])
def test_however_it_is_built_what_is_copied_refers_to_nothing_but_itself(tmp_path, kind):
    done = tree.run(*find_command(tmp_path, kind, "cc"), "-o", tmp_path / "nearby.o")
    assert done.returncode == 0, done.stderr
    assert find_strange(tmp_path / "nearby.o") == []


@pytest.mark.parametrize("flags", HOW)
def test_whatever_flags_it_is_built_with_so_it_is(tmp_path, command_without_a_kind, flags):
    compiler, *words = command_without_a_kind
    (tmp_path / "empty.c").write_text("int nothing;\n")
    if tree.run(compiler, *flags.split(), "-c", tmp_path / "empty.c", "-o", tmp_path / "empty.o").returncode != 0:
        pytest.skip(f"{compiler} does not know {flags}")
    # Where cmake puts CMAKE_C_FLAGS: before all that CMakeLists.txt asks for.
    done = tree.run(compiler, *flags.split(), *words, "-o", tmp_path / "nearby.o")
    assert done.returncode == 0, done.stderr
    assert find_strange(tmp_path / "nearby.o") == []


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
