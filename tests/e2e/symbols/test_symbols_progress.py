"""`midden record` on a terminal: a bar while symbols are looked up, and nothing of it left behind.

SPDX-License-Identifier: Apache-2.0
"""

import fcntl
import http.server
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
import threading
import time

import pytest

DELAY_S = 1  # far more than what is done without a bar
BAR = re.compile(rb"\rmidden: looking up symbols +\[(#*\.*)\] +(\d+)%")


@pytest.fixture
def slow_server():
    """The address of a server of debug files that has none and takes its time to say so; and what it was asked for."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            time.sleep(DELAY_S)
            self.send_error(404)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@pytest.fixture
def program(native, tmp_path):
    """A program that can be looked up at once, with two libraries whose debug files a server is asked for."""
    if shutil.which("strip") is None:
        pytest.skip("strip is missing")
    plugins = [tmp_path / name for name in ("one.so", "two.so")]
    for name, plugin in zip(("plugin_one.so", "plugin_two.so"), plugins):
        subprocess.run(["strip", "-o", plugin, native.victim(name)], check=True)
    return native.command("plugin_host", "full", *plugins)


def run_on_terminal(command, columns, **options):
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal, **options)
    os.close(terminal)
    said = b""
    try:
        while chunk := os.read(controller, 4096):
            said += chunk
    except OSError:  # the other end is closed
        pass
    os.close(controller)
    assert process.wait(60) == 0
    return said


def test_a_bar_is_drawn_while_it_takes_long_and_wiped_after(midden, program, slow_server, tmp_path):
    address, asked = slow_server
    out = tmp_path / "out.mdn"
    env = {**os.environ, "DEBUGINFOD_URLS": address, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
    said = run_on_terminal([midden, "record", "-o", out, *program], 100, env=env)
    if not asked:
        pytest.skip("libdebuginfod is missing")
    bars = BAR.findall(said)
    assert bars and all(len(bar) == 30 and int(percent) <= 100 for bar, percent in bars)
    left = said[list(BAR.finditer(said))[-1].end() :]
    assert re.match(rb"\r {60,}\rmidden: ", left), left
    assert b"wrote " in left


@pytest.mark.parametrize("options", (("-q",), ()), ids=("quiet", "narrow"))
def test_no_bar_is_drawn_when_quiet_or_where_there_is_no_room(midden, program, slow_server, tmp_path, options):
    env = {**os.environ, "DEBUGINFOD_URLS": slow_server[0], "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
    command = [midden, "record", *options, "-o", tmp_path / "out.mdn", *program]
    said = run_on_terminal(command, 100 if options else 60, env=env)
    assert b"looking up" not in said
