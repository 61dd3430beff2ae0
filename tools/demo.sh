#!/bin/sh
# Records the bundled sample program and shows its report. Called by `make demo`.
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/.."
work=build/demo
mkdir -p $work
cc -g -O1 -pthread -o $work/orchard examples/orchard.c
echo
echo "\$ midden record -o $work/orchard.mdn $work/orchard"
build/midden record -o $work/orchard.mdn $work/orchard
echo
echo "\$ midden report --depth 4 $work/orchard.mdn"
build/midden report --color=never --depth 4 $work/orchard.mdn
echo
echo "\$ midden report --leaks --depth 4 $work/orchard.mdn"
build/midden report --color=never --leaks --depth 4 $work/orchard.mdn
echo
echo "The demo worked. Next: build/midden record YOUR-PROGRAM"
