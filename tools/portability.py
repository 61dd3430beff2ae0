#!/usr/bin/python3
"""Builds and tries midden in other Debian releases, for both architectures, with gcc and clang, and with musl.

usage: portability.py [--quick] [--list] [CELL...]      for example bullseye/amd64/gcc; `make test-portability`

Each release is laid out once below BUILD/portability/roots by mmdebstrap, from the mirror that apt uses here:
packages are unpacked, none is set up, and nothing of this machine is changed. A cell is a build in there with
warnings as errors, the unit tests, and the end-to-end tests of exactness, death and Python with its own Python.
The other architecture is compiled by cross compilers and runs under qemu-user; tests that this cannot run are run under
a kernel of its own in an emulated machine.

What cannot be laid out (no root, no mirror, no mmdebstrap) is skipped and says so. Ends with one line:
`N passed, N failed` (and `, N skipped`). Logs are in BUILD/portability/logs, the table in results.md beside.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("MIDDEN_BUILD", ROOT / "build")).resolve()
HERE = BUILD / "portability"
RELEASES = ("bullseye", "bookworm", "trixie", "sid")
COMPILERS = ("gcc", "clang")
STEP_SECONDS_MOST = 1200

# Debian's name of an architecture: the kernel's, and that of its cross compilers' packages.
ARCHITECTURES = {"amd64": ("x86_64", "x86-64-linux-gnu"), "arm64": ("aarch64", "aarch64-linux-gnu")}

TOOLS = """base-files bash dash coreutils sed grep mawk findutils diffutils util-linux xz-utils binutils
    gcc g++ clang cmake ninja-build pkg-config python3 python3-dev python3-pytest python3-pytest-xdist""".split()
LIBRARIES = """libc6-dev libdw-dev libelf-dev libzstd-dev libxxhash-dev libiberty-dev zlib1g-dev
    libmicrohttpd-dev libncurses-dev libcmocka-dev libstdc++6 libgcc-s1""".split()
# What packages would have linked when set up.
LINKS = {"cc": "gcc", "c++": "g++", "awk": "mawk"}

TESTS = ("exact", "death", "preload", "reports/test_reports_known.py")
TESTS += ("python/test_python_stacks.py", "python/test_python_guests.py")
# Under an emulator: ten thousand threads take minutes, and what asks the kernel about a program sees qemu, so the
# program's own functions have no names.
TESTS_EMULATED = ("exact/test_exact_single.py", "crossarch/test_crossarch_offline.py")
# The rooms that know the machine: what is in the program, what reads its memory, what reads its files.
ROOMS_EMULATED = ("capture", "collect", "profile")
NAMED = "not deeper and not within and not plugin"


class Skipped(Exception):
    """A cell cannot be tried here; the text says why."""


class Failed(Exception):
    """A step of a cell failed; the text says which."""


def ask(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def native_architecture():
    return ask("dpkg", "--print-architecture")


def other_architecture():
    return next(name for name in ARCHITECTURES if name != native_architecture())


def find_mirror():
    """The mirror of the distribution that apt is told of here, or None."""
    found = ask("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian")
    return found.splitlines()[0] if found else None


def find_obstacle():
    """Why no release can be laid out here, or None."""
    if not shutil.which("dpkg") or native_architecture() not in ARCHITECTURES:
        return "this is no Debian system of a known architecture"
    if os.geteuid() != 0:
        return "laying out Debian releases needs root"
    if not shutil.which("mmdebstrap"):
        return "mmdebstrap is missing"
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode != 0:
        return "no mounts of our own can be made here"
    return None if find_mirror() else "apt knows no Debian mirror"


# ---- releases ----------------------------------------------------------------------------------


def packages(with_cross):
    native, other = native_architecture(), other_architecture()
    names = TOOLS + [f"{name}:{native}" for name in LIBRARIES]
    if with_cross:
        names += [f"{name}:{other}" for name in LIBRARIES]
        names += [f"{compiler}-{ARCHITECTURES[other][1]}" for compiler in ("gcc", "g++")]
    return names


def is_laid_out(root, wanted):
    stamp = root / ".packages"
    return stamp.exists() and stamp.read_text() == wanted


def finish_root(root, wanted):
    for link, target in LINKS.items():
        path = root / "usr/bin" / link
        if not path.is_symlink():
            path.symlink_to(target)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    for name in ("proc", "sys", "dev", "src", "build", "here", "tmp"):
        (root / name).mkdir(exist_ok=True)
    for name, _ in ARCHITECTURES.values():
        qemu = shutil.which(f"qemu-{name}-static")
        if qemu:
            shutil.copy(qemu, root / "usr/bin")
    (root / ".packages").write_text(wanted)


def root_of(release, cross):
    """(directory, packages, what tells that they are in it)"""
    names = packages(cross)
    wanted = hashlib.sha256(" ".join(names).encode()).hexdigest()
    return HERE / "roots" / f"{release}{'' if cross else '-native'}", names, wanted


def find_root(release, with_cross):
    """The directory of a release, or None; one with cross compilers also serves who needs none."""
    for cross in (True,) if with_cross else (True, False):
        root, _, wanted = root_of(release, cross)
        if is_laid_out(root, wanted):
            return root
    return None


def extract(release, root, architectures, names):
    """Unpacks packages of a release into a directory."""
    shutil.rmtree(root, ignore_errors=True)
    log = HERE / "logs" / f"{root.name}-layout.log"
    command = ["mmdebstrap", "--mode=root", "--variant=extract", f"--architectures={','.join(architectures)}"]
    command += [f"--include={','.join(names)}", "--aptopt=APT::Install-Recommends false"]
    command += ["--aptopt=Acquire::Check-Valid-Until false", "--aptopt=Acquire::Languages none"]
    with open(log, "w") as output:
        done = subprocess.run([*command, release, root, find_mirror()], stdout=output, stderr=output)
    if done.returncode != 0:
        shutil.rmtree(root, ignore_errors=True)
        raise Skipped(f"{release} could not be laid out, see {log}")


def lay_out(release, cross):
    root, names, wanted = root_of(release, cross)
    extract(release, root, [native_architecture()] + [other_architecture()] * cross, names)
    finish_root(root, wanted)


@contextlib.contextmanager
def laid_out(release, with_cross):
    """The directory of a release. It stays while it is in use, whoever else wants it with other packages."""
    (HERE / "roots").mkdir(parents=True, exist_ok=True)
    with open(HERE / "roots" / f"{release}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        if not find_root(release, with_cross):
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not find_root(release, with_cross):
                lay_out(release, with_cross)
            fcntl.flock(lock, fcntl.LOCK_SH)
        yield find_root(release, with_cross)


# Mounts and processes end with the command: it has namespaces of its own for both.
ENTER = """set -e
root=$1 source=$2 build=$3 here=$4; shift 4
mount -t proc proc "$root/proc"
mkdir -p "$root/sys"
mount --bind /sys "$root/sys" # what the kernel takes for its clock: without it midden asks the kernel for each time
mount -o remount,bind,ro "$root/sys"
mount --rbind /dev "$root/dev"
mount --bind "$source" "$root/src"
mount -o remount,bind,ro "$root/src"
mount --bind "$build" "$root/build"
[ ! -d "$here" ] || mount --bind "$here" "$root/here"
exec chroot "$root" /usr/bin/env -i "$@"
"""


class Release:
    """A release that is laid out, and a log of what is done in there."""

    def __init__(self, root, build, here, log):
        self.root, self.build, self.here, self.log = root, build, here, log
        build.mkdir(parents=True, exist_ok=True)

    def run(self, what, *command, **environment):
        """Runs a command with the sources in /src, the build directory in /build and, if there is one, that of
        this architecture in /here."""
        given = {
            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": "/tmp",
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": "/src/tests/e2e",  # pytest before 7 does not take it from pytest.ini
            **environment,
        }
        words = [f"{name}={value}" for name, value in given.items()] + [str(word) for word in command]
        enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
        enter += ["sh", "-c", ENTER, "sh", self.root, ROOT, self.build, self.here, *words]
        with open(self.log, "a") as output:
            print(f"== {what}: {' '.join(words)}", file=output, flush=True)
            try:
                done = subprocess.run(
                    enter, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=STEP_SECONDS_MOST
                )
            except subprocess.TimeoutExpired:
                raise Failed(f"{what}: not done after {STEP_SECONDS_MOST} s") from None
        if done.returncode != 0:
            raise Failed(f"{what}: status {done.returncode}")

    def find(self, pattern):
        """What the last match of a pattern in the log has for its group."""
        found = re.findall(pattern, self.log.read_text())
        return found[-1] if found else "?"


def is_current(program):
    """Whether a program has been built since the sources changed; one of before may print something else."""
    newest = max(path.stat().st_mtime for path in (ROOT / "src").rglob("*.[ch]"))
    return program.exists() and program.stat().st_mtime > newest


# ---- cells -------------------------------------------------------------------------------------


class Cell:
    """A release, an architecture and a compiler."""

    def __init__(self, release, architecture, compiler):
        self.release, self.architecture, self.compiler = release, architecture, compiler
        self.name = f"{release}/{architecture}/{compiler}"
        self.machine = ARCHITECTURES[architecture][0]

    @property
    def emulated(self):
        return self.architecture != native_architecture()

    def compilers(self):
        """(C compiler, C++ compiler), each a program and its arguments."""
        plus = {"gcc": "g++", "clang": "clang++"}[self.compiler]
        triplet = f"{self.machine}-linux-gnu"
        if not self.emulated:
            return self.compiler, plus
        if self.compiler == "gcc":
            return f"{triplet}-gcc", f"{triplet}-g++"
        return f"clang --target={triplet}", f"clang++ --target={triplet}"

    def configuration(self):
        program = self.compilers()[0].split()[0]
        options = ["-DMIDDEN_TESTS=ON", "-DMIDDEN_WERROR=ON", f"-DCMAKE_C_COMPILER={program}"]
        if self.emulated:
            options += [
                "-DCMAKE_SYSTEM_NAME=Linux",
                f"-DCMAKE_SYSTEM_PROCESSOR={self.machine}",
                f"-DCMAKE_C_COMPILER_TARGET={self.machine}-linux-gnu",
                f"-DCMAKE_LIBRARY_ARCHITECTURE={self.machine}-linux-gnu",
                f"-DCMAKE_CROSSCOMPILING_EMULATOR=/usr/bin/qemu-{self.machine}-static",
            ]
        return options

    def ask_versions(self, release):
        """The compiler's and libc's, in words. Asked by preprocessing, so it is the libc that is compiled for."""
        asked = "#include <features.h>\\nversions: __VERSION__, glibc __GLIBC__ __GLIBC_MINOR__\\n"
        release.run("versions", "sh", "-c", f"printf '{asked}' | {self.compilers()[0]} -E -P -")
        compiler = release.find(r'versions: "[^"]*?(\d+\.\d+\.\d+)')
        libc = release.find(r"glibc (\d+ \d+)").replace(" ", ".")
        return f"{self.compiler} {compiler}, glibc {libc}"

    def build(self, release):
        environment = {}
        if self.emulated:
            libraries = f"/usr/lib/{self.machine}-linux-gnu"
            environment["PKG_CONFIG_LIBDIR"] = f"{libraries}/pkgconfig:/usr/share/pkgconfig"
        configure = ["cmake", "-G", "Ninja", "-S", "/src", "-B", "/build/tree", *self.configuration()]
        release.run("configure", *configure, **environment)
        targets = ["midden", "libmidden"]
        targets += [f"unit_tests_{room}" for room in ROOMS_EMULATED] if self.emulated else ["unit_tests"]
        # All that this compiler has to say at once.
        release.run("build", "cmake", "--build", "/build/tree", "--target", *targets, "--", "-k", "0")

    def test_units(self, release):
        # Emulators know neither process_vm_readv nor another process's memory.
        exclude = ["-LE", "kernel", "-R", f"'^({'|'.join(ROOMS_EMULATED)})[.]'"] if self.emulated else []
        command = ["ctest", "--output-on-failure", "--timeout", "900", "-j", str(os.cpu_count() or 1), *exclude]
        release.run("unit tests", "sh", "-c", f"cd /build/tree && {' '.join(command)}")

    def make_wrapper(self, release):
        """A directory in which `midden` starts under the emulator, for tests that run it."""
        run = release.build / "run"
        run.mkdir(exist_ok=True)
        wrapper = run / "midden"
        wrapper.write_text(f'#!/bin/sh\nexec qemu-{self.machine}-static /build/tree/midden "$@"\n')
        wrapper.chmod(0o755)
        library = run / "libmidden.so"
        if not library.is_symlink():
            library.symlink_to("/build/tree/libmidden.so")

    def find_headers(self, release):
        """An option for those of the C++ library that clang 11 does not find beside a cross compiler."""
        found = release.root.glob(f"usr/{self.machine}-linux-gnu/include/c++/*/{self.machine}-linux-gnu")
        return "".join(f" -isystem /{path.relative_to(release.root)}" for path in found)

    def test_victims(self, release):
        environment = {"MIDDEN_BUILD": "/build/tree", "MIDDEN_TEST_REPEATS": "1", "RUSTC": ""}
        environment["CC"], environment["CXX"] = self.compilers()
        if self.emulated and self.compiler == "clang":
            environment["CXX"] += self.find_headers(release)
        tests = TESTS
        if self.emulated:
            self.make_wrapper(release)
            environment["MIDDEN_BUILD"] = "/build/run"
            environment["MIDDEN_TEST_EMULATOR"] = f"/usr/bin/qemu-{self.machine}-static"
            if is_current(release.here / "tree/midden"):
                environment["MIDDEN_TEST_HERE"] = "/here/tree"
            tests = TESTS_EMULATED
        command = ["python3", "-m", "pytest", "-q", "-n", "2", "-c", "/src/tests/pytest.ini"]
        command += ["-k", NAMED] if self.emulated else []
        command += [f"/src/tests/e2e/{test}" for test in tests]
        release.run("victims", *command, **environment)

    def run(self, with_cross):
        with laid_out(self.release, with_cross) as root:
            return self.run_in(root)

    def run_in(self, root):
        log = HERE / "logs" / f"{self.name.replace('/', '-')}.log"
        log.write_text("")
        if self.emulated and not (root / f"usr/bin/qemu-{self.machine}-static").exists():
            raise Skipped(f"qemu-{self.machine}-static is missing")
        here = HERE / "builds" / self.release / native_architecture() / "gcc"
        release = Release(root, HERE / "builds" / self.name, here, log)
        versions = self.ask_versions(release)
        self.build(release)
        self.test_units(release)
        self.test_victims(release)
        units, victims = release.find(r"tests failed out of (\d+)"), release.find(r"(\d+) passed.* in ")
        return f"{versions}; {units} unit tests, {victims} with victims"


class HostCell:
    """End-to-end tests that need no release: musl, and the other architecture's victims."""

    def __init__(self, name, topic):
        self.name, self.topic = name, topic

    def run(self, with_cross):
        del with_cross
        log = HERE / "logs" / f"{self.name}.log"
        command = ["/usr/bin/python3", "-m", "pytest", "-q", "-n", "2", "-c", "tests/pytest.ini"]
        command.append(f"tests/e2e/{self.topic}")
        with open(log, "w") as output:
            done = subprocess.run(command, cwd=ROOT, stdout=output, stderr=output)
        if done.returncode != 0:
            raise Failed(f"see {log}")
        if " passed" not in log.read_text().splitlines()[-1]:
            raise Skipped(f"nothing of it could be run, see {log}")
        return log.read_text().splitlines()[-1].strip("= ")


