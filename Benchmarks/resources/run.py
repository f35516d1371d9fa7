#!/usr/bin/env python3
"""Measures what hostile containers cost: at each cap of the format, one past it, and how the time grows with the size.

Writes RESOURCES.md and growth.svg, and fails if a result is wrong or a bound is exceeded. With --only it writes no
file. `make resources` builds the command first.
"""

import argparse
import itertools
import json
import math
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "process"))

import page  # noqa: E402
from cases import OPENS, THREADS, cases  # noqa: E402
from containers import KEY, PASSPHRASE, box, digest_of_zeros, write  # noqa: E402
from growth import all_series, problems, slope  # noqa: E402
from keys import write_key  # noqa: E402
from measure import MIB, Sample, memory_floor, spawner  # noqa: E402
from store import measured  # noqa: E402

# The folder of the plugin for tests, age-plugin-stand.
PLUGINS = os.path.join(ROOT, "Tests", "plugins")
# If a container hangs a reader or takes all memory, these limits end the reader, not this script.
SECONDS, ADDRESSES = 300, 16 << 30
HANDS_OUT = ("decrypt", "stream", "recover")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vaultfile", default=os.path.join(ROOT, ".build", "release", "vaultfile"))
    parser.add_argument("--folder", default=os.path.join(ROOT, ".build", "benchmarks"),
                        help="a folder for the containers, which need 3 GB; they are removed afterwards")
    parser.add_argument("--only", action="append", default=[],
                        help="only cases and series with this in their name, on standard error")
    parser.add_argument("--output", default=os.path.dirname(HERE), help="a folder for RESOURCES.md and growth.svg")
    return parser.parse_args()


