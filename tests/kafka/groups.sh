#!/bin/sh
# Groups that a broker wrote go on here, and what is committed, reset and deleted here counts with
# the broker afterwards: groups of the classic protocol and of the newer one, also those whose
# members were killed and are still on record. Kafka's dump tool decodes what spool wrote.
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

# read_group GROUP COUNT OPTION..: what a consumer of the group gets, to `got`.
read_group() {
	group=$1
	count=$2
	shift 2
	kafka org.apache.kafka.tools.consumer.ConsoleConsumer --bootstrap-server "$broker" --topic t \
		--group "$group" --max-messages "$count" --timeout-ms 30000 "$@" 2>err | grep '^v' >got ||
		fail "the consumer of group $group"
}
# offset GROUP: what the broker has for it in partition 0.
offset() {
	kafka org.apache.kafka.tools.consumer.group.ConsumerGroupCommand --bootstrap-server "$broker" \
		--describe --group "$1" --offsets 2>err | awk '$2 == "t" && $3 == 0 { print $4 }'
}
newer='--command-property group.protocol=consumer'

kafka_start
kafka org.apache.kafka.tools.TopicCommand --bootstrap-server "$broker" --create --topic t \
	--partitions 1 --config retention.ms=-1 >out 2>&1
seq 1 20 | sed 's/^/v/' | kafka org.apache.kafka.tools.ConsoleProducer \
	--bootstrap-server "$broker" --topic t >out 2>&1
read_group classic 5 --from-beginning
# shellcheck disable=SC2086  # two words
read_group newer 7 --from-beginning $newer
# Their members are killed, and the broker stops before it misses them.
for group in forced deleted; do
	# shellcheck disable=SC2086  # two words
	HOME=$kafka_home "$SPOOL_KAFKA" org.apache.kafka.tools.consumer.ConsoleConsumer \
		--bootstrap-server "$broker" --topic t --group $group --from-beginning $newer \
		--command-property auto.commit.interval.ms=100 >"shown.$group" 2>"$group.err" &
	pids="$pids $!"
	eventually 600 lines "shown.$group" 20
done
committed() {
	[ "$(offset deleted)" = 20 ]
}
eventually 30 committed
for child in $pids; do
	kill -9 "$child"
	wait "$child" 2>/dev/null || true
done
pids=
kafka_stop
logs=$(dirname "$(find "$KAFKA_DATA" -type d -name t-0)")

# Here.
run spool -d "$logs" groups list
expect_ok
expect_out 'classic\ndeleted\nforced\nnewer\n'
run spool -d "$logs" consume t -g classic -c 3
expect_ok
expect_out 'v6\nv7\nv8\n'
run spool -d "$logs" consume t -g newer -c 3
expect_ok
expect_out 'v8\nv9\nv10\n'
run spool -d "$logs" consume t -g fresh -c 4
expect_ok
run spool -d "$logs" reset-offsets -g forced -t t --to-offset 2 --force -y
expect_ok
run spool -d "$logs" groups delete deleted
expect_ok
run spool -d "$logs" groups list
expect_out 'classic\nforced\nfresh\nnewer\n'

# The dump tool decodes all of it.
for log in "$logs"/__consumer_offsets-*/*.log; do
	kafka org.apache.kafka.tools.DumpLogSegments --offsets-decoder --files "$log" >>dump 2>&1
done
has() {
	grep -F "\"group\":\"$1\"" dump | grep -qF "$2" || fail "the dump has no $2 of $1"
}
has classic '"offset":8'
has newer '"offset":10'
has fresh '"offset":4'
has forced '"offset":2'
has forced '"generation":1'
! grep -qiE 'exception|could not be|malformed|invalid' dump || fail 'the dump tool complains'

# The broker again: they go on there, and it loaded all.
kafka_start --keep
expect_eq 8 "$(offset classic)" 'classic, by the broker'
expect_eq 10 "$(offset newer)" 'newer, by the broker'
expect_eq 4 "$(offset fresh)" 'fresh, by the broker'
expect_eq 2 "$(offset forced)" 'forced, by the broker'
expect_eq '' "$(offset deleted)" 'deleted, by the broker'
read_group classic 12
expect_eq v9 "$(head -n 1 got)" 'classic goes on'
# shellcheck disable=SC2086  # two words
read_group newer 10 $newer
expect_eq v11 "$(head -n 1 got)" 'newer goes on'
read_group fresh 16
expect_eq v5 "$(head -n 1 got)" 'fresh goes on'
# shellcheck disable=SC2086  # two words
read_group forced 18 $newer
expect_eq v3 "$(head -n 1 got)" 'forced goes on, with the newer protocol again'
# shellcheck disable=SC2086  # two words
read_group deleted 20 --from-beginning $newer
expect_eq v1 "$(head -n 1 got)" 'deleted begins anew'
kafka_stop

# And here again, behind the broker.
run spool -d "$logs" groups describe classic newer fresh forced deleted --format tsv
expect_ok
expect_eq '20 20 20 20 20 ' "$(sed 1d out | cut -f 4 | tr '\n' ' ')" 'all that the broker committed'
