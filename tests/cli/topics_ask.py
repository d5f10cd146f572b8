#!/usr/bin/env python3
"""topics delete and trim ask on a terminal: yes does it, anything else does not. repair does not ask:
it says what it would do, and -y does it."""

import os
import pty
import select
import subprocess
import sys
import tempfile
import time

SPOOL = os.path.abspath(os.environ["SPOOL"])


def main():
    with tempfile.TemporaryDirectory(prefix="spool-test.") as root:
        environ = {"PATH": "/usr/bin:/bin", "HOME": root, "SPOOL_DIR": root + "/log",
                   "LC_ALL": "C.UTF-8", "TZ": "UTC"}

        def spool(*args, **more):
            return subprocess.run([SPOOL, *args], env=environ, check=True, stdout=subprocess.PIPE,
                                  text=True, **more).stdout

        def on_terminal(answer, *args):
            """Status and what was shown, when `answer` is typed after the question."""
            pid, fd = pty.fork()
            if pid == 0:
                os.execve(SPOOL, [SPOOL, *args], environ)
            shown, asked = b"", False
            end = time.monotonic() + 60
            while time.monotonic() < end:
                ready, _, _ = select.select([fd], [], [], 1)
                if not ready:
                    continue
                try:
                    got = os.read(fd, 4096)
                except OSError:
                    break
                if not got:
                    break
                shown += got
                if not asked and b"[y/N] " in shown:
                    asked = True
                    os.write(fd, answer)
            os.close(fd)
            _, status = os.waitpid(pid, 0)
            return os.waitstatus_to_exitcode(status), shown.decode(), asked

        failures = []

        def expect(what, want, got):
            if want != got:
                failures.append(f"{what}: wanted {want!r}, got {got!r}")

        spool("produce", "t", input="a\nb\nc\n")
        for answer in (b"n\n", b"\n", b"yess\n", b"\x04"):
            status, shown, asked = on_terminal(answer, "topics", "delete", "t")
            expect(f"{answer} asked", True, asked)
            expect(f"{answer} status", 1, status)
            expect(f"{answer} says it", True, "nothing was deleted" in shown)
            expect(f"{answer} names it", True, "delete topic 't', with 3 records" in shown)
            expect("topics", "t\n", spool("topics", "list"))
        status, shown, asked = on_terminal(b"y\n", "topics", "trim", "t", "-o", "2")
        expect("trim", (0, True), (status, asked))
        expect("trim names it", True, "remove 2 offsets of 1 partition" in shown)
        expect("left", "c\n", spool("consume", "t"))
        status, shown, asked = on_terminal(b"yes\n", "topics", "delete", "t")
        expect("delete", (0, True), (status, asked))
        expect("topics", "", spool("topics", "list"))
        spool("produce", "t", input="a\n")
        status, shown, asked = on_terminal(b"", "topics", "delete", "t", "-y")
        expect("delete -y", (0, False, ""), (status, asked, shown))

        spool("topics", "create", "t", "--if-not-exists")
        spool("produce", "t", input="a\nb\n")
        path = root + "/log/t-0/00000000000000000000.log"
        with open(path, "r+b") as log:
            log.seek(70)
            log.write(b"rot")
        with open(path, "rb") as log:
            rotten = log.read()
        status, shown, asked = on_terminal(b"y\n", "topics", "repair", "t")
        expect("repair", (0, False), (status, asked))
        expect("repair says it", True, "with --yes it is done" in shown and path in shown)
        with open(path, "rb") as log:
            expect("without -y", rotten, log.read())
        status, shown, asked = on_terminal(b"", "topics", "repair", "t", "-y")
        expect("repair -y", (0, False), (status, asked))
        with open(path, "rb") as log:
            expect("repaired", False, rotten == log.read())
        for failure in failures:
            print("FAIL:", failure)
        return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
