#!/bin/sh
# Two users share a directory that its mode lets both write: files get the directory's mode, whatever
# the umask of who makes them.
. "$(dirname "$0")/common.sh"

need_root 'becomes two users'
need setpriv
cp "$SPOOL" "$T/bin/program"
chmod 755 "$T" "$T/bin/program"
as() {
	user=$1
	shift
	setpriv --reuid="$user" --regid=65533 --clear-groups "$T/bin/program" "$@"
}
as 65531 --version >"$T/out" 2>"$T/err" || skip "cannot run as another user: $(cat "$T/err")"
chgrp 65533 "$D"
chmod 2770 "$D"
umask 077
printf 'one\n' >in1
printf 'two\n' >in2
run as 65531 produce t <in1
expect_ok
run as 65532 produce t <in2
expect_ok
run as 65532 produce u --config-topic segment.bytes=1048576 <in2
expect_ok
run as 65531 produce u <in1
expect_ok
run as 65531 consume t
expect_ok
expect_out 'one\ntwo\n'
run as 65532 consume u
expect_out 'two\none\n'
expect_eq '' "$(find "$D" -type f ! -perm 660)" 'files of another mode'
expect_eq '' "$(find "$D" -type d ! -perm 2770)" 'folders of another mode'
