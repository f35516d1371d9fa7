#!/usr/bin/env python3
"""Measures whether the time of a refusal reveals why a container was refused, and writes TIMING.md.

    run.py TOOL [--rounds N] [--processes N]

TOOL is VaultTiming, built for release. The Python reference makes the containers.
"""

import argparse
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "Spec", "reference"))
sys.path.insert(0, os.path.join(HERE, "..", "process"))

import header  # noqa: E402
import writer  # noqa: E402
from report import machine, paragraph  # noqa: E402

# A difference beyond this counts as real, as in dudect; controls with equal work stay far below it.
LIMIT = 4.5
# The slowest tenth of the times of two cases is interruptions, which say nothing about either.
KEPT = 0.9
CAPACITY = 4096
KEYS = [bytes([number] * 32) for number in range(1, 4)]
CONTEXT, OTHER_CONTEXT = b"a context", b"b context"
# Two more blocks of BLAKE2b for each slot that is tried: about 200 ns.
LONGER_CONTEXT = CONTEXT + bytes(ord("x") for _ in range(256))
# In this many groups, the first ones, all cases should take the same time.
ALIKE = 2


def container(slots):
    return writer.container_bytes(
        b"contents", slots, context=CONTEXT, capacity=CAPACITY, log2_chunk=12, weak_stretching=True)


def changed(data, *places):
    """Flips bits of the slots in both header copies, and corrects the checksums."""
    copies = []
    for start in (0, len(data) - 32 - CAPACITY):
        copy = bytearray(data[start:start + CAPACITY])
        for place in places:
            copy[place] ^= 1
        copies.append(header.checked_again(bytes(copy)))
    return copies[0] + data[CAPACITY:len(data) - 32 - CAPACITY] + copies[1] + data[-32:]


# Offsets in a copy: the end of symmetric slot number `index`, and the end of a single passphrase slot.
def symmetric_end(index):
    return 76 + 92 * (index + 1)


PASSPHRASE_END = 76 + 104


def cases():
    """Groups of cases: title, explanation, cases. The first case of a group is the one that the others are compared
    with. A case: name, container, keys, passphrases, context, error."""
    one = container([writer.SymmetricSlot(KEYS[0])])
    word = container([writer.PassphraseSlot(b"right", 1, 8)])
    two = container([writer.SymmetricSlot(KEYS[0]), writer.SymmetricSlot(KEYS[1])])
    damaged = changed(one, symmetric_end(0) - 16)
    both = changed(two, symmetric_end(0) - 1, symmetric_end(1) - 1)
    wrong = "wrongKey"
    return [
        ("A symmetric slot", "One symmetric slot. All cases should take the same time.", [
            ("damaged slot", damaged, KEYS[:1], [], CONTEXT, wrong),
            ("damaged slot, once more", damaged, KEYS[:1], [], CONTEXT, wrong),
            ("damaged slot, the tag's last byte", changed(one, symmetric_end(0) - 1), KEYS[:1], [], CONTEXT, wrong),
            ("damaged slot, the wrapped key", changed(one, symmetric_end(0) - 48), KEYS[:1], [], CONTEXT, wrong),
            ("right key, wrong context", one, KEYS[:1], [], OTHER_CONTEXT, wrong),
            ("no key for the slot", one, KEYS[2:], [], CONTEXT, wrong),
        ]),
        ("A passphrase slot", "One passphrase slot, with as little stretching as a reader allows, so that the "
         "stretching hides nothing. All cases should take the same time.", [
             ("wrong passphrase", word, [], [b"wrong"], CONTEXT, wrong),
             ("wrong passphrase, once more", word, [], [b"wrong"], CONTEXT, wrong),
             ("right passphrase, damaged slot", changed(word, PASSPHRASE_END - 1), [], [b"right"], CONTEXT, wrong),
             ("right passphrase, wrong context", word, [], [b"right"], OTHER_CONTEXT, wrong),
         ]),
        ("A little more work", "One symmetric slot. This shows how small a difference the measurement can see: a "
         "longer context, which the caller chooses.", [
             ("damaged slot", damaged, KEYS[:1], [], CONTEXT, wrong),
             ("damaged slot, 256 bytes more of context", damaged, KEYS[:1], [], LONGER_CONTEXT, wrong),
         ]),
        ("How many slots are tried", "Two damaged symmetric slots. The Spec says that this number is visible. This "
         "shows that the measurement can see a difference.", [
             ("a key for one of them", both, KEYS[:1], [], CONTEXT, wrong),
             ("keys for both", both, KEYS[:2], [], CONTEXT, wrong),
             ("a container that opens", two, KEYS[:1], [], CONTEXT, ""),
         ]),
    ]


def write(folder, name, case):
    _, data, keys, passphrases, context, error = case
    contents = {
        "vault": data, "context": context, "error": error.encode(),
        "keys": "".join(key.hex() + "\n" for key in keys).encode(),
        "passphrases": "".join(word.hex() + "\n" for word in passphrases).encode()}
    for suffix, what in contents.items():
        with open(os.path.join(folder, f"{name}.{suffix}"), "wb") as file:
            file.write(what)


def kept(first, second):
    """Two samples without the slowest times of both together."""
    cut = sorted(first + second)[int(KEPT * (len(first) + len(second))) - 1]
    return [time for time in first if time <= cut], [time for time in second if time <= cut]


