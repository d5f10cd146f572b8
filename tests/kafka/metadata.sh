#!/bin/sh
# What a broker's metadata log says of its topics shows and applies; the topics stay the broker's;
# what spool trims and appends while the broker is down, it serves.
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

topic_tool() {
	kafka org.apache.kafka.tools.TopicCommand --bootstrap-server "$broker" "$@" >out 2>&1
}
kafka_start
topic_tool --create --topic conf --partitions 3 --config segment.bytes=1234567 \
	--config message.timestamp.type=LogAppendTime --config retention.ms=-1
topic_tool --create --topic gone
topic_tool --delete --topic gone
kafka kafka.admin.ConfigCommand --bootstrap-server "$broker" --alter --entity-type topics \
	--entity-name conf --add-config max.message.bytes=5000 --delete-config segment.bytes >out 2>&1
seq 1 30 | kafka org.apache.kafka.tools.ConsoleProducer --bootstrap-server "$broker" \
	--topic conf >out 2>&1
topic_tool --describe --topic conf
id=$(sed -n 's/.*TopicId: *\([^ \t]*\).*/\1/p' out | head -n 1)
kafka_stop
logs=$(dirname "$(find "$KAFKA_DATA" -type d -name conf-0)")

run spool -d "$logs" topics list
expect_ok
expect_out 'conf\n'
run spool -d "$logs" topics describe conf --format tsv
expect_ok
expect_eq "$id" "$(tail -n 1 out | cut -f 2)" 'the id'
expect_eq 'max.message.bytes=5000,message.timestamp.type=LogAppendTime,retention.ms=-1' \
	"$(tail -n 1 out | cut -f 10)" 'the configs'
for action in 'create x' 'alter conf -p 4' 'delete conf -y'; do
	# shellcheck disable=SC2086  # words
	run spool -d "$logs" topics $action
	expect_status 4
done

# The broker's configs apply: its own time, and its longest batch.
run spool -d "$logs" produce conf -p 0 --timestamp 0 --value late --report
expect_ok
offset=$(cut -d ' ' -f 2 out)
run spool -d "$logs" consume conf -p 0 -o "$offset" -F '%T\n'
expect_ok
[ "$(cat out)" -gt 1700000000000 ] || fail "the time of the producer was kept: $(cat out)"
head -c 6000 /dev/zero | tr '\0' x >long
run spool -d "$logs" produce conf -p 0 <long
expect_status 5
run spool -d "$logs" topics trim conf -p 0 -o "$offset" -y
expect_ok
expect_eq "conf 0 $offset" "$(spool -d "$logs" topics offsets conf -p 0 --at start)" 'the start'

kafka_start --keep
kafka org.apache.kafka.tools.GetOffsetShell --bootstrap-server "$broker" --topic conf \
	--time earliest >starts 2>&1
grep -qx "conf:0:$offset" starts || fail "the broker starts elsewhere: $(cat starts)"
kafka org.apache.kafka.tools.consumer.ConsoleConsumer --bootstrap-server "$broker" --topic conf \
	--partition 0 --offset earliest --max-messages 1 --timeout-ms 30000 >served 2>err
expect_eq late "$(cat served)" 'what the broker serves first'
kafka_stop
