#!/bin/sh
# source.sh -- gets the sources of Debian packages, from where this machine gets its packages.
# SPDX-License-Identifier: Apache-2.0
#
# usage: source.sh DIRECTORY PACKAGE...
#
# Leaves DIRECTORY/PACKAGE, unpacked and patched. The machine's own lists are left alone. Status 1 if it cannot.
set -eu

directory=${1:?usage: source.sh DIRECTORY PACKAGE...}
shift
mkdir -p "$directory/apt/lists/partial" "$directory/apt/parts"
cd "$directory"

for list in /etc/apt/sources.list.d/*.sources; do
	[ -e "$list" ] && sed 's/^Types:.*/Types: deb-src/' "$list" >"apt/parts/$(basename "$list")"
done
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
	[ -e "$list" ] && sed -n 's/^deb /deb-src /p' "$list" >"apt/parts/$(basename "$list")"
done
apt="-qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$PWD/apt/parts -o Dir::State::lists=$PWD/apt/lists"
apt="$apt -o APT::Sandbox::User=root"

wanted=
for package in "$@"; do
	[ -d "$package" ] || wanted="$wanted $package"
done
[ -n "$wanted" ] || exit 0
apt-get $apt update
for package in $wanted; do
	mkdir "$package.new"
	(cd "$package.new" && apt-get $apt source "$package" >/dev/null && mv */ ../"$package")
	rm -rf "$package.new"
done
