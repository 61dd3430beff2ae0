"""What a hostile profile or program is called reaches neither the terminal nor other formats as commands.

SPDX-License-Identifier: Apache-2.0
"""

import base64
import csv
import gzip
import json
import re
import struct
import subprocess
import urllib.request
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import machine as machines

TIMEOUT_S = 300

# Control characters of ASCII but line feeds, and those that UTF-8 writes in two bytes.
COMMANDS = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")

REPORTS = (
    (),
    ("--leaks", "--top-down"),
    ("--flat",),
    ("--by", "line"),
    ("--by", "module"),
    ("--by", "thread"),
    ("--lifetime",),
    ("--histogram", "size"),
    ("--snapshots",),
    ("--snapshot-deltas",),
    ("--timeline",),
    ("--findings",),
)

JSON_FORMATS = ("dhat", "gprof2dot", "json", "speedscope")
TEXT_FORMATS = ("callgrind", "collapsed", "csv", "dot", "flamegraph", "mallocprofiler", "massif")


def run(midden, *arguments, **options):
    return subprocess.run(
        [midden, *map(str, arguments)],
        capture_output=True,
        timeout=TIMEOUT_S,
        stdin=subprocess.DEVNULL,
        **options,
    )


@pytest.fixture(scope="module")
def spiteful(midden, tmp_path_factory):
    path = tmp_path_factory.mktemp("spite") / "spiteful.mdn"
    maker = machines.BUILD / "tests" / "e2e" / "make_profile"
    subprocess.run([maker, "spiteful", path], check=True, timeout=TIMEOUT_S)
    return path


def assert_plain(done, statuses=(0, 1)):  # 1: the spiteful profile is a damaged one too
    assert done.returncode in statuses, done.stderr
    assert COMMANDS.findall(done.stdout) == []
    assert COMMANDS.findall(done.stderr) == []


@pytest.mark.parametrize("options", REPORTS, ids="".join)
def test_a_report_shows_names_and_does_not_obey_them(midden, spiteful, options):
    assert_plain(run(midden, "report", "--no-write", *options, spiteful))


@pytest.mark.parametrize("options", REPORTS, ids="".join)
def test_the_same_as_json_can_be_read(midden, spiteful, options):
    done = run(midden, "report", "--no-write", "--json", *options, spiteful)
    assert_plain(done)
    assert json.loads(done.stdout)


def test_stats_diff_and_check_show_names_and_do_not_obey_them(midden, spiteful, tmp_path):
    junit = tmp_path / "junit.xml"
    limits = ("--allow-damaged", "--max-peak", "1K", "--max-leaked", "0B")
    assert_plain(run(midden, "stats", spiteful))
    for options in ((), ("--tree",), ("--by", "function"), ("--by", "module"), ("--json",)):
        assert_plain(run(midden, "diff", "--no-write", *options, spiteful, spiteful))
    assert_plain(run(midden, "check", "--no-write", *limits, "--junit", junit, spiteful), statuses=(1,))
    assert COMMANDS.findall(junit.read_bytes()) == []
    assert ElementTree.parse(junit).getroot().tag == "testsuites"
    done = run(midden, "stats", "--json", "--sites", "--points", spiteful)
    assert_plain(done)
    assert "\x1b[2J" in json.loads(done.stdout)["program"]


@pytest.mark.parametrize("form", JSON_FORMATS)
def test_an_export_in_json_holds_names_as_text(midden, spiteful, form):
    done = run(midden, "export", "--no-write", "-f", form, spiteful)
    assert_plain(done)
    assert json.loads(done.stdout)


@pytest.mark.parametrize("form", TEXT_FORMATS)
def test_an_export_in_text_holds_no_control_characters(midden, spiteful, form):
    done = run(midden, "export", "--no-write", "-f", form, spiteful)
    assert done.returncode in (0, 1), done.stderr
    # Tabs separate in some of them, and what stands in quotes in a table may have lines.
    kept = re.sub(rb"[\t]", b"", done.stdout)
    if form == "csv":
        assert b"\x1b" not in kept
    else:
        assert COMMANDS.findall(kept) == []


def test_an_exported_table_has_the_same_columns_in_every_row(midden, spiteful):
    done = run(midden, "export", "--no-write", "-f", "csv", spiteful)
    rows = list(csv.reader(done.stdout.decode(errors="replace").splitlines(keepends=True)))
    assert len(rows) == 4
    assert {len(row) for row in rows} == {len(rows[0])}
    assert not any(cell[:1] in "=+@" for row in rows[1:] for cell in row if cell)


def test_an_exported_picture_is_well_formed_and_has_no_tags_of_a_name(midden, spiteful):
    done = run(midden, "export", "--no-write", "-f", "flamegraph", spiteful)
    tags = {element.tag.split("}")[-1] for element in ElementTree.fromstring(done.stdout).iter()}
    assert "b" not in tags


