#!/usr/bin/env python3
"""Deletes or inverts each check of the reading path and each step of the writing path, and reports the changes that no
vector and no test notices.

    Tests/mutation/mutants.py              runs all mutants
    Tests/mutation/mutants.py --list       lists them
    Tests/mutation/mutants.py --check      tests that they are found; needs no build
    Tests/mutation/mutants.py --again      runs only those that survived the last run, after a change of tests
    Tests/mutation/mutants.py --only TEXT  runs only those in files whose path matches the regular expression TEXT, or
                                           those of a group: reading, writers, files, order, owners
    Tests/mutation/mutants.py --patience 9 leaves out tests that take more than 9 seconds

checks.py and steps.py find them, and switches.py makes each switchable in a copy of the tree, which is built once.
Each test then runs alone, to record which checks it reaches. For each mutant, the tests that reach it run until the
first one fails: vectors first, and the fastest first. A mutant that no test reaches survives. A crash and an endless
run count as caught.

A check has a comment `// mutant: why` if no test can notice its loss; it counts as explained. A check whose mutants are
all caught must not have one. The exit status is 0 if every mutant is caught or explained and no test fails by itself.

The copy and the build are in .build/mutants (about 1 GB). With two processors a run takes about two hours.
"""

import argparse
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import check
import checks
import steps
import tree
from find import find

ROOT = Path(__file__).resolve().parent.parent.parent
WORK = ROOT / ".build/mutants"
TREE = WORK / "tree"
MODULES = (
    "VectorTests", "VaultFormatTests", "VaultStreamTests", "VaultCryptoTests", "VaultFileTests", "VaultArchiveTests",
    "VaultMountTests")
# The files that judge untrusted bytes. A regular expression chooses some of their checks; an empty one means all.
FILES = {
    "VaultCrypto/GuardedBuffer.swift": "", "VaultCrypto/LibCrypto.swift": r"CipherFinal|run\(",
    "VaultCrypto/RecordEngine.swift": r"isAuthentic|status", "VaultCrypto/XChaCha20Poly1305.swift": "",
    "VaultCrypto/X25519.swift": "",
    "VaultFormat/*": r"^(?!left\.bytes < )", "VaultTar/*": "",
    "VaultStream/Reading/ContainerOpening.swift": "", "VaultStream/Reading/StreamRules.swift": "",
    "VaultStream/Reading/StreamOpening.swift": "", "VaultStream/Reading/VaultReader.swift": "",
    "VaultStream/Slots/*": "", "VaultStream/Keys/*": "", "VaultStream/Packing/BlockUnpacker.swift": "",
    "VaultDeflate/Inflater.swift": "", "VaultStream/Packing/ItemWalk.swift": "",
    "VaultStream/Packing/StreamUnpacker.swift": "", "VaultStream/Records/*": "",
    "VaultStream/Recovery/*": r"^(?!cut\(\))",
    "VaultStream/Rotation/*": "", "VaultFile/Reading/SeekableVaultReader.swift": "",
    "VaultFile/Reading/ContainerEnds+Reading.swift": "",
    "VaultFile/Reading/Inspection.swift": "", "VaultFile/Packing/*": "", "VaultFile/Recovery/*": "",
    "VaultFile/Rotation/EndRepair.swift": "", "VaultFile/Rotation/HeaderUpdate.swift": "",
    "VaultFile/Files/LockedFile.swift": r"^there.identity", "VaultFile/Rotation/Reencrypt.swift": "",
    "VaultFile/Pipeline/OpeningWorker.swift": "", "VaultFile/Pipeline/RecordPiece.swift": r"^(?!!records)",
    "VaultFile/Pipeline/RecordFeed.swift": "", "VaultFile/Pipeline/StreamedRecords.swift": r"^(?!stream\.holds)", "VaultFile/Pipeline/ItemFeed.swift": "^if ",
    "VaultFile/Pipeline/Unpacking.swift": r"^(?!!held)", "VaultFile/Keyring/Keyring.swift": "",
    "VaultFile/Keyring/GuardedContainers.swift": "", "VaultFile/Keyring/UnlockKey.swift": "",
    "VaultFile/Plugins/PluginConversation.swift": "",
    "VaultArchive/Reading/*": "", "VaultArchive/Unpacking/*": "", "VaultMount/Views/*": ""}

