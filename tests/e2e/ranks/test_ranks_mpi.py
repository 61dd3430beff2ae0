"""Parallel programs: a profile for each rank, which ones are recorded, one report of all, and the rank that stands out.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from recording import read_stats, sites_through

RANKS = 4
ODD = 2


def run(*words, **options):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300, **options)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    compiler = shutil.which("mpicc.openmpi")
    if not compiler or not shutil.which("mpirun.openmpi"):
        pytest.skip("Open MPI is not installed")
    path = tmp_path_factory.mktemp("mpi") / "mpi_ranks"
    subprocess.run([compiler, "-g", "-O1", "-o", path, Path(__file__).with_name("mpi_ranks.c")], check=True)
    return path


@pytest.fixture
def launch(midden, program, tmp_path):
    def start(*options, count=RANKS):
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        words = ["mpirun.openmpi", "--oversubscribe", "--mca", "btl_vader_single_copy_mechanism", "none", "-n", count, midden, "record", *options, program, ODD]
        # A launcher that ends removes what the launchers of one user have in common, another may be about to use it.
        with tempfile.TemporaryDirectory(dir="/tmp") as apart:  # the name must be short
            done = run(*words, cwd=tmp_path, env=os.environ | root | {"TMPDIR": apart})
        assert done.returncode == 0, done.stderr
        assert done.stdout.count(f"of {count} kept") == count
        return done

    return start


def test_every_rank_has_its_profile_and_the_odd_one_is_named(launch, midden, tmp_path):
    launch("-q")
    names = sorted(path.name for path in tmp_path.glob("*.mdn"))
    assert names == [f"midden.mpi_ranks.rank{i}.mdn" for i in range(RANKS)]
    for i, name in enumerate(names):
        stats = read_stats(tmp_path / name, "--sites")
        assert (stats["rank"], stats["ranks"]) == (i, RANKS)
        assert sum(s["leaked_blocks"] for s in sites_through(stats, "keep")) == (900 if i == ODD else 100)
    merged = tmp_path / "all" / "all.mdn"
    merged.parent.mkdir()
    assert run(midden, "merge", "-o", merged, *(tmp_path / n for n in names)).returncode == 0
    for profile in (merged, tmp_path):
        stats = read_stats(profile)
        assert [i["rank"] for i in stats["inputs"]] == list(range(RANKS))
        leaked = [i["leaked_bytes"] for i in stats["inputs"]]
        spread = stats["spread"]["leaked_bytes"]
        assert (spread["min"], spread["max"], spread["max_input"], spread["outlier_input"]) == (min(leaked), max(leaked), ODD, ODD)
        assert abs(spread["mean"] - sum(leaked) / RANKS) < 1
        assert stats["leaked_bytes"] == sum(leaked)
    report = run(midden, "report", "--leaks", tmp_path)
    assert report.returncode == 0
    assert f"! rank {ODD} stands out: leaked" in report.stdout
    assert "keep (" in report.stdout and "sum of 4 profiles" in report.stdout


def test_only_wanted_ranks_are_recorded(launch, tmp_path):
    launch("-q", "--ranks", "1,3-9", "-o", "r%r.mdn")
    assert sorted(path.name for path in tmp_path.glob("*.mdn")) == ["r1.mdn", "r3.mdn"]


@pytest.fixture
def as_rank(midden, native, tmp_path):
    """Runs a command under `midden record` as a launcher would."""

    def start(rank, *words):
        variables = {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "8"} if rank is not None else {}
        return run(midden, "record", *words, cwd=tmp_path, env=os.environ | variables)

    return start


def test_a_rank_that_is_not_wanted_runs_as_it_is(as_rank, tmp_path):
    done = as_rank(3, "--ranks", "0", "sh", "-c", "echo $LD_PRELOAD; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "\n", "")
    assert as_rank(3, "--ranks", "0", "no-such-program").returncode == 127
    assert list(tmp_path.glob("*.mdn")) == []


def test_without_a_launcher_the_program_is_recorded(as_rank, native, tmp_path):
    done = as_rank(None, "-q", "--ranks", "0", native.victim("basic_heap"))
    assert done.returncode == 0 and "--ranks does not count" in done.stderr
    assert len(list(tmp_path.glob("*.mdn"))) == 1


def test_a_rank_that_is_not_there_is_said_once(launch, tmp_path):
    done = launch("--ranks", "7,9-12")
    assert done.stderr.count(f"--ranks names rank 7: there are {RANKS}, the last is {RANKS - 1}") == 1
    assert list(tmp_path.glob("*.mdn")) == []


def test_a_range_that_goes_beyond_the_last_rank_is_no_fault(launch, tmp_path):
    assert "--ranks names" not in launch("-q", "--ranks", "1-99").stderr
    assert len(list(tmp_path.glob("*.mdn"))) == RANKS - 1


def test_lists_that_make_no_sense_are_refused(as_rank):
    done = as_rank(1, "--ranks", "3-1", "true")
    assert done.returncode == 2 and "ranks are numbers and ranges" in done.stderr


@pytest.mark.parametrize(
    ("options", "wanted"),
    (
        (("--only", "basic_heap"), {"basic_heap"}),
        (("--only", "nothing,b*heap"), {"basic_heap"}),
        (("--children-only",), {"basic_heap", "sleep"}),
        (("--follow",), {"basic_heap", "sleep", "sh"}),
    ),
)
def test_processes_are_chosen(as_rank, native, midden, tmp_path, options, wanted):
    shell = Path(shutil.which("sh")).resolve().name
    done = as_rank(None, "-q", *options, "-o", "p.%p.mdn", "sh", "-c", f"{native.victim('basic_heap')}; sleep 0; exit 3")
    assert done.returncode == 3
    programs = {read_stats(path)["program"] for path in tmp_path.glob("*.mdn")}
    assert programs == {shell if name == "sh" and shell in programs else name for name in wanted}


def test_a_choice_that_nothing_meets_is_said(as_rank, tmp_path):
    done = as_rank(None, "--only", "nobody", "true")
    assert done.returncode == 0 and "no process was recorded: none is what --only" in done.stderr
    assert list(tmp_path.glob("*.mdn")) == []


def test_a_directory_is_one_report(midden, native, tmp_path):
    for name in ("one", "two"):
        run(midden, "record", "-q", "-o", tmp_path / f"{name}.mdn", native.victim("basic_heap"))
    one, both = read_stats(tmp_path / "one.mdn"), read_stats(tmp_path)
    assert both["allocations"] == 2 * one["allocations"] and [i["name"] for i in both["inputs"]] == ["one.mdn", "two.mdn"]
    assert json.loads(run(midden, "report", "--json", tmp_path).stdout)["total_bytes"] == 2 * one["peak_bytes"]
    (tmp_path / "two.mdn").unlink()
    assert read_stats(tmp_path)["merge"] is None
    (tmp_path / "one.mdn").unlink()
    done = run(midden, "report", tmp_path)
    assert (done.returncode, done.stderr) == (1, f"midden: {tmp_path}: there is no .mdn file in this directory\n")


def test_a_merge_beside_its_parts_is_left_out(midden, native, tmp_path):
    for name in ("one", "two"):
        run(midden, "record", "-q", "-o", tmp_path / f"{name}.mdn", native.victim("basic_heap"))
    both = tmp_path / "both.mdn"
    assert run(midden, "merge", "-o", both, tmp_path / "one.mdn", tmp_path / "two.mdn").stderr.count("\n") == 2
    done = run(midden, "stats", "--json", tmp_path)
    assert done.stderr == f"midden: {both} is left out: the processes that it is made of are there without it\n"
    assert [i["name"] for i in json.loads(done.stdout)["inputs"]] == ["one.mdn", "two.mdn"]
    (tmp_path / "two.mdn").unlink()  # now the merge alone knows it
    done = run(midden, "stats", "--json", tmp_path)
    assert "is counted more than once: it is in one.mdn and again in both.mdn\n" in done.stderr
    assert len(json.loads(done.stdout)["inputs"]) == 3
    assert run(midden, "merge", "-q", "-o", tmp_path / "again.mdn", both).returncode == 0
    (tmp_path / "one.mdn").unlink()
    done = run(midden, "stats", "--json", tmp_path)
    assert f"{both} is left out" in done.stderr and len(json.loads(done.stdout)["inputs"]) == 2


def test_programs_that_a_process_became_are_all_counted(midden, native, tmp_path):
    victim = native.victim("basic_heap")
    run(midden, "record", "-q", "--follow", "--keep-empty", "-o", "p.mdn", "sh", "-c", f"exec env env {victim}", cwd=tmp_path)
    parts = [read_stats(path) for path in tmp_path.glob("*.mdn")]
    assert len(parts) >= 3 and len({part["pid"] for part in parts}) == 1
    merged = run(midden, "merge", "-o", tmp_path / "all.mdn", *tmp_path.glob("*.mdn"))
    assert "more than once" not in merged.stderr
    done = run(midden, "stats", "--json", tmp_path)
    assert done.stderr.count("\n") == 1 and "all.mdn is left out" in done.stderr
    assert len(json.loads(done.stdout)["inputs"]) == len(parts)
