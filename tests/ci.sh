#!/bin/sh
# Builds and tests everything that must pass before a change lands: release and asan whole, tsan
# for the tests labelled `threads`. Warnings are errors. Stops at the first build that fails, goes
# on behind tests that fail; status 0 only when all passed.
set -eu
cd "$(dirname "$0")/.."

jobs=2
started=$(date +%s)
summaries=$(mktemp -d)
trap 'rm -rf "$summaries"' EXIT
failed=

elapsed() {
	echo "== $(($(date +%s) - started)) s: $*"
}

# suite PRESET [CTEST-ARG..]
suite() {
	preset=$1
	shift
	elapsed "$preset: build"
	cmake --preset "$preset" -DSPOOL_WERROR=ON
	cmake --build --preset "$preset" -j "$jobs"
	elapsed "$preset: tests"
	status=0
	ctest --preset "$preset" -j "$jobs" --output-log "$summaries/$preset" "$@" || status=$?
	if [ "$status" -ne 0 ]; then
		failed="$failed $preset"
	fi
}

sh tests/setup.sh tests
export ASAN_OPTIONS="detect_stack_use_after_return=1:${ASAN_OPTIONS-}"
export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS-}"
suite release
suite asan
suite tsan -L threads --no-tests=ignore
elapsed "done"

# The end of the output is what is read first: ctest's own closing lines, what failed last.
for preset in tsan asan release; do
	case " $failed " in
	*" $preset "*) ;;
	*)
		echo "== $preset"
		sed -n '/tests passed/,$p' "$summaries/$preset"
		;;
	esac
done
for preset in $failed; do
	echo "== $preset FAILED"
	sed -n '/tests passed/,$p' "$summaries/$preset"
done
[ -z "$failed" ]
