"""Programs outside of the tree are built against what `make install` leaves, and record themselves.

SPDX-License-Identifier: Apache-2.0
"""

import os
import pathlib
import shutil
import subprocess
import time

import pytest
from recording import read_stats

TREE = pathlib.Path(__file__).resolve().parents[3]
SOURCE = """#include <midden/midden.h>
#include <stdlib.h>

int main(void)
{
	void *block = malloc(1234);

	midden_snapshot("one");
	return block == 0 || !midden_is_loaded();
}
"""
CMAKE = """cmake_minimum_required(VERSION 3.16)
project(outside C)
find_package(midden 0.1 REQUIRED)
add_executable(app app.c)
target_link_libraries(app PRIVATE midden::midden)
add_executable(plain app.c)
target_link_libraries(plain PRIVATE midden::headers)
"""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(midden, tmp_path_factory):
    if shutil.which("cmake") is None or shutil.which("pkg-config") is None:
        pytest.skip("cmake or pkg-config is not installed")
    prefix = tmp_path_factory.mktemp("installed")
    run("cmake", "--install", pathlib.Path(midden).parent, "--prefix", prefix)
    return prefix


@pytest.fixture
def outside(tmp_path):
    (tmp_path / "app.c").write_text(SOURCE, encoding="ascii")
    (tmp_path / "CMakeLists.txt").write_text(CMAKE, encoding="ascii")
    return tmp_path


def check_recorded(program, prefix, directory):
    library = next(prefix.rglob("libmidden.so")).parent
    profile = directory / "app.mdn"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MIDDEN_") and k != "LD_PRELOAD"}
    environment |= {"MIDDEN_OUTPUT": str(profile), "LD_LIBRARY_PATH": str(library)}
    run(program, env=environment)
    end = time.monotonic() + 120
    while not profile.exists() and time.monotonic() < end:
        time.sleep(0.05)
    stats = read_stats(profile)
    assert (stats["allocations"], stats["leaked_bytes"], stats["lost_events"]) == (1, 1234, 0)


def test_a_program_is_linked_by_pkg_config(installed, outside):
    directory = next(installed.rglob("midden.pc")).parent
    environment = {**os.environ, "PKG_CONFIG_PATH": str(directory)}
    prefix = f"--define-variable=prefix={installed}"
    flags = run("pkg-config", prefix, "--cflags", "--libs", "midden", env=environment).split()
    run("cc", outside / "app.c", "-o", outside / "app", *flags)
    check_recorded(outside / "app", installed, outside)


def test_a_program_is_linked_by_cmake(installed, outside):
    run("cmake", "-S", outside, "-B", outside / "build", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", outside / "build")
    check_recorded(outside / "build" / "app", installed, outside)
    assert "libmidden" not in run("readelf", "-d", outside / "build" / "plain")


def test_all_headers_are_installed(installed):
    wanted = {path.name for path in (TREE / "include" / "midden").iterdir()}
    assert {path.name for path in (installed / "include" / "midden").iterdir()} == wanted
