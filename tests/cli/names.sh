#!/bin/sh
# Names that are wrong, taken or full of control bytes: the right status, and a message that cannot
# drive a terminal.
. "$(dirname "$0")/common.sh"

# Kafka cannot have both.
spool produce a.b --value x
run spool produce a_b --value x
expect_status 4
expect_err_has "'a_b'" "'a.b'"
run spool consume a_b
expect_status 3

evil=$(printf 'a\033[31mb\nspool: all is well\r\302\233')
escaped='a\x1b[31mb\nspool: all is well\x0d\xc2\x9b'
for command in 'consume' 'produce --value x' 'topics create' 'topics describe'; do
	# shellcheck disable=SC2086
	run spool $command "$evil"
	[ "$status" -ne 0 ] || fail "$command took it"
	expect_err_has "$escaped"
	[ "$(wc -l <err)" -eq 1 ] || fail "$command: more than one line"
done
run spool produce --on-bad stop -J <<'X'
{"topic":"a\u001b[31m","value":"x"}
X
expect_status 5
expect_err_has 'line 1' 'a\x1b[31m'
run spool consume a.b --dir "$T/$evil"
expect_status 3
expect_err_has "$escaped"

# -o for a partition that is not there.
spool topics create t -p 3
run spool consume t -o 5=1
expect_status 3
expect_err_has "'t'" 'partition 5'
expect_out ''
run spool consume t -p 0,1 -o 2=1
expect_status 2
expect_err_has 'partition 2' '-p'
run spool consume t -o 2=0
expect_ok

# A directory that is a link to nowhere.
ln -s nowhere "$T/link"
for command in 'consume t' 'produce t --value x' 'topics list'; do
	# shellcheck disable=SC2086
	run spool $command --dir "$T/link"
	expect_status 3
	expect_err "spool: '$T/link' is a symbolic link to 'nowhere', which does not exist\n"
done
[ ! -e nowhere ] || fail 'it was made'
ln -s "$D" "$T/good"
run spool consume a.b --dir "$T/good"
expect_ok
expect_out 'x\n'
