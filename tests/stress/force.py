#!/usr/bin/env python3
"""Members that are stopped at any moment, in the middle of a stream of records, and go on behind a
reset-offsets --force: they change no committed offset, and end with status 4. What they print
meanwhile makes no difference.

  $SPOOL                 the program
  $SPOOL_STRESS_SECONDS  how long it goes on (10)
  $SPOOL_STRESS_SEED     decides who does what when (random, printed)
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

PARTITIONS = 3
SLOW = 5 if os.environ.get("SPOOL_SANITIZE") else 1
PATIENCE = 20 * SLOW


class Force:
    def __init__(self, spool, seed, root):
        self.spool = spool
        self.rng = random.Random(seed)
        self.members = []
        self.stop_writing = threading.Event()
        self.held = 0
        self.rounds = 0
        self.environ = dict(os.environ, SPOOL_DIR=os.path.join(root, "log"), HOME=root,
                            LC_ALL="C.UTF-8", TZ="UTC")
        for name in ("SPOOL_BOOTSTRAP_SERVER", "SPOOL_CONFIG", "XDG_STATE_HOME"):
            self.environ.pop(name, None)

    def run(self, *argv, status=0, **more):
        done = subprocess.run([self.spool, *argv], env=self.environ, timeout=PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **more)
        if done.returncode != status:
            raise RuntimeError(f"{argv}: status {done.returncode}: {done.stderr.decode()}")
        return done.stdout.decode()

    def write(self):
        number = 0
        while not self.stop_writing.is_set():
            lines = "".join(f"{number + i}\n" for i in range(30))
            self.run("produce", "t", "--partitioner", "rr", "--fsync", "never",
                     input=lines.encode())
            number += 30

    def join(self):
        member = subprocess.Popen([self.spool, "consume", "t", "-f", "-g", "g"], env=self.environ,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.members.append(member)
        return member

    def force(self, target, members):
        """A member that was stopped in the middle of its own commit holds the log of the offsets:
        the reset waits until it goes on."""
        command = [self.spool, "reset-offsets", "-g", "g", "-t", "t", "--to-offset", str(target),
                   "--force", "-y"]
        reset = subprocess.Popen(command, env=self.environ, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE)
        try:
            _, said = reset.communicate(timeout=2 * SLOW)
        except subprocess.TimeoutExpired:
            self.held += 1
            for m in members:
                m.send_signal(signal.SIGCONT)
            _, said = reset.communicate(timeout=PATIENCE)
        if reset.returncode != 0:
            raise RuntimeError(f"reset-offsets: {reset.returncode}: {said.decode()}")

    def rows(self):
        """The members; none while the group does not exist, for its first one may still start."""
        argv = [self.spool, "groups", "describe", "g", "--members", "--format", "jsonl"]
        done = subprocess.run(argv, env=self.environ, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if done.returncode not in (0, 3):
            raise RuntimeError(f"{argv}: status {done.returncode}: {done.stderr.decode()}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def round(self):
        members = [self.join() for _ in range(self.rng.choice((1, 2, 3)))]
        give_up = time.monotonic() + PATIENCE
        while len(self.rows()) < len(members):
            if time.monotonic() > give_up:
                raise RuntimeError("members do not join")
        time.sleep(self.rng.random() * 0.3 * SLOW)
        for m in members:
            m.send_signal(signal.SIGSTOP)
        target = self.rng.randrange(50)
        self.force(target, members)
        want = [f"t,{p},{target}" for p in range(PARTITIONS)]
        time.sleep(self.rng.random() * 0.05)
        for m in members:
            m.send_signal(signal.SIGCONT)
        for m in members:
            _, said = m.communicate(timeout=PATIENCE)
            if m.returncode != 4 or b"was reset by somebody else" not in said:
                raise RuntimeError(f"a member ended with {m.returncode}: {said.decode()}")
        got = self.run("groups", "export", "g").splitlines()
        if got != want:
            raise RuntimeError(f"committed {got} instead of {want}")
        self.members = []
        self.rounds += 1

    def go(self, seconds):
        self.run("topics", "create", "t", "-p", str(PARTITIONS))
        self.run("produce", "t", "--partitioner", "rr", input=b"x\n" * 300)
        self.run("reset-offsets", "-g", "g", "-t", "t", "--to-earliest", "-y")
        writer = threading.Thread(target=self.write)
        writer.start()
        try:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                self.round()
        finally:
            self.stop_writing.set()
            writer.join()


def main():
    seed = int(os.environ.get("SPOOL_STRESS_SEED", random.randrange(1_000_000)))
    seconds = float(os.environ.get("SPOOL_STRESS_SECONDS", "10"))
    print(f"seed {seed}, {seconds:g} s", flush=True)
    root = tempfile.mkdtemp(prefix="spool-stress.")
    force = Force(os.path.abspath(os.environ["SPOOL"]), seed, root)
    failure = None
    try:
        force.go(seconds)
    except Exception as e:  # the members must not outlive the test
        failure = e
    finally:
        for m in force.members:
            if m.poll() is None:
                m.kill()
                m.wait()
        shutil.rmtree(root, ignore_errors=True)
    print(f"{force.rounds} resets; {force.held} waited for a member that was stopped in a commit")
    if failure:
        print(f"FAIL: {failure!r}")
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
