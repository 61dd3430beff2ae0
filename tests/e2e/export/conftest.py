"""Exports of profiles, and the tools that read them.

SPDX-License-Identifier: Apache-2.0
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from browser import open_browser

HERE = Path(__file__).parent
FLAMEGRAPH = Path("/usr/share/perl5/Devel/NYTProf/flamegraph.pl")
TIMEOUT_S = 300

# Readers that look at a file's name want its usual ending.
SUFFIXES = {"flamegraph": ".svg", "speedscope": ".speedscope.json"}


def run(*command, **options):
    options = {"capture_output": True, "text": True, "timeout": TIMEOUT_S, **options}
    return subprocess.run([str(word) for word in command], **options)


@pytest.fixture
def export(midden, tmp_path):
    """Writes an export and returns its path."""

    def write(profile, form, *options):
        path = tmp_path / f"out{SUFFIXES.get(form, f'.{form}')}"
        done = run(midden, "export", "-f", form, "-o", path, *options, profile)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        return path

    return write


@pytest.fixture(scope="session")
def pprof(tmp_path_factory):
    """Runs `go tool pprof` on a file."""
    if shutil.which("go") is None or run("go", "tool", "pprof", "-h").returncode not in (0, 2):
        pytest.skip("go tool pprof is not installed (Debian: golang-go)")
    home = tmp_path_factory.mktemp("pprof")

    def read(path, *options):
        # Without symbols of this machine: what is read is what was written.
        done = run(
            "go",
            "tool",
            "pprof",
            "-symbolize=none",
            *options,
            path,
            env={**os.environ, "PPROF_TMPDIR": str(home), "GOTOOLCHAIN": "local"},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return read


@pytest.fixture(scope="session")
def flamegraph_pl():
    """Runs Debian's flamegraph.pl on a text."""
    if not FLAMEGRAPH.exists() or shutil.which("perl") is None:
        pytest.skip("flamegraph.pl is not installed (Debian: libdevel-nytprof-perl)")
    return lambda text: run("perl", FLAMEGRAPH, "--countname=bytes", "--minwidth=0", input=text)


@pytest.fixture(scope="session")
def browse(midden):
    """Runs a script of readers/ with a browser and returns the JSON that it prints."""
    return open_browser()
