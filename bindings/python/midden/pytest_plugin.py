"""A plugin of pytest: what tests allocate, and limits on it.

    pytest --midden                             tests are run under midden; a table of the largest is printed

    @pytest.mark.limit_memory("24 MB")          fails if the test holds more at once
    @pytest.mark.limit_leaks("1 KB")            fails if a stack keeps more than that when the test has ended

Without --midden, and outside of `midden record`, limits are not looked at. Works with pytest-xdist: each worker is
recorded by itself.

SPDX-License-Identifier: Apache-2.0
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import midden
import pytest
from midden.measure import format_size, measured
from midden.profile import MiddenError, find_command

_UNITS = {"": 0, "B": 0, "K": 1, "KB": 1, "KIB": 1, "M": 2, "MB": 2, "MIB": 2, "G": 3, "GB": 3, "GIB": 3, "T": 4, "TB": 4}
_INSIDE = "MIDDEN_PYTEST"  # set for the process that is recorded
_SITES = 1000  # of a test, that limit_leaks looks at
_MACHINERY = ("/_pytest/", "/pytest/", "/pluggy/", "/xdist/", "/execnet/", "<frozen runpy>", "<string>", "/contextlib.py")


def parse_size(text):
    """"24 MB", "1.5 GiB", "300K" or a number, in bytes. All units are powers of 1024."""
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(text))
    if not found or found[2].upper() not in _UNITS:
        raise ValueError(f'{text!r} is no size; "24 MB" is one')
    return int(float(found[1]) * 1024 ** _UNITS[found[2].upper()])


def pytest_addoption(parser):
    group = parser.getgroup("midden", "what tests allocate")
    group.addoption("--midden", action="store_true", help="run the tests under the heap profiler midden")
    group.addoption(
        "--midden-most", type=int, default=5, metavar="N", help="name the N tests that hold most (default: 5)"
    )
    group.addoption("--midden-stacks", type=int, default=5, metavar="N", help="with N stacks for each limit (default: 5)")
    group.addoption("--midden-output", metavar="FILE", help="keep the profile of the whole run there")


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "limit_memory(size, current_thread_only=False): the test may hold so much more memory than at its beginning",
    )
    config.addinivalue_line(
        "markers",
        "limit_leaks(size, filter_fn=None): each stack may keep so much when the test has ended; filter_fn gets a "
        "midden.Site and returns False for those that do not matter",
    )
    if midden.is_loaded():
        config.pluginmanager.register(Watcher(config), "midden-watcher")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Table(config), "midden-table")


# ---- under midden ----------------------------------------------------------------------------------------------


def pytest_cmdline_main(config):
    """Starts pytest once more, under midden, and ends as that does."""
    wanted = config.getoption("midden") and not config.option.help and not config.option.version
    if not wanted or midden.is_loaded() or os.environ.get(_INSIDE):
        return None
    command = find_command()
    if command is None:
        raise pytest.UsageError("--midden: the command midden is not on PATH, and MIDDEN_COMMAND does not name it")
    with tempfile.TemporaryDirectory(prefix="midden-pytest-") as directory:
        return _run_recorded(config, command, directory)


def _run_recorded(config, command, directory):
    kept = config.getoption("midden_output")
    output = os.path.abspath(kept) if kept else os.path.join(directory, "%p.mdn")
    record = [command, "record", "-q", "-o", output]
    if _has_workers(config):
        # Each worker has a profile of its own; those of other children have the same place to go.
        record[-1] = output if "%p" in output else f"{output}.%p"
        record.append("--follow")
    # Small objects too, each with its own call of malloc.
    environment = {**os.environ, _INSIDE: "1", "MIDDEN_COMMAND": os.path.abspath(shutil.which(command) or command)}
    environment.setdefault("PYTHONMALLOC", "malloc")
    words = [*record, "--", *_own_command(), *map(str, config.invocation_params.args)]
    return subprocess.call(words, env=environment, cwd=config.invocation_params.dir)


def _has_workers(config):
    return bool(config.getoption("numprocesses", None) or config.getoption("tx", None))


def _own_command():
    if os.path.basename(sys.argv[0]) in ("pytest", "py.test") and os.path.exists(sys.argv[0]):
        return [sys.executable, sys.argv[0]]
    return [sys.executable, "-m", "pytest"]


# ---- one test --------------------------------------------------------------------------------------------------


class Limited(measured):
    """Measures a test, and looks for stacks if a limit may not hold."""

    def __init__(self, memory, leaks):
        super().__init__(sites=_SITES, scope=memory[1] if memory else midden.ALL_THREADS)
        self._memory, self._leaks = memory, leaks

    def _choose_ends(self, result):
        ends = {}
        if self._memory and result.peak_bytes > self._memory[0]:
            ends["peak_sites"] = "@peak"
        if self._leaks and result.allocated_bytes > self._leaks[0]:
            ends["leaked_sites"] = "@end"
        return ends


def _refuse(mark, why):
    pytest.fail(f"{mark.name}: {why}", pytrace=False)


def _take_words(mark, other):
    """The size and the other argument of a mark, None if it has none; a mark that makes no sense fails the test."""
    words = dict(zip(("size", other), mark.args))
    unknown = [name for name in mark.kwargs if name not in ("size", other) or name in words]
    if unknown or len(mark.args) > 2:
        _refuse(mark, f"it takes a size and {other}, not {', '.join(unknown) or 'more'}")
    words.update(mark.kwargs)
    if "size" not in words:
        _refuse(mark, f'it needs a size: {mark.name}("24 MB")')
    try:
        return parse_size(words["size"]), words.get(other)
    except ValueError as why:
        _refuse(mark, why)


class Watcher:
    """Measures tests in the process that runs them."""

    def __init__(self, config):
        self.stacks = config.getoption("midden_stacks")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        limits = [self._memory_limit(item), self._leak_limit(item)]
        try:
            with Limited(*limits) as result:
                yield
        except MiddenError as why:
            item._midden_failed = f"midden could not say what the test allocates: {why}"
            return
        item.user_properties.append(("midden", [result.peak_bytes, result.allocations, result.allocated_bytes]))
        texts = [self._check_memory(limits[0], result), self._check_leaks(limits[1], result)]
        item._midden_failed = "\n".join(filter(None, texts))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = (yield).get_result()
        text = getattr(item, "_midden_failed", "")
        if call.when == "call" and report.passed and text:
            report.outcome, report.longrepr = "failed", text

    @staticmethod
    def _memory_limit(item):
        mark = item.get_closest_marker("limit_memory")
        if not mark:
            return None
        size, thread_only = _take_words(mark, "current_thread_only")
        return size, midden.THIS_THREAD if thread_only else midden.ALL_THREADS

    @staticmethod
    def _leak_limit(item):
        mark = item.get_closest_marker("limit_leaks")
        if not mark:
            return None
        size, accepts = _take_words(mark, "filter_fn")
        if accepts is not None and not callable(accepts):
            _refuse(mark, f"filter_fn is {accepts!r}, which is no function")
        return size, accepts

    def _check_memory(self, limit, result):
        if not limit or result.peak_bytes <= limit[0]:
            return ""
        head = f"held {format_size(result.peak_bytes)} at once; limit_memory allows {format_size(limit[0])}"
        large = [site for site in result.peak_sites if site.size * 100 >= result.peak_bytes and _is_of_test(site)]
        return _describe(head, large[: self.stacks])

    def _check_leaks(self, limit, result):
        if not limit:
            return ""
        leaks = [
            site
            for site in result.leaked_sites
            if site.size > limit[0] and _is_of_test(site) and (limit[1] is None or limit[1](site))
        ]
        if not leaks:
            return ""
        held = format_size(sum(site.size for site in leaks))
        head = f"kept {held} in {len(leaks)} stack{'s' * (len(leaks) != 1)}; limit_leaks allows {format_size(limit[0])} in each"
        return _describe(head, leaks[: self.stacks])


def _is_machinery(frame):
    return any(part in frame.file for part in _MACHINERY)


def _is_of_test(site):
    return not _is_machinery(site.where())


def _describe(head, sites):
    lines = [f"The test {head}."]
    for site in sites:
        lines.append(f"  {format_size(site.size):>10} in {site.blocks} block{'s' * (site.blocks != 1)}")
        frames = [frame for frame in site.frames if not _is_machinery(frame)]
        lines += [f"             {frame}" for frame in frames[:8]]
        if len(frames) > 8:
            lines.append(f"             ... {len(frames) - 8} more callers")
    return "\n".join(lines)


# ---- all of them -----------------------------------------------------------------------------------------------


class Table:
    """Says at the end which tests held most; where there are workers, it is they who measure."""

    def __init__(self, config):
        self.most = config.getoption("midden_most")
        self.seen = []

    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            self.seen += [(values, report.nodeid) for name, values in report.user_properties if name == "midden"]

    def pytest_terminal_summary(self, terminalreporter):
        if not self.seen or self.most < 1:
            return
        terminalreporter.section("memory, by midden")
        terminalreporter.line("      peak  allocations       bytes  test")
        for (peak, allocations, size), name in sorted(self.seen, reverse=True)[: self.most]:
            terminalreporter.line(f"{format_size(peak):>10}  {allocations:>11,}  {format_size(size):>10}  {name}")
