#!/bin/sh
# replay --verbatim: the same bytes at the same offsets, of any log; a copy goes on where it ended,
# and anything else in its place is refused.
. "$(dirname "$0")/common.sh"

golden=${SPOOL_GOLDEN_DIR:?the unpacked golden data}

# same DIR1 DIR2 TOPIC-P: the logs are the same bytes.
same() {
	cat "$1/$3"/*.log >one
	cat "$2/$3"/*.log >two
	cmp one two || fail "$3 is another log in $2 than in $1"
}

# What a broker wrote: every codec, append time, transactions, an open one, markers, compaction.
cp -R "$golden/data" data
find data -type f -exec cksum {} + | sort >before
for topic in append-time codec-gzip codec-lz4 codec-none codec-snappy codec-zstd compacted \
	crc32-keys hanging idempotent segments transactions trimmed; do
	run spool replay -d data "$topic" --verbatim --to-dir copy
	expect_ok
	expect_out ''
	for folder in "data/$topic"-*; do
		same data copy "${folder#data/}"
	done
	for level in read_committed read_uncommitted; do
		spool consume -q -d data "$topic" -J --isolation-level $level >want
		spool consume -q -d copy "$topic" -J --isolation-level $level >got
		cmp want got || fail "$topic reads differently, $level"
	done
done
find data -type f -exec cksum {} + | sort >after
cmp before after || fail 'replaying changed the source'

# Many segments, compressed; configs and partitions come along; it goes on where it ended.
spool topics create t -p 3 -c segment.bytes=1048576 -c compression.type=zstd
seq 1 300000 | awk '{ print $1 % 1000 ":" $1 * 7919 % 1000003 "-" $1 }' >lines
spool produce t -K: --batch-bytes 16k --fsync never <lines
again() {
	run spool replay t --verbatim --to-dir more "$@"
	expect_ok
	for p in 0 1 2; do
		same "$D" more "t-$p"
	done
	spool consume t -J >want
	spool consume -d more t -J >got
	cmp want got || fail 'the copy reads differently'
}
again
find more -type f ! -name spool.state -exec cksum {} + | sort >before
again
find more -type f ! -name spool.state -exec cksum {} + | sort >after
cmp before after || fail 'a copy with nothing to do changed something'
spool topics describe -d more t --format json >described
grep -q '"segment.bytes": *"1048576"\|segment.bytes=1048576' described more/spool.topics ||
	fail 'the configs were not copied'
head -n 1000 lines | spool produce t -K:
again --resume file
head -n 500 lines | spool produce t -K:
again --resume file
head -n 500 lines | spool produce t -K:
again

# A part: from the batch that holds an offset, to the one that begins below another.
for i in 0 1 2 3 4; do
	printf 'a%s\nb%s\n' $i $i | spool produce part
done
run spool replay part --verbatim --to-dir part -o 4:7
expect_ok
[ -f part/part-0/00000000000000000004.log ] || fail 'the part begins elsewhere'
run spool consume -d part part -F '%[ %o %v\n'
expect_ok
expect_out '4 4 a2\n4 5 b2\n4 6 a3\n4 7 b3\n'
run spool replay part --verbatim --to-dir part -o 4:
expect_ok
run spool consume -d part part -o -1 -F '%o %v\n'
expect_out '9 b4\n'
# Within a batch: what is in front of the offset is there, and not to be seen.
run spool replay part --verbatim --to-dir within -o 5:
expect_ok
run spool consume -d within part -o start:+2 -F '%[ %o %v\n'
expect_out '5 5 b2\n5 6 a3\n'
# The copy is a topic like others.
echo more | spool produce -d part part
run spool consume -d part part -o -1 -F '%o %v\n'
expect_out '10 more\n'

# Refused: something else is there, and what would leave a hole.
refuse() {
	run spool replay part --verbatim "$@"
	expect_status 4
	expect_out ''
}
refuse --to-dir part
expect_err_has 'ends at offset 11' 'and the source at 10'
echo other | spool produce -d else part
refuse --to-dir else
expect_err_has 'ends at offset 1' 'needs an empty partition'
run spool consume -d else part
expect_out 'other\n'
spool replay part --verbatim --to-dir hole --until 4
refuse --to-dir hole -o 6:
expect_err_has 'ends at offset 4' 'not at 6'
printf 'a0\nB0\na1\nb1\n' | spool produce -d twin part
refuse --to-dir twin
expect_err_has 'another one than in the source'
run spool replay part --verbatim --to-dir hole -p 1
expect_status 3

# Gaps are no damage in the copy.
mkdir gaps
for i in 0 1 2; do
	echo "v$i" | spool produce g
done
cp -R "$D/g-0" gaps/g-0
rm -f gaps/g-0/spool.state gaps/g-0/*index
size=$(($(wc -c <"$D/g-0/00000000000000000000.log") / 3))
{
	head -c $size "$D/g-0/00000000000000000000.log"
	tail -c $size "$D/g-0/00000000000000000000.log"
} >gaps/g-0/00000000000000000000.log
run spool replay -d gaps g --verbatim --to-dir filled
expect_ok
same gaps filled g-0
run spool consume -d filled g -F '%o %v\n'
expect_ok
expect_out '0 v0\n2 v2\n'
echo v3 | spool produce -d filled g
run spool consume -d filled g -F '%o %v\n'
expect_ok
expect_out '0 v0\n2 v2\n3 v3\n'
grep -q '^topic g .* sparse' filled/spool.topics || fail 'the copy is not known to have gaps'

# Nothing else goes with it.
for option in '--speed 2' '--timestamps now' '--partitions hash' --origin-headers '-c 1' '--key x' \
	'--grep x' '--header a=b' '--isolation-level read_committed'; do
	# shellcheck disable=SC2086 # an option and its value
	run spool replay part --verbatim --to-dir none $option
	expect_status 2
done
run spool replay part --verbatim
expect_status 2
[ ! -e none ] || fail 'a usage error made a directory'
