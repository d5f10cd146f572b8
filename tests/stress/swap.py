#!/usr/bin/env python3
"""Four members of one group on all partitions of four topics are replaced by four others, all at
once, again and again: the old ones get a signal, are stopped for a moment or stay and share while
the new ones come. Nobody waits for somebody who waits: soon each partition has one owner. Nobody
is killed, so at the end each record was printed once, in order.

  $SPOOL                 the program
  $SPOOL_STRESS_SECONDS  how long it goes on (10)
  $SPOOL_STRESS_SEED     decides who does what when (random, printed)
"""

import collections
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

MEMBERS = 4
TOPICS = ("a", "b", "c", "d")
PARTITIONS = 4
SLOW = 5 if os.environ.get("SPOOL_SANITIZE") else 1
PATIENCE = 10 * SLOW


class Swap:
    def __init__(self, spool, seed, root):
        self.spool = spool
        self.rng = random.Random(seed)
        self.root = root
        self.members = []
        self.paths = []
        self.stop_writing = threading.Event()
        self.written = 0
        self.took = []
        self.failures = []
        self.environ = dict(os.environ, SPOOL_DIR=os.path.join(root, "log"), HOME=root,
                            LC_ALL="C.UTF-8", TZ="UTC")
        for name in ("SPOOL_BOOTSTRAP_SERVER", "SPOOL_CONFIG", "XDG_STATE_HOME"):
            self.environ.pop(name, None)

    def run(self, *argv, **more):
        return subprocess.run([self.spool, *argv], env=self.environ, check=True,
                              stdout=subprocess.PIPE, **more).stdout

    def write(self):
        while not self.stop_writing.is_set():
            for topic in TOPICS:
                lines = "".join(f"{self.written + i}\n" for i in range(20))
                self.run("produce", topic, "--partitioner", "rr", "--fsync", "never",
                         input=lines.encode())
                self.written += 20
            time.sleep(0.01)

    def join(self):
        """Topics in another order each time: nobody may depend on it."""
        topics = self.rng.sample(TOPICS, len(TOPICS))
        path = os.path.join(self.root, f"member-{len(self.paths)}")
        self.paths.append(path)
        with open(path, "wb") as out, open(path + ".err", "wb") as err:
            return subprocess.Popen([self.spool, "consume", *topics, "-f", "-g", "g", "-F",
                                     r"%t %p %o\n"], stdout=out, stderr=err, env=self.environ)

    def rows(self):
        """The members; none while the group does not exist, for its first one may still start."""
        argv = [self.spool, "groups", "describe", "g", "--members", "--format", "jsonl"]
        done = subprocess.run(argv, env=self.environ, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if done.returncode not in (0, 3):
            raise RuntimeError(f"{argv}: status {done.returncode}: {done.stderr.decode()}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def owners(self):
        """How many partitions each process has."""
        out = collections.Counter()
        for row in self.rows():
            out[row["consumer_id"]] += row["partitions"] if "partitions" in row else 0
        return out

    def settled(self):
        share = len(TOPICS) * PARTITIONS // MEMBERS
        return sorted(self.owners().values()) == [share] * MEMBERS

    def wait_settled(self, started, what):
        while not self.settled():
            if time.monotonic() - started > PATIENCE:
                self.failures.append(f"{PATIENCE} s after {what}: {dict(self.owners())}")
                return
            time.sleep(0.002)
        self.took.append(time.monotonic() - started)

    def end(self, members):
        for m in members:
            status = m.wait(timeout=PATIENCE)
            if status not in (-signal.SIGTERM, 143):
                self.failures.append(f"a member ended with {status}")

    def round(self):
        old, self.members = self.members, []
        kind = self.rng.choice(("before", "after", "together", "stopped"))
        if kind == "stopped":
            for m in old:
                m.send_signal(signal.SIGSTOP)
        elif kind == "before":
            for m in old:
                m.send_signal(signal.SIGTERM)
        new = []
        for i in range(MEMBERS):
            new.append(self.join())
            if kind == "together":
                old[i].send_signal(signal.SIGTERM)
        self.members = old + new
        if kind in ("after", "stopped"):
            time.sleep(self.rng.random() * 0.1 * SLOW)
            for m in old:
                m.send_signal(signal.SIGTERM)
                m.send_signal(signal.SIGCONT)
        started = time.monotonic()
        self.end(old)
        self.members = new
        self.wait_settled(started, f"all were replaced ({kind})")

    def check(self):
        printed = collections.defaultdict(collections.Counter)
        for path in self.paths:
            last = {}
            with open(path, encoding="ascii") as f:
                for line in f:
                    topic, partition, offset = line.split()
                    at, offset = (topic, int(partition)), int(offset)
                    printed[at][offset] += 1
                    if offset <= last.get(at, -1):
                        self.failures.append(f"{path}: {at} {offset} behind {last[at]}")
                    last[at] = offset
            with open(path + ".err", "rb") as f:
                said = f.read()
            if said:
                self.failures.append(f"{path} said {said[:300]!r}")
        for topic in TOPICS:
            for p in range(PARTITIONS):
                end = len(self.run("consume", topic, "-p", str(p), "-F", "x"))
                got = printed[topic, p]
                twice = [o for o, n in got.items() if n > 1]
                missing = [o for o in range(end) if o not in got]
                if twice or missing:
                    self.failures.append(f"{topic}-{p}: {len(twice)} twice {twice[:3]}, "
                                         f"{len(missing)} missing {missing[:3]}")

    def go(self, seconds):
        for topic in TOPICS:
            self.run("topics", "create", topic, "-p", str(PARTITIONS))
        writer = threading.Thread(target=self.write)
        writer.start()
        try:
            started = time.monotonic()
            self.members = [self.join() for _ in range(MEMBERS)]
            self.wait_settled(started, "the start")
            while time.monotonic() - started < seconds and not self.failures:
                self.round()
        finally:
            self.stop_writing.set()
            writer.join()
        self.run("groups", "describe", "g", "--until-caught-up", "--timeout", f"{30 * SLOW}s")
        for m in self.members:
            m.send_signal(signal.SIGTERM)
        self.end(self.members)
        self.check()


def main():
    seed = int(os.environ.get("SPOOL_STRESS_SEED", random.randrange(1_000_000)))
    seconds = float(os.environ.get("SPOOL_STRESS_SECONDS", "10"))
    print(f"seed {seed}, {seconds:g} s", flush=True)
    root = tempfile.mkdtemp(prefix="spool-stress.")
    swap = Swap(os.path.abspath(os.environ["SPOOL"]), seed, root)
    try:
        swap.go(seconds)
    except Exception as e:  # the members must not outlive the test
        swap.failures.append(repr(e))
    finally:
        for m in swap.members:
            if m.poll() is None:
                m.kill()
                m.wait()
        shutil.rmtree(root, ignore_errors=True)
    print(f"{len(swap.took)} times all were replaced; {swap.written} records")
    if swap.took:
        print(f"shared again after {statistics.median(swap.took) * 1000:.0f} ms at the median, "
              f"{max(swap.took) * 1000:.0f} ms at most")
    for text in swap.failures[:20]:
        print(f"FAIL: {text}")
    return 1 if swap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
