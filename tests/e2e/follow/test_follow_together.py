"""All processes of a recording in one report: what it is headed with.

SPDX-License-Identifier: Apache-2.0
"""

import json
import re
import subprocess

import pytest
from recording import TIMEOUT_S


@pytest.fixture(scope="module")
def directory(native, midden, tmp_path_factory):
    """A shell and a program that it starts, whose file comes first in the directory."""
    directory = tmp_path_factory.mktemp("together")
    script = ["/bin/sh", "-c", '"$@"; exit 0', "sh", *native.command("basic_heap")]
    command = [midden, "record", "-q", "--follow", "--rss", "-o", directory / "%n.mdn", *script]
    subprocess.run(command, check=True, timeout=TIMEOUT_S)
    first, *others = sorted(path.name for path in directory.iterdir())
    assert first.startswith("basic_heap") and others
    return directory


def read(midden, *words):
    done = subprocess.run([midden, *words], capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    return done.stdout


@pytest.mark.parametrize("how", ("directory", "merged", "backwards"))
def test_a_report_of_all_processes_is_headed_by_the_program_that_was_started(directory, midden, tmp_path, how):
    path = directory
    if how != "directory":
        files = sorted(directory.iterdir(), reverse=how == "backwards")
        read(midden, "merge", "-q", "-o", path := tmp_path / "all.mdn", *files)
    stats = json.loads(read(midden, "stats", "--json", path))
    assert stats["program"] == "sh and others"
    assert stats["command"].startswith("/bin/sh -c ") and stats["command"].endswith(" and others")


def test_resident_sizes_of_processes_are_said_to_be_added_up(directory, midden):
    line = r"^  resident     (.*), midden's own part "
    (words,) = re.findall(line, read(midden, "report", directory), re.M)
    assert re.fullmatch(r"[0-9.]+ .iB at most in each process, added up", words)
    (words,) = re.findall(line, read(midden, "report", next(directory.glob("sh*.mdn"))), re.M)
    assert re.fullmatch(r"[0-9.]+ .iB at most", words)


def test_what_is_resident_is_known_of_each_process_and_not_of_all_together(directory, midden):
    for option, what in (("--rss", "what is resident"), ("--types", "of what type objects are")):
        done = subprocess.run([midden, "report", option, directory], capture_output=True, text=True, timeout=TIMEOUT_S)
        told = f"profiles of several processes together do not tell {what}: look at them one by one"
        assert (done.returncode, done.stderr) == (1, f"midden: {told}\n")
