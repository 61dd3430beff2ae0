"""`midden record --http`: what is served, to whom, and what the tools that ask make of it.

SPDX-License-Identifier: Apache-2.0
"""

import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from recording import read_stats
from same import free_port
from serving import Served, wait_for


def run(*command, **more):
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, timeout=120, **more
    )


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def name_of(pid):
    return Path(f"/proc/{pid}/comm").read_text().strip()


def servant_of(recorder):
    """The collector is called midden-collect, and has the process that serves."""
    return next(
        grandchild
        for child in children_of(recorder)
        if name_of(child) == "midden-collect"
        for grandchild in children_of(child)
        if name_of(grandchild) == "midden-serve"
    )


def is_there(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# ---- metrics --------------------------------------------------------------------------------------------------


def test_metrics_are_the_truth_of_the_moment(serve):
    served = serve()
    before = served.metrics()
    served.step("*")
    served.step("-")
    after = served.metrics()

    change = {name: after[name] - before[name] for name in after if name in before}
    assert change["midden_live_bytes"] == 5000
    assert change["midden_live_blocks"] == 5
    assert change["midden_allocations_total"] == 10
    assert change["midden_allocated_bytes_total"] == 10000
    assert change["midden_frees_total"] == 5
    assert change["midden_freed_bytes_total"] == 5000
    grown = [name for name in change if name.startswith("midden_function_live_bytes{") and change[name]]
    assert len(grown) == 1 and 'function="truth_malloc"' in grown[0]
    assert after["midden_resident_bytes"] > 0
    assert after['midden_profiler_resident_bytes{process="collector"}'] > 0
    assert after['midden_losses_total{kind="lost_events"}'] == 0


def check_openmetrics(text):
    """The syntax, as the specification has it: families one after the other, each told before its samples."""
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""]
    family, kind, seen, samples = None, None, set(), set()
    label = r'[a-z_]+="(?:[^"\\\n]|\\["\\n])*"'
    for line in lines[:-2]:
        told = re.fullmatch(r"# (TYPE|UNIT|HELP) (midden_[a-z_]+) (.+)", line)
        if told and told[1] == "TYPE":
            family, kind = told[2], told[3]
            assert family not in seen and kind in ("gauge", "counter", "info")
            seen.add(family)
        elif told:
            assert told[2] == family
            assert told[1] != "UNIT" or family.endswith("_" + told[3])
        else:
            sample = re.fullmatch(rf"(midden_[a-z_]+)(\{{{label}(?:,{label})*\}})? (\d+(?:\.\d+)?)", line)
            assert sample, line
            suffix = {"gauge": "", "counter": "_total", "info": "_info"}[kind]
            assert sample[1] == family + suffix
            assert (sample[1], sample[2]) not in samples
            samples.add((sample[1], sample[2]))
    return samples


def test_metrics_are_openmetrics(serve):
    status, headers, body = serve().ask("metrics")
    assert status == 200
    assert headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert len(check_openmetrics(body.decode())) > 20


def test_metrics_of_a_sampled_program_tell_within_what_they_lie(serve):
    served = serve("--sample=1")  # every block: the estimates are the truth
    found = served.metrics()
    assert found["midden_sample_period_bytes"] == 1
    assert found["midden_live_low_bytes"] <= found["midden_live_bytes"] <= found["midden_live_high_bytes"]
    assert found["midden_live_bytes"] >= 10000
    assert any(name.startswith("midden_function_live_high_bytes{") for name in found)
    check_openmetrics(served.ask("metrics")[2].decode())


