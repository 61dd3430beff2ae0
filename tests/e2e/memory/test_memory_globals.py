"""Global and thread-local variables of a program and its libraries, and which of their pages are resident.

SPDX-License-Identifier: Apache-2.0
"""

import csv
import io
import json
import shutil
import subprocess
import time

from recording import read_stats

KIB, MIB = 1 << 10, 1 << 20
# Of known_globals.c, whose head has it in words: (section, bytes, resident bytes)
SHARED = {
    "big_zeros": (".bss", 16 * MIB, 1 * MIB),
    "filled_table": (".data", 256 * KIB, 256 * KIB),
    "fixed_table": (".rodata", 128 * KIB, 128 * KIB),
    "library_zeros": (".bss", 1 * MIB, 256 * KIB),
}
LOCAL = {"zeros_of_thread": (".tbss", 32 * KIB), "filled_of_thread": (".tdata", 8 * KIB)}


def read_globals(midden, path, *options):
    done = subprocess.run([midden, "report", "--globals", "--json", *options, path], capture_output=True, check=True)
    return json.loads(done.stdout)["globals"]


def by_name(found):
    return {variable["name"]: variable for variable in found["list"] if variable["name"]}


def test_every_variable_has_its_size_and_its_resident_bytes(midden, record):
    recording = record.victim("known_globals")
    assert recording.status == 0
    found = read_globals(midden, recording.path)
    named = by_name(found)
    assert found["looked"] and found["threads"] == 5
    for name, (section, size, resident) in SHARED.items():
        variable = named[name]
        assert (variable["section"], variable["bytes"], variable["resident_bytes"]) == (section, size, resident), name
    assert named["library_zeros"]["object"].endswith("/libknown_globals.so")
    assert named["big_zeros"]["file"].endswith("known_globals.c") and named["big_zeros"]["line"] > 0
    hidden = [v for name, v in named.items() if name.startswith("inside_function")]
    assert [(v["bytes"], v["resident_bytes"]) for v in hidden] == [(192 * KIB, 0)]
    for name, (section, size) in LOCAL.items():
        variable = named[name]
        assert (variable["section"], variable["bytes"], variable["total_bytes"]) == (section, size, 5 * size), name
    sums = [sum(o[figure] for o in found["objects"]) for figure in ("bytes", "resident_bytes", "thread_local_bytes")]
    assert sums == [found[figure] for figure in ("bytes", "resident_bytes", "thread_local_bytes")]
    assert sum(v["bytes"] for v in found["list"] if not v["thread_local"]) == found["bytes"]
    assert recording.stats["globals"]["objects"][0]["bytes"] == found["objects"][0]["bytes"]
    text = subprocess.run([midden, "report", "--globals", recording.path], capture_output=True, text=True, check=True)
    assert "  16.0 MiB    1.00 MiB  .bss          big_zeros (known_globals.c:" in text.stdout


def test_a_table_has_what_the_report_has(midden, record):
    recording = record.victim("known_globals")
    found = read_globals(midden, recording.path)["list"]
    done = subprocess.run([midden, "export", "-f", "csv", "--globals", recording.path], capture_output=True, text=True, check=True)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == len(found)
    for row, variable in zip(rows, found):
        assert (row["name"], row["section"], row["object"]) == tuple(variable[key] for key in ("name", "section", "object"))
        assert int(row["bytes"]) == variable["bytes"] and row["thread_local"] == str(int(variable["thread_local"]))
        assert row["resident_bytes"] == str(variable.get("resident_bytes", ""))
        assert int(row["total_bytes"]) == variable.get("total_bytes", variable["bytes"])
        assert (row["file"], row["line"]) == (variable.get("file", ""), str(variable.get("line", "") or ""))
    wrong = subprocess.run([midden, "export", "-f", "dot", "--globals", recording.path], capture_output=True, text=True)
    assert wrong.returncode == 2 and "--globals" in wrong.stderr


