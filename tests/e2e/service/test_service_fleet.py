"""docs/fleet.md: what it tells others to put into their configurations is accepted by the programs that read them.

SPDX-License-Identifier: Apache-2.0
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def read_section(title):
    """The first example below a heading of docs/fleet.md."""
    text = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
    section = text.partition(f"\n## {title}\n")[2]
    return re.search(r"```\w*\n(.*?)```", section, re.DOTALL).group(1)


def check_with_promtool(tmp_path, *arguments):
    promtool = shutil.which("promtool")
    if not promtool:
        pytest.skip("no promtool (package prometheus)")
    done = subprocess.run(
        [promtool, "check", *arguments], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_prometheus_takes_the_configuration(tmp_path):
    token = tmp_path / "token"
    token.write_text("secret\n")
    configuration = read_section("Prometheus")
    assert "scrape_configs:" in configuration and "/etc/midden/token" in configuration
    (tmp_path / "prometheus.yml").write_text(configuration.replace("/etc/midden/token", str(token)))
    assert "SUCCESS" in check_with_promtool(tmp_path, "config", "prometheus.yml")


def test_prometheus_takes_the_rules(tmp_path):
    """The expressions; what follows them after two spaces tells people what they are."""
    text = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
    block = re.search(r"Useful rules:\n\n```\n(.*?)```", text, re.DOTALL).group(1)
    expressions = [re.split(r" {2,}|(?<=1d\)) (?=who)", line)[0] for line in block.splitlines()]
    assert len(expressions) == 4
    rules = [f"      - record: midden:rule{i}\n        expr: {e!r}" for i, e in enumerate(expressions)]
    (tmp_path / "rules.yml").write_text("groups:\n  - name: midden\n    rules:\n" + "\n".join(rules) + "\n")
    assert "SUCCESS: 4 rules found" in check_with_promtool(tmp_path, "rules", "rules.yml")
