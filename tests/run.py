#!/usr/bin/python3
"""Runs all tests and ends with one line: `N passed, N failed` (and `, N skipped`). Run by `make test`.

usage: run.py [PART...]      parts: unit asan tsan fuzz rules e2e (default: all)

  unit        ctest in the build directory
  asan, tsan  the same in its sanitizer builds, where they exist
  fuzz        the fuzzers' corpora, replayed
  rules       rooms, imports, exports, headers, form
  e2e         victims and real programs under midden

Environment: MIDDEN_BUILD (build directory), MIDDEN_TEST_REPEATS, MIDDEN_TEST_LONG, MIDDEN_CROSS_BUILD.
JUnit files are left in BUILD/test-results.

SPDX-License-Identifier: Apache-2.0
"""

import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("MIDDEN_BUILD", ROOT / "build")).resolve()
RESULTS = BUILD / "test-results"
FUZZ_SECONDS_MOST = 300


@dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list = field(default_factory=list)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures

    def fail(self, name):
        self.failed += 1
        self.failures.append(name)

    def __str__(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return f"{text}, {self.skipped} skipped" if self.skipped else text


def read_junit(path, what):
    """The tally of a JUnit file; a missing or broken one is a failure of `what`."""
    tally = Tally()
    try:
        cases = list(ElementTree.parse(path).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        tally.fail(f"{what}: no results were written")
        return tally
    for case in cases:
        name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
        if case.find("failure") is not None or case.find("error") is not None:
            tally.fail(name)
        elif case.find("skipped") is not None or case.get("status") in ("disabled", "notrun"):
            tally.skipped += 1
        else:
            tally.passed += 1
    return tally


def run_logged(command, what, results):
    """Runs a test program that writes JUnit results. Its status counts only if the results name no failure."""
    results.unlink(missing_ok=True)
    status = subprocess.run([str(word) for word in command], cwd=ROOT).returncode
    tally = read_junit(results, what)
    if status != 0 and tally.failed == 0:
        tally.fail(f"{what}: ended with status {status}")
    return tally


def run_ctest(build, what):
    if not (build / "CTestTestfile.cmake").exists():
        tally = Tally()
        if what == "unit":
            tally.fail(f"{what}: {build} is not built")
        else:
            print(f"{what}: not built, left out")
        return tally
    results = RESULTS / f"{what}.xml"
    command = [
        "ctest",
        "--test-dir",
        build,
        "--output-on-failure",
        "--output-junit",
        results,
        "--no-tests=error",
        "-j",
        os.cpu_count() or 1,
    ]
    return run_logged(command, what, results)


def replay(fuzzer):
    """One fuzzer over its corpus: a test. Empty corpora prove nothing and fail."""
    tally = Tally()
    corpus = ROOT / "tests" / "fuzz" / "corpus" / fuzzer.name.removeprefix("fuzz_")
    inputs = sorted(path for path in corpus.glob("*") if path.is_file())
    name = f"fuzz: {fuzzer.name}"
    if not inputs:
        tally.fail(f"{name}: no corpus in {corpus}")
        return tally
    try:
        done = subprocess.run(
            [fuzzer, *inputs], capture_output=True, text=True, timeout=FUZZ_SECONDS_MOST, errors="replace"
        )
    except subprocess.TimeoutExpired:
        tally.fail(f"{name}: not done after {FUZZ_SECONDS_MOST} s")
        return tally
    if done.returncode != 0:
        print(done.stdout[-2000:], done.stderr[-4000:], sep="\n")
        tally.fail(f"{name}: status {done.returncode}")
    else:
        print(f"{name}: {len(inputs)} inputs")
        tally.passed += 1
    return tally


def run_fuzz():
    tally = Tally()
    for build in (BUILD, BUILD / "asan"):
        for fuzzer in sorted((build / "tests" / "fuzz").glob("fuzz_*")):
            if fuzzer.is_file() and os.access(fuzzer, os.X_OK):
                tally.add(replay(fuzzer))
    return tally


def find_python():
    """An interpreter that has pytest: Debian's first, because that is where python3-pytest installs."""
    for python in ("/usr/bin/python3", sys.executable, shutil.which("python3")):
        if python and subprocess.run([python, "-c", "import pytest"], capture_output=True).returncode == 0:
            return python
    return None


def has_module(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def run_pytest(what, directory, *arguments):
    python = find_python()
    if python is None:
        tally = Tally()
        tally.fail(f"{what}: no Python with pytest (Debian: python3-pytest)")
        return tally
    results = RESULTS / f"{what}.xml"
    command = [
        python,
        "-m",
        "pytest",
        "-q",
        "-c",
        ROOT / "tests" / "pytest.ini",
        f"--junit-xml={results}",
        *arguments,
        ROOT / "tests" / directory,
    ]
    return run_logged(command, what, results)


def run_e2e():
    parallel = (
        ["-n", "2"]
        if has_module(find_python() or sys.executable, "xdist") and (os.cpu_count() or 1) > 1
        else []
    )
    tally = run_pytest("e2e", "e2e", *parallel, "-m", "not alone")
    tally.add(run_pytest("e2e-alone", "e2e", "-m", "alone"))
    return tally


PARTS = {
    "unit": lambda: run_ctest(BUILD, "unit"),
    "asan": lambda: run_ctest(BUILD / "asan", "asan"),
    "tsan": lambda: run_ctest(BUILD / "tsan", "tsan"),
    "fuzz": run_fuzz,
    "rules": lambda: run_pytest("rules", "rules"),
    "e2e": run_e2e,
}


def main(arguments):
    unknown = [part for part in arguments if part not in PARTS]
    if unknown:
        print(__doc__, file=sys.stderr)
        return 2
    RESULTS.mkdir(parents=True, exist_ok=True)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    total = Tally()
    for part in arguments or PARTS:
        print(f"== {part}", flush=True)
        start = time.monotonic()
        tally = PARTS[part]()
        total.add(tally)
        print(f"== {part}: {tally} ({time.monotonic() - start:.0f} s)", flush=True)
    for name in total.failures:
        print(f"failed: {name}")
    print(total)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
