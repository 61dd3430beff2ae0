"""Where victims run: on this machine, or on another architecture under qemu-user.

SPDX-License-Identifier: Apache-2.0
"""

import fcntl
import os
import platform
import shlex
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("MIDDEN_BUILD", ROOT / "build")).resolve()
COMMAND = BUILD / "midden"
LIBRARY = BUILD / "libmidden.so"
VICTIM_SOURCES = ROOT / "tests" / "victims"
# Set by tools/portability.py: MIDDEN_BUILD is a build for another machine, whose programs start under this.
EMULATOR = tuple(shlex.split(os.environ.get("MIDDEN_TEST_EMULATOR", "")))
OTHER_ARCH = {"x86_64": "aarch64", "aarch64": "x86_64"}.get(platform.machine())


class Machine:
    """How to start a victim (`prefix` is qemu, if any) and which library goes into it."""

    def __init__(self, name, victims, library=None, prefix=()):
        self.name = name
        self.victims = victims
        self.library = library
        self.prefix = tuple(str(word) for word in prefix)

    @property
    def emulated(self):
        return bool(self.prefix)

    def victim(self, name):
        """The path of a victim; None if it could not be built here."""
        path = self.victims / name
        return path if path.exists() else None

    def command(self, name, *arguments):
        return [*self.prefix, str(self.victims / name), *map(str, arguments)]

    def record_options(self):
        return ["--library", str(self.library)] if self.library else []


def build_victims(out, compilers):
    """Builds all victims into `out` unless they are newer than their sources; safe beside other processes."""
    out.mkdir(parents=True, exist_ok=True)
    newest = max(source.stat().st_mtime for source in VICTIM_SOURCES.iterdir())
    stamp = out / ".built"
    with open(out / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.stat().st_mtime > newest:
            return out
        done = subprocess.run(
            [VICTIM_SOURCES / "build.sh", out],
            env={**os.environ, **compilers},
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise RuntimeError(f"victims do not build:\n{done.stdout}{done.stderr}")
        stamp.touch()
    return out


def native():
    victims = build_victims(BUILD / "tests" / "victims", {})
    # An emulator is a static program: the library has to be named for it.
    return Machine(platform.machine(), victims, LIBRARY if EMULATOR else None, EMULATOR)


def find_missing_cross_tool():
    """The first tool that running the other architecture's victims lacks, or None."""
    if OTHER_ARCH is None:
        return f"an emulation of another architecture on {platform.machine()}"
    tools = (f"{OTHER_ARCH}-linux-gnu-gcc", f"{OTHER_ARCH}-linux-gnu-g++", f"qemu-{OTHER_ARCH}-static")
    return next((tool for tool in tools if not shutil.which(tool)), None)


def build_library(out, *options):
    """libmidden.so alone, built with CMake into `out`."""
    out.mkdir(parents=True, exist_ok=True)
    with open(out / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        configure = [
            "cmake",
            "-S",
            ROOT,
            "-B",
            out,
            "-DMIDDEN_CAPTURE_ONLY=ON",
            "-DMIDDEN_TESTS=OFF",
            "-DMIDDEN_WERROR=ON",
            *options,
        ]
        for step in (configure, ["cmake", "--build", out]):
            done = subprocess.run(step, capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(f"the library does not build in {out}:\n{done.stdout}{done.stderr}")
    return out / "libmidden.so"


def build_cross_library(out):
    """libmidden.so for the other architecture: as given by MIDDEN_CROSS_BUILD, or built."""
    given = os.environ.get("MIDDEN_CROSS_BUILD")
    if given:
        return Path(given).resolve() / "libmidden.so"
    return build_library(
        out,
        "-DCMAKE_SYSTEM_NAME=Linux",
        f"-DCMAKE_SYSTEM_PROCESSOR={OTHER_ARCH}",
        f"-DCMAKE_C_COMPILER={OTHER_ARCH}-linux-gnu-gcc",
    )


def emulated():
    compilers = {"CC": f"{OTHER_ARCH}-linux-gnu-gcc", "CXX": f"{OTHER_ARCH}-linux-gnu-g++", "RUSTC": ""}
    victims = build_victims(BUILD / "tests" / f"victims-{OTHER_ARCH}", compilers)
    library = build_cross_library(BUILD / OTHER_ARCH)
    qemu = shutil.which(f"qemu-{OTHER_ARCH}-static")
    root = f"/usr/{OTHER_ARCH}-linux-gnu"
    # Loader and libc must come from one place: where the other architecture's packages are installed beside those
    # of the cross compiler, the loader of the one would find the libc of the other first.
    return Machine(OTHER_ARCH, victims, library, (qemu, "-L", root, "-E", f"LD_LIBRARY_PATH={root}/lib"))


def musl():
    """Victims and library of this machine, built for musl; `midden` itself stays what it is."""
    victims = build_victims(BUILD / "tests" / "victims-musl", {"CC": "musl-gcc", "CXX": "", "RUSTC": ""})
    return Machine("musl", victims, build_library(BUILD / "musl", "-DCMAKE_C_COMPILER=musl-gcc"))
