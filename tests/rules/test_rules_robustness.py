"""docs/robustness.md names tests that exist, and a test for every trap.

SPDX-License-Identifier: Apache-2.0
"""

import re

import tree

PAGE = "docs/robustness.md"
TEST = re.compile(r"`(test_\w+)`")


def defined_tests():
    return {
        name
        for path in tree.files("tests/e2e/**/test_*.py", "tests/rules/test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", tree.read(path), re.M)
    }


def rows(section):
    """The cells of each row of the tables in a section, without heads and rules."""
    text = tree.read(PAGE).split(f"\n## {section}\n")[1].split("\n## ")[0]
    table = [line for line in text.splitlines() if line.startswith("|")]
    heads = {i for i, line in enumerate(table) if i + 1 < len(table) and table[i + 1].startswith("|--")}
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for i, line in enumerate(table)
        if i not in heads and not line.startswith("|--")
    ]


def test_every_test_that_is_named_exists():
    named = TEST.findall(tree.read(PAGE))
    assert len(named) > 50, "the names were not found: the pattern is wrong"
    assert sorted(set(named) - defined_tests()) == []


def test_every_trap_has_a_test():
    found = rows("The traps") + rows("System calls that fail")
    assert len(found) > 40, "the rows were not found"
    assert [row[0] for row in found if not any(TEST.search(cell) for cell in row)] == []


def test_every_trap_says_what_midden_and_its_peers_do():
    assert [row[0] for row in rows("The traps") if len(row) != 5 or not all(row)] == []


def test_every_section_of_a_profile_is_fuzzed():
    sections = set(re.findall(r"^#define (WIRE_TAG_\w+)", tree.read("src/format/wire.h"), re.M))
    assert len(sections) > 15, "the sections were not found: the pattern is wrong"
    fuzzed = set(re.findall(r"WIRE_TAG_\w+", tree.read("tests/fuzz/fuzz_profile.c")))
    assert sorted(sections - fuzzed) == []
