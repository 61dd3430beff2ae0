"""Rooms and arrows: who may include whom, read off the #include lines.

SPDX-License-Identifier: Apache-2.0
"""

import collections

import tree

# "A may include B"; a room may always include itself.
ARROWS = {
    "format": set(),
    "base": set(),
    "capture": {"format"},
    "profile": {"format", "base"},
    "collect": {"format", "profile", "base"},
    "symbol": {"base"},
    "model": {"profile", "symbol", "base"},
    "report": {"model", "base"},
    "export": {"model", "base"},
    "serve": {"model", "export", "base"},
    "cli": {"format", "profile", "collect", "symbol", "model", "report", "export", "serve", "base"},
}

# What the whole library may see of the installed headers.
INSTALLED_FOR = {"capture": {"midden/midden.h"}, "profile": {"midden/profile.h"}, "cli": {"midden/profile.h"}}

SOURCES = tree.files("src/**/*.c", "src/**/*.h")


def room_of(path):
    return path.parts[1]


def is_allowed(path, included):
    room, target = room_of(path), included.split("/")[0]
    if target == "midden":
        return included in INSTALLED_FOR.get(room, set())
    if target == room or target in ARROWS[room]:
        return True
    # The arrows of what one includes are open too: a room's header may show a type of a room below it.
    return any(target in ARROWS[below] for below in ARROWS[room])


def test_a_file_includes_only_what_its_room_may():
    assert [
        f"{path}: {name}" for path in SOURCES for name in tree.includes(path) if not is_allowed(path, name)
    ] == []


def test_an_include_names_its_room():
    assert [
        f"{path}: {name}"
        for path in SOURCES
        for name in tree.includes(path)
        if not (tree.ROOT / "src" / name).is_file() and not (tree.ROOT / "include" / name).is_file()
    ] == []


def test_every_room_is_known():
    rooms = {path.name for path in (tree.ROOT / "src").iterdir() if path.is_dir() and any(path.iterdir())}
    assert rooms - set(ARROWS) == set()


def test_no_room_reaches_itself_through_others():
    def reaches(room, seen=()):
        return set().union(
            *({below} | reaches(below, (*seen, below)) for below in ARROWS[room] if below not in seen)
        )

    assert [room for room in ARROWS if room in reaches(room)] == []


def test_a_source_file_includes_its_own_header_first():
    with_header = [path for path in SOURCES if path.suffix == ".c" and path.with_suffix(".h") in SOURCES]
    assert [
        str(path)
        for path in with_header
        if tree.includes(path)[:1] != ["/".join(path.with_suffix(".h").parts[1:])]
    ] == []


def test_basenames_are_unique():
    # A header and the source file beside it share one; nothing else does.
    stems = collections.defaultdict(set)
    for path in tree.files(
        "src/**/*.c", "src/**/*.h", "tests/unit/**/*.c", "tests/fuzz/*.c", "tests/victims/*.c*"
    ):
        if path.parent.name != "arch":
            stems[path.stem].add(path.parent)
    assert {stem: sorted(map(str, where)) for stem, where in stems.items() if len(where) > 1} == {}


def test_names_say_what_a_file_is():
    vague = ("utils", "util", "misc", "common", "helper", "helpers", "manager")
    assert [str(path) for path in SOURCES if path.stem in vague] == []
