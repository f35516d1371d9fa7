#!/usr/bin/env python3
"""Makes every system call of every verb fail in every possible way, one at a time, and checks the outcome. Then runs
the verbs on full, read-only and similar file systems.

    run.py VAULTFILE [--only SCENE] [--folder FOLDER] [--write]

It prints every broken promise. It ends with 1 if there is one; if OUTCOMES.md beside this file, which --write writes
(with --only, the tables of these scenes alone), says something else; if fewer than nine in ten of the planned calls
failed; or if a verb makes a call that is neither in ERRORS nor in LEFT_OUT. It needs strace; as root it also mounts
file systems.
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
    "ENOSYS": "Function not implemented",
}
# The call is not made, and reports that it read or wrote nothing, like a file at its end or a full disk. Short counts
# above 0 cannot be injected: the call would report bytes that it has not read or written.
NOTHING = "nothing"
READING = ("EIO", "ESTALE", "EINTR", NOTHING)
WRITING = ("EIO", "ENOSPC", "EDQUOT", "EROFS", "ESTALE", "EINTR")
COUNTING = (*WRITING, NOTHING)
NAMES = ("EIO", "ENOSPC", "EDQUOT", "EROFS", "EACCES", "ESTALE")
ERRORS = {
    "openat": ("EIO", "EACCES", "ESTALE", "EMFILE", "ENOSPC", "EDQUOT", "EROFS", "EINTR"),
    "newfstatat": ("EIO", "ESTALE"), "readlink": ("EIO", "EACCES", "ESTALE"),
    "faccessat2": ("EIO", "EACCES", "EROFS"),
    "read": READING, "pread64": READING,
    "write": COUNTING, "pwrite64": COUNTING, "pwritev": COUNTING, "ftruncate": WRITING, "fsync": WRITING,
    "close": ("EIO",), "getrandom": ("EINTR",),
    "fchmod": ("EIO", "EPERM", "EROFS"), "fchown": ("EIO", "EPERM", "EROFS"), "utimensat": ("EIO", "EPERM", "EROFS"),
    "linkat": NAMES, "renameat": NAMES, "renameat2": NAMES, "unlinkat": NAMES,
    "flock": ("EIO", "ENOLCK", "EINTR"), "fadvise64": ("EIO",), "getdents64": ("EIO", "ESTALE"),
    "fcntl": ("EIO",), "ioctl": ("EIO",),
    "mkdir": NAMES, "rmdir": NAMES, "fstatfs": ("EIO",),
    "add_key": ("EACCES", "EDQUOT", "ENOMEM", "ENOSYS"), "keyctl": ("EACCES", "EDQUOT", "ENOMEM", "ENOSYS"),
    "mlock": ("ENOMEM", "EPERM"), "madvise": ("EIO",), "clone3": ("EAGAIN",), "poll": ("EINTR", "ENOMEM"),
    "wait4": ("EINTR",),
}
# Other calls of the command, which it does not check: calls for memory, threads and signals, after whose failure the
# language ends the program, and calls that cannot fail, such as lseek on a regular file.
LEFT_OUT = {
    "brk", "mmap", "mprotect", "munlock", "munmap", "clone", "futex", "gettid", "rseq", "set_robust_list",
    "rt_sigaction", "rt_sigprocmask", "rt_sigtimedwait", "sched_getaffinity", "sched_yield", "prctl", "umask", "getcwd",
    "geteuid", "exit", "exit_group", "lseek",
    # Of another program, in its process.
    "execve"}
# This part of the planned calls must have failed. Threads do not make the same calls in every run, so it is not all.
LEAST_MET = 0.9


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
        self.runs = self.planned = 0
        self.seen = report.Outcomes()
        self.wrong = []

    def run(self, scene, options):
        """One run in a folder of its own. The caller removes the folder."""
        with self.lock:
            number = next(self.numbers)
        folder = os.path.join(self.folder, f"run{number}")
        shutil.copytree(self.template, folder)
        words = [self.vaultfile, *scene.words.split()]
        environment = scene.variables(folder)
        if scene.first:
            self.judge.call(folder, *scene.first.split())
        if scene.has_children:
            # What strace cannot combine with leaving other programs alone.
            options = ["-b", "execve", *(option for option in options if option != "--seccomp-bpf")]
        trace = os.path.join(self.folder, f"trace{number}")
        done = tracing.run(words, folder, trace, stdin=scene.stdin, environment=environment, options=options)
        return done, folder, trace

    def clear(self, folder, trace):
        shutil.rmtree(folder)
        for end in ("", ".err", ".out"):
            os.remove(trace + end)

    def baseline(self, scene):
        done, folder, trace = self.run(scene, [])
        self.judge.expect(scene, done)
        wrong = self.judge.problems(scene, done, folder)
        if done.status != scene.status:
            wrong.append(f"status {done.status} without faults: {done.stderr!r}")
        points, calls = tracing.points(trace, folder, set(ERRORS))
        if not points:
            wrong.append("strace shows none of its calls")
        if unknown := sorted(calls - set(ERRORS) - LEFT_OUT):
            wrong.append(f"unknown calls: {', '.join(unknown)}")
        if wrong:
            self.wrong.append((scene.name, "without faults", wrong))
        self.clear(folder, trace)
        return points

    def inject(self, scene, point, error):
        what = "retval=0" if error == NOTHING else f"error={error}"
        done, folder, trace = self.run(
            scene, ["--seccomp-bpf", "-e", f"trace={point.call}", "-e",
                    f"inject={point.call}:{what}:when={point.number}"])
        # A file may state any length and hold nothing, like the files of /proc: then the plaintext is empty.
        is_empty = error == NOTHING and done.status == 0 and point.call == "read" \
            and scene.words.startswith("encrypt") and point.object in scenes.PLAINTEXTS
        if done.injected or done.timed_out:
            wrong = [] if is_empty else self.judge.problems(
                scene, done, folder, words=self.reason(scene, point, error),
                damaged=error == NOTHING and ERRORS[point.call] == READING,
                quiet=point.object == "standard error", keeps_names=point.call in ("unlinkat", "rmdir"))
            with self.lock:
                self.runs += 1
                self.seen.add(scene.name, point.call, point.object, error, done.status)
                if wrong:
                    self.wrong.append((scene.name, f"{error} at {point.call} {point.number} of {point.object}", wrong))
        self.clear(folder, trace)

    @staticmethod
    def reason(scene, point, error):
        """What a message must say, if the run fails."""
        if point.ends_lock:
            # The message may be about the lock.
            return None
        if point.call == "keyctl" and error in ("EACCES", "ENOSYS") and scene.is_unlocked and scene.first:
            # A system that keeps no keys is as if nobody had unlocked the keyring: its secrets still open it.
            return None
        return TEXTS.get(error)

    def try_scene(self, scene):
        """Tries every fault of a scene; prints how many calls failed."""
        before, work = self.runs, [(point, error) for point in self.baseline(scene) for error in ERRORS[point.call]]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda pair: self.inject(scene, *pair), work))
        met = self.runs - before
        self.planned += len(work)
        print(f"{scene.name}: {met} of {len(work)} calls failed", flush=True)
        if met < LEAST_MET * len(work):
            self.wrong.append((scene.name, "all faults", [f"only {met} of {len(work)} calls failed"]))


def show(wrong):
    for name, where, what in wrong:
        print(f"WRONG: {name}: {where}: {'; '.join(what)}", flush=True)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("vaultfile")
    arguments.add_argument("--only", action="append")
    arguments.add_argument("--folder")
    arguments.add_argument("--write", action="store_true")
    given = arguments.parse_args()
    if not shutil.which("strace"):
        sys.exit("strace is missing: apt-get install strace")
    chosen = [scene for scene in scenes.SCENES if not given.only or scene.name in given.only]
    if not chosen:
        sys.exit("no scene has this name; the scenes are: " + "; ".join(scene.name for scene in scenes.SCENES))
    folder = tempfile.mkdtemp(prefix="vaultfile-faults.", dir=given.folder)
    try:
        laboratory = Laboratory(os.path.realpath(given.vaultfile), os.path.realpath(folder))
        for scene in chosen:
            shown = len(laboratory.wrong)
            laboratory.try_scene(scene)
            show(laboratory.wrong[shown:])
        lines = laboratory.seen.lines
        if not given.only:
            os.chmod(folder, 0o755)
            tried = places.Places(laboratory.vaultfile, laboratory.template, laboratory.folder)
            tried.try_all()
            lines += report.of_places(tried.outcomes)
            laboratory.wrong += tried.wrong
            show(tried.wrong)
            print(f"{len(tried.outcomes)} runs on full, read-only and similar file systems")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{laboratory.runs} of {laboratory.planned} calls failed, "
          f"{len(laboratory.wrong)} broken promises")
    if given.write:
        report.write(lines, [scene.name for scene in scenes.SCENES] if given.only else None)
        return 1 if laboratory.wrong else 0
    other, unknown = report.differences(lines)
    for line in other:
        print(line)
    if unknown:
        print(f"{unknown} outcomes are not in OUTCOMES.md")
    return 1 if laboratory.wrong or other else 0


if __name__ == "__main__":
    sys.exit(main())
