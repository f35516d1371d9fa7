"""Tests that checks.py finds each kind of check. The source fixture.swift has one of each, and says what to find."""

import re
from pathlib import Path

import checks

HERE = Path(__file__).resolve().parent
FIXTURE = "fixture.swift"
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


def mutants_of(point):
    """The names of its mutants."""
    yield "stricter" if point.kind == "if" and point.deleted else "deleted"
    if point.inverts:
        yield "inverted"
    if point.why:
        yield "explained"


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


def run():
    """Prints what is wrong. Returns the exit status."""
    checks.MADE_UP[FIXTURE, "let length = bytes.first"] = "0"
    source = checks.find(HERE, FIXTURE)
    must = expected(source.text)
    found = sorted(
        (point.line, f"{point.kind} {' '.join(mutants_of(point))}: {point.text}") for point in source.points)
    wrong = [f"not found: {FIXTURE}:{line}: {what}" for line, what in must if (line, what) not in found]
    wrong += [f"found: {FIXTURE}:{line}: {what}" for line, what in found if (line, what) not in must]
    kinds = {what.split()[0] for _, what in must}
    wrong += [f"{FIXTURE} has no {kind}" for kind in checks.KINDS if kind not in kinds]
    if len(found) != len(must):
        wrong.append(f"{len(found)} checks instead of {len(must)}")
    small = checks.Finder("small.swift", BEFORE).find()
    for number, point in enumerate(small.points):
        point.number = number
    if checks.rewritten(small, set()) != AFTER:
        wrong.append(f"rewritten wrongly:\n{checks.rewritten(small, set())}")
    if checks.rewritten(small, {0, 1}) != BEFORE + "import VaultMutant\n":
        wrong.append(f"excluded checks were rewritten:\n{checks.rewritten(small, {0, 1})}")
    print(*wrong, f"{len(found)} checks of {FIXTURE} found, {len(wrong)} wrong", sep="\n")
    return 1 if wrong else 0