class Command:
    """The command vaultfile, with its keys."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.said = [os.path.join(folder, name) for name in ("output", "errors")]
        self.key = write_key(os.path.join(folder, "key"), KEY)
        self.passphrase = os.path.join(folder, "passphrase")
        with open(self.passphrase, "wb") as file:
            file.write(PASSPHRASE + b"\n")
        os.chmod(self.passphrase, 0o600)

    def stages(self, verb, path, keys, more, threads):
        names = {"KEY": self.key, "PASSPHRASE": self.passphrase}
        given = [names.get(each, each).replace("INPUT", path) for each in keys]
        words = ["--json", "--jobs", str(threads), *given, *more]
        program = ["env", f"PATH={PLUGINS}:{os.environ['PATH']}", f"VAULTFILE_KEYRING={path}.ring",
                   "VAULTFILE_UNLOCK=unprotected", "timeout", "--signal=KILL", str(SECONDS), "prlimit", f"--as={ADDRESSES}", self.program]
        if verb == "stream":
            return [["cat", path], [*program, "decrypt", *words], ["sha256sum"]]
        if verb == "recover":
            return [[*program, "recover", "--no-sync", *words, "-o", "-", path], ["sha256sum"]]
        if verb == "decrypt":
            return [[*program, "decrypt", *words, "-o", "-", path], ["sha256sum"]]
        return [[*program, verb, *words, path]]

    def run(self, verb, path, keys, more=(), threads=THREADS[-1]):
        """Runs a verb. Returns its result, the SHA-256 of its output, and its cost."""
        output, errors = self.said
        seconds, results = spawner.run(self.stages(verb, path, keys, more, threads), os.devnull, output, errors)
        status, cpu, memory = results[-2 if verb in HANDS_OUT else -1]
        digest = None
        if verb in HANDS_OUT:
            with open(output, encoding="ascii") as file:
                digest = file.read().split()[0]
        return self.result(status, output, errors), digest, Sample(seconds, cpu, memory)

    def result(self, status, *said):
        if status == 0:
            return OPENS
        codes = []
        for path in said:
            with open(path, encoding="utf-8", errors="replace") as file:
                codes += [json.loads(line).get("error") for line in file if line.startswith("{")]
        return next((code for code in codes if code), f"status {status}")


def base(command, folder):
    """The memory that the process takes for a small container, with its libraries and threads: for each verb and number
    of threads the highest value of some runs."""
    path = os.path.join(folder, "base")
    write(path, box())
    return {(verb, threads): max(
        command.run(verb, path, ["--key-file", "KEY"], threads=threads)[2].memory for _ in range(5))
        for verb in (*HANDS_OUT, "verify", "inspect") for threads in THREADS}


def too_much(verb, threads, memory, bound):
    if memory <= bound:
        return []
    return [f"{verb} by {threads}: {memory / MIB:.1f} MiB of at most {bound / MIB:.1f}"]


def measure_case(case, command, folder, bases):
    """One row: the result of each verb, and the highest cost of any of them."""
    path = os.path.join(folder, "container")
    plaintext = case.make(path)
    row = {"what": case.what, "rule": case.rule, "value": case.value, "verbs": {}, "wrong": [],
           "bytes": os.path.getsize(path), "seconds bound": case.seconds,
           "memory": dict.fromkeys(THREADS, 0),
           "memory bound": {threads: case.memory(threads) + min(bases[verb, threads] for verb in case.verbs)
                            for threads in THREADS}}
    for verb, threads in itertools.product(case.verbs, THREADS):
        result, digest, sample = command.run(verb, path, case.keys, case.more, threads)
        row["verbs"][verb] = {"result": result, "cpu": sample.cpu}
        row["memory"][threads] = max(row["memory"][threads], sample.memory)
        if result != case.expected(verb):
            row["wrong"].append(f"{verb}: {result} instead of {case.expected(verb)}")
        elif result == OPENS and digest not in (None, plaintext):
            row["wrong"].append(f"{verb}: another plaintext")
        row["wrong"] += too_much(verb, threads, sample.memory, case.memory(threads) + bases[verb, threads])
    row["cpu"] = max(each["cpu"] for each in row["verbs"].values())
    if row["cpu"] > case.seconds:
        row["wrong"].append(f"{row['cpu']:.1f} s of at most {case.seconds}")
    return row


def measure_series(series, command, folder, bases):
    """One series: the time for each size, the least of some rounds. The sizes take turns, so that a slow moment of the
    machine affects all of them alike. With fewer threads than the most, only the largest size runs, for its memory."""
    row = {"what": series.name, "verb": series.verb, "unit": series.unit, "wrong": [],
           "memory": dict.fromkeys(THREADS, 0)}
    paths = {size: os.path.join(folder, f"container-{size}") for size in series.sizes}
    plaintexts = {size: series.zeros and digest_of_zeros(series.zeros(size)) for size in series.sizes}
    seconds = dict.fromkeys(series.sizes, math.inf)
    for size, path in paths.items():
        series.make(path, size)

    def run(size, threads):
        result, digest, sample = command.run(series.verb, paths[size], series.keys, series.more(size), threads)
        row["memory"][threads] = max(row["memory"][threads], sample.memory)
        if result != series.result:
            row["wrong"].append(f"{size}: {result} instead of {series.result}")
        if plaintexts[size] and digest not in (None, plaintexts[size]):
            row["wrong"].append(f"{size}: another plaintext")
        return sample.cpu

    for threads in THREADS[:-1]:
        run(series.sizes[-1], threads)
    for _, size in itertools.product(range(series.runs), series.sizes):
        seconds[size] = min(seconds[size], run(size, THREADS[-1]))
    row["points"] = list(seconds.items())
    row["slope"] = slope(row["points"])
    row["wrong"] += problems(row["points"])
    for threads, memory in row["memory"].items():
        row["wrong"] += too_much(series.verb, threads, memory, series.memory(threads) + bases[series.verb, threads])
    return row


def main():
    chosen = options()
    if not os.access(chosen.vaultfile, os.X_OK):
        sys.exit(f"{chosen.vaultfile} is missing. Use `make resources`, which builds it first.")
    os.makedirs(chosen.folder, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="vaultfile-resources-", dir=chosen.folder)
    found = {"cases": [], "series": [], "floor": memory_floor(), "measured": measured()}
    try:
        command = Command(chosen.vaultfile, folder)
        found["base"] = base(command, folder)
        for kind, every, measure in [("cases", cases(), measure_case), ("series", all_series(), measure_series)]:
            for each in every:
                if chosen.only and not any(word in each.title for word in chosen.only):
                    continue
                place = tempfile.mkdtemp(dir=folder)
                row = measure(each, command, place, found["base"])
                shutil.rmtree(place)
                found[kind].append(row)
                cost = " and ".join(f"{memory / MIB:.1f}" for memory in row["memory"].values()) + " MiB"
                print(each.title, cost, *row["wrong"], sep="; ", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder)
    if not found["cases"] + found["series"]:
        sys.exit("no case or series has such a name")
    if not chosen.only:
        page.write(chosen.output, found)
    wrong = sum(len(row["wrong"]) for row in found["cases"] + found["series"])
    if wrong:
        sys.exit(f"{wrong} wrong")


if __name__ == "__main__":
    main()
