"""Programs that the library cannot get into, gets into twice, or gets into unasked.

SPDX-License-Identifier: Apache-2.0
"""

import os
import shutil
import subprocess
import tempfile

import pytest

from machine import OTHER_ARCH
from processes import wait_until
from recording import read_stats, sites_through

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 50; i++) {
		char *volatile block = malloc(123);
		block[0] = 1;
		free(block);
	}
	pid_t child = fork();
	if (child == 0)
		_exit(malloc(10) ? 3 : 4);
	int status;
	waitpid(child, &status, 0);
	printf("child %d\\n", WEXITSTATUS(status));
	return 5;
}
"""


def run(command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, **options)


def build(directory, compiler, *flags):
    """SOURCE as ./app; skips the test where that cannot be done."""
    (directory / "app.c").write_text(SOURCE)
    if not shutil.which(compiler) or run([compiler, "app.c", "-o", "app", *flags], cwd=directory).returncode != 0:
        pytest.skip(f"{compiler} {' '.join(flags)} does not work here")
    plain = run(["./app"], cwd=directory)
    if (plain.returncode, plain.stdout) != (5, "child 3\n"):
        pytest.skip(f"a program built with {' '.join(flags)} does not run here")


@pytest.fixture
def apart(tmp_path):
    """Runs a shell script as process 1 of namespaces of its own: what it leaves running ends with it."""

    def start(script, *options, **more):
        return run(["unshare", "-rmpf", "--mount-proc", *options, "sh", "-c", script], cwd=tmp_path, **more)

    if start("mount -t tmpfs none /mnt").returncode != 0:
        pytest.skip("no namespaces can be made here")
    return start


@pytest.mark.parametrize("name", ("a b", "a:b"))
def test_a_library_whose_path_cannot_be_preloaded_is_told(midden, library, tmp_path, name):
    (tmp_path / name).mkdir()
    copies = [shutil.copy(path, tmp_path / name) for path in (midden, library)]
    done = run([copies[0], "record", "true"], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "because of the space or colon" in done.stderr and len(done.stderr.splitlines()) == 1


# ---- other bindings ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode, asked, seen", (("plain", 7, 30), ("deepbind", 7, 30), ("dlmopen", 0, 0)))
def test_a_plugin_that_is_bound_to_libc_itself_is_seen_unless_the_libc_is_its_own(record, native, mode, asked, seen):
    """RTLD_DEEPBIND, and dlsym with libc's handle; what comes by dlmopen is not supported, and runs as ever."""
    recording = record.victim("other_namespace", mode, native.victim("plugin_one.so"))
    assert recording.status == 9, recording.stderr
    stats = recording.stats
    assert sum(site["allocations"] for site in stats["sites"] if site["size_max"] == 1111) == seen
    assert sum(site["allocations"] for site in stats["sites"] if site["size_max"] == 2222) == asked
    assert sum(site["leaked_blocks"] for site in stats["sites"] if site["size_max"] in (1, 1111, 2222)) == 0
    assert sum(site["allocations"] for site in sites_through(stats, "truth_malloc")) == 100
    assert stats["foreign_frees"] == stats["lost_events"] == 0


def test_a_library_between_midden_and_libc_is_not_led_in_a_circle(record, native):
    """It looks for libc's functions behind itself; of the kinds that it has, libc's table keeps its own."""
    between = {"LD_PRELOAD": native.victim("between.so")}
    recording = record.victim("other_namespace", "deepbind", native.victim("plugin_one.so"), env=between)
    assert recording.status == 9, recording.stderr
    assert sum(site["allocations"] for site in sites_through(recording.stats, "truth_malloc")) == 100
    assert recording.stats["lost_events"] == 0
    assert record.run(["/bin/sh", "-c", "(exit 3); exec /bin/sh -c 'exit 5'"], env=between).status == 5


def test_a_program_whose_malloc_and_free_ask_for_the_next_one_is_recorded(record):
    recording = record.victim("own_malloc")
    assert recording.status == 7, recording.stderr
    sites = {site["size_max"]: (site["allocations"], site["leaked_blocks"]) for site in recording.stats["sites"]}
    assert sites[777] == (50, 0) and sites[888] == (1, 0)
    assert recording.stats["foreign_frees"] == recording.stats["lost_events"] == 0


