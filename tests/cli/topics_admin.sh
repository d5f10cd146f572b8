#!/bin/sh
# topics alter, delete, trim, offsets: what they do, what they refuse, and what readers and writers
# of the topic are told.
# ctest: threads
. "$(dirname "$0")/common.sh"

# field TOPIC PARTITION COLUMN: of describe.
field() {
	spool topics describe "$1" --format tsv | awk -F '\t' -v p="$2" -v c="$3" \
		'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == c) at = i } NR > 1 && $3 == p { print $at }'
}

# alter.
run spool topics create t -p 2 -c segment.bytes=1048576
expect_ok
run spool topics alter t -c segment.ms=1000 -c flush.ms=5 --delete-config segment.bytes
expect_ok
expect_out ''
expect_eq 'flush.ms=5,retention.ms=-1,segment.ms=1000' "$(field t 0 configs)" configs
run spool topics alter t --delete-config flush.ms -p 3 --dry-run
expect_ok
expect_out 'TOPIC: t  PARTITIONS: 3  CONFIGS: retention.ms=-1,segment.ms=1000\n'
expect_eq 'flush.ms=5,retention.ms=-1,segment.ms=1000' "$(field t 0 configs)" 'after --dry-run'
run spool topics alter t -p 3 --delete-config flush.ms --delete-config segment.ms
expect_ok
expect_eq 3 "$(spool topics describe t --format tsv | tail -n +2 | wc -l)" partitions
run spool topics alter t -p 2
expect_status 2
expect_err_has "topic 't' has 3 partitions" 'only grow'
for bad in '-c segment.bytes=1' '-c nonsense=1' '-c segment.bytes' '--delete-config nonsense' \
	'-c segment.ms=1 --delete-config segment.ms' '-p x' '' '-p 4 -y'; do
	# shellcheck disable=SC2086  # words
	run spool topics alter t $bad
	expect_status 2
done
run spool topics alter missing -p 4
expect_status 3
run spool topics alter missing -p 4 --if-exists
expect_ok

# trim and offsets.
seq 1 300000 | spool produce t -p 0 --timestamp 2026-01-01T00:00:00Z
seq 1 10 | spool produce t -p 1 --timestamp 2026-01-02T00:00:00Z
spool topics alter t -c segment.bytes=1048576
seq 300001 600000 | spool produce t -p 0 --timestamp 2026-01-03T00:00:00Z
run spool topics offsets t
expect_ok
expect_out 't 0 600000\nt 1 10\nt 2 0\n'
run spool topics offsets t --at 2026-01-02T12:00:00Z --format csv
expect_ok
expect_out 'topic,partition,offset\nt,0,300000\nt,1,10\nt,2,0\n'
run spool topics offsets t --at start -p 0,2
expect_ok
expect_out 't 0 0\nt 2 0\n'
run spool topics offsets t --at yesterdayish
expect_status 2
run spool topics offsets t -p 7
expect_status 3
run spool topics offsets missing
expect_status 3

run spool topics trim t -o 100 </dev/null
expect_status 2
expect_err_has --yes
run spool topics trim t -y
expect_status 2
run spool topics trim t -o 0:100 -y
expect_status 2
run spool topics trim t -p 0 -o 100 --dry-run --format tsv
expect_ok
expect_eq 0 "$(field t 0 start_offset)" 'after --dry-run'
run spool topics trim t -p 0 -o 100 -y
expect_ok
expect_out ''
expect_eq 101 "$(spool consume t -p 0 -c 1)" 'the first record'
run spool topics trim t -o 200 -y
expect_status 1
expect_err 'spool: t-1: offset 200 is outside of the log, which is 0 to 10\nspool: t-2: offset 200 is outside of the log, which is 0 to 0\n'
expect_eq 200 "$(field t 0 start_offset)" 'the others are trimmed'
run spool topics trim t -p 0 -o 199 -y
expect_status 1
expect_err_has '200 to 600000'
before=$(field t 0 bytes)
run spool topics trim t -p 0,1 -o @2026-01-02T12:00:00Z -y
expect_ok
expect_eq 300000 "$(field t 0 start_offset)" 'trimmed to a time'
expect_eq 10 "$(field t 1 start_offset)" 'all of it is older'
[ "$(field t 0 bytes)" -lt "$before" ] || fail 'no space was freed'
expect_eq 300001 "$(spool consume t -p 0 -c 1)" 'the first record'
run spool topics trim t -p 0 -o -10 -y
expect_ok
expect_eq 10 "$(records t)" 'the last ten'
run spool topics trim t -o end -y
expect_ok
expect_eq 0 "$(records t)" records
expect_eq 0 "$(field t 0 bytes)" bytes
run spool produce t -p 0 --value next --report
expect_out '0 600000\n'
run spool consume t -o 0
expect_status 0
expect_out 'next\n'
expect_err_has 't-0: offsets 0 to 599999 are gone'
run spool topics create c -c cleanup.policy=compact
run spool topics trim c -o end -y
expect_status 4

