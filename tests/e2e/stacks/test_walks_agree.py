"""The memo of the last walk gives what a full walk gives: a build of the library does both for every event.

MIDDEN_TEST_LONG=1 runs more of everything, for hundreds of millions of walks.

SPDX-License-Identifier: Apache-2.0
"""

import fcntl
import os
import shutil
import subprocess

import pytest

import machine as machines
from processes import wait_until
from recording import Recorder
from same import free_port, need

COMPLAINT = "a walk differs"
LONG = os.environ.get("MIDDEN_TEST_LONG") == "1"


def times(few, many):
    return many if LONG else few


TIMEOUT_S = times(300, 3600)


def build_checking(out, *options):
    """libmidden.so that walks every stack twice."""
    out.mkdir(parents=True, exist_ok=True)
    configure = ["cmake", "-S", machines.ROOT, "-B", out, "-DMIDDEN_CAPTURE_ONLY=ON", "-DMIDDEN_CHECK_WALKS=ON"]
    with open(out / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for step in ([*configure, "-DMIDDEN_TESTS=OFF", *options], ["cmake", "--build", out]):
            done = subprocess.run(step, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
    return out / "libmidden.so"


@pytest.fixture(scope="session")
def walk_counts():
    """Of the tests so far."""
    return []


class Checked:
    """Runs programs under such a library, and expects no complaint and at least so many walks."""

    def __init__(self, directory, machine, counts, capsys):
        self.record = Recorder(directory, machine)
        self.counts = counts
        self.capsys = capsys

    def check(self, recording, least):
        assert COMPLAINT not in recording.stderr, f"{recording.stderr.count(COMPLAINT)} walks differ"
        assert recording.path.exists(), recording.stderr
        walks = recording.stats["allocations"]
        assert walks >= least
        self.counts.append(walks)
        with self.capsys.disabled():
            print(f" {walks} walks, {sum(self.counts)} in all", end=" ")
        return recording

    def run(self, command, least, **options):
        recording = self.record.run(command, options=["--no-symbols"], timeout=TIMEOUT_S, **options)
        return self.check(recording, least)

    def run_set(self, name, *arguments, least=1):
        """A program of the torture set, which need not look at its stacks itself."""
        return self.run(self.record.machine.command(name, *arguments), least, env={"ORACLE_UNWINDER": "none"})


@pytest.fixture(scope="session")
def checking_machine(torture_machine):
    return machines.Machine("checking", torture_machine.victims, build_checking(machines.BUILD / "check"))


@pytest.fixture
def checked(checking_machine, walk_counts, tmp_path, capsys):
    return Checked(tmp_path, checking_machine, walk_counts, capsys)


@pytest.fixture
def checked_other(other_machine, walk_counts, tmp_path, capsys):
    compiler = f"{machines.OTHER_ARCH}-linux-gnu-gcc"
    library = build_checking(
        machines.BUILD / f"check-{machines.OTHER_ARCH}",
        "-DCMAKE_SYSTEM_NAME=Linux",
        f"-DCMAKE_SYSTEM_PROCESSOR={machines.OTHER_ARCH}",
        f"-DCMAKE_C_COMPILER={compiler}",
    )
    machine = machines.Machine("checking", other_machine.victims, library, other_machine.prefix)
    return Checked(tmp_path, machine, walk_counts, capsys)


# ---- the torture set --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("features", ("-", "s", "a", "c", "sac"))
def test_on_shapes_of_all_builds(checked, torture, features):
    checked.run_set("shapes_pie", times(600, 60000), 1, features, *torture.flavours(), least=30000)


def test_on_shapes_in_threads(checked, torture):
    checked.run_set("shapes_pie", times(150, 15000), 4, "sac", *torture.flavours(), least=30000)


@pytest.mark.parametrize(
    "command",
    (
        ("throws.gcc-O2",),
        ("throws.clang-O1",),
        ("contexts.gcc-O0",),
        ("contexts.gcc-O2",),
        ("slides.gcc-O0", times(100000, 10000000)),
        ("slides.gcc-O2", times(100000, 10000000)),
        ("slides.clang-O2", times(100000, 10000000)),
        ("signals.gcc-O2", "faults"),
        ("signals.gcc-O0", "nested"),
        ("signals.clang-O2", "timer", 1000),
        ("thread_ends.gcc-O2",),
        ("deep.gcc-O2", *range(500, 516), 2000, 100, 1),
        ("untold.gcc-O2", "told", "fp", "jit", "told_fp", "asm_bare", "told", "asm_wild", "fp"),
        ("untold.gcc-O0", "fp", "jit", "astray_heap", "told_fp", "astray_own", "jit_large", "astray_number", "told"),
    ),
    ids=lambda command: command[0],
)
def test_on_the_torture_set(checked, torture, command):
    torture.need(command[0])
    checked.run_set(*command)


def test_on_libraries_that_come_and_go(checked, torture):
    checked.run_set("swaps", *(torture.path(f"swap_{name}.so") for name in ("one", "two", "three")))
    checked.run_set("swaps", *(torture.path(f"headless_swap_{name}.so") for name in ("one", "two")))
    checked.run_set("early", torture.path("early_plugin.so"))


def test_on_a_library_that_is_built_anew(checked, torture, tmp_path):
    libraries = (torture.path(f"rebuilt_{name}.so") for name in ("one", "two", "three"))
    checked.run_set("rebuilt", tmp_path / "now.so", *libraries, least=90)


@pytest.mark.parametrize("build", ("gcc-O0", "gcc-O2"))
def test_on_a_stack_above_that_of_the_thread(checked, torture, build):
    checked.run_set(f"above.{build}", least=10000)


def test_on_libraries_without_a_table_of_their_unwind_information(checked, torture):
    libraries = [torture.path(f"{kind}_{level}.so") for kind in ("headless", "untabled") for level in ("O0", "O2")]
    checked.run_set("shapes_pie", times(200, 20000), 1, "-", *libraries, least=10000)


def test_on_the_other_machine(checked_other, torture_other):
    checked_other.run_set("shapes_pie", times(40, 4000), 1, "-", *torture_other.flavours(), least=2000)
    checked_other.run_set("slides.gcc-O2", times(5000, 500000), least=5000)
    checked_other.run_set("throws.gcc-O2", least=1000)


@pytest.mark.parametrize("how", ("", "bare"), ids=("fork", "_Fork"))
def test_on_children_that_a_handler_forks_inside_a_hook(checked, native, how):
    allocator = {"LD_PRELOAD": str(native.victim("own_allocator.so"))}  # it can bear that
    checked.run(native.command("fork_in_handler", "30", *how.split()), 30, env=allocator)


# ---- real programs ----------------------------------------------------------------------------------------------

SQL = """
create table t(id integer primary key, name text, value real);
with recursive c(i) as (select 1 union all select i + 1 from c where i < {rows})
    insert into t select i, 'name ' || (i * 7919 % {rows}), i / 3.0 from c;
create index by_name on t(name);
select count(*), sum(value), max(name) from t where name like '%9%';
select name, group_concat(id) from t group by length(name) order by 1;
select a.id, json_object('n', b.name, 'v', b.value) from t a join t b on a.id = b.id where a.id % 7 = 0;
"""

PYTHON = """
import collections, json, re, threading
def work(n):
    for i in range({times}):
        data = {{str(k): [k, str(k) * (k % 7), {{"x": k}}] for k in range(400)}}
        assert json.loads(json.dumps(data)) == data
        collections.Counter(re.findall(r"[0-9]+", json.dumps(data)))
        sorted(data, key=lambda key: (len(key), key))
        for k in range(60):  # code objects that end, and others in their place
            exec(compile("\\n" * (k % 5) + f"def f(n): return [str(n) * {{k}}]\\nf({{k}}); [f(i) for i in (1, 2)]", "<text>", "exec"))
        list(down(40))
def down(n):
    yield str(n) * 3
    if n:
        yield from down(n - 1)
        [str(n + i) for i in range(3)]
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
work(9)
"""

CXX = """
#include <functional>
#include <map>
#include <string>
#include <vector>
template <int N> struct chain { static int get(int n) { return chain<N - 1>::get(n + N) + N; } };
template <> struct chain<0> { static int get(int n) { return n; } };
int main()
{
    std::map<std::string, std::vector<std::function<int(int)>>> table;
    table["a"].push_back([](int n) { return chain<100>::get(n); });
    return table["a"].front()(1);
}
"""

PERL = """
my %words;
for my $n (1 .. $ARGV[0]) {
    my @list = map { +{ "word" => $_ * $n, "text" => "x" x ($_ % 50) } } 1 .. 50;
    $words{$_->{text}} .= join ",", sort map { $_->{word} } @list for @list[0 .. 5];
    delete $words{(keys %words)[0]} if keys %words > 20;
    eval { die { code => $n } } if $n % 3 == 0;
}
"""


def python3():
    return shutil.which("python3", path="/usr/bin") or need("python3")


def test_on_sqlite3(checked):
    checked.run([need("sqlite3"), ":memory:", SQL.format(rows=times(40000, 2000000))], 50000)


def test_on_python3(checked):
    # Without its own allocator for small objects every object is a malloc.
    script = PYTHON.format(times=times(4, 2000))
    checked.run([python3(), "-c", script], 100000, env={"PYTHONMALLOC": "malloc"})


def test_on_small_objects_of_python3(checked):
    script = PYTHON.format(times=times(4, 2000))
    for mode in ("mixed", "only"):
        options = ["--no-symbols", "--pymalloc", "exact", "--python", mode]
        checked.check(checked.record.run([python3(), "-c", script], options=options, timeout=TIMEOUT_S), 100000)


def test_on_perl(checked):
    checked.run([need("perl"), "-e", PERL, times(600, 300000)], 50000)


@pytest.mark.parametrize("compiler", ("gcc", "clang"))
def test_on_a_compiler(checked, tmp_path, compiler):
    """The compiler proper, not the driver that starts it."""
    (tmp_path / "source.cpp").write_text(CXX)
    if compiler == "gcc":
        driver = need("g++")
        proper = subprocess.run([driver, "-print-prog-name=cc1plus"], capture_output=True, text=True)
        subprocess.run([driver, "-E", "source.cpp", "-o", "source.ii"], check=True, cwd=tmp_path)
        command = [proper.stdout.strip(), "-quiet", "-O1", "-fpreprocessed", "source.ii", "-o", "out.s"]
    else:
        driver = need("clang++")
        command = [driver, "-fintegrated-cc1", "-O0", "-std=c++17", "-c", "source.cpp", "-o", "out.o"]
    for _ in range(times(1, 20)):
        recording = checked.run(command, 20000, cwd=tmp_path)
        assert recording.status == 0, recording.stderr


def test_on_git(checked, tmp_path):
    git = need("git")
    repository = tmp_path / "repository"
    identity = ["-c", "user.name=A U Thor", "-c", "user.email=author@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run([git, "init", "-q", repository], check=True)
    for number in range(20):
        (repository / f"file{number % 7}").write_text("".join(f"{number} {line}\n" for line in range(number * 20)))
        subprocess.run([git, "-C", repository, "add", "."], check=True)
        subprocess.run([git, "-C", repository, *identity, "commit", "-q", "-m", f"change {number}"], check=True)
    for _ in range(times(1, 50)):
        checked.run([git, "--no-pager", "-C", repository, "log", "--stat", "-p", "-M"], 2000)
        checked.run([git, "--no-pager", "-C", repository, "blame", "file3"], 200)


def test_on_redis(checked, tmp_path):
    server, benchmark, client = need("redis-server", "redis-benchmark", "redis-cli")
    port = free_port()
    command = [server, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", tmp_path]
    running = checked.record.start(command, options=["--no-symbols"])
    try:
        asked = [client, "-p", str(port), "ping"]
        wait_until(lambda: subprocess.run(asked, capture_output=True).stdout == b"PONG\n", "redis to answer")
        load = [benchmark, "-p", str(port), "-q", "-c", "10", "-n", str(times(4000, 1000000))]
        subprocess.run([*load, "-t", "set,get,lpush,lrange_100,hset,zadd"], capture_output=True, check=True)
        subprocess.run([client, "-p", str(port), "shutdown", "nosave"], capture_output=True)
    finally:
        running.process.terminate()
        recording = running.finish()
    checked.check(recording, 20000)
