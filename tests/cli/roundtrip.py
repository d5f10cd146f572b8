#!/usr/bin/env python3
"""Random records come out as they went in: through JSON, through a second topic, and through -F
with lengths, with numbers of several widths, and with encodings and a null marker.

$SPOOL names the program; $SPOOL_ROUNDTRIP_SEED repeats a run (the seed is printed)."""

import base64
import json
import os
import random
import subprocess
import sys
import tempfile

PARTITIONS = 4
RECORDS = 1500
TIMES = (0, 1, 999, 1_700_000_000_000, 253_402_300_799_999, 1 << 53, (1 << 53) + 1, (1 << 62) + 3,
         (1 << 63) - 1)
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FORMATS = (
    ("%p %T %K:%k %V:%v %H;%h{%K:%k=%V:%v,}\n", ()),
    ("%p{big32}%T{big64}%K{big32}%k%V{big32}%v%H{big32}%h{%K{big32}%k%V{big32}%v}", ()),
    ("%p{byte}%T{little64}%K{little32}%k%R%v%H{little16}%h{%K{big16}%k%V{little64}%v}", ()),
    ("%p{hex8} %T{hex64} %K{hex64}%k%V{hex}|%v %H{hex16}%h{%K{hex32}%k%V{hex64}%v}", ()),
    ("%p,%T,%k{base64},%v{hex},%H,%h{%k{hex}=%v{base64};}\n", ("--null-marker", "-")),
    ("%v{base64raw}\t%k{hex}\t%T\t%p\t%H\t%h{%v{hex} %k{base64raw}\t}\n", ("--null-marker", "-")),
)


class Failure(Exception):
    pass


def random_bytes(rng, text):
    kind = rng.random()
    length = rng.choice((0, 1, 2, 7, 30, 200)) if kind < 0.97 else rng.randrange(1000, 70_000)
    if kind < 0.15:
        return b""
    if text or kind < 0.55:
        letters = 'abc XYZ09 \n\t\r"\\/:,;=-%{}|\0\x1f\x7f\u00e9\u20ac\u2028\ufeff\U0001f600'
        return "".join(rng.choices(letters, k=length)).encode()
    return rng.randbytes(length)


def random_record(rng):
    names = [random_bytes(rng, True)[:40].decode(errors="ignore").encode() for _ in range(3)]
    headers = [(rng.choice(names), None if rng.random() < 0.2 else random_bytes(rng, False))
               for _ in range(rng.choice((0, 0, 1, 2, 5)))]
    return (
        rng.randrange(PARTITIONS),
        rng.choice(TIMES) if rng.random() < 0.3 else rng.randrange(1 << rng.randrange(1, 63)),
        None if rng.random() < 0.2 else random_bytes(rng, False),
        None if rng.random() < 0.1 else random_bytes(rng, False),
        tuple(headers),
    )


def to_json(rng, data):
    """Bytes as they may stand in a JSON record; text sometimes in base64, which is allowed too."""
    if data is None:
        return None
    try:
        if rng.random() < 0.9:
            return data.decode()
    except UnicodeDecodeError:
        pass
    return {"base64": base64.b64encode(data).decode()}


def from_json(data):
    if data is None:
        return None
    if isinstance(data, dict):
        if list(data) != ["base64"]:
            raise Failure(f"an object as text: {data}")
        plain = base64.b64decode(data["base64"], validate=True)
        try:
            plain.decode()
        except UnicodeDecodeError:
            return plain
        raise Failure(f"base64 of what is valid UTF-8: {data}")
    return data.encode()


def line_of(rng, record):
    partition, time, key, value, headers = record
    fields = [("partition", partition), ("timestamp", time), ("key", to_json(rng, key)),
              ("value", to_json(rng, value)),
              ("headers", [[n.decode(), to_json(rng, v)] for n, v in headers])]
    if rng.random() < 0.5:
        rng.shuffle(fields)
    text = json.dumps(dict(fields), ensure_ascii=rng.random() < 0.5)
    return text.encode() + b"\n"


