"""Magics of IPython and Jupyter: `%load_ext midden`, then

    %midden work()          what a line allocates
    %%midden --sites 10     what a cell does, with the stacks that hold most at the peak
    work()

The interpreter has to run under midden: `midden record --delayed ipython3`, or a kernel that is started so
(docs/python.md). Otherwise the code is run, and it is said that nothing was measured.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import os
import shlex

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class

from .measure import format_size, measured
from .profile import MiddenError

SITES = 5


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UsageError(f"%midden: {message}")


def _split(line, is_cell):
    """(options, the rest of the line), which of a line magic is code."""
    parser = _Parser(prog="%midden", add_help=False)
    parser.add_argument("--sites", type=int, default=SITES)
    parser.add_argument("--leaks", action="store_true")
    if is_cell:
        return parser.parse_args(shlex.split(line)), ""
    words = line.split(" ")
    count = 0
    while count < len(words) and words[count].startswith("--"):
        count += 2 if words[count] == "--sites" else 1
    return parser.parse_args(words[:count]), " ".join(words[count:])


def _print_sites(title, sites):
    if not sites:
        return
    print(title)
    for site in sites:
        where = site.where()
        below = "" if where is site.frames[0] else f", in {site.frames[0]}"
        file = os.path.basename(where.file) if not where.file.startswith("<") else where.file
        print(f"  {format_size(site.size):>10} in {site.blocks:,} blocks  {where.function} ({file}:{where.line}){below}")


@magics_class
class MiddenMagics(Magics):
    """%midden and %%midden."""

    @line_cell_magic
    def midden(self, line, cell=None):
        """Runs a line or a cell and says what it allocates: [--sites N] [--leaks]."""
        options, code = _split(line, cell is not None)
        part = measured(sites=max(options.sites, 0))
        try:
            with part as result:
                self.shell.run_cell(code if cell is None else cell)
        except MiddenError as why:
            raise UsageError(f"%midden: {why}") from None
        if not result.is_recorded:
            print("midden: nothing was measured: this interpreter does not run under `midden record`")
            return
        print(
            f"peak {format_size(result.peak_bytes)}, kept {format_size(result.leaked_bytes)}, "
            f"{result.allocations:,} allocations of {format_size(result.allocated_bytes)}"
        )
        _print_sites("held at the peak:", result.peak_sites)
        if options.leaks:
            _print_sites("kept:", result.leaked_sites)


def load_ipython_extension(shell):
    shell.register_magics(MiddenMagics)
