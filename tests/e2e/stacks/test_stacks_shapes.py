"""Stacks of functions of many shapes, in many builds, equal those of an independent unwinder.

SPDX-License-Identifier: Apache-2.0
"""

import pytest

UNWINDERS = pytest.mark.parametrize("unwinder", ("libunwind", "libgcc"))


@UNWINDERS
@pytest.mark.parametrize("kind", ("pie", "no-pie"))
def test_shapes_of_the_program_itself(torture, kind, unwinder):
    torture.run(f"shapes_{kind}", 90, 1, unwinder=unwinder).check(least=1000)


@UNWINDERS
def test_shapes_of_all_builds_mixed(torture, unwinder):
    torture.run("shapes_pie", 120, 1, *torture.flavours(), unwinder=unwinder).check(least=1000)


def test_shapes_of_each_build(torture):
    for flavour in torture.flavours():
        torture.run("shapes_pie", 12, 1, flavour).check(least=100)


def test_shapes_of_all_builds_in_four_threads(torture):
    torture.run("shapes_pie", 40, 4, *torture.flavours()).check(least=1000)