# The files that make containers and files. All their steps are chosen, or those that a regular expression matches.
WRITES = {
    "VaultCrypto/GuardedBuffer.swift": r"[rR]andom|^fill", "VaultStream/Keys/Randomness.swift": "",
    "VaultStream/Keys/Secrets.swift": "", "VaultStream/Slots/*": r"[rR]andom", "VaultStream/Writing/*": "",
    "VaultStream/Packing/BlockPacker.swift": "", "VaultStream/Packing/StreamPacker.swift": "",
    "VaultStream/Packing/ItemRow.swift": "", "VaultStream/Rotation/HeaderRotation.swift": "",
    "VaultFile/Pipeline/Sealing.swift": "", "VaultFile/Pipeline/PackedSealing.swift": "",
    "VaultFile/Pipeline/Output.swift": "", "VaultFile/Pipeline/ChunkInput.swift": "", "VaultFile/Rotation/*": "",
    "VaultFile/Files/*": "", "VaultFile/Reading/ContainerEnds+Reading.swift": "",
    "VaultFile/Keyring/Leftover.swift": "", "VaultFile/Keyring/Keyring+Changes.swift": "",
    "VaultFile/Keyring/SecretPair+Changing.swift": "",
    "VaultFile/Keyring/GuardedContainers.swift": ""}
GROUPS = ("reading", "writers", "files", "order", "owners")
IS_ORDER = re.compile(r"[sS]ync(hronize(All)?|Folder)?\(|calls\.sync\b")
IS_OWNER = re.compile(r"\bsetOwner\b|\bowner\b|\bgroup\b|[pP]ermissions|isPrivate|userID")


def group_of(point):
    """What a mutant is about."""
    if not point.writes:
        return "reading"
    if point.kind in ("swap", "late") or point.kind == "drop" and IS_ORDER.search(point.text):
        return "order"
    if IS_OWNER.search(point.text):
        return "owners"
    return "files" if re.match(r"Sources/VaultFile/(Files|Keyring)/", point.path) else "writers"


def sources():
    """The sources with their chosen checks and steps, numbered. Entries of FILES, WRITES, MADE_UP or LATE that match
    nothing are errors: otherwise a renamed file would silently lose its checks."""
    found, number, bindings, late = {}, 0, set(), set()
    reading, writing = chosen_paths("FILES", FILES), chosen_paths("WRITES", WRITES)
    chosen = {pattern: [0, 0] for pattern in [*(("FILES", each) for each in FILES), *(("WRITES", each) for each in WRITES)]}
    for path in [*reading, *(each for each in writing if each not in reading)]:
        source = find(ROOT, path, path in writing)
        for point in source.points:
            point.number = number
            number += 1
            if point.kind == "binding":
                bindings.add((Path(path).name, point.text))
            if point.kind == "late":
                late.add(Path(path).name)
            # A check in a file that only writes is of the writing path.
            point.writes |= path not in reading
            name, (pattern, only) = ("WRITES", writing[path]) if point.writes else ("FILES", reading[path])
            is_wanted = re.search(only, point.text) is not None
            (source.wanted if is_wanted else source.unwanted).append(point)
            chosen[name, pattern][not is_wanted] += 1
        source.unwanted = {point.number for point in source.unwanted}
        found[path] = source
    for (name, pattern), (wanted, unwanted) in chosen.items():
        only = (FILES if name == "FILES" else WRITES)[pattern]
        if not wanted or only and not unwanted:
            sys.exit(f"{name}: in {pattern}, {only!r} chooses {wanted} checks and leaves {unwanted}; neither may be 0")
    if gone := {name for name, _ in steps.LATE} - late:
        sys.exit(f"LATE names what does not exist in {sorted(gone)}")
    if gone := checks.MADE_UP.keys() - bindings:
        sys.exit(f"MADE_UP names bindings that do not exist: {sorted(gone)}")
    assert number < 1 << 16
    return list(found.values())


def chosen_paths(name, table):
    """Maps each path to its pattern and its regular expression."""
    paths = {}
    for pattern, only in table.items():
        matching = sorted((ROOT / "Sources").glob(pattern))
        if not matching:
            sys.exit(f"{name} names {pattern}, but there is no such file")
        paths |= {str(path.relative_to(ROOT)): (pattern, only) for path in matching}
    return paths


def mutants(found):
    """Gives (point, value, name) for every mutant."""
    for source in found:
        for point in source.wanted:
            for value, name in point.changes:
                yield point, value, name


