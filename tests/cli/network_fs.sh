#!/bin/sh
# A file system that other hosts may write to is refused for writing, by its type; reading works.
. "$(dirname "$0")/common.sh"

need cc
sanitized && skip 'a preloaded library does not go with a sanitizer'
cat >nfs.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/vfs.h>
int statfs(const char *path, struct statfs *out) {
	int (*real)(const char *, struct statfs *) = dlsym(RTLD_NEXT, "statfs");
	int got = real(path, out);
	out->f_type = 0x6969;
	return got;
}
C
cc -shared -fPIC -o nfs.so nfs.c -ldl
printf 'a\n' >in
run spool produce t <in
expect_ok
export LD_PRELOAD="$T/nfs.so"
run spool produce t <in
expect_status 4
expect_err_has 'nfs' "$D" SPOOL_ANY_FS
run spool topics create u
expect_status 4
run spool consume t
expect_ok
expect_out 'a\n'
SPOOL_ANY_FS=1
export SPOOL_ANY_FS
run spool produce t <in
expect_ok
unset LD_PRELOAD
expect_eq 2 "$(records t)" 'records'
