"""Real programs do under midden what they do without it.

SPDX-License-Identifier: Apache-2.0
"""

import filecmp
import subprocess
import sys

import pytest

from recording import check_consistent
from same import check_same, need

FOLLOWING = pytest.mark.parametrize("options", ((), ("--follow",)), ids=("alone", "followed"))

C_SOURCE = """
#include <stdio.h>
#include <string.h>
struct node { struct node *left, *right; int key; };
static int depth(const struct node *n)
{
    if (!n)
        return 0;
    int left = depth(n->left), right = depth(n->right);
    return 1 + (left > right ? left : right);
}
int main(void)
{
    struct node leaf = {0}, root = {&leaf, 0, 1};
    printf("%d %zu\\n", depth(&root), strlen("midden"));
    return 0;
}
"""

CXX_SOURCE = """
#include <iostream>
#include <map>
#include <string>
#include <vector>
int main()
{
    std::map<std::string, std::vector<int>> table;
    table["a"].push_back(1);
    for (auto &[key, values] : table)
        std::cout << key << values.size() << '\\n';
}
"""

PYTHON_SOURCE = """
import collections, json, os, re, subprocess, threading
table = collections.Counter(re.findall(r"[a-z]+", "the quick brown fox " * 500))
results = []
def work(n):
    results.append((n, sum(len(json.dumps({"n": i, "text": "x" * i})) for i in range(300))))
threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
[t.start() for t in threads]
[t.join() for t in threads]
print(sorted(results), sorted(table.items()))
print(subprocess.run(["/bin/echo", "from a child"], capture_output=True, text=True).stdout)
pid = os.fork()
if pid == 0:
    os._exit(len([bytes(i) for i in range(1000)]) % 256)
print(os.waitpid(pid, 0)[1])
raise SystemExit(5)
"""


@FOLLOWING
def test_sqlite3_builds_and_queries_the_same_tables(record, options):
    sqlite = need("sqlite3")
    script = """
        create table t(id integer primary key, name text, value real);
        with recursive c(i) as (select 1 union all select i + 1 from c where i < 5000)
            insert into t select i, 'name ' || (i * 7919 % 5000), i / 3.0 from c;
        create index by_name on t(name);
        select count(*), sum(value), max(name) from t where name like '%9%';
        select name, group_concat(id) from t group by length(name) order by 1;
        select * from missing;
    """
    recording = check_same(record, [sqlite, ":memory:", script], options)
    assert recording.status == 1
    if not options:
        assert recording.stats["allocations"] > 100
        check_consistent(recording.stats)


def make_repository(directory):
    git = need("git")
    subprocess.run([git, "init", "-q", directory], check=True)
    identity = [
        "-c",
        "user.name=A U Thor",
        "-c",
        "user.email=author@example.com",
        "-c",
        "commit.gpgsign=false",
    ]
    for number in range(30):
        (directory / f"file{number % 7}").write_text("line\n" * number)
        subprocess.run([git, "-C", directory, "add", "."], check=True)
        subprocess.run(
            [git, "-C", directory, *identity, "commit", "-q", "-m", f"change {number}"], check=True
        )
    return git


@FOLLOWING
def test_git_shows_the_same_history(record, tmp_path, options):
    repository = tmp_path / "repository"
    git = make_repository(repository)
    for arguments in (["log", "--stat", "-p"], ["fsck", "--full"], ["blame", "file3"], ["no-such-command"]):
        check_same(record, [git, "-C", repository, *arguments], options)


@FOLLOWING
def test_git_clones_and_packs_with_its_many_children(record, tmp_path, options):
    repository = tmp_path / "repository"
    git = make_repository(repository)
    recording = record.run(
        [git, "clone", "-q", "--no-local", repository, tmp_path / "copy"], options=list(options)
    )
    assert (recording.status, recording.stdout) == (0, b"")
    heads = [
        subprocess.run([git, "-C", where, "rev-parse", "HEAD"], capture_output=True).stdout
        for where in (repository, tmp_path / "copy")
    ]
    assert heads[0] == heads[1]


@FOLLOWING
def test_python_with_threads_forks_and_children_prints_the_same(record, options):
    recording = check_same(record, ["/usr/bin/python3", "-c", PYTHON_SOURCE], options)
    assert recording.status == 5


@FOLLOWING
@pytest.mark.parametrize("compiler, source, suffix", (("gcc", C_SOURCE, "c"), ("clang++", CXX_SOURCE, "cpp")))
def test_a_compiler_produces_the_same_object(record, tmp_path, compiler, source, suffix, options):
    path = need(compiler)
    (tmp_path / f"source.{suffix}").write_text(source)
    command = [
        path,
        "-O2",
        "-std=c++17" if suffix == "cpp" else "-std=c11",
        "-c",
        f"source.{suffix}",
        "-o",
        "object.o",
    ]
    check_same(record, command, options, cwd=tmp_path)
    (tmp_path / "object.o").rename(tmp_path / "recorded.o")
    subprocess.run(command, check=True, cwd=tmp_path)
    assert filecmp.cmp(tmp_path / "object.o", tmp_path / "recorded.o", shallow=False)


def test_a_compiler_complains_the_same(record, tmp_path):
    gcc = need("gcc")
    (tmp_path / "bad.c").write_text("int main(void) { return undeclared; }\n")
    recording = check_same(record, [gcc, "-c", "bad.c"], cwd=tmp_path)
    assert recording.status == 1


@pytest.mark.parametrize(
    "command",
    (
        ["xz", "-T1", "-6", "-c"],
        ["gzip", "-9", "-c"],
        ["sort", "-n"],
        ["perl", "-ne", "print scalar reverse, $_ x 2"],
        ["awk", "{ total += $1 } END { print total }"],
        ["sed", "s/1/one/g"],
        ["tar", "--version"],
        ["bash", "-c", "x=$(cat); echo ${#x}"],
    ),
    ids=lambda command: command[0],
)
def test_a_filter_gives_the_same_output(record, command):
    text = "".join(f"{number * 7919 % 10007} line\n" for number in range(20000)).encode()
    check_same(record, [need(command[0]), *command[1:]], input=text)


def test_a_program_in_its_own_user_namespace_starts(record):
    # unshare(CLONE_NEWUSER) fails in a process with a second thread: a helper thread would show here.
    unshare = need("unshare")
    if subprocess.run([unshare, "--user", "true"], capture_output=True).returncode != 0:
        pytest.skip("user namespaces are not allowed here")
    check_same(record, [unshare, "--user", "/bin/sh", "-c", "echo inside"])


def test_a_program_with_little_address_space_still_runs(record):
    script = "ulimit -v 400000; exec /usr/bin/python3 -c 'print(sum(range(100)))'"
    assert record.run(["/bin/sh", "-c", script], options=["--follow"]).stdout == b"4950\n"


def test_the_interpreter_of_these_tests_runs_the_same(record):
    check_same(record, [sys.executable, "-c", "import sys; print(sys.version)"])
