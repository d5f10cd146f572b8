#!/usr/bin/env python3
"""Eight writers and four followers on one partition, the writers killed by SIGKILL over and over.

At the end: the offsets are dense; every record that a writer reported is there exactly once, at the
offset that was reported, with its bytes; the records of a writer stand in the order in which it got
them; each follower printed the same bytes as a reader that comes last; nothing was said on stderr
but that the tail of a killed writer was cut.

  $SPOOL                 the program
  $SPOOL_STRESS_SECONDS  how long the writers work (8)
  $SPOOL_STRESS_SEED     decides what is sent and when a writer is killed (random, printed)
  $SPOOL_STRESS_KEEP     set: the directory stays when the test fails, and is named
"""

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

WRITERS = 8
FOLLOWERS = 4
ALPHABET = b"abcdefghijklmnopqrstuvwxyz0123456789-_" * 24000
LARGE = 800_000
LAST = 999_999_999
ALLOWED = re.compile(rb"spool: .*t-0: the last [0-9]+ bytes, from offset [0-9]+ on, do not read as a whole: "
                     rb"cut, and saved in '.*'")


def value_of(seed, writer, sequence):
    """The record that this writer sends as its sequence-th one; no line break in it."""
    if sequence == LAST:
        return b"%d.%d." % (writer, sequence)
    mixed = (sequence * 2654435761 ^ writer * 40503 ^ seed) & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 15) * 2246822519 & 0xFFFFFFFF
    length = mixed % 150
    if sequence % 1000 == 999:  # many pages, so that a kill may fall in the middle of it
        length = LARGE
    elif mixed // 150 % 400 == 0:
        length = 20_000 + mixed % 100_000
    at = mixed % 37
    return b"%d.%d." % (writer, sequence) + ALPHABET[at:at + length]


