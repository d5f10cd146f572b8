#!/bin/sh
# Shell scripts and completions: what their own shell and shellcheck say.
set -eu
. tests/lint/common.sh
need shellcheck
status=0
check() {
	"$@" || status=1
}
list=$(files | while IFS= read -r name; do
	case $name in
	completions/*) ;;
	*.sh) printf '%s\n' "$name" ;;
	*)
		case $(head -c 64 "$name" | tr -d '\0' | head -n 1) in
		'#!/bin/sh'* | '#!/bin/bash'* | '#!/usr/bin/env bash'*) printf '%s\n' "$name" ;;
		esac
		;;
	esac
done)
for name in $list; do
	shell='sh'
	case $(head -n 1 "$name") in
	*bash*) shell=bash ;;
	esac
	check "$shell" -n "$name"
	check shellcheck -x -P SCRIPTDIR -s "$shell" "$name"
done
for name in $(files 'completions/*'); do
	case $name in
	*.bash)
		check bash -n "$name"
		check shellcheck -s bash "$name"
		;;
	*.fish)
		if command -v fish >/dev/null; then
			check fish -n "$name"
		fi
		;;
	*/_*)
		if command -v zsh >/dev/null; then
			check zsh -n "$name"
		fi
		;;
	esac
done
exit "$status"
