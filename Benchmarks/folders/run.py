#!/usr/bin/env python3
"""Measures folders in one container, and mounts, beside other tools, and writes Benchmarks/FOLDERS.md.

usage: run.py COMMAND [--files N] [--bytes N] [--large BYTES] [--names N] [--rounds N] [--folder FOLDER]
              [--output FILE] [--only PART]...

PART is pack, names, sequential, random, tree or database. It needs `make build` first, and twelve times the bytes of the
tree as space. What is not installed of tar, age, 7z, restic, gocryptfs and rg is left out, and named.
"""

import argparse
import contextlib
import os
import pathlib
import random
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Benchmarks/process"))
import report  # noqa: E402
import store as state  # noqa: E402

# Runs a process, and prints its seconds and the peak of its memory in KiB.
PEAK = ("import resource, subprocess, sys, time\nbegun = time.perf_counter()\n"
        "subprocess.run(sys.argv[1:], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)\n"
        "print(time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n")
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}


def shell(line, **options):
    subprocess.run(["bash", "-o", "pipefail", "-ec", line], check=True, **(QUIET | options))


def size(path):
    """The bytes of a file, or of all files in a folder."""
    path = pathlib.Path(path)
    if path.is_file():
        return path.stat().st_size
    return sum(entry.stat().st_size for entry in path.rglob("*") if entry.is_file() and not entry.is_symlink())


def in_turns(ways, rounds, say, before=lambda: None):
    """The seconds of each way in each round. Each round begins with another way."""
    names = list(ways)
    seconds = {name: [] for name in names}
    for number in range(rounds):
        for place in range(len(names)):
            name = names[(place + number) % len(names)]
            before()
            begun = time.perf_counter()
            ways[name]()
            seconds[name].append(time.perf_counter() - begun)
            say(f"  {name}: {seconds[name][-1]:.2f} s")
    return seconds


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def median(values):
    return report.duration(statistics.median(values))


