#!/bin/sh
# build.sh -- compiles the torture set. Run by tests/e2e/stacks, or by hand.
# SPDX-License-Identifier: Apache-2.0
#
# usage: build.sh OUT
#
# CC, CXX, CLANG and CLANGXX choose the compilers; without clang its builds are left out. liboracle.so uses
# libunwind where it can be had, and libgcc's unwinder always. LEVELS are the optimisations. For another machine:
#   CC=aarch64-linux-gnu-gcc CXX=aarch64-linux-gnu-g++ CLANG= LEVELS="O0 O2" tests/stacks/build.sh OUT
set -eu

out=${1:?usage: build.sh OUT}
here=$(cd "$(dirname "$0")" && pwd)
CC=${CC:-gcc}
CXX=${CXX:-g++}
CLANG=${CLANG-clang}
CLANGXX=${CLANGXX-clang++}
READELF=${READELF:-readelf}
LEVELS=${LEVELS:-O0 O1 O2 O3 Os}
command -v ${CLANG:-none} >/dev/null && command -v ${CLANGXX:-none} >/dev/null || CLANG=
mkdir -p "$out"

flags="-g1 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-command-line-argument -Wno-unknown-warning-option"
link="-L'$out' -loracle -pthread -ldl '-Wl,-rpath,\$ORIGIN'"
gcc="$CC -std=gnu11 $flags"
clang=${CLANG:+$CLANG -std=gnu11 $flags}
machine=$($CC -dumpmachine)

# accepts COMMAND: whether it compiles and links a program.
accepts() {
	printf 'int main(void) { return 0; }\n' | eval "$1 -x c - -o '$out/.probe'" 2>/dev/null
}

# Notes a command for later; all of them then run at once, one per processor.
: >"$out/.jobs"
job() {
	printf '%s\n' "$*" >>"$out/.jobs"
}

# ---- the oracle, which all others are linked to ----------------------------------------------------

unwinder=
if accepts "$gcc -Wl,--no-as-needed -l:libunwind.so.8 -include libunwind.h"; then
	unwinder="-DORACLE_LIBUNWIND -l:libunwind.so.8"
fi
# Its own frames leave the frame pointer alone, so that it matters to a walk right from where it starts.
case $machine in
x86_64*) alone=-ffixed-rbp ;;
*) alone= ;;
esac
$gcc -O2 $alone -fPIC -shared "$here/oracle.c" -o "$out/liboracle.so" -Wl,-soname,liboracle.so $unwinder

# ---- the shapes, in many flavours ------------------------------------------------------------------

# flavour NAME COMPILER FLAGS: the shapes as a shared library, built that way.
flavour() {
	job "$2 $3 -fPIC -shared '$here/shapes_set.c' -o '$out/shapes_$1.so' $link"
}

# special NAME FLAGS: the same with both compilers, if they know the flags.
special() {
	if accepts "$gcc $2"; then
		flavour "gcc-$1" "$gcc" "$2"
	fi
	if [ -n "$clang" ] && accepts "$clang $2"; then
		flavour "clang-$1" "$clang" "$2"
	fi
}

for level in $LEVELS; do
	for pointer in omit no-omit; do
		flavour gcc-$level-$pointer "$gcc" "-$level -f$pointer-frame-pointer"
		[ -z "$clang" ] || flavour clang-$level-$pointer "$clang" "-$level -f$pointer-frame-pointer"
	done
done
special noplt "-O2 -fno-plt"
special now "-O2 -Wl,-z,now"
special lazy "-O2 -Wl,-z,lazy"
special protected "-O2 -fstack-protector-all -fstack-clash-protection"
special leaf "-O2 -fno-omit-frame-pointer -momit-leaf-frame-pointer"
special exceptions "-O2 -fexceptions -fnon-call-exceptions"
case $machine in
x86_64*)
	special avx2 "-O3 -mavx2"
	special realign "-O2 -mstackrealign"
	special cet "-O2 -fcf-protection=full"
	special noredzone "-O2 -mno-red-zone"
	special pg "-O2 -pg"
	special accumulate "-O2 -maccumulate-outgoing-args"
	special push "-O2 -mno-accumulate-outgoing-args -mpush-args"
	special boundary "-O2 -mpreferred-stack-boundary=5"
	;;
aarch64*)
	special pac "-O2 -mbranch-protection=standard"
	special pac-leaf "-O2 -mbranch-protection=pac-ret+leaf+b-key"
	special pac-pointer "-O1 -mbranch-protection=pac-ret -fno-omit-frame-pointer"
	special pac-none "-O0 -mbranch-protection=pac-ret"
	;;
esac

for kind in pie no-pie; do
	job "$gcc -O2 -$kind -DSHAPES_NESTED '$here/shapes.c' '$here/shapes_set.c' -rdynamic -Wl,-z,execstack" \
		"-o '$out/shapes_$kind' $link"
done

# ---- programs --------------------------------------------------------------------------------------

for name in deep slides contexts signals thread_ends above; do
	for level in O0 O2 Os; do
		job "$gcc -$level '$here/$name.c' -o '$out/$name.gcc-$level' $link"
	done
	[ -z "$clang" ] || job "$clang -O2 '$here/$name.c' -o '$out/$name.clang-O2' $link"
