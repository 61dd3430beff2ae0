"""Stacks in unusual places equal those of an independent unwinder.

SPDX-License-Identifier: Apache-2.0
"""

import collections
import itertools
import re

import pytest

C_BUILDS = ("gcc-O0", "gcc-O2", "gcc-Os", "clang-O2")
CXX_BUILDS = [f"{compiler}-{level}" for compiler in ("gcc", "clang") for level in ("O0", "O1", "O2", "O3", "Os")]

UNWINDERS = pytest.mark.parametrize("unwinder", ("libunwind", "libgcc"))


@pytest.mark.parametrize("build", CXX_BUILDS)
def test_exceptions_thrown_caught_and_cleaned_up_after(torture, build):
    torture.need(f"throws.{build}").run(f"throws.{build}").check(least=300)


@UNWINDERS
@pytest.mark.parametrize("build", C_BUILDS)
def test_frames_that_slide_over_what_older_ones_left(torture, build, unwinder):
    torture.need(f"slides.{build}").run(f"slides.{build}", unwinder=unwinder).check(least=32)


@pytest.mark.parametrize("build", C_BUILDS)
def test_coroutines_that_take_turns(torture, build):
    torture.need(f"contexts.{build}").run(f"contexts.{build}").check(least=100)


@pytest.mark.parametrize("build", C_BUILDS)
@pytest.mark.parametrize("mode", ("faults", "nested"))
def test_signal_handlers(torture, mode, build):
    torture.need(f"signals.{build}").run(f"signals.{build}", mode).check(least=20)


@UNWINDERS
@pytest.mark.parametrize("build", C_BUILDS)
def test_signals_at_any_instruction(torture, build, unwinder):
    outcome = torture.need(f"signals.{build}").run(f"signals.{build}", "timer", 1500, unwinder=unwinder)
    # A handler that interrupts midden itself is not recorded, but counted.
    missing = outcome.missing()
    assert missing <= outcome.profile.totals["reentrant_calls"]
    outcome.check(least=100, missing=missing)
    interrupted = {frame.module for stack in outcome.oracle.stacks.values() for frame in stack if frame.exact}
    assert {"libc.so.6", f"signals.{build}"} <= interrupted
    assert any("vdso" in name for name in interrupted), "no signal came while the time was read"


@pytest.mark.parametrize("build", C_BUILDS)
def test_threads_that_are_cancelled_exit_and_clean_up(torture, build):
    torture.need(f"thread_ends.{build}").run(f"thread_ends.{build}").check(least=50)


@UNWINDERS
def test_before_main_after_it_and_inside_the_loader(torture, unwinder):
    torture.run("early", torture.path("early_plugin.so"), unwinder=unwinder).check(least=15)


# ---- deep stacks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", C_BUILDS)
def test_stacks_within_the_limit_are_whole(torture, build):
    outcome = torture.need(f"deep.{build}").run(f"deep.{build}", 400, 1, 200, 399, 490)
    outcome.check(least=8)
    assert max(map(len, outcome.oracle.stacks.values())) > 490
    assert outcome.profile.totals["truncated_stacks"] == 0


def cut(stack, limit, mark):
    """What is kept of a stack: all, or three quarters of the limit at the leaf end and a quarter at the root."""
    if len(stack) <= limit:
        return stack
    root = limit // 4
    return [*stack[: limit - root - 1], mark, *stack[-root:]]


def check_cut(outcome, limit, mark):
    """Deep stacks that differ in what is cut become one, so they are compared without their sizes."""
    expected, seen = collections.Counter(), collections.Counter()
    deep = 0
    for size, stack in outcome.oracle.stacks.items():
        expected[tuple(cut([None, *stack], limit, mark)[1:])] += outcome.oracle.counts[size]
        deep += outcome.oracle.counts[size] * (len(stack) + 1 > limit)
    for site in outcome.profile.marked(outcome.oracle):
        seen[tuple(site.stack[1:])] += site.allocations
    assert outcome.oracle.faults == 0
    assert {len(stack): count for stack, count in seen.items() if count != expected[stack]} == {}
    assert seen == expected
    assert outcome.profile.totals["truncated_stacks"] == deep


@pytest.mark.parametrize("limit", (16, 64, 512, 2000))
def test_deeper_stacks_keep_both_ends_and_are_counted(torture, cut_frame, limit):
    near = [limit - n for n in range(-2, 12)]
    outcome = torture.run("deep.gcc-O2", *near, 10, 3 * limit, 5000, options=["--max-depth", str(limit)])
    check_cut(outcome, limit, cut_frame)
    assert outcome.profile.totals["truncated_stacks"] > 0


def test_a_runaway_recursion_keeps_both_ends_too(torture, cut_frame):
    check_cut(torture.run("deep.gcc-Os", 70000), 512, cut_frame)


# ---- libraries that come and go ---------------------------------------------------------------------------------

SWAPPED = ("one", "two", "three", "four", "five")


def reuses(outcome):
    return int(re.search(rb"reused (\d+)", outcome.recording.stdout)[1])


def test_a_library_loaded_again(torture):
    outcome = torture.run("swaps", torture.path("swap_one.so"))
    outcome.check(least=20)
    assert reuses(outcome) > 10


def test_libraries_that_take_each_others_place(torture):
    outcome = torture.run("swaps", *(torture.path(f"swap_{name}.so") for name in SWAPPED))
    outcome.check(least=50)
    assert reuses(outcome) > 10


def test_libraries_without_a_table_that_take_each_others_place(torture):
    """Their unwind information is found again in what has come in the place of another."""
    outcome = torture.run("swaps", *(torture.path(f"headless_swap_{name}.so") for name in ("one", "two")))
    outcome.check(least=20)
    assert reuses(outcome) > 10
    assert outcome.profile.totals["unwind_failures"] == 0


def test_names_of_a_library_that_was_replaced_are_its_own(torture):
    outcome = torture.run("swaps", *(torture.path(f"swap_{name}.so") for name in SWAPPED))
    for site in outcome.recording.stats["sites"]:
        words = [re.search(r"\b(?:inner|outer)_(\w+)", frame) for frame in site["stack"]]
        assert len({word[1] for word in words if word}) <= 1, site["stack"]
    names = {name for site in outcome.recording.stats["sites"] for name in site["stack"]}
    for kind, library in itertools.product(("inner", "outer"), SWAPPED):
        assert any(f"{kind}_{library}" in name for name in names), f"{kind}_{library} was not seen"


def test_modules_that_libc_loads_and_unloads_by_itself(torture):
    names = [f"MIDDEN-{name.upper()}" for name in SWAPPED]
    outcome = torture.run("charsets", *names, env={"GCONV_PATH": str(torture.path("gconv"))})
    assert reuses(outcome) > 5
    outcome.check(least=5)
