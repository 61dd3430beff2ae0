"""`midden view`: who is answered, and what is not.

SPDX-License-Identifier: Apache-2.0
"""

import gzip
import http.client
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from processes import wait_until


@pytest.fixture
def profile(record):
    return record.victim("known_tree", "full").path


def get(viewing, path, method="GET", cookie=None, host=None, body=None, **headers):
    parts = urlsplit(viewing.base)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    given = {"Host": host or parts.netloc, **{name.replace("_", "-"): value for name, value in headers.items()}}
    if cookie:
        given["Cookie"] = cookie
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in given.items():
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer, text


def sign_in(viewing):
    answer, _ = get(viewing, "/?" + urlsplit(viewing.url).query)
    assert answer.status == 200
    cookie = answer.getheader("Set-Cookie")
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    return cookie.partition(";")[0]


def test_a_browser_opens_the_address_and_sees_the_page(view, page, profile):
    viewing = view(profile)
    seen = page(profile, ("text", "#card-peak .figure"), ("eval", "location.search"), ("goto", "#source"), ("wait", ".files a"),
                ("click", ".files a >> text=known_tree.c"), ("wait", "table.lines"), ("texts", "table.lines tbody tr"), address=viewing.url)
    assert seen[:2] == ["195 KiB", ""]
    assert any("malloc(size)" in line for line in seen[2])


def test_the_browser_has_signals_and_a_session_of_its_own(view, profile, tmp_path, monkeypatch):
    opener = tmp_path / "xdg-open"
    # Not a shell: that blocks signals itself while it starts programs.
    opener.write_text(
        f"#!{sys.executable}\nimport os, sys\nos.chdir({str(tmp_path)!r})\n"
        "text = sys.argv[1] + '\\n' + open('/proc/self/status').read() + open('/proc/self/stat').read()\n"
        "open('seen.new', 'w').write(text)\nos.rename('seen.new', 'seen')\n"
    )
    opener.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":0")
    viewing = view(profile, opens=True)
    wait_until((tmp_path / "seen").exists, "the browser")
    url, *status, numbers = (tmp_path / "seen").read_text().splitlines()
    assert url == viewing.url
    (blocked,) = [line.split()[1] for line in status if line.startswith("SigBlk:")]
    assert int(blocked, 16) == 0
    session = int(numbers.rpartition(")")[2].split()[3])
    assert session != os.getsid(viewing.process.pid)


def test_it_listens_on_this_machine_alone_and_ends_when_told(view, profile):
    viewing = view(profile)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{32}", viewing.url)
    assert viewing.end() == 0


def test_the_token_works_once_and_the_cookie_from_then_on(view, profile):
    viewing = view(profile)
    assert get(viewing, "/")[0].status == 403
    assert get(viewing, "/?token=" + "0" * 32)[0].status == 403
    assert get(viewing, "/?token=")[0].status == 403
    cookie = sign_in(viewing)
    assert get(viewing, "/?" + urlsplit(viewing.url).query)[0].status == 403
    assert get(viewing, "/", cookie=cookie)[0].status == 200
    name, _, value = cookie.partition("=")
    assert get(viewing, "/data", cookie=f"{name}={value[:-1]}0x")[0].status == 403
    answer, data = get(viewing, "/data", cookie=f"other=1; {cookie}")
    assert answer.status == 200 and gzip.decompress(data).startswith(b"MDNPACK1")


def test_every_path_needs_the_cookie(view, profile):
    viewing = view(profile)
    for path in ("/", "/data", "/old", "/state", "/source?frame=0", "/nothing"):
        assert get(viewing, path)[0].status == 403


