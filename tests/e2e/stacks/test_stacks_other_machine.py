"""The torture set on the other architecture, under qemu-user. The unwinder there is libgcc's.

Handlers of signals are left out: the code that qemu has them return to belongs to no object.

SPDX-License-Identifier: Apache-2.0
"""

import re

import pytest

from machine import OTHER_ARCH

ASTRAY = [f"astray_{where}" for where in ("number", "huge", "heap", "stack", "data", "text", "function", "own")]
BUILDS = pytest.mark.parametrize("build", ("gcc-O0", "gcc-O2"))


# Stacks that are not the thread's own are read through process_vm_readv, which qemu-user does not have.
NO_KERNEL_READS = "user-mode emulation has no process_vm_readv"
NEEDS_KERNEL_READS = pytest.mark.skip(reason=NO_KERNEL_READS)


def test_shapes_of_the_program_itself(torture_other):
    torture_other.run("shapes_pie", 30, 1, "-", unwinder="libgcc").check(least=500)


def test_shapes_of_all_builds_mixed(torture_other):
    torture_other.run("shapes_pie", 60, 1, "-", *torture_other.flavours(), unwinder="libgcc").check(least=500)


@NEEDS_KERNEL_READS
def test_shapes_in_coroutines(torture_other):
    torture_other.run("shapes_pie", 30, 1, "c", *torture_other.flavours(), unwinder="libgcc").check(least=500)


def test_shapes_in_four_threads(torture_other):
    torture_other.run("shapes_pie", 15, 4, "-", *torture_other.flavours(), unwinder="libgcc").check(least=500)


@BUILDS
@pytest.mark.parametrize(
    "program", ("throws", pytest.param("contexts", marks=pytest.mark.skip(reason=NO_KERNEL_READS)), "thread_ends")
)
def test_a_program_of_the_set(torture_other, program, build):
    torture_other.run(f"{program}.{build}", unwinder="libgcc").check(least=50)


def test_before_main_after_it_and_inside_the_loader(torture_other):
    torture_other.run("early", torture_other.path("early_plugin.so"), unwinder="libgcc").check(least=15)


def test_deep_stacks(torture_other):
    torture_other.run("deep.gcc-O2", 400, 1, 490, 200, unwinder="libgcc").check(least=5)


@BUILDS
@pytest.mark.parametrize(
    "links",
    [
        ("told", "fp", "told"),
        ("asm_told", "asm_fp", "told", "fp", "told_large"),
        ("told_fp", "fp_large", "told", "fp_large", "told_large"),
        ("asm_fp_large", "told", "asm_fp_large", "told_large"),
        ("jit", "told", "jit_large", "told_large"),
    ],
    ids="-".join,
)
def test_code_with_frame_records_is_bridged(torture_other, build, links):
    outcome = torture_other.run(f"untold.{build}", *links, unwinder="libgcc")
    outcome.check(least=len(links) + 1)
    assert outcome.profile.totals["unwind_failures"] == 0


@BUILDS
@pytest.mark.parametrize("hiding", ("bare", "bare_large", "asm_bare", "asm_wild", *ASTRAY))
def test_code_without_frame_records_makes_no_frame_up(torture_other, build, hiding):
    torture_other.run(f"untold.{build}", "told_fp", hiding, "told", unwinder="libgcc").check_honest()


@BUILDS
def test_frames_that_slide_over_what_older_ones_left(torture_other, build):
    torture_other.run(f"slides.{build}", 1000, unwinder="libgcc").check(least=32)


# ---- return addresses that are signed ---------------------------------------------------------------------------

SIGNS = pytest.mark.skipif(OTHER_ARCH != "aarch64", reason="return addresses are signed on aarch64 alone")


@SIGNS
@pytest.mark.parametrize("build", ("pac-O2", "pac-leaf"))
def test_signed_return_addresses(torture_other, build):
    outcome = torture_other.run(f"signed.{build}", unwinder="libgcc")
    outcome.check(least=50)
    assert int(re.search(rb"signed (\d+)", outcome.recording.stdout)[1]) > 100


@SIGNS
@pytest.mark.parametrize("program", ("throws", "thread_ends", "slides"))
def test_a_program_that_signs_its_return_addresses(torture_other, program):
    torture_other.run(f"{program}.pac-O2", unwinder="libgcc").check(least=32)


@SIGNS
def test_deep_stacks_of_signed_return_addresses(torture_other):
    torture_other.run("deep.pac-O2", 400, 1, 490, 200, unwinder="libgcc").check(least=5)


@SIGNS
@pytest.mark.parametrize(
    "links", [("told", "fp", "told"), ("told_fp", "fp_large", "asm_fp", "fp", "told_large")], ids="-".join
)
def test_frame_records_with_signed_return_addresses_are_bridged(torture_other, links):
    outcome = torture_other.run("untold.pac-O2", *links, unwinder="libgcc")
    outcome.check(least=len(links) + 1)
    assert outcome.profile.totals["unwind_failures"] == 0
