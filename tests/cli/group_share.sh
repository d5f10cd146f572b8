#!/bin/sh
# Members of a group share the partitions, hand over when others come, and take over from those
# that are gone; nothing is skipped, and nothing is printed twice but what was not committed.
. "$(dirname "$0")/common.sh"

parts() {
	spool groups describe g --members --format tsv | sed 1d | cut -f 2,6 | sort | cut -f 2 | tr '\n' ' '
}
settled() {
	[ "$(parts)" = "$1" ]
}
spool topics create t -p 6
spool consume t -f -g g >a &
a=$!
pids="$pids $a"
eventually 40 settled '6 '
spool consume t -f -g g >b &
b=$!
pids="$pids $b"
spool consume t -f -g g >c &
c=$!
pids="$pids $c"
eventually 40 settled '2 2 2 '
seq 1 600 | spool produce t --partitioner rr
all() {
	[ "$(cat a b c | wc -l)" -ge "$1" ]
}
eventually 40 all 600
for file in a b c; do
	lines "$file" 200 || fail "$file has $(wc -l <"$file") records"
done
# Given time to commit, one dies: the others go on without a gap and without a second copy.
eventually 40 sh -c 'spool groups describe g --max-lag 0 >/dev/null 2>&1'
kill -9 "$b"
wait "$b" || true
eventually 40 settled '3 3 '
seq 601 1200 | spool produce t --partitioner rr
eventually 40 all 1200
kill -TERM "$a"
finish "$a" 40
expect_status 143
eventually 40 settled '6 '
seq 1201 1300 | spool produce t --partitioner rr
eventually 40 all 1300
kill -TERM "$c"
finish "$c" 40
cat a b c | sort -n | cmp - "$(seq 1 1300 >want && echo want)" || fail 'not each record once'
run spool groups describe g --max-lag 0
expect_status 0

both() {
	[ "$(cat d e | wc -l)" -eq "$1" ]
}
# More members than partitions: the others wait for their turn, and it comes.
seq 1 10 | spool produce one
spool consume one -f -g idle >d &
d=$!
pids="$pids $d"
eventually 40 lines d 10
spool consume one -f -g idle >e &
e=$!
pids="$pids $e"
eventually 40 sh -c 'spool groups describe idle --state --format csv | grep -q ,2,'
spool produce one --value 11
eventually 40 both 11
eventually 40 sh -c 'spool groups describe idle --max-lag 0 >/dev/null 2>&1'
kill -9 "$d"
wait "$d" || true
spool produce one --value 12
eventually 40 both 12
kill -TERM "$e"
finish "$e" 40

# Without -f it ends when the group has read what was there.
run spool consume t one -g g
expect_ok
# A static choice.
run spool consume t -g fixed -p 1,3 -F '%p\n'
expect_ok
sort -u out >parts
expect_file parts '1\n3\n'
