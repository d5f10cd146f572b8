#!/bin/sh
# A million lines go in and come out, in order, each once, without a word.
. "$(dirname "$0")/common.sh"

count=1000000
if sanitized; then
	count=100000
fi
seq 1 "$count" >want
run spool produce t <want
expect_ok
expect_out ''
run spool consume t
expect_ok
cmp out want || fail 'not the same lines'

seq 1 "$count" | spool produce piped 2>produce.err && spool consume piped 2>consume.err | wc -l >n
expect_eq "$count" "$(tr -d ' ' <n)" 'lines'
expect_file produce.err ''
expect_file consume.err ''
