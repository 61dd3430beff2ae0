#!/bin/sh
# build.sh -- compiles the torture program and its plugins. Run by run.py.
# SPDX-License-Identifier: Apache-2.0
#
# usage: build.sh OUT
set -eu

out=${1:?usage: build.sh OUT}
here=$(cd "$(dirname "$0")" && pwd)
CC=${CC:-gcc}
CXX=${CXX:-g++}
warn="-Wall -Wextra -Werror"
flags="-std=gnu11 -D_GNU_SOURCE -g1 $warn"
mkdir -p "$out"

# Notes a command for later; all of them then run at once, one per processor.
: >"$out/.jobs"
job() {
	printf '%s\n' "$*" >>"$out/.jobs"
}

run_jobs() {
	xargs -d '\n' -P "$(nproc)" -I COMMAND sh -c COMMAND <"$out/.jobs"
	: >"$out/.jobs"
}

# Other optimisations leave other frames behind.
objects=
for level in account:-O2 sites:-O1 blocks:-O2 paths:-O2 plugins:-O2 threads:-O0 processes:-O2 torture:-Os; do
	name=${level%%:*}
	job "$CC $flags ${level#*:} -fexceptions -c '$here/$name.c' -o '$out/$name.o'"
	objects="$objects $out/$name.o"
done
job "$CXX -std=c++17 -g1 $warn -O2 -c '$here/throws.cpp' -o '$out/throws.o'"
run_jobs
# Bound at once: a signal handler must not find the loader at work in the middle of a call.
job "$CXX $objects '$out/throws.o' -rdynamic -pthread -ldl -Wl,-z,now -o '$out/torture'"
job "$CC $flags -O2 -fno-builtin -fPIC -shared '$here/bump.c' -o '$out/libbump.so'"

number=0
site=24
for form in "-O2" "-O0" "-O3 -fno-omit-frame-pointer" "-Os" "-O2 -Wl,--no-eh-frame-hdr" "-O1 -Wl,-z,lazy"; do
	job "$CC $flags $form -fPIC -shared -DPLUGIN_A=$site -DPLUGIN_B=$((site + 1)) -DPLUGIN_C=$((site + 2))" \
		"-DPLUGIN_D=$((site + 3)) -DPLUGIN_PAD=$number '$here/plugin.c' -o '$out/plugin_$number.so'"
	number=$((number + 1))
	site=$((site + 4))
done
run_jobs
ln -f "$out/torture" "$out/torture_again"
