"""Stacks of functions of many shapes, in many builds, equal those of an independent unwinder.

SPDX-License-Identifier: Apache-2.0
"""

import pytest

UNWINDERS = pytest.mark.parametrize("unwinder", ("libunwind", "libgcc"))
GROUPS = 6


@UNWINDERS
@pytest.mark.parametrize("kind", ("pie", "no-pie"))
def test_shapes_of_the_program_itself(torture, kind, unwinder):
    torture.run(f"shapes_{kind}", 90, 1, "-", unwinder=unwinder).check(least=1000)


@UNWINDERS
def test_shapes_of_all_builds_mixed(torture, unwinder):
    torture.run("shapes_pie", 120, 1, "-", *torture.flavours(), unwinder=unwinder).check(least=1000)


@pytest.mark.parametrize("group", range(GROUPS))
def test_shapes_of_a_few_builds_mixed(torture, group):
    torture.run("shapes_pie", 60, 1, "-", *torture.flavours()[group::GROUPS]).check(least=500)


@UNWINDERS
@pytest.mark.parametrize("features", ("s", "a", "c", "sac"))
def test_shapes_below_signal_handlers_and_coroutines(torture, features, unwinder):
    torture.run("shapes_pie", 60, 1, features, *torture.flavours()[::4], unwinder=unwinder).check(least=500)


@pytest.mark.parametrize("features", ("-", "sac"))
def test_shapes_of_all_builds_in_four_threads(torture, features):
    torture.run("shapes_pie", 30, 4, features, *torture.flavours()).check(least=1000)


@pytest.mark.parametrize("level", ("O0", "O2"))
@pytest.mark.parametrize("kind", ("headless", "untabled"))
def test_libraries_without_a_table_of_their_unwind_information(torture, kind, level):
    """Without .eh_frame_hdr, or with one that has no rows."""
    outcome = torture.run("shapes_pie", 30, 1, "-", torture.path(f"{kind}_{level}.so"))
    outcome.check(least=300)
    assert outcome.profile.totals["unwind_failures"] == 0


@pytest.mark.parametrize("kind", ("pie", "no-pie"))
def test_a_program_without_a_table_of_its_unwind_information(torture, kind):
    outcome = torture.run(f"headless_{kind}", 30, 1, "-")
    outcome.check(least=300)
    assert outcome.profile.totals["unwind_failures"] == 0