def welch(first, second):
    """The difference of the means of two samples, and its standard error by Welch."""
    first, second = kept(first, second)
    difference = statistics.fmean(second) - statistics.fmean(first)
    spread = statistics.variance(first) / len(first) + statistics.variance(second) / len(second)
    return difference, math.sqrt(spread)


def of_processes(first, second):
    """The mean of the differences in the single processes, and its standard error."""
    differences = [welch(one, other)[0] for one, other in zip(first, second)]
    return statistics.fmean(differences), statistics.stdev(differences) / math.sqrt(len(differences))


def quantile(times, part):
    return sorted(times)[int(part * (len(times) - 1))]


HEAD = """Written by `make timing`; do not edit. It tries to open containers that must be refused, from memory. In
each round every case runs once, in a random order. There are several processes, and in each the cases are at other
addresses. The tables compare each case with the first case of its table, without the slowest {cut} % of both
together, which are interruptions. The first t is Welch's, of all times; it also shows by how much one place in memory
is slower than another. The second t is Student's, of the differences in the single processes: it shows whether a
difference recurs. If both are beyond {limit}, as in dudect, the difference counts as real. The last column is the
least difference that would have counted. The case “once more” repeats the first case: it shows the values of no
difference."""


def compared(group, times):
    """The rows of a group's table, the cases that differ from the first, and the least difference that would have
    counted in each case."""
    rows, differences, least = [], [], []
    first = [time for sample in times[0] for time in sample]
    for index, case in enumerate(group):
        sample = [time for part in times[index] for time in part]
        cells = [case[0], len(sample), round(statistics.fmean(kept(first, sample)[1])),
                 *(quantile(sample, part) for part in (0.1, 0.5, 0.9))]
        if index == 0:
            cells += ["", "", "", ""]
        else:
            difference, error = welch(first, sample)
            again, error_again = of_processes(times[0], times[index])
            least.append(LIMIT * max(error, error_again))
            t, t_again = difference / error, again / error_again
            cells += [f"{difference:+.0f}", f"{t:+.1f}", f"{t_again:+.1f}", round(least[-1])]
            if min(abs(t), abs(t_again)) > LIMIT:
                differences.append((case[0], difference, statistics.fmean(kept(first, sample)[0])))
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return rows, differences, max(least)


def conclusion(differ, least):
    """What the measurement says about the groups whose cases should take the same time."""
    if any(differ[:ALIKE]):
        return "This measurement tells apart cases that should take the same time: see above."
    if not differ[ALIKE]:
        return ("This measurement tells no such cases apart. But it does not see a little more work either, so it "
                "proves nothing.")
    told = " and ".join(f"{ns:.0f} ns" for ns in least[:ALIKE])
    return ("This measurement tells no cases apart that should take the same time. In the first two tables, a "
            f"difference of {told} would have counted.")


def report(groups, measured, rounds):
    lines = [
        "# Does the time of a refusal tell its reason?", "",
        paragraph(HEAD.format(cut=round(100 - 100 * KEPT), limit=LIMIT)), "",
        paragraph(f"{len(measured[0][0])} processes of {rounds} rounds; {machine()}. Times are in nanoseconds."), ""]
    found, differ, least = [], [], []
    for (title, about, group), times in zip(groups, measured):
        rows, differences, could = compared(group, times)
        differ.append(differences)
        least.append(could)
        lines += [f"## {title}", "", paragraph(about), "",
                  "| case | n | mean | 10th percentile | median | 90th | difference of means | t of all "
                  "| t of processes | least visible |",
                  "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|", *rows, ""]
        found += [f"- *{title}*: *{case}* takes {difference:+.0f} ns, {100 * difference / mean:+.2f} %."
                  for case, difference, mean in differences]
    lines += ["## What was found", "", *(found or ["No difference."]), ""]
    with open(os.path.join(HERE, "meaning.md"), encoding="utf-8") as file:
        meaning = file.read().replace("CONCLUSION", conclusion(differ, least))
    return "\n".join(lines) + "\n" + "\n\n".join(
        part if part.startswith(("#", "|", "- ")) else paragraph(part) for part in meaning.strip().split("\n\n")) + "\n"


def measure(tool, rounds, folder, groups):
    """Runs one process for each group. Returns a list of times for each case."""
    measured = []
    for number, (_, _, group) in enumerate(groups):
        order = random.sample(range(len(group)), len(group))
        output = subprocess.run(
            [tool, str(rounds), folder, *(f"{number}-{index}" for index in order)], check=True, capture_output=True,
            text=True).stdout
        times = [[] for _ in group]
        for line in output.splitlines():
            place, time = line.split()
            times[order[int(place)]].append(int(time))
        measured.append(times)
    return measured


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("tool")
    arguments.add_argument("--rounds", type=int, default=5000)
    arguments.add_argument("--processes", type=int, default=20)
    given = arguments.parse_args()
    groups = cases()
    measured = [[[] for _ in group] for _, _, group in groups]
    with tempfile.TemporaryDirectory() as folder:
        for number, (_, _, group) in enumerate(groups):
            for index, case in enumerate(group):
                write(folder, f"{number}-{index}", case)
        for _ in range(given.processes):
            for total, times in zip(measured, measure(given.tool, given.rounds, folder, groups)):
                for sample, part in zip(total, times):
                    sample.append(part)
    text = report(groups, measured, given.rounds)
    with open(os.path.join(HERE, "..", "TIMING.md"), "w", encoding="utf-8") as file:
        file.write(text)
    print(text)


if __name__ == "__main__":
    main()
