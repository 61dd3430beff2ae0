"""Builds of one program that are to be compared, and the commands that compare.

SPDX-License-Identifier: Apache-2.0
"""

import json
import subprocess

from exporting import need
from machine import COMMAND

# Loads 200 tables of two kinds, keeps them until the end, and saves 50 times through a scratch buffer. Everything
# is freed. EXTRA stands for code that the second build has in addition.
SOURCE = """
#include <stdlib.h>
#include <string.h>
%(head)s
static void *kept[1000];
static int count;
static void *make(size_t bytes) { void *block = malloc(bytes); memset(block, 1, bytes); return block; }
%(between)s
static void load(int i)
{
    kept[count++] = make(1000 + i);
%(inside)s
    kept[count++] = make(200);
}
__attribute__((noinline)) void save(int i)
{
    char *scratch = make(5000);
    scratch[0] = (char)i;
    __asm__ volatile("" : : "r"(scratch) : "memory");
    free(scratch);
}
%(leak)s
int main(void)
{
    for (int i = 0; i < 100; i++)
        load(i);
    for (int i = 0; i < 50; i++)
        save(i);
    %(call)s
    while (count)
        free(kept[--count]);
    return 0;
}
"""
PLAIN = {"head": "", "between": "", "inside": "", "leak": "", "call": ""}
MOVED = {"head": "#include <stdio.h>\n\n", "between": "/* more */\n\n\n", "inside": "\n\n", "leak": "\n", "call": "\n"}
LEAK_BYTES, LEAK_BLOCKS = 70_000, 7
LEAKING = {
    **MOVED,
    "leak": """
__attribute__((noinline)) void hoard(void)
{
    for (int i = 0; i < 7; i++)
        ((void *volatile *)kept)[900] = make(10000);
}
""",
    "call": "hoard();",
}


# An anonymous namespace, containers, templates over a lambda, and std::function. %(doubles)d doubles leak.
CPP_SOURCE = """
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
namespace {
struct item { std::string name; std::vector<int> values; };
std::map<int, std::unique_ptr<item>> all;
void add(int i)
{
    auto made = std::make_unique<item>();
    made->name = std::string(100 + i, 'x');
    for (int k = 0; k < 100; k++)
        made->values.push_back(k);
    all[i] = std::move(made);
}
int work(const std::function<int(int)> &f) { return f(3); }
}
template <class T> T *make(int n) { return new T[n]; }
int unused;
int main()
{
    %(lambda)s
    for (int i = 0; i < 100; i++)
        add(i);
    int r = work([](int x) {
        int *made = make<int>(100 * x);
        made[0] = x;
        asm volatile("" : : "r"(made) : "memory");
        int v = made[0];
        delete[] made;
        return v;
    });
    double *leaked = make<double>(%(doubles)d);
    asm volatile("" : : "r"(leaked) : "memory");
    all.clear();
    return r == 77;
}
"""
CPP_BEFORE = {"lambda": "", "doubles": 1000}
CPP_NOW = {"lambda": "auto first = [](int q) { return q + 1; };\n\n    unused = first(1);", "doubles": 3000}


def build_cpp(directory, name, parts, compiler, *flags):
    need(compiler)
    source = directory / f"{name}.cpp"
    source.write_text(CPP_SOURCE % parts)
    subprocess.run([compiler, "-g", *flags, source, "-o", directory / name], check=True)
    return directory / name


def build(directory, name, parts, *flags):
    need("gcc")
    source = directory / f"{name}.c"
    source.write_text(SOURCE % parts)
    subprocess.run(["gcc", "-g", *flags, source, "-o", directory / name], check=True)
    return directory / name


def run(*arguments, cwd=None):
    """A midden command, finished."""
    return subprocess.run(
        [str(COMMAND), *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=120
    )


def run_json(*arguments):
    done = run(*arguments, "--json")
    assert done.returncode in (0, 1) and done.stdout, done.stderr
    return json.loads(done.stdout)


def record_build(record, *arguments):
    recording = record.run([build(*arguments)])
    assert recording.status == 0, recording.stderr
    return recording


def bad_files(directory, profile):
    """(what, path) of files that are no good profiles, made from a good one."""
    data = profile.read_bytes()
    newer = bytearray(data)
    newer[8] = 9
    made = {
        "missing": None,
        "empty": b"",
        "foreign": b"\x7fELF" + bytes(100),
        "newer": with_header_check(bytes(newer)),
        "header": data[:20],
    }
    for what, content in made.items():
        path = directory / f"{what}.mdn"
        if content is not None:
            path.write_bytes(content)
        yield what, path


def with_header_check(data):
    """The bytes with the checksum of the file header made right: XXH64 of 16 bytes, seed 0."""
    mask = (1 << 64) - 1
    p1, p2, p3, p4, p5 = (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )

    def rotate(x, r):
        return (x << r | x >> (64 - r)) & mask

    hashed = (p5 + 16) & mask
    for at in (0, 8):
        lane = int.from_bytes(data[at : at + 8], "little")
        lane = rotate(lane * p2 & mask, 31) * p1 & mask
        hashed = (rotate(hashed ^ lane, 27) * p1 + p4) & mask
    hashed = (hashed ^ hashed >> 33) * p2 & mask
    hashed = (hashed ^ hashed >> 29) * p3 & mask
    hashed ^= hashed >> 32
    return data[:16] + hashed.to_bytes(8, "little") + data[24:]
