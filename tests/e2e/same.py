"""Running a program with and without midden and comparing what can be seen of it.

SPDX-License-Identifier: Apache-2.0
"""

import os
import random
import shutil
import socket
import subprocess

import pytest

from recording import shell_status


def need(*programs):
    """Paths of installed programs; skips the test if one is missing."""
    paths = []
    for program in programs:
        path = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin")
        if path is None:
            pytest.skip(f"{program} is not installed")
        paths.append(path)
    return paths[0] if len(paths) == 1 else paths


def free_port():
    """A port for a server that is started later: none of those that the kernel gives to clients meanwhile, nor one
    that a test beside this one can find."""
    first = 20000 + 1000 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    for port in random.sample(range(first, first + 1000), 1000):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    return pytest.fail("no port is free")


def run_plain(command, env=None, **popen):
    """(status, stdout, stderr) of a run without midden."""
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        timeout=120,
        env={**os.environ, **(env or {})},
        **popen,
    )
    return shell_status(done.returncode), done.stdout, done.stderr.decode(errors="replace")


def check_same(record, command, options=(), env=None, **popen):
    """Status, output and complaints are those of a run without midden. Returns the recording."""
    expected = run_plain(command, env=env, **popen)
    recording = record.run(command, options=list(options), env=env, **popen)
    assert (recording.status, recording.stdout, recording.stderr) == expected
    return recording