class Bench:
    def __init__(self, chosen, folder, stack):
        self.chosen, self.folder, self.stack = chosen, folder, stack
        self.command = str(pathlib.Path(chosen.command).resolve())
        self.key = folder / "key"
        shell(f"'{self.command}' key generate -q -o '{self.key}'")
        self.missing = [tool for tool in ("age", "7z", "restic", "gocryptfs", "rg") if not shutil.which(tool)]
        self.environment = os.environ | {"VAULTFILE_KEY_FILE": str(self.key), "RESTIC_PASSWORD": "benchmark",
                                         "RESTIC_CACHE_DIR": str(folder / "cache"), "NO_COLOR": "1"}

    def has(self, tool):
        return tool not in self.missing

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def run(self, line):
        shell(line, cwd=self.folder, env=self.environment)

    def vault(self, line):
        self.run(f"'{self.command}' {line}")

    def mounted(self, words, point):
        """Starts a file system that stays in the foreground. Returns what ends it."""
        point.mkdir(exist_ok=True)
        process = subprocess.Popen([*map(str, words), str(point)], cwd=self.folder, env=self.environment, **QUIET)
        for _ in range(3000):
            if os.path.ismount(point):
                break
            time.sleep(0.01)
        else:
            process.kill()
            sys.exit(f"{words[0]} does not mount")

        def end():
            subprocess.run(["fusermount3", "-u", str(point)], check=False, **QUIET)
            process.wait()
        self.stack.callback(end)
        return end

    def gocryptfs(self, name):
        """The words that mount a new file system of gocryptfs."""
        hidden = self.folder / f"{name}.data"
        hidden.mkdir()
        words = ["gocryptfs", "-q", "-extpass", "echo", "-extpass", "benchmark"]
        self.run(" ".join([*words, "-init", "-scryptn", "10", f"'{hidden}'"]))
        return [*words, "-fg", hidden]

    # A tree of files

    def make_tree(self):
        """Files of different lengths, most of them small, whose contents do not compress."""
        maker, tree = random.Random(1), self.folder / "tree"
        block = maker.randbytes(1 << 22)
        lengths = [maker.paretovariate(1.1) for _ in range(self.chosen.files)]
        scale = self.chosen.bytes / sum(min(length, 2000) for length in lengths)
        for number, length in enumerate(lengths):
            place = tree / f"{number % 97:02d}" / f"{number // 97 % 89:02d}"
            if number < 97 * 89:
                place.mkdir(parents=True, exist_ok=True)
            count = int(min(length, 2000) * scale)
            with open(place / f"file-{number}.dat", "wb") as file:
                while count > 0:
                    start = maker.randrange(len(block) // 2)
                    count -= file.write(block[start : start + min(count, len(block) // 2)])
        one = min(4242, self.chosen.files - 1)
        self.one = f"tree/{one % 97:02d}/{one // 97 % 89:02d}/file-{one}.dat"
        return size(tree)

    def pack(self):
        length = self.make_tree()
        run = self.run
        age = self.has("age")
        if age:
            run("age-keygen -o age.key && age-keygen -y age.key >age.pub")
        clean = {"vaultfile": "tree.tar.vault", "tar": "tree.tar", "tar, age": "tree.tar.age", "7z": "tree.7z",
                 "restic": "repository", "gocryptfs": "go.data"}

        def fresh(name, line):
            def way():
                shutil.rmtree(self.folder / clean[name], ignore_errors=True)
                (self.folder / clean[name]).unlink(missing_ok=True)
                run(line)
            return way

        packs = {"tar": fresh("tar", "tar -cf tree.tar tree"),
                 "vaultfile": lambda: self.vault("encrypt -q -f --no-sync -o tree.tar.vault tree")}
        lists = {"tar": lambda: run("tar -tf tree.tar"), "vaultfile": lambda: self.vault("ls tree.tar.vault")}
        ones = {"tar": lambda: run(f"tar -xOf tree.tar {self.one}"),
                "vaultfile": lambda: self.vault(f"cat tree.tar.vault {self.one}")}
        alls = {"tar": lambda: run("tar -xf tree.tar -C out"),
                "vaultfile": lambda: self.vault("extract -q --no-sync -C out tree.tar.vault")}
        if age:
            packs["tar, age"] = fresh("tar, age", "tar -c tree | age -R age.pub -o tree.tar.age")
            lists["tar, age"] = lambda: run("age -d -i age.key tree.tar.age | tar -t")
            ones["tar, age"] = lambda: run(f"age -d -i age.key tree.tar.age | tar -xO {self.one}")
            alls["tar, age"] = lambda: run("age -d -i age.key tree.tar.age | tar -x -C out")
        if self.has("7z"):
            packs["7z"] = fresh("7z", "7z a -bd -mx=0 -ms=off -pbenchmark -mhe=on tree.7z tree")
            lists["7z"] = lambda: run("7z l -pbenchmark tree.7z")
            ones["7z"] = lambda: run(f"7z x -so -pbenchmark tree.7z {self.one}")
            alls["7z"] = lambda: run("7z x -bd -pbenchmark -oout tree.7z")
        if self.has("restic"):
            packs["restic"] = fresh("restic", "restic init -q -r repository && restic backup -q -r repository tree")
            lists["restic"] = lambda: run("restic ls -q -r repository latest")
            ones["restic"] = lambda: run(f"restic dump -q -r repository latest /{self.one}")
            alls["restic"] = lambda: run("restic restore -q -r repository latest --target out")
        if self.has("gocryptfs"):
            end = self.mounted(self.gocryptfs("go"), self.folder / "go")
            packs["gocryptfs"] = lambda: run("rm -rf go/tree && cp -r tree go")
            lists["gocryptfs"] = lambda: run("find go/tree")
            ones["gocryptfs"] = lambda: run(f"cat go/{self.one}")
            alls["gocryptfs"] = lambda: run("cp -r go/tree out")
        def empty():
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            (self.folder / "out").mkdir()
            # What one way has not written to the disk yet would cost the next one.
            os.sync()

        found = {}
        for title, ways in (("pack", packs), ("names", lists), ("one file", ones), ("all files", alls)):
            self.say(title)
            found[title] = in_turns(ways, self.chosen.rounds, self.say,
                                    empty)
        rows = [[name, *(median(found[title][name]) for title in found),
                 f"{size(self.folder / clean[name]) / 1e9:.3f} GB"] for name in packs]
        self.run("diff -r tree out/tree || diff -r tree out")
        if self.has("gocryptfs"):
            end()
        for name in (*clean.values(), "tree", "out", "cache"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / name).unlink(missing_ok=True)
        return [f"### A tree of {self.chosen.files:,} files and {length / 1e9:.1f} GB", "",
                "The columns: pack all, list all names, one file out, all files out, and the bytes of what was made. tar does",
                "not encrypt. 7z stores and does not compress, restic does not compress either (its format is version 1).",
                "gocryptfs is mounted; packing and unpacking are copies, its list is `find`. No tool syncs what it writes.",
                "The disk is idle when each begins.", "",
                *table(["", *found, "bytes"], rows)]

    # A tar with very many members

    def names(self):
        def peak(line):
            """The seconds and the peak of memory of a process. A small process starts it: the system counts the memory of
            the process that starts another one as a peak of the other one, too."""
            words = [sys.executable, "-c", PEAK, self.command, *line.split()]
            done = subprocess.run(words, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, text=True)
            if done.returncode:
                sys.exit(f"{line}: {done.returncode}")
            seconds, peak = done.stdout.split()
            return float(seconds), int(peak) * 1024

        make = (f"import sys, tarfile\nt = tarfile.open(fileobj=sys.stdout.buffer, mode='w|', format=tarfile.PAX_FORMAT)\n"
                f"for n in range({self.chosen.names}):\n"
                "    t.addfile(tarfile.TarInfo('folder-%03d/file-%07d' % (n // 5000, n)))\nt.close()\n")
        (self.folder / "make.py").write_text(make)
        self.run("python3 make.py >many.tar")
        rows = []
        last = f"folder-{(self.chosen.names - 1) // 5000:03d}/file-{self.chosen.names - 1:07d}"
        for line in ("encrypt -q -f --no-sync --index many.tar", "ls many.tar.vault", "ls -l many.tar.vault",
                     "ls --json many.tar.vault", f"ls many.tar.vault {last}", f"cat many.tar.vault {last}"):
            runs = [peak(line) for _ in range(self.chosen.rounds)]
            rows.append([f"`{line.replace(last, 'PATH')}`", median([seconds for seconds, _ in runs]),
                         f"{max(memory for _, memory in runs) / (1 << 20):.0f} MiB"])
        for name in ("many.tar", "many.tar.vault"):
            (self.folder / name).unlink()
        return [f"### A tar with {self.chosen.names:,} empty members", "", *table(["", "time", "peak memory"], rows)]

    # Mounts

    def views(self, name, make):
        """The same files through each file system: in plain, vaultfile's mount, and gocryptfs."""
        plain = self.folder / name
        plain.mkdir()
        make(plain)
        (self.folder / f"{name}.vaults").mkdir()
        self.vault(f"encrypt -q --no-sync --recursive -o {name}.vaults/ {name}")
        ends = [self.mounted([self.command, "mount", "-q", f"{name}.vaults/{name}"], self.folder / f"{name}.view")]
        views = {"without a mount": plain, "vaultfile mount": self.folder / f"{name}.view"}
        if self.has("gocryptfs"):
            ends.append(self.mounted(self.gocryptfs(f"{name}.go"), self.folder / f"{name}.go"))
            self.run(f"cp -r {name}/. {name}.go")
            views["gocryptfs"] = self.folder / f"{name}.go"

        def end():
            for each in ends:
                each()
            for ending in ("", ".vaults", ".go.data"):
                shutil.rmtree(self.folder / f"{name}{ending}", ignore_errors=True)
        return views, end

    def sequential(self):
        views, end = self.views("large", lambda folder: self.large(folder / "file"))
        ways = {name: lambda view=view: shell(f"dd if='{view}/file' of=/dev/null bs=1M") for name, view in views.items()}
        ways["vaultfile decrypt"] = lambda: self.vault("decrypt -q -o - large.vaults/large/file.vault")

        def drop():
            # What the kernel keeps of a mount would be read without it. What is under the mounts is read again first.
            shell("sync; echo 1 >/proc/sys/vm/drop_caches")
            shell("find large large.vaults large.go.data -type f -exec cat {} +", cwd=self.folder)

        seconds = in_turns(ways, self.chosen.rounds, self.say, drop)
        rows = [[name, f"{self.chosen.large / 1e6 / statistics.median(found):,.0f} MB/s"] for name, found in
                seconds.items()]
        end()
        return [f"### A file of {self.chosen.large / (1 << 30):g} GiB through a mount, from start to end", "",
                "What is stored is in the page cache. What the mounts show is not.", "", *table(["", "rate"], rows)]

    def large(self, path):
        block = random.Random(2).randbytes(1 << 24)
        with open(path, "wb") as file:
            for start in range(0, self.chosen.large, len(block)):
                file.write(block[: self.chosen.large - start])

    def random(self):
        views, end = self.views("large", lambda folder: self.large(folder / "file"))
        reader = ("import os, random, sys\nfile = os.open(sys.argv[1], os.O_RDONLY)\nplaces = random.Random(sys.argv[2])\n"
                  "blocks = os.fstat(file).st_size // 4096\nos.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)\n"
                  "for _ in range(int(sys.argv[3])): os.pread(file, 4096, places.randrange(blocks) * 4096)\n")
        (self.folder / "reader.py").write_text(reader)
        count, lines = 8000, []
        for readers in (1, 4):
            line = " & ".join(f"python3 reader.py '{{}}/file' {{}}{seed} {count // readers}" for seed in range(readers))
            number = iter(range(1_000_000))
            ways = {name: lambda view=view: self.run(
                line.format(*(item for _ in range(readers) for item in (view, next(number)))) + " & wait")
                for name, view in views.items()}
            seconds = in_turns(ways, self.chosen.rounds, self.say)
            lines.append((readers, seconds))
        end()
        rows = [[name, *(f"{count / statistics.median(seconds[name]):,.0f}" for _, seconds in lines)] for name in views]
        return ["### Reads of 4 KiB at random places of this file, a second", "",
                "The start of the readers is part of the time.", "", *table(["", "one reader", "four readers"], rows)]

    def tree(self):
        def make(folder):
            maker = random.Random(3)
            words = [f"word{number}" for number in range(2000)]
            for number in range(20_000):
                place = folder / f"{number // 200:03d}"
                place.mkdir(exist_ok=True)
                (place / f"{number}.txt").write_text(" ".join(maker.choices(words, k=maker.randrange(50, 500))))
        views, end = self.views("texts", make)
        works = [("`find`", "find '{}' | wc -l"), ("`ls -lR`", "ls -lR '{}' | wc -l")]
        if self.has("rg"):
            works.append(("`rg`", "rg -c word1999 '{}' | wc -l"))
        rows = {name: [name] for name in views}
        for _, work in works:
            seconds = in_turns({name: lambda view=view: self.run(work.format(view)) for name, view in views.items()},
                               self.chosen.rounds, self.say)
            for name, found in seconds.items():
                rows[name] += [report.duration(found[0]), median(found[1:] or found)]
        end()
        heads = [text for title, _ in works for text in (f"{title}, first", "again")]
        return ["### 20,000 texts of some 2 KiB in 100 folders", "", *table(["", *heads], list(rows.values()))]

    def database(self):
        def make(folder):
            with contextlib.closing(sqlite3.connect(folder / "data.db")) as base:
                base.execute("create table t (id integer primary key, a int, b text)")
                base.executemany("insert into t values (?, ?, ?)",
                                 ((n, n * 7919 % 10007, f"row {n:08d} " * 4) for n in range(1_000_000)))
                base.commit()
        views, end = self.views("base", make)

        def keys(view):
            with contextlib.closing(sqlite3.connect(f"file:{view}/data.db?mode=ro&immutable=1", uri=True)) as base:
                place = random.Random(4)
                for _ in range(5000):
                    base.execute("select b from t where id = ?", (place.randrange(1_000_000),)).fetchone()

        def scan(view):
            with contextlib.closing(sqlite3.connect(f"file:{view}/data.db?mode=ro&immutable=1", uri=True)) as base:
                base.execute("select sum(a) from t").fetchone()

        found = [in_turns({name: lambda view=view: work(view) for name, view in views.items()}, self.chosen.rounds,
                          self.say, lambda: shell("sync; echo 1 >/proc/sys/vm/drop_caches")) for work in (keys, scan)]
        end()
        return ["### SQLite: a table with a million rows", "", "Nothing is in the page cache.", "",
                *table(["", "5,000 rows by their keys", "the sum of a column"],
                       [[name, *(median(seconds[name]) for seconds in found)] for name in views])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--bytes", type=int, default=5_000_000_000)
    parser.add_argument("--large", type=int, default=2 << 30)
    parser.add_argument("--names", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", default=str(ROOT / ".build"))
    parser.add_argument("--output", default=str(ROOT / "Benchmarks/FOLDERS.md"))
    parser.add_argument("--only", action="append")
    chosen = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    parts = []
    for name in ("pack", "names", "sequential", "random", "tree", "database"):
        if chosen.only and name not in chosen.only:
            continue
        with contextlib.ExitStack() as stack:
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="folders-", dir=chosen.folder)))
            bench = Bench(chosen, folder, stack)
            bench.say(name)
            parts += getattr(bench, name)()
    lines = ["| | |", "|---|---|", f"| machine | {report.machine()} |", f"| measured | {state.measured()} |",
             f"| rounds | {chosen.rounds} |", f"| not measured | {', '.join(bench.missing) or 'nothing'} |"]
    head = pathlib.Path(__file__).with_name("head.md").read_text().rstrip()
    pathlib.Path(chosen.output).write_text("\n".join([head, "", *lines, "", *parts]).rstrip() + "\n")


main()
