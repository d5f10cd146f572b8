#!/usr/bin/env python3
"""On a terminal messages have colours and long commands show how far they are; elsewhere neither,
and nothing of it ever reaches stdout.

$SPOOL names the program."""

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time

SPOOL = os.path.abspath(os.environ["SPOOL"])
PATIENCE = 60


def fail(text):
    print("FAIL:", text)
    sys.exit(1)


def check(good, text):
    if not good:
        fail(text)


class Program:
    def __init__(self, folder):
        self.env = dict(os.environ, SPOOL_DIR=os.path.join(folder, "log"), HOME=folder,
                        TERM="xterm", LC_ALL="C")
        for name in ("NO_COLOR", "COLUMNS"):
            self.env.pop(name, None)

    def piped(self, *args, data=b"", **env):
        done = subprocess.run([SPOOL, *args], input=data, env=dict(self.env, **env),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
        return done.returncode, done.stdout, done.stderr

    def on_terminal(self, *args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, feed=None, **env):
        """stderr is a terminal; gives status, stdout and what the terminal got."""
        ours, theirs = pty.openpty()
        child = subprocess.Popen([SPOOL, *args], stdin=stdin, stdout=stdout, stderr=theirs,
                                 env=dict(self.env, **env))
        os.close(theirs)
        shown = b""
        until = time.monotonic() + PATIENCE
        while True:
            check(time.monotonic() < until, f"{args}: no end")
            if feed is not None and not feed(child):
                feed = None
            if not select.select([ours], [], [], 0.05)[0]:
                continue
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
        os.close(ours)
        out = child.stdout.read() if child.stdout else b""
        return child.wait(PATIENCE), out, shown


def colours(program):
    def coloured(text):
        return text.startswith(b"\x1b[1;31mspool:\x1b[0m ")

    missing = ("consume", "missing")
    plain = b"spool: topic 'missing' does not exist"
    status, out, shown = program.on_terminal(*missing)
    check((status, out) == (3, b"") and coloured(shown), f"on a terminal: {shown!r}")
    check(shown.replace(b"\x1b[1;31m", b"").replace(b"\x1b[0m", b"").strip() == plain,
          f"on a terminal: {shown!r}")
    for what, args, env in (("never", ("--color", "never"), {}), ("NO_COLOR", (), {"NO_COLOR": "1"}),
                            ("a dumb terminal", (), {"TERM": "dumb"})):
        shown = program.on_terminal(*args, *missing, **env)[2]
        check(shown.strip() == plain, f"{what}: {shown!r}")
    check(coloured(program.on_terminal(*missing, NO_COLOR="")[2]), "an empty NO_COLOR counts as none")
    check(program.piped(*missing)[2].strip() == plain, "to a pipe: colours")
    for env in ({}, {"NO_COLOR": "1"}):
        status, out, said = program.piped("--color=always", *missing, **env)
        check(coloured(said) and not out, f"always, to a pipe: {said!r}")
    # A usage error too, before all options are known.
    check(coloured(program.piped("consume", "--color", "always", "--bogus")[2]), "a usage error")
    check(b"\x1b" not in program.on_terminal("consume", "--color=never", "--bogus")[2],
          "a usage error, never")
    status, out, said = program.piped("--color", "always", "--version")
    check(b"\x1b" not in out + said, "colours on stdout")


PROGRESS = re.compile(rb"^(\d+) records, [0-9.]+ [KMG]?i?B(, (\d+)%)?, [0-9.]+ [KMG]?i?B/s(, [0-9hms]+ left)?$")


def lines_of(shown):
    return [line for line in shown.split(b"\r\x1b[K") if line]


def check_progress(what, shown, known):
    check(shown.endswith(b"\r\x1b[K"), f"{what}: not wiped: {shown[-80:]!r}")
    lines = lines_of(shown)
    check(lines, f"{what}: none: {shown!r}")
    for line in lines:
        match = PROGRESS.match(line)
        check(match, f"{what}: {line!r}")
        check((match.group(3) is not None) == known, f"{what}: {line!r}")
        check(match.group(3) is None or 0 <= int(match.group(3)) <= 100, f"{what}: {line!r}")


def progress(program, folder):
    source = os.path.join(folder, "lines")
    with open(source, "wb") as f:
        f.write(b"".join(b"%d\n" % i for i in range(3000)))
    # Slow enough to be shown.
    status, out, shown = program.on_terminal("produce", "t", source, "--rate", "1500/s")
    check(status == 0 and not out, f"produce of a file: {status} {out!r}")
    check_progress("produce of a file", shown, True)

    status, out, said = program.piped("produce", "t", source, "--rate", "3000/s")
    check((status, out, said) == (0, b"", b""), f"produce, no terminal: {said!r}")
    status, out, said = program.piped("produce", "t", source, "--rate", "1500/s", "--progress=always")
    check(status == 0 and not out, "produce, always")
    check_progress("produce, always, to a pipe", said, True)
    for args in (("--progress=never",), ("-q",)):
        shown = program.on_terminal("produce", "t", source, "--rate", "1500/s", *args)[2]
        check(not shown, f"{args}: {shown!r}")

    # stdin that is no file, and stdout that is none: both ends are somebody's who shows something.
    shown = program.on_terminal("produce", "t", "--value", "x")[2]
    check(not shown, f"--value: {shown!r}")

    big = os.path.join(folder, "big")
    with open(big, "wb") as f:
        f.write(b"".join(b"%d\n" % i for i in range(600_000)))
    status, out, said = program.piped("produce", "big", big, "-p", "0")
    check(status == 0, f"produce: {said!r}")
    target = os.path.join(folder, "target")
    with open(target, "wb") as stdout:
        status, _, shown = program.on_terminal("consume", "big", "--progress=always", "-J",
                                               stdout=stdout)
    check(status == 0, f"consume to a file: {status}")
    check_progress("consume to a file", shown, True)
    with open(target, "rb") as f:
        written = f.read()
    check(b"\x1b" not in written and written.count(b"\n") == 600_000, "consume to a file: its content")
    shown = program.on_terminal("consume", "big", stdout=subprocess.DEVNULL)[2]
    check(not shown, f"consume, not to a file: {shown!r}")

    # verify shows of how much it has read how much.
    shown = program.on_terminal("topics", "verify", "--progress=always")[2]
    check_progress("verify", shown, True)
    check(lines_of(shown)[0].startswith(b"0 records, 0 B, 0%"), f"verify: {shown!r}")
    for args in ((), ("--progress=never",), ("-q",)):
        shown = program.on_terminal("topics", "verify", "t", *args)[2]
        check(not shown, f"verify in no time {args}: {shown!r}")
    status, out, said = program.piped("topics", "verify")
    check((status, out, said) == (0, b"", b""), f"verify, no terminal: {said!r}")

    # A message in between has a line of its own.
    bad = os.path.join(folder, "bad")
    with open(bad, "wb") as f:
        f.write(b"k:v\n" * 2500 + b"none\n")
    status, _, shown = program.on_terminal("produce", "t", bad, "-K:", "--rate", "1500/s",
                                           "--color=never")
    check(status == 5, f"a bad line: {status}")
    check(lines_of(shown)[-1].startswith(b"spool: "), f"a bad line: {shown!r}")


def main():
    with tempfile.TemporaryDirectory(prefix="spool-test.") as folder:
        program = Program(folder)
        program.piped("produce", "t", "--value", "x")
        colours(program)
        progress(program, folder)


main()
