#!/bin/sh
# Verify names file, byte and offsets of damage with status 6, tells of a torn end and unknown files
# with status 0, and says nothing of a whole directory, also of one that Kafka wrote.
. "$(dirname "$0")/common.sh"

run spool topics verify
expect_ok
expect_out ''
for n in 1 2 3 4 5; do
	printf 'record %s\n' "$n" | spool produce t
done
seq 1000 | spool produce other -p 0 --partitions 2
run spool topics verify
expect_ok
expect_out ''
run spool topics verify -v t
expect_status 0
expect_err_has '1 partitions, 5 batches, 5 records'
run spool topics verify nothing
expect_status 3
expect_err_has "topic 'nothing' does not exist"

log=$D/t-0/00000000000000000000.log
size=$(stat -c %s "$log")
batch=$((size / 5))
printf X | dd of="$log" bs=1 seek=$((3 * batch - 4)) conv=notrunc 2>/dev/null
find "$D" -type f -exec cksum {} + | sort >before
run spool topics verify
expect_status 6
grep -q "^KIND  *FILE  *BYTE  *OFFSETS  *WHAT$" out || fail 'no heading'
grep -qF "damage  $log  $((2 * batch))" out || fail 'the place is not in the table'
expect_err_has 'damaged in 1 place' 'topics repair'
run spool topics verify t --format jsonl
expect_status 6
expect_out "{\"kind\":\"damage\",\"topic\":\"t\",\"partition\":0,\"file\":\"$log\",\"position\":$((2 * batch)),\"first_offset\":2,\"last_offset\":2,\"what\":\"the CRC of the batch is wrong\"}\n"
run spool topics verify other --format tsv
expect_ok
expect_out 'kind\ttopic\tpartition\tfile\tposition\tfirst_offset\tlast_offset\twhat\n'
find "$D" -type f -exec cksum {} + | sort >after
cmp before after || fail 'verify changed a file'

# The damaged batch at the very end: nothing whole follows.
rm -r "$D"/t-0
printf 'whole\n' | spool produce t
printf 'half a batch' >>"$log"
echo mine >"$D/t-0/notes.txt"
echo mine >"$D/readme"
run spool topics verify t --format jsonl
expect_ok
grep -q '"kind":"tail".*"first_offset":1' out || fail 'the torn end is not told'
grep -q '"kind":"note".*t-0/notes.txt.*unknown' out || fail 'the unknown file is not named'
grep -q '"kind":"note".*/readme.*unknown' out || fail 'the unknown file of the directory'

# The list of topics itself.
printf X | dd of="$D/spool.topics" bs=1 seek=20 conv=notrunc 2>/dev/null
run spool topics verify
expect_status 6
grep -q 'spool.topics' out || fail 'spool.topics is not named'

cp -R "$SPOOL_GOLDEN_DIR/data" data
run spool topics verify -d data
expect_ok
expect_out ''
