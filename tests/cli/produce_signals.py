#!/usr/bin/env python3
# ctest: threads
"""produce ends soon by a signal, whoever it waits for: another process that was stopped while it
appends, a reader of stdout that takes nothing, the clock of --rate. What was read is stored, or it
says how much is not.

$SPOOL names the program."""

import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

SPOOL = os.path.abspath(os.environ["SPOOL"])
PATIENCE = 60  # seconds until a test that hangs is a failure
F_OFD_SETLK = 37
# Where the lock `append t P` is for partitions 0 to 2: bytes of spool.locks, hashed from the name.
APPEND_BYTES = (1978489712880034279, 9099676456357430889, 639933393745366128)


def fail(text):
    print("FAIL:", text)
    sys.exit(1)


def check(good, text):
    if not good:
        fail(text)


class Log:
    def __init__(self, folder):
        self.env = dict(os.environ, SPOOL_DIR=os.path.join(folder, "log"), HOME=folder, LC_ALL="C")
        self.env.pop("NO_COLOR", None)

    def run(self, *args, data=b""):
        return subprocess.run([SPOOL, *args], input=data, env=self.env, check=True,
                              stdout=subprocess.PIPE, timeout=PATIENCE).stdout

    def start(self, *args, **kwargs):
        return subprocess.Popen([SPOOL, *args], env=self.env, stderr=subprocess.PIPE, **kwargs)

    def values(self, topic):
        return self.run("consume", topic).splitlines()

    def hold(self, partitions):
        """Holds append locks, as a process does that was stopped while it appended."""
        fd = os.open(os.path.join(self.env["SPOOL_DIR"], "spool.locks"), os.O_RDWR)
        for p in partitions:
            flock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, APPEND_BYTES[p], 1, 0)
            fcntl.fcntl(fd, F_OFD_SETLK, flock)
        return fd


def end(child, which, what):
    """Signals it; gives what it said."""
    began = time.monotonic()
    child.send_signal(which)
    try:
        said = child.communicate(timeout=PATIENCE)[1].decode()
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        fail(f"{what}: {which.name} did not end it")
    took = time.monotonic() - began
    check(child.returncode == -which, f"{what}: status {child.returncode}, said {said!r}")
    check(took < 15, f"{what}: took {took:.1f} s")
    return said


def unread(fd):
    return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4))[0]


def eventually(condition, what):
    until = time.monotonic() + PATIENCE
    while not condition():
        check(time.monotonic() < until, f"{what}: not within {PATIENCE} s")
        time.sleep(0.02)


def feed(data):
    """A pipe that holds `data`, and both of its ends."""
    r, w = os.pipe()
    fcntl.fcntl(w, 1031, 1 << 20)  # F_SETPIPE_SZ
    check(os.write(w, data) == len(data), "the pipe is too small")
    return r, w


def stopped_neighbour(log):
    log.run("produce", "t", data=b"before\n")
    holder = log.hold([0])
    child = log.start("produce", "t", stdin=subprocess.PIPE)
    time.sleep(0.5)
    said = end(child, signal.SIGTERM, "a stopped neighbour at the start")
    check("another process holds" in said, f"a stopped neighbour is not named: {said!r}")
    os.close(holder)

    child = log.start("produce", "t", stdin=subprocess.PIPE)
    child.stdin.write(b"one\n")
    child.stdin.flush()
    eventually(lambda: b"one" in log.values("t"), "one")
    holder = log.hold([0])
    child.stdin.write(b"two\nthree\n")
    child.stdin.flush()
    time.sleep(0.5)
    said = end(child, signal.SIGINT, "a stopped neighbour")
    check("1 of 3 records are stored" in said, f"a stopped neighbour: {said!r}")
    os.close(holder)
    check(log.values("t") == [b"before", b"one"], "a stopped neighbour: other records")

    # So much that the input waits too.
    holder = log.hold([0])
    os.close(holder)
    child = log.start("produce", "t", stdin=subprocess.PIPE)
    child.stdin.write(b"four\n")
    child.stdin.flush()
    eventually(lambda: b"four" in log.values("t"), "four")
    holder = log.hold([0])
    lines = b"".join(b"%d\n" % i for i in range(50_000)) * 20
    fcntl.fcntl(child.stdin, fcntl.F_SETFL, os.O_NONBLOCK)
    written = 0
    still = time.monotonic()
    while time.monotonic() - still < 1:
        try:
            written += os.write(child.stdin.fileno(), lines[written:written + 65536])
            still = time.monotonic()
        except BlockingIOError:
            time.sleep(0.02)
    taken = written - unread(child.stdin.fileno())
    whole = lines[:taken].count(b"\n") + 1
    said = end(child, signal.SIGHUP, "a stopped neighbour and much input")
    check(f"1 of {whole} records are stored" in said, f"much input: {whole}, but {said!r}")
    os.close(holder)


