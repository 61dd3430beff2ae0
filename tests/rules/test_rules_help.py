"""Help texts, manual pages, shell completions and the options that commands take: all say the same.

SPDX-License-Identifier: Apache-2.0
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tree

BUILD = Path(os.environ.get("MIDDEN_BUILD", tree.ROOT / "build"))
MIDDEN = BUILD / "midden"
sys.path.insert(0, str(tree.ROOT / "tools"))
import completions  # noqa: E402

# Other spellings that nobody needs to be told of.
UNTOLD = {"--colour", "--leaked"}


def command_names():
    return [name for name, _ in completions.list_commands(MIDDEN)]


COMMANDS = command_names() if MIDDEN.exists() else []
WITH_OPTIONS = [name for name in COMMANDS if name != "help"]


def told_options(command):
    """Long options in the help text -> whether they take an argument."""
    text = tree.run(MIDDEN, "help", command).stdout
    return {option: bool(argument) for _, option, argument, _ in completions.list_options(text)}


def manual_options(command):
    """The same from the list of options in the manual page."""
    found = {}
    for line in tree.read(f"docs/man/midden-{command}.1").splitlines():
        if not line.startswith(".It Fl"):
            continue
        for option, rest in re.findall(r"Fl -([\w-]+)((?: Ar \S+)?)", line):
            optional = " Op " in line or " Oo " in line
            found[f"--{option}"] = not optional and (bool(rest) or " Ar " in line or " Cm " in line)
    return found


def complaint(*words):
    """What a command says to such words, from a place where there is no profile."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd="/", check=False)
    return done.stderr


def is_taken(command, option, argument):
    """Whether a command knows an option, and wants an argument or not as said. Nothing is done: the option that follows
    is refused in any case."""
    said = complaint(MIDDEN, command, option, *(["1"] if argument else []), "--no-such-option")
    return f"{option} is not an option" not in said and (
        "needs an argument" in complaint(MIDDEN, command, option)
    ) == argument


def test_midden_is_built():
    assert COMMANDS, f"{MIDDEN} is missing: run make first"


@pytest.mark.parametrize("command", WITH_OPTIONS)
def test_the_manual_has_the_options_of_the_help_text(command):
    told, manual = told_options(command), manual_options(command)
    assert told, "the help text has no options"
    assert {option: argument for option, argument in manual.items() if option not in UNTOLD} == told


@pytest.mark.parametrize("command", WITH_OPTIONS)
def test_a_command_takes_what_its_help_text_says(command):
    refused = [option for option, argument in told_options(command).items() if not is_taken(command, option, argument)]
    assert refused == []


def test_an_option_that_nobody_told_of_is_refused():
    assert not is_taken("report", "--no-such-option-either", False)


@pytest.mark.parametrize("command", WITH_OPTIONS)
def test_every_command_is_in_the_manual(command):
    assert f"Xr midden-{command} 1" in tree.read("docs/man/midden.1")


@pytest.mark.parametrize("page", [path.name for path in tree.files("docs/man/*.1")])
def test_manual_pages_are_well_formed(page):
    checker = shutil.which("mandoc")
    if not checker:
        pytest.skip("mandoc is not installed")
    done = tree.run(checker, "-T", "lint", "-W", "warning", tree.ROOT / "docs/man" / page)
    assert done.stdout == ""


def test_completions_are_those_of_the_help_texts():
    done = tree.run(sys.executable, tree.ROOT / "tools/completions.py", "--check", MIDDEN)
    assert done.returncode == 0, done.stderr


def complete_in_bash(*words):
    """What bash offers for the last of the words."""
    script = f"""
        . '{tree.ROOT}/completions/midden.bash'
        COMP_WORDS=({' '.join(f"'{word}'" for word in words)}); COMP_CWORD={len(words) - 1}
        _midden 2>/dev/null; printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_commands_options_and_words():
    assert "report" in complete_in_bash("midden", "re")
    assert "--leaks" in complete_in_bash("midden", "report", "--le")
    assert complete_in_bash("midden", "export", "-f", "speed") == ["speedscope"]
    assert "always" in complete_in_bash("midden", "report", "--color", "al")


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_understands_its_completion():
    done = tree.run("zsh", "-n", tree.ROOT / "completions/_midden")
    assert done.returncode == 0, done.stderr