# A reader that stands in a segment that goes is told how many it missed: it is held up by its
# output after the first records, far from the second segment.
seq -f '%0100g' 1 60000 | spool produce gone --config-topic segment.bytes=1048576
mkfifo slow
exec 5<>slow  # opening one end waits for the other
start spool consume gone >slow 2>slow.err 5>&-
reader=$pid
exec 4<slow 5>&-
dd bs=101 count=1 <&4 >first 2>dd.err
run spool topics trim gone -o -10 -y
expect_ok
cat <&4 >rest
exec 4<&-
finish "$reader" 20
expect_status 0
missed=$(sed -n 's/^spool: gone-0: \([0-9]*\) records were deleted before they were read$/\1/p' slow.err)
expect_eq 60000 $(($(cat first rest | wc -l) + missed)) 'read and missed'
[ "$missed" -gt 0 ] || fail 'nothing was missed'

# delete.
run spool topics delete t </dev/null
expect_status 2
run spool topics delete t --dry-run
expect_ok
expect_out 't\n'
run spool topics delete t missing -y
expect_status 1
expect_err "spool: topic 'missing' does not exist\n"
run spool topics list --regex t
expect_ok
expect_out ''
[ ! -e "$D/t-0" ] || fail 'a folder is left'
run spool topics delete t -y
expect_status 3
run spool topics delete t -y --if-exists
expect_ok
run spool topics create t1 t2 u __internal
run spool topics delete '__.*' 't.' --regex --if-exists -y
expect_ok
run spool topics list --internal
expect_ok
expect_out '__internal\nc\ngone\nu\n'
run spool topics delete __internal -y
expect_status 2
run spool topics delete __internal --internal -y
expect_ok
run spool topics delete 'x.*' --regex -y
expect_status 3

# Followers and writers of a deleted topic.
echo one | spool produce t
start spool consume t -f >shown 2>follower.err
follower=$pid
start spool consume t -f --retry >kept 2>retry.err
retrier=$pid
run spool topics create idle
start spool consume idle -f >idle.out 2>idle.err
idler=$pid
mkfifo typed
exec 3<>typed
start spool produce t --no-create --report <typed >reported 2>writer.err 3>&-
writer=$pid
echo two >&3
eventually 20 lines shown 2
eventually 20 lines kept 2
run spool topics delete t idle -y
expect_ok
finish "$follower" 20
expect_status 3
expect_eq "spool: topic 't' was deleted" "$(cat follower.err)" 'what the follower says'
finish "$idler" 20
expect_status 3
expect_eq "spool: topic 'idle' was deleted" "$(cat idle.err)" 'without any folder too'
echo three >&3
finish "$writer" 20
exec 3>&-
expect_status 3
expect_eq "spool: topic 't' was deleted" "$(head -n 1 writer.err)" 'what the writer says'
expect_file reported '0 1\n'
echo four | spool produce t
eventually 20 lines kept 3
expect_file kept 'one\ntwo\nfour\n'
kill -TERM "$retrier"
finish "$retrier" 20
expect_status 143
expect_eq "spool: topic 't' was deleted" "$(cat retry.err)" 'what --retry says'

# What a broker's metadata says is the broker's.
mkdir "$T/kafka" "$T/kafka/__cluster_metadata-0" "$T/kafka/f-0"
: >"$T/kafka/.kafka_cleanshutdown"
for action in 'create x' 'alter f -p 2' 'delete f -y'; do
	# shellcheck disable=SC2086  # words
	run spool -d "$T/kafka" topics $action
	expect_status 4
done
[ -d "$T/kafka/f-0" ] || fail 'the folder of a broker is gone'
# shellcheck disable=SC2012  # the names are ours
expect_eq '.kafka_cleanshutdown __cluster_metadata-0 f-0 ' "$(ls -A "$T/kafka" | tr '\n' ' ')" \
	'what is refused changes nothing'

# describe --cluster says what a directory is.
run spool topics describe --cluster --format jsonl
expect_ok
for text in '"kind":"spool"' '"owner":"none"' '"controller":"none"' '"offline_partitions":0'; do
	grep -qF "$text" out || fail "describe --cluster lacks $text"
done
run spool topics describe --cluster t
expect_status 2
