#!/usr/bin/env python3
# ctest: serial
"""replay keeps the gaps between records, at the original pace and at a multiple of it, over
partitions and topics, and no error adds up; what is done is to be seen while it waits; signals, a
reader that leaves and --timeout end a wait.

$SPOOL names the program."""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

SPOOL = os.path.abspath(os.environ["SPOOL"])
SLOW = bool(os.environ.get("SPOOL_SANITIZE"))
START = 1767225600000
TRIES = 8
PATIENCE = 60
DAY = 24 * 3600 * 1000


def fail(text):
    print("FAIL:", text)
    sys.exit(1)


def not_kept(text):
    """Where others keep the processors busy nobody can be on time."""
    if os.getloadavg()[0] > 1.5 * os.cpu_count():
        print(f"SKIP: {text}, on a machine with a load of {os.getloadavg()[0]:.1f}")
        sys.exit(77)
    fail(text)


def spool(*arguments, stdin=None, status=0):
    done = subprocess.run([SPOOL, *arguments], input=stdin, capture_output=True, timeout=PATIENCE)
    if done.returncode != status:
        fail(f"{arguments}: status {done.returncode}: {done.stderr.decode()}")
    return done


def produce(topic, times, partitions):
    spool("topics", "create", topic, "-p", str(partitions))
    lines = [json.dumps({"partition": i % partitions, "timestamp": t, "value": str(t)})
             for i, t in enumerate(times)]
    spool("produce", topic, "-J", stdin=("\n".join(lines) + "\n").encode())


class Judge:
    """Every record must come when it is due, counted from the first one: then gaps are kept too,
    and no error adds up. A busy machine makes some late in each run: the best of several counts."""

    def __init__(self, name, want_ms, speed):
        self.name = name
        self.due = [(want - want_ms[0]) / speed for want in want_ms]
        self.best = [float("inf")] * len(want_ms)

    def good(self, got_ms):
        off = 0.0
        for i, got in enumerate(got_ms):
            self.best[i] = min(self.best[i], abs(got - got_ms[0] - self.due[i]))
            gap = self.due[i] - self.due[i - 1] if i else 0
            bound = max(5.0, 0.02 * gap) * (10 if SLOW else 1)
            off = max(off, self.best[i] - bound)
        if off > 0:
            print(f"{self.name}: off by {off:.1f} ms too much")
        return off <= 0


def arrivals(arguments):
    child = subprocess.Popen([SPOOL, "replay", *arguments], stdout=subprocess.PIPE, bufsize=0)
    values, times = [], []
    left = b""
    while piece := os.read(child.stdout.fileno(), 65536):
        now = time.monotonic() * 1000
        *lines, left = (left + piece).split(b"\n")
        values += [int(line) for line in lines]
        times += [now] * len(lines)
    if child.wait(PATIENCE) != 0:
        fail(f"{arguments}: status {child.returncode}")
    return values, times


def pace(speed, span_ms, rng):
    """Irregular gaps, some records at one time, over two topics of two partitions."""
    times = [START]
    while times[-1] < START + span_ms:
        times.append(times[-1] + rng.choice([0, 3, 7, 20, 45, 130]) * span_ms // 1000)
    one, two = f"one-{span_ms}", f"two-{span_ms}"
    produce(one, times[0::2], 2)
    produce(two, times[1::2], 2)
    name = f"--speed {speed}"
    judge = Judge(name, times, speed)
    for attempt in range(TRIES):
        values, came = arrivals([one, two, "--speed", str(speed)])
        if values != times:
            fail(f"{name}: other records, or another order, than by time")
        if judge.good(came):
            break
    else:
        not_kept(f"{name}: never kept the pace")
    # As others see them who look at the target: by the time at which they were appended.
    judge = Judge(f"{name} to a topic", times, speed)
    for attempt in range(TRIES):
        target = f"to-{span_ms}-{attempt}"
        spool("replay", one, two, "--to-topic", target, "--timestamps", "now", "--speed",
              str(speed))
        rows = spool("consume", target, "-F", "%T %v\n").stdout.split()
        got = sorted(zip(map(int, rows[1::2]), map(int, rows[0::2])))
        if [value for value, _ in got] != times:
            fail(f"{name}: other records in the target")
        if judge.good([at for _, at in got]):
            return
    not_kept(f"{name} to a topic: never kept the pace")


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            fail(f"{what}: not within {PATIENCE} s")
        time.sleep(0.02)


def values(topic):
    return spool("consume", topic).stdout.split()


def interrupted(which):
    """One record now, the next one in a day."""
    target = f"target-{which.name}"
    child = subprocess.Popen([SPOOL, "replay", "far", "--to-topic", target, "--resume",
                              f"{target}.resume"], stderr=subprocess.PIPE)
    wait_for("the first record is there", lambda: os.path.exists(
        os.path.join(os.environ["SPOOL_DIR"], f"{target}-0")) and len(values(target)) == 1)
    began = time.monotonic()
    child.send_signal(which)
    child.wait(PATIENCE)
    took = time.monotonic() - began
    if child.returncode != -which:
        fail(f"{which.name}: status {child.returncode}")
    if took > (10 if SLOW else 3):
        fail(f"{which.name} took {took:.1f} s")
    if said := child.stderr.read():
        fail(f"{which.name} said {said!r}")
    # It goes on with the second one, which is the first of that run.
    spool("replay", "far", "--to-topic", target, "--resume", f"{target}.resume")
    if len(values(target)) != 2:
        fail(f"{which.name}: {values(target)}")


def reader_leaves():
    child = subprocess.Popen([SPOOL, "replay", "far"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    child.stdout.readline()
    child.stdout.close()
    child.wait(PATIENCE)
    if child.returncode != -signal.SIGPIPE or child.stderr.read():
        fail(f"the reader left: status {child.returncode}")


def times_out():
    for extra in [], ["--to-topic", "late"]:
        done = spool("replay", "far", "--timeout", "200ms", *extra, status=124)
        if done.stderr != b"spool: no record for 200 ms\n":
            fail(f"--timeout said {done.stderr!r}")
    if len(values("late")) != 1:
        fail("--timeout: the first record is not stored")


def odd_times():
    """Times that go back wait for nothing."""
    lines = [json.dumps({"timestamp": t, "value": str(i)})
             for i, t in enumerate([START, START - DAY, START + 50, START + 20, START + 60])]
    spool("produce", "odd", "-J", stdin=("\n".join(lines) + "\n").encode())
    began = time.monotonic()
    if spool("replay", "odd").stdout.split() != [b"%d" % i for i in range(5)]:
        fail("odd times: another order")
    if time.monotonic() - began > 30:
        fail("odd times: waited")


def main():
    rng = random.Random(7)
    with tempfile.TemporaryDirectory(prefix="spool-test.") as folder:
        os.chdir(folder)
        os.environ["SPOOL_DIR"] = os.path.join(folder, "log")
        produce("far", [START, START + DAY], 1)
        for which in signal.SIGINT, signal.SIGTERM:
            interrupted(which)
        reader_leaves()
        times_out()
        odd_times()
        done = spool("replay", "far", "--speed", "100000000", "--progress", "always", "--to-topic",
                     "shown")
        if b" records, " not in done.stderr:
            fail(f"--progress said {done.stderr!r}")
        pace(1, 1500, rng)
        pace(10, 15000, rng)
        pace(0.5, 600, rng)


main()
