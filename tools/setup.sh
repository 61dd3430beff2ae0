#!/bin/sh
# Installs the Debian packages that are missing: setup.sh build [test] [portability] [machine] [bench] [programs]
# As root or through sudo; otherwise prints the one line to run.
# SPDX-License-Identifier: Apache-2.0
set -eu

build="gcc make cmake ninja-build pkg-config libdw-dev libelf-dev libzstd-dev libxxhash-dev libiberty-dev
       zlib1g-dev libdeflate-dev libmicrohttpd-dev libncurses-dev"
case $(dpkg --print-architecture 2>/dev/null || uname -m) in
arm64 | aarch64)
	cross="gcc-x86-64-linux-gnu g++-x86-64-linux-gnu libc6-dev-amd64-cross"
	machine="qemu-system-x86 cpio"
	;;
*)
	cross="gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross"
	machine="qemu-system-arm cpio"
	;;
esac
test="g++ clang clang-format clang-tidy llvm libclang-rt-14-dev libcmocka-dev binutils
      libunwind-dev libc6-dbg python3 python3-dev libpython3-dev python3-pytest python3-pytest-xdist valgrind heaptrack gdb git xz-utils perl
      sqlite3 prometheus
      redis-server nginx-light rustc musl-tools libjemalloc-dev libgoogle-perftools-dev
      python3-venv python3-numpy python3-greenlet python3-ipython
      libmimalloc-dev mandoc zsh dwz strace libdebuginfod1 qemu-user-static openmpi-bin libopenmpi-dev graphviz libdevel-nytprof-perl chromium $cross"
# These often come from elsewhere than Debian, and then exclude its packages.
command -v go >/dev/null || test="$test golang-go"
command -v npm >/dev/null || test="$test nodejs npm"
portability="mmdebstrap debian-archive-keyring"
bench="g++ clang python3 sqlite3 redis-server redis-tools heaptrack valgrind zstd libc-devtools libjemalloc-dev
       libjemalloc2 google-perftools libgoogle-perftools-dev"
programs="postgresql postgresql-client nginx-light apache2-utils redis-server redis-tools git stress-ng
          default-jdk-headless libpython3.11-testsuite dpkg-dev"

wanted=""
for group in "$@"; do
	case $group in
	build) wanted="$wanted $build" ;;
	test) wanted="$wanted $test" ;;
	portability) wanted="$wanted $portability" ;;
	machine) wanted="$wanted $machine" ;;
	bench) wanted="$wanted $bench" ;;
	programs) wanted="$wanted $programs" ;;
	*)
		echo "setup.sh: unknown group $group" >&2
		exit 2
		;;
	esac
done

if ! command -v dpkg-query >/dev/null; then
	echo "setup.sh: not a Debian system; these packages (by their Debian names) are needed:" $wanted >&2
	exit 0
fi

missing=""
for package in $wanted; do
	# One line per architecture that it is known for.
	dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
	as_root=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	as_root="sudo"
else
	echo "Packages are missing. Run this, then try again:" >&2
	echo "  sudo apt-get install --no-install-recommends$missing" >&2
	exit 1
fi

echo "installing:$missing"
$as_root apt-get update -qq >/dev/null
# Servers that come with packages are for the tests to start, not for the machine.
policy=/usr/sbin/policy-rc.d
made_policy=""
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
	$as_root chmod +x $policy
	made_policy=yes
fi
status=0
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null || status=$?
[ -z "$made_policy" ] || $as_root rm -f $policy
exit $status
