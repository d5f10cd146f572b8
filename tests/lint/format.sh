#!/bin/sh
# The formatting of every .cc and .h file. Other versions of clang-format format differently.
set -eu
. tests/lint/common.sh
need clang-format-19
files '*.cc' '*.h' | xargs -r clang-format-19 --dry-run -Werror
