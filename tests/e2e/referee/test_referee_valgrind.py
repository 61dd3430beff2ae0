"""A referee that we did not write: valgrind's memcheck counts the same heap.

Memcheck's "total heap usage" uses our definitions: a realloc of a block is one allocation and one free, and adds
its whole new size to the bytes allocated (mc_malloc_wrappers.c); realloc(p, 0) is a free; sizes are as requested.

The environment is made equal: memcheck adds three variables, and a program that copies its environment
allocates for them; the run under midden, which shows the program none of its own, gets variables of the same
lengths. With that nothing is left to explain, and the figures must be equal.

SPDX-License-Identifier: Apache-2.0
"""

import ctypes
import os
import re
import subprocess
from dataclasses import dataclass

import pytest

from recording import check_consistent
from same import need

ADDR_NO_RANDOMIZE = 0x0040000  # <sys/personality.h>

USAGE = re.compile(r"total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes allocated")

C_SOURCE = 'int puts(const char *); int main(void) { puts("compiled"); return 0; }\n'


@dataclass
class Heap:
    allocations: int
    frees: int
    allocated_bytes: int


def environment(tmp_path):
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_PAGER": "cat",
        "TMPDIR": str(tmp_path),
    }


def valgrind_command():
    """The program itself: Debian's /usr/bin/valgrind is a script that sets variables of its own."""
    found = need("valgrind")
    # Without these two libc and libstdc++ would free their own blocks at the end, as they do in no other run.
    flags = ["--run-libc-freeres=no", "--run-cxx-freeres=no"]
    return [
        found + ".bin" if os.path.exists(found + ".bin") else found,
        "--tool=memcheck",
        "--leak-check=no",
        "--undef-value-errors=no",
        "--trace-children=no",
        "--child-silent-after-fork=yes",
        *flags,
    ]


def heap_by_valgrind(command, env, **popen):
    done = subprocess.run([*valgrind_command(), *command], env=env, capture_output=True, timeout=300, **popen)
    assert done.returncode == 0, done.stderr
    figures = USAGE.findall(done.stderr.decode(errors="replace"))[-1]
    return Heap(*(int(text.replace(",", "")) for text in figures))


def added_by_valgrind(env):
    """Variables that stand for those which memcheck adds: the same ones, but for LD_PRELOAD's name."""
    done = subprocess.run(
        [*valgrind_command(), "-q", need("env"), "-0"], env=env, capture_output=True, text=True
    )
    seen = dict(entry.split("=", 1) for entry in done.stdout.split("\0") if entry)
    added = {name: value for name, value in seen.items() if name not in env}
    assert "LD_PRELOAD" in added, "memcheck no longer preloads a library: look again at what it does"
    preload = added.pop("LD_PRELOAD")
    return {**added, "LD_PRELOAX": "x" * len(preload)}


def heap_by_midden(record, command, env, **popen):
    recording = record.run(command, env=env, inherit=False, **popen)
    assert recording.status == 0, recording.stderr
    stats = recording.stats
    check_consistent(stats)
    assert (stats["lost_events"], stats["reentrant_calls"], stats["foreign_frees"]) == (0, 0, 0)
    return Heap(stats["allocations"], stats["frees"], stats["allocated_bytes"])


def fix_addresses():
    """In the child, before it runs: no random layout. Some programs hash addresses."""
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)


def compare(record, command, env):
    """(our count, theirs) of a command, run three times: the first run leaves the files that the others find."""
    command = [str(word) for word in command]
    subprocess.run(command, env=env, capture_output=True, check=True, cwd=record.directory)
    theirs = heap_by_valgrind(command, env, cwd=record.directory, preexec_fn=fix_addresses)
    env = {**env, **added_by_valgrind(env)}
    ours = heap_by_midden(record, command, env, cwd=record.directory, preexec_fn=fix_addresses)
    assert ours.allocations > 0
    return ours, theirs


def check_agreement(record, command, env):
    ours, theirs = compare(record, command, env)
    assert ours == theirs


def test_sqlite3_building_a_table(record, tmp_path):
    script = """
        create table t(id integer primary key, name text);
        with recursive c(i) as (select 1 union all select i + 1 from c where i < 3000)
            insert into t select i, 'name ' || (i * 7919 % 3000) from c;
        create index by_name on t(name);
        select count(*), max(name) from t;
    """
    check_agreement(record, [need("sqlite3"), ":memory:", script], environment(tmp_path))


def test_git_log(record, tmp_path):
    git = need("git")
    env = environment(tmp_path)
    repository = tmp_path / "repository"
    dates = {"GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}

    def run(*words):
        subprocess.run(
            [git, "-c", "user.name=A U Thor", "-c", "user.email=author@example.com", *words],
            check=True,
            env={**env, **dates},
            capture_output=True,
            cwd=tmp_path,
        )

    run("init", "-q", "repository")
    for number in range(10):
        (repository / "file").write_text("line\n" * (number + 1))
        run("-C", "repository", "add", "file")
        run("-C", "repository", "commit", "-q", "-m", f"change {number}")
    check_agreement(record, [git, "-C", repository, "log", "-p"], env)


def test_xz(record, tmp_path):
    (tmp_path / "text").write_text("".join(f"{number * 7919 % 10007}\n" for number in range(20000)))
    check_agreement(record, [need("xz"), "-1", "-T1", "-k", "-f", tmp_path / "text"], environment(tmp_path))


def test_perl(record, tmp_path):
    script = """
        my %h; $h{$_ % 100} .= "x$_" for 1 .. 5000;
        print join(",", map { length $h{$_} } sort keys %h), "\\n";
    """
    env = {**environment(tmp_path), "PERL_HASH_SEED": "0"}
    check_agreement(record, [need("perl"), "-e", script], env)


def test_gcc_dash_c(record, tmp_path):
    (tmp_path / "source.c").write_text(C_SOURCE)
    check_agreement(record, [need("gcc"), "-c", "source.c", "-o", "source.o"], environment(tmp_path))


def test_the_compiler_proper_behind_gcc(record, tmp_path):
    gcc = need("gcc")
    compiler = subprocess.run([gcc, "-print-prog-name=cc1"], capture_output=True, text=True).stdout.strip()
    (tmp_path / "source.c").write_text(C_SOURCE)
    command = [compiler, "-quiet", "-O1", "source.c", "-o", "source.s"]
    ours, theirs = compare(record, command, environment(tmp_path))
    # The compiler hashes addresses, which differ between the two tools, if not from run to run: a table or a
    # chunk of an obstack (2,064 bytes) more or less.
    assert abs(ours.allocations - theirs.allocations) <= 2
    assert abs(ours.frees - theirs.frees) <= 2
    assert abs(ours.allocated_bytes - theirs.allocated_bytes) <= 65536
