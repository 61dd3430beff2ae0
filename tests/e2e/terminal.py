"""A terminal for programs that draw on one: a pty, and as much of a vt100 as they use.

SPDX-License-Identifier: Apache-2.0
"""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

PATIENCE_S = 120
SEQUENCE = re.compile(rb"\x1b\[(\??)([\d;]*)([A-Za-z])|\x1b[()][A-Z0-9]|\x1b[=>78DMEH]|[\x00\x0e\x0f\x07]")


class Terminal:
    """Runs a command in a terminal and knows what the screen shows."""

    def __init__(self, command, rows=24, columns=100, kind="vt100", env=None):
        self.raw = b""
        self.resize_screen(rows, columns)
        self.master, slave = pty.openpty()
        self.set_size(slave, rows, columns)
        self.modes = termios.tcgetattr(slave)
        self.slave = slave
        environment = {**os.environ, "TERM": kind, "LC_ALL": "C.UTF-8", **(env or {})}
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self.rest = b""

    @staticmethod
    def set_size(fd, rows, columns):
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize_screen(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0

    def resize(self, rows, columns):
        self.resize_screen(rows, columns)
        self.set_size(self.master, rows, columns)

    def send(self, text):
        os.write(self.master, text.encode())

    def read(self, seconds):
        """Takes what the command writes within that time; False if it has ended."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            data = os.read(self.master, 65536)
            self.raw += data
            self.take(self.rest + data)
        return self.process.poll() is None

    def lines(self):
        return ["".join(cells).rstrip() for cells in self.cells]

    def text(self):
        return "\n".join(self.lines())

    def wait_for(self, pattern):
        """Waits until the screen shows something, and returns the match."""
        deadline = time.monotonic() + PATIENCE_S
        is_over = False
        while not is_over:
            is_over = not self.read(0.1) or time.monotonic() > deadline
            if is_over:
                self.read(0)
            found = re.search(pattern, self.text(), re.M)
            if found:
                return found
        raise AssertionError(f"{pattern} did not come:\n{self.text()}")

    def wait_for_number(self, pattern, number):
        """Waits until the screen shows it that often: a screen may be read when it is half drawn."""
        deadline = time.monotonic() + PATIENCE_S
        while len(re.findall(pattern, self.text(), re.M)) != number:
            assert time.monotonic() < deadline, f"{pattern} is not there {number} times:\n{self.text()}"
            assert self.read(0.1), f"it has ended:\n{self.text()}"

    def finish(self):
        """Waits for the end; the exit status, or minus the signal."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read(0.1)
        self.read(0)
        return self.process.wait(timeout=1)

    def is_restored(self):
        """Whether the terminal is as it was: its modes, and the cursor shown."""
        return termios.tcgetattr(self.slave) == self.modes

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    # What follows draws.

    def take(self, data):
        at = 0
        while at < len(data):
            found = SEQUENCE.match(data, at)
            if found:
                self.obey(found)
                at = found.end()
            elif data[at] == 0x1B:
                break  # the rest of it has not come yet
            else:
                at = self.take_text(data, at)
                if at < 0:
                    break
        self.rest = data[at:] if 0 <= at < len(data) else b""

    def take_text(self, data, at):
        end = at
        while end < len(data) and data[end] >= 0x20:
            end += 1
        if end > at:
            for character in data[at:end].decode(errors="replace"):
                if self.column < self.columns:
                    self.cells[self.row][self.column] = character
                    self.column += 1
            return end
        if data[at] == 8:
            self.column = max(0, self.column - 1)
        elif data[at] == 13:
            self.column = 0
        elif data[at] == 10:
            self.move_down()
        return at + 1

    def move_down(self):
        if self.row + 1 < self.rows:
            self.row += 1
        else:
            self.cells = self.cells[1:] + [[" "] * self.columns]

    def clear(self, row, start, end):
        for column in range(start, end):
            self.cells[row][column] = " "

    def obey(self, found):
        if found[0] == b"\x1bD":
            self.move_down()
        if not found[3] or found[1]:
            return
        numbers = [int(word or 0) for word in found[2].split(b";")]
        first, what = numbers[0], found[3].decode()
        if what == "H":
            self.row = min(max(first, 1), self.rows) - 1
            self.column = min(max(numbers[1] if len(numbers) > 1 else 1, 1), self.columns) - 1
        elif what in "ABCD":
            down, right = {"A": (-1, 0), "B": (1, 0), "C": (0, 1), "D": (0, -1)}[what]
            self.row = min(max(self.row + down * max(first, 1), 0), self.rows - 1)
            self.column = min(max(self.column + right * max(first, 1), 0), self.columns - 1)
        elif what == "K":
            here = min(self.column + 1, self.columns)
            self.clear(self.row, *{0: (self.column, self.columns), 1: (0, here), 2: (0, self.columns)}[first])
        elif what == "J":
            for row in range(0 if first == 2 else self.row, self.rows):
                self.clear(row, self.column if row == self.row and first == 0 else 0, self.columns)
