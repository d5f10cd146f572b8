#!/bin/bash
# A reader that has enough ends consume: at once, by SIGPIPE, without a word.
# ctest: serial
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"

count=1000000
if sanitized; then
	count=100000
fi
seq 1 "$count" | spool produce t
started=$(now_ms)
set +e
spool consume t 2>"$T/err" | head -n 1 >line
statuses=("${PIPESTATUS[@]}")
set -e
took=$(($(now_ms) - started))
expect_file line '1\n'
expect_err ''
expect_eq '141 0' "${statuses[*]}" 'exit statuses'
if ! sanitized; then
	[ "$took" -lt 1000 ] || fail "took $took ms"
fi

# The same when the caller ignores SIGPIPE, as many daemons and Python do: no endless writing.
(
	trap '' PIPE
	exec timeout 60 spool consume t 2>"$T/err"
) | head -n 1 >line
expect_file line '1\n'
