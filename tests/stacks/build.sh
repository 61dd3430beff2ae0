#!/bin/sh
# build.sh -- compiles the torture set. Run by tests/e2e/stacks, or by hand.
# SPDX-License-Identifier: Apache-2.0
#
# usage: build.sh OUT
#
# CC, CXX, CLANG and CLANGXX choose the compilers; an empty CLANG leaves its builds out. liboracle.so uses
# libunwind where it can be had, and libgcc's unwinder always.
set -eu

out=${1:?usage: build.sh OUT}
here=$(cd "$(dirname "$0")" && pwd)
CC=${CC:-gcc}
CXX=${CXX:-g++}
CLANG=${CLANG-clang}
CLANGXX=${CLANGXX-clang++}
warnings="-D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-command-line-argument -Wno-unknown-warning-option"
flags="-g1 $warnings"
link="-L'$out' -loracle -pthread -ldl '-Wl,-rpath,\$ORIGIN'"
mkdir -p "$out"
machine=$($CC -dumpmachine)

# Whether the compiler $1 accepts all the following flags.
accepts() {
	compiler=$1
	shift
	printf 'int main(void) { return 0; }\n' | $compiler -Werror "$@" -x c - -o "$out/.probe" 2>/dev/null
}


# Notes a command for later; all of them run at once, one per processor.
jobs=$out/.jobs
: >"$jobs"
job() {
	printf '%s\n' "$*" >>"$jobs"
}

# flavour NAME COMPILER FLAGS: the shapes as a shared library, built that way.
flavour() {
	name=$1
	compiler=$2
	shift 2
	accepts "$compiler" "$@" || return 0
	job "$compiler -std=gnu11 $flags $* -fPIC -shared '$here/shapes_set.c' -o '$out/shapes_$name.so' $link"
}

# ---- the oracle, which all others are linked to ------------------------------------------------------------------

unwinder=
if accepts "$CC" -Wl,--no-as-needed -l:libunwind.so.8 -include libunwind.h; then
	unwinder="-DORACLE_LIBUNWIND -l:libunwind.so.8"
fi
$CC -std=gnu11 -O2 $flags -fPIC -shared "$here/oracle.c" -o "$out/liboracle.so" -Wl,-soname,liboracle.so $unwinder

# ---- the shapes, in many flavours --------------------------------------------------------------------------------

for level in O0 O1 O2 O3 Os; do
	for pointer in omit no-omit; do
		flavour gcc-$level-$pointer "$CC" -$level -f$pointer-frame-pointer
		[ -z "$CLANG" ] || flavour clang-$level-$pointer "$CLANG" -$level -f$pointer-frame-pointer
	done
done
for compiler in gcc ${CLANG:+clang}; do
	command=$CC
	[ $compiler = gcc ] || command=$CLANG
	flavour $compiler-noplt "$command" -O2 -fno-plt
	flavour $compiler-now "$command" -O2 -Wl,-z,now
	flavour $compiler-lazy "$command" -O2 -Wl,-z,lazy
	flavour $compiler-protected "$command" -O2 -fstack-protector-all -fstack-clash-protection
	flavour $compiler-leaf "$command" -O2 -fno-omit-frame-pointer -momit-leaf-frame-pointer
	flavour $compiler-exceptions "$command" -O2 -fexceptions -fnon-call-exceptions
	case $machine in
	x86_64*)
		flavour $compiler-avx2 "$command" -O3 -mavx2
		flavour $compiler-realign "$command" -O2 -mstackrealign
		flavour $compiler-cet "$command" -O2 -fcf-protection=full
		flavour $compiler-noredzone "$command" -O2 -mno-red-zone
		flavour $compiler-pg "$command" -O2 -pg
		;;
	aarch64*)
		flavour $compiler-pac "$command" -O2 -mbranch-protection=standard
		flavour $compiler-pac-leaf "$command" -O2 -mbranch-protection=pac-ret+leaf+b-key
		flavour $compiler-pac-fp "$command" -O1 -mbranch-protection=pac-ret -fno-omit-frame-pointer
		;;
	esac
