#!/bin/sh
# On a full disk topics trim and topics delete free space, and the topics go on.
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

end_of() {
	spool topics offsets "$1" | cut -d ' ' -f 3
}
# fill TOPIC: until nothing more fits, not even a page.
fill() {
	run spool produce "$1" --config-topic segment.bytes=1048576 <in
	expect_status 1
	cat /dev/zero >"$D/spool.ballast" 2>cat.err || true
	run spool produce "$1" --value more
	expect_status 1
	expect_err_has 'no space left on device'
}
used() {
	du -s --exclude spool.ballast "$D" | cut -f 1
}
seq 1 4000000 >in

# Whole segments.
fill t
before=$(used)
end=$(end_of t)
run spool topics trim t -o -1000 -y
expect_ok
[ "$(used)" -lt "$((before / 2))" ] || fail 'no space was freed'
expect_eq 1000 "$(records t)" 'records that are left'
rm "$D/spool.ballast"

# All of it, in several segments and in one.
fill t
end=$(end_of t)
run spool topics trim t -o end -y
expect_ok
expect_eq 0 "$(records t)" 'records that are left'
rm "$D/spool.ballast"
run spool produce t --value after --report
expect_ok
expect_out "0 $end\n"

seq 1 200000 | spool produce one
cat /dev/zero >"$D/spool.ballast" 2>cat.err || true
run spool topics trim one -o end -y
expect_ok
expect_eq 200000 "$(end_of one)" 'the end stays'
expect_eq 0 "$(records one)" 'records that are left'
rm "$D/spool.ballast"

# delete.
fill t
run spool topics delete t -y
expect_ok
[ ! -e "$D/t-0" ] || fail 'a folder is left'
run spool topics list
expect_out 'one\n'
rm "$D/spool.ballast"
run spool produce t --value again --report
expect_ok
expect_out '0 0\n'
