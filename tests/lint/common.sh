# Sourced by the lint scripts, with the source directory as working directory. A script prints one
# line for each finding and ends with status 1 when there was any, 77 when it could not look.
# shellcheck shell=sh

# files [PATTERN..]: our files, those not yet added to git too; without git everything but builds.
files() {
	if git -c safe.directory='*' rev-parse --git-dir >/dev/null 2>&1; then
		git -c safe.directory='*' ls-files -co --exclude-standard -- "$@"
	else
		find . -type f ! -path './build*' ! -path './.git/*' | sed 's,^\./,,' |
			while IFS= read -r name; do
				for pattern in "${@:-*}"; do
					# shellcheck disable=SC2254  # a pattern is meant
					case $name in
					$pattern)
						printf '%s\n' "$name"
						break
						;;
					esac
				done
			done
	fi | sort -u | while IFS= read -r name; do
		# Deleted, and git has not been told yet.
		if [ -f "$name" ]; then
			printf '%s\n' "$name"
		fi
	done
}

# skip REASON: says why nothing was looked at.
skip() {
	echo "SKIP: $*"
	exit 77
}

# need TOOL: skips when it is not there. Continuous integration installs all of them, so that there
# a missing one is a failure.
need() {
	if ! command -v "$1" >/dev/null; then
		if [ -n "${CI-}" ]; then
			echo "$1 is not installed; tests/setup.sh tests installs it"
			exit 1
		fi
		skip "$1 is not installed"
	fi
}
