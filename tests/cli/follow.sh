#!/bin/sh
# -f goes on at the end of the data, shows a record within 100 ms of its append, and ends by signal.
# ctest: threads serial
. "$(dirname "$0")/common.sh"

limit_ms=100
if sanitized; then
	limit_ms=5000
fi
echo first | spool produce t

# Into a pipe, with cat behind it: what people do. A pipe is opened for both first, because opening
# one end waits for the other.
mkfifo pipe typed
exec 3<>pipe
start cat <pipe >shown 3>&-
start spool consume t -f >pipe 2>err 3>&-
follower=$pid
exec 3<>typed
eventually 10 lines shown 1

start spool produce t <typed 3>&-
producer=$pid
n=1
late=0
while [ "$n" -le 20 ]; do
	started=$(now_ms)
	echo "line $n" >&3
	eventually 10 lines shown $((n + 1))
	took=$(($(now_ms) - started))
	[ "$took" -le "$limit_ms" ] || late=$((late + 1))
	n=$((n + 1))
done
# A busy machine may hold up one or two.
[ "$late" -le 2 ] || fail "$late of 20 records were shown after more than $limit_ms ms"
exec 3>&-
finish "$producer" 20
expect_status 0
expect_eq 'first' "$(head -n 1 shown)" 'the first line'
expect_eq 'line 20' "$(tail -n 1 shown)" 'the last line'

# A signal ends it, by its number; a follower does not end by itself before that.
running "$follower" || fail 'consume -f ended by itself'
kill -INT "$follower" 2>/dev/null
sleep 0.2
if running "$follower"; then
	# A shell without job control starts background commands with SIGINT ignored.
	kill -TERM "$follower"
	finish "$follower" 20
	expect_status 143
else
	finish "$follower" 20
	expect_status 130
fi
expect_err ''

# Only new records; from a number of records before the end.
start spool consume t -f -o end >new 2>err
follower=$pid
start spool consume t -f -n 1 >last 2>>err
second=$pid
eventually 10 lines last 1
sleep 0.5
echo more | spool produce t
eventually 10 lines new 1
eventually 10 lines last 2
expect_file new 'more\n'
expect_file last 'line 20\nmore\n'
kill -TERM "$follower" "$second"
finish "$follower" 20
expect_status 143
finish "$second" 20
expect_status 143

# -c ends it, and so does --pid.
run spool consume t -f -c 2
expect_ok
expect_out 'first\nline 1\n'
start sleep 60
sleeper=$pid
start spool consume t -f --pid "$sleeper" >out 2>err
follower=$pid
eventually 10 lines out 22
running "$follower" || fail 'ended before the process of --pid'
kill "$sleeper"
finish "$sleeper" 5
finish "$follower" 20
expect_status 0

# A topic that is not there is an error; with --retry it is waited for.
run spool consume later -f
expect_status 3
start spool consume later -f --retry >waited 2>/dev/null
follower=$pid
sleep 0.3
running "$follower" || fail '--retry did not wait'
echo here | spool produce later
eventually 10 lines waited 1
kill -TERM "$follower"
finish "$follower" 20
expect_status 143