class Tests:
    """The built tests, and the checks that each of them reaches."""

    def __init__(self, options):
        (self.binary,) = (WORK / "build" / options.configuration).glob("*PackageTests.xctest")
        listed = subprocess.run([self.binary, "--testing-library", "swift-testing", "--list-tests"], cwd=TREE,
                                capture_output=True, text=True, check=True).stdout.split("\n")
        self.names = [name for name in listed if name.split(".")[0] in MODULES and re.search(options.tests, name)]
        self.seconds, self.reached, self.failing = {}, {}, []
        self.children, self.lock, self.stopped = set(), threading.Lock(), False
        self.patience, self.tests_first, self.is_brief = options.patience, options.tests_first, options.brief

    def run(self, names, limit, environment):
        """Runs tests. Returns None if they passed, else the reason."""
        command = ["nice", "-n", "10", "prlimit", f"--as={12 << 30}", str(self.binary), "--testing-library",
                   "swift-testing"]
        for name in names:
            command += ["--filter", "^" + re.escape(name) + "(/|$)"]
        with self.lock:
            if self.stopped:
                return "stopped"
            child = subprocess.Popen(
                command, cwd=TREE, env={**os.environ, **environment}, restore_signals=False, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, start_new_session=True)
            self.children.add(child)
        late = threading.Event()
        timer = threading.Timer(limit, lambda: (late.set(), kill(child)))
        timer.start()
        failed, last = None, b""
        try:
            for line in child.stdout:
                last = line.strip() or last
                if b"recorded an issue" in line:
                    failed = line.decode(errors="replace").strip()
                    break
        finally:
            kill(child)
            status = child.wait()
            with self.lock:
                self.children.remove(child)
            timer.cancel()
            child.stdout.close()
        if failed is None and late.is_set():
            return "without end"
        if failed is None and status != 0:
            return f"ended with {status}: {last.decode(errors='replace')[-100:]}"
        return failed

    def stop(self):
        """Ends all children: they have sessions of their own, so an interrupt does not reach them."""
        with self.lock:
            self.stopped = True
            for child in self.children:
                kill(child)

    def record(self, name):
        path = WORK / "hits" / hashlib.sha256(name.encode()).hexdigest()
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(1 << 16))
        start = time.monotonic()
        failed = self.run([name], 1800, {"VAULTFILE_MUTANT_HITS": str(path)})
        if self.stopped:
            return
        self.seconds[name] = time.monotonic() - start
        if failed:
            print(f"fails without any mutant, left out: {name}: {failed}", flush=True)
            self.failing.append(name)
        else:
            self.reached[name] = {number for number, hit in enumerate(path.read_bytes()) if hit}

    def record_all(self, jobs):
        """Records every test, or uses the records of the same build."""
        path, stamp = WORK / "recorded.json", hashlib.sha256(self.binary.read_bytes()).hexdigest()
        if path.exists():
            known = json.loads(path.read_text())
            if known["stamp"] == stamp:
                self.seconds = known["seconds"]
                self.reached = {name: set(reached) for name, reached in known["reached"].items()}
        new = [name for name in self.names if name not in self.reached]
        try:
            for number, _ in self.parallel(jobs, self.record, new):
                if number % 50 == 0:
                    print(f"{number} tests recorded", flush=True)
        finally:
            save(path, {"stamp": stamp, "seconds": self.seconds, "reached": {
                name: sorted(reached) for name, reached in dict(self.reached).items()}})
        self.names = [name for name in self.names if name in self.reached]

    def parallel(self, jobs, work, items):
        """Numbers from 1 on and results, in the order of the items."""
        pool = ThreadPoolExecutor(jobs)
        try:
            yield from enumerate(pool.map(work, items), 1)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def catching(self, point, environment):
        """What catches a mutant: (the group, what was said), or None."""
        names = sorted(
            (name for name in self.names if point.number in self.reached[name]
             and (self.seconds[name] <= self.patience or name.startswith("VectorTests."))), key=self.seconds.get)
        vectors = [name for name in names if name.startswith("VectorTests.")]
        others = [name for name in names if name not in vectors]
        groups, quick, seconds = [("vectors", vectors)], [], 0
        for name in others:
            # Together as long as that takes no longer than a vector's share.
            seconds += self.seconds[name]
            if quick and seconds > 5:
                groups.append(("tests", quick))
                quick, seconds = [], self.seconds[name]
            quick.append(name)
        groups.append(("tests", quick))
        if self.tests_first:
            groups[:2] = groups[1::-1]
        if self.is_brief:
            del groups[2:]
        for what, group in groups:
            if group:
                limit = 60 + 10 * sum(self.seconds[name] for name in group)
                said = self.run(group, limit, environment)
                if said:
                    return what, said
        return None


def kill(child):
    """With all that it has started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def save(path, what):
    """Whole, or not at all."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(what, indent=0))
    os.replace(new, path)


