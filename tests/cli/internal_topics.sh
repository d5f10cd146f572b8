#!/bin/sh
# Nobody writes by hand into the logs that brokers and groups keep their state in: status 4, and
# nothing is made; a record of -J that wants to go there is a bad one. Other topics with two
# underscores are anybody's.
. "$(dirname "$0")/common.sh"

seq 3 | spool produce t
spool consume t -g g >/dev/null
find "$D" -type f -exec cksum {} + | sort >before
unchanged() {
	find "$D" -type f -exec cksum {} + | sort | cmp - before || fail "$1 changed a file"
	expect_eq t "$(spool topics list)" "the topics after $1"
}
for topic in __cluster_metadata __consumer_offsets __transaction_state __share_group_state; do
	run spool produce "$topic" --value x
	expect_status 4
	expect_err_has "topic '$topic' is "
	run spool replay t --to-topic "$topic"
	expect_status 4
	expect_err_has "topic '$topic' is "
	unchanged "produce to $topic"
done
run spool topics trim __consumer_offsets -o end -y
expect_status 4
expect_err_has 'spool reset-offsets'
run spool topics create __cluster_metadata
expect_status 4
run spool replay t --to-topic __cluster_metadata --verbatim
expect_status 4
unchanged 'create, trim and replay'

printf '{"topic":"t","value":"4"}\n{"topic":"__consumer_offsets","value":"5"}\n' >in
run spool produce -J <in
expect_status 5
expect_err_has 'line 2' '__consumer_offsets'
run spool consume t -o 3
expect_out '4\n'
printf '{"topic":"__consumer_offsets","value":"5"}\n{"topic":"t","value":"6"}\n' >in
run spool produce -J --on-bad skip <in
expect_status 0
run spool consume t -o 4
expect_out '6\n'

run spool produce __mine --value x
expect_ok
expect_eq x "$(spool consume __mine)" 'a topic of the user'
# A copy of the groups' offsets, batch by batch, is no record put there by hand.
run spool replay __consumer_offsets --verbatim --to-dir "$T/copy"
expect_ok
run spool -d "$T/copy" groups list
expect_out 'g\n'
