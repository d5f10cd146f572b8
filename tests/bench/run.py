#!/usr/bin/env python3
"""Speed and memory of spool beside what the machine does without it.

    run.py [--spool PROGRAM] [--quick] [--check] [--json] [--only NAME].. [--list]

Prints a line a case: name, ours, reference, what the two give (a ratio, a difference, or ours
alone), the limit, ok or over. Ours and the reference run in turns and are given as medians, so that
a busy machine slows both. Everything is written in a fresh directory under $TMPDIR, removed at the
end; what a case reads and writes fits into the page cache.

  --quick    a tenth of the data and few runs: shows that the bench works, not how fast spool is
  --check    status 1 when a case is over its limit; otherwise only when a number cannot be true
  --only     only cases whose name starts with NAME
  --json     a JSON object a line

$SPOOL names the program too. $BENCH_BOOTSTRAP: the address of a warm Apache Kafka that kcat may
write a topic to, for the two kcat cases; without it, or without kcat, they are left out. The cases
that start an empty program need a C compiler ($CC, cc).
"""

import argparse
import base64
import fcntl
import json
import math
import os
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

LINE_BYTES = 76
MB = 1e6
MIB = 1 << 20

# Runs a command and prints the peak of its memory in KiB to descriptor 9. A child's peak counts
# what the process that made it had, so that this must be small, which Python is not.
PEAK_C = """
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char** argv) {
  struct rusage used;
  int status = 0;
  pid_t child = fork();
  if (argc < 2 || child < 0) return 125;
  if (child == 0) {
    execvp(argv[1], argv + 1);
    _exit(127);
  }
  if (wait4(child, &status, 0, &used) != child) return 125;
  dprintf(9, "%ld\\n", used.ru_maxrss);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}
"""


