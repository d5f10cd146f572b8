#!/bin/sh
# With a topic go the offsets that groups committed of it: groups does not show it any more, and a
# topic that is made again under its name is read from its start, also when a member of the group
# wants to commit late. Offsets of other topics stay.
. "$(dirname "$0")/common.sh"

offsets() {
	spool groups describe --all-groups --format tsv | tail -n +2 | cut -f 1-4
}
seq 5 | spool produce t
seq 3 | spool produce other
run spool consume t other -g g
expect_ok
run spool consume t -g h
expect_ok
expect_eq 3 "$(offsets | wc -l)" 'rows of both groups'

run spool topics delete t -y
expect_ok
expect_eq "$(printf 'g\tother\t0\t3')" "$(offsets)" 'what is left of the groups'

seq 11 20 | spool produce t
for group in g h; do
	run spool consume t -g $group
	expect_ok
	seq 11 20 | cmp - out || fail "group $group does not begin at the start of the new topic"
done
run spool consume other -g g
expect_ok
expect_out ''

# A member that has read the old topic commits when the new one is there.
start spool consume t -g late -f --commit end >late.out 2>late.err
eventually 20 lines late.out 10
kill -STOP "$pid"
spool topics delete t -y
seq 21 40 | spool produce t
kill -TERM "$pid"
kill -CONT "$pid"
finish "$pid" 20
[ "$status" -ne 0 ] || fail 'the member ended as if all was well'
expect_eq '' "$(offsets | grep late || true)" 'what the late member committed'
run spool consume t -g late
expect_ok
seq 21 40 | cmp - out || fail 'the group does not begin at the start of the new topic'
