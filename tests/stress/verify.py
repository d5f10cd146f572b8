#!/usr/bin/env python3
"""verify, over and over, beside writers that roll segments and are killed, trims, and topics that
are deleted and made again; and of copies that `cp -a` makes meanwhile.

It never finds damage and never fails. In a copy it finds torn ends at most; every partition of the
copy reads as a prefix, from its start to its end without a gap, and a writer goes on there.

  $SPOOL                 the program
  $SPOOL_STRESS_SECONDS  how long it goes on (10)
  $SPOOL_STRESS_SEED     decides who does what (random, printed)
  $SPOOL_STRESS_KEEP     set: the directory stays when the test fails, and is named
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

# A topic of each: one that is only written to, one that is trimmed, one that comes and goes, and one
# in which each record is a segment.
STEADY, TRIMMED, FLEETING, ROLLED = "steady", "trimmed", "fleeting", "rolled"


class Stress:
    def __init__(self, spool, seconds, seed, root):
        self.spool = spool
        self.seed = seed
        self.root = root
        self.log = os.path.join(root, "log")
        self.end = time.monotonic() + seconds
        self.lock = threading.Lock()
        self.copying = threading.Lock()
        self.failures = []
        self.count = {}
        self.environ = dict(os.environ, SPOOL_DIR=self.log, HOME=root, LC_ALL="C.UTF-8", TZ="UTC")
        for name in ("SPOOL_BOOTSTRAP_SERVER", "SPOOL_CONFIG", "XDG_STATE_HOME"):
            self.environ.pop(name, None)

    def fail(self, text):
        with self.lock:
            if len(self.failures) < 20:
                self.failures.append(text)

    def counted(self, what):
        with self.lock:
            self.count[what] = self.count.get(what, 0) + 1

    def going(self):
        return time.monotonic() < self.end and not self.failures

    def run(self, statuses, *argv, stdin=None):
        done = subprocess.run([self.spool, *argv], env=self.environ, input=stdin, text=True,
                              stdin=subprocess.DEVNULL if stdin is None else None,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        if done.returncode not in statuses:
            self.fail(f"status {done.returncode} of {' '.join(argv)}: {done.stderr[:500]}")
        return done

    def thread(self, body, *args):
        def guarded():
            try:
                body(*args)
            except Exception as e:  # a thread that dies silently would pass the test
                self.fail(f"{body.__name__}{args}: {e!r}")
        thread = threading.Thread(target=guarded)
        thread.start()
        return thread

    # Who works.

    def write(self, number):
        """Writers, about half of which are killed in the middle."""
        rng = random.Random(self.seed * 10 + number)
        while self.going():
            topic = rng.choice((STEADY, STEADY, TRIMMED, FLEETING, ROLLED))
            size, most = rng.choice(((1, 3000), (100, 20000), (3000, 1000), (200000, 20)))
            codec = rng.choice(("none", "none", "lz4", "zstd"))
            text = "".join(f"{i}.{'x' * size}\n" for i in range(rng.randint(1, most)))
            more = ["--batch-bytes", str(rng.choice((1, 500, 100000)))]
            if topic == ROLLED:
                text, more = text[:20000], ["--batch-bytes", "3000"]
            child = subprocess.Popen([self.spool, "produce", topic, "-z", codec, *more],
                                     env=self.environ, stdin=subprocess.PIPE,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            killer = None
            if rng.random() < 0.5:
                killer = threading.Timer(rng.uniform(0.005, 0.3), child.send_signal,
                                         (signal.SIGKILL,))
                killer.start()
            try:
                child.stdin.write(text.encode())
                child.stdin.close()
            except BrokenPipeError:
                pass
            status = child.wait(120)
            if killer:
                killer.cancel()
            self.counted("writers killed" if status < 0 else "writers")
            if status not in (0, 3, -signal.SIGKILL):
                self.fail(f"produce {topic}: status {status}")

    def administer(self):
        rng = random.Random(self.seed * 10 + 7)
        while self.going():
            time.sleep(rng.uniform(0, 0.2))
            if rng.random() < 0.5:
                self.run((0, 1, 3), "topics", "trim", TRIMMED, "-y", "-o",
                         rng.choice(("-1", "-500", "-5000", "end", "+100")))
                self.counted("trims")
            elif rng.random() < 0.7:
                self.run((0, 3), "topics", "trim", ROLLED, "-y", "-o", "-10")
                self.counted("trims")
            else:
                # Not beside cp: a copy could have the list of topics of before and folders of after.
                with self.copying:
                    self.run((0, 3), "topics", "delete", FLEETING, "-y")
                    self.run((0, 4), "topics", "create", FLEETING, "-p", "2", "-c",
                             "segment.bytes=1048576")
                self.counted("deleted and made again")

    def verify(self):
        while self.going():
            done = self.run((0,), "topics", "verify", "--format", "jsonl")
            self.counted("verified")
            for line in done.stdout.splitlines():
                finding = json.loads(line)
                self.counted(finding["kind"])
                if finding["kind"] == "damage":
                    self.fail(f"verify: {line}")

    def copy(self):
        rng = random.Random(self.seed * 10 + 8)
        number = 0
        while self.going():
            time.sleep(rng.uniform(0, 0.5))
            number += 1
            copy = os.path.join(self.root, f"copy-{number}")
            # What is deleted while cp is on its way to it is no failure.
            with self.copying:
                subprocess.run(["cp", "-a", self.log, copy], stderr=subprocess.DEVNULL, check=False)
            self.check_copy(copy)
            self.counted("copies")
            if not self.failures:
                shutil.rmtree(copy)

    def check_copy(self, copy):
        done = self.run((0,), "-d", copy, "topics", "verify", "--format", "jsonl")
        for line in done.stdout.splitlines():
            if json.loads(line)["kind"] == "damage":
                self.fail(f"verify of a copy: {line}")
        for topic in (STEADY, TRIMMED, ROLLED):
            starts, ends = {}, {}
            for where, at in ((starts, "start"), (ends, "end")):
                said = self.run((0, 3), "-d", copy, "topics", "offsets", topic, "--at", at).stdout
                where.update((int(p), int(o)) for _, p, o in map(str.split, said.splitlines()))
            said = self.run((0, 3), "-d", copy, "consume", topic, "-F", "%p %o\n").stdout
            rows = {}
            for line in said.splitlines():
                rows.setdefault(int(line.split()[0]), []).append(int(line.split()[1]))
            for partition, end in ends.items():
                start = starts[partition]
                if rows.get(partition, []) != list(range(start, end)):
                    self.fail(f"{copy}: {topic}-{partition} has gaps between {start} and {end}")
            if ends:
                self.run((0,), "-d", copy, "produce", topic, "-p", "0", "--value", "more")
                said = self.run((0,), "-d", copy, "consume", topic, "-p", "0", "-n", "1").stdout
                if said != "more\n":
                    self.fail(f"{copy}: {topic} was not written to: {said[:100]!r}")
        done = self.run((0,), "-d", copy, "topics", "verify", "--format", "jsonl")
        if '"damage"' in done.stdout:
            self.fail(f"verify of a copy that was written to: {done.stdout}")

    def main(self):
        os.mkdir(self.log)
        for topic in (STEADY, TRIMMED, FLEETING):
            self.run((0,), "topics", "create", topic, "-p", "2", "-c", "segment.bytes=1048576")
        self.run((0,), "topics", "create", ROLLED, "-c", "segment.ms=1")
        threads = [self.thread(self.write, n) for n in (0, 1, 2)]
        threads += [self.thread(body) for body in (self.administer, self.verify, self.copy)]
        for thread in threads:
            thread.join()
        print(", ".join(f"{what}: {n}" for what, n in sorted(self.count.items())))
        for failure in self.failures:
            print("FAIL:", failure)
        return 1 if self.failures else 0


def main():
    seed = int(os.environ.get("SPOOL_STRESS_SEED") or random.randrange(1_000_000))
    seconds = float(os.environ.get("SPOOL_STRESS_SECONDS") or 10)
    root = tempfile.mkdtemp(prefix="spool-stress.")
    print(f"seed {seed}, {seconds:g} s", flush=True)
    status = 1
    try:
        status = Stress(os.path.abspath(os.environ["SPOOL"]), seconds, seed, root).main()
    finally:
        if status and os.environ.get("SPOOL_STRESS_KEEP"):
            print("kept:", root)
        else:
            shutil.rmtree(root, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
