"""Plain LD_PRELOAD, without `midden record`: the library starts the collector itself.

SPDX-License-Identifier: Apache-2.0
"""

import os
import signal
import subprocess
from pathlib import Path

import pytest

import cases
from processes import wait_until
from recording import Recording, check_exact, shell_status


class Preloader:
    """Stands where a Recorder does: runs commands with the library preloaded by hand."""

    def __init__(self, directory, library, machine):
        self.directory = directory
        self.library = library
        self.machine = machine
        self._count = 0

    def run(self, command, env=None, timeout=120):
        self._count += 1
        path = self.directory / f"run{self._count}.mdn"
        truth_path = self.directory / f"run{self._count}.truth"
        environment = {
            **os.environ,
            "VICTIM_TRUTH": str(truth_path),
            "LD_PRELOAD": self.library,
            "MIDDEN_OUTPUT": str(path),
            **(env or {}),
        }
        done = subprocess.run(
            [str(word) for word in command],
            env=environment,
            capture_output=True,
            timeout=timeout,
            cwd=self.directory,
        )
        wait_until(path.exists, "the profile, which appears shortly after the program ended")
        return Recording(done.returncode, done.stdout, done.stderr.decode(errors="replace"), path, truth_path)

    def victim(self, name, *arguments, **options):
        return self.run(self.machine.command(name, *arguments), **options)


@pytest.fixture
def preload(tmp_path, library, native):
    return Preloader(tmp_path, library, native)


@cases.each([cases.SINGLE[0], *cases.THREADED[:2]])
def test_every_figure_equals_the_victims_own_account(preload, case):
    recording, base = cases.record_case(preload, case)
    check_exact(recording, base, but=case.but)


@pytest.mark.parametrize(
    "mode, status",
    (("exit", 16), ("_exit", 17), ("kill", 128 + signal.SIGKILL), ("abort", 128 + signal.SIGABRT)),
)
def test_nothing_is_missing_however_the_program_ends(preload, mode, status):
    recording = preload.victim("dying", mode)
    assert recording.status == status
    check_exact(recording)


def test_the_program_waits_for_no_one_at_its_end(preload, native, tmp_path, library):
    # The output pipe must not be held open by a collector that lives on.
    environment = {**os.environ, "LD_PRELOAD": library, "MIDDEN_OUTPUT": str(tmp_path / "out.mdn")}
    done = subprocess.run(
        ["/bin/sh", "-c", "echo $(/bin/echo quick)"], env=environment, capture_output=True, timeout=120
    )
    assert done.stdout == b"quick\n"


def test_recording_can_be_switched_off(native, tmp_path, library):
    output = tmp_path / "out.mdn"
    environment = {**os.environ, "LD_PRELOAD": library, "MIDDEN_OUTPUT": str(output), "MIDDEN_MODE": "off"}
    done = subprocess.run(native.command("basic_heap"), env=environment, capture_output=True, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not output.exists()


def test_the_default_name_has_program_and_pid(native, tmp_path, library):
    environment = {**os.environ, "LD_PRELOAD": library}
    process = subprocess.Popen(native.command("basic_heap"), env=environment, cwd=tmp_path)
    assert process.wait(timeout=120) == 0
    wait_until(
        (tmp_path / f"midden.basic_heap.{process.pid}.mdn").exists, "the profile under its default name"
    )


def test_a_missing_command_leaves_the_program_unharmed_and_says_so_once(native, tmp_path, library):
    environment = {**os.environ, "LD_PRELOAD": library, "MIDDEN_COMMAND": "/nonexistent/midden"}
    done = subprocess.run(
        native.command("dying", "exit"), env=environment, capture_output=True, cwd=tmp_path, timeout=120
    )
    assert shell_status(done.returncode) == 16
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1 and lines[0].startswith("midden: ")


def test_children_are_followed_when_asked_by_variable(native, tmp_path, library):
    environment = {
        **os.environ,
        "LD_PRELOAD": library,
        "MIDDEN_FOLLOW": "1",
        "MIDDEN_OUTPUT": str(tmp_path / "run.%n.%p.mdn"),
    }
    done = subprocess.run(native.command("fork_busy", "quiet"), env=environment, cwd=tmp_path, timeout=120)
    assert done.returncode == 0
    wait_until(lambda: len(list(tmp_path.glob("run.fork_busy.*.mdn"))) == 2, "both profiles")


def run_with_output(native, library, tmp_path, output):
    """(standard error, process id) of a program that leaves its profile there."""
    environment = {**os.environ, "LD_PRELOAD": library, "MIDDEN_OUTPUT": output}
    process = subprocess.Popen(
        native.command("dying", "exit"), env=environment, stderr=subprocess.PIPE, cwd=tmp_path, text=True
    )
    _, told = process.communicate(timeout=120)
    assert shell_status(process.returncode) == 16
    return told, process.pid


def test_a_missing_directory_is_made_as_by_record(native, tmp_path, library):
    told, _ = run_with_output(native, library, tmp_path, "new/out.mdn")
    assert told == ""
    wait_until((tmp_path / "new" / "out.mdn").exists, "the profile")


@pytest.mark.parametrize("output", ("no/such/out.mdn", ".", "letter"), ids=("missing", "directory", "no-profile"))
def test_where_nothing_can_be_written_it_is_told_where_the_profile_will_be(native, tmp_path, library, output):
    (tmp_path / "letter").write_text("not to be lost\n")
    told, pid = run_with_output(native, library, tmp_path, output)
    profile = Path(f"/tmp/midden.dying.{pid}.mdn")
    wait_until(profile.exists, "the profile, somewhere else")
    profile.unlink()
    (line,) = told.splitlines()
    assert line.startswith("midden: ") and line.endswith(": the profile will be in /tmp")
    assert [path.name for path in tmp_path.iterdir()] == ["letter"]
    assert (tmp_path / "letter").read_text() == "not to be lost\n"


def test_a_file_whose_name_the_profile_does_not_have_is_no_reason_to_tell(native, tmp_path, library):
    letter = tmp_path / "run.mdn"
    letter.write_text("not to be lost\n")
    environment = {**os.environ, "LD_PRELOAD": library, "MIDDEN_OUTPUT": "run.mdn", "MIDDEN_FOLLOW": "1"}
    process = subprocess.Popen(
        native.command("dying", "exit"), env=environment, stderr=subprocess.PIPE, cwd=tmp_path, text=True
    )
    _, told = process.communicate(timeout=120)
    assert told == ""
    wait_until((tmp_path / f"run.{process.pid}.mdn").exists, "the profile, with a number in its name")
    assert letter.read_text() == "not to be lost\n"


def test_a_file_that_is_no_profile_is_not_overwritten_by_a_name_made_of_the_programs(native, tmp_path, library):
    letter = tmp_path / "to.dying"
    letter.write_text("not to be lost\n")
    _, pid = run_with_output(native, library, tmp_path, "to.%n")
    profile = Path(f"/tmp/midden.dying.{pid}.mdn")
    wait_until(profile.exists, "the profile, somewhere else")
    profile.unlink()
    assert letter.read_text() == "not to be lost\n"
