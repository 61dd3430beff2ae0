"""What a Python program can tell the heap profiler that may be watching it.

Every call does nothing, and says so, where libmidden.so is neither preloaded nor linked.

    import midden

    with midden.tag("load"):
        load()
    midden.snapshot("loaded")
    with midden.measured() as part:
        work()
    print(part.peak_bytes)

SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import ctypes
import importlib
import os

ALL_THREADS, THIS_THREAD = 0, 1
AT_LEAST, AT_MOST = 0, 1

FIGURES = (
    "allocations",
    "frees",
    "allocated_bytes",
    "freed_bytes",
    "live_bytes",
    "live_blocks",
    "peak_bytes",
    "peak_blocks",
    "temporary_allocations",
    "reallocations",
    "foreign_frees",
    "untracked_frees",
    "threads",
    "stacks",
    "elapsed_ns",
)


class Figures(ctypes.Structure):
    """The figures of a recording, or of one thread in it. Blocks live are allocations less frees."""

    _fields_ = [(name, ctypes.c_uint64) for name in FIGURES]

    def as_dict(self):
        return {name: getattr(self, name) for name in FIGURES}

    def __repr__(self):
        return "Figures(" + ", ".join(f"{name}={value}" for name, value in self.as_dict().items()) + ")"


_VISITOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64)

# Those that wait for the recorder let other Python threads run; the others are too short for that.
_quick = ctypes.PyDLL(None)
_slow = ctypes.CDLL(None)


def _find(library, name, result, *arguments):
    """A function of libmidden.so, or None where there is none."""
    function = getattr(library, name, None)
    if function is not None:
        function.restype = result
        function.argtypes = arguments
    return function


_int, _u64, _text = ctypes.c_int, ctypes.c_uint64, ctypes.c_char_p
_take_snapshot = _find(_quick, "midden_take_snapshot", None, _text)
_set_recording = _find(_quick, "midden_set_recording", _int, _int, _int)
_is_recording = _find(_quick, "midden_is_recording", _int)
_clear_figures = _find(_quick, "midden_clear_figures", _int)
_write_profile = _find(_slow, "midden_write_profile", _int, _text)
_read_figures = _find(_slow, "midden_read_figures", _int, ctypes.POINTER(Figures), _u64, _int)
_list_figures = _find(_slow, "midden_list_figures", _int, _VISITOR, ctypes.c_void_p)
_set_stack_threshold = _find(_quick, "midden_set_stack_threshold", _int, _u64, _int)
_set_sample_period = _find(_quick, "midden_set_sample_period", _int, _u64)
_set_thread_name = _find(_quick, "midden_set_thread_name", _int, _text)
_read_memory = _find(_quick, "midden_read_memory", _int, ctypes.POINTER(_u64), ctypes.POINTER(_u64))
_push_tag = _find(_quick, "midden_push_tag", _u64, _text)
_leave_tag = _find(_quick, "midden_leave_tag", None, _u64)


def _done(function, *arguments):
    return function is not None and function(*arguments) == 0


# ---- control ---------------------------------------------------------------------------------------------------


def is_loaded():
    """Whether libmidden.so is in this process. It may be switched off all the same."""
    return _take_snapshot is not None


def is_started():
    """Whether the calling thread's allocations are being recorded at this moment."""
    return _is_recording is not None and _is_recording() != 0


def start(scope=ALL_THREADS):
    """Recording starts, for the calling thread or for all; the last word holds. False: nothing is recorded."""
    return _done(_set_recording, 1, scope)


def stop(scope=ALL_THREADS):
    """Recording stops. Blocks that were recorded are still seen to go."""
    return _done(_set_recording, 0, scope)


def clear():
    """Figures start over from now, as if the blocks that are live had all been allocated at this moment."""
    return _done(_clear_figures)


def snapshot(name=""):
    """Has the recorder keep what is live at this moment under a name of at most 95 bytes."""
    if _take_snapshot is not None:
        _take_snapshot(name.encode())


def write(path):
    """Writes the profile so far to a file, and waits for it. The recording goes on. False: it was not written."""
    return _done(_write_profile, os.fsencode(path))


def set_threshold(size, direction=AT_LEAST):
    """From now on stacks are kept for blocks of at least (or at most) so many bytes."""
    return _done(_set_stack_threshold, size, direction)


def set_sampling(size):
    """In sampling mode: one block is sampled in so many bytes on average. False in any other mode."""
    return _done(_set_sample_period, size)


def name_thread(name):
    """What reports call this thread; at most 15 bytes count."""
    return _done(_set_thread_name, name.encode())


# ---- figures ---------------------------------------------------------------------------------------------------


def summary(scope=ALL_THREADS):
    """The Figures as of the moment of the call, exactly; None: nothing is recorded."""
    figures = Figures()
    done = _done(_read_figures, ctypes.byref(figures), ctypes.sizeof(figures), scope)
    return figures if done else None


def collect():
    """The same as a flat dictionary: all threads', the calling one's ("thread."), and the process's memory."""
    found = {}

    @_VISITOR
    def visit(_context, name, value):
        found[name.decode()] = value

    return found if _done(_list_figures, visit, None) else {}


def _memory():
    size, rss = _u64(), _u64()
    return (size.value, rss.value) if _done(_read_memory, ctypes.byref(size), ctypes.byref(rss)) else (0, 0)


def vm_size():
    """The process's address space in bytes; 0 without midden."""
    return _memory()[0]


def vm_rss():
    """What of it is in memory."""
    return _memory()[1]


# ---- scopes: `with` and decorators -----------------------------------------------------------------------------


class tag(contextlib.ContextDecorator):
    """The calling thread is in a tag: `with midden.tag("load"):`, or `@midden.tag("load")` on a function."""

    def __init__(self, name):
        self._name = name.encode()
        self._handles = []

    def _recreate_cm(self):
        return type(self)(self._name.decode())

    def __enter__(self):
        self._handles.append(_push_tag(self._name) if _push_tag is not None else 0)
        return self

    def __exit__(self, *_exception):
        handle = self._handles.pop()
        if _leave_tag is not None:
            _leave_tag(handle)
        return False


class recorded(contextlib.ContextDecorator):
    """Recording is on inside, and as it was for the calling thread afterwards."""

    _on = True

    def __init__(self):
        self._before = []

    def _recreate_cm(self):
        return type(self)()

    def __enter__(self):
        self._before.append(is_started())
        (start if self._on else stop)(THIS_THREAD)
        return self

    def __exit__(self, *_exception):
        (start if self._before.pop() else stop)(THIS_THREAD)
        return False


class unrecorded(recorded):
    """Recording is off inside."""

    _on = False


# ---- what needs more of Python, and so is imported when it is asked for ----------------------------------------

_LATER = {
    "measured": "measure",
    "Measurement": "measure",
    "Profile": "profile",
    "Site": "profile",
    "Frame": "profile",
    "MiddenError": "profile",
}


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)


def load_ipython_extension(shell):
    """%load_ext midden"""
    importlib.import_module(f"{__name__}.magic").load_ipython_extension(shell)
