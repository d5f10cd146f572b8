#!/bin/sh
# clang-tidy with .clang-tidy over the .cc files of lib, src and cmd, as they are compiled in
# $BUILD_DIR.
set -eu
. tests/lint/common.sh
need clang-tidy-19
build=${BUILD_DIR:-build/release}
if [ ! -f "$build/compile_commands.json" ]; then
	echo "$build/compile_commands.json is missing"
	exit 1
fi
# The compile commands are GCC's; clang lacks some of its warnings, and calls what libstdc++ uses itself
# deprecated.
# What it finds is on stdout; its count of what it does not show, on stderr, is only kept when it fails.
files 'lib/*.cc' 'src/*.cc' 'cmd/*.cc' |
	xargs -r -P2 -n1 clang-tidy-19 --quiet -p "$build" --extra-arg=-Wno-unknown-warning-option \
		--extra-arg=-Wno-deprecated-declarations \
		2>/dev/null
