#!/usr/bin/env python3
"""Measures stores beside encrypted file systems, in one run, and writes Benchmarks/STORES.md.

usage: run.py [--folder FOLDER] [--rounds N] [--puts N] [--items N] [--many N] [--output FILE] [--append]

It needs root for fscrypt, which it measures on an image of ext4 in FOLDER, and `make build` first: the program that
measures is linked with the library that the command was built from. What is not installed is left out, and named.
"""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Benchmarks/process"))
import report  # noqa: E402
import store as state  # noqa: E402

MODULES = ("VaultStore VaultFile VaultStream VaultFormat VaultCrypto VaultXWing VaultDeflate VaultTar VaultSystem "
           "SystemPackage CSystem Crypto CryptoBoringWrapper CCryptoBoringSSL CCryptoBoringSSLShims CXKCP CXKCPShims")


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, text=True, **options).stdout


def program(folder):
    """The program that measures."""
    release = ROOT / ".build/release"
    objects = [path for name in MODULES.split() for path in sorted((release / f"{name}.build").rglob("*.o"))]
    if not objects:
        sys.exit("run 'make build' first")
    maps = [word for pattern in ("Sources/C*/module.modulemap", ".build/checkouts/*/Sources/*/include/module.modulemap")
            for path in ROOT.glob(pattern) for word in ("-I", path.parent)]
    path = folder / "speed"
    run("swiftc", "-O", "-parse-as-library", "-module-name", "speed", ROOT / "Benchmarks/stores/speed.swift",
        "-I", release / "Modules", *maps, *objects, "-static-stdlib", "-use-ld=lld", "-lsodium", "-lcrypto", "-lz",
        "-o", path, stderr=subprocess.DEVNULL)
    return path


class Subject:
    """Something that keeps files: a row of each table. `base` names the row that does the same calls on plaintext."""

    def __init__(self, name, work, folder, daemon=None, base="plain"):
        self.name, self.work, self.folder, self.daemon, self.base = name, work, folder, daemon, base