def stuck_reports(log, report, topic):
    lines = b"".join(b"%d\n" % i for i in range(100_000))
    source = os.path.join(log.env["HOME"], "lines")
    with open(source, "wb") as f:
        f.write(lines)
    r, w = os.pipe()
    with open(source, "rb") as stdin:
        child = log.start("produce", topic, report, stdin=stdin, stdout=w)
    os.close(w)
    eventually(lambda: unread(r) >= 60_000, report)
    time.sleep(0.5)
    said = end(child, signal.SIGTERM, report)
    check("the reader of stdout takes nothing" in said, f"{report}: {said!r}")
    stored = log.values(topic)
    check(stored == lines.splitlines()[:len(stored)], f"{report}: other records")
    short = re.search(r"(\d+) of (\d+) records are stored", said)
    check(short is None, f"{report}: {said!r}")
    os.close(r)
    return len(stored)


def stuck_tee(log):
    lines = b"".join(b"%d\n" % i for i in range(100_000))
    stdin, feeder = feed(lines)
    r, w = os.pipe()
    child = log.start("produce", "tee", "-T", stdin=stdin, stdout=w)
    os.close(w)
    eventually(lambda: unread(r) >= 60_000, "-T")
    time.sleep(0.3)
    taken = len(lines) - unread(stdin)
    said = end(child, signal.SIGTERM, "-T")
    check("the reader of stdout takes nothing" in said, f"-T: {said!r}")
    whole = lines[:taken].count(b"\n")
    check(log.values("tee") == lines.splitlines()[:whole],
          f"-T: {whole} lines were read, {len(log.values('tee'))} are stored")
    for fd in (stdin, feeder, r):
        os.close(fd)


def slow_rate(log):
    lines = b"".join(b"line %d\n" % i for i in range(1000))
    for more in ((), ("-K", " "), ("--report",)):
        topic = "rate" + str(len("".join(more)))
        stdin, feeder = feed(lines)
        child = log.start("produce", topic, "--rate", "5/s", *more, stdin=stdin,
                          stdout=subprocess.DEVNULL)
        time.sleep(1)
        eventually(lambda: unread(stdin) < len(lines), "--rate")
        taken = len(lines) - unread(stdin)
        said = end(child, signal.SIGTERM, "--rate")
        whole = lines[:taken].count(b"\n")
        stored = log.values(topic)
        check(len(stored) == whole, f"--rate {more}: {whole} read, {len(stored)} stored: {said!r}")
        check("records are stored" not in said, f"--rate {more}: {said!r}")
        for fd in (stdin, feeder):
            os.close(fd)


def non_blocking_input(log):
    r, w = os.pipe()
    fcntl.fcntl(r, fcntl.F_SETFL, os.O_NONBLOCK)
    child = log.start("produce", "nonblock", stdin=r)
    for i in range(3):
        os.write(w, b"%d\n" % i)
        time.sleep(0.1)
    os.close(w)
    said = child.communicate(timeout=PATIENCE)[1]
    os.close(r)
    check(child.returncode == 0 and not said, f"non-blocking stdin: {child.returncode}, {said!r}")
    check(log.values("nonblock") == [b"0", b"1", b"2"], "non-blocking stdin: other records")


def main():
    with tempfile.TemporaryDirectory(prefix="spool-test.") as folder:
        log = Log(folder)
        stopped_neighbour(log)
        check(stuck_reports(log, "--report", "simple") == 100_000, "--report: not all is stored")
        stuck_reports(log, "--report=%p %o %v", "contents")
        stuck_tee(log)
        slow_rate(log)
        non_blocking_input(log)


main()
