#!/bin/sh
# The examples of the manual pages print what the pages show.
. "$(dirname "$0")/common.sh"
# shellcheck source=examples.sh
. "$(dirname "$script")/examples.sh"
need jq

for page in "$(dirname "$script")"/../../man/*.[1-8]; do
	examples=0
	run_examples "$page" 1
	case $page in
	*.1) [ "$examples" -gt 0 ] || fail "no example in $page was run" ;;
	esac
done