def mounted(name, folder, make, mount, stack):
    """A file system of FUSE, in a process that stays in the foreground."""
    hidden, shown = folder / f"{name}.data", folder / f"{name}.mount"
    hidden.mkdir()
    shown.mkdir()
    run(*make, hidden)
    daemon = subprocess.Popen([*map(str, mount), hidden, shown], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stack.callback(daemon.wait)
    stack.callback(subprocess.run, ["fusermount3", "-u", str(shown)], check=False)
    for _ in range(100):
        if os.path.ismount(shown):
            return Subject(name, "plain", shown, daemon)
        time.sleep(0.1)
    sys.exit(f"{name} does not mount")


def with_fscrypt(folder, stack, size):
    """A folder that fscrypt encrypts, and a plain one beside it, in a file system that allows it."""
    image, place = folder / "image", folder / "ext4"
    with open(image, "wb") as file:
        file.truncate(size)
    run("mkfs.ext4", "-q", "-O", "encrypt", image)
    place.mkdir()
    run("mount", "-o", "loop", image, place)
    stack.callback(run, "umount", place)
    key = folder / "raw"
    key.write_bytes(os.urandom(32))
    run("fscrypt", "setup", place, "--quiet", stderr=subprocess.DEVNULL)
    plain, hidden = place / "plain", place / "fscrypt"
    plain.mkdir()
    hidden.mkdir()
    run("fscrypt", "encrypt", hidden, "--source=raw_key", f"--key={key}", "--name=benchmark", "--quiet")
    return [Subject("plain, in an image", "plain", plain, base="plain, in an image"),
            Subject("fscrypt, in an image", "plain", hidden, base="plain, in an image")]


def subjects(folder, stack, size):
    """The rows, and the names of what is not measured."""
    plain = folder / "plain"
    plain.mkdir()
    found, missing = [Subject("plain", "plain", plain), Subject("vaultfile", "store", folder / "store")], []
    tools = {
        # The least stretching: it happens once, at the mount.
        "gocryptfs": (("gocryptfs", "-q", "-init", "-scryptn", "10", "-extpass", "echo", "-extpass", "benchmark"),
                      ("gocryptfs", "-q", "-fg", "-extpass", "echo", "-extpass", "benchmark")),
        "securefs": (("securefs", "create", "--pass", "benchmark"), ("securefs", "mount", "--pass", "benchmark")),
    }
    for name, (make, mount) in tools.items():
        if shutil.which(name) and os.path.exists("/dev/fuse"):
            found.append(mounted(name, folder, make, mount, stack))
        else:
            missing.append(name)
    if shutil.which("fscrypt") and os.geteuid() == 0 and os.path.exists("/sys/fs/ext4/features/encryption"):
        try:
            found += with_fscrypt(folder, stack, size)
        except subprocess.CalledProcessError as error:
            missing.append(f"fscrypt ({error.cmd[0]} failed)")
    else:
        missing.append("fscrypt (it needs root and a kernel with encryption for ext4)")
    return found, missing


def versions():
    lines = {}
    for name, command in {"gocryptfs": ["gocryptfs", "-version"], "securefs": ["dpkg-query", "-W", "securefs"],
                          "fscrypt": ["fscrypt", "--version"]}.items():
        if shutil.which(name):
            lines[name] = run(*command).strip().splitlines()[-1].replace("\t", " ")
    return lines


class Section:
    def __init__(self, title, verb, count, unit, only=None):
        self.title, self.verb, self.count, self.unit, self.only = title, verb, count, unit, only


def measure(speed, section, rows, rounds, say):
    """The seconds of each row. Each round begins with another row."""
    rows = [row for row in rows if section.only in (None, row.work)]
    samples = {row.name: [] for row in rows}
    for number in range(rounds + 1):
        for place in range(len(rows)):
            row = rows[(place + number) % len(rows)]
            seconds = float(run(speed, f"{row.work}-{section.verb}", row.folder, section.count))
            # The first round warms up.
            if number:
                samples[row.name].append(seconds)
        say(f"{section.title}: round {number} of {rounds}")
    return rows, samples


def table(section, rows, samples):
    scale = {"ms": 1000 / section.count, "s": 1, "ms in all": 1000}[section.unit]
    unit = {"ms": "ms each", "s": "s", "ms in all": "ms"}[section.unit]
    lines = [f"### {section.title}", "", f"|  | median, {unit} | least – most | × the same calls |", "|---|--:|--:|--:|"]
    for row in rows:
        values = [value * scale for value in samples[row.name]]
        median = statistics.median(values)
        base = samples.get(row.base)
        ratio = f"{median / (statistics.median(base) * scale):.2f}" if base else ""
        lines.append(f"| {row.name} | {median:.3g} | {min(values):.3g} – {max(values):.3g} | {ratio} |")
    return lines + [""]


def syncs(speed, row, folder, verb, count):
    """How many syncs an operation takes, in the process that does it and in that of the file system."""
    trace = folder / "trace"
    tracing = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync,syncfs,msync,sync"]
    watcher = None
    if row.daemon:
        watcher = subprocess.Popen([*tracing, "-o", f"{trace}.daemon", "-p", str(row.daemon.pid)],
                                   stderr=subprocess.DEVNULL)
        time.sleep(1)
    run(*tracing, "-o", trace, speed, f"{row.work}-{verb}", row.folder, count)
    found = [len(re.findall(r"sync\w*\(", trace.read_text()))]
    if watcher:
        time.sleep(0.5)
        watcher.send_signal(signal.SIGINT)
        watcher.wait()
        found.append(len(re.findall(r"sync\w*\(", pathlib.Path(f"{trace}.daemon").read_text())))
    return [f"{value / count:.3g}" for value in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=str(ROOT / ".build"), help="where to measure")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--puts", type=int, default=200, help="durable puts")
    parser.add_argument("--items", type=int, default=10_000, help="items of a batch and of a list")
    parser.add_argument("--many", type=int, default=100_000, help="items of the long list; 0 leaves it out")
    parser.add_argument("--readers", type=int, default=1000, help="readers that are open while the store is locked")
    parser.add_argument("--append", action="store_true", help="keep what the output has, from another folder")
    parser.add_argument("--output", default=str(ROOT / "Benchmarks/STORES.md"))
    chosen = parser.parse_args()

    def say(text):
        print(text, file=sys.stderr, flush=True)

    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stores-", dir=chosen.folder)))
        speed = program(folder)
        # Room for the items of all rounds and the long list, of two rows. ext4 has an inode for each 16 KiB.
        room = 2 * (chosen.items * (chosen.rounds + 3) + chosen.many + chosen.puts * 20) * 16384 + (256 << 20)
        rows, missing = subjects(folder, stack, room)
        run(speed, "store-create", folder / "store", 0)
        medium = re.sub(r"\[.*\]", "", report.file_system(chosen.folder))
        parts = []
        counts = [chosen.items] + ([chosen.many] if chosen.many else [])
        for row in rows:
            run(speed, f"{row.work}-fill", row.folder, chosen.items)
            say(f"{row.name}: {chosen.items} items")
        sections = [
            Section(f"{chosen.puts} durable puts of 4 KiB", "put", chosen.puts, "ms"),
            Section(f"get of 4 KiB, {chosen.items} items in another order than they were written", "get", chosen.items,
                    "ms"),
            Section(f"list of {chosen.items} items", "list", chosen.items, "s"),
            Section(f"lock with {chosen.readers} open readers", "lock", chosen.readers, "ms in all", "store"),
            Section(f"batch of {chosen.items} × 4 KiB", "batch", chosen.items, "ms"),
        ]
        # The list comes before what makes the folder larger.
        sections.sort(key=lambda section: section.verb in ("put", "batch"))
        for section in sections:
            parts += table(section, *measure(speed, section, rows, chosen.rounds, say))
        if shutil.which("strace"):
            parts += ["### Syncs of one put", "", "|  | syncs of the program | of the file system's process |",
                      "|---|--:|--:|"]
            for row in rows:
                mine, *others = syncs(speed, row, folder, "put", 50)
                parts.append(f"| {row.name} | {mine} | {others[0] if others else ''} |")
            parts.append("")
        if len(counts) > 1:
            stores = [Subject("vaultfile", "store", folder / "long")] + [
                Subject(row.name, row.work, row.folder / "long", base=row.base) for row in rows if row.work == "plain"]
            for row in stores:
                if row.work == "plain":
                    row.folder.mkdir()
                else:
                    run(speed, "store-create", row.folder, 0)
                run(speed, f"{row.work}-fill", row.folder, chosen.many)
                say(f"{row.name}: {chosen.many} items")
            section = Section(f"list of {chosen.many} items", "list", chosen.many, "s")
            parts += table(section, *measure(speed, section, stores, chosen.rounds, say))
        lines = [f"## {medium}", "", "| | |", "|---|---|", f"| machine | {report.machine()} |",
                 f"| measured | {state.measured()} |", f"| rounds | {chosen.rounds} |"]
        lines += [f"| {name} | {text} |" for name, text in versions().items()]
        lines.append(f"| not measured | {', '.join(missing) or 'nothing'} |")
        output = pathlib.Path(chosen.output)
        head = (output if chosen.append else pathlib.Path(__file__).with_name("head.md")).read_text()
        output.write_text("\n".join([head.rstrip(), "", *lines, "", *parts]).rstrip() + "\n")


main()
