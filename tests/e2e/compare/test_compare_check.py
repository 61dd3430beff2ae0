"""`midden check`: limits for automatic tests.

SPDX-License-Identifier: Apache-2.0
"""

import xml.etree.ElementTree as ElementTree

import pytest

from comparing import LEAK_BYTES, LEAKING, MOVED, PLAIN, bad_files, record_build, run, run_json

LIMITS = {
    "--max-peak": "peak_bytes",
    "--max-leaked": "leaked_bytes",
    "--max-allocations": "allocations",
    "--max-temporary": "temporary_allocations",
}


@pytest.fixture
def leaking(record, tmp_path):
    return record_build(record, tmp_path, "leaking", LEAKING, "-O1")


@pytest.mark.parametrize("option", LIMITS)
def test_a_limit_holds_at_the_value_and_above_and_not_below(leaking, option):
    value = leaking.stats[LIMITS[option]]
    assert value > 0
    statuses = [run("check", option, limit, leaking.path).returncode for limit in (value - 1, value, value + 1)]
    assert statuses == [1, 0, 0]


def test_a_share_of_temporary_allocations_is_a_limit_too(leaking):
    share = 100 * leaking.stats["temporary_allocations"] / leaking.stats["allocations"]
    assert 1 < share < 99
    assert run("check", "--max-temporary", f"{share - 0.5:.3f}%", leaking.path).returncode == 1
    assert run("check", "--max-temporary", f"{share + 0.5:.3f}%", leaking.path).returncode == 0


def test_a_failure_names_the_stacks_behind_it(leaking):
    done = run("check", "--max-leaked", 0, "--max-peak", "1G", leaking.path)
    assert done.returncode == 1 and done.stderr == ""
    assert "FAILED  leaked at most 0 B: 68.4 KiB" in done.stdout
    assert "hoard (leaking.c:" in done.stdout
    assert "ok      peak at most 1.00 GiB" in done.stdout
    result = next(each for each in run_json("check", "--max-leaked", 0, leaking.path)["limits"] if each["failed"])
    assert (result["name"], result["value"], result["stacks"][0]["bytes"]) == ("leaked", LEAK_BYTES, LEAK_BYTES)


def test_leaks_that_rules_name_are_stated_and_do_not_count(leaking, tmp_path):
    rules = tmp_path / "known.supp"
    rules.write_text("# known\nleak:hoard\n")
    done = run("check", "--max-leaked", 0, "--suppressions", rules, leaking.path)
    assert done.returncode == 0
    assert "leaked at most 0 B: 0 B, and 68.4 KiB suppressed" in done.stdout
    rules.write_text("leak:no_such_function\n")
    assert run("check", "--max-leaked", 0, "--suppressions", rules, leaking.path).returncode == 1
    rules.write_text("nonsense\n")
    done = run("check", "--max-leaked", 0, "--suppressions", rules, leaking.path)
    assert done.returncode == 1 and done.stderr.count("\n") == 1


def test_leaks_that_rules_name_are_no_growth_either(record, tmp_path, leaking):
    rules = tmp_path / "known.supp"
    rules.write_text("leak:hoard\n")
    plain = record_build(record, tmp_path, "plain", PLAIN, "-O0")
    words = ("check", "--max-growth-vs", plain.path, "0%", leaking.path)
    growth = {each["name"]: each for each in run_json(*words, "--suppressions", rules)["limits"]}["leaked-growth"]
    assert not growth["failed"]
    assert (growth["value"], growth["old_value"], growth["suppressed_bytes"]) == (0, 0, LEAK_BYTES)
    assert ", and suppressed 0 B before, 68.4 KiB now" in run(*words, "--suppressions", rules).stdout
    assert "FAILED  growth of leaked" in run(*words).stdout
    changed = run_json("diff", "--leaks", "--suppressions", rules, plain.path, leaking.path)
    assert changed["rows"] == [] and changed["totals"]["leaked"]["new_bytes"] == 0
    assert changed["suppressed"]["change_bytes"] == LEAK_BYTES
    assert run_json("diff", "--leaks", plain.path, leaking.path)["totals"]["leaked"]["new_bytes"] == LEAK_BYTES


