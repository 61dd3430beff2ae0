#!/usr/bin/env python3
"""Every walk done twice on real programs: quickly, and from end to end without what is remembered of earlier ones.

usage: tools/check_walks.py [--minutes N] [--build DIR] [PROGRAM ...]

Builds a libmidden.so that compares the two (and each 64th walk with one by the unwind tables themselves), runs the
programs that are installed by turns until the time is over, and prints how many walks there were. Exit status 1 if
any differed.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPLAINT = "a walk differs"
TABLES_EVERY = 64

SQL = """
create table t(id integer primary key, name text, value real);
with recursive c(i) as (select 1 union all select i + 1 from c where i < 400000)
    insert into t select i, 'name ' || (i * 7919 % 400000), i / 3.0 from c;
create index by_name on t(name);
select count(*), sum(value), max(name) from t where name like '%9%';
select length(name), count(*), max(value) from t group by length(name) order by 1;
select a.id, json_object('n', b.name, 'v', b.value) from t a join t b on a.id = b.id where a.id % 7 = 0;
"""

PYTHON = """
import collections, json, re, threading
def work(n):
    for i in range(n):
        data = {str(k): [k, str(k) * (k % 7), {"x": k}] for k in range(2000)}
        assert json.loads(json.dumps(data)) == data
        collections.Counter(re.findall(r"[0-9]+", json.dumps(data)))
        sorted(data, key=lambda key: (len(key), key))
threads = [threading.Thread(target=work, args=(20,)) for n in range(3)]
[thread.start() for thread in threads]
work(40)
[thread.join() for thread in threads]
"""

PERL = """
my %words;
for my $n (1 .. 12000) {
    my @list = map { +{ "word" => $_ * $n, "text" => "x" x ($_ % 50) } } 1 .. 50;
    $words{$_->{text}} .= join ",", sort map { $_->{word} } @list for @list[0 .. 5];
    delete $words{(keys %words)[0]} if keys %words > 20;
    eval { die { code => $n } } if $n % 3 == 0;
}
"""


def ask(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def find_cc1plus():
    found = shutil.which("g++") and ask("g++", "-print-prog-name=cc1plus")
    return found if found and os.path.isabs(found) else None


def find_programs():
    """{name: (command, options of record, environment)} of those that are here."""
    source = ROOT / "bench" / "compiled.cpp"
    cc1plus = find_cc1plus()
    multiarch = cc1plus and ask("g++", "-print-multiarch")
    includes = ["-imultiarch", multiarch] if multiarch else []
    clang = ["-fintegrated-cc1", "-O2", "-DSIZE=4", "-c", source, "-o", os.devnull]
    gcc = ["-quiet", "-O2", "-D_GNU_SOURCE", "-DSIZE=4", *includes, source, "-o", os.devnull]
    every_object = {"PYTHONMALLOC": "malloc"}  # without its own allocator for small ones
    programs = {
        "cc1plus": ([cc1plus, *gcc], [], {}),
        "clang++": (["clang++", *clang], [], {}),
        # Stacks of native frames, and those with Python's own, which are found in another way.
        "python3": (["/usr/bin/python3", "-c", PYTHON], ["--python", "off"], every_object),
        "python3 frames": (["/usr/bin/python3", "-c", PYTHON], ["--pymalloc", "exact"], {}),
        "sqlite3": (["sqlite3", ":memory:", SQL], [], {}),
        "perl": (["perl", "-e", PERL], [], {}),
        "git": (["git", "--no-pager", "-C", ROOT, "log", "--stat", "-p", "-M", "-n", "300"], [], {}),
    }
    return {name: program for name, program in programs.items() if program[0][0] and shutil.which(program[0][0])}


def build_checking(out):
    configure = ["cmake", "-S", ROOT, "-B", out, "-DMIDDEN_CAPTURE_ONLY=ON", "-DMIDDEN_TESTS=OFF"]
    for step in ([*configure, f"-DMIDDEN_CHECK_WALKS={TABLES_EVERY}"], ["cmake", "--build", out]):
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"check_walks.py: {step[0]} failed:\n{done.stdout}{done.stderr}")
    return out / "libmidden.so"


def run(midden, library, program, profile):
    """(walks, differences) of one recording."""
    command, options, environment = program
    profile.unlink(missing_ok=True)  # so that one that was not written is not taken for the last one
    record = [midden, "record", "-q", "--no-symbols", "--library", library, "-o", profile, *options, "--"]
    done = subprocess.run(
        [*record, *command],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"check_walks.py: {command[0]} ended with status {done.returncode}: {done.stderr[-500:]}")
    stats = json.loads(ask(midden, "stats", "--json", profile))
    return stats["allocations"], done.stderr.count(COMPLAINT)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    arguments = parser.parse_args()
    programs = find_programs()
    chosen = arguments.programs or list(programs)
    for name in chosen:
        if name not in programs:
            parser.error(f"{name} is not here; there is {', '.join(programs)}")
    library = build_checking(arguments.build / "check-walks")
    walks = dict.fromkeys(chosen, 0)
    differences = 0
    end = time.monotonic() + arguments.minutes * 60
    with tempfile.TemporaryDirectory() as directory:
        while time.monotonic() < end:
            for name in chosen:
                made, wrong = run(arguments.build / "midden", library, programs[name], Path(directory) / "walks.mdn")
                walks[name] += made
                differences += wrong
                print(f"{name}: {made:,} walks, {wrong} differences; {sum(walks.values()):,} in all", flush=True)
    print("\n" + ", ".join(f"{name} {count:,}" for name, count in walks.items()))
    print(f"{sum(walks.values()):,} walks, {differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