def test_of_a_program_that_was_killed_sizes_are_known(midden, record):
    recording = record.victim("known_globals", "kill")
    assert recording.status == 128 + 9
    found = read_globals(midden, recording.path)
    assert not found["looked"] and "resident_bytes" not in found
    assert by_name(found)["big_zeros"]["bytes"] == 16 * MIB
    assert "resident_bytes" not in by_name(found)["big_zeros"]
    text = subprocess.run([midden, "report", "--globals", recording.path], capture_output=True, text=True, check=True)
    assert "Nobody could look at its pages" in text.stdout


def write_when_it_listens(midden, pid, path):
    deadline = time.monotonic() + 120
    while True:
        done = subprocess.run([midden, "snapshot", "--write", path, str(pid)], capture_output=True, text=True)
        if done.returncode == 0 or time.monotonic() > deadline:
            return done
        time.sleep(0.02)


def test_a_profile_of_a_running_program_knows_its_pages_and_stacks(midden, record, tmp_path):
    running = record.start_victim("known_globals", "wait")
    assert running.process.stdout.readline() == b"ready\n"
    path = tmp_path / "so-far.mdn"
    done = write_when_it_listens(midden, running.process.pid, path)
    assert (done.returncode, done.stderr) == (0, "")
    found = read_globals(midden, path)
    named = by_name(found)
    assert found["looked"] and found["threads"] == 5
    for name, (_, _, resident) in SHARED.items():
        assert named[name]["resident_bytes"] == resident, name
    stacks = [thread["stack_deepest_bytes"] for thread in read_stats(path)["thread_list"]]
    assert len(stacks) == 5 and all(stacks)
    assert running.finish().status == 0


def test_the_largest_are_known_where_the_program_is_not(midden, native, tmp_path):
    house = tmp_path / "house"
    house.mkdir()
    for name in ("known_globals", "libknown_globals.so"):
        shutil.copy(native.victims / name, house)
    profile = tmp_path / "moved.mdn"
    subprocess.run([midden, "record", "-q", "-o", profile, house / "known_globals"], check=True)
    shutil.rmtree(house)
    named = by_name(read_globals(midden, profile))
    for name, (section, size, resident) in SHARED.items():
        variable = named[name]
        assert (variable["section"], variable["bytes"], variable["resident_bytes"]) == (section, size, resident), name


def test_a_merged_profile_has_none_and_filters_do_not_go_with_it(midden, record, tmp_path):
    path = record.victim("known_globals").path
    merged = tmp_path / "merged.mdn"
    subprocess.run([midden, "merge", "-o", merged, path, path], check=True, capture_output=True)
    done = subprocess.run([midden, "report", "--globals", merged], capture_output=True, text=True)
    assert done.returncode == 1 and "no variables are known" in done.stderr
    done = subprocess.run([midden, "report", "--globals", "-i", "main", path], capture_output=True, text=True)
    assert done.returncode == 2 and "--globals" in done.stderr


def test_a_program_of_a_great_many_sections_is_recorded_as_soon_as_any(midden, tmp_path):
    """Each section holds four variables of 16 bytes and 8 bytes that are nobody's. Work that grows with the square of
    their number takes 20 s here."""
    count, each = 60000, 4
    program, profile = tmp_path / "many", tmp_path / "many.mdn"
    source = []
    for i in range(count):
        source.append(f'.section .dataq{i},"aw"')
        for k in range(each):
            source.append(f".type v{i}_{k},@object\n.size v{i}_{k},16\nv{i}_{k}: .zero 16")
        source.append(".zero 8")
    (tmp_path / "many.s").write_text("\n".join(source) + '\n.section .note.GNU-stack,"",%progbits\n')
    (tmp_path / "main.c").write_text("#include <stdlib.h>\nint main(void)\n{\n\tfree(malloc(3));\n\treturn 0;\n}\n")
    subprocess.run(["gcc", "-o", program, tmp_path / "main.c", tmp_path / "many.s"], check=True)
    subprocess.run([midden, "record", "--quiet", "-o", profile, program], check=True, timeout=15)
    mine = [v for v in read_globals(midden, profile)["list"] if v["section"].startswith(".dataq")]
    named = [v["bytes"] for v in mine if v["name"]]
    assert named == [16] * count * each
    assert len(mine) - len(named) == count and sum(v["bytes"] for v in mine) == (16 * each + 8) * count
