#!/bin/sh
# Few files for many partitions: produce and consume work within a small limit of open files.
. "$(dirname "$0")/common.sh"

limit=96
spool topics create many -p 300
seq 1 3000 | awk '{print $1 ":" $1}' >in

limited() {
	(
		# shellcheck disable=SC3045  # dash has it
		ulimit -n "$limit"
		exec spool "$@"
	)
}
run limited produce many -K: <in
expect_ok
set -- "$D"/many-*
[ $# -gt 250 ] || fail "only $# partitions were written to"

run limited consume many
expect_ok
seq 1 3000 >numbers
sort -n out | cmp - numbers || fail 'other records'

# Each --fsync, and reports in the order of the input.
run limited produce many -K: --fsync never <in
expect_ok
head -n 300 in >short
run limited produce many -K: --fsync record <short
expect_ok
run limited produce many -K: --report=%v <in
expect_ok
seq 1 3000 | cmp - out || fail 'reports are out of order'
expect_eq 9300 "$(records many)" 'records'

# The newest, and all from the Nth on, in the order of time.
spool topics create times -p 200
seq 1 1000 | awk '{printf "{\"key\":\"%d\",\"value\":\"%d\",\"timestamp\":%d}\n", $1, $1, $1}' |
	spool produce times -J
run limited consume times -n +11
expect_ok
seq 11 1000 | cmp - out || fail '-n +11: other records'
run limited consume times -n 500
expect_ok
seq 501 1000 | cmp - out || fail '-n 500: other records'
run limited consume times -n 5000
expect_ok
seq 1 1000 | cmp - out || fail '-n 5000: other records'

# Topics out of the records themselves: one pipeline for all, reports in the order of the input.
seq 1 2000 | awk '{printf "{\"topic\":\"t%d\",\"value\":\"%d\"}\n", $1 % 150, $1}' >in
run limited produce -J --report='%t %v' --fsync never <in
expect_ok
seq 1 2000 | awk '{print "t" $1 % 150, $1}' | cmp - out || fail 'reports of topics are out of order'
run limited consume t7
expect_ok
seq 7 150 2000 | cmp - out || fail 'records of a topic are out of order'

# Not one descriptor to spare: said, and nothing stored in silence. Sanitizers need some themselves.
if ! sanitized; then
	limit=8
	run limited produce -J <in
	expect_status 1
	expect_err_has 'Too many open files'
fi
