"""Tests that each kind of check and of step is found. The sources fixture.swift and steps.swift have one of each,
and say what to find."""

import re
from pathlib import Path

import checks
import steps
from find import find
from switches import rewritten

HERE = Path(__file__).resolve().parent
FIXTURE, STEPS = "fixture.swift", "steps.swift"
BEFORE = """func take() throws {
    guard isWhole, let first else { throw VaultError(.damaged) }
    try checkEnd()
}
"""
AFTER = """func take() throws {
    guard vaultMutant(0, isWhole), let first else { throw VaultError(.damaged) }
    if vaultMutant(1, true) { try checkEnd() }
}
import VaultMutant
"""


SWAPPED_BEFORE = """func put() throws {
    try write()
    try sync { name in
        check(name)  // not part of it
        close()
    }
    try rename()
}
"""
SWAPPED_AFTER = """func put() throws {
    if vaultMutant(0, true) && vaultMutant(1, true) { try write()
    try sync { name in
        check(name)  // not part of it
        close()
    }
    try rename() } else if !vaultMutant(0, true) { try sync { name in check(name); close() }; try write(); try rename() } \
else { try write(); try rename(); try sync { name in check(name); close() } }
}
import VaultMutant
"""


def expected(text):
    """Pairs of a line's number and what must be found there, from the comments before the line."""
    found, waiting = [], []
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.match(r"\s*// ?(finds (.*))?", line)
        if comment is None:
            found += [(number, each) for each in waiting]
            waiting = []
        elif comment[1]:
            waiting.append(comment[2])
    return sorted(found)


def compare(name, writes, kinds):
    """(how many were found in a fixture, what is wrong)."""
    source = find(HERE, name, writes)
    must = expected(source.text)
    found = sorted(
        (point.line, " ".join([point.kind, *(name for _, name in point.changes), *["explained"][:bool(point.why)]])
         + f": {point.text}") for point in source.points)
    wrong = [f"not found: {name}:{line}: {what}" for line, what in must if (line, what) not in found]
    wrong += [f"found: {name}:{line}: {what}" for line, what in found if (line, what) not in must]
    seen = {what.split()[0] for _, what in must}
    wrong += [f"{name} has no {kind}" for kind in kinds if kind not in seen]
    if len(found) != len(must):
        wrong.append(f"{len(found)} checks instead of {len(must)} in {name}")
    return len(found), wrong


def run():
    """Prints what is wrong. Returns the exit status."""
    checks.MADE_UP[FIXTURE, "let length = bytes.first"] = "0"
    count, wrong = compare(FIXTURE, False, checks.KINDS)
    of_steps, more = compare(STEPS, True, [kind for kind in steps.KINDS if kind != "late"])
    wrong += more
    put = steps.Steps("put.swift", SWAPPED_BEFORE).find()
    put.points = [point for point in put.points if point.kind == "swap"]
    for number, point in enumerate(put.points):
        point.number = number
    if rewritten(put, {-1}) != SWAPPED_AFTER:
        wrong.append(f"rewritten wrongly:\n{rewritten(put, {-1})}")
    small = checks.Checks("small.swift", BEFORE).find()
    for number, point in enumerate(small.points):
        point.number = number
    if rewritten(small, set()) != AFTER:
        wrong.append(f"rewritten wrongly:\n{rewritten(small, set())}")
    if rewritten(small, {0, 1}) != BEFORE + "import VaultMutant\n":
        wrong.append(f"excluded checks were rewritten:\n{rewritten(small, {0, 1})}")
    print(*wrong, f"{count} checks of {FIXTURE} and {of_steps} steps of {STEPS} found, {len(wrong)} wrong", sep="\n")
    return 1 if wrong else 0
