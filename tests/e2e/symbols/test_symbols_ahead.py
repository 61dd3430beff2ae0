"""Debug information is read while the program still runs: the names are those of a look-up at the end.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from processes import find_collector, wait_until

# Does what it is told line by line: the name of a library is loaded, called and closed.
PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void *kept[100];
static void *in_program(size_t bytes) { return malloc(bytes); }
int main(void)
{
	char line[4096];
	int count = 0;
	kept[count++] = in_program(1000);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\\n")] = 0;
		void *library = dlopen(line, RTLD_NOW);
		void *(*work)(size_t) = (void *(*)(size_t))dlsym(library, "work");
		kept[count++] = work(2000);
		dlclose(library);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
"""

# Two of them, and the functions of one are where those of the other were.
LIBRARY = """
#include <stdlib.h>
static inline __attribute__((always_inline)) void *inlined_in_%s(size_t n) { return malloc(n); }
__attribute__((noinline)) static void *in_%s(size_t n) { void *p = inlined_in_%s(n); __asm__ volatile("" ::: "memory"); return p; }
void *work(size_t n) { void *p = in_%s(n + %d); __asm__ volatile("" ::: "memory"); return p; }
"""


@pytest.fixture
def built(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("no compiler")
    (tmp_path / "program.c").write_text(PROGRAM)
    names = {"one": 1, "two": 2, "other": 3}
    for name, number in names.items():
        (tmp_path / f"{name}.c").write_text(LIBRARY % (name, name, name, name, number))
        command = ["cc", "-g", "-O2", "-shared", "-fPIC", "-Wl,--build-id=sha1", f"{name}.c", "-o", f"{name}.so"]
        subprocess.run(command, cwd=tmp_path, check=True)
    command = ["cc", "-g", "-O2", "-Wl,--build-id=sha1", "program.c", "-o", "program", "-ldl"]
    subprocess.run(command, cwd=tmp_path, check=True)
    return tmp_path


class Run:
    """A program under `midden record` that waits for its orders."""

    def __init__(self, midden, directory, *options, env=None):
        self.path = directory / "run.mdn"
        self.directory = directory
        command = [midden, "record", "-q", "-o", self.path, *options, directory / "program"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}
        )
        self.collector = wait_until(lambda: find_collector(self.process.pid), "a collector")

    def load(self, name):
        self.process.stdin.write(f"{self.directory / name}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def has_open(self, path):
        """Whether the collector has a file mapped: it does so for its names alone."""
        return str(path) in Path(f"/proc/{self.collector}/maps").read_text()

    def wait_for(self, name):
        wait_until(lambda: self.has_open(self.directory / name), f"{name} to be read ahead", timeout=30)

    def threads(self):
        tasks = Path(f"/proc/{self.collector}/task")
        return {(task / "comm").read_text().strip() for task in tasks.iterdir()}

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0
        return self.path


def show(midden, path):
    """All that a report has: function, file and line of each frame."""
    command = [midden, "report", "--allocated", "--threshold", "0", "--all-frames", "--json", path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    nodes = json.loads(done.stdout)["nodes"]
    return "\n".join(f"{n['depth']} {n['function']} {n['file']}:{n['line']} {n['module']}" for n in nodes)


def look_up_anew(midden, path):
    anew = path.with_name("anew.mdn")
    subprocess.run([midden, "resolve", "--force", "-o", anew, path], check=True, stdout=subprocess.DEVNULL)
    return show(midden, anew)


def test_names_are_those_that_are_found_at_the_end(midden, built):
    """Libraries come and go, and come where others were."""
    run = Run(midden, built)
    for name in ("one.so", "two.so", "one.so", "two.so"):
        run.load(name)
        run.wait_for(name)
    run.load("other.so")  # which nobody reads before the end
    text = show(midden, run.end())
    for name in ("one", "two", "other"):
        assert f"inlined_in_{name}" in text and f"{name}.c:3" in text
    assert "in_program" in text
    assert text == look_up_anew(midden, run.path)


def test_a_program_that_is_replaced_while_it_runs_keeps_its_names(midden, built):
    run = Run(midden, built)
    run.load("one.so")
    run.wait_for("program")
    run.wait_for("one.so")
    for name in ("program", "one.so"):
        shutil.copy(built / "other.so", built / "new")
        os.rename(built / "new", built / name)
    text = show(midden, run.end())
    assert "inlined_in_one" in text and "one.c:3" in text
    assert "in_program" in text and "program.c:7" in text
    assert "in_other" not in text


def test_a_library_that_is_written_over_has_no_names_of_another(midden, built):
    run = Run(midden, built)
    run.load("one.so")
    run.wait_for("one.so")
    # In place, as cp does; the program itself has closed it.
    (built / "one.so").write_bytes((built / "other.so").read_bytes())
    text = show(midden, run.end())
    assert "in_other" not in text and "other.c" not in text
    assert "in_program" in text and "program.c:7" in text


def test_a_file_that_is_gone_has_its_names(midden, built):
    run = Run(midden, built)
    run.load("one.so")
    run.wait_for("one.so")
    (built / "one.so").unlink()
    text = show(midden, run.end())
    assert "inlined_in_one" in text and "one.c:3" in text


def test_nothing_is_read_ahead_where_no_names_are_wanted(midden, built):
    run = Run(midden, built)
    run.load("one.so")
    assert "midden-ahead" in run.threads()
    run.end()
    run = Run(midden, built, "--no-symbols")
    run.load("one.so")
    assert run.threads() == {"midden-collect"}
    run.end()


@pytest.fixture
def server():
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *arguments):
            pass

    http = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{http.server_port}", asked
    http.shutdown()


def test_a_server_is_not_asked_before_the_end(midden, built, server, tmp_path):
    address, asked = server
    subprocess.run(["strip", built / "two.so"], check=True)
    env = {"DEBUGINFOD_URLS": address, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
    run = Run(midden, built, env=env)
    run.load("two.so")
    run.load("one.so")
    run.wait_for("one.so")  # which comes after
    assert not asked
    text = show(midden, run.end())
    if not asked:
        pytest.skip("libdebuginfod is missing")
    assert "inlined_in_one" in text and "inlined_in_two" not in text
