#!/bin/sh
# Manual pages: mandoc has nothing to say but that our pages, not installed yet, are not found.
set -eu
. tests/lint/common.sh
pages=$(files 'man/*.[1-8]')
if [ -z "$pages" ]; then
	skip 'there are no manual pages yet'
fi
need mandoc
said=$(mktemp)
trap 'rm -f "$said"' EXIT
for page in $pages; do
	mandoc -T lint -W style "$page" 2>&1 || true
done | { grep -vE 'STYLE: referenced manual not found: Xr spool' || true; } >"$said"
cat "$said"
[ ! -s "$said" ]
