"""The n-th system call of each kind fails, for each n in turn: the program ends with its own result.

SPDX-License-Identifier: Apache-2.0
"""

import pytest

from faults import each_failing, run_once
from recording import read_stats

STEPS = 300

# What the library itself calls in the target.
IN_TARGET = (
    ("mmap", "ENOMEM"),
    ("socket", "EMFILE"),
    ("connect", "EPERM"),
    ("sendto", "EPERM"),
    ("recvmsg", "EMFILE"),
    ("ppoll", "EPERM"),
    ("madvise,prctl,fstat,process_vm_readv,mprotect,openat,futex", "EPERM"),
)
BY_HAND = (
    ("mmap", "ENOMEM"),
    ("socketpair", "EMFILE"),
    ("clone", "EAGAIN"),
    ("execve", "ENOMEM"),
    ("dup3,setsid,faccessat,fcntl", "EPERM"),
    ("sendto,recvmsg", "EMFILE"),
)
# What the recorder and its collector call. Those that the loader calls, too, in the collector alone.
IN_RECORDER = (
    ("memfd_create", "EPERM"),
    ("ftruncate", "ENOSPC"),
    ("pipe2", "EMFILE"),
    ("clone,clone3", "EAGAIN"),
    ("socket,bind,listen", "EPERM"),
    ("signalfd4,mkdir,mkdirat", "ENOSPC"),
    ("accept4,sendmsg", "EMFILE"),
    ("readlink,readlinkat", "EACCES"),
    ("rename,renameat", "ENOSPC"),
    ("pidfd_open", "ENOSYS"),
    ("write", "ENOSPC"),
)
IN_COLLECTOR = (("mmap", "ENOMEM"), ("openat", "EMFILE"))
# No call may mind being interrupted.
INTERRUPTED = "connect,sendto,recvmsg,ppoll,poll,wait4,sendmsg,recvfrom,accept4"


@pytest.fixture
def program(native):
    return native.command("dying", "exit", STEPS)


def check_profile(outcome):
    """What there is of a profile is right: complete, or with its losses counted."""
    if outcome.has_profile:
        stats = read_stats(outcome.path)
        events = stats["allocations"] + stats["frees"] + stats["lost_events"] + stats["foreign_frees"]
        assert events == 2 * STEPS - 100, outcome
    else:
        assert outcome.stderr, f"{outcome}: no profile, and not a word"


@pytest.mark.parametrize("calls, error", IN_TARGET, ids=lambda word: word.split(",")[0])
def test_a_call_of_the_library_that_fails_leaves_the_program_alone(tmp_path, program, calls, error):
    for outcome in each_failing(tmp_path, "record", calls, error, "library", program):
        assert (outcome.status, outcome.stdout) == (16, b""), outcome
        check_profile(outcome)


@pytest.mark.parametrize("calls, error", BY_HAND, ids=lambda word: word.split(",")[0])
def test_nor_does_it_where_the_library_starts_the_collector(tmp_path, program, calls, error):
    for outcome in each_failing(tmp_path, "preload", calls, error, "library", program):
        assert (outcome.status, outcome.stdout) == (16, b""), outcome
        check_profile(outcome)


@pytest.mark.parametrize("calls, error", IN_RECORDER, ids=lambda word: word.split(",")[0])
def test_a_recorder_that_fails_says_why_and_leaves_the_program_alone(tmp_path, program, calls, error):
    for outcome in each_failing(tmp_path, "record", calls, error, "midden", program):
        assert outcome.status in (16, 1, 126), outcome
        assert outcome.stdout == b""
        if outcome.status != 16 or not outcome.has_profile:
            assert outcome.stderr.startswith("midden: "), outcome
        if outcome.status == 16 and outcome.has_profile:
            check_profile(outcome)


@pytest.mark.parametrize("how", ("record", "preload"))
@pytest.mark.parametrize("calls, error", IN_COLLECTOR, ids=lambda word: word.split(",")[0])
def test_a_collector_that_fails_leaves_the_program_alone(tmp_path, program, calls, error, how):
    for outcome in each_failing(tmp_path, how, calls, error, "collector", program):
        assert (outcome.status, outcome.stdout) == (16, b""), outcome
        if how == "record":
            check_profile(outcome)


@pytest.mark.parametrize("how, who", (("record", "library"), ("record", "midden"), ("preload", "library")))
def test_a_call_that_is_interrupted_is_made_again(tmp_path, program, how, who):
    for outcome in each_failing(tmp_path, how, INTERRUPTED, "EINTR", who, program):
        assert (outcome.status, outcome.stdout, outcome.stderr) == (16, b"", ""), outcome
        assert read_stats(outcome.path)["allocations"] == STEPS


@pytest.mark.parametrize("error", ("ENOMEM", "EINTR"))
def test_nor_does_a_followed_child_mind(tmp_path, native, error):
    calls = "connect,sendto,recvmsg,ppoll" + (",mmap,socket" if error == "ENOMEM" else "")
    program = native.command("fork_busy", "quiet")
    for outcome in each_failing(tmp_path, "record", calls, error, "library", program, options=("--follow",)):
        assert (outcome.status, outcome.stdout) == (0, b""), outcome
        assert error == "ENOMEM" or outcome.stderr == "", outcome


def test_no_call_of_a_kind_works_and_the_program_does(tmp_path, program):
    for calls, error in IN_TARGET:
        outcome, failed = run_once(tmp_path, "record", calls, error, 0, "library", program)
        assert failed and (outcome.status, outcome.stdout) == (16, b""), outcome


@pytest.mark.parametrize("how", ("record", "preload"))
def test_without_memfd_a_file_takes_its_place(tmp_path, native, how):
    # Long enough for the collector to look whether the program is still the same.
    program = ["sh", "-c", "x=1; sleep 1; y=$(echo 2); exit 16"]
    outcome, failed = run_once(tmp_path, how, "memfd_create", "ENOSYS", 0, "any", program)
    assert failed and (outcome.status, outcome.stderr) == (16, "")
    stats = read_stats(outcome.path)
    assert (stats["end"], stats["exit_code"], stats["lost_events"]) == ("exited", 16, 0)
