"""A few rounds of `make torture`, always the same ones: every profile equals the program's own account.

SPDX-License-Identifier: Apache-2.0
"""

import importlib.util
import subprocess
import sys

import pytest

import machine as machines

SOURCES = machines.ROOT / "tests" / "torture"

# Of each kind, and no long ones: 20 s in all on an idle machine.
ROUNDS, STEPS_MOST = 5, 2000


@pytest.mark.parametrize("word", ("calm", "anywhere", "libc", "jemalloc", "tcmalloc", "mimalloc"))
def test_random_rounds_are_recorded_as_the_program_counts_them(midden, tmp_path, word):
    command = [SOURCES / "run.py", "--seed", "1", "--rounds", ROUNDS]
    command += ["--jobs", "1", "--steps-most", STEPS_MOST if word == "calm" else STEPS_MOST // 4]
    command += ["--kind", word] if word in ("calm", "anywhere") else ["--kind", "wild", "--only", word]
    done = subprocess.run(
        [str(part) for part in (*command, "--keep", tmp_path / "failed")], capture_output=True, text=True
    )
    if done.returncode == 3:
        pytest.skip(f"{word} is not installed")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def driver(monkeypatch):
    """run.py as a module, with the program built."""
    monkeypatch.setattr(sys, "path", [str(SOURCES), *sys.path])
    spec = importlib.util.spec_from_file_location("torture_driver", SOURCES / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.build_all()
    return module


def test_a_difference_of_one_is_noticed(midden, driver, tmp_path):
    plan = driver.Plan(2, {}, "calm")
    status, hung = driver.run_recorded(plan, tmp_path)
    profiles = driver.account.read_profiles(tmp_path, midden)

    def faults(change):
        images = driver.account.read_images(tmp_path / "account")
        return driver.account.compare(plan, status + (change(images[0]) or 0), images, profiles)

    def change_site(image):
        number = next(n for n, site in enumerate(image.sites) if site["frees"][0])
        done, begun = image.sites[number]["frees"]
        image.sites[number]["frees"] = done + 1, begun + 1

    def change_peak(image):
        image.peak_bytes += 1

    assert not hung and faults(lambda image: None) == []
    assert "frees are" in faults(change_site)[0]
    assert "peak_bytes are" in faults(change_peak)[0]
    assert "the plan was" in faults(lambda image: 1)[0]
