"""The examples of docs/python.md are run: parts that are measured, profiles as objects, limits in pytest, IPython.

SPDX-License-Identifier: Apache-2.0
"""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from interpreters import DEBIAN

TREE = pathlib.Path(__file__).resolve().parents[3]
BINDINGS = TREE / "bindings" / "python"
PAGE = (TREE / "docs" / "python.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"<!-- example: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.S))
TIMEOUT_S = 300


@pytest.fixture
def run(midden, tmp_path):
    """Runs Debian's Python with the package in reach; stdout. Under midden with `record`, a list of its options."""

    def run(*words, record=None, status=0, **more):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("MIDDEN_", "PYTEST_"))}
        environment |= {"PYTHONPATH": str(BINDINGS), "PYTHONDONTWRITEBYTECODE": "1", "MIDDEN_COMMAND": midden}
        environment |= {k: str(v) for k, v in more.items()}
        command = [DEBIAN, *map(str, words)]
        if record is not None:
            command = [midden, "record", "-q", "-o", str(tmp_path / "run.mdn"), *record, "--", *command]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_S
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def example(tmp_path):
    def write(name):
        (tmp_path / name).write_text(EXAMPLES[name], encoding="utf-8")
        return tmp_path / name

    return write


def sizes(text):
    """Sizes in a text, in bytes, by the word before each."""
    units = {"B": 1, "KiB": 1024, "MiB": 1024**2}
    found = re.findall(r"(\w+) (-?[\d.]+) (B|KiB|MiB)\b", text)
    return {word: float(value) * units[unit] for word, value, unit in found}


# ---- parts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--delayed"]])
def test_parts_are_measured(run, example, options):
    first, *sites, last = run(example("parts.py"), record=options, PYTHONMALLOC="malloc").splitlines()
    assert 2_000_000 < sizes(first)["peak"] < 2_010_000 and 500_000 < sizes(first)["leaked"] < 510_000
    size, blocks, where = sites[0].split(" ", 2)
    assert 2_000_000 < int(size) < 2_010_000 and int(blocks) >= 40
    assert re.match(r"load\S* \(.*parts.py:4\)$", where)
    assert 500_000 < sizes(last)["leaked"] < 510_000


def test_parts_are_run_without_midden(run, example):
    assert run(example("parts.py")).split("\n")[0] == "Measurement(not recorded)"


def test_a_part_inside_of_another_is_refused(run, tmp_path):
    script = tmp_path / "nested.py"
    script.write_text(
        "import midden\n"
        "with midden.measured() as outer:\n"
        "    try:\n"
        "        with midden.measured(): pass\n"
        "    except RuntimeError as why: print(why)\n"
        "print(outer.is_recorded)\n"
    )
    assert run(script, record=[]).splitlines() == [
        "a part is being measured already: measuring does not nest",
        "True",
    ]


def test_profiles_are_objects(run, example, tmp_path):
    script = tmp_path / "holds.py"
    script.write_text("def hold():\n    return bytearray(5_000_000)\nx = hold()\n")
    run(script, record=[])
    first, second, *_ = run(example("reading.py"), tmp_path / "run.mdn").splitlines()
    assert int(first.split()[0]) > 5_000_000
    assert second == f"5000001 hold ({script}:2) ['hold', '<module>']"


def test_a_profile_that_is_none_is_an_error(run, tmp_path):
    (tmp_path / "no.mdn").write_text("no")
    text = run("-c", "import midden\ntry: midden.Profile('no.mdn').stats\nexcept midden.MiddenError as e: print(e)")
    assert text.startswith("midden: no.mdn: ")
    text = run(
        "-c",
        "import midden\ntry: midden.Profile('no.mdn').stats\nexcept midden.MiddenError as e: print(e)",
        MIDDEN_COMMAND="/no/such/midden",
    )
    assert text == "/no/such/midden: No such file or directory\n"


# ---- pytest ----------------------------------------------------------------------------------------------------

PYTEST = ("-m", "pytest", "-p", "midden.pytest_plugin", "-p", "no:cacheprovider")
LARGE = r"The test held 7\.6\d MiB at once; limit_memory allows 4\.00 MiB\.\n +7\.6\d MiB in \d+ blocks?\n +load\S* \(.*:6\)"
KEPT = r"The test kept 48\.\d+ KiB in 1 stack; limit_leaks allows 10\.00 KiB in each\.\n.*\n +test_what_is_kept \(.*:18\)"


def check_limits(text):
    assert "2 failed, 2 passed" in text
    assert re.search(LARGE, text) and re.search(KEPT, text)
    table = text.partition("memory, by midden")[2]
    assert re.search(r"7\.6\d MiB +\d+ +7\.6\d MiB  test_limits.py::test_a_load_that_is_too_large", table)


def test_limits_of_tests(run, example):
    check_limits(run(*PYTEST, "--midden", example("test_limits.py"), status=1))


