#!/bin/sh
# Kafka's own DumpLogSegments finds every batch of ours valid, every record in it, and every index
# entry right.
. "$(dirname "$0")/common.sh"

dump=org.apache.kafka.tools.DumpLogSegments
small='--config-topic segment.bytes=1048576'

# Lines that hardly compress, so that each codec fills several segments.
head -c 3400000 /dev/urandom | base64 -w 75 | awk '{ print "key-" NR % 1000 ":" $0 }' >lines
count=$(wc -l <lines)
for codec in none gzip snappy lz4 zstd; do
	# shellcheck disable=SC2086  # several words
	spool produce "$codec" -z "$codec" -K: -H app=test -H app=twice -H empty= -H null \
		--batch-bytes 16384 $small <lines
	# Tombstones, an empty value, no key.
	printf 'key-1:\nkey-2:\n' | spool produce "$codec" -z "$codec" -K: -Z
	printf 'key-3:\n' | spool produce "$codec" -z "$codec" -K:
	echo 'no key' | spool produce "$codec" -z "$codec"
	echo "$codec $((count + 4))" >>wanted
	segments=$(find "$D/$codec-0" -name '*.log' | wc -l)
	[ "$segments" -ge 3 ] || fail "$codec: $segments segments only"
done

# The log's own time; also compressed, where the batch's maximum is rewritten.
# shellcheck disable=SC2086
spool produce append --config-topic message.timestamp.type=LogAppendTime $small <lines
spool produce append -z zstd <lines
echo "append $((2 * count))" >>wanted

# Times that go up and down, some far away; batches of any size.
awk 'BEGIN { srand(7); for (i = 0; i < 20000; ++i)
	printf "{\"timestamp\":%d,\"key\":\"k\",\"value\":\"value %d\"}\n",
		1600000000000 + int(rand() * 1e11), i }' >times.json
# shellcheck disable=SC2086
spool produce times -J --batch-bytes 3000 $small <times.json
echo 'times 20000' >>wanted

# Several processes at once, some with a batch for each record, then one line each.
spool topics create shared -c segment.bytes=1048576
for i in 1 2 3 4; do
	awk -v i="$i" '{ print i, $0 }' lines | head -n 12000 >"lines.$i"
	start spool produce shared --batch-bytes "$((i * i * 900))" --fsync never <"lines.$i"
done
for child in $pids; do
	finish "$child" 60
	expect_status 0
done
for i in 1 2 3 4 5 6 7 8 9 10; do
	echo "line $i" | spool produce shared
done
echo 'shared 48010' >>wanted

# A writer died in the middle of a batch: the next one cuts it.
head -n 3000 lines | spool produce torn --batch-bytes 8192
head -c 5000 "$D/torn-0/00000000000000000000.log" >half
cat half >>"$D/torn-0/00000000000000000000.log"
head -c 16 /dev/zero >>"$D/torn-0/00000000000000000000.index"
head -n 2000 lines >later
run spool produce torn --batch-bytes 8192 <later
expect_status 0
expect_err_has 'do not read as a whole'
echo 'torn 5000' >>wanted

# One large record, one topic without any record, partitions.
head -c 3000000 /dev/urandom >large
spool produce large -w large
echo 'large 1' >>wanted
spool topics create empty
spool produce spread -K: --partitions 3 <lines
echo "spread $count" >>wanted

comma() {
	paste -s -d ,
}
logs() {
	find "$D" -name '*.log' | sort
}

# Every line that it prints must be one of these.
good='^(Dumping |Log starting offset: |baseOffset: .* isvalid: true$|\| offset: [0-9]+ '
good=$good'|offset: [0-9]+ position: [0-9]+$|timestamp: [0-9]+ offset: [0-9]+$|.* is empty\.$)'
check_dump() {
	expect_status 0
	# It calls the first offset of every segment but the first one a gap, in Kafka's own logs too.
	awk '/^Non-consecutive offsets in .*\/[0-9]+\.log$/ {
			split($NF, path, "/")
			first = path[length(path)] + 0
			next
		}
		/^  -1 is followed by [0-9]+$/ && $NF == first { next }
		{ print }' err >strange
	[ ! -s strange ] || fail "$1 says: $(head -n 10 strange)"
	if grep -vE "$good" out >strange; then
		cut -c1-300 strange | head -n 10
		fail "$1 found something"
	fi
}

run kafka "$dump" --deep-iteration --max-message-size 10000000 --files "$(logs | comma)"
check_dump 'the dump of the logs'
# Records of each topic, and offsets without a gap in each partition.
awk -v D="$D/" '
	/^Dumping / {
		partition = substr($2, length(D) + 1)
		sub(/\/.*/, "", partition)
		topic = partition
		sub(/-[0-9]+$/, "", topic)
	}
	/^\| offset: / {
		if ($3 != next_offset[partition]++) print "gap: " partition " " $3
		++records[topic]
	}
	END { for (topic in records) print topic, records[topic] }' out | sort >counted
sort wanted | diff - counted || fail 'wanted (<) is not what Kafka counts (>)'
grep -c '^baseOffset' out | sed 's/$/ batches are valid/'

indexes=$(logs | sed 's/\.log$/.index/' | comma),$(logs | sed 's/\.log$/.timeindex/' | comma)
for index in $(echo "$indexes" | tr , ' '); do
	[ -f "$index" ] || fail "$index is missing"
done
run kafka "$dump" --index-sanity-check --files "$indexes"
expect_ok
expect_eq "$(echo "$indexes" | tr , '\n' | wc -l)" \
	"$(grep -c -e 'passed sanity check\.$' -e 'is empty\.$' out)" 'sane indexes'
run kafka "$dump" --max-message-size 10000000 --files "$indexes"
check_dump 'the dump of the indexes'
grep -c '^offset: ' out | sed 's/$/ index entries are right/'
grep -c '^timestamp: ' out | sed 's/$/ time index entries are right/'
run kafka "$dump" --verify-index-only --max-message-size 10000000 --files "$indexes"
check_dump 'the check of the indexes'
