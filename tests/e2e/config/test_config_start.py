"""Recordings that begin when a function or a library is first seen on the stack of an allocation.

SPDX-License-Identifier: Apache-2.0
"""

import subprocess

import pytest

from recording import sites_through

LIBRARY = "#include <stdlib.h>\nvoid *volatile last;\nvoid make(int n) { while (n--) last = malloc(70); }\n"
PROGRAM = """#include <dlfcn.h>
#include <stdlib.h>
void *volatile last;
int main(int argc, char **argv)
{
	for (int i = 0; i < 100; i++)
		last = malloc(10);
	void *library = dlopen(argv[argc - 1], RTLD_NOW);
	void (*make)(int) = library ? (void (*)(int))dlsym(library, "make") : 0;
	if (!make)
		return 3;
	make(5);
	for (int i = 0; i < 50; i++)
		last = malloc(20);
	return 0;
}
"""


def test_a_recording_begins_at_a_function(record):
    # load's 100 blocks come before save, sum's and descend's after.
    stats = record.victim("known_tree", "full", options=("--start-at", "function=save")).stats
    assert sites_through(stats, "load") == []
    assert sum(s["allocations"] for s in sites_through(stats, "save")) == 51
    assert sum(s["allocations"] for s in sites_through(stats, "descend")) == 5
    assert stats["foreign_frees"] == 0 and stats["stopped_ns"] > 0


def test_a_recording_begins_at_a_library(record, tmp_path):
    for name, text, options in (("made.so", LIBRARY, ("-shared", "-fPIC")), ("program", PROGRAM, ("-ldl",))):
        (tmp_path / f"{name}.c").write_text(text)
        subprocess.run(["cc", "-g", "-O1", "-o", tmp_path / name, tmp_path / f"{name}.c", *options], check=True)
    stats = record.run([tmp_path / "program", tmp_path / "made.so"], options=("--start-at", "library=made.so")).stats
    sizes = sorted((s["size_min"], s["allocations"]) for s in sites_through(stats, "main"))
    assert sizes == [(20, 50), (70, 5)]


def test_python_functions_begin_one_too(record):
    script = "def work(): return bytearray(100000)\nx = [bytearray(200000) for _ in range(3)]\ny = [work() for _ in range(5)]\n"
    stats = record.run(["/usr/bin/python3", "-c", script], options=("--start-at", "function=work")).stats
    assert sum(s["allocated_bytes"] for s in sites_through(stats, "work") if s["size_min"] >= 100000) >= 500000
    assert not [s for s in stats["sites"] if s["size_max"] >= 200000]


@pytest.mark.parametrize(
    ("options", "why"),
    ((("--start-at", "function=nobody"), "function nobody was not seen"), (("--delayed",), "the program did not call midden_start()")),
)
def test_what_never_comes_records_nothing_and_is_told(midden, native, tmp_path, options, why):
    path = tmp_path / "out.mdn"
    done = subprocess.run([midden, "record", "-o", path, *options, native.victim("basic_heap")], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and f"midden: recording never began: {why}\n" in done.stderr
    text = subprocess.run([midden, "report", path], capture_output=True, text=True, check=True, timeout=120).stdout
    assert "\nRecording never began.\n" in text


@pytest.mark.parametrize("what", ("work", "function=", "thread=x"))
def test_what_makes_no_sense_is_refused(midden, what):
    done = subprocess.run([midden, "record", "--start-at", what, "true"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("midden: record: ")
