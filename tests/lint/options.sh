#!/bin/sh
# The options of --help and those of the manual are the same: letters, long names, aliases, values.
# Common ones stand in spool(1), those of a command in its own page; and each command has a page.
set -eu
. tests/lint/common.sh
: "${SPOOL:?the path of the program}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Both print options as lines `LETTER --LONG [--ALIAS..] [VALUE]`, LETTER `-` where there is none.

# of_help common|own: from a help text. What is said of an option stands behind two blanks, or on
# the next line.
of_help() {
	awk '/^          / { printf "  %s", substr($0, 11); next }
		{ printf "%s%s", (NR == 1 ? "" : "\n"), $0 }
		END { print "" }' |
		awk -v part="$1" '
			/^options:$/ { now = "own" }
			/^common options:$/ { now = "common" }
			now != part || !/^  (-., |    )--/ { next }
			{
				letter = substr($0, 4, 1)
				left = substr($0, 7)
				said = ""
				if (match(left, /  +/)) {
					said = substr(left, RSTART + RLENGTH)
					left = substr(left, 1, RSTART - 1)
				}
				name = left
				sub(/[[ ].*/, "", name)
				value = substr(left, length(name) + 1)
				sub(/^ /, "", value)
				also = ""
				if (match(said, /\(also --[^)]*\)$/)) {
					also = " " substr(said, RSTART + 6, RLENGTH - 7)
					gsub(/,/, "", also)
				}
				print (letter == " " ? "-" : letter) " " name also (value == "" ? "" : " " value)
			}' | sort
}

# of_manual: from `.It Fl ..` lines.
of_manual() {
	awk '
		/^\.It Fl / {
			letter = "-"
			names = value = ""
			optional = 0
			for (i = 2; i <= NF; ++i) {
				if ($i == "Fl") {
					++i
					if ($i ~ /^-/) names = names " -" $i
					else letter = $i
				} else if ($i == "Ar") {
					value = $++i
				} else if ($i == "Oo") {
					optional = 1
				}
			}
			if (optional) value = "[=" value "]"
			print letter names (value == "" ? "" : " " value)
		}' "$1" | sort
}

# compare PAGE: $dir/help and $dir/manual.
compare() {
	if [ ! -s "$dir/help" ]; then
		echo "$1: no option was found in the help text"
	fi
	diff "$dir/help" "$dir/manual" | sed -n \
		-e "s|^< \(.*\)|$1: lacks: \1|p" -e "s|^> \(.*\)|$1: not in --help: \1|p"
}

{
	"$SPOOL" --help >"$dir/program"
	of_help common <"$dir/program" >"$dir/help"
	of_manual man/spool.1 >"$dir/manual"
	compare man/spool.1

	commands=$(sed -n '/^commands:$/,/^$/s/^  \([a-z-]*\) .*/\1/p' "$dir/program")
	if [ -z "$commands" ]; then
		echo "no command was found in the help text"
	fi
	for command in $commands; do
		page=man/spool-$command.1
		if [ ! -f "$page" ]; then
			echo "$page: is missing"
			continue
		fi
		if ! grep -q "^\.It Cm $command\$" man/spool.1; then
			echo "man/spool.1: lacks the command $command"
		fi
		"$SPOOL" "$command" --help >"$dir/text"
		of_help own <"$dir/text" >"$dir/help"
		of_manual "$page" >"$dir/manual"
		compare "$page"
		of_help common <"$dir/text" >"$dir/help"
		of_manual man/spool.1 >"$dir/manual"
		compare man/spool.1
	done
	for page in man/spool-*.1; do
		command=${page#man/spool-}
		command=${command%.1}
		case " $(echo "$commands" | tr '\n' ' ') " in
		*" $command "*) ;;
		*) echo "$page: there is no such command" ;;
		esac
	done
} >"$dir/found"
sort -u "$dir/found"
[ ! -s "$dir/found" ]
