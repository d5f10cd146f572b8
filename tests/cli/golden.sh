#!/bin/sh
# A directory that Apache Kafka wrote reads as Kafka's own consumer reads it, and reading changes
# nothing in it.
. "$(dirname "$0")/common.sh"

need jq
golden=${SPOOL_GOLDEN_DIR:?the unpacked golden data}
cp -R "$golden/data" data
find data -type f -exec cksum {} + | sort >before

# What was expected and what is printed, both as rows sorted by partition, in the order given.
cat >rows.jq <<'JQ'
def b: if . == null then null elif type == "object" then .base64 else @base64 end;
def kind: if test("append"; "i") then "append" else "create" end;
def row(f): [.partition, .offset, .timestamp, (.timestamp_type | kind), (.key | f), (.value | f),
	[.headers[] | [.[0], (.[1] | f)]]];
JQ
rows_wanted() {
	jq -c "$(cat rows.jq)"' select(has("offset")) | select(.topic == $topic and .isolation == $level)
		| row(.)' --arg topic "$1" --arg level "$2" "$golden/expected.jsonl" | sort -s -t, -k1,1
}
rows_shown() {
	jq -c "$(cat rows.jq)"' row(b)' "$1" | sort -s -t, -k1,1
}

# compare TOPIC LEVEL
compare() {
	rows_wanted "$1" "$2" >wanted
	[ -s wanted ] || fail "nothing is expected of $1"
	run spool consume -d "$T/data" "$1" -J --isolation-level "$2"
	expect_status 0
	# The transaction that nobody ended is worth a message.
	[ "$1" = hanging ] || expect_err ''
	rows_shown out >shown
	cmp -s wanted shown || {
		diff wanted shown | cut -c1-200 | head -n 10
		fail "$1, $2: wanted (<) is not what was printed (>)"
	}
}
jq -r 'select(has("start")) | .topic' "$golden/expected.jsonl" | sort -u >topics
lines topics 14 || fail "$(wc -l <topics) topics"
while read -r topic; do
	compare "$topic" read_uncommitted
done <topics
compare transactions read_committed
compare hanging read_committed

find data -type f -exec cksum {} + | sort >after
cmp before after || fail 'reading changed a file'
