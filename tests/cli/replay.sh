#!/bin/sh
# replay: windows and filters, to standard output, to another topic and to another directory; what
# of a record is kept, and what goes where.
. "$(dirname "$0")/common.sh"

day=2026-01-01T00:00
cat >records <<'E2'
{"topic":"t","partition":0,"offset":0,"timestamp":1767225600000,"timestamp_type":"create","key":"a","value":"1","headers":[["h","x"],["h",null],["h","y"]]}
{"topic":"t","partition":1,"offset":0,"timestamp":1767225600010,"timestamp_type":"create","key":null,"value":"2","headers":[]}
{"topic":"t","partition":0,"offset":1,"timestamp":1767225600020,"timestamp_type":"create","key":"b","value":null,"headers":[]}
{"topic":"t","partition":2,"offset":0,"timestamp":1767225600030,"timestamp_type":"create","key":{"base64":"/w=="},"value":"","headers":[]}
{"topic":"t","partition":1,"offset":1,"timestamp":1767225600040,"timestamp_type":"create","key":"a","value":"5","headers":[]}
E2
spool topics create t -p 3 -c max.message.bytes=2000000 -c cleanup.policy=compact
spool produce t -J <records

# To standard output, as consume prints, partitions merged by time.
run spool replay t -J
expect_ok
cmp out records || fail 'printed differently'
run spool replay t -F '%p %o %k=%v\n' --null-marker NULL
expect_ok
expect_out '0 0 a=1\n1 0 NULL=2\n0 1 b=NULL\n2 0 \0377=\n1 1 a=5\n'
run spool replay t -K = -D ';' --speed max
expect_ok
expect_out 'a=1;=2;b=;\0377=;a=5;'
run spool replay t -0 -p 1
expect_ok
expect_out '2\00005\0000'

# A window, and filters.
run spool replay t -J -o 1:
expect_ok
sed -n '3p;5p' records >want
cmp out want || fail '-o 1:'
run spool replay t -J -o 0=1 -p 0,2 --speed 100
sed -n '3p;4p' records >want
cmp out want || fail '-o 0=1'
run spool replay t -J --from "$day:00.010Z" --until "$day:00.040Z"
sed -n '2,4p' records >want
cmp out want || fail '--from --until'
run spool replay t -J -c 2
sed -n '1,2p' records >want
cmp out want || fail '-c'
run spool replay t -J --key 'a*'
sed -n '1p;5p' records >want
cmp out want || fail '--key'
run spool replay t -J --grep '[25]'
sed -n '2p;5p' records >want
cmp out want || fail '--grep'
run spool replay t -J --header 'h=y'
sed -n 1p records >want
cmp out want || fail '--header'

# Nothing there is nothing said.
for empty in '-o end' '--from 2027-01-01' '-c 0' '--key zzz' '-o 0:0'; do
	# shellcheck disable=SC2086 # an option and its value
	run spool replay t $empty
	expect_ok
	expect_out ''
done
run spool replay t --key zzz --fail-empty
expect_status 1

# Another topic: everything of a record stays, and a topic that is made is like the source.
run spool replay t --to-topic copy
expect_ok
expect_out ''
spool replay copy -J | sed 's/"copy"/"t"/' | cmp - records || fail 'the copy differs'
grep -q '^topic copy [^ ]* 3 [0-9]* sparse cleanup.policy=compact max.message.bytes=2000000 ret' \
	"$D/spool.topics" || fail 'the copy has other configs'
# Another directory, made with its parents.
run spool replay t --to-dir far/away --speed max
expect_ok
spool replay -d far/away t -J | cmp - records || fail 'the copy far away differs'
run spool replay t copy --to-dir far/away --to-topic both --speed 1000
expect_ok
[ "$(spool consume -d far/away both -F 'r\n' | wc -l)" -eq 10 ] || fail 'two topics into one'
run spool replay t copy --to-dir each
expect_ok
spool replay -d each copy -J | sed 's/"copy"/"t"/' | cmp - records || fail 'each under its name'

