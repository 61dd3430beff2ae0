# midden.bash -- completion of midden's commands and options. Made by tools/completions.py.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2207

_midden_profiles() {
	mapfile -t COMPREPLY < <(compgen -f -X '!*.mdn' -- "$1"; compgen -d -S / -- "$1")
	compopt -o nospace 2>/dev/null
}

_midden() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} options=
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "record report snapshot stats export resolve diff check leaks merge top view html tags config help --help --version" -- "$word")
		return
	fi
	case $command:$before in
	record:-o|record:--output)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	record:--only)
		:
		return
		;;
	record:--ranks)
		:
		return
		;;
	record:--max-depth)
		:
		return
		;;
	record:--buffer)
		:
		return
		;;
	record:--patience)
		:
		return
		;;
	record:--python)
		mapfile -t COMPREPLY < <(compgen -W "mixed only full domains off" -- "$word")
		return
		;;
	record:--pymalloc)
		:
		return
		;;
	record:--stack-mode)
		mapfile -t COMPREPLY < <(compgen -W "unwind enter-exit" -- "$word")
		return
		;;
	record:--sample-blocks)
		:
		return
		;;
	record:--sample-seed)
		:
		return
		;;
	record:--start-at)
		:
		return
		;;
	record:--snapshot-every)
		:
		return
		;;
	record:--snapshot-at)
		:
		return
		;;
	record:--snapshot-signal)
		:
		return
		;;
	record:--http-token-file)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	record:-c|record:--config)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	record:--set)
		:
		return
		;;
	record:--profile)
		:
		return
		;;
	record:--library)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	report:--live-at)
		:
		return
		;;
	report:--growth)
		:
		return
		;;
	report:--figure)
		mapfile -t COMPREPLY < <(compgen -W "peak leaked allocated calls temporary" -- "$word")
		return
		;;
	report:--histogram)
		:
		return
		;;
	report:--snapshot)
		:
		return
		;;
	report:--at)
		:
		return
		;;
	report:-i|report:--include)
		:
		return
		;;
	report:-x|report:--exclude)
		:
		return
		;;
	report:--module)
		:
		return
		;;
	report:--not-module)
		:
		return
		;;
	report:--tag)
		:
		return
		;;
	report:--thread)
		:
		return
		;;
	report:--min-size)
		:
		return
		;;
	report:--max-size)
		:
		return
		;;
	report:--suppressions)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	report:--by)
		:
		return
		;;
	report:-t|report:--threshold)
		:
		return
		;;
	report:-d|report:--depth)
		:
		return
		;;
	report:-n|report:--limit)
		:
		return
		;;
	report:--color)
		mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word")
		return
		;;
	report:--debug-dir)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	report:--sysroot)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	report:--map)
		:
		return
		;;
	snapshot:-w|snapshot:--write)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	stats:--color)
		mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word")
		return
		;;
	stats:--debug-dir)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	stats:--sysroot)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	stats:--map)
		:
		return
		;;
	export:-f|export:--format)
		mapfile -t COMPREPLY < <(compgen -W "callgrind collapsed csv dhat dot flamegraph gprof2dot heaptrack json mallocprofiler massif pprof speedscope" -- "$word")
		return
		;;
	export:-o|export:--output)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	export:--figure)
		mapfile -t COMPREPLY < <(compgen -W "peak leaked allocated calls temporary" -- "$word")
		return
		;;
	export:--debug-dir)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	export:--sysroot)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	export:--map)
		:
		return
		;;
	resolve:--debug-dir)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	resolve:--sysroot)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	resolve:--map)
		:
		return
		;;
	resolve:-o|resolve:--output)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	diff:--figure)
		mapfile -t COMPREPLY < <(compgen -W "peak leaked allocated calls temporary" -- "$word")
		return
		;;
	diff:--suppressions)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	diff:--by)
		:
		return
		;;
	diff:-t|diff:--threshold)
		:
		return
		;;
	diff:-d|diff:--depth)
		:
		return
		;;
	diff:--color)
		mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word")
		return
		;;
	diff:--debug-dir)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	diff:--sysroot)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	diff:--map)
		:
		return
		;;
	check:--max-peak)
		:
		return
		;;
	check:--max-leaked)
		:
		return
		;;
	check:--max-unreachable)
		:
		return
		;;
	check:--max-allocations)
		:
		return
		;;
	check:--max-temporary)
		:
		return
		;;
	check:--max-lost)
		:
		return
		;;
	check:--max-growth-vs)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	check:--allow-unchecked)
		:
		return
		;;
	check:--suppressions)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	check:--stacks)
		:
		return
		;;
	check:--junit)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	check:--color)
		mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word")
		return
		;;
	check:--debug-dir)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	check:--sysroot)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	check:--map)
		:
		return
		;;
	leaks:--show)
		:
		return
		;;
	leaks:-l|leaks:--limit)
		:
		return
		;;
	leaks:--allow-unchecked)
		:
		return
		;;
	leaks:-w|leaks:--write)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	leaks:--suppressions)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	leaks:--color)
		mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word")
		return
		;;
	leaks:--debug-dir)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	leaks:--sysroot)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	leaks:--map)
		:
		return
		;;
	merge:-o|merge:--output)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	merge:--mode)
		:
		return
		;;
	merge:--align)
		:
		return
		;;
	merge:--debug-dir)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	merge:--sysroot)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	merge:--map)
		:
		return
		;;
	top:-n|top:--count)
		:
		return
		;;
	top:-l|top:--limit)
		:
		return
		;;
	top:-d|top:--delay)
		:
		return
		;;
	top:-s|top:--sort)
		:
		return
		;;
	top:-f|top:--filter)
		:
		return
		;;
	top:--color)
		mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word")
		return
		;;
	top:--debug-dir)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	top:--sysroot)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	top:--map)
		:
		return
		;;
	view:--compare)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	view:-p|view:--port)
		:
		return
		;;
	view:--bind)
		:
		return
		;;
	view:--socket)
		:
		return
		;;
	view:--debug-dir)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	view:--sysroot)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	view:--map)
		:
		return
		;;
	html:-o|html:--output)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	html:--compare)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	html:--debug-dir)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	html:--sysroot)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	html:--map)
		:
		return
		;;
	tags:-f|tags:--format)
		:
		return
		;;
	tags:-o|tags:--output)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	tags:-m|tags:--merge)
		:
		return
		;;
	tags:-s|tags:--snapshot)
		:
		return
		;;
	tags:-t|tags:--threshold)
		:
		return
		;;
	tags:--color)
		mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word")
		return
		;;
	config:-c|config:--config)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	config:--set)
		:
		return
		;;
	config:--profile)
		:
		return
		;;
	esac
	case $command in
	record) options="-o --output -f --follow --only --children-only --keep-empty --ranks -q --quiet -v --verbose --progress --max-depth --buffer --patience --python --pymalloc --trace --maps --leaks --rss --stacks --stack-mode --tags --sample --sample-blocks --sample-seed --delayed --start-at --snapshot-every --snapshot-at --snapshot-signal --http --http-token-file -c --config --set --profile --no-config --no-symbols --library -h --help" ;;
	report) options="--peak --leaks --allocated --calls --temporary --realloc --own-peak --live-at --growth --figure --lifetime --histogram --snapshots --snapshot --snapshot-deltas --timeline --rss --types --at --globals --stacks --findings --maps -i --include -x --exclude --module --not-module --tag --thread --min-size --max-size --suppressions --no-suppressions --tree --inverted --top-down --flat --by -t --threshold -d --depth -n --limit --no-fold --all-frames --json --color --no-pager -h --help --debug-dir --sysroot --map --full-names --hide-imports --no-write" ;;
	snapshot) options="-r --rss -w --write -h --help" ;;
	stats) options="--json --sites --points --maps --all-frames --color --no-pager -h --help --debug-dir --sysroot --map --full-names --hide-imports --no-write" ;;
	export) options="-f --format -o --output --figure --svg --globals --maps --all-frames -h --help --debug-dir --sysroot --map --full-names --hide-imports --no-write" ;;
	resolve) options="--debug-dir --sysroot --map --force -o --output -h --help" ;;
	diff) options="--peak --leaks --allocated --calls --temporary --figure --suppressions --no-suppressions --maps --by --flat --tree --inverted --top-down -t --threshold -d --depth --all-frames --json --color --no-pager -h --help --debug-dir --sysroot --map --full-names --hide-imports --no-write" ;;
	check) options="--max-peak --max-leaked --max-unreachable --max-allocations --max-temporary --max-lost --max-growth-vs --allow-damaged --allow-unchecked --suppressions --no-suppressions --maps --stacks --junit --all-frames --json --color -h --help --debug-dir --sysroot --map --full-names --hide-imports --no-write" ;;
	leaks) options="--show -l --limit --long-stop --child-copy --fail --allow-unchecked -w --write --suppressions --no-suppressions --all-frames --json --color --no-pager -h --help --debug-dir --sysroot --map --full-names --hide-imports --no-write" ;;
	merge) options="-o --output --mode --align -q --quiet -h --help --debug-dir --sysroot --map" ;;
	top) options="-b --batch -n --count -l --limit -d --delay -s --sort -f --filter --stacks --color -h --help --debug-dir --sysroot --map --full-names --hide-imports --no-write" ;;
	view) options="--compare --no-open -p --port --bind --socket --no-auth --no-source -h --help --debug-dir --sysroot --map --full-names --hide-imports --no-write" ;;
	html) options="-o --output --compare --sources -h --help --debug-dir --sysroot --map --full-names --hide-imports --no-write" ;;
	tags) options="-f --format -o --output --json -m --merge -s --snapshot --each -t --threshold --color --no-pager -h --help" ;;
	config) options="--json -c --config --set --profile --no-config -h --help" ;;
	help) options="" ;;
	esac
	if [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
		return
	fi
	case $command in
	record) mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word") ;;
	help) mapfile -t COMPREPLY < <(compgen -W "record report snapshot stats export resolve diff check leaks merge top view html tags config help" -- "$word") ;;
	*) _midden_profiles "$word" ;;
	esac
}

complete -o filenames -F _midden midden
