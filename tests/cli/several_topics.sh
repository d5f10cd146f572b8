#!/bin/sh
# produce -J into several topics: where one fails, each one's count is said, and is right.
. "$(dirname "$0")/common.sh"

spool topics create a
spool topics create b
: >"$D/b-0" # in the way of the partition's folder
for i in 1 2 3 4 5; do
	echo "{\"topic\":\"a\",\"value\":\"$i\"}"
	echo "{\"topic\":\"b\",\"value\":\"$i\"}"
done >in
run spool produce -J <in
[ "$status" -ne 0 ] || fail 'status 0'
expect_err_has "b-0'"
counted=$(sed -n "s/^spool: topic 'a': \([0-9]*\) of .* records are stored\$/\1/p" err)
expect_eq "$(records a)" "$counted" 'records of a'
rm "$D/b-0"
run spool produce -J <in
expect_ok
expect_eq 5 "$(records b)" 'records of b'
