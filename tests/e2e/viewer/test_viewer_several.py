"""The viewer of a profile that was made of several: it says so, and what its figures are then.

SPDX-License-Identifier: Apache-2.0
"""

import subprocess

import pytest

from recording import read_stats

RUN = "Object.fromEntries([...document.querySelectorAll('#run tr')].map(r => [r.cells[0].textContent, r.cells[1].textContent]))"
# What `midden merge` is asked for, what a report says of peaks then, and of what was resident.
WAYS = {
    "sum": ("the peaks of 2 profiles added up", "in each process, added up"),
    "max": ("the most of each stack at any of 2 peaks", "in any process"),
    "mean": ("the mean of each stack over 2 peaks", "in each process, on average"),
}


@pytest.fixture
def merged(midden, record, tmp_path):
    """Two runs of known_tree, made one profile."""
    runs = [record.victim("known_tree", words).path for words in ("full", "late")]

    def make(way):
        out = tmp_path / f"{way}.mdn"
        subprocess.run([midden, "merge", "--mode", way, "-o", out, *runs], check=True)
        return out, [path.name for path in runs]

    return make


@pytest.mark.parametrize("way", WAYS)
def test_a_merged_profile_says_what_its_figures_are(page, midden, merged, way):
    profile, names = merged(way)
    peaks, resident = WAYS[way]
    stats = read_stats(profile, "--points")
    report = subprocess.run([midden, "report", profile], capture_output=True, text=True, check=True).stdout
    assert peaks in report and resident in report
    note, peak, most, rows, elsewhere = page(
        profile, ("text", "#merged"), ("text", "#card-peak .note"), ("text", "#card-time .note"), ("eval", RUN), ("goto", "#flame"), ("wait", "#flame-total"), ("text", "#merged"),
    )
    assert note == elsewhere == f"This is the {stats['merge']} of 2 profiles: what is shown of the peak is {peaks}."
    assert peaks in peak and ("together at most" in peak) == ("  together " in report) == (way == "sum")
    assert most.startswith(resident)
    assert rows["Merged"] == f"{stats['merge']} of 2 profiles" and rows["Profiles"] == ", ".join(names)
    assert "Exit code" not in rows and rows["Ends"] == "2 exited with code 0" and rows["Ends"] in report


def test_a_profile_of_one_recording_has_a_peak_at_a_time(page, record):
    notes, peak, rows = page(record.victim("known_tree", "full").path, ("count", "#merged"), ("text", "#card-peak .note"), ("eval", RUN))
    assert notes == 0 and " blocks at " in peak and rows["Exit code"] == "0" and "Merged" not in rows
