#!/bin/sh
# Includes point downwards only: cmd -> src -> lib, inside lib and src in the order below. lib
# knows no network and no command line. Every include in quotes names a file of ours.
set -eu
. tests/lint/common.sh
{
	files 'lib/*.cc' 'lib/*.h' 'src/*.cc' 'src/*.h' 'cmd/*.cc' 'cmd/*.h' | sed 's/^/file /'
	files 'lib/*.cc' 'lib/*.h' 'src/*.cc' 'src/*.h' 'cmd/*.cc' 'cmd/*.h' |
		xargs -r grep -HnE '^[[:blank:]]*#[[:blank:]]*(include|pragma)' || true
} | awk '
BEGIN {
	# What each directory may include, itself apart.
	may["lib/base"] = " "
	may["lib/io"] = " lib/base "
	may["lib/record"] = " lib/base lib/io "
	may["lib/log"] = " lib/base lib/io lib/record "
	may["lib/store"] = " lib/base lib/io lib/record lib/log "
	may["lib/group"] = " lib/base lib/io lib/record lib/log lib/store "
	lib = " lib/base lib/io lib/record lib/log lib/store lib/group "
	may["src/wire"] = lib
	may["src/net"] = lib
	may["src/kafka"] = lib "src/wire "
	may["src/cluster"] = lib "src/wire src/kafka src/net "
	may["src/broker"] = lib "src/wire src/kafka src/net src/cluster "
	may["src/remote"] = lib "src/wire src/kafka "
	may["cmd"] = lib "src/wire src/net src/kafka src/cluster src/broker src/remote "
	never_in_lib = "^(CLI/|librdkafka/|uv\\.h|uv/|openssl/|sys/socket\\.h|sys/un\\.h|netinet/|netdb\\.h|iostream$)"
}
function layer(path) {
	if (path ~ /^cmd\//) return "cmd"
	split(path, part, "/")
	return part[1] "/" part[2]
}
function bad(what) {
	print what
	found = 1
}
/^file / {
	path = substr($0, 6)
	ours[path] = 1
	if (path ~ /\.h$/) once[path] = 0
	if (!(layer(path) in may) && !(layer(path) in told)) {
		told[layer(path)] = 1
		bad(path ": directory " layer(path) " has no place in the order of tests/lint/includes.sh")
	}
	next
}
{
	split($0, piece, ":")
	path = piece[1]
	where = path ":" piece[2]
	text = substr($0, length(where) + 2)
	if (text ~ /#[ \t]*pragma[ \t]+once/) once[path] = 1
	if (text !~ /#[ \t]*include/) next
	from = layer(path)
	if (match(text, /<[^>]*>/)) {
		name = substr(text, RSTART + 1, RLENGTH - 2)
		if (from ~ /^lib\// && name ~ never_in_lib) bad(where ": lib must not include <" name ">")
		next
	}
	if (!match(text, /"[^"]*"/)) next
	name = substr(text, RSTART + 1, RLENGTH - 2)
	target = ""
	dir = path
	sub(/[^\/]*$/, "", dir)
	if (("lib/" name) in ours) target = "lib/" name
	else if (("src/" name) in ours) target = "src/" name
	else if (("cmd/" name) in ours) target = "cmd/" name
	else if ((dir name) in ours) target = dir name
	if (target == "") {
		bad(where ": \"" name "\" is no file of lib, src or cmd")
		next
	}
	to = layer(target)
	if (to != from && index(may[from], " " to " ") == 0) bad(where ": " from " must not include " target)
}
END {
	for (path in once)
		if (!once[path]) bad(path ": #pragma once is missing")
	exit found
}'
