"""Stacks of Python programs: what is recorded equals what Python itself says at that point.

SPDX-License-Identifier: Apache-2.0
"""

import shutil
import subprocess

import pytest
from interpreters import DEBIAN, HERE, INTERPRETERS, check_equal, expected, python_part, run_witness


def run_shapes(record, interpreter, directory, *options):
    return run_witness(record, interpreter, "shapes.py", directory, *options)


@pytest.mark.parametrize("path", INTERPRETERS)
@pytest.mark.parametrize("how", ["mixed", "full"])
def test_every_stack_is_what_python_says(record, interpreters, stacks, tmp_path, is_long, path, how):
    if how == "full" and path != DEBIAN and not is_long:
        pytest.skip("takes long: MIDDEN_TEST_LONG=1")
    options = ["--python", how, "--max-depth", "4096"]
    recording, wanted = run_shapes(record, interpreters(path), tmp_path, *options)
    found = stacks(recording.path)
    check_equal(found.witnessed(), wanted)
    assert len(wanted) > 100
    assert "Python" not in recording.stderr
    assert found.totals["lost_events"] == 0
    assert found.totals["truncated_stacks"] == 0


def test_only_shows_no_native_frame_where_python_runs(record, debian, stacks, tmp_path):
    recording, wanted = run_shapes(record, debian, tmp_path, "--python", "only")
    all_stacks = [frames for frames, _ in stacks(recording.path).all]
    python = [frames for frames in all_stacks if python_part(frames)]
    assert all(len(python_part(frames)) == len(frames) for frames in python)
    recorded = {python_part(frames) for frames in python}
    assert set(wanted) <= recorded


def test_domains_keep_native_code_and_python_apart(record, debian, stacks, tmp_path):
    recording, _ = run_shapes(record, debian, tmp_path, "--python", "domains")
    for frames, _ in stacks(recording.path).all:
        assert len(python_part(frames)) in (0, len(frames))
        if frames[0][0] == "allocate_here":
            assert not python_part(frames)
    assert any(python_part(frames) for frames, _ in stacks(recording.path).all)


def test_off_shows_native_frames_alone(record, debian, stacks, tmp_path):
    recording, _ = run_shapes(record, debian, tmp_path, "--python", "off")
    assert not any(python_part(frames) for frames, _ in stacks(recording.path).all)


def test_full_stacks_have_native_frames_between_those_of_python(record, debian, stacks, tmp_path):
    recording, _ = run_shapes(record, debian, tmp_path, "--python", "full")
    local = "from_c.<locals>." if debian.version >= (3, 11) else ""  # which had no qualified names before
    functions = [
        [f[0] for f in frames]
        for frames, _ in stacks(recording.path).all
        if frames[0][0] == "allocate_here" and any(f[0] == f"{local}innermost" for f in frames)
    ]
    assert len(functions) == 1
    names = functions[0]
    places = [
        names.index(name)
        for name in ("witness_alloc", f"{local}innermost", "witness_call", f"{local}inner", "from_c")
    ]
    assert places == sorted(places)
    assert names.count("witness_call") == 3
    assert "_PyEval_EvalFrameDefault" not in names
    assert names[-1] == "_start"


def test_every_stack_is_there_where_the_kernel_may_not_be_asked_about_memory(record, native, debian, stacks, tmp_path):
    answer = tmp_path / "answer.json"
    recording = record.run(
        [native.victim("deny_reads"), debian.path, HERE / "shapes.py", answer],
        options=["--max-depth", "4096"],
        env=debian.environment,
    )
    assert recording.status == 0 and "Python" not in recording.stderr, recording.stderr
    # The file that was named holds the program that was started, which becomes Python.
    check_equal(stacks(recording.path.with_suffix(".2.mdn")).witnessed(), expected(answer))


def test_a_path_that_is_no_ascii_is_shown_as_it_is(record, debian, stacks, tmp_path):
    place = tmp_path / "grün \u4f60 \U0001f40d"
    place.mkdir()
    script = place / "einfach.py"
    script.write_text("import witness\nwitness.alloc(77)\n")
    recording = record.run([debian.path, script], env=debian.environment)
    assert stacks(recording.path).witnessed() == {(("<module>", str(script), 2),): 77}


def test_a_stack_too_deep_keeps_both_ends(record, debian, stacks, tmp_path):
    script = tmp_path / "deep.py"
    script.write_text(
        "import sys, witness\n"
        "sys.setrecursionlimit(10000)\n"
        "def f(n):\n"
        "    return f(n - 1) if n else witness.alloc(99)\n"
        "f(5000)\n"
    )
    recording = record.run([debian.path, script], env=debian.environment, options=["--max-depth", "100"])
    found = stacks(recording.path)
    assert found.totals["truncated_stacks"] > 0
    (frames,) = [frames for frames, _ in found.all if frames[0][0] == "allocate_here"]
    names = [f[0] for f in frames]
    assert len(names) == 100
    assert names.count("[frames left out]") == 1
    assert names[-1] == "<module>" and names[-2] == "f" and names[5] == "f"


