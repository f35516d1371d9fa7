"""COVERAGE.md: which vectors test which rule of the Spec, why other rules have none, and which rules each case tests."""

import re
from pathlib import Path

SOURCES = ("FORMAT.md", "RECIPIENTS.md", "OPERATIONS.md", "KEYRING.md", "DETACHED.md", "MEMBERS.md", "STORE.md")
SPEC = Path(__file__).resolve().parent.parent
TESTS = SPEC.parent / "Tests"

# Rules (or whole chapters, by their prefix with "*") without a vector, and the reasons.
REASONS = [
    ("HDR-20", "binds later versions of the format"),
    ("KEY-13 REG-1", "bind later versions of the format, and other formats"),
    ("CAP-1 ARG-9", "list what other rules say"),
    ("KEY-14", "about the origin of keys; no container shows it"),
    ("SLOT-15", "needs a program that opens private slots: a test with a callback"),
    ("SLOT-21", "depends on the machine's memory: a test that withholds it"),
    ("MAN-19 MAN-20", "binds programs and later versions, not the bytes of a container"),
    ("STR-31 STR-32", "about output files and pipes: tests of the programs"),
    ("STR-33 STR-34 SEEK-1 SEEK-18 SEEK-19", "about files that change while they are read: tests that change them"),
    ("SEEK-25", "about what a program says without a secret: tests of it"),
    ("WRITE-*", "about writers: tests that read back what they wrote"),
    ("ROT-1 ROT-2 ROT-7 ROT-19 ROT-23 ROT-24 ROT-27 REENC-1",
     "about changes of files and what a program shows: tests that make these changes, with a crash at every step"),
    ("CAP-4 CAP-5", "memory is measured by tests"),
    ("DET-4 DET-14", "about the names of header files, and the order in which they get them: tests of the programs"),
    ("TAR-11", "about where a program writes, and what a mount shows"),
    ("DET-11 DET-7", "about what copies of a header file are for, and what a program says of one"),
    ("MIX-3 REENC-7", "about what a program shows to its user"),
    ("PLUG-2 PLUG-3 PLUG-4 PLUG-6", "about plugins as programs: tests with a program that stands in for one"),
    ("KEYRING-11 KEYRING-12 KEYRING-13 KEYRING-14 KEYRING-15 KEYRING-20",
     "about changes of a keyring's files: tests that make these changes, with a crash at every step"),
    ("STORE-14 STORE-15 STORE-17 STORE-19 STORE-20 STORE-21 STORE-22 STORE-24 STORE-25 STORE-26 STORE-33 "
     "STORE-34 STORE-36 STORE-37 STORE-38",
     "about changes of a store, and about a store that a program has open: tests of the program"),
    ("GROUP-*", "about folders of keyrings and stores: tests of the program, and a known answer for GROUP-3")]

# Cases that no vector can hold: the rules that they test, and the Swift test that covers them.
CASES = [
    ("I1", "ROT-9 ROT-20 ROT-21 ROT-22 REP-6", "VaultFileTests/Crash/CrashTests.swift", "powerFailures",
     "a power failure at every call, torn anywhere"),
    ("I2", "ROT-2", "VaultFileTests/Crash/CrashTests.swift", "kills",
     "killed at every call, another operation, then a power failure"),
    ("I3", "ROT-2 ROT-27", "VaultFileTests/Crash/CrashTests.swift", "growthWithoutOneSync",
     "a grown copy whose name is not durable yet"),
    ("I7", "ROT-1", "VaultFileTests/Rotation/RotationTests.swift", "replacedBeforeTheLock",
     "the path means another file between opening and locking"),
    ("I16", "SEEK-18 SEEK-19", "VaultFileTests/Crash/CrashReaders.swift", "besideTwoRotations",
     "a reader between any two writes of two rotations"),
    ("I17", "ROT-1 ROT-27", "VaultFileTests/Rotation/RotationTests.swift", "modeAndLinks",
     "symbolic and hard links"),
    ("I20", "ROT-2 ROT-23", "CommandTests/RotationCommandTests.swift", "wrongChanges",
     "a rotation that is asked not to sync")]