PROMETHEUS = """
global:
  scrape_interval: 1s
scrape_configs:
  - job_name: midden
    authorization:
      credentials_file: {token}
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""


@pytest.mark.skipif(not shutil.which("prometheus"), reason="prometheus is not installed")
def test_prometheus_scrapes_the_truth(serve, tmp_path):
    token = tmp_path / "token"
    token.write_text("a-token-that-is-in-a-file\n")
    served = serve("--http-token-file", str(token))
    served.token = token.read_text().strip()
    truth = served.metrics()
    config = tmp_path / "prometheus.yml"
    config.write_text(PROMETHEUS.format(token=token, port=served.port))
    port = free_port()
    prometheus = subprocess.Popen(
        ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'data'}"]
        + [f"--web.listen-address=127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def query(expression):
        try:
            asked = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            asked.request("GET", f"/api/v1/query?query={expression}")
            return json.load(asked.getresponse())["data"]["result"]
        except (OSError, KeyError, ValueError):
            return None

    try:
        for name in ("midden_live_bytes", "midden_live_blocks", "midden_allocations_total"):
            assert [float(row["value"][1]) for row in wait_for(lambda: query(name))] == [truth[name]]
        held = {row["metric"]["function"]: float(row["value"][1]) for row in query("midden_function_live_bytes")}
        assert held["truth_malloc"] >= 10000
        assert sum(held.values()) == truth["midden_live_bytes"]
    finally:
        prometheus.terminate()
        prometheus.wait()


# ---- pprof ----------------------------------------------------------------------------------------------------

needs_go = pytest.mark.skipif(not shutil.which("go"), reason="go is not installed")


def pprof(tmp_path, *words):
    done = run("go", "tool", "pprof", *words, env={**os.environ, "PPROF_TMPDIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    return done.stdout


def total_of(raw, kind):
    """The sum over all samples of one type, from `pprof -raw`."""
    lines = raw.splitlines()
    start = lines.index("Samples:")
    types = [word.split("/")[0] for word in re.sub(r"\[dflt\]", "", lines[start + 1]).split()]
    sums = 0
    for line in lines[start + 2 : lines.index("Locations")]:
        values, _, _ = line.partition(":")
        sums += int(values.split()[types.index(kind)])
    return sums


@needs_go
def test_pprof_reads_the_endpoint(serve, tmp_path):
    served = serve()
    truth = served.metrics()
    top = pprof(tmp_path, "-top", "-unit=B", served.url("debug/pprof/heap"))
    assert "Type: inuse_space" in top
    assert re.search(r"\b10000B\b.* truth_malloc", top)
    assert "Type: alloc_space" in pprof(tmp_path, "-top", served.url("debug/pprof/allocs"))

    raw = pprof(tmp_path, "-raw", served.url("debug/pprof/heap"))
    assert total_of(raw, "inuse_space") == truth["midden_live_bytes"]
    assert total_of(raw, "inuse_objects") == truth["midden_live_blocks"]
    assert total_of(raw, "alloc_space") == truth["midden_allocated_bytes_total"]


@needs_go
def test_with_seconds_pprof_gets_the_change(serve, tmp_path):
    served = serve()
    served.step("-")
    asking = subprocess.Popen(
        ["go", "tool", "pprof", "-raw", served.url("debug/pprof/heap") + "&seconds=3"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PPROF_TMPDIR": str(tmp_path)},
    )
    # Steps come before, during and after the three seconds.
    grown = 0
    while asking.poll() is None:
        served.step("*")
        grown += 10000
        time.sleep(0.2)
    raw = asking.stdout.read()
    allocated, live = total_of(raw, "alloc_space"), total_of(raw, "inuse_space")
    assert allocated == live and allocated % 10000 == 0 and 0 < allocated <= grown
    # What did not change is not told: the blocks of the first step.
    assert "grow_elsewhere" in raw


# ---- snapshots ------------------------------------------------------------------------------------------------


def test_a_snapshot_is_kept_in_the_recording(midden, serve):
    served = serve()
    status, _, body = served.ask("snapshot?name=before%20the%20step", method="POST")
    assert status == 200
    kept = json.loads(body)
    assert kept["number"] == 1 and kept["live_bytes"] == served.metrics()["midden_live_bytes"]
    served.step("+")
    served.process.stdin.close()
    served.process.wait()
    found = json.loads(run(midden, "report", "--snapshots", "--json", served.path).stdout)["snapshots"]
    assert [(s["name"], s["live_bytes"]) for s in found] == [("before the step", kept["live_bytes"])]
    assert read_stats(served.path)["leaked_bytes"] == kept["live_bytes"] + 10000


# ---- who may ask ----------------------------------------------------------------------------------------------


def test_only_those_who_may_get_an_answer(serve):
    served = serve()
    assert served.ask("metrics")[0] == 200
    assert served.ask("metrics", token="wrong")[0] == 401
    assert served.ask("metrics", token=served.token + "0")[0] == 401
    assert served.ask("metrics", headers={"Authorization": "Basic " + served.token})[0] == 401
    assert served.ask("snapshot", method="POST", token="x" * 32)[0] == 401
    for host in ("evil.example", "127.0.0.1.evil.example", f"evil.example:{served.port}"):
        assert served.ask("metrics", headers={"Host": host})[0] == 403
    assert served.ask("metrics", headers={"Host": f"localhost:{served.port}"})[0] == 200
    assert served.ask("metrics", headers={"Origin": "http://evil.example"})[0] == 403
    assert served.ask("snapshot")[0] == 405
    assert served.ask("metrics", method="POST")[0] == 405
    assert served.ask("etc/passwd")[0] == 404
    assert served.ask("debug/pprof/heap?seconds=x")[0] == 400
    assert served.ask("debug/pprof/heap?seconds=301")[0] == 400
    assert served.ask("snapshot?name=" + "x" * 96, method="POST")[0] == 400
    assert served.metrics()["midden_live_blocks"] > 0


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["--http=elsewhere"], "elsewhere is not an address"),
        (["--http=127.0.0.1:65536"], "65536 is not a port"),
        (["--http=[::1"], "has no ]"),
        (["--http", "--http-token-file", "/nowhere"], "cannot read the token from /nowhere"),
        (["--http", "--http-token-file", "/dev/null"], "its first line is no token"),
    ],
)
def test_what_makes_no_sense_is_refused(midden, words, complaint):
    done = run(midden, "record", *words, "true")
    assert done.returncode == 2
    assert complaint in done.stderr and done.stderr.count("\n") <= 2


def test_a_port_that_is_taken_is_found_out_at_once(midden, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run(midden, "record", f"--http={taken.getsockname()[1]}", "true", cwd=tmp_path)
    assert done.returncode == 1
    assert re.fullmatch(r"midden: cannot listen on 127.0.0.1: Address already in use \(port \d+\)\n", done.stderr)
    assert list(tmp_path.iterdir()) == []


# ---- the process that serves ----------------------------------------------------------------------------------


def resident_of(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_thousand_requests_leave_memory_where_it_was(serve):
    served = serve()
    asked = http.client.HTTPConnection("127.0.0.1", served.port, timeout=120)

    def ask(count):
        for i in range(count):
            asked.request("GET", ("/metrics", "/debug/pprof/heap")[i % 2] + "?token=" + served.token)
            answer = asked.getresponse()
            body = answer.read()
            assert answer.status == 200
        return body

    ask(100)
    servant = servant_of(served.process.pid)
    collector = int(Path(f"/proc/{servant}/stat").read_text().rpartition(")")[2].split()[1])
    before = resident_of(servant), resident_of(collector)
    body = ask(1000)
    after = resident_of(servant), resident_of(collector)
    assert gzip.decompress(body)
    assert after[0] - before[0] < 1 << 20
    assert after[1] - before[1] < 1 << 20


def test_idle_clients_keep_nobody_from_recording(serve):
    served = serve()
    idle = []
    for _ in range(40):
        idle.append(socket.create_connection(("127.0.0.1", served.port)))
        idle[-1].sendall(b"GET /metrics HTTP/1.1\r\n")
    for _ in range(20):
        served.step("+")
    for one in idle:
        one.close()

    def find_blocks():
        try:
            return served.metrics()["midden_live_blocks"]
        except OSError:  # there are too many connections still
            return None

    assert wait_for(find_blocks) >= 210


@pytest.mark.parametrize("how", ["end", "killed"])
def test_the_servant_ends_with_the_recording(serve, how):
    served = serve()
    served.metrics()
    servant = servant_of(served.process.pid)
    if how == "end":
        served.process.stdin.close()
    else:
        collector = int(Path(f"/proc/{servant}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(collector, signal.SIGKILL)
        served.process.stdin.close()
    served.process.wait()
    wait_for(lambda: not is_there(servant))


def test_a_preloaded_program_is_served_after_an_exec_too(native, library, tmp_path):
    """By way of a shell that becomes the program, as many services start: one after the other has the port."""
    port, token = free_port(), tmp_path / "token"
    token.write_text("0123456789abcdef\n")
    env = {
        **os.environ,
        "LD_PRELOAD": library,
        "MIDDEN_HTTP": str(port),
        "MIDDEN_HTTP_TOKEN_FILE": str(token),
        "MIDDEN_OUTPUT": str(tmp_path / "out.mdn"),
    }
    process = subprocess.Popen(
        ["sh", "-c", "exec " + " ".join(native.command("step_by_step"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
    )
    served = Served(process, process.stderr.readline().decode())
    assert (served.port, served.token) == (port, None)
    served.token = token.read_text().strip()
    served.step("+")

    def find_live():
        try:
            found = served.metrics()
        except (OSError, AssertionError):  # the former one is gone, the next is not there yet
            return None
        return any('program="step_by_step"' in name for name in found) and found["midden_live_blocks"]

    assert wait_for(find_live) >= 10
    process.stdin.close()
    assert process.wait() == 7
    process.stdout.close()
    process.stderr.close()
