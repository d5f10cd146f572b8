#!/bin/sh
# reset-offsets: a plan first, every mode, export, file, undo, and living members.
. "$(dirname "$0")/common.sh"

committed() {
	spool groups export g | tr '\n' ' '
}
# reset OPTION..: what the plan says, as PARTITION=OFFSET.
reset() {
	run spool reset-offsets -g g -t t --format tsv "$@"
	plan=$(sed 1d out | awk -F '\t' '{ printf "%s=%s ", $3, $5 }')
}
for i in 1 2 3 4 5 6; do
	spool produce t --value "$i" -p 0 --partitions 3 --timestamp "170000000$i"
done
spool produce t --value a -p 1 --timestamp 1700000003
spool consume t -g g -p 0 -c 4 >/dev/null
spool consume t -g g -p 1 >/dev/null
expect_eq 't,0,4 t,1,1 ' "$(committed)"

# The plan on stdout, nothing changed, 0.
run spool reset-offsets -g g -t t --to-earliest
expect_ok
sed 's/  */ /g' out >text
expect_file text 'GROUP TOPIC PARTITION OLD-OFFSET NEW-OFFSET LOG-END-OFFSET NOTE
g t 0 4 0 6 -
g t 1 1 0 1 -
g t 2 - 0 0 -
'
expect_eq 't,0,4 t,1,1 ' "$(committed)"
reset --to-latest
expect_eq '0=6 1=1 2=0 ' "$plan"
reset --to-offset 2
expect_status 0
expect_eq '0=2 1=1 2=0 ' "$plan"
expect_err_has 't-1: 2 is out of range 0 to 1'
reset --to-offset 2 --strict
expect_status 1
expect_err_has '--strict'
reset --shift-by -3
expect_eq '0=1 1=0 2= ' "$plan"
reset --shift-by 1
expect_eq '0=5 1=1 2= ' "$plan"
reset --to-current
expect_eq '0=4 1=1 2= ' "$plan"
reset --to-datetime 2023-11-14T22:13:23Z
expect_eq '0=2 1=0 2=0 ' "$plan"
reset --to-datetime 1700000004
expect_eq '0=3 1=1 2=0 ' "$plan"
expect_err_has 't-1: no record is so late'
reset --by-duration 1s
expect_eq '0=6 1=1 2=0 ' "$plan"
reset --to @1700000002
expect_eq '0=1 1=0 2=0 ' "$plan"
reset --to -2
expect_eq '0=4 1=0 2=0 ' "$plan"
reset --to end
expect_eq '0=6 1=1 2=0 ' "$plan"
run spool reset-offsets -g g -t t:0 --to-earliest --format csv
expect_out 'group,topic,partition,old,new,end,note\ng,t,0,4,0,6,\n'
run spool reset-offsets -g g --all-topics --to-earliest --format tsv
lines out 3 || fail 'two partitions'
run spool reset-offsets -g new -t t:1 --to-latest --execute
expect_ok
run spool groups export new
expect_out 't,1,1\n'
run spool reset-offsets -g g --to-group new --format csv
expect_out 'group,topic,partition,old,new,end,note\ng,t,1,1,1,1,\n'

# It changes with --execute; what was exported restores it, though a warning came with it.
spool reset-offsets -g g -t t --export >saved 2>err
expect_file saved 't,0,4\nt,1,1\n'
expect_err_has 't-2'
run spool reset-offsets -g g -t t --to-earliest --execute
expect_ok
expect_eq 't,0,0 t,1,0 t,2,0 ' "$(committed)"
run spool reset-offsets -g g --from-file saved --execute
expect_ok
expect_eq 't,0,4 t,1,1 t,2,0 ' "$(committed)"
run spool reset-offsets -g g -t t --to-latest -y
expect_eq 't,0,6 t,1,1 t,2,0 ' "$(committed)"
run spool reset-offsets -g g --undo --format tsv
expect_ok
expect_eq 't,0,6 t,1,1 t,2,0 ' "$(committed)" 'a plan only'
run spool reset-offsets -g g --undo -y
expect_ok
expect_eq 't,0,4 t,1,1 t,2,0 ' "$(committed)"
run spool reset-offsets -g g --undo -y
expect_eq 't,0,6 t,1,1 t,2,0 ' "$(committed)" 'undone'
# What had no offset has none again.
spool groups delete-offsets g -t t:2
run spool reset-offsets -g g -t t:2 --to-earliest -y
expect_eq 't,0,6 t,1,1 t,2,0 ' "$(committed)"
run spool reset-offsets -g g --undo -y
expect_eq 't,0,6 t,1,1 ' "$(committed)"
# Other ways to write a file.
printf 't 0 1\nt 1 0\n' | spool reset-offsets -g g --from-file - -y >/dev/null
expect_eq 't,0,1 t,1,0 ' "$(committed)"
echo '[{"topic":"t","partition":0,"offset":2}]' | spool reset-offsets -g g --from-file - -y >/dev/null
expect_eq 't,0,2 t,1,0 ' "$(committed)"
printf 'g,t,0,3\nother,t,0,5\n' | spool reset-offsets -g g --from-file - -y >/dev/null
expect_eq 't,0,3 t,1,0 ' "$(committed)"
spool groups describe g --format csv | spool reset-offsets -g g --from-file - -y >/dev/null
expect_eq 't,0,3 t,1,0 ' "$(committed)"
printf 't,0,1\nt,x,1\n' >bad
run spool reset-offsets -g g --from-file bad -y
expect_status 5
expect_err_has "'bad', line 2"

# Living members.
spool consume t -f -g g >shown &
pid=$!
pids="$pids $pid"
eventually 40 lines shown 4
run spool reset-offsets -g g -t t --to-earliest -y
expect_status 4
expect_err_has "process $pid" 'nothing was changed'
run spool reset-offsets -g g -t t --to-earliest
expect_status 0
expect_err_has 'living members'
# One that was stopped before, and goes on behind --force, commits nothing more.
kill -STOP "$pid"
spool produce t --value late -p 0
run spool reset-offsets -g g -t t --to-offset 0 -y --force
expect_status 0
expect_err_has "process $pid"
kill -CONT "$pid"
finish "$pid" 20
expect_status 4
expect_eq 't,0,0 t,1,0 t,2,0 ' "$(committed)"
run spool consume t -g g -c 1 -p 0
expect_out '1\n'

# Mistakes.
for words in '-t t --to-latest' '-g g --to-latest' '-g g -t t' '-g g -t t --to-latest --to-earliest' \
	'-g g -t t --to-latest --export -y' '-g g -t t --to-offset -3' '-g g -t t:x --to-latest' 'g'; do
	# shellcheck disable=SC2086  # words are meant
	run spool reset-offsets $words
	expect_status 2
done
run spool reset-offsets -g g -t nothing --to-latest
expect_status 3
run spool reset-offsets -g g -t t:9 --to-latest
expect_status 3
run spool reset-offsets -g nobody --all-topics --to-latest
expect_status 3
run spool reset-offsets -g nobody --undo
expect_status 3
