"""Allocates from stacks that other code than the interpreter's arranges: greenlets, interpreters inside of this one,
numpy, imports. Run by the tests, with the file for the answer as its argument; what is not installed is left out, and
what was there is said on stdout.

SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import importlib
import json
import pathlib
import sys
import tempfile
import threading
import weakref

import witness

alloc, alloc_free, call = witness.alloc, witness.alloc_free, witness.call


def find(*names):
    for name in names:
        with contextlib.suppress(ImportError):
            return importlib.import_module(name)
    return None


def greenlets():
    greenlet = find("greenlet")
    if not greenlet:
        return False

    def ping(depth):
        if depth:
            ping(depth - 1)
        alloc(2001)
        other.switch()
        alloc(2002)

    def pong():
        alloc(2003)
        call(lambda: first.switch())
        alloc(2004)

    first, other = greenlet.greenlet(ping), greenlet.greenlet(pong)
    first.switch(3)
    alloc(2005)
    inner = greenlet.greenlet(lambda: alloc(2006) or greenlet.getcurrent().parent.switch() or alloc(2007))
    inner.switch()
    alloc(2008)
    inner.switch()
    return True


INSIDE = """
import witness
def inside(n):
    if n:
        inside(n - 1)
    witness.alloc(2101)
inside(2)
[witness.alloc(2102) for _ in range(2)]
"""


def interpreters():
    module = find("_interpreters", "_xxsubinterpreters")
    if not module or sys.version_info[:2] == (3, 12):  # which crashes on objects that outlive their interpreter
        return False
    if sys.version_info >= (3, 13):
        one = module.create("legacy")
    else:
        one = module.create(isolated=False) if sys.version_info >= (3, 9) else module.create()
    alloc(2103)
    failed = module.run_string(one, INSIDE)
    alloc(2104)
    module.destroy(one)
    alloc(2105)
    return not failed


def numbers():
    numpy = find("numpy")
    if not numpy:
        return False

    def twice(x):
        alloc(2201)
        return 2 * x

    numpy.vectorize(twice, otypes=[int])(numpy.arange(2))
    numpy.fromiter((alloc(2202) or i for i in range(2)), dtype=int)
    numpy.frompyfunc(lambda x: alloc(2203), 1, 1)(numpy.array([1, 2]))
    numpy.apply_along_axis(lambda row: alloc(2204) or row, 0, numpy.ones((2, 2)))
    return True


MODULE = """
import witness
witness.alloc(2301)
def on_import():
    witness.alloc(2302)
on_import()
class Body:
    witness.alloc(2303)
"""


def imports():
    with tempfile.TemporaryDirectory() as directory:
        package = pathlib.Path(directory) / "packed"
        package.mkdir()
        (package / "__init__.py").write_text("from packed import inner\n")
        (package / "inner.py").write_text(MODULE)
        sys.path.insert(0, directory)
        import packed

        importlib.reload(packed.inner)
        sys.path.remove(directory)
    return True


class Meta(type):
    def __new__(cls, *arguments):
        alloc(2401)
        return super().__new__(cls, *arguments)

    def __call__(cls):
        alloc(2402)
        return super().__call__()


class Descriptor:
    def __get__(self, owner, kind):
        alloc(2403)

    def __set__(self, owner, value):
        alloc(2404)

    def __set_name__(self, owner, name):
        alloc(2405)


class Made(metaclass=Meta):
    one = Descriptor()

    def __init_subclass__(cls):
        alloc(2406)

    def __init__(self):
        alloc(2407)

    def __iter__(self):
        alloc(2408)
        return iter(())

    def __hash__(self):
        alloc(2409)
        return 1

    def __eq__(self, other):
        alloc(2410)
        return True

    def __reduce__(self):
        alloc(2411)
        return (Made, ())

    def __bool__(self):
        alloc(2412)
        return True


def slots():
    class Sub(Made):
        pass

    made = Sub()
    made.one = made.one
    list(made)
    {made: 1}[Sub()]
    import copy

    copy.copy(made)
    if made:
        alloc(2413)
    weakref.finalize(made, alloc, 2414)
    del made
    return True


@contextlib.contextmanager
def managed():
    alloc(2501)
    try:
        yield
    except ValueError:
        alloc(2502)
    finally:
        alloc(2503)


def groups():
    with managed():
        raise ValueError
    with contextlib.ExitStack() as stack:
        stack.callback(alloc, 2504)
        stack.callback(lambda: alloc(2505))
    local = threading.local()
    local.x = 1
    timer = threading.Timer(0, lambda: alloc_free(2506))
    timer.start()
    timer.join()
    return True


def main():
    parts = (greenlets, interpreters, numbers, imports, slots, groups)
    print(" ".join(part.__name__ for part in parts if part()))
    with open(sys.argv[1], "w", encoding="utf-8") as answer:
        json.dump(witness.log, answer)


if __name__ == "__main__":
    main()
