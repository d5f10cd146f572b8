#!/bin/sh
# A full disk: produce ends with 1 and says so, what it reported is readable, and the topic goes on
# once there is room.
. "$(dirname "$0")/common.sh"

need_root 'to mount a small file system'
need unshare mount
if [ "${SPOOL_TEST_UNSHARED-}" != 1 ]; then
	# In a mount namespace of its own, so that the mount is gone with the process.
	unshare --mount true 2>"$T/why" || skip "no mount namespace: $(cat "$T/why")"
	status=0
	SPOOL_TEST_UNSHARED=1 unshare --mount --propagation private sh "$script" || status=$?
	exit "$status"
fi
mount -t tmpfs -o size=16m spool-test "$D" 2>"$T/why" || skip "no tmpfs: $(cat "$T/why")"
mounted=$D
head -c 4000000 /dev/zero >"$D/spool.ballast"

seq 1 3000000 >in
run spool produce t --report <in
expect_status 1
expect_err_has 'spool: ' 'no space left on device'
acknowledged=$(wc -l <out)

run spool consume t
expect_ok
stored=$(wc -l <out)
[ "$stored" -ge "$acknowledged" ] || fail "$acknowledged acknowledged, $stored readable"
[ "$stored" -gt 0 ] || fail 'nothing was stored'
seq 1 "$stored" | cmp - out || fail 'what is readable is not the beginning of the input'

rm "$D/spool.ballast"
echo after >in
run spool produce t <in
expect_ok
run spool consume t -o "$stored"
expect_ok
expect_out 'after\n'
expect_eq "$((stored + 1))" "$(records t)" 'records'
