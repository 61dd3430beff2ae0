"""Of several processes it is told which were looked at when they ended, and no test passes for those that were not.

SPDX-License-Identifier: Apache-2.0
"""

import json
import subprocess
from xml.etree import ElementTree

import pytest
from recording import TIMEOUT_S


@pytest.fixture(scope="module")
def several(native, midden, tmp_path_factory):
    """A directory with two processes that have lost nothing, as far as anybody knows: one was killed."""
    directory = tmp_path_factory.mktemp("several")
    for mode in ("exit", "kill"):
        command = [midden, "record", "-q", "--leaks", "-o", directory / f"{mode}.mdn", *native.command("dying", mode, 300)]
        subprocess.run(command, capture_output=True, timeout=TIMEOUT_S)
    return directory


@pytest.fixture(scope="module")
def merged(several, midden, tmp_path_factory):
    out = tmp_path_factory.mktemp("merged") / "out.mdn"
    files = sorted(several.iterdir())
    subprocess.run([midden, "merge", "-q", "-o", out, *files], check=True, timeout=TIMEOUT_S)
    return out


@pytest.fixture(params=("directory", "merged"))
def both(request, several, merged):
    return several if request.param == "directory" else merged


def run(midden, *words):
    return subprocess.run([midden, *words], capture_output=True, text=True, timeout=TIMEOUT_S)


def find_killed(midden, several):
    return json.loads(run(midden, "stats", "--json", several / "kill.mdn").stdout)["pid"]


def test_the_report_names_the_processes_that_were_not_looked_at(both, several, midden):
    pid = find_killed(midden, several)
    done = run(midden, "leaks", both)
    assert done.returncode == 0
    assert f"1 of 2 processes was looked at, and what the others lost is not known: dying ({pid})\n" in done.stdout
    leaks = json.loads(run(midden, "leaks", "--json", both).stdout)
    assert (leaks["processes"], leaks["processes_looked_at"]) == (2, 1)
    assert leaks["unchecked"] == [{"program": "dying", "pid": pid}]
    assert not leaks["all_blocks_known"]


def test_leaks_fails_for_processes_that_were_not_looked_at(both, several, midden):
    pid = find_killed(midden, several)
    done = run(midden, "leaks", "--fail", both)
    assert done.returncode == 1
    assert done.stderr == f"midden: --fail: not all were looked at; not: dying ({pid}) (--allow-unchecked)\n"
    assert run(midden, "leaks", "--fail", "--allow-unchecked", "sh,make", both).returncode == 1
    for names in ("dying", "sh,dy*", "*"):
        done = run(midden, "leaks", "--fail", "--allow-unchecked", names, both)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_limit_that_cannot_be_told_does_not_hold(both, several, midden, tmp_path):
    pid = find_killed(midden, several)
    xml = tmp_path / "out.xml"
    check = ("check", "--max-unreachable", "0B")
    done = run(midden, *check, "--junit", xml, both)
    words = f"0 B, but not all were looked at; not: dying ({pid})"
    assert done.returncode == 1
    assert f"FAILED  unreachable at most 0 B: {words}\n" in done.stdout
    assert [failure.get("message") for failure in ElementTree.parse(xml).iter("failure")] == [words]
    assert run(midden, *check, "--allow-unchecked", "dying", both).returncode == 0
    limits = {limit["name"]: limit for limit in json.loads(run(midden, *check, "--json", both).stdout)["limits"]}
    assert limits["unreachable"]["failed"] and limits["unreachable"]["processes_looked_at"] == 1
    assert run(midden, "check", "--max-peak", "1G", both).returncode == 0


def test_processes_that_were_all_looked_at_pass(native, midden, tmp_path):
    for name in ("a", "b"):
        command = [midden, "record", "-q", "--leaks", "-o", tmp_path / f"{name}.mdn", *native.command("dying", "exit", 300)]
        subprocess.run(command, timeout=TIMEOUT_S)
    assert run(midden, "leaks", "--fail", tmp_path).returncode == 0
    assert run(midden, "check", "--max-unreachable", "0B", tmp_path).returncode == 0
    leaks = json.loads(run(midden, "leaks", "--json", tmp_path).stdout)
    assert (leaks["processes_looked_at"], leaks["unchecked"]) == (2, []) and leaks["all_blocks_known"]