def test_what_ctypes_makes_and_frees_by_a_handle_of_libc_is_seen(record):
    script = (
        "import ctypes\n"
        "libc = ctypes.CDLL('libc.so.6')\n"
        "libc.malloc.restype = libc.strdup.restype = ctypes.c_void_p\n"
        "libc.malloc.argtypes, libc.free.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]\n"
        "for block in [libc.malloc(123457) for _ in range(10)] + [libc.strdup(b'x' * 99998) for _ in range(5)]:\n"
        "    libc.free(block)\n"
    )
    stats = record.run(["/usr/bin/python3", "-c", script]).stats
    found = {site["size_max"]: site for site in stats["sites"] if site["size_max"] in (123457, 99999)}
    assert {size: (site["allocations"], site["leaked_blocks"]) for size, site in found.items()} == {123457: (10, 0), 99999: (5, 0)}
    assert stats["foreign_frees"] == stats["lost_events"] == 0


def test_names_longer_than_any_buffer_are_kept(midden, tmp_path):
    name = "a_name_that_goes_on_" * 400
    deep = tmp_path
    for _ in range(12):
        deep = deep / ("directory" * 20)
    deep.mkdir(parents=True)
    (tmp_path / "app.c").write_text(
        "#include <stdlib.h>\n"
        f"__attribute__((noinline)) static void *{name}(void) {{ return malloc(77); }}\n"
        f"int main(void) {{ return {name}() ? 5 : 6; }}\n"
    )
    assert run(["cc", "-g", "app.c", "-o", deep / "app"], cwd=tmp_path).returncode == 0
    done = run([midden, "record", "-q", "-o", "out.mdn", deep / "app"], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (5, "")
    (site,) = sites_through(read_stats(tmp_path / "out.mdn", "--sites"), name)
    assert site["allocated_bytes"] == 77


# ---- sanitizers ----------------------------------------------------------------------------------

SHARED = [("gcc", "address"), ("gcc", "thread"), ("gcc", "leak"), ("gcc", "undefined"), ("clang", "undefined")]
INSIDE = [
    ("clang", "address", "AddressSanitizer"),
    ("clang", "thread", "ThreadSanitizer"),
    ("clang", "memory", "MemorySanitizer"),
    ("clang", "leak", "LeakSanitizer"),
]


@pytest.mark.parametrize("compiler, sanitizer", SHARED)
def test_a_program_with_a_sanitizers_library_is_recorded(midden, tmp_path, compiler, sanitizer):
    build(tmp_path, compiler, f"-fsanitize={sanitizer}")
    done = run([midden, "record", "-q", "-o", "out.mdn", "./app"], cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (5, "child 3\n", "")
    sites = read_stats(tmp_path / "out.mdn", "--sites")["sites"]
    assert sum(site["allocations"] for site in sites if site["size_max"] == 123) == 50


@pytest.mark.parametrize("compiler, sanitizer, name", INSIDE)
def test_a_program_with_a_sanitizers_malloc_inside_runs_and_it_is_told(midden, tmp_path, compiler, sanitizer, name):
    build(tmp_path, compiler, f"-fsanitize={sanitizer}")
    done = run([midden, "record", "-o", "out.mdn", "./app"], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (5, "child 3\n")
    assert done.stderr == (
        f"midden: nothing was recorded of ./app: it is built with {name}, which has a malloc of its own\n"
    )
    assert not (tmp_path / "out.mdn").exists()


@pytest.mark.parametrize("compiler, sanitizer, name", INSIDE)
def test_so_it_does_with_plain_preloading(library, tmp_path, compiler, sanitizer, name):
    build(tmp_path, compiler, f"-fsanitize={sanitizer}")
    done = run(["./app"], cwd=tmp_path, env={**os.environ, "LD_PRELOAD": library})
    assert (done.returncode, done.stdout) == (5, "child 3\n")
    assert done.stderr == "midden: the program has a sanitizer's malloc built in: not recording\n"


def test_a_followed_child_with_a_sanitizer_runs(midden, tmp_path):
    build(tmp_path, "gcc", "-fsanitize=address")
    done = run([midden, "record", "-q", "-f", "-o", "out.%n.%p.mdn", "sh", "-c", "./app; ./app"], cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (5, "child 3\n" * 2, "")
    # Each of the two, and the child of each.
    assert len(list(tmp_path.glob("out.app.*.mdn"))) == 4


# ---- no way in -----------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", (("-static",), ("-static-pie",)), ids=lambda flags: flags[0])
def test_a_static_program_runs_and_the_reason_is_told(midden, tmp_path, flags):
    build(tmp_path, "gcc", *flags)
    done = run([midden, "record", "-o", "out.mdn", "./app"], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (5, "child 3\n")
    assert done.stderr == (
        "midden: nothing was recorded of ./app: it is statically linked, so no library can be put into it\n"
    )
    assert os.listdir(tmp_path).count("out.mdn") == 0


def test_a_setuid_program_runs_with_its_rights_and_the_reason_is_told(midden, library, tmp_path):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("making a setuid program for another user takes root and setpriv")
    build(tmp_path, "gcc")
    as_other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    with tempfile.TemporaryDirectory(dir="/tmp") as place:  # one that others may enter
        os.chmod(place, 0o777)
        command, _, app = (shutil.copy(name, place) for name in (midden, library, tmp_path / "app"))
        os.chmod(app, 0o4755)
        done = run([*as_other, command, "record", app], cwd=place)
    assert (done.returncode, done.stdout) == (5, "child 3\n")
    assert "midden: nothing was recorded" in done.stderr and "setuid" in done.stderr


def test_a_program_of_another_architecture_is_told_so(midden, tmp_path):
    compiler = f"{OTHER_ARCH}-linux-gnu-gcc"
    (tmp_path / "app.c").write_text(SOURCE)
    if not shutil.which(compiler) or run([compiler, "app.c", "-o", "app"], cwd=tmp_path).returncode != 0:
        pytest.skip("there is no compiler for another architecture")
    done = run([midden, "record", "-o", "out.mdn", "./app"], cwd=tmp_path)
    if done.returncode == 126:
        assert done.stderr == "midden: cannot run ./app: Exec format error\n"
    else:  # the kernel hands such programs to an emulator
        assert "another architecture" in done.stderr


@pytest.mark.parametrize("nap", ("0", "1.2"), ids=("at-once", "later"))
def test_a_script_that_becomes_something_unrecordable_leaves_a_word(midden, tmp_path, nap):
    (tmp_path / "app.c").write_text(
        f"#include <unistd.h>\nint main(void) {{ usleep((useconds_t)({nap} * 1000000)); return 5; }}\n"
    )
    if run(["gcc", "-static", "app.c", "-o", "app"], cwd=tmp_path).returncode != 0:
        pytest.skip("static programs cannot be linked here")
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexec ./app\n")
    script.chmod(0o755)
    done = run([midden, "record", "-q", "-o", "out.mdn", "./script"], cwd=tmp_path)
    assert done.returncode == 5
    assert done.stderr.startswith("midden: nothing was recorded: ./script became a program")
    assert not list(tmp_path.glob("*.mdn"))


# ---- unasked, and twice --------------------------------------------------------------------------


def test_the_command_itself_is_not_recorded_where_the_library_is_in_every_program(
    apart, midden, native, library, tmp_path
):
    """As with /etc/ld.so.preload; a collector that starts a collector would never end."""
    everywhere = (
        "cp /etc/ld.so.cache . && mount -t tmpfs none /etc && cp ld.so.cache /etc && "
        f"echo {library} >/etc/ld.so.preload"
    )
    victim = native.victim("dying")
    script = (
        f"{everywhere}; {victim} exit 300; {midden} record -q -o by-record.mdn -- {victim} exit 200;"
        f"{midden} stats by-record.mdn >/dev/null; "
        "n=0; while [ $(ls midden.dying.*.mdn | wc -l) -lt 1 ] && [ $n -lt 1200 ]; do sleep 0.1; n=$((n+1)); done"
    )
    done = apart(script)
    assert done.returncode == 0, done.stderr
    names = [path.name.split(".")[1] for path in tmp_path.glob("midden.*.mdn")]
    assert "dying" in names and "midden" not in names
    assert read_stats(tmp_path / "by-record.mdn")["allocations"] == 200


def test_nor_where_it_is_preloaded_into_a_shell(midden, native, library, tmp_path):
    env = {**os.environ, "LD_PRELOAD": library, "MIDDEN_FOLLOW": "1", "MIDDEN_OUTPUT": "%n.%p.mdn"}
    done = run(["sh", "-c", f"{midden} --version; {midden} help >/dev/null"], cwd=tmp_path, env=env)
    assert done.returncode == 0 and done.stderr == ""
    wait_until(lambda: list(tmp_path.glob("sh.*.mdn")), "the profile of the shell")
    assert not list(tmp_path.glob("midden.*.mdn"))


@pytest.mark.parametrize("follow", ("0", "1"))
def test_each_program_that_a_preloaded_process_becomes_has_a_file_of_its_own(native, library, tmp_path, follow):
    victim = str(native.victim("dying"))
    env = {**os.environ, "LD_PRELOAD": library, "MIDDEN_OUTPUT": "out.mdn", "MIDDEN_FOLLOW": follow}
    words = [victim, "exec", "300", victim, "exec", "200", victim, "exit", "100"]
    process = subprocess.Popen(words, cwd=tmp_path, env=env)
    assert process.wait(timeout=120) == 16
    stem = f"out.{process.pid}" if follow == "1" else "out"
    expected = {f"{stem}.mdn": 300, f"{stem}.2.mdn": 200, f"{stem}.3.mdn": 100}
    wait_until(lambda: all((tmp_path / name).exists() for name in expected), "all profiles")
    assert {path.name: read_stats(path)["allocations"] for path in tmp_path.glob("*.mdn")} == expected


def test_that_number_is_hidden_from_the_programs(library, tmp_path):
    env = {"PATH": os.environ["PATH"], "LD_PRELOAD": library, "MIDDEN_OUTPUT": str(tmp_path / "%n.mdn")}
    done = run(["sh", "-c", "exec env"], env=env)
    assert "MIDDEN_IMAGE" not in done.stdout


@pytest.mark.parametrize("how", ("record", "preload"))
def test_a_title_written_over_the_environment_does_not_get_into_the_next_program(
    midden, native, library, tmp_path, how
):
    words = [native.victim("new_title"), "/usr/bin/env"]
    env = {"FIRST": "1", "LD_PRELOAD": library, "MIDDEN_SOCKET": "", "MIDDEN_OUTPUT": "out.mdn", "LAST": "2"}
    if how == "record":
        words = [midden, "record", "-q", "-o", "out.mdn", "--", *words]
        # Replaced where they are, so that the last string is not one that is taken out.
        env["LD_PRELOAD"] = str(native.victim("plugin_one.so"))
    else:
        del env["MIDDEN_SOCKET"]
    done = run(words, env=env, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "xxx" not in done.stdout
    wait_until(lambda: len(list(tmp_path.glob("out*.mdn"))) == 2, "both profiles")


# ---- process 1 -----------------------------------------------------------------------------------


def test_process_1_of_a_container_waits_for_its_profile(apart, native, library, tmp_path):
    """Its end takes its collector along. Only exit() can wait: a kill takes the profile, too."""
    done = apart(f"LD_PRELOAD={library} MIDDEN_OUTPUT=out.%n.mdn exec {native.victim('dying')} exit 300")
    assert done.returncode == 16, done.stderr
    stats = read_stats(tmp_path / "out.dying.mdn")
    assert (stats["pid"], stats["allocations"], stats["exit_code"]) == (1, 300, 16)
    assert stats["lost_events"] == 0


def test_process_1_of_a_container_is_recorded_from_outside_however_it_ends(apart, record, native):
    victim = str(native.victim("dying"))
    recording = record.run(["unshare", "-rpf", victim, "_exit", "300"], options=["--follow"])
    (stats,) = recording.profiles("dying")
    assert (stats["allocations"], stats["lost_events"]) == (300, 0)
    assert recording.status == 17