def test_limits_of_tests_in_workers(run, example):
    pytest.importorskip("xdist")
    check_limits(run(*PYTEST, "--midden", "-n", "2", example("test_limits.py"), status=1))


def test_limits_hold_under_midden_record_too_and_nowhere_else(run, example):
    text = run(*PYTEST, example("test_limits.py"), record=[], status=1, PYTHONMALLOC="malloc")
    assert re.search(LARGE, text)
    text = run(*PYTEST, example("test_limits.py"))
    assert "4 passed" in text and "by midden" not in text


def test_the_profile_of_a_run_can_be_kept(run, tmp_path):
    (tmp_path / "test_one.py").write_text("def test_one():\n    assert bytearray(1000)\n")
    run(*PYTEST, "--midden", "--midden-output", "all.mdn", "--midden-most", "0", "test_one.py")
    assert (tmp_path / "all.mdn").exists()


WRONG = {
    "limit_memory('4 pints')": "limit_memory: '4 pints' is no size",
    "limit_memory()": 'limit_memory: it needs a size: limit_memory("24 MB")',
    "limit_memory(-1)": "limit_memory: -1 is no size",
    "limit_memory('1 KB', False, 3)": "limit_memory: it takes a size and current_thread_only, not more",
    "limit_leaks('1 KB', threads=1)": "limit_leaks: it takes a size and filter_fn, not threads",
    "limit_leaks('1 KB', filter_fn=7)": "limit_leaks: filter_fn is 7, which is no function",
}


def test_what_is_wrong_with_limits_is_said(run, tmp_path):
    tests = [f"@pytest.mark.{mark}\ndef test_{number}(): pass\n" for number, mark in enumerate(WRONG)]
    (tmp_path / "test_marks.py").write_text("import pytest\n" + "".join(tests))
    text = run(*PYTEST, "--midden", "test_marks.py", status=1)
    assert [said for said in WRONG.values() if said not in text] == []
    assert f"{len(WRONG)} failed" in text and "Error" not in text


def test_what_midden_allocates_itself_is_no_fault_of_the_test(run, tmp_path):
    lines = (
        "import pytest",
        "kept = []",
        "@pytest.mark.limit_leaks(0)",
        "@pytest.mark.limit_memory(0)",
        "def test_one(): kept.append(bytearray(5_000))",
    )
    (tmp_path / "test_one.py").write_text("\n".join(lines))
    text = run(*PYTEST, "--midden", "--midden-stacks", "100", "test_one.py", status=1)
    assert re.search(r"4\.\d+ KiB in \d blocks?\n +test_one ", text)
    assert "tempfile" not in text and "measure.py" not in text


# ---- the package -----------------------------------------------------------------------------------------------


def test_it_is_installed_from_the_tree_without_a_network(run, example, midden, tmp_path):
    source = tmp_path / "source"
    shutil.copytree(BINDINGS, source, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "PYTHON"))}
    environment |= {"MIDDEN_COMMAND": midden, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    def step(*command, status=0):
        done = subprocess.run(
            [str(word) for word in command], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_S
        )
        if done.returncode and "No module named" in done.stderr:
            pytest.skip(done.stderr.strip().splitlines()[-1])
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    step(DEBIAN, "-m", "venv", "--system-site-packages", "--without-pip", "venv")
    python = tmp_path / "venv" / "bin" / "python"
    step(python, "-m", "pip", "install", "--no-build-isolation", "--no-deps", source)
    assert step(python, "-c", "import midden; print(midden.__file__)").startswith(str(tmp_path / "venv"))
    # Found by pytest without being named.
    example("test_limits.py")
    text = step(python, "-m", "pytest", "--midden", "-k", "small", "test_limits.py")
    assert "1 passed" in text and "memory, by midden" in text


# ---- IPython ---------------------------------------------------------------------------------------------------

SESSION = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in open(sys.argv[1]).read().split("\\n\\n"):
    result = shell.run_cell(cell)
    if not result.success:
        sys.exit(1)
"""


@pytest.fixture
def session(run, example, tmp_path):
    pytest.importorskip("IPython")
    (tmp_path / "cells.py").write_text(SESSION)

    def start(**more):
        return run(tmp_path / "cells.py", example("session.ipy"), IPYTHONDIR=tmp_path / "ipython", **more)

    return start


def test_cells_are_measured(session):
    text = session(record=["--delayed"], PYTHONMALLOC="malloc")
    line, cell = re.findall(r"^peak .*$", text, re.M)
    assert 3_000_000 < sizes(line)["kept"] < sizes(line)["peak"] * 1.01
    assert sizes(cell)["kept"] > 5_000_000
    held = text.partition("held at the peak:")[2]
    assert re.search(r"MiB in [\d,]+ blocks +<(dictcomp|cell line: 1|module)>", held)
    assert "kept:" in text.partition(cell)[2] and "kept:" not in text.partition(cell)[0]


def test_cells_are_run_without_midden(session):
    assert session().count("nothing was measured: this interpreter does not run under `midden record`") == 2
