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
MADE_UP = pytest.mark.xfail(strict=True, reason="what a frame record holds is not checked to be a return address")
HIDING = [
    "bare",
    "bare_large",
    "asm_bare",
    "asm_wild",
    pytest.param("asm_astray", marks=MADE_UP),
]

@BUILDS
@pytest.mark.parametrize("links", BRIDGED, ids="-".join)
def test_code_with_frame_records_is_bridged(torture, build, links):
    outcome = torture.run(f"untold.{build}", *links)
    outcome.check(least=len(links) + 1)
    assert outcome.profile.totals["unwind_failures"] == 0


def is_honest(expected, seen):
    """Frames may be missing, but none is made up, and they are in order."""
    rest = iter(expected)
    return all(frame in rest for frame in seen)


def check_honest(outcome):
    """Stacks that differ in what is missing become one, so each site must be honest about all its sizes."""
    assert outcome.recording.status == 0, outcome.recording.stderr
    sites = outcome.profile.marked(outcome.oracle)
    faults = [
        f"{[str(frame) for frame in site.stack[1:]]} is not of {[str(frame) for frame in expected]}"
        for site in sites
        for expected in (outcome.oracle.stacks[site.size_min], outcome.oracle.stacks[site.size_max])
        if not is_honest(expected, site.stack[1:])
    ]
    assert not faults, f"{len(faults)} faults\n" + "\n".join(faults[:3])
    assert sum(site.allocations for site in sites) == sum(outcome.oracle.counts.values())
    roots = {stack[-1] for stack in outcome.oracle.stacks.values()}
    lost = [site for site in sites if site.stack[-1] not in roots]
    assert outcome.profile.totals["unwind_failures"] == sum(site.allocations for site in lost)
    assert outcome.profile.totals["truncated_stacks"] == sum(site.allocations for site in lost)


@BUILDS
@pytest.mark.parametrize("hiding", HIDING)
@pytest.mark.parametrize(
    "links",
    [("{}", "told"), ("told_fp", "{}", "told"), ("fp", "told_large", "{}", "told_fp"), ("told", "{}", "fp", "{}")],
    ids="-".join,
)
def test_code_without_frame_records_makes_no_frame_up(torture, build, links, hiding):
    check_honest(torture.run(f"untold.{build}", *(link.format(hiding) for link in links)))
