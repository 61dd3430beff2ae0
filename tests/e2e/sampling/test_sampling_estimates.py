"""Sampled programs: estimates, their intervals, and what is said about them.

SPDX-License-Identifier: Apache-2.0
"""

import ctypes
import os
import subprocess
import time
from shutil import which

import pytest

from machine import COMMAND
from recording import read_stats, sites_through

ADDR_NO_RANDOMIZE = 0x0040000  # <sys/personality.h>
RUNS = 15  # real recordings; tests/unit/sampling makes thousands without a program

# What tests/victims/four_places.c holds at its end, by place.
PLACES = {
    "tiny": (40_000 * 24, 40_000),
    "large": (2_000_000, 20),
    "mixed": (1000 * (100 + 1000 + 20_000), 3000),
    "grown": (1_000_000, 500),
}
LEAKED = tuple(map(sum, zip(*PLACES.values())))


def fix_addresses():
    """What is drawn again when samples become rarer goes by their addresses: these are to follow from the seed too,
    or one in some hundred runs would be an unlucky one."""
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)


def record_many(record, *options):
    """The stats of RUNS recordings that differ in their seed."""
    return [
        record.victim("four_places", options=(*options, f"--sample-seed={seed}"), preexec_fn=fix_addresses).stats
        for seed in range(1, RUNS + 1)
    ]


def check_estimates(values, truth, intervals):
    """Right on average, within 4 standard errors; and most intervals hold the truth."""
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    assert abs(mean - truth) <= 4 * (variance / len(values)) ** 0.5 + 1, (mean, truth, variance**0.5)
    held = sum(low <= truth <= high for low, high in intervals)
    assert held >= 0.76 * len(values), f"{held} of {len(values)} intervals hold {truth}"


def check_figure(runs, name, truth):
    check_estimates([run[name] for run in runs], truth, [(run[name + "_low"], run[name + "_high"]) for run in runs])


def check_runs(runs):
    for name, truth in zip(("leaked_bytes", "leaked_blocks", "peak_bytes", "peak_blocks"), LEAKED * 2):
        check_figure(runs, name, truth)
    for place, truths in PLACES.items():
        sites = [sites_through(run, place) for run in runs]
        for name, truth in zip(("leaked_bytes", "leaked_blocks"), truths):
            values = [sum(site[name] for site in found) for found in sites]
            ranges = [
                (sum(site[name + "_low"] for site in found), sum(site[name + "_high"] for site in found))
                for found in sites
            ]
            check_estimates(values, truth, ranges)
    for run in runs:
        assert (run["allocations"], run["allocated_bytes"]) == (84_020, 40_000 * (24 + 64) + 24_600_000)


def test_each_place_is_estimated_right(record):
    check_runs(record_many(record, "--sample=4K"))


def test_a_bound_on_samples_makes_them_rarer_and_leaves_estimates_right(record):
    runs = record_many(record, "--sample=1K", "--sample-blocks=2000")
    assert all(run["sample_period"] > 1024 for run in runs)
    check_runs(runs)


def test_the_same_seed_gives_the_same_samples(record):
    figures = [
        [(site["leaked_bytes"], site["leaked_blocks"]) for site in record.victim("four_places", options=options).stats["sites"]]
        for options in (("--sample=64K", "--sample-seed=1"), ("--sample=64K", "--sample-seed=1"), ("--sample=64K", "--sample-seed=2"))
    ]
    assert figures[0] == figures[1] != figures[2]


def test_the_variables_do_what_the_options_do(native, tmp_path):
    path = tmp_path / "preloaded.mdn"
    env = {
        **os.environ,
        "LD_PRELOAD": str(COMMAND.parent / "libmidden.so"),
        "MIDDEN_OUTPUT": str(path),
        "MIDDEN_MODE": "sample",
        "MIDDEN_SAMPLE": "32K",
        "MIDDEN_SAMPLE_SEED": "4",
    }
    subprocess.run(native.command("four_places"), env=env, check=True, timeout=120)
    wait_for(path)
    stats = read_stats(path)
    assert (stats["mode"], stats["sample_period"], stats["allocations"]) == ("sample", 32768, 84_020)


def wait_for(path, deadline_s=120):
    end = time.monotonic() + deadline_s
    while not path.exists():
        assert time.monotonic() < end, "no profile was written"
        time.sleep(0.05)


