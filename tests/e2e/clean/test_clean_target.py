"""The program is left as it was: what it can see of itself is what it sees without midden.

SPDX-License-Identifier: Apache-2.0
"""

import os
import subprocess

import pytest

from same import check_same, run_plain

ENV = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "SOME": "thing", "ANOTHER": ""}


def plain(command, env):
    done = subprocess.run(
        [str(word) for word in command], env=env, capture_output=True, stdin=subprocess.DEVNULL, cwd="/"
    )
    return done.stdout.decode()


def recorded(record, command, env):
    recording = record.run(command, env=env, inherit=False, stdin=subprocess.DEVNULL, cwd="/")
    assert recording.status == 0, recording.stderr
    return recording.stdout.decode()


def test_descriptors_threads_signals_and_children_are_as_without_midden(record, native):
    command = native.command("show_state")
    assert recorded(record, command, ENV) == plain(command, ENV)


def test_they_are_with_plain_preloading_too(native, tmp_path, library):
    command = native.command("show_state")
    env = {**ENV, "LD_PRELOAD": library, "MIDDEN_OUTPUT": str(tmp_path / "out.mdn")}
    assert plain(command, env) == plain(command, ENV)


def test_addresses_sizes_and_alignment_of_blocks_are_as_without_midden(record, native):
    status, stdout, _ = run_plain(native.command("block_shapes"))
    recording = record.victim("block_shapes")
    assert (recording.status, recording.stdout) == (status, stdout)


@pytest.mark.parametrize("script", ("/usr/bin/env; true", "exec /usr/bin/env"), ids=("fork", "exec"))
def test_a_child_sees_the_environment_it_would_see_without_midden(record, script):
    command = ["/bin/sh", "-c", script]
    assert recorded(record, command, ENV) == plain(command, ENV)


@pytest.mark.parametrize("script", ("/usr/bin/env; true", "exec /usr/bin/env"), ids=("fork", "exec"))
def test_only_our_own_entry_is_taken_out_of_ld_preload(record, native, script):
    other = str(native.victim("plugin_one.so"))
    env = {**ENV, "LD_PRELOAD": other}
    command = ["/bin/sh", "-c", script]
    seen = recorded(record, command, env)
    assert f"LD_PRELOAD={other}\n" in seen
    assert sorted(seen.splitlines()) == sorted(plain(command, env).splitlines())


@pytest.mark.parametrize("form", ("{other}:{ours}", "{ours}:{other}", "{ours} {other}", "{other} {ours}"))
def test_only_our_own_entry_is_taken_out_when_it_was_preloaded_by_hand(native, library, tmp_path, form):
    other = str(native.victim("plugin_one.so"))
    env = {
        **ENV,
        "LD_PRELOAD": form.format(ours=library, other=other),
        "MIDDEN_OUTPUT": str(tmp_path / "out.mdn"),
    }
    seen = plain(["/bin/sh", "-c", "/usr/bin/env; true"], env)
    assert f"LD_PRELOAD={other}\n" in seen
    assert "midden" not in next(line for line in seen.splitlines() if line.startswith("LD_PRELOAD="))


def test_children_of_python_see_their_environment_too(record):
    # os.environ was copied at start-up and is handed to exec as a whole.
    script = (
        "import os, subprocess\n"
        "subprocess.run(['/usr/bin/env'], env=dict(os.environ))\n"
        "os.execve('/usr/bin/env', ['env'], os.environ)"
    )
    seen = recorded(record, ["/usr/bin/python3", "-c", script], ENV).splitlines()
    assert not [line for line in seen if "midden" in line.lower()]


def test_standard_input_is_handed_on(record):
    check_same(record, ["/bin/cat"], input=b"some input\n" * 10000)


def test_a_closed_standard_descriptor_stays_closed(record, native):
    script = 'exec 0<&-; exec "$0"'
    command = ["/bin/sh", "-c", script, native.command("show_state")[0]]
    seen = recorded(record, command, ENV)
    assert [line for line in seen.splitlines() if line.startswith("fd")] == ["fd 1 standard", "fd 2 standard"]


def test_the_working_directory_holds_nothing_but_the_profile(record, native, tmp_path):
    directory = tmp_path / "work"
    directory.mkdir()
    record.run(native.command("basic_heap"), cwd=directory)
    assert os.listdir(directory) == []


def test_limits_and_niceness_are_untouched(record):
    check_same(record, ["/bin/sh", "-c", "ulimit -a; ulimit -aH; nice; umask; pwd"], cwd="/")
