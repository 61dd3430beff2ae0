"""Recordings that can be asked while they run: the HTTP endpoint and `midden top`.

SPDX-License-Identifier: Apache-2.0
"""

import pytest
from serving import Served


@pytest.fixture
def serve(midden, record):
    """Starts step_by_step with an endpoint, has it make a step."""
    started = []

    def start(*options, **more):
        running = record.start_victim("step_by_step", options=["--http", *options], **more)
        started.append(running)
        served = Served(running.process, running.process.stderr.readline().decode(), running.path)
        served.step("+")
        return served

    yield start
    for running in started:
        if running.process.poll() is None:
            running.finish()
