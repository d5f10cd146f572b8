#!/bin/sh
# A broken batch in the middle: what is before it is printed, then status 6 naming file, byte and
# offsets; --skip-damaged goes on behind it; appends still work. Nothing damaged is printed.
. "$(dirname "$0")/common.sh"

for n in 1 2 3 4 5; do
	printf 'record %s\n' "$n" | spool produce t
done
log=$D/t-0/00000000000000000000.log
size=$(stat -c %s "$log")
expect_eq 0 $((size % 5)) 'five batches of one size'
batch=$((size / 5))
# One byte of the third record's value.
printf X | dd of="$log" bs=1 seek=$((3 * batch - 4)) conv=notrunc 2>/dev/null

run spool consume t
expect_status 6
expect_out 'record 1\nrecord 2\n'
expect_err_has 'spool: ' "$log" "byte $((2 * batch))" 'offsets 2 to 2'
run spool consume t --skip-damaged
expect_status 6
expect_out 'record 1\nrecord 2\nrecord 4\nrecord 5\n'
expect_err_has 'offsets 2 to 2'
run spool consume t -o 3
expect_ok
expect_out 'record 4\nrecord 5\n'

printf 'record 6\n' | spool produce t 2>err
run spool consume t --skip-damaged
expect_status 6
expect_out 'record 1\nrecord 2\nrecord 4\nrecord 5\nrecord 6\n'

# The last batch broken: a torn tail, for nothing whole follows. Not there for readers; the next
# appender cuts it, says so and keeps a copy.
printf X | dd of="$log" bs=1 seek=$((6 * batch - 4)) conv=notrunc 2>/dev/null
run spool consume t -o 3
expect_ok
expect_out 'record 4\nrecord 5\n'
printf 'record 7\n' >in
run spool produce t <in
expect_status 0
expect_err_has 'spool.cut-5'
expect_eq "$batch" "$(stat -c %s "$D/t-0/spool.cut-5")" 'size of the saved copy'
run spool consume t -o 3 -F '%o %v\n'
expect_ok
expect_out '3 record 4\n4 record 5\n5 record 7\n'

# Damage in front of everything that reads is damage for -n too, when it asks for all there is.
spool topics create front
seq 3 | spool produce front
seq 4 6 | spool produce front
printf X | dd of="$D/front-0/00000000000000000000.log" bs=1 seek=70 conv=notrunc status=none
for n in 10 6 4; do
	run spool consume front -n "$n"
	expect_status 6
	expect_out ''
	expect_err_has 'offsets 0 to 2 do not read'
done
run spool consume front -n 2
expect_ok
expect_out '5\n6\n'
