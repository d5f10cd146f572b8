# Sourced behind common.sh by the tests that run the examples of documents.
# shellcheck shell=sh disable=SC2154  # $script is of common.sh

# run_examples FILE 0|1: runs the examples of a document (1: mdoc) one after the other, in a fresh
# directory, each in a shell of its own. What each prints, messages included, must be what stands
# behind it to the byte, and its status 0. Their number is added to $examples.
run_examples() {
	rm -rf "${D:?}" "${T:?}/home" "${T:?}/examples" "${T:?}/work"
	mkdir "$D" "${T:?}/home" "$T/examples" "$T/work"
	awk -v dir="$T/examples" -v mdoc="$2" -f "$(dirname "$script")/examples.awk" "$1" ||
		fail "the examples of $1 do not read"
	for command in "$T"/examples/*.sh; do
		[ -e "$command" ] || break
		base=${command%.sh}
		example_status=0
		(cd "$T/work" && sh "$command") </dev/null >"$base.got" 2>&1 || example_status=$?
		if ! cmp -s "$base.want" "$base.got"; then
			cat "$command"
			diff -a "$base.want" "$base.got" || true
			fail "$(cat "$base.at"): prints something else than is shown (<)"
		fi
		if [ "$example_status" -ne 0 ]; then
			cat "$command"
			fail "$(cat "$base.at"): status $example_status"
		fi
		examples=$((examples + 1))
	done
}
