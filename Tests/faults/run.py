#!/usr/bin/env python3
"""Lets every system call of every verb fail in every way that it may, one at a time, and checks what comes of it; then
runs them in places that are full, read-only and the like.

    run.py VAULTFILE [--only SCENE] [--folder FOLDER] [--write]

It prints what violates the contract, and ends with 1 if anything does, or if OUTCOMES.md beside this file, which --write
makes, says something else than was seen. Needs strace; as root it also mounts file systems.
"""

import argparse
import concurrent.futures
import itertools
import os
import shutil
import sys
import tempfile
import threading

import judge
import places
import report
import scenes
import tracing

TEXTS = {
    "EIO": "Input/output error", "ESTALE": "Stale file handle", "ENOSPC": "No space left on device",
    "EDQUOT": "Disk quota exceeded", "EROFS": "Read-only file system", "EACCES": "Permission denied",
    "EINTR": "Interrupted system call", "EAGAIN": "Resource temporarily unavailable", "EMFILE": "Too many open files",
    "ENOLCK": "No locks available", "EPERM": "Operation not permitted", "ENOMEM": "Cannot allocate memory",
}
READING = ("EIO", "ESTALE", "EINTR")
WRITING = ("EIO", "ENOSPC", "EDQUOT", "EROFS", "ESTALE", "EINTR")
NAMES = ("EIO", "ENOSPC", "EDQUOT", "EROFS", "EACCES", "ESTALE")
ERRORS = {
    "openat": ("EIO", "EACCES", "ESTALE", "EMFILE", "ENOSPC", "EDQUOT", "EROFS", "EINTR"),
    "newfstatat": ("EIO", "ESTALE"), "readlink": ("EIO", "EACCES", "ESTALE"),
    "faccessat2": ("EIO", "EACCES", "EROFS"),
    "read": READING, "pread64": READING,
    "write": WRITING, "pwrite64": WRITING, "pwritev": WRITING, "ftruncate": WRITING, "fsync": WRITING,
    "fchmod": ("EIO", "EPERM", "EROFS"), "fchown": ("EIO", "EPERM", "EROFS"), "utimensat": ("EIO", "EPERM", "EROFS"),
    "linkat": NAMES, "renameat": NAMES, "renameat2": NAMES, "unlinkat": NAMES,
    "flock": ("EIO", "ENOLCK", "EINTR"), "fadvise64": ("EIO",), "getdents64": ("EIO", "ESTALE"),
    "fcntl": ("EIO",), "ioctl": ("EIO",),
    "mlock": ("ENOMEM", "EPERM"), "madvise": ("EIO",), "clone3": ("EAGAIN",), "poll": ("EINTR", "ENOMEM"),
}
RETRIED = {"EINTR"}


class Laboratory:
    def __init__(self, vaultfile, folder):
        self.vaultfile = vaultfile
        self.folder = folder
        self.template = os.path.join(folder, "template")
        os.mkdir(self.template)
        scenes.prepare(vaultfile, self.template)
        self.judge = judge.Judge(vaultfile, self.template)
        self.numbers = itertools.count()
        self.lock = threading.Lock()
        self.runs = 0
        self.seen = report.Outcomes()
        self.wrong = []

    def run(self, scene, options, watch=None):
        """One run in a folder of its own, which the caller removes."""
        with self.lock:
            number = next(self.numbers)
        folder = os.path.join(self.folder, f"run{number}")
        shutil.copytree(self.template, folder)
        words = [self.vaultfile, *scene.words.split()]
        environment = {**(scenes.RING if "--unlock" in scene.words else {}), **dict(scene.environment)}
        trace = os.path.join(self.folder, f"trace{number}")
        done = tracing.run(words, folder, trace, stdin=scene.stdin, environment=environment, options=options, watch=watch)
        return done, folder, trace

    def clear(self, folder, trace):
        shutil.rmtree(folder)
        for end in ("", ".err", ".out"):
            os.remove(trace + end)

    def baseline(self, scene):
        done, folder, trace = self.run(scene, ["-e", "trace=" + ",".join([*ERRORS, "prctl"])])
        wrong = self.judge.problems(scene, done, folder)
        if done.status != scene.status:
            wrong.append(f"status {done.status} with nothing failing: {done.stderr!r}")
        if wrong:
            self.wrong.append((scene.name, "nothing failing", wrong))
        points = tracing.points(trace, folder, set(ERRORS))
        self.clear(folder, trace)
        return points

    def inject(self, scene, point, error):
        done, folder, trace = self.run(
            scene, ["-e", f"trace={point.call}", "-e", f"inject={point.call}:error={error}:when={point.number}"])
        if done.injected or done.timed_out:
            quiet = point.object == "standard error"
            wrong = self.judge.problems(
                scene, done, folder, words=TEXTS[error], quiet=quiet, keeps_names=point.call == "unlinkat")
            with self.lock:
                self.runs += 1
                self.seen.add(scene.name, point.call, point.object, error, done.status)
                if wrong:
                    self.wrong.append((scene.name, f"{error} at {point.call} {point.number} of {point.object}", wrong))
        self.clear(folder, trace)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("vaultfile")
    arguments.add_argument("--only", action="append")
    arguments.add_argument("--folder")
    arguments.add_argument("--write", action="store_true")
    given = arguments.parse_args()
    folder = tempfile.mkdtemp(prefix="vaultfile-faults.", dir=given.folder)
    try:
        laboratory = Laboratory(os.path.realpath(given.vaultfile), os.path.realpath(folder))
        chosen = [scene for scene in scenes.SCENES if not given.only or scene.name in given.only]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            shown = 0
            for scene in chosen:
                before = laboratory.runs
                work = [(point, error) for point in laboratory.baseline(scene) for error in ERRORS[point.call]]
                list(pool.map(lambda pair: laboratory.inject(scene, *pair), work))
                print(f"{scene.name}: {laboratory.runs - before} calls failed", flush=True)
                for name, where, wrong in laboratory.wrong[shown:]:
                    print(f"WRONG: {name}: {where}: {'; '.join(wrong)}", flush=True)
                shown = len(laboratory.wrong)
        lines = laboratory.seen.lines
        if not given.only:
            os.chmod(folder, 0o755)
            tried = places.Places(laboratory.vaultfile, laboratory.template, laboratory.folder)
            tried.try_all()
            lines += report.of_places(tried.outcomes)
            laboratory.wrong += tried.wrong
            for name, where, wrong in tried.wrong:
                print(f"WRONG: {name}: {where}: {'; '.join(wrong)}")
            print(f"{len(tried.outcomes)} runs in places that are full, read-only and the like")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{laboratory.runs} calls failed, {len(laboratory.wrong)} with another outcome than promised")
    if given.write:
        report.write(lines)
        return 1 if laboratory.wrong else 0
    other = report.differences(lines)
    for line in other:
        print(line)
    return 1 if laboratory.wrong or other else 0


if __name__ == "__main__":
    sys.exit(main())
