#!/bin/sh
# Dump prints what Kafka's own tool prints, as text or JSON; damage is named at its place, what
# follows is printed, and the status is 6.
. "$(dirname "$0")/common.sh"

need jq
printf 'k:v\nnull:\n' | spool produce t -K: -Z -H a=1 -H b --timestamp 1700000000000
printf 'second\n' | spool produce t --timestamp 1700000000001
log=$D/t-0/00000000000000000000.log
first=$(spool topics dump "$log" --format jsonl | head -n 1 | jq .size)
run spool topics dump t --print-data-log
expect_ok
crcs=$(sed -n 's/.* crc: \([0-9]*\) .*/\1/p' out)
sed -i 's/ crc: [0-9]*//' out
expect_out "Dumping $log
Log starting offset: 0
baseOffset: 0 lastOffset: 1 count: 2 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 1700000000000 size: $first magic: 2 compresscodec: none isvalid: true
| offset: 0 CreateTime: 1700000000000 keySize: 1 valueSize: 1 sequence: -1 headerKeys: [a,b] key: k payload: v
| offset: 1 CreateTime: 1700000000000 keySize: 4 valueSize: -1 sequence: -1 headerKeys: [a,b] key: null
baseOffset: 2 lastOffset: 2 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: $first CreateTime: 1700000000001 size: 74 magic: 2 compresscodec: none isvalid: true
| offset: 2 CreateTime: 1700000000001 keySize: -1 valueSize: 6 sequence: -1 headerKeys: [] payload: second
"
expect_eq 2 "$(echo "$crcs" | wc -w)" 'checksums'
spool topics dump t-0 --print-data-log --format json | jq -c '.[] | select(.kind == "record")
	| [.offset, .key, .payload, .headerKeys]' >shown
expect_file shown '[0,"k","v",[["a","1"],["b",null]]]\n[1,"null",null,[["a","1"],["b",null]]]\n[2,null,"second",[]]\n'

printf X | dd of="$log" bs=1 seek=70 conv=notrunc 2>/dev/null
run spool topics dump "$log" --format jsonl
expect_status 6
expect_err_has "'$log' is damaged at byte 0" 'offsets 0 to 1'
expect_eq 'batch batch damage' "$(jq -r .kind out | sort | tr '\n' ' ' | sed 's/ $//')" 'what is printed'
expect_eq false "$(jq -c 'select(.kind == "batch" and .baseOffset == 0) | .isvalid' out)" 'isvalid'

cp -R "$SPOOL_GOLDEN_DIR/data" data
d=data/transactions-0
run spool topics dump $d/00000000000000000000.txnindex $d/00000000000000000000.timeindex \
	$d/00000000000000000027.snapshot $d/leader-epoch-checkpoint
expect_ok
expect_out "Dumping $d/00000000000000000000.txnindex
version: 0 producerId: 0 firstOffset: 5 lastOffset: 8 lastStableOffset: 9
version: 0 producerId: 0 firstOffset: 14 lastOffset: 17 lastStableOffset: 18
version: 0 producerId: 0 firstOffset: 18 lastOffset: 22 lastStableOffset: 23
Dumping $d/00000000000000000000.timeindex
timestamp: 1796080493552 offset: 26
Dumping $d/00000000000000000027.snapshot
producerId: 0 producerEpoch: 0 coordinatorEpoch: 0 currentTxnFirstOffset: OptionalLong.empty lastTimestamp: 1796080493552 firstSequence: 13 lastSequence: 14 lastOffset: 24 offsetDelta: 1 timestamp: 1796080493552
Dumping $d/leader-epoch-checkpoint
0
1
0 0
"
run spool topics dump data/segments-0/00000000000000000000.index
expect_ok
head -n 3 out >top
expect_file top 'Dumping data/segments-0/00000000000000000000.index\noffset: 20 position: 10300\noffset: 25 position: 21571\n'
run spool topics dump data/__consumer_offsets-3/00000000000000000000.log --print-data-log
expect_ok
grep -qF 'key: {"type":"OffsetCommit","group":"g-half","topic":"codec-zstd","partition":0} payload: {"version":4,"offset":50,"leaderEpoch":-1,"metadata":"read 50' out ||
	fail 'a committed offset is not decoded'
run spool topics dump data/__transaction_state-1/00000000000000000000.log --print-data-log
expect_ok
grep -qF 'key: {"transactionalId":"golden-1"} payload: {"version":1,"producerId":0,"producerEpoch":0,"transactionTimeoutMs":60000,"transactionStatus":"Ongoing","transactionPartitions":["transactions-1","transactions-0"],"transactionLastUpdateTimestampMs":1796080493367' out ||
	fail 'a transaction is not decoded'
run spool topics dump data/bootstrap.checkpoint --print-data-log
expect_ok
grep -qF 'payload: {"type":"FeatureLevel","version":0,"name":"metadata.version","featureLevel":30}' out ||
	fail 'metadata is not decoded'
run spool topics dump data/meta.properties
expect_ok
run spool topics dump nothing
expect_status 3
