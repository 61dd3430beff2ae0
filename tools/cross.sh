#!/bin/sh
# Builds libmidden.so and the victims for the other architecture into the given directory, if there is a cross compiler.
# SPDX-License-Identifier: Apache-2.0
set -eu
out=$1
case $(uname -m) in
aarch64) other=x86_64 ;;
*) other=aarch64 ;;
esac
if ! command -v $other-linux-gnu-gcc >/dev/null; then
	echo "no cross compiler for $other: its tests will be skipped"
	exit 0
fi
cmake -G Ninja -S . -B "$out" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$other \
	-DCMAKE_C_COMPILER=$other-linux-gnu-gcc -DMIDDEN_CAPTURE_ONLY=ON -DMIDDEN_TESTS=OFF >/dev/null
cmake --build "$out"