def test_overwritten_frames_end_the_stack_and_not_the_program(record, debian, stacks, tmp_path):
    if debian.version != (3, 11):
        pytest.skip("overwrites the frames of 3.11")
    script = tmp_path / "corrupt.py"
    script.write_text("import witness\nwitness.alloc(5)\nwitness.corrupt(33)\nwitness.alloc(6)\n")
    recording = record.run([debian.path, script], env=debian.environment)
    assert recording.status == 0, recording.stderr
    found = stacks(recording.path)
    assert found.totals["truncated_stacks"] > 0
    assert found.witnessed()[(("<module>", str(script), 2),)] == 5
    assert found.witnessed()[(("<module>", str(script), 4),)] == 6


def test_children_have_stacks_of_their_own(record, debian, stacks, tmp_path):
    script = tmp_path / "forks.py"
    script.write_text(
        "import os, witness\n"
        "def in_child(): witness.alloc(88)\n"
        "witness.alloc(87)\n"
        "pid = os.fork()\n"
        "if not pid:\n"
        "    in_child()\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "witness.alloc(86)\n"
    )
    recording = record.run([debian.path, script], env=debian.environment, options=["--follow"])
    assert recording.status == 0, recording.stderr
    found = [stacks(p).witnessed() for p in sorted(tmp_path.glob("run1.*.mdn"))]
    file = str(script)
    assert {(("in_child", file, 2), ("<module>", file, 6)): 88} in found
    assert {(("<module>", file, 3),): 87, (("<module>", file, 9),): 86} in found


def test_the_first_stack_of_a_child_has_its_frames(record, debian, stacks, tmp_path):
    """Forked by C code: nothing has been allocated in the child when the extension module does."""
    script = tmp_path / "forks.py"
    script.write_text(
        "import ctypes, os, witness\n"
        "fork = ctypes.PyDLL(None).fork\n"
        "def in_child(): witness.alloc_quietly(88)\n"
        "pid = fork()\n"
        "if not pid:\n"
        "    in_child()\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
    )
    environment = {**debian.environment, "PYTHONMALLOC": "pymalloc"}
    recording = record.run([debian.path, script], env=environment, options=["--follow"])
    assert recording.status == 0, recording.stderr
    found = [stacks(p).witnessed() for p in sorted(tmp_path.glob("run1.*.mdn"))]
    assert {(("in_child", str(script), 3), ("<module>", str(script), 6)): 88} in found


def test_a_killed_program_loses_nothing(record, debian, stacks, tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(
        "import os, signal, witness\n"
        "for i in range(1000): witness.alloc(10)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    recording = record.run([debian.path, script], env=debian.environment)
    assert recording.status == 128 + 9
    assert stacks(recording.path).witnessed() == {(("<module>", str(script), 2),): 10000}


EMBEDDER = r"""
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *python = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!python) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	((void (*)(void))dlsym(python, "Py_Initialize"))();
	return ((int (*)(const char *))dlsym(python, "PyRun_SimpleString"))(
		"def f():\n    return bytearray(1234567)\nx = f()\n");
}
"""


def test_an_interpreter_that_a_program_loads_is_found(record, debian, stacks, tmp_path):
    library = subprocess.run(
        [debian.path, "-c", "import sysconfig; print(sysconfig.get_config_var('INSTSONAME') or '')"],
        capture_output=True,
        text=True,
    ).stdout.strip()
    library = library if ".so" in library else f"libpython{debian.version[0]}.{debian.version[1]}.so.1.0"
    source = tmp_path / "embedder.c"
    source.write_text(EMBEDDER)
    subprocess.run(["cc", source, "-o", tmp_path / "embedder", "-ldl"], check=True)
    if subprocess.run([tmp_path / "embedder", library], capture_output=True).returncode:
        pytest.skip(f"{library} is not installed")
    recording = record.run([tmp_path / "embedder", library])
    found = {
        python_part(frames) for frames, stack in stacks(recording.path).all if stack["size_max"] == 1234568
    }
    assert found == {(("f", "<string>", 2), ("<module>", "<string>", 3))}


def test_reports_name_functions_and_lines_of_python(record, debian, midden, tmp_path):
    shutil.copy(HERE / "shapes.py", tmp_path / "shapes.py")
    recording = record.run(
        [debian.path, tmp_path / "shapes.py", tmp_path / "answer.json"], env=debian.environment
    )
    report = subprocess.run(
        [midden, "report", "--allocated", "--tree", recording.path], capture_output=True, text=True, check=True
    ).stdout
    assert "shapes.py:" in report and "main" in report
    for kind in ("pprof", "callgrind", "heaptrack", "speedscope", "csv", "dot", "flamegraph"):
        done = subprocess.run(
            [midden, "export", "-f", kind, "-o", tmp_path / f"out.{kind}", recording.path], capture_output=True
        )
        if kind != "heaptrack":  # which needs a trace
            assert done.returncode == 0, (kind, done.stderr)