# Counts differ: by key as produce does; the same record always to the same place.
spool topics create two -p 2
run spool replay t --to-topic two
expect_ok
spool topics create made -p 2
printf 'a:1\nb:\n' | spool produce made -K:
for key in a b; do
	expect_eq "$(spool consume made --key $key -F '%p\n' | sort -u)" \
		"$(spool consume two --key $key -F '%p\n' | sort -u)" "partition of $key"
done
run spool replay t --to-topic two --partitions keep
expect_status 3
expect_err_has "topic 'two' has no partition 2"
run spool replay t -p 0,1 --to-topic two --partitions keep -c 2
expect_ok
run spool replay t --to-topic hash --partitions hash
expect_ok
expect_eq 1 "$(spool consume hash --key a -F '%p\n' | sort -u | wc -l)" 'partitions of a'

# Times of now; headers that tell the origin.
run spool replay t --to-topic now --timestamps now
expect_ok
[ "$(spool consume now --from 5m -F 'r\n' | wc -l)" -eq 5 ] || fail '--timestamps now'
run spool replay t -p 0 -o 0:1 --to-topic origin --origin-headers
expect_ok
run spool consume origin -F '%h\n'
expect_out 'h=x,h=,h=y,spool.origin.topic=t,spool.origin.partition=0,spool.origin.offset=0,spool.origin.timestamp=1767225600000\n'

# A topic of append time: a copy that keeps the times is none.
spool topics create append -c message.timestamp.type=LogAppendTime
echo x | spool produce append
spool replay append --to-topic kept
expect_eq "$(spool consume append -F '%T')" "$(spool consume kept -F '%T')" 'time of the copy'

# Compression stays as it was, where the target does not say.
seq 1 1000 | spool produce squeezed -z lz4
spool replay squeezed --to-topic squeezed-too --speed max
expect_eq lz4 "$(spool consume squeezed-too -F '%a{compression}\n' | sort -u)" compression
spool topics create plain -c compression.type=uncompressed
spool replay squeezed --to-topic plain --speed max
expect_eq none "$(spool consume plain -F '%a{compression}\n' | sort -u)" compression

# Too long for the target: what was before it is stored.
spool topics create small -c max.message.bytes=200
{
	echo short
	head -c 300 /dev/zero | tr '\0' x
	echo
	echo behind
} | spool produce long
run spool replay long --to-topic small
expect_status 5
expect_err_has 'long-0, offset 1' 'max.message.bytes'
run spool consume small
expect_out 'short\n'

# What is not there, and what makes no sense; nothing is made for it.
run spool replay nothing --to-dir none
expect_status 3
run spool replay t -p 7 --to-dir none2
expect_status 3
run spool replay -d nowhere t
expect_status 3
usage() {
	run spool replay "$@"
	expect_status 2
	expect_out ''
}
usage
usage t --to-topic t
expect_err_has 'into itself'
usage t --to-dir "$D"
ln -s "$D" link
usage t --to-dir link
usage t copy --to-topic copy
usage t t --to-topic x
usage t --to-topic a/b
usage t --to-topic x -J
usage t --to-topic x -F %v
usage t --to-topic x -K:
usage t --resume file
usage t --verbatim
usage t --partitions keep
usage t --timestamps now
usage t --origin-headers
usage t --to-topic x --timestamps soon
usage t --speed 0
usage t --speed -1
usage t --speed fast
usage t --speed nan
usage t --to-topic x --bootstrap-server localhost:9092
usage t -f
if [ -e none ] || [ -e "$D/x-0" ]; then
	fail 'something was made'
fi

# A file that is none of ours is left alone.
echo precious >notes
run spool replay t --to-topic x --resume notes
expect_status 4
expect_file notes 'precious\n'
# One of another replay, too.
spool replay t --to-topic x --resume mine --speed max
cp mine before
run spool replay t --to-topic y --resume mine
expect_status 4
expect_err_has "into topic 'x', not 'y'"
cmp mine before || fail 'the file of another replay changed'
# An empty one is as good as none.
: >fresh
run spool replay t --to-topic z --resume fresh --speed max
expect_ok
run spool replay t --to-topic z --resume fresh --speed max
expect_ok
expect_eq 5 "$(records z)" records
