#!/bin/sh
# A line that does not fit stops produce and is named; what came before it is stored. --on-bad says
# otherwise.
. "$(dirname "$0")/common.sh"

printf 'k:v\nnokey\n' >in
run spool produce t -K: <in
expect_status 5
expect_out ''
expect_err_has 'spool: ' 'line 2'
run spool consume t -F '%k=%v\n'
expect_ok
expect_out 'k=v\n'

run spool produce keyless -K: --on-bad keyless <in
expect_status 0
run spool consume keyless -F '%K|%v\n'
expect_ok
expect_out '1|v\n-1|nokey\n'

printf 'k:v\nnokey\nl:w\nneither\n' >in
run spool produce skip -K: --on-bad skip <in
expect_err_has 2
run spool consume skip -F '%k=%v\n'
expect_ok
expect_out 'k=v\nl=w\n'

# JSON that is none, and JSON that is no record.
printf '{"value":"a"}\n{"value":\n' >in
run spool produce json -J <in
expect_status 5
expect_err_has 'line 2'
expect_eq 1 "$(records json)" 'records'
printf '{"value":"a"}\n[1]\n' >in
run spool produce array -J <in
expect_status 5
expect_err_has 'line 2'
printf '{"value":"a"}\n{"value":"b","partition":7}\n' >in
run spool produce partition -J <in
expect_status 5
expect_err_has 'line 2' 7
expect_eq 1 "$(records partition)" 'records'