def test_without_a_limit_nothing_is_said_to_hold(leaking):
    done = run("check", leaking.path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing to check" in done.stderr


def test_growth_is_measured_between_builds(record, tmp_path, leaking):
    plain = record_build(record, tmp_path, "plain", PLAIN, "-O0")
    moved = record_build(record, tmp_path, "moved", MOVED, "-O2")
    assert run("check", "--max-growth-vs", plain.path, "0%", moved.path).returncode == 0
    done = run("check", leaking.path, "--max-growth-vs", plain.path, "5%")
    assert done.returncode == 1
    assert "FAILED  growth of leaked at most 5%" in done.stdout and "hoard (leaking.c:" in done.stdout
    assert run("check", "--max-growth-vs", leaking.path, "0%", plain.path).returncode == 0


def test_junit_results_are_valid(leaking, tmp_path):
    out = tmp_path / "results.xml"
    done = run("check", "--max-leaked", 0, "--max-peak", "1G", "--junit", out, leaking.path)
    assert done.returncode == 1
    root = ElementTree.parse(out).getroot()
    assert root.tag == "testsuites"
    (suite,) = root.findall("testsuite")
    cases = suite.findall("testcase")
    failures = [case for case in cases if case.find("failure") is not None]
    for element in (root, suite):
        assert (element.get("tests"), element.get("failures")) == (str(len(cases)), str(len(failures)))
    assert all(case.get("classname") and case.get("name") for case in cases)
    (failed,) = failures
    assert failed.find("failure").get("type") == "leaked"
    assert "hoard" in failed.find("failure").text


def test_a_damaged_profile_fails_unless_it_is_allowed(leaking, tmp_path):
    cut = tmp_path / "cut.mdn"
    cut.write_bytes(leaking.path.read_bytes()[:-60])
    done = run("check", "--max-lost", 0, cut)
    assert done.returncode == 1
    assert "FAILED  complete profile: damaged" in done.stdout
    assert run("check", "--allow-damaged", "--max-lost", 0, cut).returncode == 0


def test_a_profile_that_cannot_be_read_gives_one_line(leaking, tmp_path):
    for what, bad in bad_files(tmp_path, leaking.path):
        for arguments in ((bad,), ("--max-growth-vs", bad, "5%", leaking.path)):
            done = run("check", "--max-peak", "1G", *arguments)
            assert (done.returncode, done.stdout) == (1, ""), what
            assert done.stderr.count("\n") == 1 and str(bad) in done.stderr, done.stderr


def test_results_that_cannot_be_written_fail(leaking):
    done = run("check", "--max-peak", "1G", "--junit", "/nonexistent/results.xml", leaking.path)
    assert done.returncode == 1
    assert done.stderr == "midden: cannot write /nonexistent/results.xml: No such file or directory\n"


@pytest.mark.parametrize(
    "arguments",
    (
        ("--max-peak", "lots", "a"),
        ("--max-peak", "-1", "a"),
        ("--max-peak", "5%", "a"),
        ("--max-leaked", "1e9", "a"),
        ("--max-allocations", "1KiB", "a"),
        ("--max-temporary", "150 %", "a"),
        ("--max-lost", "99999999999999999999", "a"),
        ("--max-growth-vs", "a"),
        ("--max-growth-vs", "a", "5", "b"),
        ("--stacks", "many", "a"),
        ("one", "two"),
        ("--json", "a"),
        ("--no-such-limit",),
    ),
    ids=" ".join,
)
def test_nonsense_is_said_and_gives_status_2(midden, arguments):
    done = run("check", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("Try `midden check --help`.\n") and done.stderr.count("\n") == 2
