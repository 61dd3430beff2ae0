"""What a reader sees of a Python program: its own lines, without the machinery of imports and of the interpreter.

SPDX-License-Identifier: Apache-2.0
"""

import json
import subprocess

import pytest

APP = """
import pack
def load():
    return bytearray(2_000_000)
data = load()
"""
PACK = "import witness\nfrom pack.inner import table\nwitness.alloc(300_000)\n"
INNER = "table = bytearray(1_000_000)\n"


@pytest.fixture
def ask(request, record, debian, midden, tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text(PACK)
    (tmp_path / "pack" / "inner.py").write_text(INNER)
    (tmp_path / "app.py").write_text(APP)
    options = getattr(request, "param", ())
    recording = record.run([debian.path, tmp_path / "app.py"], options=options, env=debian.environment)
    assert recording.status == 0, recording.stderr

    def ask(command, *options):
        done = subprocess.run([midden, command, *options, recording.path], capture_output=True, check=True)
        return done.stdout.decode()

    return ask


def collapsed(ask, *options):
    """Bytes at the peak by stack, root first."""
    lines = ask("export", "-f", "collapsed", *options).splitlines()
    return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}


def find(stacks, size):
    """The stack that holds about so many bytes."""
    (stack,) = [stack for stack, held in stacks.items() if size <= held < size + 100_000]
    return stack


def test_lines_of_the_program_allocate_and_not_the_interpreter(ask):
    stacks = collapsed(ask)
    assert find(stacks, 2_000_000) == "<module> (app.py);load"
    assert find(stacks, 1_000_000) == "<module> (app.py);<module> (__init__.py);<module> (inner.py)"


def test_all_frames_are_shown_on_request(ask):
    stack = find(collapsed(ask, "--all-frames"), 1_000_000).split(";")
    assert stack[0] == "<module> (app.py)" and "_find_and_load" in stack
    assert any(name.startswith(("PyByteArray", "python3+")) for name in stack)


def test_imports_are_one_frame_on_request(ask):
    stacks = collapsed(ask, "--hide-imports")
    assert find(stacks, 2_000_000) == "<module> (app.py);load"
    assert stacks["<module> (app.py);<import of pack>"] >= 1_000_000
    assert not any("_find_and_load" in stack or "<module> (inner.py)" in stack for stack in stacks)


def test_every_command_folds_imports(ask):
    assert "<import of pack>\n" in ask("report", "--hide-imports", "--no-pager")
    assert "<import of pack>" not in ask("report", "--no-pager")
    assert json.loads(ask("report", "--json", "--hide-imports"))
    for kind in ("pprof", "callgrind", "speedscope", "csv", "dot", "flamegraph", "json", "dhat", "massif"):
        assert ask("export", "-f", kind, "--hide-imports", "-o", "/dev/null") == ""
    assert "<import of pack>" in ask("stats", "--json", "--sites", "--hide-imports")


@pytest.mark.parametrize("ask", [("--pymalloc=off",)], indirect=True)  # a sampled object may be the module's
def test_the_module_tells_which_extension_allocates(ask):
    rows = ask("report", "--allocated", "--by", "module").splitlines()
    (row,) = [row for row in rows if "witness.so" in row]
    assert "293 KiB" in row
