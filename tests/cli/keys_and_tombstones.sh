#!/bin/sh
# -K splits at the first delimiter, -Z makes an empty value null, and no word is taken for null.
. "$(dirname "$0")/common.sh"

printf 'k1:v\nk2:\n' >in
run spool produce t -K: -Z <in
expect_ok
run spool consume t -F '%k|%V|%v\n'
expect_ok
expect_out 'k1|1|v\nk2|-1|\n'
run spool produce plain -K: <in
expect_ok
run spool consume plain -F '%k|%V|%v\n'
expect_out 'k1|1|v\nk2|0|\n'

printf 'null\n' >in
run spool produce letters <in
expect_ok
run spool consume letters -F '%V %v\n'
expect_out '4 null\n'

printf 'a:b:c\n:v\n' >in
run spool produce first -K: <in
expect_ok
run spool consume first -F '%K|%k|%v\n'
expect_out '1|a|b:c\n0||v\n'

# One tombstone without reading standard input.
run spool produce one -k gone -Z <in
expect_ok
run spool consume one -F '%k|%V\n'
expect_out 'gone|-1\n'

run spool produce marked --null-marker NULL <<'IN'
NULL
NULLS
IN
expect_ok
run spool consume marked -F '%V\n'
expect_out '-1\n5\n'

need jq
expect_eq '"v" null' "$(spool consume t -J | jq -c .value | tr '\n' ' ' | sed 's/ $//')" 'with -Z'
expect_eq '"v" ""' "$(spool consume plain -J | jq -c .value | tr '\n' ' ' | sed 's/ $//')" 'without'
expect_eq '"null"' "$(spool consume letters -J | jq -c .value)" 'the letters'
