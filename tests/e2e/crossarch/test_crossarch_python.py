"""Python of the other architecture under an emulator: its stacks are what it says itself.

Needs a release of Debian for that architecture, laid out in the directory MIDDEN_TEST_PYTHON_ROOT, with python3 and
libpython3-dev; tools/portability.py has one.

SPDX-License-Identifier: Apache-2.0
"""

import os
import pathlib
import shutil
import subprocess

import machine as machines
import pytest
from interpreters import HERE, Stacks, check_equal, expected
from recording import Recorder

ROOT = os.environ.get("MIDDEN_TEST_PYTHON_ROOT")
pytestmark = [
    pytest.mark.skipif(not ROOT, reason="no release of the other architecture is laid out: MIDDEN_TEST_PYTHON_ROOT"),
    pytest.mark.skipif(
        machines.find_missing_cross_tool() is not None, reason=f"{machines.find_missing_cross_tool()} is missing"
    ),
]


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """(how to record, the command, its environment)"""
    root = pathlib.Path(ROOT)
    (headers,) = root.glob("usr/include/python3.*")
    modules = tmp_path_factory.mktemp("witness")
    flags = ["-shared", "-fPIC", "-O2", "-g", "-w", "-fno-optimize-sibling-calls"]
    places = [f"-I{headers}", "-idirafter", root / "usr/include"]
    compiler = f"{machines.OTHER_ARCH}-linux-gnu-gcc"
    subprocess.run([compiler, *flags, *places, HERE / "witness.c", "-o", modules / "witness.so"], check=True)
    library = machines.build_cross_library(machines.BUILD / machines.OTHER_ARCH)
    qemu = shutil.which(f"qemu-{machines.OTHER_ARCH}-static")
    command = [qemu, "-L", root, root / "usr/bin" / headers.name]
    environment = {"PYTHONHOME": root / "usr", "PYTHONPATH": modules, "PYTHONDONTWRITEBYTECODE": "1"}
    return machines.Machine(machines.OTHER_ARCH, None, library, (qemu,)), command, environment


@pytest.mark.parametrize("how", ["mixed", "full"])
@pytest.mark.parametrize("script", ["shapes.py", "guests.py"])
def test_every_stack_is_what_python_of_another_machine_says(midden, other, tmp_path, script, how):
    machine, command, environment = other
    answer = tmp_path / "answer.json"
    recording = Recorder(tmp_path, machine).run(
        [*command, HERE / script, answer],
        options=["--python", how, "--max-depth", "4096"],
        env={name: str(value) for name, value in environment.items()},
        timeout=600,
    )
    assert recording.status == 0, recording.stderr
    wanted = expected(answer)
    assert len(wanted) > 25
    check_equal(Stacks(midden, recording.path).witnessed(), wanted)
