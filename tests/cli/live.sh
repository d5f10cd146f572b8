#!/bin/sh
# A record is readable as soon as it was typed, while produce waits for the next one.
# ctest: threads serial
. "$(dirname "$0")/common.sh"

# The pipe is opened for both first, because opening one end waits for the other.
mkfifo typed
exec 3<>typed
start spool produce t <typed 3>&-
producer=$pid
echo a >&3
has_a() {
	[ "$(spool consume t 2>/dev/null)" = a ]
}
eventually 10 has_a
started=$(now_ms)
echo b >&3
has_b() {
	[ "$(spool consume t 2>/dev/null | tail -n 1)" = b ]
}
eventually 10 has_b
took=$(($(now_ms) - started))
if ! sanitized; then
	[ "$took" -lt 1000 ] || fail "readable after $took ms only"
fi
running "$producer" || fail 'produce ended before its input'
exec 3>&-
finish "$producer" 20
expect_status 0
run spool consume t
expect_ok
expect_out 'a\nb\n'

# A line without its end is not a record until the input ends.
exec 3<>typed
start spool produce u <typed 3>&-
producer=$pid
printf 'half' >&3
sleep 0.3
expect_eq '' "$(spool consume u 2>/dev/null || true)" 'before the end of the line'
exec 3>&-
finish "$producer" 20
expect_status 0
run spool consume u
expect_out 'half\n'
