#!/bin/sh
# The Debian package, made from the build in the working directory: the program, every manual page
# and the licence are in it, and it names the libraries that the program needs.
set -eu
for tool in cpack dpkg-deb dpkg-shlibdeps file; do
	command -v "$tool" >/dev/null || {
		echo "SKIP: $tool is not installed"
		exit 77
	}
done
source=$(cd "$(dirname "$0")/.." && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cpack -B "$out" >"$out/log" 2>&1 || {
	cat "$out/log"
	exit 1
}
dpkg-deb -c "$out"/*.deb | awk '$1 !~ /^d/ { print $6 }' | sort >"$out/has"
{
	echo ./usr/bin/spool
	echo ./usr/share/doc/spool/copyright
	for page in "$source"/man/*.[157]; do
		if [ -f "$page" ]; then
			echo "./usr/share/man/man${page##*.}/${page##*/}"
		fi
	done
} | sort >"$out/want"
missing=$(comm -23 "$out/want" "$out/has")
if [ -n "$missing" ]; then
	echo "not in the package: $missing"
	exit 1
fi
dpkg-deb -f "$out"/*.deb Depends | grep -q libc6 || {
	echo "the package names no libraries"
	exit 1
}
