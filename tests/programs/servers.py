"""Servers on loopback, under load from outside. Each takes a Way and returns its result.

SPDX-License-Identifier: Apache-2.0
"""

import hashlib
import os
import pwd
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from recorded import Missing, accepts, free_port, need


def ask(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600).stdout


# ---- redis ------------------------------------------------------------------------------------------------------


def wait_for_rewrite(client):
    """Until no child is at work; how the last rewrite went."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        state = dict(line.split(":", 1) for line in ask(*client, "info", "persistence").splitlines() if ":" in line)
        if "1" not in (state["aof_rewrite_in_progress"], state["rdb_bgsave_in_progress"]):
            return f"rewrite {state['aof_last_bgrewrite_status']}, save {state['rdb_last_bgsave_status']}"
        time.sleep(0.05)
    return "rewrite not over"


def run_redis(way):
    """Its benchmark while it forks to rewrite its log; then the log gives back the same keys."""
    server, benchmark, redis_cli = need("redis-server", "redis-benchmark", "redis-cli")
    port = free_port()
    command = [server, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", way.directory]
    command += ["--appendonly", "yes", "--lazyfree-lazy-user-del", "yes"]
    client = [redis_cli, "-p", port]
    ready = lambda: ask(*client, "ping") == "PONG\n"  # noqa: E731
    script = "for i = 1, 20000 do redis.call('set', 'key:' .. i, string.rep('v', i % 200)) end return 'done'"
    read_script = "local t = {} for i = 1, 20000 do t[i] = redis.call('strlen', 'key:' .. i) end return t"
    results = []
    with way.serve(command, ready) as running:
        results.append(ask(*client, "eval", script, "0").strip())
        ask(*client, "bgrewriteaof")
        load = ask(benchmark, "-p", port, "-q", "-n", 10000, "-c", 20, "-t", "lpush,lrange_100,hset,zadd,incr")
        results.append(f"{load.count('requests per second')} loads")
        ask(*client, "bgsave")
        results.append(wait_for_rewrite(client))
        ask(*client, "shutdown")
        running.process.wait(timeout=300)
    results.append(f"status {running.status}")
    with way.serve(command, lambda: ready() and "loading:0" in ask(*client, "info", "persistence")) as running:
        values = ask(*client, "eval", read_script, "0")
        results.append(f"{ask(*client, 'dbsize').strip()} keys, {hashlib.sha256(values.encode()).hexdigest()[:8]}")
    results.append(f"status {running.status}")
    return ", ".join(results)


# ---- postgres ---------------------------------------------------------------------------------------------------


def find_postgres():
    """The directory of the newest release's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: float(path.parts[4]))
    if not found:
        raise Missing("postgresql is not installed")
    return found[-1].parent


def move_to_owner(way):
    """postgres refuses root: whom to run as, for Popen. All that he needs lies in a directory of his own; whoever
    calls has to move the profiles back."""
    if os.getuid() != 0:
        return {}
    user = pwd.getpwnam("postgres")
    place = Path(tempfile.mkdtemp(prefix="midden-postgres."))
    for path in (way.tool, way.tool.with_name("libmidden.so")):
        shutil.copy2(path, place)
    way.tool, way.profiles = place / "midden", place / "profiles"
    way.profiles.mkdir()
    subprocess.run(["chown", "-R", "postgres", place], check=True)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def run_postgres(way):
    """pgbench with four clients, a process each; then the books balance."""
    programs, profiles = find_postgres(), way.profiles
    owner = move_to_owner(way)
    place = way.profiles.parent
    try:
        return load_postgres(way, programs, place, owner)
    finally:
        if owner:
            shutil.copytree(way.profiles, profiles, dirs_exist_ok=True)
            shutil.rmtree(place)
            way.profiles = profiles


def load_postgres(way, programs, place, owner):
    port = free_port()
    data = place / "data"
    initdb = [programs / "initdb", "-D", data, "-A", "trust", "-U", "tester", "--no-sync"]
    subprocess.run(initdb, cwd=place, check=True, capture_output=True, **owner)
    there = ["-h", "127.0.0.1", "-p", port, "-U", "tester"]
    server = [programs / "postgres", "-D", data, "-p", port, "-h", "127.0.0.1", "-k", "", "-F"]
    ready = lambda: "accepting" in ask(programs / "pg_isready", *there, "-d", "postgres")  # noqa: E731
    results = []
    with way.serve(server, ready, cwd=place, **owner) as running:
        ask(programs / "pgbench", *there, "-i", "-s", 2, "postgres")
        load = ask(programs / "pgbench", *there, "-c", 4, "-j", 2, "-t", 200, "postgres")
        results += re.findall(r"number of (?:transactions actually|failed transactions).*?: \S+", load)
        books = "select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history), "
        books += "(select count(*) from pgbench_history)"
        results.append(f"books {ask(programs / 'psql', *there, '-At', '-c', books, 'postgres').strip()}")
        ask(programs / "psql", *there, "-c", "vacuum full analyze", "postgres")
    results.append(f"status {running.status}")
    return ", ".join(results)


# ---- nginx ------------------------------------------------------------------------------------------------------

NGINX_CONF = """
daemon off; master_process on; worker_processes 2; pid {dir}/nginx.pid; error_log {dir}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off; client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c;
    uwsgi_temp_path {dir}/d; scgi_temp_path {dir}/e; gzip on; gzip_min_length 1; gzip_types text/plain;
    server {{ listen 127.0.0.1:{port}; root {dir}/www; }}
}}
"""


def run_nginx(way):
    nginx, load = need("nginx", "ab")
    port = free_port()
    (way.directory / "www").mkdir()
    (way.directory / "www" / "page.txt").write_text("some text to serve\n" * 1000)
    conf = way.directory / "nginx.conf"
    conf.write_text("user root;" * (os.getuid() == 0) + NGINX_CONF.format(dir=way.directory, port=port))
    command = [nginx, "-p", way.directory, "-c", conf]
    results = []
    with way.serve(command, lambda: accepts(port)) as running:
        for words in ([], ["-k"], ["-H", "Accept-Encoding: gzip"]):
            text = ask(load, "-q", "-n", 5000, "-c", 20, *words, f"http://127.0.0.1:{port}/page.txt")
            results.append("/".join(re.findall(r"^(?:Complete|Failed) requests: +(\d+)", text, re.M)))
        # New workers beside the old ones, under the same master.
        subprocess.run([nginx, "-p", way.directory, "-c", conf, "-s", "reload"], check=True, capture_output=True)
        text = ask(load, "-q", "-n", 2000, "-c", 10, f"http://127.0.0.1:{port}/page.txt")
        results.append("/".join(re.findall(r"^(?:Complete|Failed) requests: +(\d+)", text, re.M)))
    return f"complete/failed {' '.join(results)}, status {running.status}"
