#!/usr/bin/env python3
"""Measures what hostile containers cost: at each cap of the format, one past it, and how the time grows with the size.

Writes RESOURCES.md and growth.svg, and fails where a result is another than it must be or a bound is exceeded.
`make resources` builds the command first. Results are kept in .build/benchmarks/resources.json, so that --only measures
some anew and leaves the others.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "process"))

import page  # noqa: E402
from cases import OPENS, cases  # noqa: E402
from containers import KEY, PASSPHRASE  # noqa: E402
from growth import MOST_SLOPE, all_series, slope  # noqa: E402
from keys import write_key  # noqa: E402
from measure import MIB, Sample, memory_floor, spawner  # noqa: E402
from store import load, measured, save  # noqa: E402

JOBS = ["--json", "--jobs", "2"]


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vaultfile", default=os.path.join(ROOT, ".build", "release", "vaultfile"))
    parser.add_argument("--folder", default=os.path.join(ROOT, ".build", "benchmarks"),
                        help="for the containers, which are removed again: 2 GB")
    parser.add_argument("--only", action="append", default=[], help="cases and series whose name has this in it")
    parser.add_argument("--output", default=os.path.dirname(HERE), help="a folder for RESOURCES.md and growth.svg")
    return parser.parse_args()


class Command:
    """vaultfile, and what it needs."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.said = [os.path.join(folder, name) for name in ("output", "errors")]
        self.key = write_key(os.path.join(folder, "key"), KEY)
        self.passphrase = os.path.join(folder, "passphrase")
        with open(self.passphrase, "wb") as file:
            file.write(PASSPHRASE + b"\n")
        os.chmod(self.passphrase, 0o600)

    def stages(self, verb, path, keys, more):
        names = {"KEY": self.key, "PASSPHRASE": self.passphrase}
        given = [names.get(each, each).replace("INPUT", path) for each in keys]
        words = [*JOBS, *given, *more]
        program = ["env", f"VAULTFILE_KEYRING={path}.ring", self.program]
        if verb == "stream":
            return [["cat", path], [*program, "decrypt", *words]]
        if verb == "recover":
            return [[*program, "recover", "--no-sync", *words, "-o", "-", path]]
        return [[*program, verb, *words, *(["-o", "-"] if verb == "decrypt" else []), path]]

    def run(self, verb, path, keys, more=()):
        """What came of it, and what it cost."""
        output, errors = self.said
        if verb in ("decrypt", "stream", "recover"):
            output = os.devnull
        seconds, results = spawner.run(self.stages(verb, path, keys, more), os.devnull, output, errors)
        status, cpu, memory = results[-1]
        return self.result(status, output, errors), Sample(seconds, cpu, memory)

    def result(self, status, *said):
        if status == 0:
            return OPENS
        codes = []
        for path in said:
            with open(path, encoding="utf-8", errors="replace") as file:
                codes += [json.loads(line).get("error") for line in file if line.startswith("{")]
        return next((code for code in codes if code), f"status {status}")


def measure_case(case, command, folder):
    """One row: what each verb says, and the most that any of them costs."""
    path = os.path.join(folder, "container")
    case.make(path)
    row = {"what": case.what, "rule": case.rule, "value": case.value, "verbs": {}, "wrong": [],
           "bytes": os.path.getsize(path), "memory bound": case.memory, "seconds bound": case.seconds}
    for verb in case.verbs:
        result, sample = command.run(verb, path, case.keys, case.more)
        row["verbs"][verb] = {"result": result, "cpu": sample.cpu, "memory": sample.memory}
        if result != case.expected(verb):
            row["wrong"].append(f"{verb}: {result} instead of {case.expected(verb)}")
    row["cpu"], row["memory"] = (max(each[what] for each in row["verbs"].values()) for what in ("cpu", "memory"))
    if row["cpu"] > case.seconds:
        row["wrong"].append(f"{row['cpu']:.1f} s of at most {case.seconds}")
    if row["memory"] > case.memory:
        row["wrong"].append(f"{row['memory'] / MIB:.1f} MiB of at most {case.memory / MIB:.1f}")
    return row


def measure_series(series, command, folder):
    """One series: the time for each size, the least of some runs."""
    path = os.path.join(folder, "container")
    row = {"what": series.name, "verb": series.verb, "unit": series.unit, "points": [], "wrong": [], "memory": 0,
           "memory bound": series.memory}
    for size in series.sizes:
        series.make(path, size)
        samples = []
        for _ in range(series.runs):
            result, sample = command.run(series.verb, path, series.keys, series.more(size))
            samples.append(sample)
        if result != series.result:
            row["wrong"].append(f"{size}: {result} instead of {series.result}")
        row["points"].append((size, min(sample.cpu for sample in samples)))
        row["memory"] = max(row["memory"], max(sample.memory for sample in samples))
    row["slope"] = slope(row["points"])
    if row["slope"] is not None and row["slope"] > MOST_SLOPE:
        row["wrong"].append(f"grows as the size to the power {row['slope']:.2f}")
    if row["memory"] > series.memory:
        row["wrong"].append(f"{row['memory'] / MIB:.1f} MiB of at most {series.memory / MIB:.1f}")
    return row


def main():
    chosen = options()
    if not os.access(chosen.vaultfile, os.X_OK):
        sys.exit(f"vaultfile is not there: {chosen.vaultfile}. Run this by `make resources`.")
    os.makedirs(chosen.folder, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="vaultfile-resources-", dir=chosen.folder)
    store = os.path.join(ROOT, ".build", "benchmarks", "resources.json")
    found = load(store, {"cases": [], "series": []})
    found.update(floor=memory_floor(), measured=measured())
    wrong = 0
    try:
        command = Command(chosen.vaultfile, folder)
        for kind, every, measure in [("cases", cases(), measure_case), ("series", all_series(), measure_series)]:
            stored = {row["name"]: row for row in found[kind]}
            for each in every:
                if chosen.only and not any(word in each.title for word in chosen.only):
                    continue
                place = tempfile.mkdtemp(dir=folder)
                row = stored[each.title] = {"name": each.title, **measure(each, command, place)}
                shutil.rmtree(place)
                wrong += len(row["wrong"])
                found[kind] = [stored[each.title] for each in every if each.title in stored]
                save(found, store)
                print(each.title, *row["wrong"], sep="; ", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder)
    if found["cases"] and found["series"]:
        page.write(chosen.output, found)
    else:
        print("no page is written before cases and series have been measured", file=sys.stderr)
    if wrong:
        sys.exit(f"{wrong} wrong")


if __name__ == "__main__":
    main()
