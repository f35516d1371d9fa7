"""Runs in real places: full, read-only and unwritable ones, pipes, devices, files without a length."""

import os
import shutil
import subprocess
import threading
from contextlib import contextmanager

import scenes

KEY = ("--key-file", "key")
# Runs in a place that cannot be written, with the status that they must end with.
WRITING = [
    (("encrypt", *KEY, "-o", "there/out.vault", "plain"), 73),
    (("decrypt", *KEY, "-o", "there/out", "c.vault"), 73),
    (("recover", *KEY, "-o", "there/out", "c.vault"), 73),
    (("key", "generate", "-o", "there/made"), 73),
    (("encrypt", *KEY, "there/plain"), 73),
    (("reencrypt", *KEY, "--add", "file:new-key", "--remove", "file:other", "there/c.vault"), None),
    (("rotate", *KEY, "--add", "file:new-key", "there/tiny.vault"), None),
    (("decrypt", "-f", *KEY, "--remove-source", "-o", "out", "there/c.vault"), 74),
]
# Runs that only read work in such a place.
READING = [
    (("verify", *KEY, "there/c.vault"), 0), (("inspect", "there/c.vault"), 0),
    (("decrypt", *KEY, "-o", "read", "there/c.vault"), 0), (("encrypt", *KEY, "-o", "read.vault", "there/plain"), 0),
    (("recover", *KEY, "-o", "recovered", "there/c.vault"), 0),
    (("rotate", "--dry-run", *KEY, "--add", "file:new-key", "there/c.vault"), 0),
]


