"""Allocates through every shape of Python code, each from a stack that Python itself says. Run by the tests, with the
file for the answer as its argument; works with Python 3.8 and later.

SPDX-License-Identifier: Apache-2.0
"""

import asyncio
import contextlib
import ctypes
import functools
import json
import signal
import sys
import threading

import witness

alloc, alloc_free, call = witness.alloc, witness.alloc_free, witness.call


def recursion(depth):
    if depth % 50 == 0:
        alloc(101)
    if depth:
        recursion(depth - 1)
        if depth % 70 == 0:
            alloc(102)


def numbers(count):
    for i in range(count):
        alloc(201)
        yield i
        alloc(202)


def outer_numbers():
    yield from numbers(2)
    alloc(203)
    try:
        yield 1
    except ValueError:
        alloc(204)
        yield 2
    finally:
        alloc(205)


def generators():
    for _ in numbers(2):
        alloc(206)
    list(outer_numbers())
    g = outer_numbers()
    for _ in range(3):
        next(g)
    g.throw(ValueError())
    g.close()
    sum(alloc(207) or i for i in numbers(2))


async def sleeper(n):
    alloc(301)
    await asyncio.sleep(0)
    alloc(302)
    async with manager():
        await deeper(n)


async def deeper(n):
    if n:
        await deeper(n - 1)
    alloc(303)


@contextlib.asynccontextmanager
async def manager():
    alloc(304)
    yield
    alloc(305)


async def ticks():
    for i in range(2):
        alloc(306)
        yield i


async def asynchronous():
    await asyncio.gather(sleeper(0), sleeper(2))
    async for _ in ticks():
        alloc(307)
    asyncio.get_running_loop().call_soon(alloc, 308)
    asyncio.get_running_loop().call_soon(lambda: alloc(309))
    await asyncio.sleep(0)
    [alloc(310) async for _ in ticks()]


def in_thread(n):
    for _ in range(20):
        alloc(401)
        alloc_free(402)
        recursion(n)


def threads():
    all_of_them = [threading.Thread(target=in_thread, args=(n,)) for n in (0, 3, 9)]
    for t in all_of_them:
        t.start()
    for t in all_of_them:
        t.join()


class Guard:
    def __init__(self):
        alloc(501)

    def __enter__(self):
        alloc(502)
        return self

    def __exit__(self, *_):
        alloc(503)
        return True

    def __del__(self):
        alloc(504)

    def __getattr__(self, name):
        alloc(505)
        return name

    def __lt__(self, other):
        alloc(506)
        return id(self) < id(other)

    @property
    def size(self):
        alloc(507)
        return 1

    @classmethod
    def make(cls):
        alloc(508)
        return cls()

    @staticmethod
    def nothing():
        alloc(509)


def exceptions():
    with Guard():
        alloc(511)
        raise KeyError
    try:
        {}["missing"]
    except KeyError:
        alloc(512)
        try:
            raise ValueError
        except ValueError:
            alloc(513)
    finally:
        alloc(514)


def objects():
    g = Guard.make()
    g.whatever
    g.size
    g.nothing()
    sorted([Guard(), Guard(), Guard()])
    del g


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        alloc(601)
        return function(*arguments)

    return wrapper


@decorated
@functools.lru_cache(maxsize=None)
def cached(n):
    alloc(602)
    return n if n < 2 else cached(n - 1) + cached(n - 2)


def from_c():
    call(lambda: alloc(701))

    def inner():
        alloc(702)
        call(lambda: call(innermost))

    def innermost():
        alloc(703)

    call(inner)
    list(map(alloc, [704, 704]))
    list(map(lambda n: alloc(n), [705]))
    sorted([3, 1, 2], key=lambda n: alloc(706) or n)
    functools.partial(alloc, 707)()
    functools.reduce(lambda a, b: alloc(708) or a, [1, 2, 3])


def by_ctypes():
    comparer = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))

    def compare(a, b):
        alloc(801)
        return a[0] - b[0]

    values = (ctypes.c_int * 4)(3, 1, 4, 1)
    ctypes.CDLL(None).qsort(values, 4, ctypes.sizeof(ctypes.c_int), comparer(compare))


def comprehensions():
    [alloc(901) for _ in range(2)]
    {alloc(902) for _ in range(2)}
    {i: alloc(903) for i in range(2)}
    [[alloc(904) for _ in range(2)] for _ in range(2)]
    (lambda: [alloc(905) for _ in range(1)])()
    [
        alloc(906)
        for _ in range(2)
        if alloc(907) is None
    ]
    alloc(
        908
    )


def compiled():
    exec("alloc(1001)\nfor i in range(2):\n\talloc(1002)")
    eval("alloc(1003)")
    eval("[alloc(1004) for _ in range(2)]")
    exec("def made():\n\n\n\talloc(1005)\nmade()", {"alloc": alloc})
    exec(compile("alloc(1006)", "a text of its own", "exec"))
    # Code objects come and go at the same addresses, with other lines.
    for i in range(300):
        exec("\n" * (i % 7) + "alloc(1007)\n" + "\n" * (i % 3) + "alloc(1008)")
        eval("(lambda: %salloc(1009))()" % ("\n" * (i % 5)))


def grüße():
    alloc(1101)
    exec(compile("alloc(1102)", "/tmp/\u4f60\u597d/\U0001f40d.py", "exec"))
    exec(compile("alloc(1103)", "n" * 300, "exec"))


def on_signal(number, frame):
    alloc(1201)


def signals():
    signal.signal(signal.SIGUSR1, on_signal)
    signal.raise_signal(signal.SIGUSR1)
    alloc(1202)


def traced():
    seen = []
    sys.settrace(lambda frame, event, argument: seen.append(event) or alloc(1301))
    recursion(1)
    sys.settrace(None)
    sys.setprofile(lambda frame, event, argument: None)
    recursion(1)
    sys.setprofile(None)


def main():
    alloc(1)
    recursion(200)
    generators()
    asyncio.run(asynchronous())
    threads()
    exceptions()
    objects()
    cached(5)
    from_c()
    by_ctypes()
    comprehensions()
    compiled()
    grüße()
    signals()
    traced()

    class Body:
        alloc(2)

    with open(sys.argv[1], "w", encoding="utf-8") as answer:
        json.dump(witness.log, answer)


if __name__ == "__main__":
    main()
