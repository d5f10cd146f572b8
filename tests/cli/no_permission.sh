#!/bin/sh
# A directory that may only be read is read; one that may not be read is named.
. "$(dirname "$0")/common.sh"

cp "$SPOOL" "$T/bin/program"
chmod 755 "$T" "$T/bin/program"
other() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$T/bin/program" "$@"
	else
		"$T/bin/program" "$@"
	fi
}
if [ "$(id -u)" -eq 0 ]; then
	need setpriv
	other --version >"$T/out" 2>"$T/err" || skip "cannot run as another user: $(cat "$T/err")"
fi

printf 'a\nb\n' >in
run spool produce t <in
expect_ok
find "$D" -exec chmod a-w,a+rX {} +
run other consume t
expect_ok
expect_out 'a\nb\n'
run other produce t <in
expect_status 1
expect_out ''
expect_err_has 'spool: ' "$D" 'permission denied'
run other produce new <in
expect_status 1
expect_err_has 'permission denied'
expect_eq 2 "$(records t)" 'records'

chmod 000 "$D"
run other consume t
expect_status 1
expect_out ''
expect_err_has 'spool: ' "$D" 'permission denied'
chmod 755 "$D"

# A read-only file system, for which root is no exception.
if [ "$(id -u)" -ne 0 ] || ! unshare --mount true 2>/dev/null; then
	echo 'a read-only file system was not tried: needs root'
	exit 0
fi
# shellcheck disable=SC2016  # the inner shell expands
run unshare --mount --propagation private sh -c \
	'mount --bind "$D" "$D" && mount -o remount,bind,ro "$D" && exec spool consume t'
expect_ok
expect_out 'a\nb\n'
# shellcheck disable=SC2016
run unshare --mount --propagation private sh -c \
	'mount --bind "$D" "$D" && mount -o remount,bind,ro "$D" && exec spool produce t' <in
expect_status 1
expect_err_has 'read-only file system'
