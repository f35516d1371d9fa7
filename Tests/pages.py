#!/usr/bin/env python3
"""Runs the commands that the documents show, on a terminal of its own, and compares what they print.

    Tests/pages.py VAULTFILE              runs README.md and the pages of Documentation/
    Tests/pages.py VAULTFILE PAGE ...     runs these pages
    Tests/pages.py --show VAULTFILE PAGE  also prints what each command printed

A command is an indented line that begins with `$ `, with the lines that continue it. The lines after it are what it
prints. Each page starts in an empty folder with an empty home, so it must make every file that it uses. Key IDs and
other random values may differ, but equal ones stay equal; dates, and the owner of a file, may differ.
"""

import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import fcntl
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "Documentation").glob("*.md"))]
HOME = "/home/me"
PATIENCE = 120
DONE = re.compile(rb"\x02(\d+)\x03\r\n")
PROMPT = re.compile(rb"(?:^|\n)([^\n]*(?:[Pp]assphrase[^\n]*|Repeat it|Type yes[^\n]*)): $")
# What differs from run to run. The values of one kind get numbers in the order in which they first appear.
VARIABLE = [
    ("date", re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")),
    ("public key", re.compile(r"\bage1[02-9ac-hj-np-z]{20,}\b")),
    ("random", re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{32}|VAULTFILE-PIN-1\w+)\b")),
    ("header file", re.compile(r"\b[0-9a-f]{16}(?=\.hdr\b)")),
    ("account", re.compile(r"\ba[0-9a-f]{32}\b")),
    ("item", re.compile(r"(?<=\bitem )[0-9a-f]{8}\b")),
    ("listing", re.compile(r"(?<=^-rw.------ 1 )\S+ \S+|(?<=^-rw-r--r-- 1 )\S+ \S+", re.M)),
    ("time", re.compile(r"\b[A-Z][a-z]{2} [ \d]\d \d\d:\d\d\b")),
]


class Example:
    def __init__(self, page, line, command):
        self.page, self.line, self.command, self.expected = page, line, command, []


def examples(page):
    """The commands of a page. A command goes on while its quotes, here-documents and backslashes are open."""
    found, current = [], None
    for number, line in enumerate((ROOT / page).read_text(encoding="utf-8").split("\n"), 1):
        if not line.startswith("    "):
            if line.strip():
                current = None
            elif current is not None and found and current is found[-1]:
                current = None
            continue
        text = line[4:]
        if text.startswith("$ "):
            current = Example(page, number, text[2:])
            found.append(current)
        elif current is not None:
            if not current.expected and is_open(current.command):
                current.command += "\n" + text
            else:
                current.expected.append(text)
    return found


def is_open(command):
    if command.endswith("\\"):
        return True
    checked = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True)
    return checked.returncode != 0 or "here-document" in checked.stderr


class Terminal:
    """A shell on a pseudo-terminal, which answers questions for passphrases."""

    def __init__(self, vaultfile, folder):
        self.folder, self.passphrases, self.made = folder, {}, 0
        home = folder / "home"
        home.mkdir()
        work = home / "work"
        work.mkdir()
        tools = folder / "bin"
        tools.mkdir()
        (tools / "vaultfile").symlink_to(vaultfile)
        environment = {
            "HOME": str(home), "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "TERM": "dumb",
            "LANG": "C.UTF-8", "PS1": "", "PS2": "", "HISTFILE": "/dev/null"}
        self.home = str(home)
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            os.chdir(work)
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "--noediting"], environment)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 400, 0, 0))
        self.run("stty -echo; umask 022; set +H")

    def run(self, command):
        script = self.folder / "command"
        script.write_text(command + "\n", encoding="utf-8")
        os.write(self.descriptor, f". {script}; printf '\\002%d\\003\\n' $?\n".encode())
        text, answered, end = b"", 0, time.monotonic() + PATIENCE
        while not DONE.search(text):
            if time.monotonic() > end:
                raise SystemExit(f"no end after {PATIENCE} s: {command}\n{text.decode(errors='replace')}")
            if select.select([self.descriptor], [], [], 0.2)[0]:
                try:
                    text += os.read(self.descriptor, 1 << 16)
                except OSError:
                    break
                continue
            question = PROMPT.search(text, answered)
            if question:
                answer = self.answer(question[1].decode())
                os.write(self.descriptor, answer + b"\n")
                # The terminal's echo is off. A user sees what they type here.
                text += b"yes\r\n" if answer == b"yes" else b""
                answered = len(text)
        return shown(DONE.sub(b"", text).replace(b"\r\n", b"\n").decode(errors="replace"))

    def answer(self, question):
        if "yes" in question:
            return b"yes"
        of = "keyring" if "keyring" in question else "container"
        if question.startswith(("New passphrase", "Passphrase for the new")):
            self.made += 1
            self.making = of
            self.passphrases[of] = f"passphrase {self.made}".encode()
        elif question.startswith("Repeat it"):
            of = self.making
        return self.passphrases.get(of, b"none was set")

    def close(self):
        os.close(self.descriptor)
        try:
            os.kill(self.process, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.process, 0)


def shown(text):
    """What a terminal shows at the end: a line of progress is erased by what comes after it."""
    return "\n".join(re.split(r"\r|\x1b\[K", line)[-1] for line in text.split("\n"))


class Variables:
    """Numbers the values that differ from run to run, on each side by their first appearance."""

    def __init__(self):
        self.numbers = {}

    def replaced(self, text):
        for kind, pattern in VARIABLE:
            text = pattern.sub(lambda match, kind=kind: self.name(kind, match[0]), text)
        return text

    def name(self, kind, value):
        if kind != "random":
            return f"<{kind}>"
        return f"<{kind} {self.numbers.setdefault(value, len(self.numbers) + 1)}>"


def lines(text, variables):
    return [re.sub(r"[ \t]+$", "", line) for line in variables.replaced(text).strip("\n").split("\n")] if text.strip() else []


def run(page, vaultfile, shows):
    folder = Path(tempfile.mkdtemp(prefix="vaultfile-pages-"))
    terminal = Terminal(vaultfile, folder)
    wanted, printed, faults = Variables(), Variables(), 0
    try:
        found = examples(page)
        for example in found:
            text = terminal.run(example.command).replace(terminal.home, HOME)
            if shows:
                print(f"$ {example.command}\n{text}", end="")
            expected, actual = lines("\n".join(example.expected), wanted), lines(text, printed)
            if expected != actual:
                faults += 1
                print(f"{page}:{example.line}: $ {example.command}", file=sys.stderr)
                for mark, side in (("-", expected), ("+", actual)):
                    other = actual if side is expected else expected
                    for line in side:
                        print(f"  {' ' if line in other else mark} {line}", file=sys.stderr)
    finally:
        terminal.close()
        shutil.rmtree(folder, ignore_errors=True)
    return len(found), faults


def main():
    arguments = sys.argv[1:]
    shows = "--show" in arguments
    arguments = [each for each in arguments if each != "--show"]
    if not arguments:
        sys.exit(__doc__)
    vaultfile = Path(arguments[0]).resolve()
    count = faults = 0
    for page in arguments[1:] or PAGES:
        ran, wrong = run(page, vaultfile, shows)
        count, faults = count + ran, faults + wrong
    print(f"{count} commands of the documents ran, {faults} printed something else than the documents say")
    sys.exit(1 if faults or not count else 0)


main()
