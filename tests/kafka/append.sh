#!/bin/sh
# spool appends to a directory that a broker wrote and left, and is killed in the middle, several
# times; the broker recovers, serves every record that was acknowledged, and goes on; its epochs
# stay ascending, its dump tool finds nothing wrong, and neither does verify.
. "$(dirname "$0")/common.sh"

tools=$(dirname "$SPOOL_KAFKA")
if [ ! -x "$tools/start" ] || [ ! -x "$tools/stop" ]; then
	skip "no start and stop beside $SPOOL_KAFKA"
fi
KAFKA_DATA=$T/kafka
KAFKA_PORT=$((20000 + $$ % 4500 * 2))
export KAFKA_DATA KAFKA_PORT

stop_and_cleanup() {
	code=$?
	set +e
	kafka_stop >/dev/null 2>&1
	(exit "$code")
	cleanup
}
trap stop_and_cleanup EXIT

console_producer() {
	kafka org.apache.kafka.tools.ConsoleProducer --bootstrap-server "$broker" --topic t \
		--reader-property parse.key=true --reader-property key.separator=: >out 2>&1
}
# by_broker: all records of the topic as `PARTITION OFFSET VALUE`, sorted.
by_broker() {
	kafka org.apache.kafka.tools.consumer.ConsoleConsumer --bootstrap-server "$broker" --topic t \
		--from-beginning --timeout-ms 10000 --formatter-property print.partition=true \
		--formatter-property print.offset=true 2>err |
		sed -n 's/^Partition:\([0-9]*\)\tOffset:\([0-9]*\)\t/\1 \2 /p' | sort >served
}

kafka_start
kafka org.apache.kafka.tools.TopicCommand --bootstrap-server "$broker" --create --topic t \
	--partitions 3 --config segment.bytes=1048576 --config retention.ms=-1 >out 2>&1
seq 1 3000 | awk '{ print "k" $1 ":from Kafka " $1 }' | console_producer
by_broker
lines served 3000 || fail "the broker has $(wc -l <served) of its own records"
kafka_stop
logs=$(dirname "$(find "$KAFKA_DATA" -type d -name t-0)")
[ -e "$logs/.kafka_cleanshutdown" ] || fail 'the broker did not stop cleanly'
cp served wanted

# Killed at any moment; each writer finds what the one before left.
for round in 1 2 3 4 5 6; do
	mkfifo "in.$round"
	(
		trap '' PIPE
		seq -f "round $round line %.0f" 1 300000 2>/dev/null || true
	) >"in.$round" &
	feeder=$!
	start spool -d "$logs" produce t --partitioner rr --report='%p %o %v' \
		--batch-bytes 3000 <"in.$round" >"report.$round" 2>"err.$round"
	enough=$((round * 500))
	more() { [ "$(wc -l <"report.$round")" -ge "$enough" ]; }
	eventually 60 more
	kill -9 "$pid"
	wait "$pid" 2>/dev/null || true
	wait "$feeder" 2>/dev/null || true
	# A line that was cut short by the kill is no report.
	head -n "$(wc -l <"report.$round")" "report.$round" >>wanted
done
[ ! -e "$logs/.kafka_cleanshutdown" ] || fail 'the mark of a clean stop is still there'
sort -o wanted wanted
echo "$(wc -l <wanted) records are acknowledged"

missing() {
	comm -23 wanted served >lost
	[ ! -s lost ] || fail "$1: $(wc -l <lost) acknowledged records are lost: $(head -n 3 lost)"
}
kafka_start --keep
by_broker
missing 'after the recovery'
# Dense, and each offset once.
awk '{ if ($2 != next_offset[$1]++) { print; exit 1 } }' served >gap || {
	sort -k1,1n -k2,2n served | awk '{ if ($2 != n[$1]++) { print "gap: " $0; exit 1 } }' ||
		fail 'the offsets are not dense'
}
seq 1 300 | awk '{ print "k" $1 ":behind spool " $1 }' | console_producer
by_broker
missing 'after the broker went on'
grep -c 'behind spool' served | grep -qx 300 || fail "the broker's new records"
kafka_stop

run spool -d "$logs" topics verify t
expect_status 0
grep -v -e '^KIND' -e '^note' out && fail 'verify found something'
spool -d "$logs" consume t -F '%p %o %v\n' | sort | cmp - served || fail 'spool reads something else'

for p in 0 1 2; do
	files=$(find "$logs/t-$p" -name '*.log' | sort | paste -s -d ,)
	run kafka org.apache.kafka.tools.DumpLogSegments --deep-iteration --files "$files"
	expect_status 0
	grep -q '^baseOffset' out || fail 'nothing was dumped'
	if grep '^baseOffset' out | grep -v 'isvalid: true$'; then
		fail "Kafka's dump tool finds batches that are not valid"
	fi
	grep '^baseOffset' out | sed 's/.*partitionLeaderEpoch: \([0-9]*\) .*/\1/' >epochs
	sort -n epochs | cmp - epochs || fail "the leader epochs of partition $p fall"
	[ "$(sort -u epochs | wc -l)" -ge 2 ] || fail "there is only one leader epoch in partition $p"
	tail -n +3 "$logs/t-$p/leader-epoch-checkpoint" >starts
	sort -n -k1,1 starts | cmp - starts || fail 'the epoch file'
	sort -n -k2,2 starts | cmp - starts || fail 'the epoch file'
	run kafka org.apache.kafka.tools.DumpLogSegments --index-sanity-check --files \
		"$(find "$logs/t-$p" -name '*.index' -o -name '*.timeindex' | sort | paste -s -d ,)"
	expect_status 0
	[ ! -s err ] || fail "the indexes: $(head -n 3 err)"
done
echo "$(wc -l <served) records came back from the broker"

# Rot in the middle: what repair leaves beside the log does not disturb the broker.
log=$(find "$logs/t-1" -name '*.log' | sort | head -n 1)
printf XXXX | dd of="$log" bs=1 seek=200000 conv=notrunc status=none
snapshot=$(find "$logs/t-1" -name '*.snapshot' | head -n 1)
[ -n "$snapshot" ] || fail 'the broker left no producer snapshot'
printf XXXX | dd of="$snapshot" bs=1 seek=3 conv=notrunc status=none
run spool -d "$logs" topics verify t
expect_status 6
run spool -d "$logs" topics repair t -y
expect_status 0
[ "$(find "$logs/t-1" -name 'spool.*' | wc -l)" -ge 2 ] || fail 'repair kept nothing'
run spool -d "$logs" topics verify t
expect_status 0
spool -d "$logs" consume t -F '%p %o %v\n' | sort >left
gone=$(($(wc -l <served) - $(wc -l <left)))
if [ $gone -le 0 ] || [ $gone -gt 200 ]; then
	fail "$gone records are gone with one batch"
fi
kafka_start --keep
by_broker
cmp left served || fail 'the broker serves something else than spool after a repair'
kafka_stop
