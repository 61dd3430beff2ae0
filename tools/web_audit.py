#!/usr/bin/python3
"""Asks the npm registry for known weaknesses of what the viewer's page is built with. Run by `make web-audit`.

Not a part of the tests: what is known changes without the tree, and not every mirror of the registry answers.

SPDX-License-Identifier: Apache-2.0
"""

import json
import subprocess
import sys
from pathlib import Path

WEB = Path(__file__).resolve().parents[1] / "web"


def main():
    done = subprocess.run(["npm", "audit", "--json"], cwd=WEB, capture_output=True, text=True, check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        sys.exit(f"web_audit.py: npm audit says: {done.stderr.strip() or done.stdout.strip()}")
    counts = answer.get("metadata", {}).get("vulnerabilities")
    if counts is None:
        print(f"not known: this registry does not answer ({answer.get('statusCode', 'no status')})")
        return
    for name, found in sorted(answer.get("vulnerabilities", {}).items()):
        print(f"{name}: {found.get('severity', 'unknown')}, {found.get('range', '')}")
    packages = answer["metadata"].get("dependencies", {}).get("total", "all")
    print(f"{counts['total']} known weaknesses in {packages} packages")
    sys.exit(1 if counts["total"] else 0)


if __name__ == "__main__":
    main()
