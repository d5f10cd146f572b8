#!/bin/sh
# An empty line is a record, so is a last line without its line break; no other byte is touched.
. "$(dirname "$0")/common.sh"

printf 'a\n\nb' >in
run spool produce t <in
expect_ok
run spool consume t -F '%S|%s\n'
expect_ok
expect_out '1|a\n0|\n1|b\n'
run spool consume t
expect_ok
expect_out 'a\n\nb\n'

printf 'cr\r\n\377\376\n tab\t \n\0nul\n' >in
run spool produce bytes <in
expect_ok
run spool consume bytes
expect_ok
cmp in out || fail 'bytes were changed'

# Other delimiters: of several bytes, NUL, and none at the end of the input.
printf 'a--b-c--' >in
run spool produce delimiter -D '--' <in
expect_ok
run spool consume delimiter -D ';'
expect_out 'a;b-c;'
printf 'a\nb\0c' >in
run spool produce nul -0 <in
expect_ok
run spool consume nul -0
expect_out 'a\nb\0000c\0000'

# No input at all is no record.
run spool produce none </dev/null
expect_ok
expect_eq 0 "$(spool produce none </dev/null; records none)" 'records'