def test_other_hosts_and_sites_are_refused(view, profile):
    viewing = view(profile)
    cookie = sign_in(viewing)
    port = urlsplit(viewing.base).port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", f"localhost.evil:{port}", "127.0.0.1:80:80", "", "[::1"):
        assert get(viewing, "/data", cookie=cookie, host=host or " ")[0].status in (400, 403)
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", "localhost"):
        assert get(viewing, "/state", cookie=cookie, host=host)[0].status == 200
    assert get(viewing, "/data", cookie=cookie, Origin="http://evil.example")[0].status == 403
    assert get(viewing, "/data", cookie=cookie, Origin="null")[0].status == 403
    assert get(viewing, "/data", cookie=cookie, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0].status == 403
    assert get(viewing, "/data", cookie=cookie, Sec_Fetch_Site="same-site", Sec_Fetch_Mode="cors")[0].status == 403
    assert get(viewing, "/data", cookie=cookie, Sec_Fetch_Site="same-origin")[0].status == 200


@pytest.mark.parametrize("path", (
    "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/..%2f..%2fetc/passwd", "/data/../../etc/passwd", "/etc/passwd",
    "/source?frame=../../etc/passwd", "/source?frame=-1", "/source?frame=99999999999999999999", "/source?frame=0x1", "/source?frame=", "/source",
    "/source?file=/etc/passwd", "/source?frame=1%00", "/source?frame=1/../2", "/\\..\\..\\etc\\passwd", "/%00", "/data%00",
))  # fmt: skip
def test_no_path_leads_out_of_the_profile(view, profile, path):
    viewing = view(profile)
    answer, text = get(viewing, path, cookie=sign_in(viewing))
    assert answer.status in (400, 404)
    assert b"root:" not in text


def test_only_reading_is_possible(view, profile):
    viewing = view(profile)
    cookie = sign_in(viewing)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"):
        assert get(viewing, "/data", method=method, cookie=cookie, body=b"x" * 100)[0].status in (400, 405)
    assert get(viewing, "/data", method="HEAD", cookie=cookie)[0].status == 200


def test_oversized_requests_are_refused_and_leave_the_server_alive(view, profile):
    viewing = view(profile)
    cookie = sign_in(viewing)
    for path, headers in (("/" + "a" * 100000, {}), ("/state", {"X_Long": "b" * 200000}), ("/state?" + "&".join(f"a{i}=1" for i in range(20000)), {})):
        try:
            assert get(viewing, path, cookie=cookie, **headers)[0].status >= 400
        except (http.client.HTTPException, OSError):
            pass  # it may hang up instead
    assert get(viewing, "/state", cookie=cookie)[0].status == 200


def test_rubbish_and_silence_do_not_stop_the_server(view, profile):
    viewing = view(profile)
    parts = urlsplit(viewing.base)
    silent = [socket.create_connection((parts.hostname, parts.port)) for _ in range(20)]
    with socket.create_connection((parts.hostname, parts.port)) as rude:
        rude.sendall(os.urandom(4096) + b"\r\n\r\n")
    assert get(viewing, "/state", cookie=sign_in(viewing))[0].status == 200
    for connection in silent:
        connection.close()


def test_pages_may_not_be_framed_or_load_from_elsewhere(view, profile):
    viewing = view(profile)
    answer, _ = get(viewing, "/", cookie=sign_in(viewing))
    policy = answer.getheader("Content-Security-Policy")
    assert "default-src 'none'" in policy and "connect-src 'self'" in policy and "frame-ancestors 'none'" in policy
    assert answer.getheader("X-Frame-Options") == "DENY"
    assert answer.getheader("X-Content-Type-Options") == "nosniff"
    assert answer.getheader("Cache-Control") == "no-store"
    assert answer.getheader("Access-Control-Allow-Origin") is None


def test_without_auth_no_token_is_asked_for(view, profile):
    viewing = view(profile, "--no-auth")
    assert viewing.url.endswith("/")
    assert get(viewing, "/data")[0].status == 200
    assert get(viewing, "/data", host="evil.example")[0].status == 403


def test_sources_can_be_kept_back(view, profile):
    viewing = view(profile, "--no-source", "--no-auth")
    assert b'"sources": false' in get(viewing, "/state")[1]
    assert get(viewing, "/source?frame=0")[0].status == 404


def test_a_unix_socket_is_for_the_user_alone(view, profile, tmp_path):
    path = tmp_path / "s"
    viewing = view(profile, "--socket", path, "--no-auth")
    assert str(path) in viewing.line
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(b"GET /state HTTP/1.0\r\nHost: localhost:8080\r\n\r\n")
        assert b"200 OK" in connection.makefile("rb").read()
    assert viewing.end() == 0
    assert not path.exists()


def test_a_socket_does_not_replace_a_file(midden, profile, tmp_path):
    path = tmp_path / "s"
    path.write_text("mine")
    done = subprocess.run([midden, "view", "--no-open", "--socket", path, profile], capture_output=True, text=True)
    assert done.returncode == 1 and "cannot listen on" in done.stderr
    assert path.read_text() == "mine"


def test_a_port_in_use_is_told(midden, view, profile):
    port = urlsplit(view(profile).base).port
    done = subprocess.run([midden, "view", "--no-open", "-p", str(port), profile], capture_output=True, text=True)
    assert done.returncode == 1 and "cannot listen on 127.0.0.1" in done.stderr


@pytest.mark.parametrize("options", (("-p", "70000"), ("-p", "x"), ("--bogus",), ("--socket", "s", "-p", "1"), ("a", "b")))
def test_bad_usage_is_told(midden, options):
    done = subprocess.run([midden, "view", "--no-open", *options], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("midden")


def test_an_address_that_is_none_is_told(midden, profile):
    done = subprocess.run([midden, "view", "--no-open", "--bind", "nowhere", profile], capture_output=True, text=True)
    assert done.returncode == 1 and "nowhere is not an address" in done.stderr


def test_listening_for_others_is_warned_of(view, profile):
    viewing = view(profile, "--bind", "0.0.0.0")
    viewing.process.send_signal(signal.SIGINT)
    assert viewing.process.wait(30) == 0
    assert "warning: listening on 0.0.0.0" in "".join(viewing.errors)
