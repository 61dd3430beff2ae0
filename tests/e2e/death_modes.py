"""The ways in which tests/victims/dying.c ends, and the status that a shell shows for each.

SPDX-License-Identifier: Apache-2.0
"""

import signal

ENDINGS = {
    "exit": 16,
    "_exit": 17,
    "quick_exit": 18,
    "abort": 128 + signal.SIGABRT,
    "segv": 128 + signal.SIGSEGV,
    "kill": 128 + signal.SIGKILL,
    "term": 128 + signal.SIGTERM,
}
