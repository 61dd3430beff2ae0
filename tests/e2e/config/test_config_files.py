"""Settings in files: which holds, and that each option of record is one.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import re
import subprocess

import pytest

NOT_KEYS = {"config", "set", "profile", "no-config", "help"}


@pytest.fixture
def home(tmp_path):
    """A user without any settings, in a directory without any."""
    (tmp_path / "home" / ".config").mkdir(parents=True)
    (tmp_path / "project" / "below").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def ask(midden, home):
    def run(*words, command="config", where="project", env=None):
        variables = {k: v for k, v in os.environ.items() if not k.startswith("MIDDEN_")} | {"HOME": str(home / "home")} | (env or {})
        variables.pop("XDG_CONFIG_HOME", None)
        return subprocess.run([midden, command, *map(str, words)], cwd=home / where, env=variables, capture_output=True, text=True, timeout=120)

    return run


@pytest.fixture
def held(ask):
    def run(*words, **options):
        done = ask("--json", *words, **options)
        assert (done.returncode, done.stderr) == (0, "")
        return {key: (s["value"], s["origin"]) for key, s in json.loads(done.stdout)["settings"].items()}

    return run


def write(path, text):
    path.write_text(text)
    path.chmod(0o644)
    return path


def test_every_option_of_record_is_a_key(midden, held):
    text = subprocess.run([midden, "record", "--help"], capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"^ +(?:-\w, )?--([\w-]+)", text, re.MULTILINE))
    assert options - NOT_KEYS == set(held())


def test_the_last_word_counts(home, held):
    user = write(home / "home" / ".config" / "midden.conf", "[record]\nmax-depth = 10\nbuffer = 8M\npatience = 100\npython = off\ntrace = on\nfollow = yes\n")
    project = write(home / "project" / ".midden.conf", "[record]\nbuffer = 9M\npatience = 200\npython = only\nfollow = no\n[profile.p]\npatience = 400\n[profile.q]\npatience = 500\nbuffer = 20M\n")
    named = write(home / "named.conf", "[record]\npatience = 300\nsample-blocks = 64\n")
    settings = held("-c", named, "--profile", "p", "--set", "sample-seed=7", "--delayed", where="project/below", env={"MIDDEN_PYTHON": "full"})
    assert settings["max-depth"] == ("10", f"{user}:2")
    assert settings["buffer"] == ("9M", f"{project}:2")
    assert settings["follow"] == ("false", f"{project}:5")
    assert settings["trace"] == ("true", f"{user}:6")
    assert settings["sample-blocks"] == ("64", f"{named}:3")
    assert settings["python"] == ("full", "MIDDEN_PYTHON")
    assert settings["patience"] == ("400", f"{project}:7")
    assert settings["sample-seed"] == ("7", "--set")
    assert settings["delayed"] == ("true", "command line")
    assert settings["quiet"] == ("false", "default")
    assert held("-c", named, "--profile", "p", "--profile", "q")["patience"] == ("500", f"{project}:9")
    assert held("--set", "follow=off", "--follow")["follow"] == ("true", "command line")
    assert held("--follow", "--set", "follow=off")["follow"] == ("false", "--set")
    assert held("--no-config")["buffer"] == ("4M", "default")


def test_what_is_printed_can_be_read_again(home, ask, held):
    named = write(home / "named.conf", '[record]\nfollow = true\noutput = "a \\"b\\".mdn"\nsnapshot-at = rss=2G\nsample = on\n')
    done = ask("-c", named)
    again = write(home / "again.conf", done.stdout)
    first, second = held("-c", named), held("-c", again)
    assert {k: v[0] for k, v in first.items()} == {k: v[0] for k, v in second.items()}
    assert second["output"][0] == 'a "b".mdn'


def test_settings_hold_for_a_recording(home, ask, native):
    write(home / "project" / ".midden.conf", '[record]\noutput = "%n.mdn"\nquiet = true\n[profile.cheap]\nsample = 4K\n')
    done = ask("--profile", "cheap", native.victim("basic_heap"), command="record")
    assert (done.returncode, done.stderr) == (0, "")
    stats = json.loads(ask("--json", "basic_heap.mdn", command="stats").stdout)
    assert (stats["mode"], stats["sample_period"]) == ("sample", 4096)
    # Off is a word too, against a variable as well.
    done = ask("--set", "sample=off", native.victim("basic_heap"), command="record", env={"MIDDEN_MODE": "sample"})
    assert done.returncode == 0
    assert json.loads(ask("--json", "basic_heap.mdn", command="stats").stdout)["mode"] == "exact"


def test_the_file_in_the_help_text_works_as_it_stands(home, ask, native):
    text = ask("config", command="help").stdout
    write(home / "project" / ".midden.conf", text[text.index("  [record]") : text.index("Files are read")])
    assert ask(native.victim("basic_heap"), command="record").returncode == 0
    assert ask("--profile", "cheap", native.victim("basic_heap"), command="record").returncode == 0
    assert len(list((home / "project" / "profiles").glob("basic_heap.*.mdn"))) == 2


def test_statuses_are_told_by_the_help_text(ask):
    told = " ".join(ask("config", command="help").stdout.split())
    assert "1 if a file cannot be read or makes no sense; 2 for wrong usage, or a value that record would refuse." in told
    told = " ".join(ask("record", command="help").stdout.split())
    assert "2 for wrong usage, 1 if midden itself failed before it could start the program." in told


@pytest.mark.parametrize(
    ("text", "words", "fault"),
    (
        ("[record]\nfolow = 1\n", (), ":2: there is no setting 'folow'; did you mean 'follow'?"),
        ("[record]\nfollow = maybe\n", (), ":2: follow is true or false, not 'maybe'"),
        ("[profile.x]\nmax-dept = 1\n", (), ":2: there is no setting 'max-dept'; did you mean 'max-depth'?"),
        ("follow = 1\n", (), ":1: begin a section first: [record] or [profile.NAME]"),
        ("", ("--profile", "x"), "no file has a section [profile.x]"),
    ),
)
def test_what_makes_no_sense_is_said_and_nothing_runs(home, ask, text, words, fault):
    path = write(home / "project" / ".midden.conf", text)
    for command, program in (("config", ()), ("record", ("touch", "ran"))):
        done = ask(*words, *program, command=command)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"midden: {path if fault.startswith(':') else ''}{fault}\n"
    assert not (home / "project" / "ran").exists()


def test_a_value_that_makes_no_sense_is_named_with_its_line(home, ask):
    path = write(home / "project" / ".midden.conf", "[record]\nmax-depth = 2\n")
    for command in ("config", "record"):
        done = ask("true", command=command)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{path}:2: the depth of stacks must be 8 to 16384, not '2'" in done.stderr


@pytest.mark.parametrize("name", ("MAPS", "FOLLOW", "TRACE", "LEAKS", "RSS", "STACKS", "START", "SYMBOLS"))
def test_a_variable_that_says_neither_yes_nor_no_is_an_error(home, ask, name):
    for command, program in (("config", ()), ("record", ("touch", "ran"))):
        done = ask(*program, command=command, env={f"MIDDEN_{name}": "bogus"})
        assert (done.returncode, done.stdout) == (2, "")
        assert f"MIDDEN_{name} is 1 or 0, not 'bogus'" in done.stderr
    assert not (home / "project" / "ran").exists()


def test_variables_take_the_words_that_files_take(held):
    for word, value in (("on", "true"), ("yes", "true"), ("off", "false"), ("No", "false"), ("", "false")):
        assert held(env={"MIDDEN_MAPS": word})["maps"] == (value, "MIDDEN_MAPS")
    assert held(env={"MIDDEN_SYMBOLS": "off"})["no-symbols"] == ("true", "MIDDEN_SYMBOLS")


def test_a_profile_is_found_where_the_settings_put_it(home, ask, native):
    (home / "project" / "kept").mkdir()
    write(home / "project" / ".midden.conf", '[record]\noutput = "kept/%n.%p.mdn"\n')
    done = ask("--json", command="stats")
    assert (done.returncode, done.stderr) == (1, "midden: no midden.*.mdn here, and no kept/%n.%p.mdn; run `midden record PROGRAM` first\n")
    assert ask(native.victim("basic_heap"), command="record").returncode == 0
    assert json.loads(ask("--json", command="stats").stdout)["program"] == "basic_heap"


def test_a_project_cannot_choose_what_runs_in_programs(home, ask):
    write(home / "project" / ".midden.conf", "[record]\nlibrary = evil.so\n")
    done = ask("true", command="record")
    assert done.returncode == 1 and "library cannot be set by a project's file" in done.stderr


def test_a_file_that_others_can_write_is_not_read(home, ask):
    path = write(home / "project" / ".midden.conf", "[record]\nmax-depth = 10\n")
    path.chmod(0o666)
    done = ask("--json")
    assert done.returncode == 0 and "is not read" in done.stderr
    assert json.loads(done.stdout)["settings"]["max-depth"] == {"value": "512", "origin": "default"}
