#!/bin/sh
# Repair says what it would do and changes nothing; with -y the bad bytes are kept beside the log,
# verify is clean, all other records are there, and writers go on. Not while a broker has the
# directory.
. "$(dirname "$0")/common.sh"

for n in 1 2 3 4 5; do
	printf 'record %s\n' "$n" | spool produce t
done
log=$D/t-0/00000000000000000000.log
batch=$(($(stat -c %s "$log") / 5))
run spool topics repair
expect_ok
expect_out ''
printf X | dd of="$log" bs=1 seek=$((3 * batch - 4)) conv=notrunc 2>/dev/null
dd if="$log" of=bad bs=1 skip=$((2 * batch)) count=$batch 2>/dev/null

find "$D" -type f -exec cksum {} + | sort >before
run spool topics repair t --format jsonl
expect_status 0
expect_err_has 'nothing was changed'
grep -qF "\"file\":\"$log\",\"position\":$((2 * batch)),\"first_offset\":2,\"last_offset\":2" out ||
	fail 'the step is not told'
find "$D" -type f -exec cksum {} + | sort >after
cmp before after || fail 'a dry run changed a file'
run spool topics repair -y --dry-run
expect_status 2

# A broker's lock: exclusive, of a process.
python3 -c "
import fcntl, sys, time
f = open('$D/.lock', 'w')
fcntl.lockf(f, fcntl.LOCK_EX)
open('locked', 'w').close()
time.sleep(60)" &
broker=$!
pids="$pids $broker"
eventually 20 test -e locked
run spool topics repair -y
expect_status 4
kill -9 $broker
wait $broker || true

run spool topics repair -y
expect_ok
cmp bad "$D/t-0/spool.cut-2" || fail 'the bad bytes are not kept as they were'
run spool topics verify
expect_status 0
expect_err ''
run spool consume t -F '%o %v\n'
expect_ok
expect_out '0 record 1\n1 record 2\n3 record 4\n4 record 5\n'
printf 'record 6\n' | spool produce t
run spool consume t -o 3 -F '%o %v\n'
expect_out '3 record 4\n4 record 5\n5 record 6\n'
run spool topics repair -y
expect_ok
expect_out ''

# A folder that Kafka wrote: rot in the middle, a bad index, a bad snapshot, a bad epoch file.
cp -R "$SPOOL_GOLDEN_DIR/data" data
f=data/segments-0
printf XXXX | dd of=$f/00000000000000000000.log bs=1 seek=500000 conv=notrunc 2>/dev/null
printf XXXX | dd of=$f/00000000000000001021.index bs=1 seek=100 conv=notrunc 2>/dev/null
printf XXXX | dd of=$f/00000000000000002041.snapshot bs=1 seek=4 conv=notrunc 2>/dev/null
echo rubbish >$f/leader-epoch-checkpoint
run spool topics verify -d data segments
expect_status 6
run spool topics repair -d data -y
expect_status 0
run spool topics verify -d data
expect_status 0
spool consume -d data segments -F '%o\n' >offsets
lost=$((5000 - $(wc -l <offsets)))
if [ $lost -le 0 ] || [ $lost -ge 100 ]; then
	fail "$lost records are lost"
fi
expect_eq 5000 $(($(tail -n 1 offsets) + 1)) 'the last offset'
