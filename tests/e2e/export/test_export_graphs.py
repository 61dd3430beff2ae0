"""Exports that are drawn as graphs: Graphviz's dot reads them, and gprof2dot's rules hold.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from exporting import ODD_BYTES, ODD_NAMES, PROGRAMS, export, need, record_program, run
from machine import COMMAND

FIGURES = {
    "peak": "peak_bytes",
    "leaked": "leaked_bytes",
    "allocated": "allocated_bytes",
    "calls": "allocations",
    "temporary": "temporary_allocations",
}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(params=PROGRAMS)
def recording(request, record, tmp_path):
    return record_program(request.param, record, tmp_path)


@pytest.fixture
def odd(record, tmp_path):
    return record_program("odd", record, tmp_path)


def figure_of(text, word):
    return int(re.search(rf"{word} ([\d,]+) ", text)[1].replace(",", ""))


# dot


def read_dot(path):
    """The graph as Graphviz itself reads it: attributes, {node: attributes}, [edges]."""
    need("dot")
    graph = json.loads(run("dot", "-Tdot_json", path))
    return graph, {n["name"]: n for n in graph.get("objects", [])}, graph.get("edges", [])


@pytest.mark.parametrize("figure", FIGURES)
def test_own_weights_and_what_is_left_out_add_up(recording, figure):
    graph, nodes, _ = read_dot(export(recording, "dot", "--figure", figure))
    total = recording.stats[FIGURES[figure]]
    assert figure_of(graph["label"], f": {figure}") == total
    left_out = figure_of(graph["label"], "allocate") if "left out" in graph["label"] else 0
    assert sum(figure_of(node["label"], "self") for node in nodes.values()) + left_out == total


def test_a_graph_can_be_read(recording):
    _, nodes, edges = read_dot(export(recording, "dot"))
    assert len(nodes) <= 100
    for node in nodes.values():
        name = node["label"].split("\\n")[0]
        assert 0 < len(name) <= 61 or "\\" in name
        assert figure_of(node["label"], "self") <= figure_of(node["label"], "total")
    assert all(re.match(r" [\d,]+ bytes \(", edge["label"]) for edge in edges)


def test_dot_draws_odd_names(odd):
    need("dot")
    out = odd.path.with_suffix(".svg")
    run(COMMAND, "export", "-f", "dot", "--svg", "--figure", "leaked", "-o", out, odd.path)
    texts = ["".join(text.itertext()) for text in ElementTree.parse(out).iter(f"{SVG}text")]
    for name in ODD_NAMES[:-1]:
        assert re.sub(r"[\n\t]", " ", name) in [text.replace("\xa0", " ") for text in texts]
    assert any(text.startswith("longlong") and "…" in text for text in texts)
    assert f"self {100:,} bytes ({100 * 100 / ODD_BYTES:.2f}%)" in texts


def test_svg_goes_to_standard_output_too(odd):
    need("dot")
    assert ElementTree.fromstring(run(COMMAND, "export", "--svg", odd.path)).tag == f"{SVG}svg"


def test_without_graphviz_svg_says_so_and_writes_nothing(odd, tmp_path):
    out = tmp_path / "graph.svg"
    done = subprocess.run(
        [COMMAND, "export", "--svg", "-o", out, odd.path],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert re.fullmatch(r"midden: dot: --svg needs .* graphviz\).*\n", done.stderr)
    assert not out.exists()


def test_a_graphviz_that_fails_leaves_no_file(odd, tmp_path):
    (tmp_path / "dot").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "dot").chmod(0o755)
    out = tmp_path / "graph.svg"
    done = subprocess.run(
        [COMMAND, "export", "--svg", "-o", out, odd.path],
        env={**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr.count("\n"), out.exists()) == (1, 1, False)


def test_svg_is_for_dot_alone(odd):
    done = subprocess.run([COMMAND, "export", "-f", "massif", "--svg", odd.path], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--svg goes with -f dot" in done.stderr


# gprof2dot


def check_rules(data):
    """What gprof2dot's schema for its JSON asks for: these keys and no others."""
    assert set(data) == {"version", "costs", "functions", "events"}
    assert data["version"] == 0
    assert [set(cost) for cost in data["costs"]] == [{"description", "unit"}]
    for function in data["functions"]:
        assert {"name"} <= set(function) <= {"name", "module"}
        assert all(isinstance(text, str) and text for text in function.values())
    for event in data["events"]:
        assert set(event) == {"callchain", "cost"}
        assert event["callchain"] and len(event["cost"]) == 1
        assert all(0 <= function < len(data["functions"]) for function in event["callchain"])


@pytest.mark.parametrize("figure", FIGURES)
def test_costs_of_chains_add_up(recording, figure):
    data = json.loads(export(recording, "gprof2dot", "--figure", figure).read_text())
    check_rules(data)
    assert data["costs"][0]["description"] == figure
    assert sum(event["cost"][0] for event in data["events"]) == recording.stats[FIGURES[figure]]


def test_a_chain_is_named_once_and_recursion_is_short(recording):
    data = json.loads(export(recording, "gprof2dot").read_text())
    chains = [tuple(event["callchain"]) for event in data["events"]]
    assert len(set(chains)) == len(chains)
    for chain in chains:
        assert all(a != b for a, b in zip(chain, chain[1:]))


def test_odd_names_reach_gprof2dot(odd):
    data = json.loads(export(odd, "gprof2dot").read_text())
    names = {function["name"] for function in data["functions"]}
    assert {re.sub(r"[\n\t]", " ", name) for name in ODD_NAMES} <= names
    assert any(re.fullmatch(r"libbare\.so\+0x[0-9a-f]+", name) for name in names)


def test_gprof2dot_reads_it(recording):
    tool = shutil.which("gprof2dot")
    if not tool:
        pytest.skip("gprof2dot is not installed")
    path = export(recording, "gprof2dot")
    graph = run(tool, "-f", "json", "-n", "0", "-e", "0", path, complaints="(warning: truncating .*\n)*")
    assert graph.startswith("digraph")
    if recording.stats["peak_bytes"]:
        own = [float(share) for share in re.findall(r"\\n\(([\d.]+)%\)", graph)]
        assert sum(own) == pytest.approx(100, abs=0.005 * len(own) + 0.001)
