#!/usr/bin/env python3
"""Two processes create, delete, alter and trim the same few topics at random, beside writers and
followers of them.

At any time the list of topics reads, no id is in it twice, and an id that is gone stays gone. A
writer ends with 0, or with 3 when its topic was deleted; a follower with 3 when its topic was, and
one with --retry does not end at all and sees no record twice. Nobody speaks of damage. At the end
no folder is left of a deleted topic, and what is there reads from its start to its end without a
gap, with all that was reported since the last change.

  $SPOOL                 the program
  $SPOOL_STRESS_SECONDS  how long it goes on (10)
  $SPOOL_STRESS_SEED     decides who does what (random, printed)
  $SPOOL_STRESS_KEEP     set: the directory stays when the test fails, and is named
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

TOPICS = ("a", "b", "c-1")
ALLOWED = re.compile("|".join((
    r"topic '[^']*' was deleted( and made again| by somebody else)?",
    r"topic '[^']*' does not exist",
    r"topic '[^']*' exists already",
    r"topic '[^']*' has \d+ partitions, which can only grow, to \d+ at most, not to \d+; see .*",
    r"topic '[^']*' has no partition \d+; it has \d+",
    r"[^ ]*-\d+: offset \d+ is outside of the log, which is \d+ to \d+",
    r"[^ ]*-\d+: offsets \d+ to \d+ are gone; reading starts at \d+",
    r"[^ ]*-\d+: \d+ records were deleted before they were read",
    r"\d+ of \d+ records are stored",
)))


class Stress:
    def __init__(self, spool, seconds, seed, root):
        self.spool = spool
        self.seed = seed
        self.root = root
        self.end = time.monotonic() + seconds
        self.lock = threading.Lock()
        self.failures = []
        self.count = {}
        self.environ = dict(os.environ, SPOOL_DIR=os.path.join(root, "log"), HOME=root,
                            LC_ALL="C.UTF-8", TZ="UTC")
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

    def check_err(self, who, text):
        for line in text.splitlines():
            if not line.startswith("spool: ") or not ALLOWED.fullmatch(line[7:]):
                self.fail(f"{who} said: {line}")

    def run(self, who, statuses, *argv, stdin=None):
        """What it printed; None for a status other than 0."""
        done = subprocess.run([self.spool, *argv], env=self.environ, input=stdin, text=True,
                              stdin=subprocess.DEVNULL if stdin is None else None,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        self.check_err(f"{who} ({' '.join(argv)})", done.stderr)
        if done.returncode not in statuses:
            self.fail(f"{who}: status {done.returncode} of {' '.join(argv)}: {done.stderr}")
        return done.stdout if done.returncode == 0 else None

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

    def administer(self, number):
        rng = random.Random(self.seed * 10 + number)
        who = f"admin {number}"
        while self.going():
            topic = rng.choice(TOPICS)
            what = rng.choices(("create", "delete", "alter", "grow", "trim", "to end", "look"),
                               (30, 15, 10, 10, 15, 10, 10))[0]
            self.counted(what)
            if what == "create":
                self.run(who, (0, 4), "topics", "create", topic, "-p", str(rng.randint(1, 3)),
                         "-c", "segment.bytes=1048576")
            elif what == "delete":
                self.run(who, (0, 3), "topics", "delete", topic, "-y")
            elif what == "alter":
                self.run(who, (0, 3), "topics", "alter", topic, "-c",
                         f"segment.ms={rng.randint(1, 10**6)}", "--delete-config", "flush.ms")
            elif what == "grow":
                self.run(who, (0, 2, 3), "topics", "alter", topic, "-p", str(rng.randint(1, 4)))
            elif what == "trim":
                self.run(who, (0, 1, 3), "topics", "trim", topic, "-y", "-o",
                         rng.choice(("100", "1000", "-50", "-1", "+10")))
            elif what == "to end":
                self.run(who, (0, 1, 3), "topics", "trim", topic, "-y", "-o", "end", "-p", "0")
            else:
                self.run(who, (0, 3), "topics", "describe", topic)

    def watch_catalogue(self):
        names, gone = {}, set()
        while self.going():
            said = self.run("catalogue", (0,), "topics", "list", "--format", "json")
            if said is None:
                return
            ids = [t["topic_id"] for t in json.loads(said)]
            if len(set(ids)) != len(ids) or "" in ids:
                self.fail(f"catalogue: {said}")
            for t in json.loads(said):
                if names.setdefault(t["topic_id"], t["topic"]) != t["topic"]:
                    self.fail(f"id {t['topic_id']} is of two topics")
            if gone & set(ids):
                self.fail(f"ids came back: {gone & set(ids)}")
            gone |= set(names) - set(ids)

    def write(self, number):
        rng = random.Random(self.seed * 10 + 5 + number)
        life = 0
        while self.going():
            life += 1
            topic = rng.choice(TOPICS)
            values = [f"{number}.{life}.{i}.{'x' * rng.choice((1, 100, 3000))}"
                      for i in range(rng.randint(1, 3000))]
            more = ["--no-create"] if rng.random() < 0.5 else []
            said = self.run(f"writer {number}", (0, 3), "produce", topic, *more, "--report",
                            stdin="".join(v + "\n" for v in values))
            self.counted("written" if said is not None else "writers told")
            if said is not None and len(said.splitlines()) != len(values):
                self.fail(f"writer {number}: {len(said.splitlines())} of {len(values)} reported")

    def follow(self, number):
        """One that ends with its topic, over and over."""
        rng = random.Random(self.seed * 10 + 8 + number)
        while self.going():
            topic = rng.choice(TOPICS)
            child = subprocess.Popen([self.spool, "consume", "-f", topic], env=self.environ,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE, text=True)
            timer = threading.Timer(rng.uniform(0.2, 3), child.send_signal, (signal.SIGTERM,))
            timer.start()
            _, err = child.communicate(timeout=120)
            timer.cancel()
            self.check_err(f"follower of {topic}", err)
            self.counted("followers told" if child.returncode == 3 else "followers ended")
            if child.returncode not in (3, -signal.SIGTERM):
                self.fail(f"follower of {topic}: status {child.returncode}: {err}")
            if child.returncode == 3 and not err:
                self.fail(f"follower of {topic} ended with 3 and said nothing")

    def start_retrier(self, topic):
        out = open(os.path.join(self.root, f"{topic}.seen"), "wb")
        err = open(os.path.join(self.root, f"{topic}.err"), "wb")
        with out, err:
            return subprocess.Popen([self.spool, "consume", "-f", "--retry", topic, "-F",
                                     "%p %o %v\n"], env=self.environ,
                                    stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def check_retrier(self, topic, child):
        if child.poll() is not None:
            self.fail(f"consume -f --retry {topic} ended with {child.returncode}")
        child.terminate()
        child.wait(60)
        with open(os.path.join(self.root, f"{topic}.err"), encoding="ascii") as err:
            self.check_err(f"consume -f --retry {topic}", err.read())
        seen = set()
        with open(os.path.join(self.root, f"{topic}.seen"), encoding="ascii") as out:
            for line in out:
                value = line.rstrip("\n").split(" ", 2)[2].rsplit(".", 1)[0]
                if value in seen:
                    self.fail(f"consume -f --retry {topic} printed {value} twice")
                seen.add(value)
        return seen

    # The end.

    def check_end(self, retriers):
        for topic in TOPICS:
            self.run("end", (0,), "topics", "create", topic, "--if-not-exists")
            values = [f"last.{topic}.{i}.x" for i in range(100)]
            self.run("end", (0,), "produce", topic, stdin="".join(v + "\n" for v in values))
            said = self.run("end", (0,), "consume", topic, "-F", "%p %o %v\n") or ""
            rows = [line.split(" ", 2) for line in said.splitlines()]
            if not set(values) <= {row[2] for row in rows}:
                self.fail(f"{topic}: what was written last is not there")
            starts = dict(map(int, line.split()[1:]) for line in
                          self.run("end", (0,), "topics", "offsets", topic, "--at", "start").splitlines())
            ends = dict(map(int, line.split()[1:]) for line in
                        self.run("end", (0,), "topics", "offsets", topic).splitlines())
            for partition, start in starts.items():
                offsets = [int(o) for p, o, _ in rows if int(p) == partition]
                if offsets != list(range(start, ends[partition])):
                    self.fail(f"{topic}-{partition}: gaps between {start} and {ends[partition]}")
        time.sleep(1)
        for topic, child in retriers.items():
            seen = self.check_retrier(topic, child)
            if not {f"last.{topic}.{i}" for i in range(100)} <= seen:
                self.fail(f"consume -f --retry {topic} did not print what was written last")
        for name in os.listdir(self.environ["SPOOL_DIR"]):
            path = os.path.join(self.environ["SPOOL_DIR"], name)
            if os.path.isdir(path) and name.rsplit("-", 1)[0] not in TOPICS:
                self.fail(f"the folder {name} is left")
        listed = json.loads(self.run("end", (0,), "topics", "list", "--format", "json"))
        for t in listed:
            for partition in range(t["partitions"]):
                path = os.path.join(self.environ["SPOOL_DIR"], f"{t['topic']}-{partition}",
                                    "partition.metadata")
                if os.path.exists(path):
                    with open(path, encoding="ascii") as f:
                        if t["topic_id"] not in f.read():
                            self.fail(f"{path} is of another topic")

    def main(self):
        os.mkdir(self.environ["SPOOL_DIR"])
        retriers = {topic: self.start_retrier(topic) for topic in TOPICS}
        threads = [self.thread(self.administer, n) for n in (0, 1)]
        threads += [self.thread(self.write, n) for n in (0, 1)]
        threads += [self.thread(self.follow, n) for n in (0, 1)]
        threads.append(self.thread(self.watch_catalogue))
        for thread in threads:
            thread.join()
        if not self.failures:
            self.check_end(retriers)
        for child in retriers.values():
            if child.poll() is None:
                child.kill()
            child.wait()
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
