# Sourced first by the scripts here, which hold spool's files against a real Apache Kafka. Does what
# ../cli/common.sh does and skips the test when there is no Java, or no
#   $SPOOL_KAFKA  a program that runs a class of Kafka 4: `$SPOOL_KAFKA CLASS ARGS..`. Beside it may
#                 stand `start [--keep]`, which starts a broker and prints its address, and `stop`,
#                 which ends that broker and leaves its files; both with the directory of the
#                 broker's files in $KAFKA_DATA and the port in $KAFKA_PORT.
# shellcheck shell=sh
kafka_home=${HOME-}
# shellcheck source=../cli/common.sh
. "$(dirname "$0")/../cli/common.sh"

# These are not part of CI, which has no Kafka.
command -v java >/dev/null || skip 'java is not installed'
[ -n "${SPOOL_KAFKA-}" ] || skip 'SPOOL_KAFKA names no launcher of Apache Kafka'
[ -x "$SPOOL_KAFKA" ] || fail "cannot run $SPOOL_KAFKA"

# kafka CLASS ARGS..: with the caller's home, where the launcher may keep its files.
kafka() {
	HOME=$kafka_home "$SPOOL_KAFKA" "$@"
}
# kafka_start [--keep]: the address to $broker, when it answers.
kafka_start() {
	HOME=$kafka_home "$(dirname "$SPOOL_KAFKA")/start" "$@" >"$T/broker"
	broker=$(cat "$T/broker")
	# The tool tries for a minute.
	kafka org.apache.kafka.tools.TopicCommand --bootstrap-server "$broker" --list >out 2>&1 ||
		fail "the broker at $broker does not answer"
}
kafka_stop() {
	HOME=$kafka_home "$(dirname "$SPOOL_KAFKA")/stop"
}
