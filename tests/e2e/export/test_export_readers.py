"""Exports, read back by the tools that they are for: every figure arrives as `midden stats --json` has it.

SPDX-License-Identifier: Apache-2.0
"""

import collections
import csv
import html
import json
import re
import subprocess

import pytest

from recording import read_stats

# The figures of a collapsed stack and the total that each adds up to.
FIGURES = {
    "peak": "peak_bytes",
    "leaked": "leaked_bytes",
    "allocated": "allocated_bytes",
    "calls": "allocations",
    "temporary": "temporary_allocations",
}
SAMPLE_TYPES = {
    "alloc_objects/count": "allocations",
    "alloc_space/bytes": "allocated_bytes",
    "inuse_objects/count": "leaked_blocks",
    "inuse_space/bytes": "leaked_bytes",
    "peak_objects/count": "peak_blocks",
    "peak_space/bytes": "peak_bytes",
}
# Columns of a row that add up, and the totals that they add up to.
SUMMED = {
    "allocations": "allocations",
    "allocated_bytes": "allocated_bytes",
    "frees": "frees",
    "freed_bytes": "freed_bytes",
    "leaked_blocks": "leaked_blocks",
    "leaked_bytes": "leaked_bytes",
    "peak_blocks": "peak_blocks",
    "peak_bytes": "peak_bytes",
    "temporary": "temporary_allocations",
    "reallocations": "reallocations",
}
VICTIMS = (("basic_heap",), ("temporaries",), ("peak_places", "middle"), ("new_forms", "objects"))


@pytest.fixture(params=(*VICTIMS, "hostile", "huge", "empty"), ids=str)
def profile(request, record, need_victim, make_profile):
    """A profile on disk: recorded, or made by hand."""
    if isinstance(request.param, str):
        return make_profile(request.param)
    need_victim(request.param[0])
    return record.victim(*request.param).path


def read_collapsed(path):
    """(stack, value) of each line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(match[1].split(";"), int(match[2])) for match in (re.fullmatch(r"(.*) (\d+)", x) for x in lines)]


@pytest.mark.parametrize("figure", FIGURES)
def test_collapsed_stacks_add_up(profile, export, figure):
    stacks = read_collapsed(export(profile, "collapsed", "--figure", figure))
    assert sum(value for _, value in stacks) == read_stats(profile)[FIGURES[figure]]
    assert len({tuple(stack) for stack, _ in stacks}) == len(stacks)
    assert all(value > 0 and all(stack) for stack, value in stacks)


def read_root(svg):
    """The total of a graph by flamegraph.pl, which counts in doubles."""
    return int(re.search(r"<title>all \(([\d,]+) bytes, 100%\)", svg)[1].replace(",", ""))


def test_flamegraph_pl_reads_collapsed_stacks(profile, export, flamegraph_pl):
    peak = read_stats(profile)["peak_bytes"]
    done = flamegraph_pl(export(profile, "collapsed").read_text(encoding="utf-8"))
    if peak == 0:
        assert "No stack counts found" in done.stderr
        return
    assert (done.returncode, done.stderr) == (0, "")
    assert read_root(done.stdout) == int(float(peak))


def test_mallocprofilers_own_pipe_makes_stacks_that_add_up(profile, export, flamegraph_pl):
    path = export(profile, "mallocprofiler")
    pipe = "grep _mpTrace | cut -f1,3 -d'$' | tr '$' ' '"
    folded = subprocess.run(
        pipe, shell=True, input=path.read_text(encoding="utf-8"), capture_output=True, text=True
    ).stdout
    allocated = read_stats(profile)["allocated_bytes"]
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()) == allocated
    if allocated:
        assert read_root(flamegraph_pl(folded).stdout) == int(float(allocated))


def test_mallocprofilers_summary_and_histograms_are_the_totals(profile, export):
    stats = read_stats(profile)
    head = export(profile, "mallocprofiler").read_text(encoding="utf-8").splitlines()[:3]
    names = ("allocations", "allocated_bytes", "leaked_bytes", "peak_bytes")
    assert [int(word) for word in head[0].split(": ")[1].split()] == [stats[name] for name in names]
    bins = [[int(word) for word in line.split(": ")[1].rstrip(",").split(",")] for line in head[1:]]
    assert [len(row) for row in bins] == [64, 64]
    for row in stats["size_histogram"]:
        assert bins[0][row["min"].bit_length()] == row["count"]
        assert bins[1][row["min"].bit_length()] == row["live_count"]


def read_raw(text):
    """(types, rows of values, names of functions) of `go tool pprof -raw`."""
    samples = text[text.index("Samples:\n") + 9 : text.index("Locations\n")].splitlines()
    types = [word.removesuffix("[dflt]") for word in samples[0].split()]
    rows = [[int(word) for word in line.split(":")[0].split()] for line in samples[1:]]
    return types, rows, text[text.index("Locations\n") : text.index("Mappings\n")]


def test_pprof_reads_every_sample(profile, export, pprof):
    stats = read_stats(profile)
    types, rows, _ = read_raw(pprof(export(profile, "pprof"), "-raw"))
    assert types == list(SAMPLE_TYPES)
    assert len(rows) == stats["stacks"]
    sums = [sum(column) for column in zip(*rows)] or [0] * len(types)
    assert dict(zip(SAMPLE_TYPES.values(), sums)) == {name: stats[name] for name in SAMPLE_TYPES.values()}


@pytest.mark.parametrize("kind", SAMPLE_TYPES)
def test_pprof_shows_the_totals(record, export, pprof, kind):
    profile = record.victim("basic_heap").path
    name, unit = kind.split("/")
    text = pprof(export(profile, "pprof"), "-top", f"-sample_index={name}", "-unit=B", "-nodecount=0")
    total = re.search(r" of (\d+)B? total", text)
    assert int(total[1]) == read_stats(profile)[SAMPLE_TYPES[kind]]
    assert "basic_heap" in text and "main" in text


def test_pprof_gets_lines_build_id_times_and_command(record, export, pprof):
    recording = record.victim("basic_heap")
    stats = recording.stats
    raw = pprof(export(recording.path, "pprof"), "-raw")
    notes = subprocess.run(["readelf", "-n", stats["executable"]], capture_output=True, text=True)
    build_id = re.search(r"Build ID: (\w+)", notes.stdout)
    mappings = raw[raw.index("Mappings\n") :].splitlines()
    assert stats["executable"] in mappings[1]
    if build_id:
        assert build_id[1] in mappings[1]
    assert re.search(r"main \S*basic_heap\.c:\d+", raw)
    assert f"command: {stats['command']}" in raw
    assert "PeriodType: space bytes\nPeriod: 1\n" in raw


def test_pprof_shows_inlined_functions(record, export, pprof):
    """Every function on a stack of the report is one of pprof's, inlined or not."""
    recording = record.victim("basic_heap")
    names = {name.split(" (")[0] for site in recording.stats["sites"] for name in site["stack"]}
    raw = pprof(export(recording.path, "pprof"), "-raw")
    assert [name for name in names if "+0x" not in name and name not in raw] == []


