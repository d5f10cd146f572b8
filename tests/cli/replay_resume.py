#!/usr/bin/env python3
# ctest: threads
"""replay --resume goes on without gap or double however often it is killed, while another process
appends to the same topic: with the source's partitions, by key into fewer ones, of two topics into
one, at full speed and at a pace; and a count is exact over all runs.

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
SEED = int(os.environ.get("SPOOL_SEED") or random.randrange(1 << 32))
KILLS = int(os.environ.get("SPOOL_KILLS") or 4)
PATIENCE = 60  # seconds until a run that hangs is a failure


def fail(text):
    print(f"FAIL: {text} (SPOOL_SEED={SEED})")
    sys.exit(1)


def spool(*arguments, stdin=None, status=0):
    done = subprocess.run([SPOOL, *arguments], input=stdin, capture_output=True, timeout=PATIENCE)
    if done.returncode != status:
        fail(f"{arguments}: status {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def records(topic):
    return [json.loads(line) for line in spool("consume", topic, "-J").splitlines()]


def make(topic, partitions, count, keyed):
    """Records a millisecond apart, some without a key, a batch each few of them."""
    spool("topics", "create", topic, "-p", str(partitions))
    lines = []
    for i in range(count):
        record = {"partition": i * 7 % partitions, "timestamp": 1767225600000 + i,
                  "key": f"k{i % 97}" if keyed and i % 5 else None, "value": f"{topic}-{i}",
                  "headers": [["n", str(i)]] if i % 3 == 0 else []}
        lines.append(json.dumps(record))
    text = ("\n".join(lines) + "\n").encode()
    spool("produce", topic, "-J", "--batch-bytes", "2k", "--fsync", "never", stdin=text)


class Other:
    """Somebody else who appends to the target all the time."""

    def __init__(self, topic):
        self.topic = topic
        self.count = 0
        self.child = subprocess.Popen([SPOOL, "produce", topic, "-K:", "--fsync", "never"],
                                      stdin=subprocess.PIPE, bufsize=0)

    def write(self):
        lines = b"".join(b"o%d:other-%d\n" % (i, i) for i in range(self.count, self.count + 3))
        self.child.stdin.write(lines)
        self.count += 3

    def end(self):
        self.child.stdin.close()
        if self.child.wait(PATIENCE) != 0:
            fail("the other writer failed")


def run(arguments, other, rng, longest):
    """One run, killed somewhere; its status, or None when it was killed."""
    child = subprocess.Popen([SPOOL, "replay", *arguments], stderr=subprocess.PIPE)
    end = time.monotonic() + rng.random() * longest
    while time.monotonic() < end and child.poll() is None:
        if other:
            other.write()
        time.sleep(0.002)
    if child.poll() is None:
        child.send_signal(signal.SIGKILL)
    child.wait()
    said = child.stderr.read().decode()
    child.stderr.close()
    if child.returncode == -signal.SIGKILL:
        return None
    if child.returncode != 0 or said:
        fail(f"{arguments}: status {child.returncode}, said {said!r}")
    return 0


def finish(arguments, other, rng, longest):
    killed = 0
    while run(arguments, other, rng, longest if killed < KILLS else PATIENCE) is None:
        killed += 1
    return killed


def strip(record):
    return (record["timestamp"], record["key"], record["value"], str(record["headers"]))


def check(name, sources, target, other_count, keep):
    """Each record of the sources once, in order within what came from one partition into one."""
    got = records(target)
    others = [r for r in got if r["value"].startswith("other-")]
    if len(others) != other_count or len({r["value"] for r in others}) != other_count:
        fail(f"{name}: {len(others)} of the other writer's {other_count} records")
    ours = [r for r in got if not r["value"].startswith("other-")]
    want = [r for topic in sources for r in records(topic)]
    where = {}
    for r in want:
        where[r["value"]] = r
    if len(ours) != len(want):
        fail(f"{name}: {len(ours)} records instead of {len(want)}")
    if sorted(map(strip, ours)) != sorted(map(strip, want)):
        fail(f"{name}: other records than in the source")
    last = {}
    for r in ours:
        w = where[r["value"]]
        if keep and w["partition"] != r["partition"]:
            fail(f"{name}: {r} is in another partition than {w}")
        flow = (w["topic"], w["partition"], r["partition"])
        if last.get(flow, -1) >= w["offset"]:
            fail(f"{name}: {r} is out of order")
        last[flow] = w["offset"]
    keys = {}
    if not keep:
        for r in ours:
            if r["key"] is not None and keys.setdefault(r["key"], r["partition"]) != r["partition"]:
                fail(f"{name}: key {r['key']} is in two partitions")


def scenario(name, sources, target, partitions, extra, longest, rng, keep):
    spool("topics", "create", target, "-p", str(partitions))
    resume = f"{target}.resume"
    other = Other(target)
    arguments = [*sources, "--to-topic", target, "--resume", resume, *extra]
    killed = finish(arguments, other, rng, longest)
    other.end()
    check(name, sources, target, other.count, keep)
    # What is new since, and nothing else.
    for topic in sources:
        spool("produce", topic, "--key", "late", "--value", f"{target}-{topic}-late")
    finish(arguments, None, rng, PATIENCE)
    check(f"{name}, once more", sources, target, other.count, keep)
    print(f"{name}: killed {killed} times")


def counted(rng, longest, target):
    """-c N is N over all runs."""
    for count in 1500, 1500, 3000:
        finish(["a", "--to-topic", target, "--resume", f"{target}.resume", "--speed", "1000", "-c",
                str(count)], None, rng, longest)
        want = sorted(map(strip, records("a")))[:count]
        if sorted(map(strip, records(target))) != want:
            fail(f"-c: not the first {count}, but {len(records(target))}")


def two_at_once():
    """The second one waits for the first, and then finds nothing to do."""
    arguments = [SPOOL, "replay", "a", "--to-topic", "both", "--resume", "both.resume"]
    children = [subprocess.Popen([*arguments, "--speed", "max"]) for _ in range(2)]
    for child in children:
        try:
            child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            for c in children:
                c.kill()
            fail("two at once take no end")
    if [c.returncode for c in children] != [0, 0]:
        fail("two at once: a status")
    check("two at once", ["a"], "both", 0, True)


def logs(folder, topic):
    out = {}
    for name in sorted(os.listdir(folder)):
        if name.startswith(f"{topic}-"):
            path = os.path.join(folder, name)
            pieces = [open(os.path.join(path, file), "rb").read()
                      for file in sorted(os.listdir(path)) if file.endswith(".log")]
            out[name] = b"".join(pieces)
    return out


def verbatim(rng, longest):
    """A copy is the same bytes, however often it was killed, with a file and without."""
    spool("topics", "create", "v", "-p", "3", "-c", "segment.bytes=1048576")
    lines = b"".join(b"%d:%d\n" % (i, i * 7919) for i in range(60_000))
    spool("produce", "v", "-K:", "--batch-bytes", "1k", "--fsync", "never", stdin=lines)
    for extra in [], ["--resume", "v.resume"]:
        folder = os.path.join(os.getcwd(), f"copy{len(extra)}.resume")
        arguments = ["v", "--to-dir", folder, "--verbatim", *extra]
        child_killed = 0
        while True:
            child = subprocess.Popen([SPOOL, "replay", *arguments], stderr=subprocess.DEVNULL)
            if child_killed < KILLS:
                time.sleep(rng.random() * longest)
                child.kill()
            if child.wait(PATIENCE) == 0:
                break
            child_killed += 1
        if logs(folder, "v") != logs(os.environ["SPOOL_DIR"], "v"):
            fail(f"verbatim {extra}: other bytes")
        print(f"verbatim {extra}: killed {child_killed} times")


def each_under_its_name(rng, longest):
    folder = os.path.join(os.getcwd(), "each.resume")
    finish(["a", "b", "--to-dir", folder, "--resume", "f.resume", "--speed", "max"], None, rng,
           longest)
    for topic in "a", "b":
        want = records(topic)
        os.environ["SPOOL_DIR"], home = folder, os.environ["SPOOL_DIR"]
        got = records(topic)
        os.environ["SPOOL_DIR"] = home
        if got != want:
            fail(f"{topic} under its own name differs")


def main():
    rng = random.Random(SEED)
    with tempfile.TemporaryDirectory(prefix="spool-test.") as folder:
        os.chdir(folder)
        os.environ["SPOOL_DIR"] = os.path.join(folder, "log")
        make("a", 3, 4000, True)
        make("b", 2, 2000, True)
        longest = 4.0 if SLOW else 0.8
        scenario("keep, max", ["a"], "keep", 3, ["--speed", "max"], longest / 10, rng, True)
        scenario("keep, paced", ["a"], "paced", 3, ["--speed", "3"], longest, rng, True)
        scenario("by key", ["a"], "hash", 2, ["--speed", "2000"], longest, rng, False)
        scenario("two topics", ["a", "b"], "two", 4, ["--speed", "5"], longest, rng, False)
        counted(rng, longest / 10, "counted")
        each_under_its_name(rng, longest / 10)
        verbatim(rng, longest / 8)
        two_at_once()
        left = sorted(n for n in os.listdir(folder) if not n.endswith(".resume") and n != "log")
        if left:
            fail(f"left behind: {left}")


main()
