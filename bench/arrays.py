"""What numeric programs do to the heap: arrays of numpy, with their intermediates. arrays.py ROUNDS; measured by
bench/run.py.

SPDX-License-Identifier: Apache-2.0
"""

import sys

import numpy


def run_round(number):
    table = numpy.arange(60_000, dtype=float).reshape(300, 200) + number
    scaled = (table - table.mean(axis=0)) / (table.std(axis=0) + 1.0)
    rows = [row * 2.0 for row in scaled]
    chosen = scaled[scaled[:, 0] > 0.5]
    return float(numpy.sort(scaled.ravel())[-1] + sum(row[3] for row in rows) + len(chosen))


def main():
    print(sum(run_round(number) for number in range(int(sys.argv[1]))))


main()
