"""The torture set: programs that note the stacks of their own allocations with an independent unwinder, and the
comparison of those with a profile's. tests/stacks/oracle.h says how a program marks an allocation.

SPDX-License-Identifier: Apache-2.0
"""

import array
import collections
import fcntl
import mmap
import os
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import machine as machines
from recording import Recorder

SOURCES = machines.ROOT / "tests" / "stacks"

# struct oracle_page of tests/stacks/oracle.h.
MAGIC = 0x6F7261636C653031
ENTRIES, MODULES, PATH_BYTES, SIZE_BASE = 1 << 16, 254, 240, 1000
HEADER_BYTES, MODULE_BYTES, ENTRY_BYTES = 8 * 8, 8 + PATH_BYTES, 24
ENTRIES_AT = HEADER_BYTES + MODULES * MODULE_BYTES
WORDS_AT = ENTRIES_AT + ENTRIES * ENTRY_BYTES
PC_MASK, EXACT, MODULE_SHIFT = (1 << 48) - 1, 1 << 48, 56


@dataclass(frozen=True)
class Frame:
    """A frame of a stack. `module` is the file name of the object it is in, "" for none."""

    pc: int
    module: str
    bias: int
    exact: bool = False

    def __str__(self):
        where = f"{self.module}+{self.pc - self.bias:#x}" if self.module else f"{self.pc:#x}"
        return where + (" (exact)" if self.exact else "")


CUT = Frame(0, "cut", 0)


class Oracle:
    """What a program noted: `stacks` by size of the marked block, leaf's caller first, and how often each."""

    def __init__(self, path, program):
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as page:
            fields = struct.unpack_from("<7Q", page, 0)
            magic, entry_count, word_count, module_count, self.faults, self.start, self.end = fields
            assert magic == MAGIC, "the program made no marked allocation"
            modules = [("", 0)]
            for at in range(HEADER_BYTES, HEADER_BYTES + module_count * MODULE_BYTES, MODULE_BYTES):
                bias, name = struct.unpack_from(f"<Q{PATH_BYTES}s", page, at)
                name = name.split(b"\0")[0].decode()
                modules.append((os.path.basename(name or str(program)), bias))
            words = array.array("Q", page[WORDS_AT : WORDS_AT + 8 * word_count])
            frames = {word: self._frame(word, modules) for word in set(words)}
            self.stacks, self.counts = {}, {}
            for i in range(entry_count):
                _, count, first, depth = struct.unpack_from("<QQII", page, ENTRIES_AT + i * ENTRY_BYTES)
                self.stacks[SIZE_BASE + i] = [frames[word] for word in words[first : first + depth]]
                self.counts[SIZE_BASE + i] = count

    @staticmethod
    def _frame(word, modules):
        pc = word & PC_MASK
        name, bias = modules[word >> MODULE_SHIFT]
        return Frame(pc, name, bias, bool(word & EXACT))


@dataclass
class Site:
    allocations: int
    size_min: int
    size_max: int
    stack: list  # leaf first


