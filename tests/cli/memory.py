#!/usr/bin/env python3
"""Memory does not grow with what is asked for: the newest half million records, JSON lines of many
lengths and one long one, three hundred partitions.

What this script has itself counts too, since the kernel takes the greater of before and behind
exec: it keeps little. $SPOOL names the program. Skipped under a sanitizer, whose memory is not ours."""

import json
import os
import subprocess
import sys
import tempfile

SPOOL = os.path.abspath(os.environ["SPOOL"])
MIB = 1024  # kilobytes, as the kernel counts
DEFAULT_MAX = 32 * MIB


def fail(text):
    print("FAIL:", text)
    sys.exit(1)


def run(what, argv, env, most, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL):
    # What this process takes counts for the child too, until it runs the program: it stays small.
    child = subprocess.Popen([SPOOL, *argv], env=env, stdin=stdin, stdout=stdout)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        fail(f"{what}: status {child.returncode}")
    print(f"{what}: {usage.ru_maxrss // MIB} MiB")
    if usage.ru_maxrss > most:
        fail(f"{what}: {usage.ru_maxrss // MIB} MiB, and {most // MIB} are allowed")


def main():
    if os.environ.get("SPOOL_SANITIZE"):
        print("SKIP: a sanitizer takes memory of its own")
        return 77
    with tempfile.TemporaryDirectory(prefix="spool-test.") as folder:
        env = dict(os.environ, SPOOL_DIR=os.path.join(folder, "log"), HOME=folder)
        source = os.path.join(folder, "source")
        target = os.path.join(folder, "target")

        count = 600_000
        with open(source, "wb") as f:
            f.writelines(b"%d\n" % i for i in range(count))
        with open(source, "rb") as f:
            run("produce", ("produce", "lines", "-p", "0"), env, DEFAULT_MAX, stdin=f)
        # All of one time, and of many.
        for tail in (500_000, 200_000):
            with open(target, "wb") as f:
                run(f"consume -n {tail}", ("consume", "lines", "-n", str(tail)), env, DEFAULT_MAX,
                    stdout=f)
            with open(target, "rb") as f:
                numbers = iter(range(count - tail, count))
                if any(int(line) != next(numbers) for line in f) or next(numbers, None) is not None:
                    fail(f"consume -n {tail}: other records")

        # Lines that grow, and then short ones.
        with open(source, "w", encoding="ascii") as f:
            for i in range(1, 100):
                f.write(json.dumps({"value": "v" * (i * 20_000)}) + "\n")
        with open(source, "rb") as f:
            run("produce -J, growing", ("produce", "json", "-J"), env, 64 * MIB, stdin=f)
        large = 48 << 20
        with open(source, "w", encoding="ascii") as f:
            f.write('{"key":"k","value":"')
            f.writelines("v" * (1 << 20) for _ in range(large >> 20))
            f.write('"}\n')
        with open(source, "rb") as f:
            run("produce -J, one long line", ("produce", "json", "-J"), env,
                64 * MIB + 2 * (large >> 10), stdin=f)

        with open(source, "wb") as f:
            f.writelines(b"%d:%s\n" % (i, b"x" * 100) for i in range(60_000))
        # A length that is rot, and that the file bears out.
        subprocess.run([SPOOL, "produce", "rot", "--value", "x"], env=env, check=True)
        log = os.path.join(env["SPOOL_DIR"], "rot-0", "0" * 20 + ".log")
        with open(log, "r+b") as f:
            batch = f.read()
            f.write((1).to_bytes(8, "big") + (900 << 20).to_bytes(4, "big") + batch[12:])
            f.truncate(1 << 30)
        run("consume, a length of 900 MB", ("consume", "rot"), env, DEFAULT_MAX)

        subprocess.run([SPOOL, "topics", "create", "many", "-p", "300"], env=env, check=True)
        with open(source, "rb") as f:
            run("produce, 300 partitions", ("produce", "many", "-K:", "--fsync", "never"), env,
                DEFAULT_MAX, stdin=f)
        for more in ((), ("-n", "+2"), ("-n", "50000")):
            run(f"consume {more}, 300 partitions", ("consume", "many", *more), env, DEFAULT_MAX)
    return 0


if __name__ == "__main__":
    sys.exit(main())
