"""The page that is committed is the one that the sources give, small and free of what it should not have.

SPDX-License-Identifier: Apache-2.0
"""

import base64
import gzip
import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import machine as machines
import pytest
from browser import NPM_OPTIONS

WEB = Path(__file__).parents[3] / "web"
PAGE_BYTES_MOST = 400 << 10


def test_the_page_is_small():
    assert len(gzip.compress((WEB / "dist" / "page.html").read_bytes())) < PAGE_BYTES_MOST


def test_the_page_names_no_other_machine():
    text = (WEB / "dist" / "page.html").read_text()
    for scheme in ("https://", "http://", "//cdn"):
        assert [word for word in text.split(scheme)[1:] if not word.startswith(("www.w3.org/", "github.com/leeoniya"))] == []


def test_licences_of_what_is_bundled_are_listed():
    packages = json.loads((WEB / "package.json").read_text())["dependencies"]
    listed = (WEB / "LICENSES.md").read_text()
    for name in packages:
        assert name in listed


@pytest.fixture(scope="module")
def home():
    """A copy of web/ with its packages installed."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm is not installed")
    home = machines.BUILD / "tests" / "web"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(WEB, home, ignore=shutil.ignore_patterns("node_modules"))
    done = subprocess.run(["npm", "ci", *NPM_OPTIONS], cwd=home, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        pytest.skip(f"npm cannot install the bundler: {done.stderr.splitlines()[:1]}")
    return home


def test_the_page_is_what_the_sources_give(home):
    assert subprocess.run(["npx", "tsc", "--noEmit"], cwd=home, capture_output=True, text=True).stdout == ""
    checked = subprocess.run(["node", "build.mjs", "--check"], cwd=home, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_the_figures_are_worked_out_right(home):
    done = subprocess.run(["node", "test/run.mjs"], cwd=home, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_script_but_the_page_s_own_may_run():
    text = (WEB / "dist" / "page.html").read_text()
    policy = text.partition('http-equiv="Content-Security-Policy" content="')[2].partition('"')[0]
    script = text.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
