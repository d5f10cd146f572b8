#!/bin/sh
# A topic with LogAppendTime: --report says the time that readers get, not the one that the producer
# gave.
. "$(dirname "$0")/common.sh"

spool topics create t -c message.timestamp.type=LogAppendTime -p 2
before=$(now_ms)
for codec in none zstd; do
	seq 1 50 | spool produce t --timestamp 1000000000000 -z "$codec" '--report=%p %o %T' >>reported
done
run spool consume t -F '%p %o %T\n'
expect_ok
sort -n reported >sorted
sort -n out | cmp - sorted || fail 'other times than readers get'
least=$(cut -d ' ' -f 3 reported | sort -n | head -n 1)
[ "$least" -ge "$before" ] || fail "time $least is before the test, $before"

spool topics create u
seq 1 3 | spool produce u --timestamp 1000000000000 '--report=%T' >out
expect_out '1000000000000\n1000000000000\n1000000000000\n'
