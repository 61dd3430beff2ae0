"""Code that a program generates while it runs: names from perf's map.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

# A stub that calls malloc through a pointer and returns: frame pointers, so that it can be walked over.
CODE = {
    "x86_64": "0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3",  # push rbp; mov rbp, rsp; call rsi; pop rbp; ret
    # stp x29, x30, [sp, #-16]!; mov x29, sp; blr x1; ldp x29, x30, [sp], #16; ret
    "aarch64": "0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x20, 0x00, 0x3f, 0xd6, "
    "0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6",
}

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static const unsigned char code[] = {%s};
int main(int argc, char **argv)
{
	char path[64];
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(page, code, sizeof(code));
	__builtin___clear_cache((char *)page, (char *)page + sizeof(code));
	snprintf(path, sizeof(path), "/tmp/perf-%%d.map", (int)getpid());
	FILE *map = fopen(path, "w");
	fprintf(map, "%%lx %%zx %%s\\n", (unsigned long)page, sizeof(code), argv[argc - 1]);
	fclose(map);
	void *block = ((void *(*)(size_t, void *(*)(size_t)))page)(1234, malloc);
	return block == NULL;
}
"""


@pytest.fixture
def generator(tmp_path):
    machine = os.uname().machine
    if machine not in CODE or shutil.which("cc") is None:
        pytest.skip("no compiler, or no code for this machine")
    (tmp_path / "jit.c").write_text(PROGRAM % CODE[machine])
    subprocess.run(
        ["cc", "-g", "-O1", "-fno-omit-frame-pointer", "jit.c", "-o", "jit"], cwd=tmp_path, check=True
    )
    return tmp_path / "jit"


def functions_of(midden, profile):
    done = subprocess.run(
        [midden, "report", "--leaks", "--json", profile], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return [node["function"] for node in json.loads(done.stdout)["nodes"]]


@pytest.mark.parametrize(
    "name", ("LazyCompile:*sum /app/main.js:12", "\x1b[31mred \udcff\tend"), ids=("usual", "odd")
)
def test_generated_code_has_the_name_that_the_program_left(midden, generator, tmp_path, name):
    profile = tmp_path / "jit.mdn"
    done = subprocess.run(
        [midden, "record", "-q", "-o", profile, generator, name.encode(errors="surrogateescape")]
    )
    assert done.returncode == 0
    stats = json.loads(subprocess.check_output([midden, "stats", "--json", profile]))
    Path(f"/tmp/perf-{stats['pid']}.map").unlink()
    functions = functions_of(midden, profile)
    assert name.encode(errors="surrogateescape").decode(errors="replace") in functions
    assert "main" in functions
    text = subprocess.check_output([midden, "report", "--leaks", "--color", "never", profile])
    assert b"\x1b" not in text and b"\t" not in text


def test_a_map_that_came_later_is_not_believed(midden, generator, tmp_path):
    profile = tmp_path / "jit.mdn"
    subprocess.run([midden, "record", "-q", "--no-symbols", "-o", profile, generator, "real"], check=True)
    stats = json.loads(subprocess.check_output([midden, "stats", "--json", profile]))
    path = Path(f"/tmp/perf-{stats['pid']}.map")
    try:
        os.utime(path, ns=(path.stat().st_mtime_ns + 3600 * 10**9,) * 2)
        assert "real" not in functions_of(midden, profile)
    finally:
        path.unlink()
