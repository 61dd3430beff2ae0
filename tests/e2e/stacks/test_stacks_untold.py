"""Code without unwind information: bridged by its frame pointer, or the stack is cut there and counted.

SPDX-License-Identifier: Apache-2.0
"""

import pytest

BUILDS = pytest.mark.parametrize("build", ("gcc-O0", "gcc-O2"))

# What keeps a frame record, or has unwind information.
BRIDGED = [
    ("told", "fp", "told"),
    ("fp", "fp_large", "told_large", "fp"),
    ("told_fp", "fp_large", "told", "fp_large", "told_large"),
    ("asm_told", "asm_fp", "told", "asm_fp_large", "told_large"),
    ("asm_fp", "asm_fp", "asm_fp_large", "told_fp", "told"),
    ("jit", "told", "jit_large", "told_large"),
    ("jit_large", "jit", "jit", "fp", "jit_large", "asm_fp_large", "told"),
]

# What hides its caller.
HIDING = [
    "bare",
    "bare_large",
    "asm_bare",
    "asm_wild",
    *(f"astray_{where}" for where in ("number", "huge", "heap", "stack", "data", "text", "function", "own")),
]


@BUILDS
@pytest.mark.parametrize("links", BRIDGED, ids="-".join)
def test_code_with_frame_records_is_bridged(torture, build, links):
    outcome = torture.run(f"untold.{build}", *links)
    outcome.check(least=len(links) + 1)
    assert outcome.profile.totals["unwind_failures"] == 0


@BUILDS
@pytest.mark.parametrize("hiding", HIDING)
@pytest.mark.parametrize(
    "links",
    [("{}", "told"), ("told_fp", "{}", "told"), ("fp", "told_large", "{}", "told_fp"), ("told", "{}", "fp", "{}")],
    ids="-".join,
)
def test_code_without_frame_records_makes_no_frame_up(torture, build, links, hiding):
    torture.run(f"untold.{build}", *(link.format(hiding) for link in links)).check_honest()
