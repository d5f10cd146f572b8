#!/bin/sh
# Installs what building spool needs on Debian 12; with the argument `tests` also what its tests and
# linters use. Needs root, or sudo.
set -eu

case ${1-} in
'' | tests) ;;
*)
	echo "usage: tests/setup.sh [tests]" >&2
	exit 2
	;;
esac

packages='g++ cmake ninja-build pkg-config git libcli11-dev libfmt-dev libexpected-dev libsimdjson-dev
	libhowardhinnant-date-dev libsnappy-dev zlib1g-dev libzstd-dev liblz4-dev libxxhash-dev
	libisal-dev libgtest-dev libgmock-dev'
if [ "${1-}" = tests ]; then
	# procps, util-linux, bsdutils, mount: ps, flock, setpriv, unshare, script. dpkg-dev, file: cpack's package.
	packages="$packages clang-format-19 clang-tidy-19 shellcheck mandoc jq python3 ccache procps
		util-linux bsdutils mount dpkg-dev file bash bash-completion zsh fish"
fi

if ! command -v apt-get >/dev/null; then
	echo "setup.sh: there is no apt-get here; install by hand: $packages" >&2
	exit 1
fi

missing=
for package in $packages; do
	if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
		missing="$missing $package"
	fi
done
if [ -z "$missing" ]; then
	exit 0
fi

sudo=
if [ "$(id -u)" -ne 0 ]; then
	sudo=sudo
fi
# shellcheck disable=SC2086  # both are lists of words
{
	$sudo apt-get update
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
}
