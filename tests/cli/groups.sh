#!/bin/sh
# groups: what is shown, copied, exported and deleted; the golden groups of a broker too.
. "$(dirname "$0")/common.sh"

seq 1 10 | spool produce t --partitions 2 --partitioner rr
seq 1 4 | spool produce u
run spool groups list
expect_ok
expect_out ''
run spool groups describe nobody
expect_status 3
expect_err_has "group 'nobody' does not exist"

spool consume t u -g g >/dev/null
spool consume t -g half -p 0 -c 2 >/dev/null
run spool groups list
expect_ok
expect_out 'g\nhalf\n'
run spool groups describe half --format tsv
expect_ok
expect_out 'group\ttopic\tpartition\tcurrent_offset\tlog_start_offset\tlog_end_offset\tlag\tconsumer_id\thost\tclient_id\nhalf\tt\t0\t2\t0\t5\t3\t\t\t\n'
run spool groups describe half
expect_ok
sed 's/  */ /g' out >text
expect_file text 'GROUP TOPIC PARTITION CURRENT-OFFSET LOG-START-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID
half t 0 2 0 5 3 - - -
half t TOTAL 2 - 5 3 - - -
half TOTAL TOTAL 2 - 5 3 - - -
'
run spool groups describe --state --format csv
expect_ok
expect_out 'group,state,members,generation,topics\ng,Empty,0,-1,2\nhalf,Empty,0,-1,1\n'
# Three are left in one partition, and the five of the other one were never read.
run spool groups describe half --max-lag 8
expect_status 0
run spool groups describe half --max-lag 7
expect_status 1
run spool groups describe 'h.*' --regex --format jsonl
expect_out '{"group":"half","topic":"t","partition":0,"current_offset":2,"log_start_offset":0,"log_end_offset":5,"lag":3,"consumer_id":null,"host":null,"client_id":null}\n'
run spool groups describe g -t u --format csv
lines out 2 || fail 'one topic'

# A member, by name.
spool consume t -f -g half >shown &
pid=$!
pids="$pids $pid"
eventually 40 lines shown 8
eventually 40 sh -c 'spool groups describe half --members --format tsv | grep -q "	2	t:0,1	"'
run spool groups describe half --members --format tsv
grep -q "^half	spool-$pid	" out || fail 'the member is not named'
run spool groups describe half --state --format csv
expect_out 'group,state,members,generation,topics\nhalf,Stable,1,-1,1\n'
run spool groups delete half
expect_status 4
expect_err_has "process $pid" 'nothing was changed'
run spool groups delete-offsets half -t t
expect_status 4
run spool groups copy g half
expect_status 4
spool groups describe half --until-caught-up >/dev/null
kill -TERM "$pid"
finish "$pid" 40
expect_status 143

run spool groups export half
expect_ok
expect_out 't,0,5\nt,1,5\n'
run spool groups copy half third
expect_ok
run spool groups export third
expect_out 't,0,5\nt,1,5\n'
run spool groups delete-offsets third -t t:1
expect_ok
run spool groups export third
expect_out 't,0,5\n'
run spool groups delete third nobody half
expect_status 1
expect_err_has "'nobody' does not exist"
run spool groups list
expect_out 'g\n'
run spool groups delete nobody
expect_status 3
for words in 'describe --topic' 'list g' 'drop g' 'copy a' 'delete' 'list --members' 'delete-offsets g' \
	'describe g --all-groups' 'describe --members --state'; do
	# shellcheck disable=SC2086  # words are meant
	run spool groups $words
	expect_status 2
done

# What a broker wrote is shown, and goes on here.
cp -R "${SPOOL_GOLDEN_DIR:?the unpacked golden data}/data" golden
run spool groups list -d golden
expect_ok
expect_out 'g-all\ng-half\n'
run spool groups describe g-all g-half -d golden --format csv
expect_ok
cut -d, -f1-7 out >short
expect_file short 'group,topic,partition,current_offset,log_start_offset,log_end_offset,lag
g-all,codec-zstd,0,100,0,109,9
g-half,codec-zstd,0,50,0,109,59
'
run spool consume -d golden codec-zstd -g g-half -c 7 -F '%o '
expect_ok
expect_out '50 51 52 53 54 55 56 '
run spool groups export -d golden g-half
expect_out 'codec-zstd,0,57\n'