class Places:
    """Each check has a folder of its own, in which `there` is the place."""

    def __init__(self, vaultfile, template, folder):
        self.vaultfile, self.template, self.folder = vaultfile, template, folder
        self.outcomes, self.wrong, self.number = [], [], 0

    def fresh(self):
        self.number += 1
        folder = os.path.join(self.folder, f"place{self.number}")
        shutil.copytree(self.template, folder)
        os.mkdir(os.path.join(folder, "there"))
        return folder

    def run(self, folder, words, stdout=None, before=(), stdin=None):
        return subprocess.run(
            [*before, self.vaultfile, *words], cwd=folder, stdin=stdin or subprocess.DEVNULL,
            stdout=stdout or subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
            env={"PATH": "/usr/bin:/bin", "HOME": folder})

    def note(self, place, words, done, expected, said, problems=()):
        errors = done.stderr.decode(errors="replace")
        problems = list(problems)
        expected = expected if isinstance(expected, tuple) else (expected,)
        if done.returncode not in expected:
            problems.append(f"status {done.returncode}: {errors!r}")
        if said and done.returncode != 0 and said.lower() not in errors.lower():
            problems.append(f"no message says {said!r}: {errors!r}")
        self.outcomes.append((place, " ".join(words), done.returncode))
        if problems:
            self.wrong.append((place, " ".join(words), problems))

    @staticmethod
    def listing(folder):
        return {name: open(os.path.join(folder, name), "rb").read()
                for name in sorted(os.listdir(folder)) if os.path.isfile(os.path.join(folder, name))}

    def try_writing(self, place, said, statuses, closed, before=()):
        """Tries WRITING and READING in `there`, while `closed` prevents writing there."""
        folder = self.fresh()
        there = os.path.join(folder, "there")
        for name in ("plain", "c.vault", "tiny.vault", "key"):
            shutil.copy(os.path.join(folder, name), there)
        if before:
            subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
            os.chmod(folder, 0o777)
        with closed(there):
            held = self.listing(there)
            for words, status in WRITING:
                done = self.run(folder, words, before=before)
                problems = [] if self.listing(there) == held else ["something in it was changed"]
                self.note(place, words, done, status or statuses, said, problems)
                if os.path.exists(os.path.join(folder, "out")):
                    os.remove(os.path.join(folder, "out"))
            for words, status in READING:
                self.note(place, words, self.run(folder, words, before=before), status, None)

    def try_full(self):
        """A file system that becomes full during the run."""
        folder = self.fresh()
        there = os.path.join(folder, "there")
        with mounted(there, "size=200k"):
            shutil.copy(os.path.join(folder, "c.vault"), there)
            held = self.listing(there)
            for words in (
                    ("encrypt", *KEY, "-o", "there/out.vault", "plain"),
                    ("decrypt", *KEY, "-o", "there/out", "c.vault"),
                    ("recover", *KEY, "-o", "there/out", "c.vault"),
                    ("decrypt", *KEY, "-o", "there/out", "packed.vault"),
                    ("reencrypt", *KEY, "--add", "file:new-key", "--remove", "file:other", "there/c.vault")):
                done = self.run(folder, words)
                problems = [] if self.listing(there) == held else ["something in it was changed"]
                self.note("a full file system", words, done, 74, "No space left on device", problems)

    def try_devices(self):
        folder = self.fresh()
        full = "No space left on device"
        for words in (("encrypt", *KEY, "-o", "/dev/full", "plain"), ("decrypt", *KEY, "-o", "/dev/full", "c.vault"),
                      ("recover", *KEY, "-o", "/dev/full", "c.vault")):
            self.note("/dev/full", words, self.run(folder, words), 74, full)
        for words in (("decrypt", *KEY, "-o", "-", "c.vault"), ("encrypt", *KEY, "-o", "-", "plain"),
                      ("inspect", "c.vault"), ("verify", *KEY, "c.vault"), ("key", "generate", "-o", "-"),
                      ("rotate", *KEY, "--add", "file:new-key", "c.vault")):
            with open("/dev/full", "wb") as output:
                self.note("standard output is /dev/full", words, self.run(folder, words, stdout=output), 74, full)

    def try_proc(self):
        """Files that have a content and no length."""
        folder = self.fresh()
        words = ("encrypt", *KEY, "-o", "out.vault", "/proc/version")
        done = self.run(folder, words)
        back = self.run(folder, ("decrypt", *KEY, "-o", "-", "out.vault"))
        right = open("/proc/version", "rb").read()
        self.note("a file of /proc", words, done, 0, None, [] if back.stdout == right else ["other contents"])
        words = ("encrypt", *KEY, "--remove-source", "-o", "more.vault", "/proc/version")
        self.note("a file of /proc", words, self.run(folder, words), 74, "cannot be removed")

    def try_pipes(self):
        folder = self.fresh()
        os.mkfifo(os.path.join(folder, "pipe"))

        def feed(name):
            with open(os.path.join(folder, "pipe"), "wb") as pipe, open(os.path.join(folder, name), "rb") as file:
                try:
                    pipe.write(file.read())
                except BrokenPipeError:
                    pass

        for name, words, status in (
                ("plain", ("encrypt", *KEY, "-o", "out.vault", "pipe"), 0),
                ("c.vault", ("decrypt", *KEY, "-o", "out", "pipe"), 0), ("c.vault", ("verify", *KEY, "pipe"), 0)):
            # The writer is a daemon, so that it cannot hang this script if the command never opens the pipe.
            writer = threading.Thread(target=feed, args=(name,), daemon=True)
            writer.start()
            done = self.run(folder, words)
            writer.join(timeout=10)
            problems = []
            if writer.is_alive():
                problems.append("the pipe was never opened, or not read to its end")
                os.close(os.open(os.path.join(folder, "pipe"), os.O_RDONLY | os.O_NONBLOCK))
                writer.join(timeout=10)
            self.note("a pipe with a name", words, done, status, None, problems)
        for words in (("encrypt", *KEY, "pipe"), ("recover", *KEY, "-o", "x", "pipe"),
                      ("decrypt", *KEY, "--restore-name", "pipe")):
            self.note("a pipe with a name", words, self.run(folder, words), 64, None)
        for words in (("rotate", *KEY, "--add", "file:new-key", "pipe"), ("repair", *KEY, "pipe")):
            self.note("a pipe with a name", words, self.run(folder, words), 66, "not a regular file")

    def try_all(self):
        self.try_devices()
        self.try_proc()
        self.try_pipes()
        # Root may write everywhere.
        nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups") if os.getuid() == 0 else ()
        self.try_writing("a folder that may not be written", "Permission denied", (66, 73), unwritable, before=nobody)
        if nobody:
            self.try_mounts()

    def try_mounts(self):
        try:
            with mounted(os.path.join(self.fresh(), "there"), "size=64k"):
                pass
        except subprocess.CalledProcessError:
            print("cannot mount file systems here, so full and read-only ones are not tested")
            return
        self.try_writing("a read-only file system", "Read-only file system", (66, 73), self.read_only)
        self.try_full()

    @contextmanager
    def read_only(self, there):
        files = self.listing(there)
        with mounted(there, "size=2m"):
            for name, contents in files.items():
                with open(os.path.join(there, name), "wb") as file:
                    file.write(contents)
            subprocess.run(["mount", "-o", "remount,ro", there], check=True)
            yield


@contextmanager
def unwritable(there):
    os.chmod(there, 0o555)
    try:
        yield
    finally:
        os.chmod(there, 0o755)


@contextmanager
def mounted(there, options):
    """Mounts a file system, and unmounts it whatever happens."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", there], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", there], check=True)
