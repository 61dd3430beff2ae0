"""One recorded run and what can be said of it.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import signal
import subprocess

from machine import COMMAND
from processes import find_program, stop, wait_until
from truth import SUMMED, Truth

# Every figure that a victim's own account settles.
COUNTED = SUMMED + ("leaked_bytes", "leaked_blocks")
PEAKS = ("peak_bytes", "peak_blocks")
LOSSES = ("lost_events", "foreign_frees", "reentrant_calls", "truncated_stacks")

TIMEOUT_S = 300


def shell_status(returncode):
    """What a shell would call the status: a death by signal n is 128 + n."""
    return 128 - returncode if returncode < 0 else returncode


def read_stats(path, *options):
    done = subprocess.run(
        [COMMAND, "stats", "--json", *options, path], capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert done.returncode == 0, f"midden stats failed on {path}: {done.stderr}"
    return json.loads(done.stdout)


class Recording:
    """A finished `midden record`: `status` as a shell shows it, output, and the profile's figures."""

    def __init__(self, returncode, stdout, stderr, path, truth_path):
        self.status = shell_status(returncode)
        self.stdout = stdout
        self.stderr = stderr
        self.path = path
        self._truth_path = truth_path
        self._stats = None

    @property
    def stats(self):
        """All of `midden stats --json --sites --points`."""
        if self._stats is None:
            assert self.path.exists(), f"no profile was written; stderr:\n{self.stderr}"
            self._stats = read_stats(self.path, "--sites", "--points")
        return self._stats

    def profiles(self, program=None):
        """The stats of every process of a run with --follow, or of those that ran `program`."""
        pattern = self.path.name.replace("%n", "*").replace("%p", "*")
        found = [read_stats(path, "--sites", "--points") for path in sorted(self.path.parent.glob(pattern))]
        return [stats for stats in found if program in (None, stats["program"])]

    @property
    def truth(self):
        return Truth(self._truth_path)


