"""Figures as tables that read well in a terminal and in Markdown. Used by run.py.

SPDX-License-Identifier: Apache-2.0
"""

import os
import platform
import subprocess
import time
from pathlib import Path

from contenders import AGAIN

MIB = 1 << 20
BEGIN, END = "<!-- begin: written by make bench -->", "<!-- end: written by make bench -->"


def table(head, rows):
    """A Markdown table; the first column is text, the others are figures."""
    rows = [[cell if cell else "–" for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(row):
        cells = [row[0].ljust(widths[0])] + [row[i].rjust(widths[i]) for i in range(1, len(row))]
        return "| " + " | ".join(cells) + " |"

    rule = "|" + "|".join("-" * (w + 1) + ("-" if i == 0 else ":") for i, w in enumerate(widths)) + "|"
    return "\n".join([line(head), rule, *map(line, rows)])


def number(value, form):
    return "" if value is None else format(value, form)


def mib(value):
    return "" if value is None else f"{value / MIB:+.1f}"


def size_text(value):
    if not value:
        return ""
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"


# ---- one load -------------------------------------------------------------------------------------

HEAD = ["", "size", "wall", "wall ×", "(range)", "CPU ×", "ns/pair", "CPU ns/pair"]
HEAD += ["program MiB", "all MiB", "written", "report"]


def row(result, cell):
    label = cell.contender.name
    if cell.died:
        return [f"{label}: died", f"{cell.size:,}", *[""] * (len(HEAD) - 2)]
    low_high = result.wall_range(cell)
    return [
        label,
        f"{cell.size:,}",
        f"{cell.wall_s():.3f} s",
        number(result.wall_ratio(cell), ".2f"),
        f"{low_high[0]:.2f}–{low_high[1]:.2f}" if low_high else "",
        number(result.cpu_ratio(cell), ".2f"),
        number(result.added_wall_ns(cell), "+.1f"),
        number(result.added_cpu_ns(cell), "+.1f"),
        mib(result.added_bytes(cell, "target_bytes")),
        mib(result.added_bytes(cell, "all_bytes")),
        size_text(cell.written_bytes),
        number(cell.report_s, ".2f") + " s" if cell.report_s is not None else "",
    ]


def load_text(result):
    """Heading, table and remarks for one load."""
    lines = [f"### {result.load.name}: {result.load.what}", ""]
    lines += [table(HEAD, [row(result, cell) for cell in result.cells if cell.runs or cell.died])]
    remarks = [f"{c.contender.name} died: `{c.died}`" for c in result.cells if c.died]
    collector = result.collector_ns()
    if result.stats:
        remarks.append("recorded: {allocations:,} allocations, {stacks:,} stacks".format(**result.stats))
    if collector is not None:
        remarks.append(f"midden's collector: {collector:.1f} ns of CPU time per event")
    return "\n".join([*lines, "", *[f"* {remark}" for remark in remarks]]).rstrip() + "\n"


# ---- all loads ------------------------------------------------------------------------------------


def comparison(results, figures, form):
    """Rows of what midden and heaptrack add, by two functions of a result."""
    for result in results:
        if not result.has("midden") or not result.has("heaptrack"):
            continue
        cells = [result.find(name) for name in ("midden", "heaptrack")]
        row = [result.load.name]
        for name in figures:
            figure = getattr(result, name)
            row += [number(figure(cell), form) if cell else "died" for cell in cells]
            row += [number(result.times_less(figure), ".1f")]
        yield row


def heaptrack_text(results):
    micro = [result for result in results if result.load.kind != "real"]
    real = [result for result in results if result.load.kind == "real"]
    names = ["midden", "heaptrack", "times less"]
    per_pair = list(comparison(micro, ("added_wall_ns", "added_cpu_ns"), ".0f"))
    of_native = list(comparison(real, ("added_wall", "added_cpu"), "+.0%"))
    text = "### midden and heaptrack\n"
    if per_pair:
        text += "\nAdded ns per pair, wall time and then CPU time of all processes:\n\n"
        text += table(["", *names, *names], per_pair) + "\n"
    if of_native:
        text += "\nAdded to the native run, wall time and then CPU time of all processes:\n\n"
        text += table(["", *names, *names], of_native) + "\n"
    return text if per_pair or of_native else ""


def aims_text(aims):
    if not aims:
        return ""
    rows = [[aim.text, aim.limit, aim.measured, aim.verdict()] for aim in aims]
    missed = sum(aim.reached is False for aim in aims)
    open_ones = sum(aim.reached is None for aim in aims)
    counts = f"{len(aims) - missed - open_ones} reached, {missed} not reached, {open_ones} not measured"
    return f"### Aims: {counts}\n\n" + table(["aim", "limit", "measured", ""], rows) + "\n"


def alone_text(parts):
    if not parts:
        return ""
    rows = [[f"{part.load}: {part.what}", f"{part.ns:.1f}", f"{part.least_ns:.1f}"] for part in parts]
    head = ["", "ns per event", "quickest round"]
    return "### The collector alone\n\n" + table(head, rows) + "\n"


def reports_text(reports, stacks):
    if not reports:
        return ""
    rows = [[report.name(), f"{report.seconds:.2f} s"] for report in reports]
    return f"### Reports on {stacks:,} stacks\n\n" + table(["", "CPU time"], rows) + "\n"


def noise_text(results):
    """How far native is from itself."""
    found = [(result, result.find(AGAIN)) for result in results]
    off = [abs(result.added_wall(cell)) for result, cell in found if cell]
    if not off:
        return ""
    return f"Native differed from itself by {min(off):.1%} to {max(off):.1%} of its wall time, by load.\n"


def contenders_text(contenders, missing):
    lines = [f"* **{c.name}**: {c.what}" for c in contenders]
    lines += [f"* {name}: left out, {why}" for name, why in missing.items()]
    return "\n".join(lines) + "\n"


# ---- the machine ----------------------------------------------------------------------------------


def ask(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={"LC_ALL": "C"})
    except OSError:
        return ""
    return done.stdout.strip()


def field(text, key, separator):
    for line in text.splitlines():
        name, found, value = line.partition(separator)
        if found and name.strip() == key:
            return value.strip().strip('"')
    return ""


def machine_text():
    memory_kib = field(Path("/proc/meminfo").read_text(encoding="utf-8"), "MemTotal", ":").split()[0]
    cpu = field(ask("lscpu"), "Model name", ":") or platform.machine()
    system = field(ask("cat", "/etc/os-release"), "PRETTY_NAME", "=") or platform.system()
    return (
        f"{cpu} ({platform.machine()}), {os.cpu_count()} cores, {int(memory_kib) / (1 << 20):.0f} GiB; "
        f"Linux {platform.release()}, {system}"
    )


def versions_text(build):
    names = ["libc6", "gcc", "heaptrack", "libgoogle-perftools4", "libjemalloc2", "valgrind"]
    names += ["sqlite3", "python3", "clang", "redis-server"]
    known = [(name, ask("dpkg-query", "-W", "-f=${Version} ", name)) for name in names]
    return ", ".join([ask(f"{build}/midden", "--version"), *(f"{n} {v.split()[0]}" for n, v in known if v)])


def head_text(build, quiet):
    return (
        f"Measured on {time.strftime('%Y-%m-%d')} on: {machine_text()}.\n\n"
        f"Versions: {versions_text(build)}.\n\n{quiet}\n"
    )


def replace_generated(path, text):
    """Writes the text between the markers of a file."""
    old = path.read_text(encoding="utf-8")
    before, begin, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path}: the lines `{BEGIN}` and `{END}` are not there")
    path.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")
