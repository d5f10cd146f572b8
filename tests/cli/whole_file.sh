#!/bin/sh
# Any bytes come back as they went in: a file as one record, printed without a delimiter.
. "$(dirname "$0")/common.sh"

head -c 5000000 /dev/urandom >b
run spool produce t -w b
expect_ok
expect_out ''
run spool consume t -D ''
expect_ok
cmp out b || fail 'the file did not come back'

# The same from standard input, an empty file, and two files as two records.
run spool produce piped -w <b
expect_ok
spool consume piped -D '' | cmp - b || fail 'standard input did not come back'
: >empty
printf 'x\n' >small
run spool produce two -w empty small
expect_ok
run spool consume two -F '%S,'
expect_ok
expect_out '0,2,'
