"""A few rounds of `make torture`, always the same ones: every profile equals the program's own account.

SPDX-License-Identifier: Apache-2.0
"""

import subprocess

import pytest

import machine as machines

# Of each kind, and no long ones: 20 s in all on an idle machine.
ROUNDS, STEPS_MOST = 5, 2000


@pytest.mark.parametrize("word", ("calm", "anywhere", "libc", "jemalloc", "tcmalloc", "mimalloc"))
def test_random_rounds_are_recorded_as_the_program_counts_them(midden, tmp_path, word):
    command = [machines.ROOT / "tests" / "torture" / "run.py", "--seed", "1", "--rounds", ROUNDS]
    command += ["--jobs", "1", "--steps-most", STEPS_MOST if word == "calm" else STEPS_MOST // 4]
    command += ["--kind", word] if word in ("calm", "anywhere") else ["--kind", "wild", "--only", word]
    done = subprocess.run(
        [str(part) for part in (*command, "--keep", tmp_path / "failed")], capture_output=True, text=True
    )
    if done.returncode == 3:
        pytest.skip(f"{word} is not installed")
    assert done.returncode == 0, done.stdout + done.stderr
