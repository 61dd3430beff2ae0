"""What a part of a program allocates: `with midden.measured() as part:` or `@midden.measured()`.

SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import functools
import gc
import os
import tempfile
import threading

from .profile import Profile

_BEGIN = "midden.measured"
_OWN = os.path.dirname(os.path.abspath(__file__))
_running = threading.Lock()


def _control():
    import midden

    return midden


def format_size(size):
    """1536 as "1.50 KiB"."""
    value, units = float(size), ("B", "KiB", "MiB", "GiB", "TiB")
    for unit in units:
        if abs(value) < 1024 or unit == units[-1]:
            break
        value /= 1024
    return f"{size} B" if unit == "B" else f"{value:.2f} {unit}"


def _is_own(site):
    """Whether it is of what begins or ends a part, by whatever that has called."""
    if site.where().file.startswith(_OWN):
        return True
    edges = (name for frame in site.frames if frame.file.startswith(_OWN) for name in frame.function.split("."))
    return not {"__enter__", "__exit__"}.isdisjoint(edges)


class Measurement:
    """The figures of a part, once it has ended; `is_recorded` is False where midden is not there, and all are 0."""

    def __init__(self):
        self.is_recorded = False
        self.peak_bytes = 0  # the most that was held at once, more than when it began
        self.leaked_bytes = 0  # held at its end and not when it began; negative: it has freed more
        self.leaked_blocks = 0
        self.allocations = 0
        self.allocated_bytes = 0
        self.elapsed_ns = 0
        self.peak_sites = []  # Sites of what was held at that moment, the largest first
        self.leaked_sites = []

    def __repr__(self):
        if not self.is_recorded:
            return "Measurement(not recorded)"
        return (
            f"Measurement(peak {format_size(self.peak_bytes)}, leaked {format_size(self.leaked_bytes)}, "
            f"{self.allocations} allocations of {format_size(self.allocated_bytes)})"
        )


class measured(contextlib.ContextDecorator):
    """Measures what happens inside, by all threads; or by the calling one, with scope=midden.THIS_THREAD.

    The recording starts over (midden.clear), and is switched on inside if it was off: with `midden record --delayed`
    parts that are measured are all that is recorded. `sites` asks for so many stacks of the peak and of what stays.
    Of a decorated function the last call is in its attribute `measurement`. Measuring does not nest.
    """

    def __init__(self, sites=0, scope=0):
        self._sites, self._scope = sites, scope
        self.result = None

    def __call__(self, function):
        @functools.wraps(function)
        def inner(*arguments, **named):
            with type(self)(self._sites, self._scope) as part:
                inner.measurement = part
                return function(*arguments, **named)

        inner.measurement = None
        return inner

    def __enter__(self):
        midden = _control()
        if not _running.acquire(blocking=False):
            raise RuntimeError("a part is being measured already: measuring does not nest")
        self.result = Measurement()
        gc.collect()
        self._was_started = midden.is_started()
        if not self._was_started:
            midden.start()
        midden.clear()
        midden.snapshot(_BEGIN)
        self._before = midden.summary(self._scope)
        return self.result

    def __exit__(self, *_exception):
        midden = _control()
        try:
            peak = midden.summary(self._scope)  # before what the collection frees is gone
            gc.collect()
            after = midden.summary(self._scope)
            if self._before is not None and after is not None:
                self._fill(peak, after)
                self._fill_sites(midden, self._choose_ends(self.result))
            if not self._was_started:
                midden.stop()
        finally:
            _running.release()
        return False

    def _fill(self, peak, after):
        before, result = self._before, self.result
        result.is_recorded = True
        result.peak_bytes = max(0, peak.peak_bytes - before.live_bytes)
        result.leaked_bytes = after.live_bytes - before.live_bytes
        result.leaked_blocks = after.live_blocks - before.live_blocks
        result.allocations = peak.allocations - before.allocations
        result.allocated_bytes = peak.allocated_bytes - before.allocated_bytes
        result.elapsed_ns = peak.elapsed_ns - before.elapsed_ns

    def _choose_ends(self, result):
        """Which Sites of the result are wanted, and the moments that they are of."""
        return {"peak_sites": "@peak", "leaked_sites": "@end"} if self._sites else {}

    def _fill_sites(self, midden, ends):
        if not ends:
            return
        handle, path = tempfile.mkstemp(suffix=".mdn")
        os.close(handle)
        try:
            if midden.write(path):
                profile = Profile(path)
                for name, end in ends.items():
                    setattr(self.result, name, self._find_sites(profile, end))
        finally:
            os.unlink(path)

    def _find_sites(self, profile, end):
        """The largest Sites, without those of this module, which has to allocate a little itself."""
        sites = profile.growth(f"@snapshot:{_BEGIN}", end)
        return [site for site in sites if not _is_own(site)][: self._sites]
