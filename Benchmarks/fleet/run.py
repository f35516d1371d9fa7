#!/usr/bin/env python3
"""Measures the programs in Examples/Fleet on moto's S3 server, and GNU parallel on local files.

    run.py COMMAND [ENGINE …] [--count N] [--jobs N]

For each engine: all objects are rotated, then the same again (all are current). Then they have the old key again, the
run is killed when half of the objects are written, and is started once more. Prints a row of a table for each run."""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "Python/tests"))

import vaultfile  # noqa: E402
from s3_server import Server  # noqa: E402

CAPACITY = 4096
ENGINES = ["threads", "parallel", "dask", "ray", "spark"]


def kill_session(session):
    """GNU parallel gives each job a process group of its own; all of them are in the session that was started here."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            pass


class Bench:
    def __init__(self, given, folder):
        self.given, self.folder = given, folder
        self.old, self.new = vaultfile.Key.generate(), vaultfile.Key.generate()
        self.old.save(folder / "old.key")
        self.new.save(folder / "new.key")
        self.names = [f"h{number}" for number in range(given.count)]
        self.headers = [
            vaultfile.encrypt(b"x", self.old, header_capacity=CAPACITY)[:CAPACITY] for _ in range(given.count)]
        (folder / "names").write_text("".join(f"{name}\n" for name in self.names))
        (folder / "bin").mkdir()
        (folder / "bin/vaultfile").symlink_to(Path(given.command).resolve())
        self.environment = {
            **os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder),
            "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_DEFAULT_REGION": "us-east-1",
            "PYSPARK_PYTHON": sys.executable}

    def fill(self):
        """Puts the objects back to the old key; for the server without HTTP, which would take minutes."""
        if self.server is None:
            for name, header in zip(self.names, self.headers):
                (self.folder / name).write_bytes(header)
            return
        from moto.s3.models import s3_backends

        backend = s3_backends["123456789012"]["aws"]
        with self.server.lock:
            for name, header in zip(self.names, self.headers):
                backend.put_object("headers", name, header)

    def written(self):
        if self.server is not None:
            return self.server.requests["PUT"]
        return sum((self.folder / name).read_bytes() != header for name, header in zip(self.names, self.headers))

    def start(self, engine):
        program = ROOT / "Examples/Fleet" / f"with_{engine}"
        keys = [self.folder / "old.key", self.folder / "new.key"]
        if engine == "parallel":
            command = [f"{program}.sh", self.folder / "names", *keys, str(self.given.jobs)]
        else:
            command = [
                sys.executable, f"{program}.py", self.folder / "names", "--bucket", "headers", "--endpoint",
                self.server.url, "--old", keys[0], "--new", keys[1], "--jobs", str(self.given.jobs)]
        if self.server is not None:
            self.server.requests.clear()
        # The output goes to files. A pipe is not read while a run is watched, and a full pipe would stop the run.
        with open(self.folder / "output", "wb") as output, open(self.folder / "errors", "wb") as errors:
            return subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=output, stderr=errors, start_new_session=True)

    def row(self, engine, what, process, begun):
        process.wait()
        seconds = time.monotonic() - begun
        output = (self.folder / "output").read_text()
        if process.returncode != 0:
            raise SystemExit(f"{engine} failed: {(self.folder / 'errors').read_text()}")
        if engine == "parallel":
            # The command's results: one object a line.
            found = [json.loads(line)["outcome"] for line in output.splitlines()]
            outcomes = {outcome: found.count(outcome) for outcome in sorted(set(found))}
            cost = "– | –"
        else:
            sums = json.loads(output.splitlines()[-1])
            outcomes = sums["outcomes"]
            moved = sums["bytes_read"] + sums["bytes_written"]
            cost = f"{sums['requests'] / self.given.count:.2f} | {moved / self.given.count:.0f}"
        told = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
        print(f"| {engine} | {what} | {told} | {seconds:.1f} | {cost} |", flush=True)

    def measure(self, engine):
        self.server = None if engine == "parallel" else Server()
        try:
            self.fill()
            for what in ("first", "again"):
                begun = time.monotonic()
                self.row(engine, what, self.start(engine), begun)
            self.fill()
            process = self.start(engine)
            while self.written() < self.given.count // 2 and process.poll() is None:
                time.sleep(0.05)
            kill_session(process.pid)
            process.wait()
            begun = time.monotonic()
            self.row(engine, "after a kill", self.start(engine), begun)
        finally:
            if self.server is not None:
                self.server.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    parser.add_argument("engines", nargs="*", default=ENGINES)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    print("| engine | run | objects | seconds | requests/object | bytes/object |", flush=True)
    print("|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(given, Path(folder))
        for engine in given.engines:
            bench.measure(engine)


if __name__ == "__main__":
    import logging

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    main()
