"""Servers serve under midden as they do without it, and end when told to.

SPDX-License-Identifier: Apache-2.0
"""

import os
import signal
import socket
import subprocess
import urllib.request

import pytest

from processes import wait_until
from recording import TIMEOUT_S
from same import free_port, need


def accepts(port):
    with socket.socket() as probe:
        probe.settimeout(10)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def started(record):
    """Starts a server under midden; ends it if the test did not."""
    servers = []

    def start(command, port, options=()):
        running = record.start(command, options=list(options))
        servers.append(running)
        wait_until(lambda: accepts(port) or running.process.poll() is not None, "the server to listen")
        assert running.process.poll() is None, running.finish().stderr
        return running

    yield start
    for running in servers:
        if running.process.poll() is None:
            running.process.terminate()
            running.process.wait(timeout=TIMEOUT_S)


def test_redis_answers_its_benchmark_and_shuts_down(started, tmp_path):
    server, benchmark, client = need("redis-server", "redis-benchmark", "redis-cli")
    port = free_port()
    running = started([server, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", tmp_path], port)

    def ask(*words):
        return subprocess.run(
            [client, "-p", str(port), *words], capture_output=True, text=True, timeout=TIMEOUT_S
        ).stdout

    assert ask("set", "key", "value") == "OK\n"
    load = subprocess.run(
        [benchmark, "-p", str(port), "-q", "-n", "20000", "-c", "20", "-t", "set,get,lpush,lrange_100"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert load.returncode == 0 and "requests per second" in load.stdout
    assert ask("get", "key") == "value\n"
    assert ask("save") == "OK\n"
    assert ask("bgsave").startswith("Background saving started")  # forks amid its threads
    ask("shutdown", "nosave")
    recording = running.finish()
    assert recording.status == 0
    assert recording.stats["allocations"] > 20000
    assert recording.stats["lost_events"] == 0


NGINX_CONF = """
daemon off; master_process on; worker_processes 2; pid {dir}/nginx.pid; error_log {dir}/error.log;
events {{ worker_connections 64; }}
http {{
    access_log off; client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c;
    uwsgi_temp_path {dir}/d; scgi_temp_path {dir}/e; gzip on; gzip_min_length 1; gzip_types text/plain;
    server {{ listen 127.0.0.1:{port}; root {dir}/www; }}
}}
"""


@pytest.mark.parametrize("options", ((), ("--follow",)), ids=("alone", "followed"))
def test_nginx_serves_the_same_files_and_stops_when_told(started, tmp_path, options):
    nginx = need("nginx")
    port = free_port()
    (tmp_path / "www").mkdir()
    os.chmod(tmp_path, 0o755)
    text = "some text to serve\n" * 1000
    (tmp_path / "www" / "page.txt").write_text(text)
    (tmp_path / "nginx.conf").write_text(
        "user root;" * (os.getuid() == 0) + NGINX_CONF.format(dir=tmp_path, port=port)
    )
    running = started([nginx, "-p", tmp_path, "-c", tmp_path / "nginx.conf"], port, options)
    for _ in range(50):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/page.txt", timeout=TIMEOUT_S) as answer:
            assert answer.read().decode() == text
    running.process.send_signal(signal.SIGTERM)  # handed on to nginx, which stops and reports success
    recording = running.finish()
    assert recording.status == 0
    if options:
        assert len(recording.profiles("nginx")) == 3
    else:
        assert recording.stats["allocations"] > 100
        assert recording.stats["children_not_recorded"] == 2
