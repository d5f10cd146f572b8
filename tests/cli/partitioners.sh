#!/bin/sh
# A key goes to the partition where Java's client (murmur2, the default) or librdkafka (crc32) puts
# it.
. "$(dirname "$0")/common.sh"

cp -R "${SPOOL_GOLDEN_DIR:?the unpacked golden data}/data" data
seq -f 'user-%.0f:v' 0 199 >keyed
for name in murmur2 crc32; do
	spool -d "$T/data" consume "$name-keys" -F '%k %p\n' | sort >"$name.wanted"
	expect_eq 200 "$(cut -d ' ' -f 1 "$name.wanted" | sort -u | wc -l)" "keys of $name-keys"
	run spool produce "$name" -K: --partitions 12 --partitioner "$name" <keyed
	expect_ok
	spool consume "$name" -F '%k %p\n' | sort >shown
	diff "$name.wanted" shown || fail "$name: wanted (<) is not where spool puts them (>)"
done
cmp -s murmur2.wanted crc32.wanted && fail 'both put the keys to the same partitions'

run spool produce usual -K: --partitions 12 <keyed
expect_ok
spool consume usual -F '%k %p\n' | sort >shown
diff murmur2.wanted shown || fail 'the default is not murmur2'
# Also where the key comes from elsewhere.
sed 's/:v//; s/.*/{"key":"&","value":"v"}/' keyed | spool produce json -J --partitions 12
spool consume json -F '%k %p\n' | sort >shown
diff murmur2.wanted shown || fail 'keys of JSON records'
while IFS=: read -r key value; do
	spool produce each --partitions 12 -k "$key" --value "$value" --fsync never
done <keyed
spool consume each -F '%k %p\n' | sort >shown
diff murmur2.wanted shown || fail 'keys of -k'
