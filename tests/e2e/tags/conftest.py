"""Fixtures of the tests of tags.

SPDX-License-Identifier: Apache-2.0
"""

import pytest
from tagging import read_trees


@pytest.fixture
def counted(midden, record):
    """Records a way of the victim in tag mode: (trees, recording)."""

    def run(way, *options, **more):
        recording = record.victim("tagged", way, options=("--tags", *options), **more)
        return read_trees(midden, recording.path), recording

    return run