class Bench:
    def __init__(self, spool, quick, root):
        self.spool = spool
        self.quick = quick
        self.root = root
        self.lines_count = 200_000 if quick else 2_000_000
        self.runs = 3 if quick else 7
        self.pairs = 10 if quick else 50
        self.partitions = 1_000 if quick else 10_000
        self.serial = 0
        self.lines_path = None
        self.log_dir = None
        self.many_dir = None
        self.rows = []
        self.tools = {}
        os.mkdir(self.path("home"))
        os.mkdir(self.path("bin"))
        os.symlink(spool, self.path("bin", "spool"))
        self.environ = {
            "PATH": self.path("bin") + ":" + os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": self.path("home"),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "SPOOL_DIR": self.path("default"),
        }

    def path(self, *names):
        return os.path.join(self.root, *names)

    def fresh(self, name):
        self.serial += 1
        return self.path(f"{name}-{self.serial}")

    # What is measured.

    def seconds(self, argv, stdin=None, stdout=None):
        """Wall time of a program that must succeed."""
        with open(stdin or os.devnull, "rb") as i, open(stdout or os.devnull, "wb") as o:
            start = time.perf_counter()
            status = subprocess.call(argv, stdin=i, stdout=o, env=self.environ)
            took = time.perf_counter() - start
        if status != 0:
            raise SystemExit(f"run.py: status {status} of: {' '.join(argv)[:300]}")
        return took

    def shell_seconds(self, script, **names):
        """Wall time of a line of shell; what `names` say stands in its environment."""
        environ = dict(self.environ, **names)
        start = time.perf_counter()
        subprocess.run(["sh", "-c", script], env=environ, check=True, stdin=subprocess.DEVNULL)
        return time.perf_counter() - start

    def peak(self, argv, stdin=None, stdout=None):
        """Peak memory in bytes of a program that must succeed."""
        reader, writer = os.pipe()
        with open(stdin or os.devnull, "rb") as i, open(stdout or os.devnull, "wb") as o:
            child = subprocess.Popen(
                ["sh", "-c", f'exec "$@" 9>&{writer}', "sh", self.compiled("peak"), *argv],
                stdin=i, stdout=o, env=self.environ, pass_fds=[writer])
            os.close(writer)
            with os.fdopen(reader) as pipe:
                text = pipe.read()
            status = child.wait()
        if status != 0 or not text:
            raise SystemExit(f"run.py: status {status} of: {' '.join(argv)[:300]}")
        return int(text) * 1024

    def compiled(self, name):
        """The path of a small C program; None without a compiler."""
        if name in self.tools:
            return self.tools[name]
        compiler = shutil.which(os.environ.get("CC", "cc"))
        out = self.path("bin", name)
        source = out + ".c"
        if compiler:
            with open(source, "w", encoding="ascii") as f:
                f.write(PEAK_C if name == "peak" else "int main(void) { return 0; }\n")
            more = []
            if name == "empty":
                more = ["-pie", "-Wl,-z,relro,-z,now,--no-as-needed", *self.libraries()]
            subprocess.run([compiler, "-O2", "-fPIE", "-o", out, source, *more], check=True)
        else:
            out = None
        self.tools[name] = out
        return out

    def libraries(self):
        """The shared libraries that the program loads, but for the loader and the kernel's."""
        said = subprocess.run(["ldd", self.spool], check=True, stdout=subprocess.PIPE, text=True)
        found = []
        for line in said.stdout.splitlines():
            words = line.split()
            if "=>" in words and len(words) > 2 and words[2].startswith("/"):
                found.append(words[2])
        return found

    def turns(self, count, ours, reference):
        """Medians of both, run in turns; the first turn is for warming up."""
        a, b = [], []
        for turn in range(count + 1):
            mine = ours()
            other = reference() if reference else 0.0
            if turn > 0:
                a.append(mine)
                b.append(other)
        return statistics.median(a), statistics.median(b)

    def row(self, name, unit, ours, reference, measure, limit):
        """measure: `ratio` ours/reference, `over` ours-reference, `faster` reference/ours at least
        limit, `most` ours."""
        value = {
            "ratio": lambda: ours / reference,
            "over": lambda: ours - reference,
            "faster": lambda: reference / ours,
            "most": lambda: ours,
        }[measure]()
        within = value >= limit if measure == "faster" else value <= limit
        self.rows.append({
            "name": name, "unit": unit, "ours": ours, "reference": reference, "measure": measure,
            "value": value, "limit": limit, "ok": within,
        })
        return self.rows[-1]

    # What the cases share.

    def lines(self):
        if self.lines_path is None:
            self.lines_path = self.path("lines")
            letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,.;-_"
            state, text = 12345, bytearray()
            for _ in range(8192):
                state = (state * 1103515245 + 12345) % (1 << 31)
                text.append(letters[(state >> 16) % len(letters)])
            width = LINE_BYTES - 11
            with open(self.lines_path, "wb") as f:
                for first in range(0, self.lines_count, 10_000):
                    part = bytearray()
                    for n in range(first, min(first + 10_000, self.lines_count)):
                        at = n * 7919 % (len(text) - width)
                        part += b"%09d " % n + text[at:at + width] + b"\n"
                    f.write(part)
            assert os.path.getsize(self.lines_path) == self.lines_count * LINE_BYTES
        return self.lines_path

    def log(self):
        """A directory whose topic t holds the lines."""
        if self.log_dir is None:
            self.log_dir = self.path("log")
            self.seconds([self.spool, "-d", self.log_dir, "produce", "t"], stdin=self.lines())
        return self.log_dir

    def many(self):
        """A directory with a topic of many partitions, a record in each of them."""
        if self.many_dir is None:
            self.many_dir = self.path("many")
            self.seconds([self.spool, "-d", self.many_dir, "topics", "create", "many", "-p",
                          str(self.partitions)])
            self.seconds([self.spool, "-d", self.many_dir, "produce", "many", "-p", "777",
                          "--value", "x"])
            # The folder of a partition appears with its first record. Links to one that has been
            # filled are much faster than a writer with its syncs.
            model = os.path.join(self.many_dir, "many-777")
            names = os.listdir(model)
            for partition in range(self.partitions):
                folder = os.path.join(self.many_dir, f"many-{partition}")
                if partition != 777:
                    os.mkdir(folder)
                    for n in names:
                        os.link(os.path.join(model, n), os.path.join(folder, n))
        return self.many_dir

    def same(self, left, right):
        if subprocess.call(["cmp", left, right]) != 0:
            raise SystemExit(f"run.py: {left} and {right} differ")

    # The cases.

    def copy_lines(self, sync):
        out = self.fresh("copy")
        took = self.shell_seconds('cat "$I" >"$O"' + ('; sync "$O"' if sync else ""),
                                  I=self.lines(), O=out)
        os.unlink(out)
        return took

    def produce_lines(self, *options):
        where = self.fresh("log")
        took = self.shell_seconds('spool -d "$O" produce t ' + " ".join(options) + ' <"$I"',
                                  I=self.lines(), O=where)
        shutil.rmtree(where)
        return took

    def produce_never(self, name):
        ours, other = self.turns(self.runs, lambda: self.produce_lines("--fsync", "never"),
                                 lambda: self.copy_lines(False))
        yield self.row(name, "ms", ours * 1e3, other * 1e3, "ratio", 1.5)

    def produce_batch(self, name):
        ours, other = self.turns(self.runs, self.produce_lines, lambda: self.copy_lines(True))
        yield self.row(name, "ms", ours * 1e3, other * 1e3, "ratio", 2.0)

    def consume_once(self, check=False):
        out = self.fresh("out")
        took = self.shell_seconds('spool -d "$D" consume t >"$O"', D=self.log(), O=out)
        if check:
            self.same(out, self.lines())
        os.unlink(out)
        return took

    def consume_file(self, name):
        self.consume_once(check=True)
        ours, other = self.turns(self.runs, self.consume_once, lambda: self.copy_lines(False))
        yield self.row(name, "ms", ours * 1e3, other * 1e3, "ratio", 1.5)

    def write_one(self):
        out = self.fresh("one")
        took = self.shell_seconds('echo x >"$O"; sync "$O"', O=out)
        os.unlink(out)
        return took

    def one_there(self, name):
        where = self.path("one")
        self.shell_seconds('echo x | spool -d "$O" produce t', O=where)
        ours, other = self.turns(
            self.pairs, lambda: self.shell_seconds('echo x | spool -d "$O" produce t', O=where),
            self.write_one)
        shutil.rmtree(where)
        yield self.row(name, "ms", ours * 1e3, other * 1e3, "over", 5.0)

    def one_new(self, name):
        where = self.path("new")
        self.shell_seconds('echo x | spool -d "$O" produce t', O=where)
        topics = iter(range(1 << 30))
        ours, other = self.turns(
            self.pairs, lambda: self.shell_seconds('echo x | spool -d "$O" produce "$N"', O=where,
                                                   N=f"n{next(topics)}"), self.write_one)
        shutil.rmtree(where)
        yield self.row(name, "ms", ours * 1e3, other * 1e3, "over", 10.0)

    def start(self, name):
        empty = self.compiled("empty")
        if empty is None:
            print("run.py: no C compiler: start-* are left out", file=sys.stderr)
            return
        few = self.path("few")
        for topic in ("a", "b", "c"):
            self.seconds([self.spool, "-d", few, "topics", "create", topic])
        for case, argv in (("help", ["--help"]), ("produce-help", ["produce", "--help"]),
                           ("topics-list", ["-d", few, "topics", "list"])):
            ours, other = self.turns(4 * self.pairs, lambda a=argv: self.seconds([self.spool, *a]),
                                     lambda: self.seconds([empty]))
            yield self.row(f"{name}{case}", "ms", ours * 1e3, other * 1e3, "over", 2.0)

    def memory(self, name):
        if self.compiled("peak") is None:
            print("run.py: no C compiler: memory-* are left out", file=sys.stderr)
            return
        where = self.path("peak")
        plain = 32 * MIB / MB
        spool = [self.spool, "-d", where]
        used = self.peak([*spool, "produce", "t"], stdin=self.lines())
        yield self.row(name + "produce", "MB", used / MB, 0, "most", plain)
        used = self.peak([*spool, "consume", "t"], stdout=self.path("peak-out"))
        yield self.row(name + "consume", "MB", used / MB, 0, "most", plain)
        used = self.peak([*spool, "consume", "t", "-n", "1000"])
        yield self.row(name + "consume-tail", "MB", used / MB, 0, "most", plain)
        for codec in ("gzip", "snappy", "lz4", "zstd"):
            used = self.peak([*spool, "produce", codec, "-z", codec], stdin=self.lines())
            yield self.row(f"{name}produce-{codec}", "MB", used / MB, 0, "most", plain)
            used = self.peak([*spool, "consume", codec])
            yield self.row(f"{name}consume-{codec}", "MB", used / MB, 0, "most", plain)
        record = (8 if self.quick else 64) * MIB - 1024
        limit = (64 * MIB + 2 * record) / MB
        big = self.path("big")
        with open(big, "wb") as f:
            for _ in range(record // 1024):
                f.write(b"0123456789abcde\n" * 64)
            f.write(b"x" * (record % 1024))
        used = self.peak([*spool, "produce", "big", "-w"], stdin=big)
        yield self.row(name + "produce-large", "MB", used / MB, 0, "most", limit)
        used = self.peak([*spool, "consume", "big", "-D", ""], stdout=self.path("peak-out"))
        yield self.row(name + "consume-large", "MB", used / MB, 0, "most", limit)
        self.same(self.path("peak-out"), big)
        used = self.peak([*spool, "produce", "big-zstd", "-w", "-z", "zstd"], stdin=big)
        yield self.row(name + "produce-large-zstd", "MB", used / MB, 0, "most", limit)
        used = self.peak([*spool, "consume", "big-zstd", "-D", ""], stdout=self.path("peak-out"))
        yield self.row(name + "consume-large-zstd", "MB", used / MB, 0, "most", limit)
        used = self.peak([self.spool, "-d", self.many(), "topics", "list"])
        yield self.row(name + "many-topics-list", "MB", used / MB, 0, "most", plain)
        used = self.peak([self.spool, "-d", self.many(), "consume", "many"])
        yield self.row(name + "many-consume", "MB", used / MB, 0, "most", plain)
        shutil.rmtree(where)
        os.unlink(self.path("peak-out"))
        os.unlink(big)

    def follow(self, name):
        where = self.path("follow")
        self.seconds([self.spool, "-d", where, "produce", "t", "--value", "first"])
        reader = subprocess.Popen([self.spool, "-d", where, "consume", "t", "-f"],
                                  stdout=subprocess.PIPE, env=self.environ)
        writer = subprocess.Popen([self.spool, "-d", where, "produce", "t"],
                                  stdin=subprocess.PIPE, env=self.environ)
        shown = b""
        fcntl.fcntl(reader.stdout, fcntl.F_SETFL, os.O_NONBLOCK)

        def until(line):
            nonlocal shown
            give_up = time.monotonic() + 20
            while not shown.endswith(line):
                if time.monotonic() > give_up:
                    raise SystemExit(f"run.py: follow: {line!r} was not shown within 20 s")
                if select.select([reader.stdout], [], [], 1.0)[0]:
                    shown += os.read(reader.stdout.fileno(), 65536)
            shown = shown[-200:]

        took = []
        try:
            until(b"first\n")
            for n in range(2 * self.pairs + 1):
                line = b"line %d\n" % n
                start = time.perf_counter()
                writer.stdin.write(line)
                writer.stdin.flush()
                until(line)
                took.append(time.perf_counter() - start)
                time.sleep(0.005)
        finally:
            writer.stdin.close()
            writer.wait()
            reader.send_signal(signal.SIGTERM)
            reader.wait()
            reader.stdout.close()
        shutil.rmtree(where)
        took = sorted(took[1:])
        yield self.row(name + "-median", "ms", statistics.median(took) * 1e3, 0, "most", 5.0)
        # Not in the list of limits; a tail far from the median is worth a look all the same.
        yield self.row(name + "-p95", "ms", took[len(took) * 95 // 100] * 1e3, 0, "most", 20.0)

    def open_many(self, name):
        where = self.many()
        took, _ = self.turns(
            self.runs, lambda: self.seconds([self.spool, "-d", where, "topics", "list"]), None)
        yield self.row(name + "-list", "ms", took * 1e3, 0, "most", 50.0)
        argv = [self.spool, "-d", where, "consume", "many", "-p", "777"]
        took, _ = self.turns(self.runs, lambda: self.seconds(argv), None)
        yield self.row(name + "-consume", "ms", took * 1e3, 0, "most", 20.0)
        # As Kafka leaves it: no list of topics, only the folders.
        for n in os.listdir(where):
            if os.path.isfile(os.path.join(where, n)):
                os.unlink(os.path.join(where, n))
        self.many_dir = None
        took, _ = self.turns(
            self.runs, lambda: self.seconds([self.spool, "-d", where, "topics", "list"]), None)
        yield self.row(name + "-foreign-list", "ms", took * 1e3, 0, "most", 200.0)
        took, _ = self.turns(self.runs, lambda: self.seconds(argv), None)
        yield self.row(name + "-foreign-consume", "ms", took * 1e3, 0, "most", 20.0)
        shutil.rmtree(where)

    def segments(self, name):
        """Look-ups in a partition of many segments, a record in each."""
        count = 100 if self.quick else 1_000
        where, lines = self.fresh("segments"), self.path("segments.in")
        with open(lines, "w", encoding="ascii") as f:
            for n in range(count):
                f.write(f'{{"value":"{n}","timestamp":{1_700_000_000_000 + n * 1000}}}\n')
        self.seconds([self.spool, "-d", where, "produce", "t", "-J", "--fsync", "never",
                      "--batch-bytes", "1", "--config-topic", "segment.ms=1"], stdin=lines)
        middle = str(1_700_000_000_000 + count // 2 * 1000)
        for what, argv, limit in (
                ("describe", ["topics", "describe", "t"], 50.0),
                ("at", ["topics", "offsets", "t", "--at", middle], 100.0),
                ("tail", ["consume", "t", "-n", "1"], 100.0),
                ("consume", ["consume", "t"], 200.0)):
            took, _ = self.turns(
                self.runs, lambda a=argv: self.seconds([self.spool, "-d", where, *a]), None)
            yield self.row(f"{name}-{what}", "ms", took * 1e3, 0, "most", limit)
        shutil.rmtree(where)

    def recovery(self, name):
        """The first writer after a power cut that left no state: it checks the whole log."""
        where = self.path("recovery")
        for _ in range(2 if self.quick else 7):
            self.seconds([self.spool, "-d", where, "produce", "t", "--fsync", "never"],
                         stdin=self.lines())
        folder = os.path.join(where, "t-0")
        logs = [os.path.join(folder, n) for n in os.listdir(folder) if n.endswith(".log")]
        subprocess.run(["sync", *logs], check=True)  # or ours would wait for the disk

        def recover():
            os.unlink(os.path.join(folder, "spool.state"))
            return self.seconds([self.spool, "-d", where, "produce", "t", "--value", "x"])

        ours, other = self.turns(min(self.runs, 3), recover, lambda: self.seconds(["cat", *logs]))
        shutil.rmtree(where)
        yield self.row(name, "ms", ours * 1e3, other * 1e3, "ratio", 2.0)

    def verify(self, name):
        """Every byte and record, beside reading the bytes."""
        where = self.path("verify")
        for _ in range(1 if self.quick else 3):
            self.seconds([self.spool, "-d", where, "produce", "t", "--fsync", "never"],
                         stdin=self.lines())
        folder = os.path.join(where, "t-0")
        logs = [os.path.join(folder, n) for n in os.listdir(folder) if n.endswith(".log")]
        argv = [self.spool, "-d", where, "topics", "verify", "t"]
        ours, other = self.turns(self.runs, lambda: self.seconds(argv),
                                 lambda: self.seconds(["cat", *logs]))
        yield self.row(name, "ms", ours * 1e3, other * 1e3, "ratio", 2.0)
        if self.compiled("peak") is not None:
            yield self.row(name + "-memory", "MB", self.peak(argv) / MB, 0, "most", 32 * MIB / MB)
        shutil.rmtree(where)

    def group_once(self, groups):
        out = self.fresh("out")
        took = self.shell_seconds('spool -d "$D" consume t -g "$G" >"$O"', D=self.log(),
                                  G=next(groups), O=out)
        if os.path.getsize(out) != os.path.getsize(self.lines()):
            raise SystemExit("run.py: a group read something else than was written")
        os.unlink(out)
        return took

    def group_consume(self, name):
        """What the default commit rule costs."""
        groups = (f"g{n}" for n in range(1 << 30))
        ours, other = self.turns(2 * self.runs, lambda: self.group_once(groups), self.consume_once)
        yield self.row(name, "ms", ours * 1e3, other * 1e3, "ratio", 1.1)

    def group_list(self, name):
        """A thousand groups that read a topic of a few partitions."""
        where = self.path("groups")
        self.shell_seconds('seq 1 300 | spool -d "$D" produce t --partitions 3 --partitioner rr',
                           D=where)
        each = [w for n in range(100 if self.quick else 1_000) for w in ("-g", f"group-{n:04}")]
        self.seconds([self.spool, "-d", where, "reset-offsets", *each, "-t", "t",
                      "--to-offset", "50", "-y"])
        for what, argv in (("list", ["list"]), ("describe", ["describe"])):
            took, _ = self.turns(
                self.runs,
                lambda a=argv: self.seconds([self.spool, "-d", where, "groups", *a]), None)
            yield self.row(f"{name}-{what}", "ms", took * 1e3, 0, "most", 50.0)
        shutil.rmtree(where)

    def group_start(self, name):
        """A member of one of fifty groups that have committed a million times."""
        where = self.path("commits")
        self.shell_seconds('seq 1 100 | spool -d "$D" produce t --partitions 7 --partitioner rr',
                           D=where)
        count, entries = (100_000 if self.quick else 1_000_000), 350
        source = self.path("commits.in")
        with open(source, "w", encoding="ascii") as f:
            keys = []
            for n in range(entries):
                group = b"group-%d" % (n % 50)
                key = struct.pack(">hh", 1, len(group)) + group + struct.pack(">h", 1) + b"t"
                keys.append(base64.b64encode(key + struct.pack(">i", n % 7)).decode())
            for n in range(count):
                value = struct.pack(">hqihq", 3, n * 14 // count, -1, 0, 1_700_000_000_000 + n)
                value = base64.b64encode(value).decode()
                f.write(f'{{"key":{{"base64":"{keys[n % entries]}"}},'
                        f'"value":{{"base64":"{value}"}}}}\n')
        # Nobody writes that topic by hand, but a copy of one from elsewhere is taken.
        raw, copy = self.path("raw"), self.path("copy")
        self.seconds([self.spool, "-d", raw, "produce", "commits", "-J", "--fsync", "never"],
                     stdin=source)
        os.mkdir(copy)
        folder = os.path.join(copy, "__consumer_offsets-0")
        os.rename(os.path.join(raw, "commits-0"), folder)
        os.unlink(os.path.join(folder, "partition.metadata"))
        self.seconds([self.spool, "-d", copy, "replay", "__consumer_offsets", "--verbatim",
                      "--to-dir", where])
        argv = [self.spool, "-d", where, "consume", "t", "-g", "group-7", "-c", "1"]
        self.seconds(argv)  # the first one reads them all, and leaves what it learnt to the others
        took, _ = self.turns(self.runs, lambda: self.seconds(argv), None)
        yield self.row(name, "ms", took * 1e3, 0, "most", 100.0)
        shutil.rmtree(where)

    def kcat(self, name):
        kcat, bootstrap = shutil.which("kcat"), os.environ.get("BENCH_BOOTSTRAP")
        if not kcat or not bootstrap:
            print("run.py: no kcat or no $BENCH_BOOTSTRAP: kcat-* are left out", file=sys.stderr)
            return
        runs = 3 if self.quick else 5
        topic = f"spool-bench-{os.getpid()}"
        sent = []

        def send():
            sent.append(f"{topic}-{len(sent)}")
            return self.shell_seconds('"$K" -q -b "$B" -P -t "$N" <"$I"', K=kcat, B=bootstrap,
                                      N=sent[-1], I=self.lines())

        def receive():
            out = self.fresh("kcat")
            took = self.shell_seconds('"$K" -q -b "$B" -C -t "$N" -o beginning -e >"$O"', K=kcat,
                                      B=bootstrap, N=sent[0], O=out)
            if os.path.getsize(out) != os.path.getsize(self.lines()):
                raise SystemExit("run.py: kcat read something else than it wrote")
            os.unlink(out)
            return took

        for _ in range(2):  # a broker is slow at first
            send()
            receive()
        ours, other = self.turns(runs, self.produce_lines, send)
        yield self.row(name + "produce", "ms", ours * 1e3, other * 1e3, "faster", 4.0)
        ours, other = self.turns(runs, self.consume_once, receive)
        yield self.row(name + "consume", "ms", ours * 1e3, other * 1e3, "faster", 4.0)

    CASES = (
        ("produce-never", produce_never),
        ("produce-batch", produce_batch),
        ("consume", consume_file),
        ("one-there", one_there),
        ("one-new", one_new),
        ("start-", start),
        ("memory-", memory),
        ("follow", follow),
        ("open", open_many),
        ("segments", segments),
        ("recovery", recovery),
        ("verify", verify),
        ("group-consume", group_consume),
        ("group-list", group_list),
        ("group-start", group_start),
        ("kcat-", kcat),
    )


def show(row):
    unit = row["unit"]
    reference = f"{row['reference']:.1f} {unit}" if row["reference"] else "-"
    value, limit = {
        "ratio": (f"{row['value']:.2f}x", f"<= {row['limit']:.2f}x"),
        "over": (f"{row['value']:+.2f} {unit}", f"<= +{row['limit']:.1f} {unit}"),
        "faster": (f"{row['value']:.1f}x faster", f">= {row['limit']:.1f}x"),
        "most": ("-", f"<= {row['limit']:.1f} {unit}"),
    }[row["measure"]]
    ours = f"{row['ours']:.1f} {unit}"
    verdict = "ok" if row["ok"] else "over"
    print(f"{row['name']:26} {ours:>11} {reference:>11} {value:>13} {limit:>13}  {verdict}",
          flush=True)


def cannot_be(row):
    """Numbers that say the bench is wrong, not that spool is slow."""
    numbers = [row["ours"], row["value"], row["limit"]]
    if not all(math.isfinite(n) for n in numbers) or row["ours"] <= 0:
        return True
    if row["measure"] == "over":
        return abs(row["value"]) > 5_000
    if row["measure"] == "faster":
        return row["value"] < 0.01
    return row["value"] > 100 * row["limit"]


def main():
    parser = argparse.ArgumentParser(usage="run.py [OPTIONS]; see the head of the file")
    parser.add_argument("--spool", default=os.environ.get("SPOOL", "build/release/spool"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    cases = [c for c in Bench.CASES
             if not args.only or any(c[0].startswith(o) or o.startswith(c[0]) for o in args.only)]
    if args.list:
        print("\n".join(name for name, _ in cases))
        return 0
    if not cases:
        parser.error("no case of that name; --list prints them")
    spool = os.path.abspath(args.spool)
    if not os.access(spool, os.X_OK):
        parser.error(f"cannot run {spool}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    over, wrong = [], []
    with tempfile.TemporaryDirectory(prefix="spool-bench.") as root:
        bench = Bench(spool, args.quick, root)
        for name, case in cases:
            for row in case(bench, name):
                if args.only and not any(row["name"].startswith(o) for o in args.only):
                    continue
                print(json.dumps(row), flush=True) if args.json else show(row)
                if not row["ok"]:
                    over.append(row["name"])
                if cannot_be(row):
                    wrong.append(row["name"])
    if wrong:
        print(f"run.py: these numbers cannot be true: {', '.join(wrong)}", file=sys.stderr)
        return 1
    if not bench.rows:
        print("run.py: nothing was measured", file=sys.stderr)
        return 1
    if args.check and over:
        print(f"run.py: over the limit: {', '.join(over)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
