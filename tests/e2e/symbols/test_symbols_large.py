"""What reports and look-ups cost on large profiles: memory, and no more time than what grows with their size.
How long they take is measured by `make bench`.

SPDX-License-Identifier: Apache-2.0
"""

import shutil
import subprocess

import pytest

from machine import BUILD

SECONDS_MOST = 60.0  # of the processor, on the slowest of machines; what looks at all pairs takes hours
BYTES_MOST = 300 << 20
STACKS = 200_000

BIG = """
#include <filesystem>
#include <future>
#include <iostream>
#include <map>
#include <regex>
#include <unordered_map>
template <int N> struct part {
	std::map<int, std::vector<std::string>> names;
	std::unordered_map<std::string, std::future<int>> later;
	void fill() { names[N].push_back(std::to_string(N)); later.clear(); std::regex("a+b*"); part<N - 1>().fill(); }
};
template <> struct part<0> { void fill() {} };
int main() { part<30>().fill(); }
"""


MEASURE = """
import os, sys
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(f"\\n{usage.ru_utime + usage.ru_stime} {usage.ru_maxrss}", end="")
sys.exit(os.waitstatus_to_exitcode(status))
"""


def cost(*command):
    """(seconds of the processor, bytes of memory, output) of a command."""
    # By way of a small process: what starts a program is part of the largest size that the kernel knows of it.
    done = subprocess.run(
        ["/usr/bin/python3", "-c", MEASURE, *map(str, command)], stdout=subprocess.PIPE, text=True, check=True
    )
    output, usage = done.stdout.rsplit("\n", 1)
    seconds, kilobytes = usage.split()
    return float(seconds), int(kilobytes) << 10, output


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    program = BUILD / "tests" / "large_profile"
    if not program.exists():
        pytest.skip("large_profile is not built")
    path = tmp_path_factory.mktemp("large") / "large.mdn"
    subprocess.run([program, path, str(STACKS)], check=True)
    return path


@pytest.mark.parametrize("options", ((), ("--flat",), ("--top-down",), ("--leaks", "--json")), ids=" ".join)
def test_a_report_on_200_000_stacks_is_made_in_little_memory(midden, large, options):
    seconds, memory, output = cost(midden, "report", *options, large)
    assert "app" in output
    assert seconds < SECONDS_MOST
    assert memory < BYTES_MOST


def test_the_names_of_a_compiler_are_looked_up_in_little_memory(midden, tmp_path):
    """Its libraries have no debug information and a hundred thousand symbols."""
    compiler = shutil.which("clang++")
    if compiler is None:
        pytest.skip("no clang++")
    (tmp_path / "big.cpp").write_text(BIG)
    profile = tmp_path / "clang.mdn"
    command = [compiler, "-fintegrated-cc1", "-std=c++17", "-fsyntax-only", tmp_path / "big.cpp"]
    subprocess.run([midden, "record", "-q", "--no-symbols", "-o", profile, *command], check=True)
    seconds, memory, output = cost(midden, "resolve", profile)
    assert "libclang" in output and seconds < SECONDS_MOST and memory < BYTES_MOST
    for options in ((), ("--by", "line")):  # without lines every function is a row of its own
        seconds, memory, output = cost(midden, "report", *options, profile)
        assert "clang::" in output and seconds < SECONDS_MOST and memory < BYTES_MOST
