#!/bin/sh
# The completions of bash, zsh and fish offer the commands and the options of --help: letters, long
# names and aliases, no fewer and no more. options.sh compares --help with the manual.
set -eu
. tests/lint/common.sh
: "${SPOOL:?the path of the program}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin"
ln -s "$SPOOL" "$dir/bin/spool"
PATH=$dir/bin:$PATH
HOME=$dir
export HOME
unset SPOOL_DIR SPOOL_BOOTSTRAP_SERVER XDG_CONFIG_HOME XDG_DATA_HOME || true

# offered SHELL WORD..: what its completion offers for the last word, a line each.
# zsh's own completion system is stood in for by functions that print;
# cli.completions asks the shells as they are.
offered() {
	shell=$1
	shift
	case $shell in
	bash)
		# shellcheck disable=SC2016  # for the other shell
		bash --norc -c '. completions/spool.bash
			COMP_WORDS=(spool "$@") COMP_CWORD=$#
			_spool
			printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
		;;
	zsh)
		# shellcheck disable=SC2016
		zsh -f -c 'compdef() :
			compset() :
			_describe() print -rl -- "${(@)${(@P)4}%%:*}"
			_wanted() print -rl -- "${(@P)@[-1]}"
			. ./completions/_spool
			words=(spool "$@") CURRENT=$#words PREFIX=$words[-1] typed=$words[-1]
			_spool | while read -r word; do
				[[ $word == $typed* ]] && print -r -- $word
			done' zsh "$@"
		;;
	fish)
		# shellcheck disable=SC2016
		fish --no-config -c '. completions/spool.fish
			complete -C "spool $argv"' "$@" | cut -f 1
		;;
	esac | sed '/^$/d' | LC_ALL=C sort
}

# compare WHAT: $dir/help and $dir/offered.
compare() {
	diff "$dir/help" "$dir/offered" | sed -n \
		-e "s|^< \(.*\)|$1: lacks \1|p" -e "s|^> \(.*\)|$1: not in --help: \1|p"
}

missing=
for shell in bash zsh fish; do
	if ! command -v "$shell" >/dev/null; then
		missing="$missing $shell"
		continue
	fi
	{
		spool --help >"$dir/program"
		sed -n '/^commands:$/,/^$/s/^  \([a-z-]*\) .*/\1/p' "$dir/program" |
			LC_ALL=C sort >"$dir/help"
		[ -s "$dir/help" ] || echo 'no command was found in the help text'
		offered "$shell" '' >"$dir/offered"
		compare "$shell: commands"
		cp "$dir/help" "$dir/commands"
		while read -r command; do
			spool "$command" --help >"$dir/text"
			{
				sed -n 's/^  \(-.\), --.*/\1/p' "$dir/text"
				sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p' "$dir/text"
			} | LC_ALL=C sort >"$dir/help"
			offered "$shell" "$command" - >"$dir/offered" </dev/null
			compare "$shell: $command"
			for alias in $(sed -n 's/.* (also \(--.*\))$/\1/p' "$dir/text" | tr -d ,); do
				echo "$alias" >"$dir/help"
				offered "$shell" "$command" "$alias" >"$dir/offered" </dev/null
				compare "$shell: $command $alias"
			done
		done <"$dir/commands"
	} >>"$dir/found"
done
cat "$dir/found"
[ ! -s "$dir/found" ]
for shell in $missing; do
	need "$shell"
done
