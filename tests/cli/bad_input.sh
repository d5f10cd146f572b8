#!/bin/sh
# What is not there, not allowed or too long: the status says which, the message names it, and
# nothing is harmed.
. "$(dirname "$0")/common.sh"

printf 'a\nb\n' >in

# Not found.
run spool consume nope
expect_status 3
expect_out ''
expect_err_has 'spool: ' "'nope'"
run spool produce t --no-create <in
expect_status 3
expect_err_has "'t'"
expect_eq '' "$(find "$D" -mindepth 1 ! -name 'spool.*' ! -name '.*')" 'after --no-create'
run spool consume t -d "$T/missing"
expect_status 3
expect_err_has "$T/missing"
[ ! -e missing ] || fail 'consume made a directory'
run spool produce t -d "$T/made" <in
expect_ok
expect_eq 2 "$(spool consume t -d "$T/made" | wc -l)" 'in a new directory'
run spool consume t -d "$T/in"
[ "$status" -ne 0 ] || fail 'a file was taken for a directory'
expect_err_has "$T/in"
run spool produce t missing-file </dev/null
expect_status 1
expect_err_has "'missing-file'"

# Names that no topic may have.
long=$(printf '%0250d' 0)
for name in '' . .. a/b ../evil 'a b' 'a:b' "$long"; do
	run spool produce -t "$name" <in
	expect_status 2
	expect_out ''
	expect_err_has 'spool: ' topic
done
[ ! -e evil ] || fail 'a topic outside of the directory'
name=$(printf '%0249d' 0)
run spool produce "$name" <in
expect_ok

run spool produce kept <in
expect_ok

# Too long.
head -c 101 /dev/zero | tr '\0' x >long
printf 'short\n%s\nnext\n' "$(cat long)" >long.in
run spool produce limited --max-record-bytes 100 <long.in
expect_status 5
expect_err_has 'line 2' 100
run spool consume limited
expect_out 'short\n'
started=$(now_ms)
head -c 70000000 /dev/zero >huge
run spool produce too-long <huge
expect_status 5
expect_err_has 'line 1'
grep -Eq '67108864|64 ?Mi?B?' err || fail 'the limit is not named'
if ! sanitized; then
	[ $(($(now_ms) - started)) -lt 5000 ] || fail 'too long a record took over 5 s'
fi
rm huge

# Standard output that is closed or full; spool's own files must not take its place.
find "$D" -type f ! -name 'spool.*' -exec cksum {} + | sort >before
status=0
spool consume kept >&- 2>err || status=$?
expect_status 1
expect_err_has 'spool: '
status=0
spool consume kept >/dev/full 2>err || status=$?
expect_status 1
expect_err_has 'no space left on device'
find "$D" -type f ! -name 'spool.*' -exec cksum {} + | sort >after
cmp before after || fail 'reading changed a file'
status=0
spool produce kept <&- 2>err >out || status=$?
expect_status 1
expect_err_has 'spool: '
expect_eq 2 "$(records kept)" 'records after a closed stdin'

# A directory of a newer spool is left alone.
mkdir newer
run spool produce t -d "$T/newer" <in
expect_ok
printf 'spool topics 999\n' >newer/spool.topics
find newer -type f ! -name spool.locks -exec cksum {} + | sort >before
run spool produce t -d "$T/newer" <in
expect_status 1
expect_err_has 'spool.topics' version 999
run spool consume t -d "$T/newer"
expect_status 1
expect_err_has 'spool.topics' version 999
find newer -type f ! -name spool.locks -exec cksum {} + | sort >after
cmp before after || fail 'a file in a newer directory was changed'

# What a pause ended within a record is not stored, and said.
run sh -c '(printf "a\nxx"; sleep 3) | spool produce paused --timeout 300ms'
expect_status 124
expect_err_has 'the last 2 bytes of the input ended in no delimiter and are not stored' 'no input'
expect_eq 1 "$(spool consume paused | wc -l)" 'records'

# A partition that a new topic would not have makes no topic.
run spool produce never-made -p 3 --value x
expect_status 3
expect_err_has "'never-made' does not exist, and would have no partition 3"
run spool topics describe never-made
expect_status 3
