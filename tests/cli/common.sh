# Sourced first by every script here. Gives a test
#   $T       a fresh directory, the working directory, removed at the end whatever happens
#   $D       $T/log, an empty directory that spool uses by default (SPOOL_DIR)
#   spool    the program under test, from $SPOOL, in PATH
#   $script  the path of the script itself
# and the helpers below. A script fails at the first command that fails (set -e), a skipped test
# says why. Nothing of the caller's home or settings is seen.
# shellcheck shell=sh
set -eu

: "${SPOOL:?the path of the program to test}"
case $SPOOL in
/*) ;;
*) SPOOL=$PWD/$SPOOL ;;
esac
[ -x "$SPOOL" ] || {
	echo "FAIL: cannot run $SPOOL"
	exit 1
}

# shellcheck disable=SC2034  # for the scripts
case $0 in
/*) script=$0 ;;
*) script=$PWD/$0 ;;
esac
T=$(mktemp -d "${TMPDIR:-/tmp}/spool-test.XXXXXX")
D=$T/log
pids=
status=0
pid=
mounted=

cleanup() {
	code=$?
	trap - EXIT HUP INT TERM
	set +e
	for child in $pids; do
		kill -9 "$child" 2>/dev/null
		wait "$child" 2>/dev/null
	done
	if [ "$code" -ne 0 ] && [ "$code" -ne 77 ]; then
		show
	fi
	cd /
	if [ -n "$mounted" ]; then
		umount -l "$mounted"
	fi
	chmod -R u+rwX "$T" 2>/dev/null
	rm -rf "$T"
	exit "$code"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

mkdir "$D" "$T/bin" "$T/home"
ln -s "$SPOOL" "$T/bin/spool"
cd "$T"
PATH=$T/bin:$PATH
HOME=$T/home
SPOOL_DIR=$D
TZ=UTC
LC_ALL=C.UTF-8
export PATH HOME SPOOL_DIR TZ LC_ALL SPOOL D T
unset SPOOL_BOOTSTRAP_SERVER SPOOL_CONFIG SPOOL_ANY_FS XDG_STATE_HOME XDG_CONFIG_HOME NO_COLOR
umask 022
: >out
: >err

# show: what the last `run` printed, for the reader of a failure.
show() {
	for file in out err; do
		if [ -s "$T/$file" ]; then
			echo "--- $file of the last run"
			head -c 2000 "$T/$file"
		fi
	done
}
fail() {
	echo "FAIL: $*"
	exit 1
}
skip() {
	echo "SKIP: $*"
	exit 77
}
# need TOOL..: skips without it; in continuous integration, which installs all, it fails.
need() {
	for tool in "$@"; do
		command -v "$tool" >/dev/null && continue
		[ -z "${CI-}" ] || fail "$tool is not installed; tests/setup.sh tests installs it"
		skip "$tool is not installed"
	done
}
need_root() {
	[ "$(id -u)" -eq 0 ] || skip "needs root: $*"
}
# sanitized: true under a sanitizer, which is several times slower; no time is measured there.
sanitized() {
	[ -n "${SPOOL_SANITIZE-}" ]
}

# run CMD..: stdout to `out`, stderr to `err`, exit status to $status. stdin is passed on.
run() {
	status=0
	"$@" >"$T/out" 2>"$T/err" || status=$?
}
expect_status() {
	[ "$status" -eq "$1" ] || fail "status $status instead of $1"
}
# expect_eq WANT GOT [WHAT]
expect_eq() {
	[ "$1" = "$2" ] || fail "${3:-value}: wanted '$1', got '$2'"
}
# expect_file FILE 'TEXT': exactly these bytes; escapes as in printf %b.
expect_file() {
	printf %b "$2" >"$T/.want"
	if ! cmp -s "$T/.want" "$1"; then
		diff -a "$T/.want" "$1" || true
		fail "$1 differs from what is wanted (<)"
	fi
}
expect_out() {
	expect_file "$T/out" "$1"
}
expect_err() {
	expect_file "$T/err" "$1"
}
# expect_err_has 'TEXT'..: each in the stderr of the last run, upper or lower case.
expect_err_has() {
	for text in "$@"; do
		grep -qiF -e "$text" "$T/err" || fail "stderr lacks '$text'"
	done
}
# expect_ok: status 0, nothing on stderr.
expect_ok() {
	expect_status 0
	expect_err ''
}
# records TOPIC: how many there are.
records() {
	spool consume "$1" -F 'r\n' | wc -l
}

now_ms() {
	date +%s%3N
}
# start CMD..: runs it in the background with the caller's stdin; its process id is $pid. It is killed
# at the end of the test. CMD must be a program, so that $pid is the program's own.
start() {
	exec 9<&0
	"$@" <&9 9<&- &
	pid=$!
	exec 9<&-
	pids="$pids $pid"
}
# running PID: it exists and has not ended (a zombie has).
running() {
	case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in
	'' | Z*) return 1 ;;
	esac
}
gone() {
	! running "$1"
}
# eventually SECONDS CMD..: until CMD succeeds.
eventually() {
	eventually_end=$(($(now_ms) + $1 * 1000))
	shift
	until "$@"; do
		[ "$(now_ms)" -lt "$eventually_end" ] || fail "not within the time limit: $*"
		sleep 0.01
	done
}
# finish PID SECONDS: its exit status to $status; fails when it has not ended by then.
finish() {
	eventually "$2" gone "$1"
	status=0
	wait "$1" || status=$?
	kept=
	for child in $pids; do
		[ "$child" = "$1" ] || kept="$kept $child"
	done
	pids=$kept
}
# lines FILE N: it has exactly N lines.
lines() {
	[ "$(wc -l <"$1")" -eq "$2" ]
}
