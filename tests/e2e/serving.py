"""Recordings that are served over HTTP, for the tests of it.

SPDX-License-Identifier: Apache-2.0
"""

import re
import time
import urllib.error
import urllib.request

import pytest

PATIENCE_S = 120


def wait_for(what, message="it did not come"):
    """What a function returns, once that is something."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    return pytest.fail(message)


def step(process, words):
    """Has step_by_step do something, and waits until it is done."""
    process.stdin.write(words.encode() + b"\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"done\n"


class Served:
    """A victim that is served: step_by_step after one step, 10 blocks of 1,000 bytes."""

    def __init__(self, process, line, path=None):
        self.process = process
        self.path = path
        found = re.fullmatch(r"midden: serving (http://\S+:(\d+)/)(?:\?token=(\w+))?\n", line)
        assert found, line
        self.base, self.port, self.token = found[1], int(found[2]), found[3]

    def step(self, words):
        step(self.process, words)

    def ask(self, path, method="GET", token=None, headers=None):
        """The status, the headers and the body of an answer."""
        headers = {"Authorization": f"Bearer {token or self.token}", **(headers or {})}
        request = urllib.request.Request(self.base + path, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.headers, refusal.read()

    def metrics(self):
        status, _, body = self.ask("metrics")
        assert status == 200, body
        lines = [line for line in body.decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}

    def url(self, path):
        return f"{self.base}{path}?token={self.token}"
