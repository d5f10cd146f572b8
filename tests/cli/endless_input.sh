#!/bin/sh
# Input that never ends: without a delimiter it is refused within seconds; with one, a signal stores
# what was read, in whole records.
. "$(dirname "$0")/common.sh"

run timeout 60 sh -c 'cat /dev/zero | spool produce zeros --max-record-bytes 10M'
expect_status 5
expect_err_has 'line 1' 10485760
expect_eq 0 "$(records zeros)" 'records'

mkfifo pipe
exec 8<>pipe
start spool produce t <pipe 2>said
printf 'a\nb\nhalf' >&8
# shellcheck disable=SC2016  # the inner shell expands
eventually 10 sh -c '[ "$(spool consume t 2>/dev/null | wc -l)" = 2 ]'
# shellcheck disable=SC2154  # start sets it
kill -TERM "$pid"
finish "$pid" 10
expect_status 143
run spool consume t
expect_ok
expect_out 'a\nb\n'
grep -q '4 bytes' said || fail "what was left out is not said: $(cat said)"
