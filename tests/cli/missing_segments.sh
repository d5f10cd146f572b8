#!/bin/sh
# A segment in the middle that is missing, empty or short, and a log that lost its end: status 6 with
# the file and the offsets, however the topic is read; --skip-damaged shows what is there. Offsets that
# are gone are not given to other records.
. "$(dirname "$0")/common.sh"

# Segments of one megabyte, three of them; values say their offset.
seq 0 2999 | awk '{ printf "%05d-%01000d\n", $1, 0 }' >in
spool topics create t -c segment.bytes=1048576
split -l 500 in part.
for part in part.*; do
	spool produce t <"$part"
done
set -- "$D"/t-0/*.log
[ $# -ge 3 ] || fail "only $# segments"
middle=$(basename "$2" .log)
last=$(basename "$3" .log)
first_gone=$(echo "$middle" | sed 's/^0*//')
behind=$(echo "$last" | sed 's/^0*//')
cp -a "$D" saved

# damaged WANT ARG..: strict reading prints WANT records, ends with 6 and names the gap
damaged() {
	want=$1
	shift
	run spool consume t -F '%o\n' "$@"
	expect_status 6
	expect_err_has "$D/t-0/0" "to $((behind - 1)) do not read" "offsets $gone"
	expect_eq "$want" "$(wc -l <out)" "records with $*"
}

for how in removed emptied short; do
	rm -rf "$D"
	cp -a saved "$D"
	case $how in
	removed) rm "$D/t-0/$middle.log" ;;
	emptied) truncate -s 0 "$D/t-0/$middle.log" ;;
	short) truncate -s 600000 "$D/t-0/$middle.log" ;;
	esac
	# The copy has other inodes: an append makes its state its own.
	printf 'x\n' | spool produce t 2>err || fail "$how: produce"
	total=3001
	gone=$first_gone
	if [ "$how" = short ]; then
		gone=$(spool consume t -F '%o\n' 2>/dev/null | tail -n 1)
		gone=$((gone + 1))
	fi
	damaged "$gone"
	damaged "$gone" --grep .
	damaged "$gone" -f
	damaged "$gone" -n 3000
	run spool consume t -o "$((behind - 1))"
	expect_status 6
	expect_out ''
	expect_err_has "offsets $((behind - 1)) to $((behind - 1)) do not read"
	run spool consume t -o "$behind" -F '%o\n'
	expect_ok
	expect_eq $((total - behind)) "$(wc -l <out)" "$how: behind the gap"
	run spool consume t --skip-damaged -F '%o\n'
	expect_status 6
	expect_eq $((total - behind + gone)) "$(wc -l <out)" "$how: --skip-damaged"
	run spool consume t --skip-damaged -n 3000 -F '%o\n'
	expect_status 6
	expect_eq $((total - behind + gone)) "$(sort -un out | wc -l)" "$how: -n --skip-damaged"
	expect_eq 1 "$(grep -c 'do not read' err)" "$how: the damage is said once"
done

# The end is gone, though it was on disk.
rm -rf "$D"
mkdir "$D"
for n in 0 1 2 3 4; do
	echo "record $n" | spool produce t
done
log=$D/t-0/00000000000000000000.log
size=$(($(stat -c %s "$log") / 5))
truncate -s $((2 * size)) "$log"
run spool consume t -F '%o\n'
expect_status 6
expect_out '0\n1\n'
expect_err_has "$log" "byte $((2 * size))" 'offsets 2 to 3 do not read'
echo new >in
run spool produce t --report <in
expect_status 0
expect_out '0 4\n'
expect_err_has "$log" 'offsets 2 to 3' 'gone'
run spool consume t --skip-damaged -F '%o %v\n'
expect_status 6
expect_out '0 record 0\n1 record 1\n4 new\n'
run spool consume t -o 4
expect_ok
expect_out 'new\n'
