"""Fixtures of the tests of Python.

SPDX-License-Identifier: Apache-2.0
"""

import pytest
from interpreters import DEBIAN, Interpreter, Stacks


@pytest.fixture(scope="session")
def interpreters(tmp_path_factory):
    built = {}

    def get(path):
        if path not in built:
            built[path] = Interpreter(path, tmp_path_factory.mktemp("witness")).build()
        return built[path]

    return get


@pytest.fixture
def debian(interpreters):
    return interpreters(DEBIAN)


@pytest.fixture
def stacks(midden):
    return lambda path: Stacks(midden, path)
