#!/bin/sh
# The tour of the README prints what it shows, and its command for a fresh machine does its job.
. "$(dirname "$0")/common.sh"
# shellcheck source=examples.sh
. "$(dirname "$script")/examples.sh"
need jq

readme=$(dirname "$script")/../../README.md
examples=0
run_examples "$readme" 0
[ "$examples" -ge 20 ] || fail "only $examples examples were found"

# Two commands to paste. Of the first one what stands behind the build is run here.
# shellcheck disable=SC2016  # the fences of Markdown
sed -n '/^```sh$/,/^```$/p' "$readme" | grep -v '^```' >commands
expect_eq 2 "$(wc -l <commands)" 'commands to paste'
expect_eq 'sh tests/ci.sh' "$(tail -n 1 commands)" 'the second command'
head -n 1 commands | sed -e 's|.*--target spool && ||' -e 's|build/release/spool|spool|g' >job
run sh job
expect_ok
expect_out '1\n2\n3\n'