class Recorder:
    """Starts programs under `midden record`, each with a profile and a truth page of its own in `directory`."""

    def __init__(self, directory, machine):
        self.directory = directory
        self.machine = machine
        self._count = 0

    def prepare(self, options, env, inherit=True):
        """(arguments before the program, environment, profile path, truth path) of a new run. With --follow the
        path is a pattern of program and pid: see Recording.profiles."""
        self._count += 1
        kind = ".%n.%p.mdn" if "--follow" in options else ".mdn"
        path = self.directory / f"run{self._count}{kind}"
        truth_path = self.directory / f"run{self._count}.truth"
        ours = {**os.environ, "VICTIM_TRUTH": str(truth_path)} if inherit else {}
        environment = {**ours, **(env or {})}
        arguments = [
            str(COMMAND),
            "record",
            "-q",
            "-o",
            str(path),
            *self.machine.record_options(),
            *(["--keep-empty"] if "--follow" in options else []),
            *options,
            "--",
        ]
        return arguments, environment, path, truth_path

    def run(self, command, options=(), env=None, inherit=True, timeout=TIMEOUT_S, input=None, **popen):
        """Records `command` (a list) to its end; without `inherit` its environment is `env` alone."""
        running = self.start(command, options, env, inherit, **popen)
        return running.finish(timeout, input)

    def victim(self, name, *arguments, **options):
        """Records a victim by name."""
        return self.run(self.machine.command(name, *arguments), **options)

    def timely_victim(self, name, *arguments, within_s, **options):
        """Records a victim of a known duration, again if a busy machine did not let it end in time."""
        for _ in range(10):
            recording = self.victim(name, *arguments, **options)
            if read_stats(recording.path)["duration_ns"] <= within_s * 1e9:
                break
        return recording

    def start_and_stop_work(self, threads, steps, after=1, **options):
        """Starts recording steady_work and stops it amid its work, after so many allocations; again if a busy machine
        let it come to its end before. Returns a Running and the process id."""
        for _ in range(10):
            running = self.start_victim("steady_work", threads, steps, **options)
            wait_until(lambda: count_allocations(running) >= after, "the victim's work")
            program = find_program(running.process.pid, "steady_work")
            if program:
                stop(program)
                if running.truth_path.exists() and Truth(running.truth_path).notes[0] == 0:
                    return running, program
                os.kill(program, signal.SIGCONT)
            running.finish()
        raise AssertionError("steady_work always ends before it can be stopped")

    def start(self, command, options=(), env=None, inherit=True, **popen):
        """Starts recording `command` and returns a Running."""
        arguments, environment, path, truth_path = self.prepare(options, env, inherit)
        popen.setdefault("cwd", self.directory)
        popen.setdefault("stdin", subprocess.PIPE)
        process = subprocess.Popen(
            [*arguments, *map(str, command)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            **popen,
        )
        return Running(process, path, truth_path)

    def start_victim(self, name, *arguments, **options):
        return self.start(self.machine.command(name, *arguments), **options)


class Running:
    """A recording under way."""

    def __init__(self, process, path, truth_path):
        self.process = process
        self.path = path
        self.truth_path = truth_path

    def finish(self, timeout=TIMEOUT_S, input=None):
        """Waits for the end; what hangs is killed, the program and its collectors with it."""
        try:
            stdout, stderr = self.process.communicate(input, timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        return Recording(
            self.process.returncode, stdout, stderr.decode(errors="replace"), self.path, self.truth_path
        )


def count_allocations(running):
    """What the victim of a recording that is under way has allocated so far: with the first it is being recorded."""
    path = running.truth_path
    return Truth(path).total["allocations"] if path.exists() and path.stat().st_size > 0 else 0


def check_exact(recording, base=None, but=()):
    """Every figure of the profile equals the victim's own account, plus those of `base` (the stats of a run of
    the same victim that allocates nothing itself, so holds what libc and libstdc++ allocate). `but`: figures
    that do not add up that way; the caller checks them."""
    stats, truth = recording.stats, recording.truth.total
    names = [name for name in COUNTED + PEAKS if name not in but]
    expected = {name: truth[name] + (base[name] if base else 0) for name in names}
    expected.update(dict.fromkeys(LOSSES, 0))
    assert {name: stats[name] for name in expected} == expected
    check_consistent(stats)


def check_consistent(stats):
    """What must hold between the figures of any profile."""
    assert stats["leaked_blocks"] == stats["allocations"] - stats["frees"]
    assert stats["leaked_bytes"] == stats["allocated_bytes"] - stats["freed_bytes"]
    assert stats["leaked_bytes"] <= stats["peak_bytes"] <= stats["allocated_bytes"]
    assert stats["reallocations"] <= stats["frees"]
    assert stats["peak_time_ns"] <= stats["duration_ns"]
    check_parts(stats)


def check_parts(stats):
    """Sites, threads and histogram buckets each add up to the whole."""
    sites = stats["sites"]
    assert len(sites) == stats["stacks"]
    for whole, part in (
        ("allocations", "allocations"),
        ("allocated_bytes", "allocated_bytes"),
        ("frees", "frees"),
        ("freed_bytes", "freed_bytes"),
        ("leaked_bytes", "leaked_bytes"),
        ("leaked_blocks", "leaked_blocks"),
        ("peak_bytes", "peak_bytes"),
        ("peak_blocks", "peak_blocks"),
        ("temporary_allocations", "temporary"),
        ("reallocations", "reallocations"),
    ):
        assert sum(site[part] for site in sites) == stats[whole], f"sites do not add up to {whole}"
    for whole in ("allocations", "allocated_bytes", "frees", "freed_bytes", "reallocations"):
        assert sum(thread[whole] for thread in stats["thread_list"]) == stats[whole], f"threads: {whole}"
    for whole, part in (
        ("allocations", "count"),
        ("allocated_bytes", "bytes"),
        ("leaked_blocks", "live_count"),
        ("leaked_bytes", "live_bytes"),
    ):
        assert sum(bucket[part] for bucket in stats["size_histogram"]) == stats[whole], f"sizes: {whole}"


def function_names(site):
    """The functions of a site's stack; frames read `function (file:line)`, or `function` alone."""
    return [frame.rpartition(" (")[0] or frame for frame in site["stack"]]


def sites_through(stats, function):
    """The sites whose stack goes through a function whose name holds `function`."""
    return [site for site in stats["sites"] if any(function in name for name in function_names(site))]
