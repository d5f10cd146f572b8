#!/bin/sh
# Rules on the text of our files that need no compiler.
set -eu
. tests/lint/common.sh
found=$(mktemp)
trap 'rm -f "$found"' EXIT

# Reads "FILE:LINE:TEXT" lines, prints them with what is wrong.
report() {
	sed "s|\$|    <- $1|" >>"$found"
}
# match WHAT REGEX PATTERN..: files of PATTERN.. whose lines match.
match() {
	what=$1
	regex=$2
	shift 2
	# -I: not in binary files.
	files "$@" | { LC_ALL=C xargs -r grep -HnIE -e "$regex" || true; } | report "$what"
}
tab=$(printf '\t')

match 'trailing blank' "[ $tab]+\$" '*'
match 'left over' '(^|[^[:alnum:]_])(TO[D]O|FIX[M]E|X[X]X)([^[:alnum:]_]|$)' '*'
match 'over 100 columns' '^.{101}' '*.cc' '*.h'
files '*.cc' '*.h' '*.sh' '*.cmake' '*CMakeLists.txt' .ci/run |
	{ LC_ALL=C xargs -r grep -Hn "[^ -~$tab]" || true; } | report 'not ASCII'

# Calls that write past a buffer, keep hidden state or start a shell. Comments may name them.
calls='sprintf|vsprintf|strcpy|strcat|gets|strtok|system|popen'
banned() {
	what=$1
	regex=$2
	shift 2
	files "$@" | while IFS= read -r name; do
		sed 's,//.*,,' "$name" | { grep -nE "$regex" || true; } | sed "s|^|$name:|"
	done | report "$what"
}
banned 'banned call' "(^|[^_[:alnum:].>:]|std::|[^:]::|^::)($calls)[[:blank:]]*\\(" '*.cc' '*.h'
# A store into a mapping dies by SIGBUS on a full disk instead of failing; the two calls share or
# take pages that the log may still change.
banned 'not for the log' \
	'(^|[^_[:alnum:].>:]|[^:]::|^::)((copy_file_range|splice|vmsplice)[[:blank:]]*\(|PROT_WRITE)' \
	'lib/*.cc' 'lib/*.h'

files | while IFS= read -r name; do
	if [ -s "$name" ] && [ -n "$(tail -c1 "$name" | tr -d '\n')" ] && grep -qI '' "$name"; then
		echo "$name: no newline at the end"
	fi
	case $name in
	tests/golden/*) ;;
	*)
		if [ "$(wc -c <"$name")" -gt 262144 ]; then
			echo "$name: over 256 KB"
		fi
		;;
	esac
	case $name in
	lib/* | src/* | cmd/*)
		if [ "$(wc -l <"$name")" -gt 800 ]; then
			echo "$name: over 800 lines"
		fi
		;;
	esac
	case $name in
	CMakeLists.txt | CMakePresets.json | README.md | LICENSE | .*) ;;
	src/* | cmd/* | lib/* | tests/* | man/* | completions/*) ;;
	*) echo "$name: has no place at the top level" ;;
	esac
done >>"$found"

cat "$found"
[ ! -s "$found" ]
