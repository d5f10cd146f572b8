#!/bin/sh
# Without inotify (the user's limit is reached) following goes on by polling.
. "$(dirname "$0")/common.sh"

need unshare
# shellcheck disable=SC2016  # the inner shell expands
limited='echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"'
unshare --user --map-root-user sh -c "$limited" sh true 2>/dev/null ||
	skip 'cannot limit inotify in a user namespace'

printf 'first\n' | spool produce t
start unshare --user --map-root-user sh -c "$limited" sh \
	"$SPOOL" consume t -f -v -F '%v\n' >seen 2>said
eventually 5 lines seen 1
printf 'second\n' | spool produce t
began=$(now_ms)
eventually 5 lines seen 2
if ! sanitized; then
	[ $(($(now_ms) - began)) -lt 200 ] || fail 'polling took too long'
fi
expect_file seen 'first\nsecond\n'
grep -q inotify said || fail "-v does not say that inotify is missing: $(cat said)"
