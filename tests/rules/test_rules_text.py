"""Form: budgets of size, heads of files, words that have no place in the tree.

SPDX-License-Identifier: Apache-2.0
"""

import re
import shutil
import statistics

import pytest

import tree

C_FILES = tree.files("src/**/*.c", "src/**/*.h", "include/**/*.h", "include/**/*.hpp")
TEST_FILES = tree.files(
    "tests/unit/**/*.[ch]",
    "tests/fuzz/*.[ch]",
    "tests/fault/**/*.[ch]",
    "tests/large/*.c",
    "tests/torture/*.[ch]",
    "tests/torture/*.cpp",
    "tests/victims/*.[ch]",
    "tests/victims/*.cpp",
    "examples/**/*.[ch]",
    "bench/**/*.[ch]",
)
CODE_FILES = (
    C_FILES
    + TEST_FILES
    + tree.files(
        "CMakeLists.txt",
        "*/CMakeLists.txt",
        "src/*/CMakeLists.txt",
        "Makefile",
        "tests/**/*.py",
        "tests/**/*.sh",
        "tools/*",
        "bench/**/*.py",
        ".ci/*",
    )
)

FILE_LINES_MOST = 600
HOT_LINES_MOST = 150
FUNCTION_LINES_MOST = 80
FUNCTION_MEDIAN_MOST = 10
COLUMNS_MOST = 100
PARAMETERS_MOST = 5

FORBIDDEN = ("TODO", "FIXME", "XXX", "HACK")  # what is missing belongs into an issue


def functions(path):
    """(name, lines of the body, parameters) of each function defined in a C file.

    The tree is formatted, so a definition is a line at column 0 with a parenthesis, and ends at a `}` at column 0.
    """
    text = tree.code_only(tree.read(path))
    pattern = re.compile(
        r"^(?!struct |enum |union |typedef |extern |\})[A-Za-z_][^;{}=]*?\b(\w+)\(([^;{}]*?)\)\s*(?:__attribute__[^{;]*)?\n\{\n(.*?)^\}$",
        re.M | re.S,
    )
    for match in pattern.finditer(text):
        parameters = 0 if match[2].strip() in ("", "void") else count_parameters(match[2])
        yield match[1], match[3].count("\n"), parameters


def count_parameters(text):
    depth, count = 0, 1
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        count += letter == "," and depth == 0
    return count


ALL_FUNCTIONS = [(path, *function) for path in C_FILES for function in functions(path)]


def test_no_file_is_too_long():
    limits = {"hot.h": HOT_LINES_MOST}
    assert [
        str(path)
        for path in C_FILES + TEST_FILES
        if len(tree.read(path).splitlines()) > limits.get(path.name, FILE_LINES_MOST)
    ] == []


def test_no_function_is_too_long():
    assert [
        (str(path), name, lines) for path, name, lines, _ in ALL_FUNCTIONS if lines > FUNCTION_LINES_MOST
    ] == []


def test_no_function_takes_too_many_parameters():
    # What stands in for a libc function, a system call, and what libmicrohttpd calls have the parameters that they have.
    given = set(re.findall(r"\w+(?=;)", tree.read("src/capture/exports.map"))) | {
        "arch_syscall",
        "answer_request",
        "map_memory",
    }
    assert [
        (str(path), name, count)
        for path, name, _, count in ALL_FUNCTIONS
        if count > PARAMETERS_MOST and name not in given
    ] == []


def test_functions_are_short_as_a_rule():
    assert len(ALL_FUNCTIONS) > 100, "the functions were not found: the pattern is wrong"
    assert statistics.median(lines for _, _, lines, _ in ALL_FUNCTIONS) <= FUNCTION_MEDIAN_MOST
    assert sum(lines <= 40 for _, _, lines, _ in ALL_FUNCTIONS) >= 0.9 * len(ALL_FUNCTIONS)


def test_the_hot_path_has_no_conditional_compilation():
    lines = tree.read("src/capture/hot.h").splitlines()
    guard = re.compile(r"\s*#\s*ifndef MIDDEN_CAPTURE_HOT_H$")
    assert [line for line in lines if re.match(r"\s*#\s*(if|elif)", line) and not guard.match(line)] == []


def test_every_file_says_what_it_is():
    assert [
        str(path) for path in C_FILES + TEST_FILES if not tree.read(path).startswith(f"/* {path.name} -- ")
    ] == []


def test_every_file_names_its_licence():
    assert [
        str(path)
        for path in CODE_FILES
        if path.suffix in (".c", ".h", ".cpp", ".hpp", ".py", ".sh")
        and "SPDX-License-Identifier: Apache-2.0" not in tree.read(path)[:2000]
    ] == []


def test_no_line_is_too_wide():
    assert [
        f"{path}:{number}"
        for path in C_FILES + TEST_FILES
        for number, line in enumerate(tree.read(path).splitlines(), 1)
        if len(line.expandtabs(8)) > COLUMNS_MOST
    ] == []


def test_no_reminders_are_left_in_the_code():
    words = re.compile(rf"\b({'|'.join(FORBIDDEN)})\b")
    assert [
        str(path)
        for path in CODE_FILES
        if path.name != "test_rules_text.py" and words.search(tree.read(path))
    ] == []


def test_lines_end_cleanly():
    texts = {path: tree.read(path) for path in CODE_FILES}
    assert [str(path) for path, text in texts.items() if not text.endswith("\n") or "\r" in text] == []
    assert [
        f"{path}:{number}"
        for path, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        if line != line.rstrip()
    ] == []


def test_the_sources_are_formatted():
    formatter = shutil.which("clang-format")
    if formatter is None:
        pytest.skip("clang-format is not installed")
    done = tree.run(formatter, "--dry-run", "-Werror", *C_FILES, *TEST_FILES)
    faults = sorted(set(re.findall(r"^([\w./-]+):\d+:\d+: error", done.stderr, re.M)))
    assert (faults, done.returncode) == ([], 0)