def test_a_csv_reader_gets_every_figure(profile, export):
    stats = read_stats(profile, "--sites")
    with open(export(profile, "csv"), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == stats["stacks"]
    for column, total in SUMMED.items():
        assert sum(int(row[column]) for row in rows) == stats[total], column
    for row, site in zip(rows, stats["sites"]):
        assert row["size_min"] == ("" if site["size_min"] is None else str(site["size_min"]))
        assert len(row["stack"].split(";")) == len(site["stack"])
        assert None not in row and None not in row.values()


def test_json_has_every_figure_of_every_stack(profile, export):
    stats = read_stats(profile, "--sites")
    with open(export(profile, "json"), encoding="utf-8") as file:
        read = json.load(file)
    assert (read["schema"], read["schema_version"]) == ("midden-stacks", 1)
    assert {name: stats[name] for name in read["totals"]} == read["totals"]
    assert len(read["stacks"]) == len(stats["sites"])
    for stack, site in zip(read["stacks"], stats["sites"]):
        frames = [read["frames"][frame] for frame in stack["frames"]]
        assert {name: stack[name] for name in site if name != "stack"} == {
            name: value for name, value in site.items() if name != "stack"
        }
        assert [frame["function"] or "" for frame in frames] == [
            text[: len(frame["function"] or "")] for text, frame in zip(site["stack"], frames)
        ]


def test_speedscopes_figures_are_exact_in_the_file(profile, export):
    stats = read_stats(profile)
    with open(export(profile, "speedscope"), encoding="utf-8") as file:
        read = json.load(file)
    assert {part["name"]: part["endValue"] for part in read["profiles"]} == {
        figure: stats[total] for figure, total in FIGURES.items()
    }
    for part in read["profiles"]:
        assert len(part["samples"]) == len(part["weights"])
        assert sum(part["weights"]) == part["endValue"]


def names_in(path):
    """The titles of an SVG's boxes: (name, value)."""
    text = path.read_text(encoding="utf-8")
    boxes = re.findall(r'data-v="(\d+)"><title>(.*?)</title>', text, re.S)
    return [(html.unescape(title).split("\n")[0], int(value)) for value, title in boxes]


@pytest.mark.parametrize("figure", FIGURES)
def test_a_flame_graph_has_the_total_at_its_root(profile, export, figure):
    stats = read_stats(profile)
    boxes = names_in(export(profile, "flamegraph", "--figure", figure))
    total = stats[FIGURES[figure]]
    assert (boxes[0] if boxes else None) == ((stats["program"], total) if total else None)


def test_formats_agree_on_who_holds_the_peak(record, export, pprof):
    profile = record.victim("basic_heap").path
    folded = collections.Counter()
    for stack, value in read_collapsed(export(profile, "collapsed")):
        folded[stack[-1]] += value
    with open(export(profile, "csv"), newline="", encoding="utf-8") as file:
        table = collections.Counter()
        for row in csv.DictReader(file):
            table[row["function"]] += int(row["peak_bytes"])
    top = pprof(export(profile, "pprof"), "-top", "-sample_index=peak_space", "-unit=B", "-nodecount=0")
    shown = {
        line.split()[5]: int(line.split()[0].rstrip("B"))
        for line in top.splitlines()
        if re.match(r"\s*\d+B? +[\d.]+%", line) and not line.strip().startswith("0 ")
    }
    assert +folded == +table
    assert all(folded[name] == value for name, value in shown.items() if "+0x" not in name)
    assert shown
