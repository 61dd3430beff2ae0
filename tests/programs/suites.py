"""Programs that run to their end: test suites, interpreters, tools. Each takes a Way and returns its result.

SPDX-License-Identifier: Apache-2.0
"""

import hashlib
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from recorded import OUT, Missing, need

HERE = Path(__file__).resolve().parent


# ---- C projects from their Debian sources -----------------------------------------------------------------------


def get_source(package, way):
    """A copy of the package's source, to build in."""
    need("apt-get", "dpkg-source")
    done = subprocess.run([HERE / "source.sh", OUT / "sources", package], capture_output=True, text=True)
    if done.returncode != 0:
        raise Missing(f"the source of {package} cannot be had: {done.stderr.strip().splitlines()[-1:]}")
    copy = way.directory / package
    shutil.copytree(OUT / "sources" / package, copy)
    return copy


def make(directory, *words):
    subprocess.run(["make", "-j2", *words], cwd=directory, check=True, capture_output=True)


def run_jansson(way):
    """Its whole suite, each test a child of ctest."""
    source = get_source("jansson", way)
    build = way.directory / "build"
    configure = ["cmake", "-S", source, "-B", build, "-DJANSSON_BUILD_DOCS=OFF", "-DJANSSON_BUILD_SHARED_LIBS=ON"]
    subprocess.run(configure, check=True, capture_output=True)
    make(build)
    done = way.run(["ctest"], cwd=build)
    tests = re.findall(r"\d+% tests passed, .*", done.stdout)
    return f"status {done.returncode}, {', '.join(tests)}"


def run_zlib(way):
    source = get_source("zlib", way)
    subprocess.run(["./configure"], cwd=source, check=True, capture_output=True)
    make(source)
    done = way.run(["make", "test"], cwd=source)
    return f"status {done.returncode}, {done.stdout.count('test OK')} tests OK, {done.stdout.count('FAILED')} failed"


# ---- CPython ----------------------------------------------------------------------------------------------------


def run_cpython(*modules):
    """A row for modules of CPython's own suite. The outcome of every single test counts."""

    def run(way):
        python = need("/usr/bin/python3")
        if subprocess.run([python, "-c", "import test.libregrtest"], capture_output=True).returncode != 0:
            raise Missing("libpython3.11-testsuite is not installed")
        results = way.directory / "junit.xml"
        done = way.run([python, "-m", "test", f"--junit-xml={results}", "--timeout=900", *modules])
        (way.directory / "output").write_text(done.stdout + done.stderr)
        if not results.exists():
            return f"status {done.returncode}, no results"
        outcomes = {"passed": set(), "skipped": set(), "failed": set()}
        for case in ElementTree.parse(results).iter("testcase"):
            bad = case.find("failure") is not None or case.find("error") is not None
            kind = "failed" if bad else "skipped" if case.find("skipped") is not None else "passed"
            outcomes[kind].add(case.get("name"))
        bad = "".join(f" {name}" for name in sorted(outcomes["failed"]))
        counts = ", ".join(f"{len(names)} {kind}" for kind, names in outcomes.items())
        return f"status {done.returncode}, {counts}{bad}"

    return run


# ---- others -----------------------------------------------------------------------------------------------------

NODE_SCRIPT = """
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
if (isMainThread) {
    let sum = 0, left = 6;
    for (let i = 0; i < 6; i++) {
        const worker = new Worker(__filename, { workerData: i });
        worker.on("message", (value) => { sum += value; });
        worker.on("exit", (code) => { sum += code; if (--left === 0) console.log("sum", sum); });
    }
} else {
    const words = new Map();
    for (let i = 0; i < 30000; i++)
        words.set("w" + (i % 997), JSON.stringify({ i, text: "x".repeat(i % 50), list: [i, i + 1] }));
    let total = workerData;
    for (const [key, value] of words) total += key.length + JSON.parse(value).list[1] % 7;
    parentPort.postMessage(total);
}
"""


def run_node(way):
    node = need("node")
    (way.directory / "workers.js").write_text(NODE_SCRIPT)
    done = way.run([node, "workers.js"])
    return f"status {done.returncode}, {done.stdout.strip()}"


JAVA_SOURCE = """
import java.util.*;
import java.util.stream.*;
public class Hello {
    public static void main(String[] arguments) throws Exception {
        List<Thread> threads = new ArrayList<>();
        long[] sums = new long[4];
        for (int n = 0; n < sums.length; n++) {
            final int me = n;
            threads.add(new Thread(() -> sums[me] = IntStream.range(0, 200000)
                .mapToObj(i -> "text " + i % (me + 7)).mapToLong(String::hashCode).sum()));
        }
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        System.gc();
        System.out.println("Hello, world " + Arrays.stream(sums).sum());
        System.exit(7);
    }
}
"""


def run_java(way):
    java, javac = need("java", "javac")
    (way.directory / "Hello.java").write_text(JAVA_SOURCE)
    subprocess.run([javac, "Hello.java"], cwd=way.directory, check=True)
    done = way.run([java, "-Xmx128m", "Hello"])
    return f"status {done.returncode}, {done.stdout.strip()}"


GIT_NAME = ["-c", "user.name=A U Thor", "-c", "user.email=author@example.com", "-c", "commit.gpgsign=false"]


def run_git(way):
    """gc, fsck and clone of a repository with two hundred commits and some loose ends."""
    git = need("git")
    repository, copy = way.directory / "repository", way.directory / "copy"
    date = "1000000000 +0000"  # so that both runs make the same objects
    steady = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "HOME": str(way.directory), "PATH": "/usr/bin:/bin"}
    subprocess.run([git, "init", "-q", "-b", "main", repository], check=True, env=steady)
    for number in range(200):
        (repository / f"file{number % 17}").write_text("".join(f"{number} {line * 7 % 31}\n" for line in range(number)))
        subprocess.run([git, "-C", repository, "add", "."], check=True, env=steady)
        subprocess.run([git, "-C", repository, *GIT_NAME, "commit", "-q", "-m", f"{number}"], check=True, env=steady)
    subprocess.run([git, "-C", repository, "reset", "-q", "--hard", "HEAD~3"], check=True, env=steady)
    outputs = []
    for command in (
        [git, "-C", repository, "fsck", "--full", "--lost-found"],
        [git, "-C", repository, "gc", "-q", "--prune=now"],
        [git, "clone", "-q", "--no-local", repository, copy],
        [git, "-C", copy, "fsck", "--full", "--strict"],
        [git, "-C", copy, "log", "--stat", "-p"],
    ):
        done = way.run(command, env=steady)
        outputs.append(f"{done.returncode} {done.stdout}")
    digest = hashlib.sha256("".join(outputs).encode()).hexdigest()[:12]
    return f"status {'/'.join(text.split()[0] for text in outputs)}, output {digest}"


def run_stress(way):
    stress = need("stress-ng")
    results = []
    for stressor, words in (
        ("malloc", ["--malloc", "2", "--malloc-ops", "20000", "--malloc-bytes", "16M", "--malloc-pthreads", "3"]),
        ("bigheap", ["--bigheap", "1", "--bigheap-ops", "300"]),
        ("tree", ["--tree", "1", "--tree-ops", "2", "--tree-size", "20000"]),
    ):
        done = way.run([stress, "--verify", "--timeout", "300", "--temp-path", way.directory, *words])
        good = "successful run completed" in done.stdout + done.stderr
        results.append(f"{stressor} status {done.returncode}{' completed' if good else ''}")
    return ", ".join(results)