class Directory:
    def __init__(self, spool, path):
        self.spool = spool
        self.environ = {"PATH": os.environ.get("PATH", ""), "HOME": path, "LC_ALL": "C.UTF-8",
                        "TZ": "UTC", "SPOOL_DIR": os.path.join(path, "log")}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                self.environ[name] = os.environ[name]

    def run(self, *argv, data=b""):
        done = subprocess.run([self.spool, *argv], input=data, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=self.environ, timeout=100)
        if done.returncode != 0 or done.stderr:
            raise Failure(f"status {done.returncode} of spool {' '.join(map(repr, argv))}: "
                          f"{done.stderr[:500]!r}")
        return done.stdout

    def records(self, topic):
        """What consume -J says, a list for each partition; the offsets must have no gap."""
        found = [[] for _ in range(PARTITIONS)]
        fields = ["topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value",
                  "headers"]
        for line in self.run("consume", topic, "-J").splitlines():
            r = json.loads(line)
            mine = found[r["partition"]]
            if list(r) != fields or r["topic"] != topic or r["timestamp_type"] != "create":
                raise Failure(f"fields of {line[:300]!r}")
            if r["offset"] != len(mine):
                raise Failure(f"offset {len(mine)} is {r['offset']} in {line[:300]!r}")
            mine.append((r["partition"], r["timestamp"], from_json(r["key"]),
                         from_json(r["value"]),
                         tuple((from_json(n), from_json(v)) for n, v in r["headers"])))
        return found


def check(name, wanted, got):
    for p, (w, g) in enumerate(zip(wanted, got)):
        for i, (a, b) in enumerate(zip(w, g)):
            if a != b:
                raise Failure(f"{name}: partition {p} offset {i}: wanted\n  {a!r:.600}\ngot\n"
                              f"  {b!r:.600}")
        if len(w) != len(g):
            raise Failure(f"{name}: partition {p} has {len(g)} records instead of {len(w)}")


def run(spool, rng, root):
    log = Directory(spool, root)
    records = [random_record(rng) for _ in range(RECORDS)]
    wanted = [[r for r in records if r[0] == p] for p in range(PARTITIONS)]

    def options():
        return ["--partitions", str(PARTITIONS), "-z", rng.choice(CODECS), "--batch-bytes",
                rng.choice(("1", "300", "10000", "1M"))]

    log.run("produce", "first", "-J", *options(),
            data=b"".join(line_of(rng, r) for r in records))
    check("through JSON", wanted, log.records("first"))

    printed = log.run("consume", "first", "-J")
    log.run("produce", "second", "-J", *options(), data=printed)
    check("consume -J | produce -J", wanted, log.records("second"))
    again = log.run("consume", "second", "-J").replace(b'{"topic":"second"', b'{"topic":"first"')
    if sorted(again.splitlines()) != sorted(printed.splitlines()):
        raise Failure("consume -J | produce -J: other lines")

    for n, (text, more) in enumerate(FORMATS):
        topic = f"format-{n}"
        data = log.run("consume", "first", "-F", text, *more)
        log.run("produce", topic, "-F", text, *more, *options(), data=data)
        check(f"through -F {text!r}", wanted, log.records(topic))
        for p in range(PARTITIONS):  # together they come in turns, which depend on the batches
            argv = ("-p", str(p), "-F", text, *more)
            if log.run("consume", topic, *argv) != log.run("consume", "first", *argv):
                raise Failure(f"through -F {text!r}: other bytes of partition {p}")


def main():
    spool = os.path.abspath(os.environ["SPOOL"])
    seed = int(os.environ.get("SPOOL_ROUNDTRIP_SEED")
               or random.SystemRandom().randrange(1 << 31))
    print(f"SPOOL_ROUNDTRIP_SEED={seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="spool-test.") as root:
        try:
            run(spool, random.Random(seed), root)
        except Failure as e:
            print(f"FAIL: {e}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
