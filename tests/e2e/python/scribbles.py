"""Allocates while frames and code objects of its own stack are damaged, puts them right and goes on. For Python 3.11,
whose structures it knows. Run by the tests.

The damaged frames are those of callers: the interpreter itself does not look at them before it returns to them.

SPDX-License-Identifier: Apache-2.0
"""

import ctypes
import gc
import mmap
import random
import sys

WORD = 8
FRAME_OF_OBJECT = 24  # PyFrameObject.f_frame
FRAME_WORDS = 10  # _PyInterpreterFrame up to its variables
CODE_WORD, PREVIOUS_WORD = 4, 6
PAGE = mmap.PAGESIZE


def word_at(address):
    return ctypes.c_uint64.from_address(address)


def allocate():
    made.append(bytearray(3000))


def make_edge():
    """The address of a page with noise in it; what follows it may not be read."""
    libc = ctypes.CDLL(None)
    pages = mmap.mmap(-1, 2 * PAGE)
    pages[:PAGE] = random.Random(1).randbytes(PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    assert libc.mprotect(ctypes.c_void_p(address + PAGE), ctypes.c_size_t(PAGE), 0) == 0
    kept.append(pages)
    return address


def bad_values(own):
    edge = make_edge()
    near = [edge, edge + 1, edge + PAGE - WORD, edge + PAGE - 1, edge + PAGE]
    far = [0, 1, 7, PAGE, 1 << 47, 1 << 63, (1 << 64) - 1, (1 << 64) - WORD]
    return near + far + [own, own + WORD, id(None), id("text"), id(random)]


def with_value(address, value):
    cell = word_at(address)
    right = cell.value
    cell.value = value
    allocate()
    cell.value = right


def damage_frame(address):
    """Each word of a frame with each bad value."""
    values = bad_values(address)
    for word in range(FRAME_WORDS):
        for value in values:
            with_value(address + word * WORD, value)


def damage_code(address):
    """A copy of the frame's code with each word damaged in turn."""
    code = word_at(address + CODE_WORD * WORD).value
    size = type(allocate.__code__).__basicsize__
    copy = ctypes.create_string_buffer(size)
    at = ctypes.addressof(copy)
    values = bad_values(at)
    for word in range(size // WORD):
        for value in values:
            ctypes.memmove(copy, code, size)
            word_at(at + word * WORD).value = value
            with_value(address + CODE_WORD * WORD, at)


def damage_chain(address):
    """Frames of noise, and frames that call each other in a circle."""
    noise = random.Random(2)
    fakes = [ctypes.create_string_buffer(noise.randbytes(16 * WORD)) for _ in range(8)]
    at = [ctypes.addressof(fake) for fake in fakes]
    for fake in at:
        with_value(address + PREVIOUS_WORD * WORD, fake)
    for fake, caller in zip(at, at[1:] + at[:1]):
        ctypes.memmove(fake, address, 16 * WORD)
        word_at(fake + PREVIOUS_WORD * WORD).value = caller
    for fake in at:
        with_value(address + PREVIOUS_WORD * WORD, fake)


def caller(damage):
    frame = sys._getframe()
    damage(word_at(id(frame) + FRAME_OF_OBJECT).value)


gc.disable()
made, kept = [], []
for damage in (damage_frame, damage_code, damage_chain):
    caller(damage)
print(len(made))
