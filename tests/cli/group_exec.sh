#!/bin/sh
# --exec: a record is committed when its command succeeded; --ack-fd: when its reader says so.
. "$(dirname "$0")/common.sh"

committed() {
	spool groups export "$1" | sed -n 's/^t,0,//p'
}
seq 1 5 | spool produce t
run spool consume t -g g --exec 'cat'
expect_ok
expect_out '1\n2\n3\n4\n5\n'
expect_eq 5 "$(committed g)" committed

# The third one fails: two are committed, the status is 1, and its own is said.
cat >work <<'SH'
read -r n
echo "$n" >>finished
[ "$n" != 3 ] || exit 42
SH
run spool consume t -g bad --exec 'sh work'
expect_status 1
expect_err_has 'status 42'
expect_eq 2 "$(committed bad)" committed
expect_file finished '1\n2\n3\n'
run spool consume t -g bad -c 1
expect_out '3\n'

# Several at a time, the rest at the end.
run spool consume t -g batch --exec 'wc -l' --batch 2
expect_ok
tr -d ' ' <out >counts
expect_file counts '2\n2\n1\n'
expect_eq 5 "$(committed batch)" committed
run spool consume t -g three --exec cat --batch 2 -c 3
expect_ok
expect_out '1\n2\n3\n'
expect_eq 3 "$(committed three)" committed

# A command need not read what it gets; a signal that ends it is a failure.
head -c 3000000 /dev/zero | spool produce big -w
run spool consume big -g lazy --exec true
expect_ok
# shellcheck disable=SC2016  # for the command
run spool consume t -g killed --exec 'kill -9 $$'
expect_status 1
expect_err_has 'status 137'
expect_eq '' "$(committed killed)" committed

# Without a group nothing is committed, and the order is that of the partition.
run spool consume t --exec cat -F '%o '
expect_ok
expect_out '0 1 2 3 4 '

# In order within a partition, side by side otherwise.
for p in 0 1 2; do
	seq 1 20 | sed "s/^/$p /" | spool produce many -p "$p" --partitions 3
done
run spool consume many -g side --exec 'cat >>all'
expect_ok
for p in 0 1 2; do
	seq 1 20 | sed "s/^/$p /" >want
	grep "^$p " all | cmp - want || fail "partition $p out of order"
done

# Acknowledged by the reader. The third is not.
cat >reader <<'SH'
while read -r topic partition offset; do
	[ "$offset" = 2 ] || [ "$offset" -gt 2 ] || echo "$topic $partition $offset" >&3
done
SH
mkfifo acks
status=0
# shellcheck disable=SC2094  # a fifo
spool consume t -g acks -F '%t %p %o\n' --ack-fd 4 4<acks 2>err | sh reader 3>acks || status=$?
expect_eq 2 "$(committed acks)" committed
expect_err_has 'not acknowledged'
printf 't 0 17\n' >acks.txt
run spool consume t -g ahead --ack-fd 4 4<acks.txt
expect_status 5
expect_err_has 'was not printed'
expect_eq '' "$(committed ahead)" committed
