#!/usr/bin/env python3
"""Measures whether the time of a refusal tells why a container was refused, and writes TIMING.md.

    run.py TOOL [--rounds N] [--processes N]

TOOL is VaultTiming, built for release. The containers are made by the Python reference.
"""

import argparse
import math
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "Spec", "reference"))

import header  # noqa: E402
import writer  # noqa: E402

# Beyond this, after dudect, a difference is one; on the same machine a control of equal work stays far below.
LIMIT = 4.5
# Of the times of two cases, the highest tenth is interruptions, which say nothing of either.
KEPT = 0.9
CAPACITY = 4096
KEYS = [bytes([number] * 32) for number in range(1, 4)]
CONTEXT, OTHER_CONTEXT = b"a context", b"b context"


def container(slots):
    return writer.container_bytes(
        b"contents", slots, context=CONTEXT, capacity=CAPACITY, log2_chunk=12, weak_stretching=True)


def changed(data, *places):
    """Both header copies with bits of their slots flipped, and their checksums right again."""
    copies = []
    for start in (0, len(data) - 32 - CAPACITY):
        copy = bytearray(data[start:start + CAPACITY])
        for place in places:
            copy[place] ^= 1
        copies.append(header.checked_again(bytes(copy)))
    return copies[0] + data[CAPACITY:len(data) - 32 - CAPACITY] + copies[1] + data[-32:]


# In a copy: where slot number `index` of symmetric slots ends, and where the only passphrase slot does.
def symmetric_end(index):
    return 76 + 92 * (index + 1)


PASSPHRASE_END = 76 + 104


def cases():
    """Groups of cases that are compared: title, what it is about, cases. The first of a group is what the others are
    compared with. A case: name, container, keys, passphrases, context, error."""
    one = container([writer.SymmetricSlot(KEYS[0])])
    word = container([writer.PassphraseSlot(b"right", 1, 8)])
    two = container([writer.SymmetricSlot(KEYS[0]), writer.SymmetricSlot(KEYS[1])])
    damaged = changed(one, symmetric_end(0) - 16)
    both = changed(two, symmetric_end(0) - 1, symmetric_end(1) - 1)
    wrong = "wrongKey"
    return [
        ("A key's slot", "One symmetric slot. The work is meant to be the same.", [
            ("damaged slot", damaged, KEYS[:1], [], CONTEXT, wrong),
            ("damaged slot, once more", damaged, KEYS[:1], [], CONTEXT, wrong),
            ("damaged slot, the tag's last byte", changed(one, symmetric_end(0) - 1), KEYS[:1], [], CONTEXT, wrong),
            ("damaged slot, the wrapped key", changed(one, symmetric_end(0) - 48), KEYS[:1], [], CONTEXT, wrong),
            ("right key, wrong context", one, KEYS[:1], [], OTHER_CONTEXT, wrong),
            ("no key for the slot", one, KEYS[2:], [], CONTEXT, wrong),
        ]),
        ("A passphrase's slot", "One passphrase slot, stretched as little as a reader allows, so that stretching hides "
         "nothing. The work is meant to be the same.", [
             ("wrong passphrase", word, [], [b"wrong"], CONTEXT, wrong),
             ("wrong passphrase, once more", word, [], [b"wrong"], CONTEXT, wrong),
             ("right passphrase, damaged slot", changed(word, PASSPHRASE_END - 1), [], [b"right"], CONTEXT, wrong),
             ("right passphrase, wrong context", word, [], [b"right"], OTHER_CONTEXT, wrong),
         ]),
        ("How many slots are tried", "Two damaged symmetric slots. The Spec says that this shows: here, that what is "
         "measured can tell a difference.", [
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
    """Two samples without the highest of both together."""
    cut = sorted(first + second)[int(KEPT * (len(first) + len(second))) - 1]
    return [time for time in first if time <= cut], [time for time in second if time <= cut]


def welch(first, second):
    """Welch's t of two samples, and the difference of their means."""
    first, second = kept(first, second)
    difference = statistics.fmean(second) - statistics.fmean(first)
    spread = statistics.variance(first) / len(first) + statistics.variance(second) / len(second)
    return difference / math.sqrt(spread), difference


def of_processes(first, second):
    """Student's t of the differences that single processes show."""
    differences = [welch(one, other)[1] for one, other in zip(first, second)]
    return statistics.fmean(differences) / (statistics.stdev(differences) / math.sqrt(len(differences)))


def quantile(times, part):
    return sorted(times)[int(part * (len(times) - 1))]


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def report(groups, measured, rounds):
    processes = len(measured[0][0])
    lines = [
        "# Does the time of a refusal tell its reason?", "",
        "Made by `make timing`: containers that do not open are opened from memory, in rounds in which each case has its "
        "turn in a random order, in several processes, in each of which the cases stand elsewhere in memory. Compared are "
        f"the times of a case with those of the first of its table, without the highest {round(100 - 100 * KEPT)} % of both "
        "together, which are interruptions. The first t is Welch's, of all times; it also sees by how much one place in "
        "memory is slower than another. The second is Student's, of the differences that the single processes show: it "
        f"asks whether a difference comes back. Where both are beyond {LIMIT}, as in dudect, the difference is taken for "
        "one. The case that is there once more shows what they are where there is none.", "",
        f"{processes} processes of {rounds} rounds; {processor()}, {platform.system()} {platform.release()}. Times are in "
        "nanoseconds.", ""]
    differences = []
    for (title, about, group), times in zip(groups, measured):
        lines += [f"## {title}", "", about, "",
                  "| case | n | mean | 10th percentile | median | 90th | difference of means | t of all | t of processes |",
                  "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
        first = [time for sample in times[0] for time in sample]
        for index, case in enumerate(group):
            sample = [time for part in times[index] for time in part]
            cells = [case[0], len(sample), round(statistics.fmean(kept(first, sample)[1])),
                     *(quantile(sample, part) for part in (0.1, 0.5, 0.9))]
            if index == 0:
                cells += ["", "", ""]
            else:
                t, difference = welch(first, sample)
                again = of_processes(times[0], times[index])
                cells += [f"{difference:+.0f}", f"{t:+.1f}", f"{again:+.1f}"]
                if min(abs(t), abs(again)) > LIMIT:
                    differences.append((title, case[0], difference, statistics.fmean(kept(first, sample)[0])))
            lines.append("| " + " | ".join(map(str, cells)) + " |")
        lines.append("")
    lines += ["## What was found", ""]
    for title, case, difference, mean in differences:
        lines.append(f"- *{title}*: *{case}* takes {difference:+.0f} ns, {100 * difference / mean:+.2f} %.")
    if not differences:
        lines.append("No difference.")
    lines.append("")
    return "\n".join(lines)


def measure(tool, rounds, folder, groups):
    """The times of one process for each group: for each case, a list."""
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
    with open(os.path.join(HERE, "meaning.md"), encoding="utf-8") as file:
        text += "\n" + file.read()
    with open(os.path.join(HERE, "..", "TIMING.md"), "w", encoding="utf-8") as file:
        file.write(text)
    print(text)


if __name__ == "__main__":
    main()
