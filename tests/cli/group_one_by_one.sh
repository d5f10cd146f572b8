#!/bin/sh
# A group goes on where it stopped: each record once, in order, whoever asks; groups are strangers
# to each other, and nobody else is touched.
. "$(dirname "$0")/common.sh"

seq 0 9 | spool produce t
for i in 0 1 2 3 4 5 6 7 8 9; do
	run spool consume t -g g -c 1
	expect_ok
	expect_out "$i\n"
done
run spool consume t -g g
expect_ok
expect_out ''
run spool consume t -g g --fail-empty
expect_status 1

# -c is exact, for a pipe and for a file.
spool consume t -g exact -c 3 | cat >out
expect_out '0\n1\n2\n'
run spool consume t -g exact -c 4
expect_out '3\n4\n5\n6\n'
run spool consume -g exact t
expect_out '7\n8\n9\n'
echo 10 | spool produce t
run spool consume -g exact t -o stored
expect_out '10\n'

# Where a group without a commit starts.
run spool consume t -g late --reset latest
expect_ok
expect_out ''
echo 11 | spool produce t
run spool consume t -g late --reset latest
expect_out '11\n'
run spool consume t -g none --reset error
expect_status 1
expect_err_has 'no offset' 'reset-offsets'
expect_out ''

# What is said about the start counts, and is committed.
run spool consume t -g exact -o 3 -c 2
expect_out '3\n4\n'
run spool consume t -g exact -c 1
expect_out '5\n'
run spool consume t -g exact --until 8
expect_out '6\n7\n'

# What a filter drops is consumed.
run spool consume t -g filter --grep '^3$'
expect_out '3\n'
run spool consume t -g filter
expect_out ''

# Never: nothing is kept.
run spool consume t -g never --commit never -c 2
expect_out '0\n1\n'
run spool consume t -g never --commit end -c 2
expect_out '0\n1\n'
run spool consume t -g never -c 1
expect_out '2\n'

# Options that contradict each other.
for words in '-g g -n 3' '--commit end' '--reset latest' '-o stored' '--batch 3 --exec' '-g g --batch 3' \
	'-g g --exec true --ack-fd 3' '-g g --ack-fd 77' '-g g --exec true --commit end' \
	'-g g --commit sometimes'; do
	# shellcheck disable=SC2086  # words are meant
	run spool consume t $words
	expect_status 2
done
run spool consume t -g ''
expect_status 2

# Nothing was committed for a topic that is not there.
run spool consume nothing -g g
expect_status 3

# A file instead of a group.
run spool consume t --offsets-file offsets -c 4
expect_ok
expect_out '0\n1\n2\n3\n'
expect_file offsets 't 0 4\n'
run spool consume t --offsets-file offsets
expect_out '4\n5\n6\n7\n8\n9\n10\n11\n'
expect_file offsets 't 0 12\n'
echo 't 0 x' >offsets
run spool consume t --offsets-file offsets
expect_status 5
expect_err_has "'offsets', line 1"