done
case $machine in
x86_64*)
	flavour gcc-accumulate "$CC" -O2 -maccumulate-outgoing-args
	flavour gcc-pusharg "$CC" -O2 -mno-accumulate-outgoing-args -mpush-args
	flavour gcc-wideboundary "$CC" -O2 -mpreferred-stack-boundary=5
	;;
esac

for kind in pie no-pie; do
	job "$CC -std=gnu11 -O2 $flags -$kind -DSHAPES_NESTED '$here/shapes.c' '$here/shapes_set.c' -rdynamic" \
		"-Wl,-z,execstack -o '$out/shapes_$kind' $link"
done

# ---- programs ----------------------------------------------------------------------------------------------------

# c_program NAME: programs NAME.BUILD, one for each of a few builds.
c_program() {
	for level in O0 O2 Os; do
		job "$CC -std=gnu11 -$level $flags '$here/$1.c' -o '$out/$1.gcc-$level' $link"
	done
	[ -z "$CLANG" ] || job "$CLANG -std=gnu11 -O2 $flags '$here/$1.c' -o '$out/$1.clang-O2' $link"
}

for source in deep contexts signals thread_ends; do
	c_program $source
done

for level in O0 O1 O2 O3 Os; do
	job "$CXX -std=c++17 -$level $flags '$here/throws.cpp' -o '$out/throws.gcc-$level' $link"
	[ -z "$CLANG" ] || job "$CLANGXX -std=c++17 -$level $flags -fomit-frame-pointer '$here/throws.cpp'" \
		"-o '$out/throws.clang-$level' $link"
done

# ---- libraries that come and go ----------------------------------------------------------------------------------

mkdir -p "$out/gconv"
: >"$out/gconv/gconv-modules"
pad=40
for name in one two three four five; do
	job "$CC -std=gnu11 -O2 -fPIC -shared $flags -DSWAP_NAME=$name -DSWAP_PAD=$pad '$here/swap_library.c'" \
		"-o '$out/swap_$name.so' $link"
	charset=MIDDEN-$(echo $name | tr a-z A-Z)
	job "$CC -std=gnu11 -O2 -fPIC -shared $flags -DSWAP_PAD=$pad '$here/charset_library.c'" \
		"-o '$out/gconv/$charset.so' $link"
	printf 'module %s// INTERNAL %s 1\n' "$charset" "$charset" >>"$out/gconv/gconv-modules"
	pad=$((pad + 16))
done
job "$CC -std=gnu11 -O2 $flags '$here/swaps.c' -o '$out/swaps' $link"
job "$CC -std=gnu11 -O2 $flags '$here/charsets.c' -o '$out/charsets' $link"

for library in libearly early_plugin; do
	$CC -std=gnu11 -O2 -fPIC -shared $flags "$here/early_library.c" -o "$out/$library.so" -L"$out" -loracle \
		'-Wl,-rpath,$ORIGIN'
done
job "$CXX -std=c++17 -O2 $flags '$here/early.cpp' -o '$out/early' -L'$out' -learly $link -Wl,-z,lazy"

# ---- without unwind information ----------------------------------------------------------------------------------

silent="-fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions"
for level in O0 O2; do
	for kind in fp bare; do
		pointer=$([ $kind = fp ] && echo -fno-omit-frame-pointer || echo -fomit-frame-pointer)
		$CC -std=gnu11 -$level $flags -g0 $silent $pointer -DUNTOLD_KIND=$kind -c "$here/untold_links.c" \
			-o "$out/untold_$kind.$level.o"
	done
	job "$CC -std=gnu11 -$level $flags '$here/untold.c' '$here/untold_asm.S' '$out/untold_fp.$level.o'" \
		"'$out/untold_bare.$level.o' -o '$out/untold.gcc-$level' $link"
done

# ---- all at once -------------------------------------------------------------------------------------------------

xargs -d '\n' -P "$(nproc)" -I COMMAND sh -c COMMAND <"$jobs"
rm -f "$out/.probe" "$jobs"
