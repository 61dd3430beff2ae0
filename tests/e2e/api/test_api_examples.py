"""The examples of docs/api.md are compiled and run, with midden and without.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from recording import read_stats, sites_through

TREE = pathlib.Path(__file__).resolve().parents[3]
PAGE = (TREE / "docs" / "api.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"<!-- example: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.S))


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done


def clean_environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MIDDEN_") and k != "LD_PRELOAD"}
    return {**kept, **more}


def build(name, directory):
    """The command that runs an example, compiled if need be."""
    source = directory / name
    source.write_text(EXAMPLES[name], encoding="utf-8")
    program = directory / source.stem
    include = f"-I{TREE / 'include'}"
    if name.endswith(".c"):
        run("cc", "-O0", "-g", "-Wall", "-Werror", include, source, "-o", program)
    elif name.endswith(".cpp"):
        run("c++", "-std=c++17", "-O0", "-g", "-Wall", "-Werror", include, source, "-o", program)
    elif name.endswith(".rs"):
        build_rust(source, program)
    else:
        return ["/usr/bin/python3", str(source)]
    return [str(program)]


def build_rust(source, program, *options):
    rustc = shutil.which("rustc")
    if rustc is None:
        pytest.skip("rustc is not installed: the Rust examples are not tried")
    crate = source.parent / "libmidden_crate.rlib"
    common = [rustc, "--edition", "2021", "-g", "-D", "warnings"]
    features = [word for word in options if word.startswith("feature")]
    cfg = [part for feature in features for part in ("--cfg", feature)]
    links = [part for word in options if word.startswith("-") for part in ("-C", f"link-arg={word}")]
    run(*common, *cfg, "--crate-type", "rlib", "--crate-name", "midden", TREE / "bindings/rust/src/lib.rs", "-o", crate)
    run(*common, *links, "--extern", f"midden={crate}", source, "-o", program)


@pytest.fixture(params=sorted(EXAMPLES))
def example(request, tmp_path):
    return request.param, build(request.param, tmp_path)


def environment_for(name):
    return {"PYTHONPATH": str(TREE / "bindings" / "python"), "PYTHONMALLOC": "malloc"} if name.endswith(".py") else {}


def test_there_is_an_example_for_each_language():
    assert {pathlib.Path(name).suffix for name in EXAMPLES} == {".c", ".cpp", ".rs", ".py"}


def test_every_program_on_the_page_is_an_example():
    assert len(re.findall(r"^```(?:c|cpp|rust|python)$", PAGE, re.M)) == len(EXAMPLES) == len(CHECKS)


def test_it_runs_without_midden(example, tmp_path):
    name, command = example
    run(*command, env=clean_environment(**environment_for(name)), cwd=tmp_path)
    assert not list(tmp_path.glob("*.mdn"))


def test_it_runs_recorded(midden, example, tmp_path):
    name, command = example
    profile = tmp_path / "recorded.mdn"
    run(midden, "record", "-q", "-o", profile, "--", *command, env=clean_environment(**environment_for(name)), cwd=tmp_path)
    CHECKS[name](read_stats(profile, "--sites"), snapshots(midden, profile), tmp_path)


def snapshots(midden, profile):
    done = run(midden, "report", "--snapshots", "--json", profile)
    return {s["name"]: s["live_bytes"] for s in json.loads(done.stdout)["snapshots"]}


def check_c(stats, kept, _directory):
    assert (stats["allocations"], stats["frees"], stats["untracked_frees"], stats["foreign_frees"]) == (1, 1, 1, 0)
    assert stats["thread_list"][0]["name"] == "indexer" and kept == {"index built": 4000}


def check_cpp(stats, kept, _directory):
    assert kept["with the vector"] >= 5000 and stats["foreign_frees"] == 0


def check_pauses(stats, kept, _directory):
    assert kept["loaded"] >= 4000, "libstdc++ may hold a pool of its own"
    assert stats["untracked_frees"] == 1 and stats["thread_list"][0]["name"] == "loader"
    sizes = [site["allocated_bytes"] for site in stats["sites"]]
    assert 1000 in sizes and 3000 in sizes and 7000 not in sizes


def check_rust(stats, kept, _directory):
    assert kept["words"] >= 16000
    assert stats["reallocations"] >= 1 and stats["foreign_frees"] == 0
    grown = [site for site in sites_through(stats, "realloc") if site["reallocations"]]
    assert not grown or all(site["reallocations"] <= site["allocations"] for site in grown)


def check_python(stats, kept, directory):
    sizes = [site["allocated_bytes"] for site in stats["sites"]]
    assert kept["loaded"] > 300000 and max(sizes) < 700000, "what set_up made is not recorded"
    assert read_stats(directory / "so_far.mdn")["allocations"] < stats["allocations"]


CHECKS = {"phases.c": check_c, "phases.cpp": check_cpp, "pauses.cpp": check_pauses, "phases.rs": check_rust, "phases.py": check_python}


def test_a_rust_program_with_the_linked_crate_records_itself(midden, library, tmp_path):
    source = tmp_path / "phases.rs"
    source.write_text(EXAMPLES["phases.rs"], encoding="utf-8")
    directory = pathlib.Path(library).parent
    build_rust(source, tmp_path / "phases", 'feature="link"', f"-L{directory}", f"-Wl,-rpath,{directory}")
    profile = tmp_path / "own.mdn"
    run(tmp_path / "phases", env=clean_environment(MIDDEN_OUTPUT=str(profile), MIDDEN_COMMAND=str(midden)))
    wait_for(profile)
    check_rust(read_stats(profile, "--sites"), snapshots(midden, profile), tmp_path)


def wait_for(profile):
    """The collector writes it after the program has ended."""
    import time

    end = time.monotonic() + 120
    while not profile.exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert profile.exists()


def test_the_python_module_needs_nothing_but_python(tmp_path):
    run(
        sys.executable, "-I", "-c",
        f"import sys; sys.path.insert(0, {str(TREE / 'bindings/python')!r}); import midden; "
        "assert not midden.is_loaded() and midden.summary() is None and midden.collect() == {} and not midden.start()",
    )
