"""Running a program natively or under midden, and what its profiles say.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from machine import BUILD, COMMAND  # noqa: E402

OUT = BUILD / "programs"
SECONDS_MOST = 3600


class Missing(Exception):
    """Something that the program needs is not installed."""


def need(*programs):
    """Paths of installed programs."""
    where = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    paths = [shutil.which(str(program), path=where) for program in programs]
    for program, path in zip(programs, paths):
        if path is None:
            raise Missing(f"{program} is not installed")
    return paths[0] if len(paths) == 1 else paths


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Figures:
    """Sums over the profiles of a run, and what is wrong with them."""

    profiles: int = 0
    allocations: int = 0
    frees: int = 0
    lost: int = 0
    faults: list = field(default_factory=list)

    def add(self, stats):
        self.profiles += 1
        self.allocations += stats["allocations"]
        self.frees += stats["frees"]
        self.lost += stats["lost_events"]
        name = f"{stats['program']} {stats['pid']}"
        if stats["lost_events"]:
            self.faults.append(f"{name}: {stats['lost_events']} lost events")
        if stats["frees"] > stats["allocations"]:
            self.faults.append(f"{name}: more frees than allocations")
        if stats["leaked_blocks"] != stats["allocations"] - stats["frees"]:
            self.faults.append(f"{name}: leaked blocks are not allocations less frees")
        if stats["leaked_bytes"] != stats["allocated_bytes"] - stats["freed_bytes"]:
            self.faults.append(f"{name}: leaked bytes are not allocated less freed")


class Way:
    """How programs are started: natively, or recorded (with their children where `follow`)."""

    def __init__(self, directory, recorded, follow=True):
        self.directory = directory
        self.recorded = recorded
        self.follow = follow
        self.tool = COMMAND
        self.profiles = directory / "profiles"
        if directory.exists():
            shutil.rmtree(directory)
        self.profiles.mkdir(parents=True)

    def command(self, command, follow=None):
        command = [str(word) for word in command]
        if not self.recorded:
            return command
        options = ["--follow"] if (self.follow if follow is None else follow) else []
        record = [self.tool, "record", "-q", "--no-symbols", "--patience", "60000", *options]
        return [str(word) for word in (*record, "-o", self.profiles / "%n.%p.mdn", "--", *command)]

    def run(self, command, follow=None, **options):
        """Runs to the end; the CompletedProcess, with its output as text."""
        options.setdefault("cwd", self.directory)
        options.setdefault("stdin", subprocess.DEVNULL)
        options.update(capture_output=True, text=True, errors="replace", timeout=SECONDS_MOST)
        return subprocess.run(self.command(command, follow), **options)

    def serve(self, command, is_ready, **options):
        """Starts a server and waits until is_ready(). Use as a context; its status is then `status`."""
        return Server(self.command(command), is_ready, self.directory, options)

    def figures(self):
        sums = Figures()
        for path in sorted(self.profiles.glob("*.mdn")):
            done = subprocess.run([COMMAND, "stats", "--json", path], capture_output=True, text=True)
            if done.returncode != 0:
                sums.faults.append(f"{path.name}: {done.stderr.strip()}")
            else:
                sums.add(json.loads(done.stdout))
        if self.recorded and not sums.profiles:
            sums.faults.append("no profile was written")
        return sums


class Server:
    """A server on loopback, stopped at the end of the context by SIGTERM unless it has ended by then."""

    def __init__(self, command, is_ready, directory, options):
        self.log = open(directory / "server.log", "wb")
        self.is_ready = is_ready
        self.status = None
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True, **options
        )

    def __enter__(self):
        end = time.monotonic() + 300
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                self.__exit__()
                raise RuntimeError(f"the server did not start: see {self.log.name}")
            time.sleep(0.05)
        return self

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.status = self.process.wait(timeout=300)
        return self.status

    def __exit__(self, *_):
        try:
            self.stop()
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.status = "hung"
        self.log.close()


def accepts(port):
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex(("127.0.0.1", port)) == 0