class Stress:
    def __init__(self, spool, seconds, seed, root):
        self.spool = spool
        self.seed = seed
        self.root = root
        self.end = time.monotonic() + seconds
        self.lock = threading.Lock()
        self.failures = []
        self.reported = {}  # offset -> (writer, sequence)
        self.sent = 0
        self.kills = 0
        self.lives = 0
        self.environ = dict(os.environ, SPOOL_DIR=os.path.join(root, "log"), HOME=root,
                            LC_ALL="C.UTF-8", TZ="UTC")
        for name in ("SPOOL_BOOTSTRAP_SERVER", "SPOOL_CONFIG", "XDG_STATE_HOME"):
            self.environ.pop(name, None)

    def path(self, name):
        return os.path.join(self.root, name)

    def fail(self, text):
        with self.lock:
            if len(self.failures) < 20:
                self.failures.append(text)

    def start(self, name, *argv, **pipes):
        with open(self.path(f"{name}.err"), "ab") as err:
            return subprocess.Popen([self.spool, *argv], stderr=err, env=self.environ, **pipes)

    # Writers.

    def work(self, writer):
        try:
            rng = random.Random(self.seed * 100 + writer)
            sequence = 0
            while time.monotonic() < self.end and not self.failures:
                # A life begins a little before a large record.
                sequence = (sequence // 1000 + 2) * 1000 - rng.choice((1, 2, 50, 400, 1000))
                sequence = self.live(writer, rng, sequence)
        except Exception as e:  # a thread that dies silently would pass the test
            self.fail(f"writer {writer}: {e!r}")

    def live(self, writer, rng, sequence):
        """One life of a writer; returns the sequence that the next one begins with."""
        fsync = "never" if writer % 2 else "batch"
        contents = rng.random() < 0.5
        report = "--report=%p %o %v" if contents else "--report"
        to_be_killed = rng.random() < 0.75
        in_large = to_be_killed and rng.random() < 0.6
        life = rng.uniform(0.02, 1.2)
        first = sequence
        child = self.start(f"writer-{writer}", "produce", "t", "--fsync", fsync, report,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        said = []
        reader = threading.Thread(target=lambda: said.append(child.stdout.read()))
        reader.start()
        stop = time.monotonic() + life
        if to_be_killed:
            timer = threading.Timer(life, child.kill)
            timer.start()
            stop += 60
        try:
            while time.monotonic() < min(stop, self.end):
                count = rng.choice((1, 1, 3, 20, 200))
                if in_large and sequence % 1000 + count > 999:  # ends with the large record
                    count = 1000 - sequence % 1000
                data = b"".join(value_of(self.seed, writer, sequence + i) + b"\n"
                                for i in range(count))
                sequence += count
                child.stdin.write(data)
                child.stdin.flush()
                if in_large and sequence % 1000 == 0:
                    time.sleep(rng.uniform(0, 0.003))
                    break
                if rng.random() < 0.8:
                    time.sleep(rng.uniform(0, 0.04))
            if to_be_killed:
                child.kill()
        except BrokenPipeError:
            pass
        try:
            child.stdin.close()
        except BrokenPipeError:
            pass
        try:
            status = child.wait(120)
        except subprocess.TimeoutExpired:
            child.kill()
            return self.fail(f"writer {writer} did not end within 120 s of the end of its input")
        if to_be_killed:
            timer.cancel()
        reader.join()
        child.stdout.close()
        self.check_report(writer, first, sequence, said[0], contents, status)
        with self.lock:
            self.sent += sequence - first
            self.lives += 1
            self.kills += status == -signal.SIGKILL
        return sequence

    def check_report(self, writer, first, behind, said, contents, status):
        if status not in (0, -signal.SIGKILL):
            self.fail(f"writer {writer}: status {status}")
        lines = said.split(b"\n")
        if lines.pop() and status == 0:  # a killed writer may leave half a line
            self.fail(f"writer {writer}: the report ends in half a line")
        if len(lines) > behind - first or (status == 0 and len(lines) != behind - first):
            self.fail(f"writer {writer}: {len(lines)} reported of {behind - first} records, "
                      f"status {status}")
        last = -1
        for i, line in enumerate(lines):
            words = line.split(b" ", 2)
            offset = int(words[1])
            if words[0] != b"0" or len(words) != 2 + contents or offset <= last:
                return self.fail(f"writer {writer}: a report line {line[:80]!r} after {last}")
            if contents and words[2] != value_of(self.seed, writer, first + i):
                return self.fail(f"writer {writer}: the report of another record: {line[:80]!r}")
            last = offset
            with self.lock:
                if offset in self.reported:
                    other = self.reported[offset]
                    return self.fail(f"offset {offset} was reported to {other} and to "
                                     f"{(writer, first + i)}")
                self.reported[offset] = (writer, first + i)

    # What is there at the end.

    def check_log(self, path):
        count = 0
        newest = [-1] * WRITERS
        missing = dict(self.reported)
        with open(path, "rb") as f:
            for line in f:
                offset, value = line[:-1].split(b" ", 1)
                if int(offset) != count:
                    return self.fail(f"offset {int(offset)} stands where {count} should")
                writer, sequence, _ = value.split(b".", 2)
                writer, sequence = int(writer), int(sequence)
                if value != value_of(self.seed, writer, sequence):
                    return self.fail(f"offset {count}: not what writer {writer} sent")
                if sequence <= newest[writer]:
                    return self.fail(f"offset {count}: {sequence} of writer {writer} behind "
                                     f"{newest[writer]}")
                newest[writer] = sequence
                told = missing.pop(count, None)
                if told not in (None, (writer, sequence)):
                    return self.fail(f"offset {count} was reported to {told}, but is "
                                     f"{(writer, sequence)}")
                count += 1
        if missing:
            self.fail(f"{len(missing)} reported records are not there, the first at offset "
                      f"{min(missing)}; the log ends at {count}")
        return count

    def check_stderr(self):
        cuts = 0
        for name in sorted(os.listdir(self.root)):
            if not name.endswith(".err"):
                continue
            with open(self.path(name), "rb") as f:
                for line in f.read().splitlines():
                    if name.startswith("writer") and ALLOWED.fullmatch(line):
                        cuts += 1
                    else:
                        self.fail(f"{name}: {line[:300].decode(errors='replace')}")
        return cuts

    def consume_all(self):
        path = self.path("all")
        with open(path, "wb") as out:
            status = self.start("reader", "consume", "t", "-F", "%o %v\n", stdout=out).wait(300)
        if status != 0:
            self.fail(f"the last reader: status {status}")
        return path

    def check_follower(self, number, child, path, all_path):
        """It gets a minute to see the end; then what it saw must be all, or the start of it."""
        mine = self.path(f"follower-{number}.out")
        wanted = os.path.getsize(all_path)
        give_up = time.monotonic() + 60
        while os.path.getsize(mine) < wanted and child.poll() is None:
            if time.monotonic() > give_up:
                self.fail(f"follower {number}: saw {os.path.getsize(mine)} of {wanted} bytes")
                break
            time.sleep(0.02)
        child.terminate()
        status = child.wait(60)
        if status != -signal.SIGTERM:
            self.fail(f"follower {number}: status {status}")
        with open(mine, "rb") as a, open(all_path, "rb") as b:
            position = 0
            while left := a.read(1 << 20):
                if left != b.read(len(left)):
                    return self.fail(f"follower {number}: other bytes than the last reader's in "
                                     f"the MiB at {position}")
                position += len(left)

    def run(self):
        subprocess.run([self.spool, "topics", "create", "t", "-c", "segment.bytes=1048576"],
                       env=self.environ, check=True)
        followers = []
        for n in range(FOLLOWERS):
            with open(self.path(f"follower-{n}.out"), "wb") as out:
                followers.append(self.start(f"follower-{n}", "consume", "t", "-f", "-F",
                                            "%o %v\n", stdout=out))
        try:
            writers = [threading.Thread(target=self.work, args=(n,)) for n in range(WRITERS)]
            for thread in writers:
                thread.start()
            for thread in writers:
                thread.join()
            # The last one may have been killed in the middle of a batch: a writer cleans up.
            done = self.start("writer-last", "produce", "t", "--value",
                              value_of(self.seed, WRITERS - 1, LAST)).wait(60)
            if done != 0:
                self.fail(f"the last writer: status {done}")
            all_path = self.consume_all()
            count = self.check_log(all_path)
            for n, child in enumerate(followers):
                self.check_follower(n, child, self.path(f"follower-{n}.out"), all_path)
        finally:
            for child in followers:
                if child.poll() is None:
                    child.kill()
                    child.wait()
        cuts = self.check_stderr()
        segments = len([n for n in os.listdir(self.path("log/t-0")) if n.endswith(".log")])
        print(f"{count} records of {self.sent} sent, {len(self.reported)} reported; {self.lives} "
              f"lives of writers, {self.kills} killed, {cuts} tails cut; {segments} segments")
        if self.kills == 0:
            self.fail("no writer was killed")


def main():
    spool = os.path.abspath(os.environ["SPOOL"])
    seconds = float(os.environ.get("SPOOL_STRESS_SECONDS") or 8)
    seed = int(os.environ.get("SPOOL_STRESS_SEED") or random.SystemRandom().randrange(1 << 31))
    print(f"SPOOL_STRESS_SEED={seed} SPOOL_STRESS_SECONDS={seconds:g}", flush=True)
    root = tempfile.mkdtemp(prefix="spool-stress.")
    stress = Stress(spool, seconds, seed, root)
    try:
        stress.run()
    except Exception as e:
        stress.fail(repr(e))
    for text in stress.failures:
        print(f"FAIL: {text}")
    if stress.failures and os.environ.get("SPOOL_STRESS_KEEP"):
        print(f"kept: {root}")
    else:
        shutil.rmtree(root)
    return 1 if stress.failures else 0


if __name__ == "__main__":
    sys.exit(main())
