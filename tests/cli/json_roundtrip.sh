#!/bin/sh
# consume -J | produce -J loses nothing: times, partitions, nulls, bytes, headers twice.
. "$(dirname "$0")/common.sh"

cat >in <<'IN'
{"key":"k","value":"v","partition":2,"timestamp":1700000000001,"headers":[["a","1"],["a","2"],["null",null],["empty",""]]}
{"key":null,"value":null,"partition":0,"timestamp":1700000000000,"headers":[]}
{"key":"","value":"","partition":1,"timestamp":1700000000002}
{"key":{"base64":"//4A"},"value":{"base64":"gIGCgw=="},"partition":2,"timestamp":1700000000003,"headers":[["b",{"base64":"/w=="}]]}
{"key":"\u043a\u043b\u044e\u0447 \ud83d\ude00","value":"quote \" backslash \\ line\nbreak tab\t nul\u0000 \u001f \u007f","partition":2,"timestamp":0}
{"value":"no key"}
IN
run spool produce t -J --partitions 3 <in
expect_ok
run spool consume t -J
expect_ok
cp out first
lines first 6 || fail "$(wc -l <first) lines instead of 6"

mkdir second
run spool -d "$T/second" produce t -J --partitions 3 <first
expect_ok
run spool -d "$T/second" consume t -J
expect_ok
sort first >first.sorted
sort out >second.sorted
cmp first.sorted second.sorted || fail "$(diff first.sorted second.sorted)"

# The topic of the record serves where none is given; one that is given wins.
run spool -d "$T/third" produce -J --partitions 3 <first
expect_ok
spool -d "$T/third" consume t -J | sort | cmp - first.sorted || fail 'the topic of the record'
run spool produce renamed -J --partitions 3 <first
expect_ok
expect_eq 6 "$(records renamed)" 'records under another name'

need jq
jq -e -s 'all(has("topic") and has("partition") and has("offset") and has("timestamp") and
	has("timestamp_type") and has("key") and has("value") and has("headers"))' first >/dev/null ||
	fail 'a field is missing'
jq -c 'select(.partition == 2) | [.offset, .timestamp, .key, .value, .headers]' first >out
cat >want <<'WANT'
[0,1700000000001,"k","v",[["a","1"],["a","2"],["null",null],["empty",""]]]
[1,1700000000003,{"base64":"//4A"},{"base64":"gIGCgw=="},[["b",{"base64":"/w=="}]]]
WANT
head -n 2 out | cmp - want || fail "$(diff want out)"
