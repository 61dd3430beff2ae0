"""What commands print for the profiles in tests/golden, to the letter. See tests/golden/README.md for how to renew it.

SPDX-License-Identifier: Apache-2.0
"""

import os
import subprocess
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "1"
RENEW = os.environ.get("MIDDEN_TEST_RENEW") == "1"

# The name of a file: the arguments, and the exit status.
CASES = {
    "report.txt": (("report", "old.mdn"), 0),
    "report.json": (("report", "--json", "old.mdn"), 0),
    "report-top-down.txt": (("report", "--top-down", "-t", "0", "--no-fold", "old.mdn"), 0),
    "report-flat.txt": (("report", "--flat", "-t", "0", "old.mdn"), 0),
    "report-flat.json": (("report", "--flat", "--json", "old.mdn"), 0),
    "report-leaks.txt": (("report", "--leaks", "new.mdn"), 0),
    "report-thread.txt": (("report", "--thread", "worker", "--allocated", "old.mdn"), 0),
    "report-growth.txt": (("report", "--growth", "@start..@end", "new.mdn"), 0),
    "report-timeline.txt": (("report", "--timeline", "old.mdn"), 0),
    "diff.txt": (("diff", "old.mdn", "new.mdn"), 0),
    "diff.json": (("diff", "--json", "old.mdn", "new.mdn"), 0),
    "diff-function.txt": (("diff", "--by", "function", "--leaks", "old.mdn", "new.mdn"), 0),
    "check.txt": (("check", "--max-leaked", "1K", "--max-growth-vs", "old.mdn", "10%", "new.mdn"), 1),
    "check.json": (("check", "--json", "--max-leaked", "1K", "--max-peak", "1G", "new.mdn"), 1),
}


def ask(midden, arguments):
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        [midden, *arguments], cwd=GOLDEN, env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("name", CASES)
def test_the_output_is_the_golden_one(midden, name):
    arguments, status = CASES[name]
    done = ask(midden, arguments)
    assert (done.returncode, done.stderr) == (status, "")
    path = GOLDEN / name
    if RENEW:
        path.write_text(done.stdout)
        pytest.skip(f"{path.name} was written anew")
    assert done.stdout.splitlines() == path.read_text().splitlines()


def test_every_golden_file_is_compared():
    assert {path.name for path in GOLDEN.iterdir()} == {"old.mdn", "new.mdn", *CASES}
