"""Running a program with and without midden and comparing what can be seen of it.

SPDX-License-Identifier: Apache-2.0
"""

import os
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
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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
