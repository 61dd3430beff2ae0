"""`midden resolve`, and the options about symbols that all reading commands have.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import re
import shutil
import subprocess

import pytest

PROGRAM = """
#include <stdlib.h>
#include <string>
#include <vector>
static __attribute__((always_inline)) inline void *inner(size_t n)
{
	void *volatile block = malloc(n);
	return block;
}
__attribute__((noinline)) static void *keep(size_t n)
{
	return inner(n + 1);
}
__attribute__((noinline)) static void fill(std::vector<std::string> &all)
{
	for (int i = 0; i < 100; i++)
		all.push_back(std::string(100, 'x'));
}
int main()
{
	static std::vector<std::string> all;
	fill(all);
	return keep(1000) == nullptr;
}
"""

KEEP = r"keep\(unsigned long\).* \(\S*app.cc:12\)"


def run(midden, *arguments, env=None):
    return subprocess.run(
        [midden, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **(env or {})},
    )


def report(midden, *arguments):
    done = run(midden, "report", "--allocated", "-t", "0", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.partition("Allocated")[2]


class App:
    """The program above with debug information and without, each to be recorded at the same path."""

    def __init__(self, midden, built, directory):
        self.midden = midden
        self.built = built
        self.path = directory / "place" / "app"
        self.debug = built / "app.debug"
        self.whole = built / "app.whole"
        self.bare = built / "app.bare"
        self.path.parent.mkdir()

    def record(self, program, profile, *options):
        shutil.copy(program, self.path)
        done = run(self.midden, "record", "-q", *options, "-o", profile, self.path)
        assert done.returncode == 0, done.stderr
        return profile

    def build_id(self):
        notes = subprocess.run(["readelf", "-n", self.whole], capture_output=True, text=True).stdout
        return notes.partition("Build ID: ")[2].split()[0]


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    for tool in ("g++", "objcopy", "strip", "readelf"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}")
    directory = tmp_path_factory.mktemp("built")
    (directory / "app.cc").write_text(PROGRAM)
    for command in (
        "g++ -O2 -g -Wl,--build-id=sha1 app.cc -o app.whole",
        "objcopy --only-keep-debug app.whole app.debug",
        "strip app.whole -o app.bare",
    ):
        subprocess.run(command.split(), cwd=directory, check=True)
    return directory


@pytest.fixture
def app(midden, built, tmp_path):
    return App(midden, built, tmp_path)


@pytest.fixture
def unstripped(app, tmp_path):
    """The report of the program with its debug information."""
    return report(app.midden, app.record(app.whole, tmp_path / "whole.mdn"))


def test_a_stripped_program_is_shown_by_module_and_offset(app, unstripped, tmp_path):
    bare = report(app.midden, app.record(app.bare, tmp_path / "bare.mdn"))
    assert "app+0x" in bare and "keep" not in bare
    assert "app+0x" not in unstripped and re.search(KEEP, unstripped)


@pytest.mark.parametrize("when", ("stripped", "gone", "replaced"))
@pytest.mark.parametrize("where", ("by name", "by build-id", "by another name", "whole program"))
def test_resolved_later_it_gives_the_report_of_the_unstripped_one(app, unstripped, tmp_path, when, where):
    profile = app.record(app.bare, tmp_path / "bare.mdn")
    if when == "gone":
        app.path.unlink()
    elif when == "replaced":
        shutil.copy("/bin/true", app.path)
    place = tmp_path / "dir" / "app.debug"
    if where == "by build-id":
        place = tmp_path / "dir" / ".build-id" / app.build_id()[:2] / f"{app.build_id()[2:]}.debug"
    elif where == "by another name":
        place = tmp_path / "dir" / "debug.17"
    place.parent.mkdir(parents=True)
    if where == "whole program":
        shutil.copy(app.whole, place.with_suffix(""))
    else:
        shutil.copy(app.debug, place)
    done = run(app.midden, "resolve", "--debug-dir", tmp_path / "dir", profile)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"  {app.path}: " in done.stdout and str(tmp_path / "dir") in done.stdout
    shutil.rmtree(tmp_path / "dir")
    assert report(app.midden, "--no-write", profile) == unstripped


def test_a_report_with_a_debug_directory_finds_the_same(app, unstripped, tmp_path):
    profile = app.record(app.bare, tmp_path / "bare.mdn")
    assert "app+0x" in report(app.midden, profile)
    assert report(app.midden, "--debug-dir", app.debug.parent, "--no-write", profile) == unstripped
    assert "app+0x" in report(app.midden, profile), "--no-write wrote"
    time = profile.stat().st_mtime_ns
    assert report(app.midden, "--debug-dir", app.debug.parent, profile) == unstripped
    assert report(app.midden, profile) == unstripped
    assert profile.stat().st_mtime_ns == time


def test_a_sysroot_takes_the_place_of_the_root(app, tmp_path):
    profile = app.record(app.whole, tmp_path / "whole.mdn", "--no-symbols")
    below = tmp_path / "root" / str(app.path.parent)[1:]
    below.mkdir(parents=True)
    app.path.rename(below / "app")
    done = run(app.midden, "resolve", "--sysroot", tmp_path / "root", profile)
    assert done.returncode == 0
    assert "not read" in done.stdout, "a library of this machine was used"
    assert re.search(KEEP, report(app.midden, "--no-write", profile))


def test_what_is_known_survives_a_machine_that_knows_less(app, unstripped, tmp_path):
    profile = app.record(app.whole, tmp_path / "whole.mdn")
    shutil.copy(app.bare, app.path)
    assert run(app.midden, "resolve", profile).returncode == 0
    assert report(app.midden, profile) == unstripped


def test_the_result_can_go_elsewhere(app, unstripped, tmp_path):
    profile = app.record(app.bare, tmp_path / "bare.mdn")
    before = profile.read_bytes()
    done = run(app.midden, "resolve", "--debug-dir", app.debug.parent, "-o", tmp_path / "out.mdn", profile)
    assert done.returncode == 0 and done.stdout.endswith(f"wrote {tmp_path / 'out.mdn'}\n")
    assert profile.read_bytes() == before
    assert report(app.midden, tmp_path / "out.mdn") == unstripped


def test_resolving_again_changes_nothing(app, tmp_path):
    profile = app.record(app.whole, tmp_path / "whole.mdn")
    sizes = []
    for options in ((), ("--force",), ("--force",), ()):
        assert run(app.midden, "resolve", *options, profile).returncode == 0
        sizes.append((profile.stat().st_size, report(app.midden, profile)))
    assert len(set(sizes)) == 1


def test_a_missing_module_is_named_with_its_reason(app, tmp_path):
    profile = app.record(app.bare, tmp_path / "bare.mdn")
    app.path.unlink()
    done = run(app.midden, "resolve", profile)
    assert done.returncode == 0
    assert f"not read: {app.path}: No such file or directory" in done.stdout


def test_source_paths_are_mapped_for_display_and_for_good(app, tmp_path):
    profile = app.record(app.whole, tmp_path / "whole.mdn")
    rule = f"{app.built}=/home/me/src"
    assert "(/home/me/src/app.cc:" in report(app.midden, "--map", rule, profile)
    assert "/home/me/src" not in report(app.midden, profile)
    stats = json.loads(run(app.midden, "stats", "--json", "--sites", "--map", rule, profile).stdout)
    assert "/home/me/src/app.cc" in json.dumps(stats)
    assert run(app.midden, "resolve", "--map", rule, profile).returncode == 0
    assert "(/home/me/src/app.cc:" in report(app.midden, profile)


def test_names_are_short_unless_the_full_ones_are_wanted(app, tmp_path):
    profile = app.record(app.whole, tmp_path / "whole.mdn")
    short, full = report(app.midden, profile), report(app.midden, "--full-names", profile)
    assert "std::vector<std::string>" in short and "std::char_traits<char>" not in short
    assert "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >" in full
    assert "std::string" not in full
    stats = run(app.midden, "stats", "--json", "--sites", profile).stdout
    assert "std::vector<std::string>" in stats
    assert (
        "std::__cxx11::basic_string"
        in run(app.midden, "stats", "--json", "--sites", "--full-names", profile).stdout
    )


def test_an_export_takes_the_same_options(app, tmp_path):
    profile = app.record(app.bare, tmp_path / "bare.mdn")
    export = ("export", "-f", "collapsed", "--figure", "allocated", "--no-write")
    assert "keep(unsigned long)" not in run(app.midden, *export, profile).stdout
    done = run(app.midden, *export, "--debug-dir", app.built, "--full-names", profile)
    assert "keep(unsigned long)" in done.stdout
    assert "std::char_traits<char>" in done.stdout
    assert "std::char_traits<char>" not in run(app.midden, *export, "--debug-dir", app.built, profile).stdout


def test_a_damaged_profile_is_not_overwritten(app, tmp_path):
    profile = app.record(app.whole, tmp_path / "whole.mdn")
    content = profile.read_bytes()
    profile.write_bytes(content[:-60])
    done = run(app.midden, "resolve", profile)
    assert (done.returncode, done.stdout) == (1, "")
    assert "damaged" in done.stderr and "-o" in done.stderr
    assert profile.read_bytes() == content[:-60]
    done = run(app.midden, "resolve", "-o", tmp_path / "out.mdn", profile)
    assert done.returncode == 1 and "wrote " in done.stdout and "damaged" in done.stderr


@pytest.mark.parametrize("command", ("report", "stats", "export", "resolve"))
@pytest.mark.parametrize(
    "options, status, words",
    (
        (("--debug-dir", "/nowhere"), 1, "/nowhere: No such file"),
        (("--debug-dir", "/bin/true"), 1, "/bin/true: not a directory"),
        (("--sysroot", "/nowhere"), 1, "/nowhere: No such file"),
        (("--map", "/no/equals"), 2, "/no/equals is not OLD=NEW"),
        (("--map",), 2, "--map needs an argument"),
        (("--debug-dirs", "x"), 2, "is not an option"),
    ),
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_wrong_options_are_told_in_one_line(midden, command, options, status, words):
    done = run(midden, command, *options)
    assert (done.returncode, done.stdout) == (status, "")
    assert words in done.stderr.splitlines()[0]


def test_a_profile_that_cannot_be_read_or_written_is_told(midden, app, tmp_path):
    assert run(midden, "resolve", tmp_path / "none.mdn").returncode == 1
    profile = app.record(app.whole, tmp_path / "whole.mdn")
    done = run(midden, "resolve", "-o", "/nowhere/out.mdn", profile)
    assert done.returncode == 1 and "/nowhere/out.mdn" in done.stderr