class PythonCell(HostCell):
    """Python of the other architecture, from a release of its own: two of them cannot be in one."""

    def __init__(self):
        super().__init__("python-cross", "crossarch/test_crossarch_python.py")

    def run(self, with_cross):
        obstacle = find_obstacle()
        if obstacle:
            raise Skipped(obstacle)
        root, wanted = HERE / "roots" / "python-cross", "python3 libpython3-dev"
        (HERE / "roots").mkdir(parents=True, exist_ok=True)
        if not is_laid_out(root, wanted):
            extract("bookworm", root, [other_architecture()], wanted.split())
            (root / ".packages").write_text(wanted)
        os.environ["MIDDEN_TEST_PYTHON_ROOT"] = str(root)
        return super().run(with_cross)


# What is run as the first process of a machine: each test, what it says if it fails, and the end.
INIT = """#!/bin/sh
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mount -t devtmpfs dev /dev
busybox mkdir /dev/shm
busybox ip link set lo up
cd /tests
for name in *; do
    busybox timeout 900 ./$name >/tmp/said 2>&1
    status=$?
    [ $status = 0 ] || busybox cat /tmp/said
    echo "midden: $name ended with $status"
done
busybox poweroff -f
"""


class KernelCell(Cell):
    """Unit tests that user-mode emulators cannot run, under a kernel of the other architecture: what asks the kernel
    about other processes, stops them and has them make system calls."""

    MACHINES = {"arm64": ("virt", "cortex-a72", "ttyAMA0"), "amd64": ("q35", "max", "ttyS0")}
    LIBRARIES = "libc6 libcmocka0 libzstd1 libxxhash0 libdw1 libelf1 zlib1g liblzma5 libbz2-1.0 libgcc-s1".split()

    def __init__(self):
        super().__init__("bookworm", other_architecture(), "gcc")
        self.name = "kernel-cross"

    def lay_out_machine(self):
        root = HERE / "roots" / self.name
        names = [f"linux-image-cloud-{self.architecture}", "busybox-static", *self.LIBRARIES]
        if not is_laid_out(root, " ".join(names)):
            extract(self.release, root, [self.architecture], names)
            (root / ".packages").write_text(" ".join(names))
        return root

    def find_tests(self, tree):
        """The programs of tests that have the label, as far as they have been built."""
        listed = ask("ctest", "--test-dir", tree, "-N", "-L", "kernel")
        names = re.findall(r": (\w+)\.(\w+)$", listed, re.MULTILINE)
        return [path for path in (tree / "tests/unit" / room / name for room, name in names) if path.exists()]

    def pack(self, machine, tests):
        """All files that the machine has, in the form in which a kernel takes them."""
        files = HERE / "builds" / self.name
        shutil.rmtree(files, ignore_errors=True)
        for name in ("bin", "lib", "tests", "tmp", "proc", "sys", "dev"):
            (files / name).mkdir(parents=True)
        shutil.copy(machine / "bin/busybox", files / "bin")
        (files / "bin/sh").symlink_to("busybox")
        for path in [*machine.glob("lib/ld-linux*"), *machine.glob("lib64/ld-linux*")]:
            (files / path.parent.name).mkdir(exist_ok=True)
            shutil.copy(path, files / path.parent.name)
        for path in [*machine.glob(f"lib/{self.machine}-*/*.so*"), *machine.glob(f"usr/lib/{self.machine}-*/*.so*")]:
            shutil.copy(path, files / "lib")
        for path in tests:
            shutil.copy(path, files / "tests")
        (files / "init").write_text(INIT)
        (files / "init").chmod(0o755)
        packed = HERE / "builds" / f"{self.name}.cpio"
        with open(packed, "wb") as output:
            subprocess.run("find . | cpio -o -H newc", shell=True, cwd=files, stdout=output, check=True, stderr=subprocess.DEVNULL)
        return packed

    def boot(self, machine, packed):
        kind, processor, console = self.MACHINES[self.architecture]
        kernel = next((machine / "boot").glob("vmlinuz-*"))
        command = [f"qemu-system-{self.machine}", "-M", kind, "-cpu", processor, "-smp", "2", "-m", "2048"]
        command += ["-nographic", "-nic", "none", "-no-reboot", "-kernel", kernel, "-initrd", packed]
        command += ["-append", f"console={console} quiet panic=-1"]
        log = HERE / "logs" / f"{self.name}-machine.log"
        with open(log, "w") as output:
            try:
                subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=STEP_SECONDS_MOST)
            except subprocess.TimeoutExpired:
                raise Failed(f"not done after {STEP_SECONDS_MOST} s, see {log}") from None
        return log

    def run(self, with_cross):
        if not shutil.which(f"qemu-system-{self.machine}") or not shutil.which("cpio"):
            raise Skipped(f"qemu-system-{self.machine} or cpio is missing")
        with laid_out(self.release, with_cross) as root:
            release = Release(root, HERE / "builds" / f"{self.release}/{self.architecture}/gcc", HERE / "none", HERE / "logs/kernel-cross.log")
            release.log.write_text("")
            self.build(release)
            tests = self.find_tests(release.build / "tree")
        machine = self.lay_out_machine()
        log = self.boot(machine, self.pack(machine, tests))
        ended = re.findall(r"midden: (\w+) ended with (\d+)", log.read_text())
        failed = [name for name, status in ended if status != "0"]
        if failed or len(ended) != len(tests):
            raise Failed(f"{', '.join(failed) or 'it stopped early'}, see {log}")
        return f"{len(ended)} unit tests"


