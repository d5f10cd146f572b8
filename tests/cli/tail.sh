#!/bin/sh
# -n: the last records of the whole topic by time, and +N from the Nth.
. "$(dirname "$0")/common.sh"

# The newest is in partition 3, the next ones in 6 and 0; written in another order.
for row in 0:1700000006000 3:1700000009000 1:1700000001000 6:1700000007000 2:1700000003000 \
	7:1700000002000 5:1700000004000 4:1700000005000; do
	partition=${row%%:*}
	time=${row#*:}
	run spool produce t --partitions 8 -p "$partition" --timestamp "$time" --value "p$partition"
	expect_ok
done
run spool consume t -n 1
expect_ok
expect_out 'p3\n'
run spool consume t -n 3
expect_ok
sort out >sorted
expect_file sorted 'p0\np3\np6\n'
expect_eq 8 "$(spool consume t -n 1000 | wc -l)" 'all of 8 partitions'

printf '1\n2\n3\n' >in
run spool produce short <in
expect_ok
run spool consume short -n 1000
expect_ok
expect_out '1\n2\n3\n'
run spool consume short -n 2
expect_ok
expect_out '2\n3\n'
run spool consume short -n +2
expect_ok
expect_out '2\n3\n'
run spool consume short -n +1
expect_ok
expect_out '1\n2\n3\n'
run spool consume short -n +4
expect_ok
expect_out ''
run spool consume short -n 0
expect_ok
expect_out ''
run spool consume short -c 2
expect_ok
expect_out '1\n2\n'