done

for level in $LEVELS; do
	job "$CXX -std=c++17 $flags -$level '$here/throws.cpp' -o '$out/throws.gcc-$level' $link"
	[ -z "$clang" ] || job "$CLANGXX -std=c++17 $flags -$level -fomit-frame-pointer '$here/throws.cpp'" \
		"-o '$out/throws.clang-$level' $link"
done

# ---- libraries that come and go --------------------------------------------------------------------

mkdir -p "$out/gconv"
: >"$out/gconv/gconv-modules"
pad=40
for name in one two three four five; do
	job "$gcc -O2 -fPIC -shared -DSWAP_NAME=$name -DSWAP_PAD=$pad '$here/swap_library.c'" \
		"-o '$out/swap_$name.so' $link"
	job "$gcc -O2 -fPIC -shared -DROOM=$((pad * 512 + 4096)) '$here/rebuilt_library.c'" \
		"-o '$out/rebuilt_$name.so' $link -Wl,--build-id=none"
	charset=MIDDEN-$(echo $name | tr a-z A-Z)
	job "$gcc -O2 -fPIC -shared -DSWAP_PAD=$pad '$here/charset_library.c' -o '$out/gconv/$charset.so' $link"
	printf 'module %s// INTERNAL %s 1\n' "$charset" "$charset" >>"$out/gconv/gconv-modules"
	pad=$((pad + 16))
done
job "$gcc -O2 '$here/swaps.c' -o '$out/swaps' $link"
job "$gcc -O2 '$here/rebuilt.c' -o '$out/rebuilt' $link"
job "$gcc -O2 '$here/charsets.c' -o '$out/charsets' $link"

for library in libearly early_plugin; do
	$gcc -O2 -fPIC -shared "$here/early_library.c" -o "$out/$library.so" -L"$out" -loracle '-Wl,-rpath,$ORIGIN'
done
job "$CXX -std=c++17 $flags -O2 '$here/early.cpp' -o '$out/early' -learly $link -Wl,-z,lazy"

# ---- without unwind information --------------------------------------------------------------------

silent="-g0 -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions"

# untold NAME FLAGS: a program of code with unwind information, without any, and with frame records alone.
untold() {
	for kind in fp bare; do
		pointer=$([ $kind = fp ] && echo no-omit || echo omit)
		$gcc $2 $silent -f$pointer-frame-pointer -DUNTOLD_KIND=$kind -c "$here/untold_links.c" \
			-o "$out/untold_$kind.$1.o"
	done
	job "$gcc $2 '$here/untold.c' '$here/untold_asm.S' '$out/untold_fp.$1.o' '$out/untold_bare.$1.o'" \
		"-o '$out/untold.$1' $link"
}

untold gcc-O0 -O0
untold gcc-O2 -O2

# ---- with return addresses that are signed ---------------------------------------------------------

case $machine in
aarch64*)
	pac="-O2 -mbranch-protection=standard"
	for name in deep slides thread_ends signed; do
		job "$gcc $pac '$here/$name.c' -o '$out/$name.pac-O2' $link"
	done
	job "$gcc -O2 -mbranch-protection=pac-ret+leaf+b-key '$here/signed.c' -o '$out/signed.pac-leaf' $link"
	job "$CXX -std=c++17 $flags $pac '$here/throws.cpp' -o '$out/throws.pac-O2' $link"
	untold pac-O2 "$pac"
	;;
esac

# ---- without the table that finds unwind information -----------------------------------------------

for level in O0 O2; do
	job "$gcc -$level -fPIC -shared '$here/shapes_set.c' -o '$out/headless_$level.so' $link -Wl,--no-eh-frame-hdr"
	job "$gcc -$level -fPIC -shared '$here/shapes_set.c' -o '$out/untabled_$level.so' $link"
done
for kind in pie no-pie; do
	job "$gcc -O2 -$kind -DSHAPES_NESTED '$here/shapes.c' '$here/shapes_set.c' -rdynamic -Wl,-z,execstack" \
		"-o '$out/headless_$kind' $link -Wl,--no-eh-frame-hdr"
done
for name in one two; do
	job "$gcc -O2 -fPIC -shared -DSWAP_NAME=$name -DSWAP_PAD=$pad '$here/swap_library.c'" \
		"-o '$out/headless_swap_$name.so' $link -Wl,--no-eh-frame-hdr"
	pad=$((pad + 16))
done

# ---- all at once -----------------------------------------------------------------------------------

xargs -d '\n' -P "$(nproc)" -I COMMAND sh -c COMMAND <"$out/.jobs"
rm -f "$out/.probe" "$out/.jobs"

# A header that says it has no table: its count and its rows are omitted (DW_EH_PE_omit).
for level in O0 O2; do
	offset=$($READELF -SW "$out/untabled_$level.so" | sed -n 's/.* \.eh_frame_hdr *[A-Z]* *[0-9a-f]* *\([0-9a-f]*\) .*/\1/p')
	printf '\377\377' | dd of="$out/untabled_$level.so" bs=1 seek=$((0x$offset + 2)) conv=notrunc status=none
done
