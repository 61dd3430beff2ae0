"""What is run: allocation loads and real programs, and how they are built. Used by run.py.

SPDX-License-Identifier: Apache-2.0
"""

import os
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from contenders import FULL, SLOW, SLOWEST

HERE = Path(__file__).resolve().parent
LIVE_BLOCKS = 5_000_000
SERVER_START_S = 10.0


@dataclass(frozen=True)
class Load:
    name: str
    what: str
    size: int  # in units of the load: pairs, rounds, rows
    program: str
    kind: str  # micro (prints its own ns per pair), churn (its own CPU time) or real
    # The part of the size that slower contenders get. They are compared with native at the same
    # size. None: not run at all.
    fractions: dict = field(default_factory=lambda: {SLOW: 1, SLOWEST: None})
    live_blocks: int = 0

    def missing(self):
        return None if shutil.which(self.program) else f"{self.program} is not installed"

    def command(self, size, directory):
        raise NotImplementedError

    def plan(self, size, directory):
        """The command and, for a server, a function that drives it and returns the seconds that count."""
        return self.command(size, directory), None

    def size_for(self, pace, scale):
        """The size for a contender of this pace, or None if it is not run."""
        fraction = 1 if pace == FULL else self.fractions.get(pace)
        return None if fraction is None else max(1, round(self.size * scale * fraction))


class Micro(Load):
    def command(self, size, directory):
        # live: the number of blocks is part of the name there.
        return [self.program, f"{self.name}{self.live_blocks or ''}", size]


class Churn(Load):
    def command(self, size, directory):
        return [self.program, size]


class Sqlite(Load):
    def command(self, size, directory):
        return [
            self.program,
            ":memory:",
            ".parameter init",
            f".parameter set $rows {size}",
            f".read {HERE / 'table.sql'}",
        ]


class Python(Load):
    """A script beside this file."""

    script = "objects.py"

    def command(self, size, directory):
        return [self.program, HERE / self.script, size]


class Numpy(Python):
    script = "arrays.py"

    def missing(self):
        without = subprocess.run([self.program, "-c", "import numpy"], capture_output=True, check=False).returncode
        return super().missing() or ("python3-numpy is not installed" if without else None)


class Wsgi(Python):
    script = "pages.py"


class Gcc(Load):
    """The compiler proper: the `g++` command is only its driver."""

    def command(self, size, directory):
        multiarch = ask("g++", "-print-multiarch")
        return [
            self.program,
            *("-quiet", "-O2", "-D_GNU_SOURCE", f"-DSIZE={size}"),
            *(("-imultiarch", multiarch) if multiarch else ()),
            *(HERE / "compiled.cpp", "-o", directory / "product"),
        ]


class Clang(Load):
    def command(self, size, directory):
        source = HERE / "compiled.cpp"
        options = ["-fintegrated-cc1", "-O2", f"-DSIZE={size}"]
        return [self.program, "-c", *options, source, "-o", directory / "product"]


class Redis(Load):
    def missing(self):
        return super().missing() or (None if shutil.which("redis-benchmark") else "no redis-benchmark")

    def plan(self, size, directory):
        port = free_port()
        options = {"--port": port, "--bind": "127.0.0.1", "--save": "", "--dir": directory}
        words = [word for option in options.items() for word in option]
        command = [self.program, *words, "--daemonize", "no", "--appendonly", "no"]
        return command, lambda: drive_redis(port, size)


# ---- redis ----------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for_port(port):
    deadline = time.monotonic() + SERVER_START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise TimeoutError("the server does not answer") from None
            time.sleep(0.01)


def drive_redis(port, requests):
    """Seconds for so many requests of each kind; the server is told to end."""
    wait_for_port(port)
    start = time.monotonic()
    bench = ["redis-benchmark", "-p", port, "-n", requests, "-r", 100_000, "-d", 100, "-q"]
    tell([*bench, "-t", "set,get,lpush,hset"])
    seconds = time.monotonic() - start
    tell(["redis-cli", "-p", port, "shutdown", "nosave"])
    return seconds


def tell(command):
    subprocess.run([str(word) for word in command], capture_output=True, check=True, timeout=300)


# ---- building -------------------------------------------------------------------------------------


def ask(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def build(directory):
    """Builds the loads and the forward-only library."""
    directory.mkdir(parents=True, exist_ok=True)
    cc, cxx = os.environ.get("CC", "gcc"), os.environ.get("CXX", "g++")
    flags = ["-O2", "-g", "-Wall", "-Wextra"]
    library = ["-fPIC", "-shared", "-o", directory / "libforward.so", HERE / "forward.c", "-ldl"]
    tell_compiler([cc, "-std=gnu11", *flags, *library])
    tell_compiler([cc, "-std=gnu11", *flags, "-pthread", "-o", directory / "micro", HERE / "micro.c"])
    tell_compiler([cxx, *flags, "-o", directory / "churn", HERE / "churn.cpp"])


def tell_compiler(command):
    subprocess.run([str(word) for word in command], check=True)


# ---- the list -------------------------------------------------------------------------------------


def micro_loads(micro):
    fractions = {SLOW: 0.125, SLOWEST: 0.015}
    frames = "1 thread, 64 leaf paths, one block made and freed"
    ring = "each frees what the one before it made"
    live = f"{LIVE_BLOCKS:,} live blocks; one freed, one made, at random places"
    return [
        Micro("depth10", f"10 frames deep; {frames}", 20_000_000, micro, "micro", fractions),
        Micro("depth60", f"60 frames deep; {frames}", 20_000_000, micro, "micro", fractions),
        Micro("depth200", f"200 frames deep; {frames}", 10_000_000, micro, "micro", fractions),
        Micro("threads4", f"4 threads in a ring, {ring}", 20_000_000, micro, "micro", fractions),
        Micro("threads1", "the same with one thread", 20_000_000, micro, "micro", {SLOW: None}),
        Micro("live", live, 5_000_000, micro, "micro", live_blocks=LIVE_BLOCKS),
    ]


def all_loads(build):
    bench = Path(build) / "bench"
    reduced = {SLOW: 1, SLOWEST: 0.04}
    compile_text = "-O2 of bench/compiled.cpp (containers, templates)"
    cc1plus = ask("g++", "-print-prog-name=cc1plus") or "cc1plus"
    return micro_loads(str(bench / "micro")) + [
        Churn(
            *("churn", "C++ containers, strings, streams, exceptions"),
            *(30_000, str(bench / "churn"), "churn", {SLOW: 0.25, SLOWEST: 0.03}),
        ),
        Sqlite("sqlite3", "table and index in memory", 200_000, "/usr/bin/sqlite3", "real", reduced),
        Python("python3", "JSON and dicts (bench/objects.py)", 60, "/usr/bin/python3", "real", reduced),
        Numpy("numpy", "arrays of numpy (bench/arrays.py)", 400, "/usr/bin/python3", "real", reduced),
        Wsgi("wsgi", "a web application (bench/pages.py)", 8_000, "/usr/bin/python3", "real", reduced),
        Gcc("cc1plus", f"g++'s compiler, {compile_text}", 2, cc1plus, "real"),
        Clang("clang++", compile_text, 2, "/usr/bin/clang++", "real"),
        Redis(
            *("redis", "redis-server driven by redis-benchmark: set, get, lpush, hset"),
            *(50_000, "/usr/bin/redis-server", "real"),
        ),
    ]
