"""The examples of docs/tags.md, compiled and run, with midden and without.

SPDX-License-Identifier: Apache-2.0
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tagging import read_trees

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs/tags.md").read_text()
EXAMPLES = {name: body for body, name in re.findall(r"```c(?:pp)?\n((?:/\*|//) example: (\S+).*?)```", TEXT, re.S)}
EXPECTED = {"tags.c": (0, ("load", "parse")), "tags.cpp": (1, ("load", "Parser::run"))}


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_compiles_runs_and_is_counted(midden, record, tmp_path, name):
    compiler = shutil.which("c++" if name.endswith("pp") else "cc")
    if not compiler:
        pytest.skip("no compiler")
    source, program = tmp_path / name, tmp_path / "example"
    source.write_text(EXAMPLES[name])
    include = ROOT / "include"
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", f"-I{include}", source, "-o", program, "-pthread"], check=True)
    assert subprocess.run([program], capture_output=True).returncode == 0
    trees = read_trees(midden, record.run([program], options=("--tags",)).path)
    tree, path = EXPECTED[name]
    assert trees.requested(*path, tree=tree) == 1000


def test_all_examples_are_tested():
    assert set(EXAMPLES) == set(EXPECTED)