def rules():
    """Every rule's identifier, in the order of the Spec."""
    text = "".join((SPEC / name).read_text(encoding="utf-8") for name in SOURCES)
    return list(dict.fromkeys(re.findall(r"\*\*([A-Z]+-[0-9]+)\*\*", text)))


def reason(rule):
    for patterns, why in REASONS:
        if rule in patterns.split() or rule.split("-")[0] + "-*" in patterns.split():
            return why
    return None


def page(vectors):
    """(the text of COVERAGE.md, the mistakes in it)."""
    tested = {rule: [] for rule in rules()}
    wrong = []
    for name, lines, _ in vectors:
        for rule in dict(lines)["tests"].split(", "):
            if rule in tested:
                tested[rule].append(name)
            else:
                wrong.append(f"{name} cites {rule or 'no rule'}, which the Spec does not have")
    missing = [rule for rule in tested if not tested[rule]]
    wrong += [f"{rule} has neither a vector nor a reason" for rule in missing if reason(rule) is None]
    for patterns, _ in REASONS:
        for rule in patterns.split():
            if not any(rule == other or rule.endswith("*") and other.startswith(rule[:-1]) for other in missing):
                wrong.append(f"{rule} has a reason for having no vector, but it has a vector or is not a rule")
    text = [
        "# Which vectors test which rule", "",
        "`generate.py` writes this file; do not edit it. The rules are those of "
        + ", ".join(f"[{name}](../{name})" for name in SOURCES) + ".", "",
        f"{len(vectors)} vectors; {len(tested) - len(missing)} of {len(tested)} rules have at least one.", "",
        "| rule | vectors |", "|---|---|"]
    text += [f"| {rule} | {', '.join(names)} |" for rule, names in tested.items() if names]
    text += ["", "## Rules without a vector", "", "| rule | reason |", "|---|---|"]
    text += [f"| {rule} | {reason(rule) or ''} |" for rule in missing]
    cases, more = by_case(vectors)
    return "\n".join(text + cases) + "\n", wrong + more


def by_case(vectors):
    """(the table of cases, the mistakes in them): every case has a vector or a test, and the rules that it tests."""
    found = {}
    for name, lines, _ in vectors:
        case = dict(lines)["case"]
        names, cited = found.setdefault(case, ([], set()))
        names.append(name)
        cited |= set(dict(lines)["tests"].split(", "))
    wrong = [f"{case} has a vector, but is listed as a case without one" for case, *_ in CASES if case in found]
    order = {rule: place for place, rule in enumerate(rules())}
    rows = {}
    for case, (names, cited) in found.items():
        count = "1 vector" if len(names) == 1 else f"{len(names)} vectors"
        rows[case] = f"| {case} | {', '.join(sorted(cited, key=lambda rule: order.get(rule, 0)))} | {count} |"
    for case, cited, path, test, what in CASES:
        if not re.search(rf"\bfunc {test}\(", (TESTS / path).read_text(encoding="utf-8")):
            wrong.append(f"{case}: there is no test {test} in {path}")
        wrong += [f"{case} cites {rule}, which the Spec does not have" for rule in cited.split() if rule not in order]
        rows[case] = f"| {case} | {', '.join(cited.split())} | {what}: `{test}` in `Tests/{path}` |"
    for letter in sorted({case[0] for case in rows}):
        numbers = {int(case[1:]) for case in rows if case[0] == letter}
        wrong += [f"{letter}{number} has neither a vector nor a test" for number in range(1, max(numbers))
                  if number not in numbers]
    text = ["", "## Which case tests which rules", "", "| case | rules | by |", "|---|---|---|"]
    return text + [rows[case] for case in sorted(rows, key=lambda case: (case[0], int(case[1:])))], wrong