def all_cells():
    native, other = native_architecture(), other_architecture()
    releases = [Cell(r, a, c) for r in RELEASES for a in (native, other) for c in COMPILERS]
    return [HostCell("musl", "musl"), HostCell("victims-cross", "crossarch"), PythonCell(), *releases, KernelCell()]


def quick_cells():
    return [cell for cell in all_cells() if isinstance(cell, HostCell)] + [
        Cell("bullseye", native_architecture(), "gcc")
    ]


# ---- the run -----------------------------------------------------------------------------------


def try_cell(cell, obstacle, with_cross):
    """(result, remark)"""
    if obstacle and isinstance(cell, Cell):
        return "skipped", obstacle
    try:
        return "passed", cell.run(with_cross)
    except Skipped as why:
        return "skipped", str(why)
    except Failed as why:
        return "failed", str(why)


def write_table(rows):
    lines = ["| cell | result | seconds | remark |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(str(word) for word in row)} |" for row in rows]
    (HERE / "results.md").write_text("\n".join(lines) + "\n")


def main(arguments):
    parser = argparse.ArgumentParser(description="Tries midden in other releases of Debian.")
    parser.add_argument("--quick", action="store_true", help="the oldest release, musl and cross-built victims")
    parser.add_argument("--list", action="store_true", help="print the cells and end")
    parser.add_argument("cells", nargs="*", metavar="CELL")
    given = parser.parse_args(arguments)
    cells = quick_cells() if given.quick else all_cells()
    unknown = set(given.cells) - {cell.name for cell in cells}
    if unknown:
        print(f"portability.py: no such cell: {', '.join(sorted(unknown))} (see --list)", file=sys.stderr)
        return 2
    cells = [cell for cell in cells if not given.cells or cell.name in given.cells]
    if given.list:
        print("\n".join(cell.name for cell in cells))
        return 0
    (HERE / "logs").mkdir(parents=True, exist_ok=True)
    obstacle = find_obstacle()
    rows = []
    for cell in cells:
        start = time.monotonic()
        result, remark = try_cell(cell, obstacle, with_cross=not given.quick)
        rows.append((cell.name, result, round(time.monotonic() - start), remark))
        print(f"{cell.name}: {result}{': ' if remark else ''}{remark} ({rows[-1][2]} s)", flush=True)
        write_table(rows)
    results = [row[1] for row in rows]
    skipped = f", {results.count('skipped')} skipped" if "skipped" in results else ""
    print(f"{results.count('passed')} passed, {results.count('failed')} failed{skipped}")
    return 1 if "failed" in results else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