class Profile:
    """The raw stacks of a profile, by tests/stacks/dump_stacks."""

    def __init__(self, path, tool, program):
        done = subprocess.run([tool, path], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        self.totals, self.modules, self.sites, self._frames = {}, {0: ("", 0)}, [], {"cut": CUT}
        for line in done.stdout.splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "total":
                name, value = rest.split()
                self.totals[name] = int(value)
            elif kind == "module":
                index, bias, _, _, name = rest.split(" ", 4)
                # Under an emulator the kernel takes that for the program.
                name = program if os.path.basename(name).startswith("qemu-") else os.path.basename(name)
                self.modules[int(index)] = (name, int(bias, 16))
            else:
                allocations, size_min, size_max, *frames = rest.split()
                stack = [self._frame(text) for text in frames]
                self.sites.append(Site(int(allocations), int(size_min), int(size_max), stack))

    def _frame(self, text):
        frame = self._frames.get(text)
        if frame is None:
            pc, module, *exact = text.split(":")
            frame = self._frames[text] = Frame(int(pc, 16), *self.modules[int(module)], bool(exact))
        return frame

    def marked(self, oracle):
        """The sites of marked allocations."""
        return [site for site in self.sites if site.stack and oracle.start < site.stack[0].pc <= oracle.end]


def show(stack, mark=-1):
    return "\n".join(f"  {'>' if i == mark else ' '} {frame}" for i, frame in enumerate(stack))


def is_part(some, of):
    """Whether `some` frames are among those of a stack, in its order."""
    rest = iter(of)
    return all(frame in rest for frame in some)


def describe(what, expected, seen):
    """Both stacks around the first frame that differs."""
    same = next((i for i, (a, b) in enumerate(zip(expected, seen)) if a != b), min(len(expected), len(seen)))
    low = max(same - 4, 0)
    return (
        f"{what}: frame {same} of {len(expected)} differs (of {len(seen)} seen)\n expected, from frame {low}:\n"
        f"{show(expected[low : same + 8], same - low)}\n seen:\n{show(seen[low : same + 8], same - low)}"
    )


@dataclass
class Outcome:
    """A recorded run of a program of the set."""

    recording: object
    oracle: Oracle
    profile: Profile

    def seen(self):
        """The sites of marked allocations by size; no site has two."""
        sites = collections.defaultdict(list)
        for site in self.profile.marked(self.oracle):
            assert site.size_min == site.size_max, (
                f"stacks {site.size_min} and {site.size_max} were taken for one:\n"
                f"{describe('these', self.oracle.stacks[site.size_min], self.oracle.stacks[site.size_max])}"
                f"\n recorded as\n{show(site.stack)}"
            )
            sites[site.size_min].append(site)
        return sites

    def differences(self, is_same):
        """A text for each stack that is not as noted."""
        texts, seen = [], self.seen()
        for size, expected in self.oracle.stacks.items():
            sites = seen.get(size, [])
            for site in sites:
                if not is_same(expected, site.stack[1:]):
                    texts.append(describe(f"stack {size}", expected, site.stack[1:]))
            if len(sites) > 1:
                texts.append(f"stack {size} was recorded as {len(sites)} different ones")
        return texts

    def missing(self):
        """Marked allocations that were not recorded."""
        seen = self.seen()
        return sum(
            count - sum(site.allocations for site in seen.get(size, []))
            for size, count in self.oracle.counts.items()
        )

    def check(self, is_same=list.__eq__, least=1, missing=0):
        """Every marked allocation was recorded, but for `missing`, with the stack that was noted."""
        assert self.recording.status == 0, self.recording.stderr
        assert self.oracle.faults == 0
        assert len(self.oracle.stacks) >= least
        texts = self.differences(is_same)
        assert not texts, f"{len(texts)} of {len(self.oracle.stacks)} stacks differ\n" + "\n".join(texts[:3])
        assert self.missing() == missing
        assert self.profile.totals["lost_events"] == 0

    def check_honest(self):
        """Frames may be missing, and then the loss is counted; but none is made up, and they are in order. Stacks
        that differ in what is missing become one site, which must be honest about all of them."""
        assert self.recording.status == 0, self.recording.stderr
        sites = self.profile.marked(self.oracle)
        texts = [
            describe(f"stack {size}", self.oracle.stacks[size], site.stack[1:])
            for site in sites
            for size in (site.size_min, site.size_max)
            if not is_part(site.stack[1:], self.oracle.stacks[size])
        ]
        assert not texts, f"{len(texts)} stacks have frames that are not there\n" + "\n".join(texts[:3])
        assert sum(site.allocations for site in sites) == sum(self.oracle.counts.values())
        roots = {stack[-1] for stack in self.oracle.stacks.values()}
        lost = sum(site.allocations for site in sites if site.stack[-1] not in roots)
        assert self.profile.totals["unwind_failures"] == self.profile.totals["truncated_stacks"] == lost


def has_avx2():
    return " avx2 " in Path("/proc/cpuinfo").read_text()


class Torture:
    """Runs programs of the set under midden."""

    def __init__(self, record, directory, tool):
        self.record = record
        self.directory = directory
        self.tool = tool
        self._count = 0

    def path(self, name):
        return self.record.machine.victims / name

    def need(self, name):
        """Skips the test if a program could not be built."""
        if not self.path(name).exists():
            pytest.skip(f"{name} was not built: its compiler is missing")
        return self

    def flavours(self):
        """The libraries of shapes that this processor can run."""
        found = sorted(self.record.machine.victims.glob("shapes_*.so"))
        return [path for path in found if "avx2" not in path.name or has_avx2()]

    def run(self, name, *arguments, options=(), env=None, unwinder="libunwind"):
        self._count += 1
        notes = self.directory / f"notes{self._count}"
        command = self.record.machine.command(name, *arguments)
        env = {"ORACLE_FILE": str(notes), "ORACLE_UNWINDER": unwinder, **(env or {})}
        recording = self.record.run(command, options=["--no-symbols", *options], env=env)
        assert recording.path.exists(), recording.stderr
        assert notes.exists(), f"status {recording.status}: {recording.stderr}"
        return Outcome(recording, Oracle(notes, name), Profile(recording.path, self.tool, name))


def build_set(out, compilers):
    """Builds the torture set into `out` unless it is newer than its sources; safe beside other processes."""
    out.mkdir(parents=True, exist_ok=True)
    newest = max(source.stat().st_mtime for source in SOURCES.iterdir())
    stamp = out / ".built"
    with open(out / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.stat().st_mtime < newest:
            done = subprocess.run(
                [SOURCES / "build.sh", out], env={**os.environ, **compilers}, capture_output=True, text=True
            )
            if done.returncode != 0:
                raise RuntimeError(f"the torture set does not build:\n{done.stdout}{done.stderr}")
            stamp.touch()
    return out


@pytest.fixture(scope="session")
def dump_tool(midden):
    """tests/stacks/dump_stacks.c, linked with the profile room as it was built."""
    build, out = machines.BUILD, machines.BUILD / "tests" / "stacks"
    source, tool = SOURCES / "dump_stacks.c", out / "dump_stacks"
    out.mkdir(parents=True, exist_ok=True)
    rooms = [build / "libroom_profile.a", build / "libroom_base.a"]
    with open(out / ".dump_lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if tool.exists() and all(tool.stat().st_mtime > path.stat().st_mtime for path in (source, *rooms)):
            return tool
        command = ["cc", "-std=gnu11", "-O2", f"-I{machines.ROOT / 'src'}", source, "-o", tool, *rooms]
        subprocess.run([*command, "-lzstd", "-lxxhash"], check=True)
    return tool


@pytest.fixture(scope="session")
def torture_machine(midden):
    return machines.Machine("native", build_set(machines.BUILD / "tests" / "stacks", {}))


@pytest.fixture(scope="session")
def other_machine(midden):
    """The other architecture under qemu-user, with all that its processors have."""
    missing = machines.find_missing_cross_tool()
    if missing:
        pytest.skip(f"cannot run the other architecture's programs: {missing} is missing")
    other = machines.OTHER_ARCH
    compilers = {"CC": f"{other}-linux-gnu-gcc", "CXX": f"{other}-linux-gnu-g++", "CLANG": "", "LEVELS": "O0 O2"}
    programs = build_set(machines.BUILD / "tests" / f"stacks-{other}", compilers)
    library = machines.build_cross_library(machines.BUILD / other)
    root = f"/usr/{other}-linux-gnu"
    qemu = (shutil.which(f"qemu-{other}-static"), "-cpu", "max", "-L", root, "-E", f"LD_LIBRARY_PATH={root}/lib")
    return machines.Machine(other, programs, library, qemu)


@pytest.fixture
def cut_frame():
    """The frame that stands for those left out of a deep stack."""
    return CUT


@pytest.fixture
def torture(torture_machine, dump_tool, tmp_path):
    return Torture(Recorder(tmp_path, torture_machine), tmp_path, dump_tool)


@pytest.fixture
def torture_other(other_machine, dump_tool, tmp_path):
    return Torture(Recorder(tmp_path, other_machine), tmp_path, dump_tool)
