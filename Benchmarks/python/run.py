#!/usr/bin/env python3
"""Measures the Python package beside the command, pyrage, and AES-GCM of `cryptography`. Prints the tables of
Benchmarks/PYTHON.md.

    run.py stream COMMAND   writes and reads a file, 2 GiB
    run.py random           reads of 64 KiB at random places, of a local file and over moto's S3 server
    run.py parquet          one column of a Parquet file of 1 GB over moto's S3 server

    --size BYTES  --rounds N  --folder FOLDER: the default is the memory of /dev/shm; `stream` needs three times the size

All ways take turns in each round, after one round with little data that does not count. Medians are printed."""

import argparse
import contextlib
import filecmp
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import vaultfile

PIECE = 1 << 20
RECORD = 1 << 16


def in_turns(ways, rounds):
    """The median of the seconds of each way."""
    seconds = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            begun = time.perf_counter()
            done = way()
            seconds[name].append(time.perf_counter() - begun)
            if done is not None:
                done()
    return {name: (statistics.median(found), min(found), max(found)) for name, found in seconds.items()}


def write_plain(path, size):
    block = random.Random(1).randbytes(1 << 24)
    with open(path, "wb") as file:
        for start in range(0, size, len(block)):
            file.write(block[: size - start])


class Streams:
    """Each way encrypts `plain` and decrypts what it has made."""

    def __init__(self, folder, size, command):
        self.folder, self.program = folder, command
        self.plain, self.out = folder / "plain", folder / "out"
        write_plain(self.plain, size)
        self.key = vaultfile.Key.generate()
        (folder / "key").unlink(missing_ok=True)
        self.key.save(folder / "key")

    def ways(self):
        """A way to write, and one to read, after which what was written goes."""
        made = {}
        for name in ("open", "encrypt_file", "command", "command_1", "pyrage", "aes_gcm", "copy"):
            write, read, there = getattr(self, name)()
            made[f"{name} write"] = write
            made[f"{name} read"] = lambda read=read, there=there: (read(), lambda: self.checked(there))[1]
        return made

    def checked(self, there):
        """What was read is right. It goes, because the disk may be memory."""
        assert self.out.stat().st_size == self.plain.stat().st_size
        assert self.out.stat().st_size > 1 << 28 or filecmp.cmp(self.out, self.plain, shallow=False)
        there.unlink()
        self.out.unlink()

    def copied(self, source, target):
        while piece := source.read(PIECE):
            target.write(piece)

    def copy(self):
        """Python's own file objects, without encryption."""
        def run(source, target):
            with open(source, "rb") as a, open(target, "wb") as b:
                self.copied(a, b)

        there = self.folder / "copy"
        return lambda: run(self.plain, there), lambda: run(there, self.out), there

    def open(self):
        there = self.folder / "open.vault"

        def write():
            with open(self.plain, "rb") as source, vaultfile.open(there, "wb", keys=self.key) as target:
                self.copied(source, target)

        def read():
            with vaultfile.open(there, "rb", keys=self.key) as source, open(self.out, "wb") as target:
                self.copied(source, target)

        return write, read, there

    def encrypt_file(self):
        there = self.folder / "whole.vault"
        return (
            lambda: vaultfile.encrypt_file(self.plain, there, self.key, replace=True),
            lambda: vaultfile.decrypt_file(there, self.out, self.key, replace=True), there)

    def command(self, *more):
        there = self.folder / f"command{len(more)}.vault"

        def run(verb, source, target):
            subprocess.run(
                [self.program, verb, *more, "--quiet", "-f", "--key-file", self.folder / "key", "-o", target, source],
                check=True)

        return lambda: run("encrypt", self.plain, there), lambda: run("decrypt", there, self.out), there

    def command_1(self):
        return self.command("--jobs", "1")

    def pyrage(self):
        import pyrage

        identity = pyrage.x25519.Identity.generate()
        there = self.folder / "plain.age"
        return (
            lambda: pyrage.encrypt_file(str(self.plain), str(there), [identity.to_public()]),
            lambda: pyrage.decrypt_file(str(there), str(self.out), [identity]), there)

    def aes_gcm(self):
        """Records of 64 KiB with a counter as the nonce, and no more: the end is not protected, and there is no header."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        cipher = AESGCM(os.urandom(32))
        there = self.folder / "plain.gcm"

        def run(source, target, size, call):
            with open(source, "rb") as a, open(target, "wb") as b:
                count = 0
                while record := a.read(size):
                    b.write(call(count.to_bytes(12, "big"), record, None))
                    count += 1

        return (
            lambda: run(self.plain, there, RECORD, cipher.encrypt),
            lambda: run(there, self.out, RECORD + 16, cipher.decrypt), there)


def stream(given, folder):
    for size, rounds in ((1 << 24, 1), (given.size or 2 << 30, given.rounds or 3)):
        streams = Streams(folder, size, given.command)
        found = in_turns(streams.ways(), rounds)
    print("| | write MB/s | read MB/s |\n|---|---|---|")
    for name in dict.fromkeys(key.split()[0] for key in found):
        print("| {} | {} |".format(name, " | ".join(
            f"{size / median / 1e6:.0f} ({size / most / 1e6:.0f} to {size / least / 1e6:.0f})"
            for median, least, most in (found[f"{name} write"], found[f"{name} read"]))))


@contextlib.contextmanager
def s3():
    """The options of s3fs for a server of moto in a process of its own, with a bucket."""
    import fsspec

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        options = {"key": "k", "secret": "s", "endpoint_url": f"http://127.0.0.1:{port}", "skip_instance_cache": True}
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        fsspec.filesystem("s3", **options).call_s3("create_bucket", Bucket="bucket")
        yield options
    finally:
        server.kill()
        server.wait()


def rates(ways, count, rounds):
    in_turns(ways, 1)
    found = in_turns(ways, rounds)
    print("| | reads/s |\n|---|---|")
    for name, (median, least, most) in found.items():
        print(f"| {name} | {count / median:.0f} ({count / most:.0f} to {count / least:.0f}) |")


def random_reads(given, folder):
    import fsspec

    size, rounds = given.size or 1 << 30, given.rounds or 5
    plain, there = folder / "plain", folder / "x.vault"
    write_plain(plain, size)
    key = vaultfile.Key.generate()
    vaultfile.encrypt_file(plain, there, key)
    generator = random.Random(2)

    def at(places, call):
        def run():
            for place in places:
                assert len(call(place)) == RECORD

        return run

    def seeking(file):
        def call(place):
            file.seek(place)
            return file.read(RECORD)

        return call

    places = [generator.randrange(size - RECORD) for _ in range(4000)]
    whole = [place // RECORD * RECORD for place in places]
    with vaultfile.open(there, "rb", keys=key) as file, open(plain, "rb", buffering=0) as bare:
        assert file.read_at(places[0], RECORD) == os.pread(bare.fileno(), RECORD, places[0])
        rates({
            "read_at, anywhere: two records": at(places, lambda place: file.read_at(place, RECORD)),
            "read_at, at the begin of a record": at(whole, lambda place: file.read_at(place, RECORD)),
            "seek and read, at the begin of a record": at(whole, seeking(file)),
            "the plain file, pread": at(places, lambda place: os.pread(bare.fileno(), RECORD, place)),
        }, len(places), rounds)
    # moto answers a range with a part of a copy of the whole object: a small one.
    plain.write_bytes(plain.read_bytes()[: 1 << 26])
    there.unlink()
    vaultfile.encrypt_file(plain, there, key)
    places = [place % ((1 << 26) - RECORD) for place in places[:150]]
    with s3() as options:
        below = fsspec.filesystem("s3", **options)
        below.put(str(plain), "bucket/plain")
        below.put(str(there), "bucket/x.vault")
        fs = fsspec.filesystem("vaultfile", fs=below, keys=key)
        with fs.open("bucket/x.vault", cache_type="none") as file, below.open(
                "bucket/plain", cache_type="none") as bare:
            rates({
                "over S3, read_at, anywhere": at(places, lambda place: file.read_at(place, RECORD)),
                "over S3, the plain object": at(places, seeking(bare)),
            }, len(places), rounds)


class Counting:
    """Counts what the file system below fetches."""

    def __init__(self, fs):
        self.fs, self.fetched, self.requests = fs, 0, 0

    def __getattr__(self, name):
        return getattr(self.fs, name)

    def open(self, *arguments, **keywords):
        file = self.fs.open(*arguments, **keywords)
        original = getattr(file.cache, "fetcher", None)
        if original is not None:
            def fetch(start, end):
                self.fetched += end - start
                self.requests += 1
                return original(start, end)

            file.cache.fetcher = fetch
        return file


def parquet(given, folder):
    import fsspec
    import numpy
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, columns = (given.size or 1_000_000_000) // 160, 20
    generator = numpy.random.default_rng(3)
    table = pa.table({f"c{number}": generator.random(rows) for number in range(columns)})
    key = vaultfile.Key.generate()
    with s3() as options:
        below = fsspec.filesystem("s3", **options)
        fs = fsspec.filesystem("vaultfile", fs=below, keys=key)
        for some, path in ((below, "bucket/plain.parquet"), (fs, "bucket/x.parquet.vault")):
            with some.open(path, "wb") as file:
                pq.write_table(table, file, row_group_size=rows // 8, compression="none", use_dictionary=False)
        counting = {"plain": Counting(below), "vaultfile": Counting(below)}
        fs.fs = counting["vaultfile"]

        def query(some, path):
            # The same blocks for both.
            with some.open(path, "rb", block_size=1 << 18, cache_type="readahead") as file:
                assert pq.read_table(file, columns=["c7"], pre_buffer=False).num_rows == rows

        ways = {
            "vaultfile": lambda: query(fs, "bucket/x.parquet.vault"),
            "plain": lambda: query(counting["plain"], "bucket/plain.parquet")}
        rounds = given.rounds or 3
        found = in_turns(ways, rounds)
        print("| | bytes of the object | bytes fetched | part | requests | seconds |\n|---|---|---|---|---|---|")
        for name, path in (("vaultfile", "bucket/x.parquet.vault"), ("plain", "bucket/plain.parquet")):
            fetched, size = counting[name].fetched // rounds, below.size(path)
            print(f"| {name} | {size:,} | {fetched:,} | {fetched / size:.1%} | {counting[name].requests / rounds:.0f} | "
                  f"{found[name][0]:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["stream", "random", "parquet"])
    parser.add_argument("command", nargs="?", type=lambda text: str(Path(text).resolve()))
    parser.add_argument("--size", type=int)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--folder", default="/dev/shm")
    given = parser.parse_args()
    if given.what == "stream" and not given.command:
        parser.error("stream needs the command")
    # A run that is stopped leaves no files.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        {"stream": stream, "random": random_reads, "parquet": parquet}[given.what](given, Path(folder))


if __name__ == "__main__":
    main()
