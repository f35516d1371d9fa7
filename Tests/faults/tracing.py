"""Runs the command under strace: first to see its system calls, then to make one of them fail."""

import os
import re
import signal
import subprocess
from dataclasses import dataclass

# The first call of the command itself. Earlier calls are those of the loader and the language.
BEGIN = "prctl(PR_SET_DUMPABLE"
LINE = re.compile(r"^(?:(\d+) +)?(\w+)\((.*)$")
LIMIT = 60


@dataclass(frozen=True)
class Point:
    """One call: the n-th with its name in one thread, and the file that it concerns."""

    call: str
    number: int
    object: str
    # Whether the call ends a lock: it is still there if the call fails.
    ends_lock: bool = False


@dataclass
class Run:
    status: int
    stderr: str
    stdout: bytes
    injected: bool
    timed_out: bool = False


# Calls whose strings are names. The strings of all others are data.
BY_NAME = {"openat", "newfstatat", "readlink", "faccessat2", "linkat", "renameat", "renameat2", "unlinkat",
           "mkdir", "rmdir"}


def file_of(call, arguments, folder):
    """The file that a call concerns, under a name that is the same in every run."""
    names = [name for name in re.findall(r'"((?:[^"\\]|\\.)*)"', arguments) if name] if call in BY_NAME else []
    descriptor = re.match(r"(\d+)<([^>]*)>", arguments)
    if "O_TMPFILE" in arguments:
        return "new file"
    if names:
        path = names[-1]
    elif descriptor and int(descriptor[1]) < 3:
        return ("standard input", "standard output", "standard error")[int(descriptor[1])]
    elif descriptor:
        path = descriptor[2]
    else:
        return ""
    if re.match(r"/proc/(self|\d+)/fd/", path) or re.search(r"/#\d+$", path):
        return "new file"
    if os.path.normpath(os.path.join(folder, path)) == folder:
        return "folder"
    name = os.path.basename(path)
    if name.startswith("vaultfile-edit-"):
        return "folder of the text"
    return "temporary name" if name.startswith(".vaultfile-") else name


def points(trace, folder, calls):
    """The points of these calls in a trace, from the start of the command on, and the names of all its calls."""
    counts, found, before, names = {}, [], None, set()
    for line in open(trace, encoding="utf-8", errors="replace"):
        match = LINE.match(line)
        if not match:
            continue
        thread, call, rest = match.groups()
        counts[thread, call] = counts.get((thread, call), 0) + 1
        if f"{call}({rest}".startswith(BEGIN):
            before = {name: number for (_, name), number in counts.items()}
        if before is not None:
            names.add(call)
        # Each thread counts its own calls, and one injection applies to all threads. The first thread's count includes
        # the loader's calls.
        if before is not None and call in calls and counts[thread, call] > before.get(call, 0):
            point = Point(
                call, counts[thread, call], file_of(call, rest, folder), call == "close" or "LOCK_UN" in rest)
            if not any(other.call == point.call and other.number == point.number for other in found):
                found.append(point)
    return found, names


def run(words, folder, trace, stdin=None, environment=None, options=()):
    """Runs a command in a folder under strace. stdin: the name of a file that it reads through a pipe."""
    command = ["strace", "-f", "-qq", "-y", "-o", trace, *options, "--", *words]
    source = subprocess.Popen(["cat", stdin], cwd=folder, stdout=subprocess.PIPE) if stdin else None
    errors_path, output_path = trace + ".err", trace + ".out"
    with open(errors_path, "wb") as errors, open(output_path, "wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, stdin=source.stdout if source else subprocess.DEVNULL,
            stdout=output, stderr=errors,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": folder, **(environment or {})},
            start_new_session=True)
        if source:
            source.stdout.close()
        timed_out = False
        try:
            process.wait(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            timed_out = True
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if source:
            source.kill()
            source.wait()
    stderr = open(errors_path, encoding="utf-8", errors="replace").read()
    seen = open(trace, encoding="utf-8", errors="replace").read() if os.path.exists(trace) else ""
    with open(output_path, "rb") as output:
        return Run(process.returncode, stderr, output.read(), "(INJECTED)" in seen or "stopped by" in seen, timed_out)