def test_names_in_messages_are_shown_and_not_obeyed(midden, spiteful, tmp_path):
    name = b"\x1b[2J\x1b]0;own\x07\r\nx.mdn"
    broken = tmp_path.joinpath(name.decode())
    broken.write_bytes(b"no profile")
    there = {"cwd": tmp_path}
    for command in (["report"], ["stats"], ["check"], ["export", "-f", "csv"], ["diff", spiteful]):
        for file in (name, b"missing-" + name):
            assert_plain(run(midden, *command, file.decode(), **there), statuses=(1, 2))
    assert_plain(run(midden, name.decode(), **there), statuses=(1, 2))
    assert_plain(run(midden, "report", "--" + name.decode(), **there), statuses=(1, 2))
    assert_plain(run(midden, "snapshot", name.decode(), **there), statuses=(1, 2))
    assert_plain(run(midden, "record", name.decode() + "-missing", **there), statuses=(126, 127))
    rules = tmp_path / "rules"
    rules.write_bytes(name)
    assert_plain(run(midden, "report", "--suppressions", rules, spiteful, **there), statuses=(1, 2))


def test_a_program_with_a_hostile_name_is_recorded_under_a_tame_one(midden, native, tmp_path):
    program = tmp_path / "\x1b[2J\nx"
    program.symlink_to(native.victim("basic_heap"))
    done = run(midden, "record", "-o", "out.mdn", program, cwd=tmp_path)
    assert_plain(done)
    assert_plain(run(midden, "report", "out.mdn", cwd=tmp_path))
    assert_plain(run(midden, "stats", "out.mdn", cwd=tmp_path))
    assert_plain(run(midden, "record", program, cwd=tmp_path))


def columns_of(pack):
    """The header of what the viewer's page reads, and its texts: web/schema.md."""
    assert pack[:8] == b"MDNPACK1"
    start = 16 + int.from_bytes(pack[8:16], "little")
    header = json.loads(pack[16:start])
    ends, letters = header["columns"]["text.end"], header["columns"]["text.bytes"]
    assert "planes" not in ends
    ends = struct.unpack_from(f"<{ends['count']}I", pack, start + ends["at"])
    text = pack[start + letters["at"] : start + letters["at"] + letters["count"]]
    return header, [text[a:b] for a, b in zip((0, *ends), ends)]


def assert_is_data(pack):
    header, texts = columns_of(pack)
    assert "\x1b[2J" in header["stats"]["program"]
    assert any(b"\x1b" in text for text in texts)  # as they are: the page shows them as numbers


@pytest.mark.parametrize("kind", ("spiteful", "hostile"))
def test_names_in_a_page_are_data_and_neither_tags_nor_scripts(midden, tmp_path, kind):
    profile, page = tmp_path / "named.mdn", tmp_path / "page.html"
    maker = machines.BUILD / "tests" / "e2e" / "make_profile"
    subprocess.run([maker, kind, profile], check=True, timeout=TIMEOUT_S)
    done = run(midden, "html", "--no-write", "--sources", "--compare", profile, "-o", page, profile)
    assert_plain(done)
    text = page.read_bytes()
    assert COMMANDS.findall(text) == []
    own = (Path(__file__).parents[3] / "web" / "dist" / "page.html").read_bytes()
    parts = re.split(rb"<!--midden-(?:data|old)-->", own)
    data = rb'\s*<data hidden id="midden-%s" value="([A-Za-z0-9+/=\s]*)"></data>\s*'
    whole = re.escape(parts[0]) + data % b"data" + re.escape(parts[1]) + data % b"old" + re.escape(parts[2])
    put_in = re.fullmatch(whole, text)
    packs = [gzip.decompress(base64.b64decode(base64_text)) for base64_text in put_in.groups()]
    for pack in packs:
        assert len(columns_of(pack)[1]) > 1
        if kind == "spiteful":
            assert_is_data(pack)


def test_a_server_says_names_in_its_data_alone(midden, spiteful):
    words = [midden, "view", "--no-open", "--no-auth", str(spiteful)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as viewing:
        try:
            address = viewing.stdout.readline().decode().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
            answers = {name: urllib.request.urlopen(address + name, timeout=TIMEOUT_S) for name in ("", "state", "data")}
            bodies = {name: answer.read() for name, answer in answers.items()}
        finally:
            viewing.terminate()
        assert COMMANDS.findall(viewing.stderr.read()) == []
    for answer in answers.values():
        assert "\x1b" not in str(answer.headers)
    assert COMMANDS.findall(bodies[""] + bodies["state"]) == []
    assert_is_data(gzip.decompress(bodies["data"]))
