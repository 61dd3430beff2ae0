#!/bin/sh
# build.sh -- compiles the victims. Run by tests/e2e/conftest.py, or by hand.
# SPDX-License-Identifier: Apache-2.0
#
# usage: build.sh OUT
#
# CC, CXX and RUSTC choose the compilers, so the same script builds for another machine:
#   CC=aarch64-linux-gnu-gcc CXX=aarch64-linux-gnu-g++ RUSTC= tests/victims/build.sh OUT
# Victims that need an allocator's library, C++ or Rust are left out where those are missing (CXX= RUSTC=). Nothing is optimised:
# a compiler may remove a malloc whose block is not used.
set -eu

out=${1:?usage: build.sh OUT}
here=$(cd "$(dirname "$0")" && pwd)
CC=${CC:-cc}
CXX=${CXX-c++}
RUSTC=${RUSTC-rustc}
warnings="-Wall -Wextra -Werror -Wno-unknown-warning-option -Wno-alloc-size-larger-than -Wno-use-after-free"
flags="-O0 -g -D_GNU_SOURCE -I$here/../../include $warnings"
mkdir -p "$out"

# Whether the linker finds a library: links LIBRARY.
links() {
	printf 'int main(void) { return 0; }\n' |
		$CC -x c - -o "$out/.probe" -Wl,--no-as-needed "$1" 2>/dev/null
}

# c_victim SOURCE PROGRAM [LINKER ARGUMENTS]
c_victim() {
	file=$here/$1.c
	program=$out/$2
	shift 2
	$CC -std=gnu11 $flags "$file" -o "$program" -pthread "$@"
}

for source in basic_heap peak_places realloc_chain aligned_forms zero_failing cross_free short_threads \
	temporaries libc_strings plugin_host signal_alloc fork_busy spawn_storm dying steady_work \
	deep_stack block_shapes named_threads show_state churn known_tree one_habit scribbler deny_reads \
	step_by_step tagged four_places own_maps pinned_pages stack_depths signalled; do
	c_victim $source $source -ldl
done

# These set traps that glibc alone has.
if printf '#include <features.h>\n#ifndef __GLIBC__\n#error musl\n#endif\n' | $CC -E - >/dev/null 2>&1; then
	for source in name_services late_destructors realloc_race unknown_blocks other_namespace moved_house \
		empty_arena lost_childless lost_exit lost_joined lost_large lost_reader lost_shapes lost_waiter lost_worker exec_thread loader_locks new_title signal_jump signal_in_realloc fork_in_handler stale_record lock_memory sealed; do
		c_victim $source $source -ldl
	done
	# A compiler takes a malloc for free of what a call does besides.
	c_victim own_malloc own_malloc -ldl -fno-builtin
	# Functions that say when they are entered: nothing inlined, and all that can be.
	c_victim entered entered -finstrument-functions
	c_victim entered entered_fast -finstrument-functions -O2
	c_victim entered entered_mute
fi
if [ -n "$CXX" ]; then
	$CXX -std=c++17 $flags -O2 -finstrument-functions "$here/entered_throw.cpp" -o "$out/entered_throw"
fi

# Speaks the library's own language with the recorder.
c_victim greeter greeter "-I$here/../../src"

# The header's weak references also in a program at a fixed address.
c_victim mark_moments mark_moments
c_victim control_moments control_moments
c_victim control_storm control_storm
case $($CC --version) in
*clang*) ;;
*) c_victim mark_moments mark_moments_fixed -no-pie -fno-pie ;;
esac

for source in new_forms static_objects tag_scopes lost_objects; do
	[ -n "$CXX" ] || continue
	$CXX -std=c++17 -fsized-deallocation $flags "$here/$source.cpp" -o "$out/$source" -pthread
done

for source in plugin_one plugin_two own_allocator between; do
	$CC -std=gnu11 $flags -fPIC -shared "$here/$source.c" -o "$out/$source.so"
done

# An allocator that bears signals, and the program that needs it; both stay together.
$CC -std=gnu11 $flags -fPIC -fno-builtin -shared "$here/bump_allocator.c" -o "$out/libbump_allocator.so"
c_victim signal_anywhere signal_anywhere "$out/libbump_allocator.so" "-Wl,-rpath,\$ORIGIN"

# Variables of a library; both stay together.
$CC -std=gnu11 $flags -fPIC -shared "$here/known_globals_library.c" -o "$out/libknown_globals.so"
c_victim known_globals known_globals "$out/libknown_globals.so" "-Wl,-rpath,\$ORIGIN"

# The allocators: their own interfaces, and ordinary victims linked to them.
for allocator in jemalloc:libjemalloc.so.2 tcmalloc:libtcmalloc_minimal.so.4 mimalloc:libmimalloc.so.2; do
	kind=${allocator%%:*}
	library=-l:${allocator#*:}
	[ -n "$CXX" ] && links "$library" || continue
	for source in basic_heap realloc_chain cross_free own_maps; do
		c_victim $source ${source}_$kind -Wl,--no-as-needed "$library"
	done
	$CXX -std=c++17 -fsized-deallocation $flags "$here/new_forms.cpp" -o "$out/new_forms_$kind" -Wl,--no-as-needed "$library"
	if [ $kind != jemalloc ] || printf '#include <jemalloc/jemalloc.h>\n' | $CC -E - >/dev/null 2>&1; then
		c_victim direct_$kind direct_$kind -Wl,--no-as-needed "$library"
	fi
done
rm -f "$out/.probe"

if [ -n "$RUSTC" ] && command -v "$RUSTC" >/dev/null; then
	"$RUSTC" --edition 2021 -g -C opt-level=0 "$here/rust_heap.rs" -o "$out/rust_heap"
fi
