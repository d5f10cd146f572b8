# Takes the examples out of a document, for readme.sh and manual.sh: writes $DIR/N.sh, the commands,
# and $DIR/N.want, what they print, N from 100 on, and $DIR/N.at, where they stand.
#
# An example begins with "$ "; lines behind it that begin with "> " belong to the command, without
# these two letters; all others up to the next "$ " are output. Examples stand
#   in Markdown between ```console and ```
#   in mdoc between the lines `.\" run`, `.Bd -literal ...` and `.Ed`
# A manual's text is decoded: \e is a backslash, \(aq an apostrophe, \& nothing.
# Variables: dir, mdoc (1 or 0).

function begin(text) {
	close_all()
	base = dir "/" (100 + count++)
	printf "%s:%d\n", FILENAME, FNR >(base ".at")
	print text >(base ".sh")
	printf "" >(base ".want")
	open = 1
}
function close_all() {
	if (!open) return
	close(base ".at")
	close(base ".sh")
	close(base ".want")
	open = 0
}
function decode(text) {
	gsub(/\\&/, "", text)
	gsub(/\\\(aq/, "'", text)
	gsub(/\\\(ti/, "~", text)
	gsub(/\\\(ha/, "^", text)
	gsub(/\\\(ga/, "`", text)
	gsub(/\\-/, "-", text)
	gsub(/\\e/, "\\", text)
	return text
}
function broken(what) {
	printf "%s:%d: %s\n", FILENAME, FNR, what
	failed = 1
	exit 1
}

mdoc && /^\.\\" run$/ { announced = 1; next }
mdoc && announced && /^\.Bd -literal/ { announced = 0; inside = 1; fresh = 1; next }
mdoc && announced { broken("no literal block behind the mark") }
mdoc && inside && /^\.Ed$/ { inside = 0; close_all(); next }
mdoc && /^\.Bd -literal/ { next }
!mdoc && /^```console$/ { inside = 1; fresh = 1; next }
!mdoc && inside && /^```$/ { inside = 0; close_all(); next }
!inside { next }
{
	line = mdoc ? decode($0) : $0
	if (substr(line, 1, 2) == "$ ") {
		begin(substr(line, 3))
	} else if (fresh) {
		broken("an example that begins with no command")
	} else if (substr(line, 1, 2) == "> " || line == ">") {
		print substr(line, 3) >(base ".sh")
	} else {
		print line >(base ".want")
	}
	fresh = 0
}
END {
	if (failed) exit 1
	if (inside) broken("an example without an end")
	close_all()
}
