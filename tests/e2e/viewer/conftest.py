"""The viewer: its page in a browser, and the server.

SPDX-License-Identifier: Apache-2.0
"""

import json
import re
import subprocess
import threading

import pytest
from browser import open_browser, run


@pytest.fixture(scope="session")
def browse(midden):
    return open_browser()


@pytest.fixture
def page(midden, tmp_path, browse):
    """Writes a profile as a page, takes steps in it (see viewer.mjs), and returns what was seen."""

    def look(profile, *steps, options=(), address=None):
        out = tmp_path / "page.html"
        if address is None:
            done = run(midden, "html", "-o", out, *options, profile)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
            address = out.as_uri()
        result = browse("viewer.mjs", address, input=json.dumps(steps))
        assert result["faults"] == []
        own = re.split("[?#]", address)[0]
        assert [r for r in result["requests"] if not r.startswith((own, "data:", "blob:"))] == []
        return result["seen"]

    return look


class Viewing:
    """A `midden view` that is running."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # The address comes at once; a server that does not start ends, and the line is empty.
        self.line = self.process.stdout.readline().strip()
        self.errors = []
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()

    @property
    def url(self):
        return self.line

    @property
    def base(self):
        return self.line.partition("?")[0]

    def end(self):
        self.process.terminate()
        return self.process.wait(30)


@pytest.fixture
def view(midden):
    """Starts `midden view`; ends it with the test."""
    started = []

    def start(profile, *options, opens=False):
        words = [] if opens else ["--no-open"]
        started.append(Viewing([midden, "view", *words, *map(str, options), str(profile)]))
        return started[-1]

    yield start
    for viewing in started:
        if viewing.process.poll() is None:
            viewing.end()
