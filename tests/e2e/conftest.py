"""Fixtures of the end-to-end tests.

SPDX-License-Identifier: Apache-2.0
"""

import os
import subprocess

import pytest

# So that a failing comparison in a helper shows both sides.
pytest.register_assert_rewrite("cases", "recording", "same")

import machine as machines  # noqa: E402
from recording import TIMEOUT_S, Recorder  # noqa: E402

# Threaded victims are recorded this often; 100 is the acceptance figure.
REPEATS = int(os.environ.get("MIDDEN_TEST_REPEATS", "5"))
LONG = os.environ.get("MIDDEN_TEST_LONG") == "1"


def pytest_configure(config):
    # Settings of the caller's own must not leak into the recordings, nor his debuginfod slow them down.
    for name in list(os.environ):
        if name == "DEBUGINFOD_URLS" or (
            name.startswith("MIDDEN_")
            and not name.startswith("MIDDEN_TEST_")
            and name not in ("MIDDEN_BUILD", "MIDDEN_CROSS_BUILD")
        ):
            del os.environ[name]


@pytest.fixture(scope="session")
def midden():
    """The command under test."""
    if not machines.COMMAND.exists() or not machines.LIBRARY.exists():
        pytest.fail(f"{machines.COMMAND} or {machines.LIBRARY} is missing: run make first", pytrace=False)
    return str(machines.COMMAND)


@pytest.fixture(scope="session")
def library(midden):
    return str(machines.LIBRARY)


@pytest.fixture(scope="session")
def native(midden):
    """This machine, victims built."""
    return machines.native()


@pytest.fixture
def record(native, tmp_path):
    """Records programs on this machine."""
    return Recorder(tmp_path, native)


@pytest.fixture
def make_profile(midden, tmp_path):
    """Writes a profile without a program: see export/make_profile.c."""

    def make(kind, *arguments):
        path = tmp_path / f"{kind}.mdn"
        program = machines.BUILD / "tests" / "e2e" / "make_profile"
        subprocess.run([program, kind, path, *map(str, arguments)], check=True, timeout=TIMEOUT_S)
        return path

    return make


@pytest.fixture
def need_victim(native):
    """Skips a test whose victim could not be built here."""

    def need(name):
        if native.victim(name) is None:
            pytest.skip(f"victim {name} was not built: its compiler or library is missing")
        return name

    return need


@pytest.fixture(params=range(REPEATS))
def repeat(request):
    """Runs a test several times over."""
    return request.param


@pytest.fixture(scope="session")
def is_long():
    return LONG
