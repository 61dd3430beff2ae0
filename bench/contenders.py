"""What is compared: native, a forward-only library, midden and its peers. Used by run.py.

SPDX-License-Identifier: Apache-2.0
"""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ASK_JEMALLOC = """
import ctypes
has, size = ctypes.c_bool(), ctypes.c_size_t(1)
ctypes.CDLL(None).mallctl(b"config.prof", ctypes.byref(has), ctypes.byref(size), None, 0)
raise SystemExit(0 if has.value else 1)
"""

# How much of a load's size a contender gets: see Load.fractions.
FULL, SLOW, VALGRIND = "full", "slow", "valgrind"


@dataclass(frozen=True)
class Contender:
    name: str
    what: str
    pace: str = FULL
    rounds_most: int = 1000

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

    library = ""

    def missing(self):
        done = subprocess.run(
            ["/bin/true"], env={"LD_PRELOAD": self.library}, capture_output=True, text=True, check=False
        )
        return f"{self.library} is not installed" if done.stderr else None

    def wrap(self, command, directory):
        return command, {"LD_PRELOAD": self.library, **self.variables(directory)}

    def variables(self, directory):
        return {}


class Forward(Preload):
    def __init__(self, library):
        super().__init__("forward", "a preloaded library that hands each call on and does nothing else")
        object.__setattr__(self, "library", str(library))


class Midden(Contender):
    def __init__(self, build):
        super().__init__("midden", "every allocation with its full stack (`midden record`)")
        object.__setattr__(self, "binary", Path(build) / "midden")

    def missing(self):
        return None if self.binary.exists() else f"{self.binary} is not built"

    def wrap(self, command, directory):
        return [self.binary, "record", "-q", "--no-symbols", "-o", directory / "out.mdn", "--", *command], {}

    def report(self, directory, program):
        return [self.binary, "report", directory / "out.mdn"]

    def stats(self, directory):
        return [self.binary, "stats", "--json", directory / "out.mdn"]


class Heaptrack(Contender):
    def __init__(self):
        super().__init__("heaptrack", "every allocation with up to 64 frames of stack", SLOW, 3)

    def missing(self):
        return None if shutil.which("heaptrack") else "heaptrack is not installed"

    def wrap(self, command, directory):
        return ["heaptrack", "-o", directory / "out", "--", *command], {}

    def report(self, directory, program):
        return ["heaptrack_print", *directory.glob("out.*")]


class Memusage(Preload):
    library = "libmemusage.so"

    def __init__(self):
        super().__init__("memusage", "glibc's libmemusage: totals and sizes, no stacks", FULL, 3)


class Gperftools(Preload):
    library = "libtcmalloc.so.4"

    def __init__(self):
        super().__init__(
            "gperftools", "tcmalloc's heap profiler: every allocation, up to 32 frames", SLOW, 3
        )

    def variables(self, directory):
        return {"HEAPPROFILE": str(directory / "out")}

    def report(self, directory, program):
        profiles = sorted(directory.glob("out.*.heap"))
        tool = shutil.which("google-pprof")
        return [tool, "--text", program, profiles[-1]] if tool and profiles else None


class Jemalloc(Preload):
    library = "libjemalloc.so.2"

    def __init__(self):
        super().__init__("jemalloc", "jemalloc's sampling profiler: one stack per 512 KiB", FULL, 3)

    def missing(self):
        done = subprocess.run(
            ["/usr/bin/python3", "-c", ASK_JEMALLOC],
            env={"LD_PRELOAD": self.library},
            capture_output=True,
            check=False,
        )
        return super().missing() or ("was built without its profiler" if done.returncode else None)

    def variables(self, directory):
        return {"MALLOC_CONF": f"prof:true,prof_final:true,lg_prof_sample:19,prof_prefix:{directory}/out"}

    def report(self, directory, program):
        profiles = sorted(directory.glob("out.*.heap"))
        tool = shutil.which("jeprof")
        return [tool, "--text", program, profiles[-1]] if tool and profiles else None


class Valgrind(Contender):
    def __init__(self, tool, what):
        super().__init__(tool, what, VALGRIND, 1)

    def missing(self):
        return None if shutil.which("valgrind") else "valgrind is not installed"

    def wrap(self, command, directory):
        options = [f"--tool={self.name}", f"--{self.name}-out-file={directory}/out", "-q"]
        return ["valgrind", *options, "--", *command], {}

    def report(self, directory, program):
        tool = shutil.which("ms_print") if self.name == "massif" else None
        return [tool, directory / "out"] if tool else None


NATIVE, AGAIN = "native", "native again"


def all_contenders(build):
    return [
        Contender(NATIVE, "the program alone"),
        Contender(AGAIN, "the same once more: how far this line is from 1 is the noise of the others"),
        Forward(Path(build) / "bench" / "libforward.so"),
        Midden(build),
        Heaptrack(),
        Memusage(),
        Gperftools(),
        Jemalloc(),
        Valgrind("massif", "valgrind massif: stacks, snapshots"),
        Valgrind("dhat", "valgrind dhat: stacks, lifetimes, accesses"),
    ]
