#!/bin/sh
# What is installed from the build in the working directory, file by file: by `cmake --install`, and
# as a Debian package, which is looked into, unpacked and installed; the program and its manual
# work from there. Only in continuous integration, as root, the package goes into the system itself.
set -eu
if [ -z "${CI-}" ]; then
	for tool in cpack dpkg-deb dpkg-shlibdeps file; do
		command -v "$tool" >/dev/null || {
			echo "SKIP: $tool is not installed"
			exit 77
		}
	done
fi
source=$(cd "$(dirname "$0")/.." && pwd)
out=$(mktemp -d)
installed=
cleanup() {
	code=$?
	if [ -n "$installed" ]; then
		apt-get purge -y spool >"$out/purge" 2>&1 || {
			cat "$out/purge"
			code=1
		}
	fi
	rm -rf "$out"
	exit "$code"
}
trap cleanup EXIT
fail() {
	echo "FAIL: $*"
	exit 1
}
# quietly CMD..: shows what it says only when it fails.
quietly() {
	"$@" >"$out/said" 2>&1 || {
		cat "$out/said"
		fail "$*"
	}
}
same() {
	diff "$1" "$2" || fail "$3 has more (>) or less (<) than it should"
}
# wanted ZSH-DIRECTORY SUFFIX-OF-PAGES: a line a file, below the prefix.
wanted() {
	echo bin/spool
	echo share/bash-completion/completions/spool
	echo share/doc/spool/copyright
	echo share/fish/vendor_completions.d/spool.fish
	echo "share/zsh/$1/_spool"
	for page in "$source"/man/*.[157]; do
		echo "share/man/man${page##*.}/${page##*/}$2"
	done
}

# From the build, anywhere.
(umask 022 && quietly cmake --install . --prefix "$out/local")
wanted site-functions '' | sort >"$out/want"
(cd "$out/local" && find . -type f -o -type l) | sed 's,^\./,,' | sort >"$out/has"
same "$out/want" "$out/has" 'cmake --install'
[ -z "$(find "$out/local" -mindepth 1 ! -path '*/bin/spool' -type f ! -perm 644)" ] || fail 'modes of files'
cmp "$source/LICENSE" "$out/local/share/doc/spool/copyright"
version=$("$out/local/bin/spool" --version)

# The package: files, owners and modes, which the umask of its maker is not to change.
(umask 077 && quietly cpack -B "$out")
deb=$(echo "$out"/spool_*.deb)
{
	wanted vendor-completions .gz
	echo share/doc/spool/changelog.gz
} | sed 's,^,./usr/,' | sort >"$out/want"
dpkg-deb -c "$deb" >"$out/list"
awk '$1 !~ /^d/ { print $6 }' "$out/list" | sort >"$out/has"
same "$out/want" "$out/has" 'the package'
awk '
	$1 ~ /^d/ { want = "drwxr-xr-x" }
	$1 !~ /^d/ { want = $6 ~ /\/bin\// ? "-rwxr-xr-x" : "-rw-r--r--" }
	$1 != want || $2 != "root/root" { print; bad = 1 }
	END { exit bad }' "$out/list" || fail 'owner or mode in the package'

# What it says of itself.
dpkg-deb -I "$deb" >"$out/info"
field() {
	dpkg-deb -f "$deb" "$1"
}
[ "spool $(field Version)" = "$version" ] || fail "version $(field Version) in the package"
[ "$(field Package)" = spool ] || fail "the package is called $(field Package)"
[ "$(field Architecture)" = "$(dpkg --print-architecture)" ] || fail 'architecture'
field Depends | grep -q libc6 || fail 'the package names no libraries'
[ "$(field Description | wc -l)" -gt 2 ] || fail 'the package is not described'

# Its files.
mkdir "$out/x"
dpkg-deb -x "$deb" "$out/x"
share=$out/x/usr/share
for page in "$source"/man/*.[157]; do
	gzip -dc "$share/man/man${page##*.}/${page##*/}.gz" | cmp - "$page"
done
gzip -dc "$share/doc/spool/changelog.gz" | head -n 1 | grep -qF "spool ($(field Version)) " ||
	fail ".packaging/changelog does not begin with version $(field Version)"
grep -q 'common-licenses/Apache-2.0' "$share/doc/spool/copyright" || fail 'no licence'
head -n 3 "$source/LICENSE" | grep -q 'Apache License' || fail '.packaging/copyright is of another licence'
cmp "$source/completions/spool.bash" "$share/bash-completion/completions/spool"
cmp "$source/completions/_spool" "$share/zsh/vendor-completions/_spool"
cmp "$source/completions/spool.fish" "$share/fish/vendor_completions.d/spool.fish"

# The shells find their completion where it was installed. (zsh and fish have their directories
# compiled in or from XDG_DATA_DIRS; bash has a loader in its package bash-completion.)
home=$out/home
mkdir "$home"
found() {
	[ "$2" = "$3" ] || fail "$1 completes '$2' from the installed files, instead of '$3'"
}
loader=/usr/share/bash-completion/bash_completion
if [ -e "$loader" ]; then
	# shellcheck disable=SC2016  # for the other shell
	found bash "$(HOME=$home XDG_DATA_DIRS=$out/local/share bash --norc -c '. "$1"
		_completion_loader spool
		complete -p spool' bash "$loader")" 'complete -F _spool spool'
fi
if command -v zsh >/dev/null; then
	# shellcheck disable=SC2016
	found zsh "$(HOME=$home zsh -f -c 'fpath=($1 $fpath)
		autoload -Uz compinit
		compinit -u -D
		echo $_comps[spool]' zsh "$out/local/share/zsh/site-functions")" _spool
fi
if command -v fish >/dev/null; then
	found fish "$(HOME=$home XDG_DATA_DIRS=$out/local/share PATH=$out/local/bin:$PATH \
		fish -c 'complete -C "spool produ"' | cut -f 1)" produce
fi

# works ROOT: the program there appends and reads, and its completion knows the topic.
works() {
	rm -rf "$out/log"
	seq 3 | "$1/usr/bin/spool" -d "$out/log" produce numbers
	[ "$("$1/usr/bin/spool" -d "$out/log" consume numbers | tail -n 1)" = 3 ] ||
		fail "the program in '$1' does not read what it wrote"
	said=$(bash -c '. "$1/usr/share/bash-completion/completions/spool"
		COMP_WORDS=("$1/usr/bin/spool" -d "$2" consume nu) COMP_CWORD=4
		_spool
		echo "${COMPREPLY[@]}"' bash "$1" "$out/log")
	[ "$said" = numbers ] || fail "the completion in '$1' says '$said'"
}
works "$out/x"
if [ "$(id -u)" -ne 0 ]; then
	echo 'not root: the package was unpacked, but not installed'
	exit 0
fi

# Into a root of its own, and out of it.
root=$out/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
: >"$root/var/lib/dpkg/status"
: >"$root/var/lib/dpkg/available"
quietly dpkg --root="$root" --force-depends -i "$deb"
works "$root"
quietly dpkg --root="$root" --purge spool
left=$(find "$root" -name '*spool*')
[ -z "$left" ] || fail "the package leaves behind: $left"

if [ -z "${CI-}" ] || dpkg-query -s spool >/dev/null 2>&1 || [ -e /usr/bin/spool ]; then
	echo 'apt install: in continuous integration only, and where no spool is installed'
	exit 0
fi
chmod 755 "$out"
quietly env DEBIAN_FRONTEND=noninteractive apt-get install -y "$deb"
installed=yes
works ''
[ "$(spool --version)" = "$version" ] || fail 'the installed program'
