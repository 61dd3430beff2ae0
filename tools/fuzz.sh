#!/bin/sh
# Runs each fuzzer for the given number of seconds, with its corpus as a start: fuzz.sh BUILD-DIR SECONDS
# SPDX-License-Identifier: Apache-2.0
set -eu
build=$1
seconds=$2
for fuzzer in "$build"/tests/fuzz/fuzz_*; do
	name=${fuzzer##*/fuzz_}
	mkdir -p "$build/found/$name"
	echo "fuzz_$name: $seconds s"
	"$fuzzer" -max_total_time="$seconds" -timeout=20 -print_final_stats=0 -verbosity=0 \
		-artifact_prefix="$build/found/$name-" "$build/found/$name" "tests/fuzz/corpus/$name"
done
echo "no findings"
