"""Profiles as objects: what `midden report` and `midden stats` say of a file.

    profile = midden.Profile("run.mdn")
    for site in profile.sites("peak", limit=5):
        print(site.size, site.where())

Needs the command `midden` on PATH, or its path in MIDDEN_COMMAND.

SPDX-License-Identifier: Apache-2.0
"""

import functools
import json
import os
import shutil
import subprocess

FIGURES = ("peak", "leaked", "allocated", "calls", "temporary")


class MiddenError(Exception):
    """What could not be done, in one line."""


def find_command():
    """The path of the command `midden`, or None."""
    return os.environ.get("MIDDEN_COMMAND") or shutil.which("midden")


def run_command(*words):
    """What the command prints on stdout."""
    command = find_command()
    if command is None:
        raise MiddenError("the command midden is not on PATH, and MIDDEN_COMMAND does not name it")
    # Not recorded itself, and no variable of the recording applies to it.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MIDDEN_") and k != "LD_PRELOAD"}
    try:
        done = subprocess.run([command, *map(str, words)], capture_output=True, env=environment)
    except OSError as why:
        raise MiddenError(f"{command}: {why.strerror}") from why
    if done.returncode != 0:
        raise MiddenError(done.stderr.decode(errors="replace").strip().splitlines()[0])
    return done.stdout


class Frame:
    """One line of a stack. `line` is 0 and `file` is "" where they are not known."""

    def __init__(self, function, file, line, module):
        self.function, self.file, self.line, self.module = function, file, line, module

    @property
    def is_python(self):
        return self.module == "[python]"

    def __str__(self):
        if self.file:
            return f"{self.function} ({self.file}:{self.line})" if self.line else f"{self.function} ({self.file})"
        return f"{self.function} ({os.path.basename(self.module)})" if self.module and not self.is_python else self.function

    def __repr__(self):
        return f"Frame({self!s})"


class Site:
    """A call stack, the allocating function first, with its bytes and blocks."""

    def __init__(self, size, blocks, frames):
        self.size, self.blocks, self.frames = size, blocks, frames

    def where(self):
        """The innermost line of Python, or the allocating function where there is none."""
        return next((frame for frame in self.frames if frame.is_python), self.frames[0])

    def __repr__(self):
        return f"Site({self.size} bytes in {self.blocks} blocks: {' < '.join(map(str, self.frames))})"


def _frame_of(node):
    module = node["module"] or ""
    function = node["function"] or f"{os.path.basename(module)}+{node['offset'] or 0:#x}"
    return Frame(function, node["file"] or "", node["line"] or 0, module)


def _sites_of(nodes):
    """The stacks of an inverted tree: each ends at the node where something is left of its own."""
    by_id, found = {}, []
    for node in nodes:
        by_id[node["id"]] = node
        if not node["self_bytes"] and not node["self_blocks"]:
            continue
        frames, at = [], node
        while at:
            frames.append(_frame_of(at))
            at = by_id.get(at["parent"])
        found.append(Site(node["self_bytes"], node["self_blocks"], frames[::-1]))
    return sorted(found, key=lambda site: -site.size)


class Profile:
    """A profile in a file."""

    def __init__(self, path):
        self.path = os.fspath(path)

    @functools.cached_property
    def stats(self):
        """The object that `midden stats --json` prints."""
        return json.loads(run_command("stats", "--json", self.path))

    def sites(self, figure="peak", limit=None):
        """The Sites behind a figure (peak, leaked, allocated, calls, temporary), the largest first."""
        if figure not in FIGURES:
            raise ValueError(f"{figure!r} is none of {', '.join(FIGURES)}")
        return self._ask(["--figure", figure])[:limit]

    def growth(self, begin, end, limit=None):
        """The Sites that grew between two moments, as `midden report --growth` has them: "@snapshot:NAME", "@peak",
        "@end", "1.5s"."""
        return self._ask(["--growth", f"{begin}..{end}"])[:limit]

    def _ask(self, question):
        words = ["report", "--json", "--inverted", "--no-fold", "--threshold", "0", *question, self.path]
        answer = json.loads(run_command(*words))
        return _sites_of(answer.get("grown", answer)["nodes"])
