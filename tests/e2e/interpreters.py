"""Interpreters that are there, each with the extension module that allocates on demand.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import pathlib
import subprocess
from collections import Counter

import pytest

HERE = pathlib.Path(__file__).parent / "python"
DEBIAN = "/usr/bin/python3"


def find_interpreters():
    """Debian's, and what pyenv has of the versions that are known."""
    root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    found = sorted(root.glob("versions/3.*/bin/python3"))
    known = [path for path in found if 8 <= int(path.parts[-3].split(".")[1]) <= 14]
    return [DEBIAN, *map(str, known)]


INTERPRETERS = find_interpreters()


def ask(interpreter, expression):
    done = subprocess.run(
        [interpreter, "-c", f"import sys, sysconfig; print({expression})"], capture_output=True, text=True
    )
    return done.stdout.strip() if done.returncode == 0 else ""


class Interpreter:
    """A python3 whose `modules` directory holds the extension module `witness`."""

    def __init__(self, path, modules):
        self.path = path
        self.modules = modules
        self.version = tuple(json.loads(ask(path, "list(sys.version_info[:2])") or "[0, 0]"))

    def build(self):
        headers = ask(self.path, "sysconfig.get_path('include')")
        if not (pathlib.Path(headers) / "Python.h").exists():
            pytest.skip(f"{self.path} has no headers")
        source, target = HERE / "witness.c", self.modules / "witness.so"
        flags = ["-shared", "-fPIC", "-O2", "-g", "-w", "-fno-optimize-sibling-calls"]
        subprocess.run(["cc", *flags, f"-I{headers}", source, "-o", target], check=True)
        return self

    @property
    def environment(self):
        return {"PYTHONPATH": str(self.modules), "PYTHONDONTWRITEBYTECODE": "1"}


class Stacks:
    """The stacks of a profile, innermost frame first, as (function, file, line, module)."""

    def __init__(self, midden, path):
        done = subprocess.run([midden, "export", "-f", "json", "--all-frames", path], capture_output=True, check=True)
        whole = json.loads(done.stdout)
        frames = [(f["function"], f["file"], f["line"], f["module"]) for f in whole["frames"]]
        self.totals = whole["totals"]
        self.all = [([frames[i] for i in stack["frames"]], stack) for stack in whole["stacks"]]

    def witnessed(self):
        """Bytes by Python's part of the stacks that the extension module allocated from."""
        sums = Counter()
        for frames, stack in self.all:
            if frames[0][0] == "allocate_here":
                sums[python_part(frames)] += stack["allocated_bytes"]
        return sums


def python_part(frames):
    return tuple((f, file, line) for f, file, line, module in frames if module == "[python]")


def expected(path):
    """The same as Python itself says."""
    sums = Counter()
    for size, frames in json.loads(path.read_text(encoding="utf-8")):
        sums[tuple(map(tuple, frames))] += size
    return sums


def run_witness(record, interpreter, script, directory, *options):
    """Records a script that writes what Python says of its stacks; the recording, and what it says."""
    answer = directory / "answer.json"
    recording = record.run([interpreter.path, HERE / script, answer], options=options, env=interpreter.environment)
    assert recording.status == 0, recording.stderr
    return recording, expected(answer)


def check_equal(recorded, wanted):
    """Every stack has as many bytes as it should have, and no other has any."""
    missing = {k: v for k, v in wanted.items() if recorded.get(k) != v}
    extra = {k: v for k, v in recorded.items() if wanted.get(k) != v}
    assert (list(missing.items())[:3], list(extra.items())[:3]) == ([], [])
