#!/bin/sh
# Every header compiles by itself, with $CXX.
set -eu
. tests/lint/common.sh
cxx=${CXX:-g++}
export cxx
# shellcheck disable=SC2016  # the inner shell expands
files 'lib/*.h' 'src/*.h' 'cmd/*.h' |
	xargs -r -P2 -n1 sh -c '"$cxx" -std=c++20 -fsyntax-only -Ilib -Isrc -Icmd -include "$1" -x c++ /dev/null || {
		echo "$1: does not compile by itself"
		exit 1
	}' sh
