#!/usr/bin/env python3
"""Twenty members of one group on the twelve partitions of two topics, who join, leave, are stopped,
go on and are killed at random, while four writers append.

At the end: no offset was printed by two members unless the first of them was killed, and it was not
committed then; no offset was skipped; what is committed is what there is; and nobody said anything on
stderr. How long the partitions of a killed member were without an owner is printed.

  $SPOOL                 the program
  $SPOOL_STRESS_SECONDS  how long it goes on (10)
  $SPOOL_STRESS_SEED     decides who does what when (random, printed)
  $SPOOL_STRESS_KEEP     set: the directory stays when the test fails, and is named
"""

import base64
import collections
import json
import os
import random
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

MEMBERS = 20
WRITERS = 4
TOPICS = {"left": 6, "right": 6}
SLOW = 5 if os.environ.get("SPOOL_SANITIZE") else 1


class Member:
    def __init__(self, number, process, path, topics):
        self.number = number
        self.process = process
        self.path = path
        self.topics = topics
        self.stopped = False
        self.killed_ms = None

    @property
    def alive(self):
        return self.process.poll() is None


class Stress:
    def __init__(self, spool, seconds, seed, root):
        self.spool = spool
        self.rng = random.Random(seed)
        self.seed = seed
        self.root = root
        self.seconds = seconds
        self.members = []
        self.failures = []
        self.takeovers = []
        self.stop_writing = threading.Event()
        self.environ = dict(os.environ, SPOOL_DIR=os.path.join(root, "log"), HOME=root,
                            LC_ALL="C.UTF-8", TZ="UTC")
        for name in ("SPOOL_BOOTSTRAP_SERVER", "SPOOL_CONFIG", "XDG_STATE_HOME"):
            self.environ.pop(name, None)

    def fail(self, text):
        if len(self.failures) < 20:
            self.failures.append(text)

    def run(self, *argv, **more):
        return subprocess.run([self.spool, *argv], env=self.environ, check=True,
                              stdout=subprocess.PIPE, **more).stdout

    # Writers: batches of a few records now and then, to all partitions in turn.

    def write(self, number):
        rng = random.Random(self.seed * 100 + number)
        sequence = 0
        while not self.stop_writing.is_set():
            topic = rng.choice(list(TOPICS))
            count = rng.choice((1, 10, 200))
            lines = "".join(f"{number}.{sequence + i}\n" for i in range(count))
            sequence += count
            try:
                self.run("produce", topic, "--partitioner", "rr", input=lines.encode())
            except subprocess.CalledProcessError as e:
                self.fail(f"writer {number}: {e}")
                return
            time.sleep(rng.random() * 0.05 * SLOW)

    # Members.

    def join(self):
        number = len(self.members)
        path = os.path.join(self.root, f"member-{number}")
        topics = self.rng.choice((["left", "right"], ["left", "right"], ["left"], ["right"]))
        with open(path, "wb") as out, open(path + ".err", "wb") as err:
            process = subprocess.Popen([self.spool, "consume", *topics, "-f", "-g", "g", "-F",
                                        r"%t %p %o\n"], stdout=out, stderr=err, env=self.environ)
        self.members.append(Member(number, process, path, topics))

    def living(self):
        return [m for m in self.members if m.alive]

    def rows(self):
        """The members; none while the group does not exist, for its first one may still start."""
        argv = [self.spool, "groups", "describe", "g", "--members", "--format", "jsonl"]
        done = subprocess.run(argv, env=self.environ, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if done.returncode not in (0, 3):
            raise RuntimeError(f"{argv}: status {done.returncode}: {done.stderr.decode()}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def owned(self):
        seen = collections.Counter()
        for row in self.rows():
            topic, _, partitions = row["assignment"].partition(":")
            for p in partitions.split(",") if partitions else ():
                seen[topic, int(p)] += 1
        return seen

    def kill(self, member):
        member.killed_ms = time.time() * 1000
        started = time.monotonic()
        member.process.kill()
        member.process.wait()
        readers = self.living()
        if any(m.stopped for m in readers) or {t for m in readers for t in m.topics} != set(TOPICS):
            return
        while time.monotonic() - started < 5 * SLOW:
            if len(self.owned()) == sum(TOPICS.values()):
                self.takeovers.append(time.monotonic() - started)
                return
        self.fail(f"five seconds after member {member.number} was killed its partitions are "
                  f"without an owner: {dict(self.owned())}")

    def step(self):
        living = self.living()
        member = self.rng.choice(living) if living else None
        if len(living) < 4 or (len(living) < MEMBERS and self.rng.random() < 0.4):
            self.join()
            return
        if member.stopped:
            member.stopped = False
            member.process.send_signal(signal.SIGCONT)
            return
        action = self.rng.random()
        if action < 0.4:
            self.kill(member)
        elif action < 0.7:
            member.process.send_signal(signal.SIGTERM)
        elif sum(m.stopped for m in living) < 3:
            member.stopped = True
            member.process.send_signal(signal.SIGSTOP)

    def finish(self):
        """All go on; a last member sees to it that both topics are read to their ends."""
        for m in self.members:
            if m.alive and m.stopped:
                m.process.send_signal(signal.SIGCONT)
                m.stopped = False
        self.join()
        self.members[-1].process.kill()  # it may have chosen one topic
        self.members[-1].process.wait()
        self.members[-1].killed_ms = time.time() * 1000
        while not {t for m in self.living() for t in m.topics} == set(TOPICS):
            self.join()
        self.run("groups", "describe", "g", "--until-caught-up", "--timeout", f"{30 * SLOW}s")
        for m in self.living():
            m.process.send_signal(signal.SIGTERM)
        for m in self.members:
            status = m.process.wait(timeout=30 * SLOW)
            if m.killed_ms is None and status not in (-signal.SIGTERM, 143):
                self.fail(f"member {m.number} ended with {status}")

    # The checker.

    def committed(self):
        """For each partition the commits as (time, offset), in order."""
        out = collections.defaultdict(list)
        for line in self.run("consume", "__consumer_offsets", "-J").splitlines():
            record = json.loads(line)
            key, value = (v.encode() if isinstance(v, str) else base64.b64decode(v["base64"])
                          for v in (record["key"], record["value"]))
            if struct.unpack(">h", key[:2])[0] != 1:
                continue
            at = 2 + 2 + struct.unpack(">h", key[2:4])[0]
            size = struct.unpack(">h", key[at:at + 2])[0]
            topic = key[at + 2:at + 2 + size].decode()
            partition = struct.unpack(">i", key[at + 2 + size:])[0]
            out[topic, partition].append((record["timestamp"], struct.unpack(">q", value[2:10])[0]))
        return out

    def check(self):
        printed = collections.defaultdict(lambda: collections.defaultdict(list))
        for m in self.members:
            with open(m.path, "rb") as f:
                text = f.read()
            for line in text[:text.rfind(b"\n") + 1].splitlines():
                topic, partition, offset = line.split()
                printed[topic.decode(), int(partition)][int(offset)].append(m)
            with open(m.path + ".err", "rb") as f:
                said = f.read()
            if said:
                self.fail(f"member {m.number} said {said[:300]!r}")
        commits = self.committed()
        again = total = 0
        for topic, partitions in TOPICS.items():
            for p in range(partitions):
                end = len(self.run("consume", topic, "-p", str(p), "-F", "x"))
                offsets = printed[topic, p]
                missing = [o for o in range(end) if o not in offsets]
                if missing:
                    self.fail(f"{topic}-{p}: {len(missing)} of {end} were skipped, the first is "
                              f"{missing[0]}")
                total += end
                history = commits[topic, p]
                if history and max(o for _, o in history) > end:
                    self.fail(f"{topic}-{p}: committed behind the end")
                if any(b[1] < a[1] for a, b in zip(history, history[1:])):
                    self.fail(f"{topic}-{p}: a commit went back")
                if (history[-1][1] if history else 0) != end:
                    self.fail(f"{topic}-{p}: committed to {history[-1:]} instead of {end}")
                for offset, members in sorted(offsets.items()):
                    again += len(members) - 1
                    self.check_copies(f"{topic}-{p}", offset, members, history)
        return total, again

    def check_copies(self, name, offset, members, history):
        alive = [m for m in members if m.killed_ms is None]
        if len(alive) > 1 or len(set(m.number for m in members)) != len(members):
            self.fail(f"{name}: offset {offset} was printed by members "
                      f"{[m.number for m in members]}, and only one may outlive it")
        for m in members:
            if len(members) == 1 or m.killed_ms is None:
                continue
            before = [o for at, o in history if at < m.killed_ms - 1]
            # Somebody printed it before the kill; who came later must not have found it committed.
            later = [k for k in members if k is not m and (k.killed_ms or 1e18) > m.killed_ms]
            if later and before and max(before) > offset and len(members) > 1:
                first_kill = min(k.killed_ms for k in members if k.killed_ms is not None)
                at_first = [o for at, o in history if at < first_kill - 1]
                if at_first and max(at_first) > offset:
                    self.fail(f"{name}: offset {offset} was committed and printed again")

    def go(self):
        for topic, partitions in TOPICS.items():
            self.run("topics", "create", topic, "-p", str(partitions))
        writers = [threading.Thread(target=self.write, args=(n,)) for n in range(WRITERS)]
        for w in writers:
            w.start()
        end = time.monotonic() + self.seconds
        while time.monotonic() < end and not self.failures:
            self.step()
            time.sleep(self.rng.random() * 0.1 * SLOW)
        self.stop_writing.set()
        for w in writers:
            w.join()
        self.finish()
        return self.check()


def main():
    spool = os.environ["SPOOL"]
    seconds = float(os.environ.get("SPOOL_STRESS_SECONDS", "10"))
    seed = int(os.environ.get("SPOOL_STRESS_SEED", random.randrange(1_000_000)))
    print(f"seed {seed}, {seconds:g} s", flush=True)
    root = tempfile.mkdtemp(prefix="spool-stress.")
    stress = Stress(spool, seconds, seed, root)
    total = again = 0
    try:
        total, again = stress.go()
    except Exception as e:  # the members must not outlive the test
        stress.fail(repr(e))
    finally:
        stress.stop_writing.set()
        for m in stress.members:
            if m.alive:
                m.process.kill()
                m.process.wait()
    kills = sum(m.killed_ms is not None for m in stress.members)
    print(f"{len(stress.members)} members, {kills} killed; {total} records, {again} delivered again")
    if stress.takeovers:
        print(f"owned again after {statistics.median(stress.takeovers) * 1000:.0f} ms at the median, "
              f"{max(stress.takeovers) * 1000:.0f} ms at most, of {len(stress.takeovers)}")
    for text in stress.failures:
        print(f"FAIL: {text}")
    if stress.failures and os.environ.get("SPOOL_STRESS_KEEP"):
        print(f"kept {root}")
    else:
        shutil.rmtree(root, ignore_errors=True)
    return 1 if stress.failures else 0


if __name__ == "__main__":
    sys.exit(main())
