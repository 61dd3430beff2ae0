"""The ways in which Python programs are started: each has its stacks.

SPDX-License-Identifier: Apache-2.0
"""

import os
import pathlib
import shutil
import subprocess
import zipapp

import pytest
from interpreters import DEBIAN, Stacks

BODY = "import witness\ndef work():\n    witness.alloc(4242)\nwork()\n"
WORK = ("work", 3)
TOP = ("<module>", 4)


def innermost(witnessed):
    """(function, line) of the two innermost frames of the only stack that the extension module allocated from."""
    (stack,) = witnessed
    return [(function, line) for function, _, line in stack[:2]]


@pytest.fixture
def work(record, debian, midden):
    def run(command, **more):
        environment = {**debian.environment, **more.pop("env", {})}
        recording = record.run(command, env=environment, **more)
        assert recording.status == 0, recording.stderr
        return Stacks(midden, recording.path).witnessed()

    return run


def test_a_module(work, tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__main__.py").write_text(BODY)
    assert innermost(work([DEBIAN, "-m", "pack"], cwd=tmp_path)) == [WORK, TOP]


def test_a_script_with_a_first_line(work, tmp_path):
    script = tmp_path / "script"
    script.write_text(f"#!{DEBIAN}\n{BODY}")
    script.chmod(0o755)
    assert innermost(work([script])) == [("work", 4), ("<module>", 5)]


def test_a_script_with_a_first_line_that_asks_env(work, tmp_path):
    script = tmp_path / "script"
    script.write_text(f"#!/usr/bin/env -S python3 -B\n{BODY}")
    script.chmod(0o755)
    path = f"{pathlib.Path(DEBIAN).parent}:{os.environ['PATH']}"
    assert innermost(work([script], env={"PATH": path})) == [("work", 4), ("<module>", 5)]


def test_a_text_on_the_command_line(work):
    assert innermost(work([DEBIAN, "-c", BODY])) == [WORK, TOP]


def test_a_text_on_standard_input(work):
    assert innermost(work([DEBIAN, "-"], input=BODY.encode())) == [WORK, TOP]


def test_a_directory_and_an_archive(work, tmp_path):
    application = tmp_path / "application"
    application.mkdir()
    (application / "__main__.py").write_text(BODY)
    assert innermost(work([DEBIAN, application])) == [WORK, TOP]
    zipapp.create_archive(application, tmp_path / "application.pyz", interpreter=DEBIAN)
    assert innermost(work([DEBIAN, tmp_path / "application.pyz"])) == [WORK, TOP]
    assert innermost(work([tmp_path / "application.pyz"])) == [WORK, TOP]


def test_a_virtual_environment(work, tmp_path):
    made = subprocess.run([DEBIAN, "-m", "venv", "--without-pip", tmp_path / "venv"], capture_output=True)
    if made.returncode:
        pytest.skip("python3-venv is not installed")
    assert innermost(work([tmp_path / "venv" / "bin" / "python", "-c", BODY])) == [WORK, TOP]


EMBEDDER = """
#include <Python.h>

int main(void)
{
	Py_Initialize();
	int failed = PyRun_SimpleString("import witness\\ndef work():\\n    witness.alloc(4242)\\nwork()\\n");
	return Py_FinalizeEx() || failed;
}
"""


def test_a_program_that_is_linked_with_the_interpreter(work, tmp_path):
    config = shutil.which("python3-config", path="/usr/bin")
    if not config:
        pytest.skip("python3-dev is not installed")
    flags = subprocess.run(
        [config, "--embed", "--includes", "--ldflags"], capture_output=True, text=True, check=True
    ).stdout.split()
    (tmp_path / "embedder.c").write_text(EMBEDDER)
    subprocess.run(["cc", tmp_path / "embedder.c", "-o", tmp_path / "embedder", *flags], check=True)
    assert innermost(work([tmp_path / "embedder"])) == [WORK, TOP]


# ---- several processes -----------------------------------------------------------------------------------------


@pytest.fixture
def follow(record, debian, midden, tmp_path):
    """The stacks of every process that a script starts."""

    def run(script, *arguments):
        path = tmp_path / "server.py"
        path.write_text(script)
        recording = record.run([debian.path, path, *arguments], env=debian.environment, options=["--follow"])
        assert recording.status == 0, recording.stderr
        return [Stacks(midden, profile).witnessed() for profile in sorted(tmp_path.glob("run1.*.mdn"))]

    return run


SERVER = """
import os, signal, time, witness
def handle():
    witness.alloc(4242)
def worker(ready):
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    handle()
    os.write(ready, b".")
    while True:
        time.sleep(0.05)
read, write = os.pipe()
workers = []
for _ in range(3):
    pid = os.fork()
    if not pid:
        worker(write)
    workers.append(pid)
for _ in workers:
    os.read(read, 1)
for pid in workers:
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)
"""


def test_workers_that_a_server_forks_beforehand(follow):
    found = [one for one in follow(SERVER) if one]
    assert [[(f, line) for f, _, line in stack] for one in found for stack in one] == [
        [("handle", 4), ("worker", 7), ("<module>", 16)]
    ] * 3
    assert [list(one.values()) for one in found] == [[4242]] * 3


POOL = """
import multiprocessing, sys, witness
def work(n):
    witness.alloc(4242)
    return n
if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        pool.map(work, range(4), chunksize=1)
        pool.close()
        pool.join()
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools_of_processes(follow, method):
    found = [stack for one in follow(POOL, method) for stack in one.items()]
    assert {stack[0][::2] for stack, _ in found} == {("work", 4)}
    assert all(stack[-1][0] == "<module>" for stack, _ in found)
    assert sum(size for _, size in found) == 4 * 4242
