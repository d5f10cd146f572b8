#!/usr/bin/env python3
# ctest: threads
"""consume ends soon by a signal whatever the reader of its output does: one that takes nothing is
given up, one that goes on gets whole lines. An output that somebody made non-blocking is waited
for.

$SPOOL names the program."""
import fcntl
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

SPOOL = os.path.abspath(os.environ["SPOOL"])
LINES = 200_000
PATIENCE = 60  # seconds until a test that hangs is a failure


def fail(text):
    print("FAIL:", text)
    sys.exit(1)


def full(write_end):
    """Whether the pipe takes nothing more."""
    fd = os.open(f"/proc/self/fd/{write_end}", os.O_WRONLY | os.O_NONBLOCK)
    try:
        return not select.select([], [fd], [], 0)[1]
    finally:
        os.close(fd)


def wait_full(write_end, child):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if child.poll() is not None:
            fail(f"consume ended by itself: {child.returncode}")
        if full(write_end):
            time.sleep(0.3)
            if full(write_end):
                return
        time.sleep(0.02)
    fail("the pipe was never full")


def stuck(env, which, arguments):
    """The reader has stopped; the signal ends consume all the same."""
    r, w = os.pipe()
    child = subprocess.Popen([SPOOL, "consume", "t", *arguments], stdout=w, env=env,
                             stderr=subprocess.PIPE)
    wait_full(w, child)
    began = time.monotonic()
    child.send_signal(which)
    try:
        child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        fail(f"{which.name} with {arguments} did not end it")
    took = time.monotonic() - began
    if child.returncode != -which:
        fail(f"{which.name} with {arguments}: status {child.returncode}")
    if took > 10:
        fail(f"{which.name} with {arguments} took {took:.1f} s")
    os.close(w)
    os.close(r)
    said = child.stderr.read()
    if said:
        fail(f"{which.name} with {arguments} said {said!r}")


def moving(env):
    """The reader was slow, and goes on: it gets a beginning of the lines, all whole."""
    r, w = os.pipe()
    child = subprocess.Popen([SPOOL, "consume", "t"], stdout=w, env=env, stderr=subprocess.PIPE)
    wait_full(w, child)
    os.close(w)
    child.send_signal(signal.SIGTERM)
    got = b""
    while piece := os.read(r, 65536):
        got += piece
    child.wait(PATIENCE)
    os.close(r)
    if child.returncode != -signal.SIGTERM:
        fail(f"with a reader that goes on: status {child.returncode}")
    if not got.endswith(b"\n"):
        fail(f"a reader that goes on got half a line: {got[-40:]!r}")
    count = got.count(b"\n")
    if got != b"".join(b"%d\n" % i for i in range(1, count + 1)):
        fail("a reader that goes on got other lines")


def non_blocking(env):
    """EAGAIN is no error: the output is waited for."""
    r, w = os.pipe()
    fcntl.fcntl(w, fcntl.F_SETFL, os.O_NONBLOCK)
    child = subprocess.Popen([SPOOL, "consume", "t"], stdout=w, env=env, stderr=subprocess.PIPE)
    wait_full(w, child)
    os.close(w)
    got = b""
    while piece := os.read(r, 65536):
        got += piece
    child.wait(PATIENCE)
    os.close(r)
    if child.returncode != 0 or child.stderr.read():
        fail(f"non-blocking output: status {child.returncode}")
    if got != b"".join(b"%d\n" % i for i in range(1, LINES + 1)):
        fail("non-blocking output: other lines")

    r, w = os.pipe()
    fcntl.fcntl(w, fcntl.F_SETFL, os.O_NONBLOCK)
    child = subprocess.Popen([SPOOL, "consume", "t"], stdout=w, env=env, stderr=subprocess.PIPE)
    wait_full(w, child)
    child.send_signal(signal.SIGTERM)
    child.wait(PATIENCE)
    if child.returncode != -signal.SIGTERM:
        fail(f"non-blocking output, TERM: status {child.returncode}")
    os.close(w)
    os.close(r)


def main():
    with tempfile.TemporaryDirectory(prefix="spool-test.") as folder:
        env = dict(os.environ, SPOOL_DIR=os.path.join(folder, "log"), HOME=folder)
        lines = b"".join(b"%d\n" % i for i in range(1, LINES + 1))
        subprocess.run([SPOOL, "produce", "t"], input=lines, env=env, check=True)
        large = b"x" * 3_000_000 + b"\n"
        subprocess.run([SPOOL, "produce", "large"], input=large, env=env, check=True)
        stuck(env, signal.SIGTERM, [])
        stuck(env, signal.SIGINT, [])
        stuck(env, signal.SIGHUP, [])
        stuck(env, signal.SIGTERM, ["-f"])
        stuck(env, signal.SIGTERM, ["-n", "100000"])
        stuck(env, signal.SIGTERM, ["-n", "+2"])
        stuck(env, signal.SIGTERM, ["-J", "-u"])
        stuck(env, signal.SIGTERM, ["large", "-p", "0"])
        moving(env)
        non_blocking(env)


main()
