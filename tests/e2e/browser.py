"""Debian's Chromium, driven by scripts that run in node.

SPDX-License-Identifier: Apache-2.0
"""

import fcntl
import json
import shutil
import subprocess
from pathlib import Path

import machine as machines
import pytest

HERE = Path(__file__).parent
NPM_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1")
TIMEOUT_S = 300


def run(*command, **options):
    options = {"capture_output": True, "text": True, "timeout": TIMEOUT_S, **options}
    return subprocess.run([str(word) for word in command], **options)


def span(points, first, last=None):
    """A range of the time line in an address of the viewer; of one point, if there is no last one."""
    return f"from={points[first]['time_ns']}ns&to={points[first if last is None else last]['time_ns']}ns"


def put(source, there):
    """Copies a file, at once: a test beside this one may be about to run what was there before."""
    if there.exists() and there.read_bytes() == source.read_bytes():
        return
    half = there.with_name(f".{there.name}.half")
    shutil.copy(source, half)
    half.rename(there)


def install_readers(home):
    """Installs the npm packages of readers/ into `home`; returns why it could not be done, or None."""
    home.mkdir(parents=True, exist_ok=True)
    with open(home / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for source in (HERE / "export" / "readers").iterdir():
            if source.is_file():
                put(source, home / source.name)
        wanted = (home / "package-lock.json").read_bytes()
        stamp = home / ".installed"
        if stamp.exists() and stamp.read_bytes() == wanted:
            return None
        try:
            done = run("npm", "ci", *NPM_OPTIONS, cwd=home)
        except subprocess.TimeoutExpired:
            return f"not done after {TIMEOUT_S} s"
        if done.returncode != 0:
            # Its first line says what is wrong, its last one where the log is.
            faults = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
            return (faults or ["no message"])[0]
        stamp.write_bytes(wanted)
    return None


def open_browser():
    """A function that runs a script of export/readers with a browser and returns the JSON that it prints."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not installed")
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm is not installed")
    home = machines.BUILD / "tests" / "readers"
    fault = install_readers(home)
    if fault:
        pytest.skip(f"npm cannot install the readers: {fault}")

    def script(name, *arguments, **options):
        done = run("node", home / name, browser, *arguments, **options)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return json.loads(done.stdout)

    return script
