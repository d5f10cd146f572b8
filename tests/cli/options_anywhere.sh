#!/bin/sh
# Options stand anywhere, `--` ends them, and a call that makes no sense is refused before anything
# is read or written.
. "$(dirname "$0")/common.sh"

# Who asks for a cluster does not get a directory instead.
run env SPOOL_BOOTSTRAP_SERVER=localhost:9092 spool produce t </dev/null
expect_status 2
expect_err_has SPOOL_BOOTSTRAP_SERVER
expect_eq '' "$(ls "$D")" 'files made'

# refused CMD..: status 2, nothing printed, no input taken, nothing written.
refused() {
	find "$D" | sort >before
	echo 0 >code
	printf 'x\ny\n' >refused.in
	(
		"$@" >"$T/out" 2>"$T/err" || echo $? >"$T/code"
		cat >"$T/left"
	) <refused.in
	status=$(cat code)
	[ "$status" -eq 2 ] || fail "status $status instead of 2: $*"
	expect_out ''
	expect_err_has 'spool: '
	cmp -s refused.in left || fail "input was read: $*"
	find "$D" | sort >after
	cmp -s before after || fail "something was written: $*"
}

# Before the first topic is made.
refused spool
refused spool nonsense
refused spool produce
refused spool produce t --nonsense
refused spool --nonsense produce t
refused spool produce t -d "$D" -b localhost:1
refused spool produce t -0 -D ,
refused spool produce t -c many
refused spool produce t --on-bad maybe
refused spool produce t --fsync sometimes
refused spool produce t -z brotli
refused spool produce t -F '%Q'

printf 'one\n' >in
mkdir other
run spool -d "$T/other" produce t <in
expect_ok
run spool -q produce -K: t --on-bad keyless -d "$T/other" <in
expect_ok
run spool consume -d "$T/other" t
expect_ok
expect_out 'one\none\n'
run spool --dir="$T/other" -c1 consume t
expect_ok
expect_out 'one\n'
run spool consume t -d "$T/other" -F '%v;' -c 1
expect_ok
expect_out 'one;'
expect_eq '' "$(ls -A "$D")" 'SPOOL_DIR, where -d is given,'

# -t is the topic wherever it stands; then every other word is a file.
printf 'from a file\n' >file
run spool produce file -t named </dev/null
expect_ok
run spool -t named consume
expect_ok
expect_out 'from a file\n'

printf 'dash\n' >in
run spool produce -- -t <in
expect_ok
run spool consume -- -t
expect_ok
expect_out 'dash\n'
cp file ./-0
run spool produce dashed -- -0 </dev/null
expect_ok
run spool consume dashed
expect_out 'from a file\n'
run spool produce stdin - <in
expect_ok
run spool consume stdin
expect_out 'dash\n'

# With a topic that exists.
run spool produce t <in
expect_ok
refused spool consume
refused spool consume t --nonsense
refused spool consume t -f -e
refused spool consume t -F '%Q'
refused spool consume t -n lots
refused spool consume t -o somewhere
refused spool consume t -p 1-
refused spool consume t -b localhost:1 -d "$D"

for option in -h --help; do
	for command in '' produce consume; do
		# shellcheck disable=SC2086  # no word when empty
		run spool $command $option
		expect_ok
		grep -qi usage out || fail "no usage in $command $option"
	done
done
for option in -V --version; do
	run spool $option
	expect_ok
	grep -Eq '[0-9]+\.[0-9]+\.[0-9]+' out || fail "no version in $option"
done
