"""What is compared: native, a forward-only library, midden and its peers. Used by run.py.

SPDX-License-Identifier: Apache-2.0
"""

import shutil
import subprocess
from pathlib import Path

# How much of a load's size a contender gets: see Load.fractions.
FULL, SLOW, SLOWEST = "full", "slow", "slowest"

NATIVE, AGAIN = "native", "native again"

ASK_JEMALLOC = """
import ctypes
has, size = ctypes.c_bool(), ctypes.c_size_t(1)
ctypes.CDLL(None).mallctl(b"config.prof", ctypes.byref(has), ctypes.byref(size), None, 0)
raise SystemExit(0 if has.value else 1)
"""


class Contender:
    """The program alone; others change what they must."""

    pace = FULL
    rounds_most = 1000
    programs = None  # names of the loads that it is for; None: all

    def __init__(self, name, what):
        self.name, self.what = name, what

    def fits(self, load):
        return self.programs is None or load.name in self.programs

    def missing(self):
        """Why it cannot be run here, or None."""
        return None

    def wrap(self, command, directory):
        """The command under this contender, and the variables that it needs."""
        return command, {}

    def report(self, directory, program):
        """The command that prints a first report of what was recorded, or None."""
        return None


class Preload(Contender):
    """A library that is preloaded into the program and needs nothing else."""

    def __init__(self, name, what, library):
        super().__init__(name, what)
        self.library = library

    def missing(self):
        # The loader complains about a library that it cannot preload, and goes on.
        done = subprocess.run(
            ["/bin/true"], env={"LD_PRELOAD": self.library}, capture_output=True, text=True, check=False
        )
        return f"{self.library} is not there" if "cannot be preloaded" in done.stderr else None

    def wrap(self, command, directory):
        return command, {"LD_PRELOAD": self.library, **self.variables(directory)}

    def variables(self, directory):
        return {}


class Midden(Contender):
    def __init__(self, build):
        super().__init__("midden", "every allocation with its full stack (`midden record`)")
        self.binary = Path(build) / "midden"

    def missing(self):
        return None if self.binary.exists() else f"{self.binary} is not built"

    def wrap(self, command, directory):
        return [self.binary, "record", "-q", "--no-symbols", "-o", directory / "out.mdn", "--", *command], {}

    def report(self, directory, program):
        return [self.binary, "report", directory / "out.mdn"]

    def stats(self, directory):
        return [self.binary, "stats", "--json", directory / "out.mdn"]


class Sampling(Midden):
    """Its figures are not the program's: it has no say in what the tables tell of a load."""

    stats = None

    def __init__(self, build):
        super().__init__(build)
        self.name, self.what = "midden --sample", "one block in 512 KiB with its full stack (`midden record --sample`)"

    def wrap(self, command, directory):
        options = ["-q", "--no-symbols", "--sample", "-o", directory / "out.mdn"]
        return [self.binary, "record", *options, "--", *command], {}


class Tagging(Sampling):
    def __init__(self, build):
        super().__init__(build)
        self.name, self.what = "midden --tags", "counters by tag, no events (`midden record --tags`)"

    def wrap(self, command, directory):
        return [self.binary, "record", "-q", "--tags", "-o", directory / "out.mdn", "--", *command], {}

    def report(self, directory, program):
        return [self.binary, "tags", directory / "out.mdn"]


class SmallObjects(Sampling):
    programs = ("python3", "numpy", "wsgi")

    def __init__(self, build):
        super().__init__(build)
        self.name, self.what = "midden --pymalloc=exact", "small objects of Python too, each with its stack"

    def wrap(self, command, directory):
        options = ["-q", "--no-symbols", "--pymalloc=exact", "-o", directory / "out.mdn"]
        return [self.binary, "record", *options, "--", *command], {}


class Heaptrack(Contender):
    pace, rounds_most = SLOW, 3

    def __init__(self):
        super().__init__("heaptrack", "every allocation with up to 64 frames of stack")

    def missing(self):
        return None if shutil.which("heaptrack") else "heaptrack is not installed"

    def wrap(self, command, directory):
        return ["heaptrack", "-o", directory / "out", "--", *command], {}

    def report(self, directory, program):
        return ["heaptrack_print", *directory.glob("out.*")]


class Memusage(Preload):
    rounds_most = 3

    def __init__(self):
        super().__init__("memusage", "glibc's memusage: totals and sizes, no stacks", "libmemusage.so")


class HeapProfiler(Preload):
    """An allocator that profiles itself and leaves files for its own copy of pprof."""

    pprof = ""

    def report(self, directory, program):
        profiles = sorted(directory.glob("out.*.heap"))
        tool = shutil.which(self.pprof)
        return [tool, "--text", program, profiles[-1]] if tool and profiles else None


class Gperftools(HeapProfiler):
    pace, rounds_most, pprof = SLOWEST, 1, "google-pprof"

    def __init__(self):
        what = "tcmalloc and its heap profiler: every allocation, up to 32 frames of stack"
        super().__init__("gperftools", what, "libtcmalloc.so.4")

    def variables(self, directory):
        return {"HEAPPROFILE": str(directory / "out")}


class Jemalloc(HeapProfiler):
    rounds_most, pprof = 3, "jeprof"

    def __init__(self):
        what = "jemalloc and its sampling profiler: one stack per 512 KiB"
        super().__init__("jemalloc", what, "libjemalloc.so.2")

    def missing(self):
        done = subprocess.run(
            ["/usr/bin/python3", "-c", ASK_JEMALLOC],
            env={"LD_PRELOAD": self.library},
            capture_output=True,
            check=False,
        )
        return super().missing() or ("it was built without its profiler" if done.returncode else None)

    def variables(self, directory):
        return {"MALLOC_CONF": f"prof:true,prof_final:true,lg_prof_sample:19,prof_prefix:{directory}/out"}


class Valgrind(Contender):
    pace, rounds_most = SLOWEST, 1

    def missing(self):
        return None if shutil.which("valgrind") else "valgrind is not installed"

    def wrap(self, command, directory):
        options = [f"--tool={self.name}", f"--{self.name}-out-file={directory}/out"]
        return ["valgrind", *options, "--", *command], {}

    def report(self, directory, program):
        tool = shutil.which("ms_print") if self.name == "massif" else None
        return [tool, directory / "out"] if tool else None


def all_contenders(build):
    forward = "a preloaded library that hands each call on and does nothing else"
    return [
        Contender(NATIVE, "the program alone"),
        Contender(AGAIN, "the program alone, once more: its distance from 1.00 is the noise"),
        Preload("forward", forward, str(Path(build) / "bench" / "libforward.so")),
        Midden(build),
        Sampling(build),
        Tagging(build),
        SmallObjects(build),
        Heaptrack(),
        Memusage(),
        Gperftools(),
        Jemalloc(),
        Valgrind("massif", "valgrind massif: every allocation with its stack, snapshots"),
        Valgrind("dhat", "valgrind dhat: every allocation and access with its stack"),
    ]
