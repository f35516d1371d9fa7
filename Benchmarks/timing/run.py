#!/usr/bin/env python3
"""Measures whether the time of a refusal tells why a container was refused, and writes TIMING.md.

    run.py TOOL [--rounds N] [--processes N]

TOOL is VaultTiming, built for release. The containers are made by the Python reference.
"""

import argparse
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import textwrap

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "Spec", "reference"))
sys.path.insert(0, os.path.join(HERE, "..", "process"))

import header  # noqa: E402
import writer  # noqa: E402
from report import machine  # noqa: E402

# Beyond this, after dudect, a difference is one; on the same machine a control of equal work stays far below.
LIMIT = 4.5
# Of the times of two cases, the highest tenth is interruptions, which say nothing of either.
KEPT = 0.9
CAPACITY = 4096
KEYS = [bytes([number] * 32) for number in range(1, 4)]
CONTEXT, OTHER_CONTEXT = b"a context", b"b context"
# Two blocks more of BLAKE2b, once for each slot that is tried: some 200 ns.
LONGER_CONTEXT = CONTEXT + bytes(ord("x") for _ in range(256))
# In so many groups, the first ones, the cases are meant to take the same.
ALIKE = 2


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
        ("A little more work", "One symmetric slot. Here, how small a difference can be told: a longer context, which "
         "is the caller's.", [
             ("damaged slot", damaged, KEYS[:1], [], CONTEXT, wrong),
             ("damaged slot, 256 bytes more of context", damaged, KEYS[:1], [], LONGER_CONTEXT, wrong),
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
    """The difference of the means of two samples, and its standard error after Welch."""
    first, second = kept(first, second)
    difference = statistics.fmean(second) - statistics.fmean(first)
    spread = statistics.variance(first) / len(first) + statistics.variance(second) / len(second)
    return difference, math.sqrt(spread)


def of_processes(first, second):
    """The mean of the differences that single processes show, and its standard error."""
    differences = [welch(one, other)[0] for one, other in zip(first, second)]
    return statistics.fmean(differences), statistics.stdev(differences) / math.sqrt(len(differences))


def quantile(times, part):
    return sorted(times)[int(part * (len(times) - 1))]


HEAD = """Made by `make timing`: containers that do not open are opened from memory, in rounds in which each case has
its turn in a random order, in several processes, in each of which the cases stand elsewhere in memory. Compared are the
times of a case with those of the first of its table, without the highest {cut} % of both together, which are
interruptions. The first t is Welch's, of all times; it also sees by how much one place in memory is slower than
another. The second is Student's, of the differences that the single processes show: it asks whether a difference comes
back. Where both are beyond {limit}, as in dudect, the difference is taken for one; the last column is the least that
would have been. The case that is there once more shows what they are where there is none."""


def wrapped(text):
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)


def compared(group, times):
    """The rows of a group's table, which of its cases differ from the first, and the least difference that would have
    been told in each of them."""
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
    """What these rounds say of the groups whose cases are meant to take the same."""
    if any(differ[:ALIKE]):
        return "These rounds tell cases apart that are meant to take the same: see above."
    if not differ[ALIKE]:
        return "These rounds tell no such cases apart; but nor do they tell a little more work, and so say nothing."
    told = " and ".join(f"{ns:.0f} ns" for ns in least[:ALIKE])
    return ("These rounds tell no cases apart that are meant to take the same. In the first two tables, a difference "
            f"of {told} would have been told.")


def report(groups, measured, rounds):
    lines = [
        "# Does the time of a refusal tell its reason?", "",
        wrapped(HEAD.format(cut=round(100 - 100 * KEPT), limit=LIMIT)), "",
        wrapped(f"{len(measured[0][0])} processes of {rounds} rounds; {machine()}. Times are in nanoseconds."), ""]
    found, differ, least = [], [], []
    for (title, about, group), times in zip(groups, measured):
        rows, differences, could = compared(group, times)
        differ.append(differences)
        least.append(could)
        lines += [f"## {title}", "", wrapped(about), "",
                  "| case | n | mean | 10th percentile | median | 90th | difference of means | t of all "
                  "| t of processes | least told |",
                  "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|", *rows, ""]
        found += [f"- *{title}*: *{case}* takes {difference:+.0f} ns, {100 * difference / mean:+.2f} %."
                  for case, difference, mean in differences]
    lines += ["## What was found", "", *(found or ["No difference."]), ""]
    with open(os.path.join(HERE, "meaning.md"), encoding="utf-8") as file:
        meaning = file.read().replace("CONCLUSION", conclusion(differ, least))
    return "\n".join(lines) + "\n" + "\n\n".join(
        part if part.startswith("#") else wrapped(part) for part in meaning.strip().split("\n\n")) + "\n"


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
    with open(os.path.join(HERE, "..", "TIMING.md"), "w", encoding="utf-8") as file:
        file.write(text)
    print(text)


if __name__ == "__main__":
    main()