def report(found, results, left_out):
    """Prints the table, and what survived. Returns how many did that nothing explains."""
    rows, survivors, stale = [], [], []
    for source in found:
        counts, explained = Counter(), {}
        for point, value, what in mutants([source]):
            if point.number in left_out:
                counts["fixed"] += point.inverts is False or what == "deleted"
                continue
            result = results.get(f"{point.number}{value}")
            if result is None and f"{point.number}{value}" not in results:
                continue
            counts["all"] += 1
            if point.why:
                explained.setdefault((point.why, source.path), []).append(result)
            if result:
                counts[result[0]] += 1
            elif point.why:
                counts["explained"] += 1
            else:
                counts["survived"] += 1
                survivors.append((point, what))
        counts["fixed"] += source.bindings
        stale += [(path, why) for (why, path), group in explained.items() if all(group)]
        if counts["all"]:
            rows.append((source.path.removeprefix("Sources/"), counts))
    columns = ("all", "vectors", "tests", "explained", "survived", "fixed")
    total = Counter()
    for _, counts in rows:
        total.update(counts)
    print(f"\n{'':44}" + "".join(f"{column:>10}" for column in columns))
    for name, counts in rows + [("in all", total)]:
        print(f"{name:44}" + "".join(f"{counts[column] or '':>10}" for column in columns))
    caught = total["vectors"] + total["tests"]
    print(f"\n{caught} of {total['all']} mutants caught, {total['vectors']} by vectors and {total['tests']} by tests "
          f"alone; {total['explained']} explained; {total['survived']} survived. "
          f"{total['fixed']} checks bind a value or do not compile without, and cannot be deleted.")
    for point, what in survivors:
        print(f"survived: {point.path}:{point.line}: {what}: {point.text[:100]}")
    for path, why in stale:
        print(f"explained, but caught: {path}: {why}")
    return len(survivors) + len(stale)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--only", metavar="TEXT", default="")
    parser.add_argument("--tests-first", action="store_true", help="the quickest tests before the vectors")
    parser.add_argument("--built", action="store_true", help="take the build that there is, of the same sources")
    parser.add_argument("--brief", action="store_true", help="the vectors and the quickest tests alone")
    parser.add_argument("--patience", metavar="SECONDS", type=float, default=float("inf"),
                        help="leave out tests, but for the vectors, that take longer by themselves")
    parser.add_argument("--tests", metavar="PATTERN", default="", help="only the tests whose names match")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--configuration", default="release")
    options = parser.parse_args()
    found = sources()
    if options.check:
        return check.run()
    wanted = [mutant for mutant in mutants(found)
              if (group_of(mutant[0]) == options.only if options.only in GROUPS
                  else re.search(options.only, mutant[0].path))]
    if options.list:
        for point, _, what in wanted:
            print(f"{point.number:4} {point.path}:{point.line}: {what}: {point.text[:100]}")
        print(f"{len(wanted)} mutants")
        return 0
    WORK.mkdir(parents=True, exist_ok=True)
    left_out = tree.build(ROOT, WORK, found, options)
    tests = Tests(options)
    try:
        return measure(tests, found, wanted, left_out, options)
    finally:
        tests.stop()


def measure(tests, found, wanted, left_out, options):
    """Runs what is wanted; the exit status."""
    print(f"built; {len(tests.names)} tests", flush=True)
    tests.record_all(options.jobs)
    print(f"recorded, {sum(tests.seconds.values()):.0f} s in all", flush=True)
    results_path = WORK / "results.json"
    before = json.loads(results_path.read_text()) if results_path.exists() else {}
    results = {}

    def run(mutant):
        point, value, what = mutant
        return tests.catching(point, {"VAULTFILE_MUTANT": f"{point.number}={value}"})

    wanted = [mutant for mutant in wanted if mutant[0].number not in left_out]
    if options.again:
        for point, value, what in wanted:
            if before.get(f"{what} {point.key}"):
                results[f"{point.number}{value}"] = before[f"{what} {point.key}"]
        wanted = [mutant for mutant in wanted if f"{mutant[0].number}{mutant[1]}" not in results]
    start = time.monotonic()
    try:
        for number, result in tests.parallel(options.jobs, run, wanted):
            point, value, what = wanted[number - 1]
            results[f"{point.number}{value}"] = result
            before[f"{what} {point.key}"] = result
            if result is None:
                print(f"not caught: {point.path}:{point.line}: {what}: {point.text[:80]}", flush=True)
            if number % 50 == 0:
                print(f"{number} of {len(wanted)}, {time.monotonic() - start:.0f} s", flush=True)
                save(results_path, before)
    finally:
        save(results_path, before)
    unexplained = report(found, results, left_out)
    for name in tests.failing:
        print(f"fails without any mutant: {name}")
    show_groups(found, results, left_out)
    return 1 if unexplained or tests.failing else 0


def show_groups(found, results, left_out):
    counts = {group: Counter() for group in GROUPS}
    for point, value, _ in mutants(found):
        if point.number not in left_out and f"{point.number}{value}" in results:
            result = results[f"{point.number}{value}"]
            counts[group_of(point)]["caught" if result else "explained" if point.why else "survived"] += 1
    for group, count in counts.items():
        if count:
            print(f"{group}: {count.total()} mutants, " + ", ".join(f"{value} {name}" for name, value in count.items()))


if __name__ == "__main__":
    sys.exit(main())
