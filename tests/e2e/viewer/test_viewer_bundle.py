"""The page that is committed is the one that the sources give, small and free of what it should not have.

SPDX-License-Identifier: Apache-2.0
"""

import gzip
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


def test_the_page_is_what_the_sources_give():
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm is not installed")
    home = machines.BUILD / "tests" / "web"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(WEB, home, ignore=shutil.ignore_patterns("node_modules"))
    done = subprocess.run(["npm", "ci", *NPM_OPTIONS], cwd=home, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        pytest.skip(f"npm cannot install the bundler: {done.stderr.splitlines()[:1]}")
    assert subprocess.run(["npx", "tsc", "--noEmit"], cwd=home, capture_output=True, text=True).stdout == ""
    checked = subprocess.run(["node", "build.mjs", "--check"], cwd=home, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