# ---- what is said -----------------------------------------------------------------------------------------------


def say(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def profile(tmp_path_factory, native):
    path = tmp_path_factory.mktemp("sampled") / "four.mdn"
    command = [COMMAND, "record", "-q", "--sample=64K", "--sample-seed=1", "-o", path, *native.command("four_places")]
    subprocess.run([str(word) for word in command], check=True, timeout=120)
    return path


@pytest.mark.parametrize("report", (("report",), ("report", "--leaks", "--flat"), ("stats",), ("check", "--max-peak", "1G")))
def test_reports_say_that_figures_are_estimates(profile, report):
    text = say(*report, profile)
    assert "sampled, one block in 64.0 KiB: figures are estimates with 95% intervals" in text
    assert "stacks with less than 192 KiB may be missing" in text


def test_a_report_has_an_interval_on_each_line(profile):
    lines = [line for line in say("report", "--leaks", profile).splitlines() if "four_places.c:" in line and "%" in line]
    assert len(lines) == 4
    assert all(" to " in line for line in lines)


def test_a_comparison_says_that_figures_are_estimates(profile):
    assert "figures are estimates" in say("diff", profile, profile)


def test_a_sum_of_profiles_has_the_doubts_of_both(profile, tmp_path):
    one, both = read_stats(profile), tmp_path / "both.mdn"
    say("merge", "-o", both, profile, profile)
    two = read_stats(both)
    assert (two["mode"], two["sample_period"]) == ("sample", 65536)
    assert two["leaked_bytes"] == 2 * one["leaked_bytes"]
    width = [stats["leaked_bytes_high"] - stats["leaked_bytes_low"] for stats in (one, two)]
    assert 1.3 * width[0] < width[1] < 1.5 * width[0]


def test_pprof_has_the_period(profile, tmp_path):
    out = tmp_path / "four.pb.gz"
    say("export", "-f", "pprof", "-o", out, profile)
    if not which("go"):
        pytest.skip("go is not installed")
    pprof = subprocess.run(["go", "tool", "pprof", "-raw", str(out)], capture_output=True, text=True)
    assert "Period: 65536" in pprof.stdout


@pytest.mark.parametrize("format", ("collapsed", "speedscope", "dhat", "csv", "massif", "callgrind", "json"))
def test_exports_take_sampled_profiles(profile, tmp_path, format):
    assert say("export", "-f", format, "-o", tmp_path / "out", profile) == ""
    assert (tmp_path / "out").stat().st_size > 0


def test_the_page_takes_sampled_profiles(profile, tmp_path):
    say("html", "-o", tmp_path / "page.html", profile)
    assert (tmp_path / "page.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    "options, text",
    (
        (("--sample=0",), "samples must be 1 byte to 1024G apart, not '0'"),
        (("--sample=lots",), "samples must be 1 byte to 1024G apart, not 'lots'"),
        (("--sample-blocks=3",), "the most samples alive must be 16 to 16384, not '3'"),
        (("--sample", "--trace"), "a trace has every event, samples are a few of them: choose one"),
    ),
)
def test_options_that_make_no_sense_are_refused(options, text):
    done = subprocess.run([COMMAND, "record", *options, "true"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert text in done.stderr


# ---- trouble ----------------------------------------------------------------------------------------------------


def test_fork_children_are_sampled_on_their_own(record):
    recording = record.run(["/bin/sh", "-c", "ls / | cat; exit 3"], options=("--follow", "--sample=1K"))
    assert recording.status == 3
    profiles = recording.profiles()
    assert len(profiles) >= 3
    assert all(stats["mode"] == "sample" and stats["lost_events"] == 0 for stats in profiles)


@pytest.mark.parametrize(
    "victim, status",
    ((("fork_in_handler", "100"), 0), (("signal_jump",), 0), (("signal_anywhere", "threads"), 4), (("fork_busy", "heap", 7), 0)),
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_programs_live_through_what_handlers_and_forks_do_to_hooks(record, native, victim, status):
    env = {}
    if victim[0] in ("fork_in_handler", "signal_jump"):  # only this allocator can bear it
        env["LD_PRELOAD"] = str(native.victim("own_allocator.so"))
    for period in ("1", "100"):
        recording = record.victim(*victim, env=env, options=(f"--sample={period}", "--no-symbols"))
        assert recording.status == status, recording.stderr
        assert recording.stats["mode"] == "sample"
