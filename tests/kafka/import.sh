#!/bin/sh
# A broker serves what spool wrote: the .log files in the folder of a topic that it knows, without
# their indexes. It goes on behind them, and spool reads its directory afterwards.
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

# One segment with all kinds of records, and several segments, in two codecs.
cat >kinds <<'IN'
{"key":"k","value":"v","timestamp":1700000000001,"headers":[["a","1"],["a","2"],["n",null],["e",""]]}
{"key":null,"value":null,"timestamp":1700000000000}
{"key":"","value":"","timestamp":1700000000002}
{"key":"\u043a\u043b\u044e\u0447","value":"\u00e9\u20ac","timestamp":1800000000000}
{"key":"gone","value":null}
IN
spool produce one -J <kinds
seq 1 5000 | spool produce one -z zstd -H h=v
seq 5001 9000 | spool produce one -k key --batch-bytes 500
head -c 4000000 /dev/urandom | base64 -w 75 >lines
spool produce several -z lz4 --batch-bytes 32768 --config-topic segment.bytes=1048576 <lines
[ "$(find "$D/several-0" -name '*.log' | wc -l)" -ge 3 ] || fail 'too few segments'

# wanted TOPIC [DIR]: as the console consumer prints it.
wanted() {
	spool -d "${2-$D}" consume "$1" --null-marker null \
		-F 'CreateTime:%T\tOffset:%o\t%h{%k:%v,}\t%k\t%v\n' |
		awk -F '\t' -v OFS='\t' '{ sub(/,$/, "", $3); if ($3 == "") $3 = "NO_HEADERS"; print }'
}
served() {
	kafka org.apache.kafka.tools.consumer.ConsoleConsumer --bootstrap-server "$broker" \
		--topic "$1" --from-beginning --max-messages "$2" --timeout-ms 30000 \
		--formatter-property print.timestamp=true --formatter-property print.offset=true \
		--formatter-property print.headers=true --formatter-property print.key=true 2>err >all
	grep '^CreateTime:' all  # not what its log says
}
# compare TOPIC: what the broker serves is what spool reads in $D.
compare() {
	wanted "$1" >"$1.wanted"
	served "$1" "$(wc -l <"$1.wanted")" >"$1.served" || fail "the consumer of $1"
	cmp "$1.wanted" "$1.served" || {
		diff "$1.wanted" "$1.served" | cut -c1-200 | head -n 10
		fail "$1: wanted (<) is not what the broker serves (>)"
	}
}

kafka_start
for topic in one several; do
	kafka org.apache.kafka.tools.TopicCommand --bootstrap-server "$broker" --create \
		--topic "$topic" --partitions 1 --config retention.ms=-1 >out 2>&1
done
kafka_stop
logs=$(dirname "$(find "$KAFKA_DATA" -type d -name one-0)")
for topic in one several; do
	[ -d "$logs/$topic-0" ] || fail "the broker made no folder of $topic"
	rm "$logs/$topic-0"/*.log "$logs/$topic-0"/*.index "$logs/$topic-0"/*.timeindex
	cp "$D/$topic-0"/*.log "$logs/$topic-0/"
done

kafka_start --keep
compare one
compare several
# The broker writes behind it.
printf 'from Kafka 1\nfrom Kafka 2\n' | kafka org.apache.kafka.tools.ConsoleProducer \
	--bootstrap-server "$broker" --topic one >out 2>&1
kafka_stop

run spool -d "$logs" consume one
expect_ok
spool consume one >both
printf 'from Kafka 1\nfrom Kafka 2\n' >>both
cmp both out || fail "what spool reads in the broker's directory"
wanted several "$logs" | cmp - several.wanted
# And spool goes on behind the broker, while it is down.
run spool -d "$logs" produce one --value 'from spool' --report
expect_ok
expect_out "0 9007\n"
kafka_start --keep
served one 9008 >one.served || fail 'the consumer of what spool wrote behind the broker'
expect_eq "from spool" "$(tail -n 1 one.served | cut -f 5)" 'the last record'
kafka_stop
echo "$(wc -l <one.wanted) and $(wc -l <several.wanted) records came back from the broker"
