#!/usr/bin/env python3
"""Writes completions/midden.bash and completions/_midden from what `midden help` says: completions.py MIDDEN.
With --check it writes nothing and fails if they are not what it would write.

SPDX-License-Identifier: Apache-2.0
"""

import re
import subprocess
import sys
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "completions"
OPTION = re.compile(r"^ +(?:(-\w), )?(--[\w-]+)(?:\[=[A-Z]+\])?(?:[ =]([A-Z][A-Z0-9_.…]*(?:[=:][A-Z]+)?))?(?:  +(.*))?$")
FILES = {"FILE", "OUT", "OLD", "NEW", "OUT.xml"}
DIRECTORIES = {"DIR"}
WORDS = {"WHEN": "auto always never", "FRAMES": "mixed only full domains off", "WAY": "unwind enter-exit"}


def ask(midden, *words):
    return subprocess.run([midden, *words], capture_output=True, text=True, check=True).stdout


def list_commands(midden):
    text = ask(midden, "help").partition("COMMAND [OPTIONS]")[2].partition("`midden help")[0]
    return re.findall(r"^  (\w+) {2,}(\S.*)$", text, re.M)


def list_options(text):
    """(short or "", long, argument or "", explanation) of each option in a help text."""
    found = (OPTION.match(line) for line in text.splitlines())
    return [(m[1] or "", m[2], m[3] or "", m[4] or "") for m in found if m]


def list_formats(midden):
    text = ask(midden, "help", "export").partition("\nFormats")[2]
    return re.findall(r"^  (\w+) {2,}", text, re.M)


def list_figures(text):
    named = re.search(r"--figure NAME +(.*?)(?=\n +-|\n\n)", text, re.S)
    return re.findall(r"\b(peak|leaked|allocated|calls|temporary|live|growth)\b", named[1]) if named else []


def words_for(midden, command, option, argument):
    """The words an argument can be, as one string; "" if there is no list."""
    if argument in WORDS:
        return WORDS[argument]
    if argument == "FORMAT":
        return " ".join(list_formats(midden))
    if option == "--figure":
        return " ".join(dict.fromkeys(list_figures(ask(midden, "help", command))))
    return ""


# ---- bash -------------------------------------------------------------------------------------------------------


def bash_cases(midden, command, options):
    lines = []
    for short, option, argument, _ in options:
        if not argument:
            continue
        names = "|".join(name for name in (short, option) if name)
        words = words_for(midden, command, option, argument)
        if words:
            action = f'mapfile -t COMPREPLY < <(compgen -W "{words}" -- "$word")'
        elif argument in DIRECTORIES:
            action = 'mapfile -t COMPREPLY < <(compgen -d -- "$word")'
        elif argument in FILES:
            action = 'mapfile -t COMPREPLY < <(compgen -f -- "$word")'
        else:
            action = ":"
        lines.append(f"\t{command}:{names.replace('|', f'|{command}:')})\n\t\t{action}\n\t\treturn\n\t\t;;")
    return lines


def make_bash(midden, commands):
    cases, lists = [], []
    for command, _ in commands:
        options = list_options(ask(midden, "help", command))
        cases += bash_cases(midden, command, options)
        names = " ".join(name for option in options for name in option[:2] if name)
        lists.append(f'\t{command}) options="{names}" ;;')
    names = " ".join(command for command, _ in commands)
    return f"""# midden.bash -- completion of midden's commands and options. Made by tools/completions.py.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2207

_midden_profiles() {{
	mapfile -t COMPREPLY < <(compgen -f -X '!*.mdn' -- "$1"; compgen -d -S / -- "$1")
	compopt -o nospace 2>/dev/null
}}

_midden() {{
	local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} options=
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "{names} --help --version" -- "$word")
		return
	fi
	case $command:$before in
{chr(10).join(cases)}
	esac
	case $command in
{chr(10).join(lists)}
	esac
	if [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
		return
	fi
	case $command in
	record) mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word") ;;
	help) mapfile -t COMPREPLY < <(compgen -W "{names}" -- "$word") ;;
	*) _midden_profiles "$word" ;;
	esac
}}

complete -o filenames -F _midden midden
"""


# ---- zsh --------------------------------------------------------------------------------------------------------


def zsh_quote(text):
    return text.replace("'", "'\\''").replace("[", "(").replace("]", ")").replace(":", "\\:")


def zsh_argument(midden, command, option, argument):
    words = words_for(midden, command, option, argument)
    if words:
        return f":{argument.lower()}:({words})"
    if argument in DIRECTORIES:
        return f":{argument.lower()}:_files -/"
    if argument in FILES:
        return f":{argument.lower()}:_files"
    return f":{argument.lower()}:" if argument else ""


def zsh_options(midden, command):
    lines = []
    for short, option, argument, text in list_options(ask(midden, "help", command)):
        about = f"[{zsh_quote(text)}]{zsh_argument(midden, command, option, argument)}"
        if short:
            lines.append(f"\t\t\t'({short} {option})'{{{short},{option}}}'{about}' \\")
        else:
            lines.append(f"\t\t\t'{option}{about}' \\")
    return lines


def zsh_rest(command):
    if command == "record":
        return "\t\t\t'*::program:_normal'"
    if command == "help":
        return "\t\t\t'1:command:_midden_commands'"
    return "\t\t\t'*:profile:_files -g \"*.mdn\"'"


def make_zsh(midden, commands):
    described = "\n".join(f"\t\t'{name}:{zsh_quote(text)}'" for name, text in commands)
    cases = []
    for command, _ in commands:
        lines = zsh_options(midden, command)
        body = "\n".join([*lines, zsh_rest(command)])
        cases.append(f"\t{command})\n\t\t_arguments -s -S \\\n{body}\n\t\t;;")
    return f"""#compdef midden
# _midden -- completion of midden's commands and options. Made by tools/completions.py.
# SPDX-License-Identifier: Apache-2.0

_midden_commands() {{
	local -a commands=(
{described}
	)
	_describe command commands
}}

_midden() {{
	local curcontext=$curcontext state line
	_arguments -C '1:command:_midden_commands' '*::argument:->argument'
	[[ $state == argument ]] || return
	case $line[1] in
{chr(10).join(cases)}
	esac
}}

_midden "$@"
"""


def main():
    check = "--check" in sys.argv
    midden = [word for word in sys.argv[1:] if word != "--check"][0]
    commands = list_commands(midden)
    stale = []
    for name, text in (("midden.bash", make_bash(midden, commands)), ("_midden", make_zsh(midden, commands))):
        path = OUT / name
        if check and (not path.exists() or path.read_text() != text):
            stale.append(path.name)
        elif not check:
            OUT.mkdir(exist_ok=True)
            path.write_text(text)
    if stale:
        sys.exit(f"{' and '.join(stale)} are not up to date: run tools/completions.py {midden}")


if __name__ == "__main__":
    main()
