#!/bin/bash
# What a reader has not taken is not committed: exact counts for pipes, files, full disks and
# signals.
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
need dd

# committed GROUP: the offset of t-0, or nothing.
committed() {
	spool groups export "$1" | sed -n 's/^t,0,//p'
}
# A record prints as 100 bytes.
for i in $(seq 1000 1999); do
	printf '%099d\n' "$i"
done | spool produce t

# The reader takes 1000 bytes of what is in the pipe, and leaves: ten records.
set +e
spool consume t -g dd 2>"$T/err" | (
	dd bs=1000 count=1 iflag=fullblock 2>/dev/null >taken
	sleep 1
)
statuses=("${PIPESTATUS[@]}")
set -e
expect_eq 141 "${statuses[0]}" 'status'
expect_err ''
expect_eq 1000 "$(wc -c <taken)" 'bytes taken'
expect_eq 10 "$(committed dd)" 'committed'
# Within the eleventh: still ten.
set +e
spool consume t -g torn 2>"$T/err" | dd bs=1050 count=1 iflag=fullblock 2>/dev/null >taken
set -e
expect_eq 10 "$(committed torn)" 'committed of a torn record'

# A reader that waits for our end before it takes anything: 5 s, and it is said.
mkfifo fifo
exec 7<>fifo
printf '%099d\n' 1 2 3 | spool produce few
status=0
spool consume few -g wait >fifo 2>err || status=$?
expect_status 1
expect_err_has '3 records are not committed' '--commit end'
expect_eq '' "$(spool groups list | grep -x wait || true)" 'no commit'
head -c 300 <&7 >taken
run spool consume few -g wait --commit end
expect_ok
expect_eq 300 "$(wc -c <out)" 'bytes'
exec 7>&-

# A slow reader takes all of it: committed.
spool consume t -g slow | (
	sleep 1
	cat >taken
)
expect_eq 1000 "$(committed slow)" 'committed'
expect_eq 100000 "$(wc -c <taken)" 'bytes'

# A signal, while the output is blocked: what the reader took, and no more.
mkfifo blocked
spool consume t -g term >blocked &
pid=$!
pids="$pids $pid"
exec 8<blocked
head -c 500 <&8 >taken
sleep 0.3
kill -TERM "$pid"
finish "$pid" 20
expect_status 143
expect_eq 5 "$(committed term)" 'committed'
exec 8<&-

# A reader of a file sees all of it as soon as it is written.
run spool consume t -g file
expect_ok
expect_eq 1000 "$(committed file)" 'committed'

# While it follows: committed soon after it was shown.
spool consume t -f -g follow >shown &
pid=$!
pids="$pids $pid"
eventually 40 lines shown 1000

echo more | spool produce t
eventually 40 lines shown 1001
kill -TERM "$pid"
finish "$pid" 40
expect_status 143
expect_eq 1001 "$(committed follow)" 'committed'
