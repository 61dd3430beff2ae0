#!/usr/bin/python3
"""What recording Python costs, with midden and with memray, which Debian has from trixie on. Run by `make bench-python`.

usage: bench/python_peers.py [--release NAME] [--rounds N] [--scale PART]

Lays the release out below BUILD/bench (as root, with mmdebstrap), runs the same scripts in there natively and under
each profiler by turns, and prints a table of wall times against native: the medians of the rounds, and how busy the
machine was with other things.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("MIDDEN_BUILD", ROOT / "build")).resolve()
PACKAGES = """base-files coreutils dash python3 python3-memray python3-numpy libdw1t64 libelf1t64 libmicrohttpd12t64
    libzstd1 libxxhash0 zlib1g libncursesw6 libdebuginfod1t64""".split()
NUMPY_NEEDS = ("blas", "lapack")
TIMEOUT_S = 600

LOADS = {"python3": ("objects.py", 60), "numpy": ("arrays.py", 400), "wsgi": ("pages.py", 8000)}
MIDDEN = ["/build/midden", "record", "-q", "--no-symbols", "-o", "{out}"]
MEMRAY = ["python3", "-m", "memray", "run", "-q", "-o", "{out}"]
CONTENDERS = {
    "native": ["python3"],
    "midden": [*MIDDEN, "--", "python3"],
    "midden --pymalloc=exact": [*MIDDEN, "--pymalloc=exact", "--", "python3"],
    "memray": MEMRAY,
    "memray --native": [*MEMRAY, "--native"],
    "memray --trace-python-allocators": [*MEMRAY, "--trace-python-allocators"],
}


# ---- in the release -----------------------------------------------------------------------------------------------


def time_one(contender, load, scale):
    """Seconds of one run."""
    script, size = LOADS[load]
    with tempfile.TemporaryDirectory() as directory:
        words = [word.format(out=f"{directory}/out") for word in CONTENDERS[contender]]
        command = [*words, f"/src/bench/{script}", str(max(1, round(size * scale)))]
        start = time.monotonic()
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=TIMEOUT_S)
        taken = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}: {done.stderr[-500:]}")
    return taken


def measure(rounds, scale):
    """{load: {contender: [seconds]}}, all by turns, so that what disturbs the machine disturbs all alike."""
    seconds = {load: {contender: [] for contender in CONTENDERS} for load in LOADS}
    for number in range(rounds + 1):
        for load, times in seconds.items():
            for contender in CONTENDERS:
                taken = time_one(contender, load, scale)
                if number:  # the first round warms the caches
                    times[contender].append(taken)
    return seconds


# ---- outside ------------------------------------------------------------------------------------------------------


def find_root(release):
    """The directory of the release, laid out if need be."""
    sys.path.insert(0, str(ROOT / "tools"))
    import portability

    obstacle = portability.find_obstacle()
    if obstacle:
        sys.exit(f"python_peers.py: {obstacle}")
    root = BUILD / "bench" / f"python-{release}"
    stamp = root / ".packages"
    if not stamp.exists() or stamp.read_text() != " ".join(PACKAGES):
        (portability.HERE / "logs").mkdir(parents=True, exist_ok=True)
        try:
            portability.extract(release, root, [portability.native_architecture()], PACKAGES)
        except portability.Skipped as why:
            sys.exit(f"python_peers.py: {why}")
        for name in ("proc", "dev", "src", "build", "tmp"):
            (root / name).mkdir(exist_ok=True)
        stamp.write_text(" ".join(PACKAGES))
    return root, portability.ENTER


def read_busy():
    """Ticks of all CPUs that were not idle, and of all."""
    ticks = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def run_inside(root, enter, arguments):
    # Packages are unpacked and not set up: what alternatives would lead to is named.
    libraries = ":".join(f"/{path.relative_to(root)}" for path in root.glob("usr/lib/*/*") if path.name in NUMPY_NEEDS)
    words = ["PATH=/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8", f"LD_LIBRARY_PATH={libraries}", "python3"]
    words += ["/src/bench/python_peers.py", "--inside", "--rounds", arguments.rounds, "--scale", arguments.scale]
    unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
    command = [*unshare, "sh", "-c", enter, "sh", root, ROOT, BUILD, "/nowhere", *words]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("python_peers.py: a run has failed")
    return json.loads(done.stdout)


def print_table(seconds):
    print("|" + " | ".join(["", *seconds]) + " |")
    print("|---|" + "---:|" * len(seconds))
    for contender in CONTENDERS:
        cells = []
        for times in seconds.values():
            taken, native = statistics.median(times[contender]), statistics.median(times["native"])
            cells.append(f"{taken:.2f} s" if contender == "native" else f"{taken / native:.2f}×")
        print(f"| {contender} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--release", default="trixie", help="of Debian (default: trixie)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="part of each script's size")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        print(json.dumps(measure(arguments.rounds, arguments.scale)))
        return
    if not (BUILD / "midden").exists():
        sys.exit(f"python_peers.py: {BUILD / 'midden'} is not built")
    root, enter = find_root(arguments.release)
    busy, total = read_busy()
    load = os.getloadavg()[0]
    print_table(run_inside(root, enter, arguments))
    now_busy, now_total = read_busy()
    share = (now_busy - busy) / max(1, now_total - total)
    print(f"\nLoad average at the start {load:.1f}; the CPUs were busy {share:.0%} of the time, {os.cpu_count()} of them.")


if __name__ == "__main__":
    main()
