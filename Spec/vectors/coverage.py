"""COVERAGE.md: which vectors test which rule of FORMAT.md, and why the other rules have none."""

import re
from pathlib import Path

FORMAT = Path(__file__).resolve().parent.parent / "FORMAT.md"

# Rules (or whole chapters, by their prefix with "*") without a vector, and why.
REASONS = [
    ("HDR-18", "binds later versions of the format"),
    ("KEY-13", "about where keys come from; no container shows it"),
    ("SLOT-12", "needs a program that opens private slots: a test with a callback"),
    ("SLOT-18", "depends on the machine's memory: a test that withholds it"),
    ("MAN-18 MAN-19", "binds programs and later versions, not the bytes of a container"),
    ("PACK-4 PACK-8", "need 65,536 blocks, and so containers of some megabytes: tests that make them"),
    ("STR-31 STR-32", "about output files and pipes: tests of the programs"),
    ("STR-33 STR-34 SEEK-1 SEEK-18 SEEK-19", "about files that change while they are read: tests that change them"),
    ("RECOV-4", "about what a search may cost: tests that set the limits"),
    ("WRITE-*", "about writers: tests that read back what they wrote"),
    ("ROT-1 ROT-2 ROT-7 ROT-16 ROT-17 ROT-21 ROT-22 ROT-25 REENC-1",
     "about changes of files and what is shown to a person: tests that drive them, with a crash at every step"),
    ("CAP-3", "memory is measured by tests"),
    ("ARG-5 ARG-6", "limits that a caller sets beside those of the vectors: tests"),
    ("KEYFILE-*", "about key files, not containers: tests of the programs"),
    ("KEYRING-*", "about what a container of keys holds, and the files of a keyring: tests of the programs")]


def rules():
    """Every rule's identifier, in the order of FORMAT.md."""
    return list(dict.fromkeys(re.findall(r"\*\*([A-Z]+-[0-9]+)\*\*", FORMAT.read_text(encoding="utf-8"))))


def reason(rule):
    for patterns, why in REASONS:
        if rule in patterns.split() or rule.split("-")[0] + "-*" in patterns.split():
            return why
    return None


def page(vectors):
    """(the text of COVERAGE.md, what is wrong with it)."""
    tested = {rule: [] for rule in rules()}
    wrong = []
    for name, lines, _ in vectors:
        for rule in dict(lines)["tests"].split(", "):
            if rule in tested:
                tested[rule].append(name)
            else:
                wrong.append(f"{name} cites {rule or 'no rule'}, which FORMAT.md does not have")
    missing = [rule for rule in tested if not tested[rule]]
    wrong += [f"{rule} has neither a vector nor a reason" for rule in missing if reason(rule) is None]
    for patterns, _ in REASONS:
        for rule in patterns.split():
            if not any(rule == other or rule.endswith("*") and other.startswith(rule[:-1]) for other in missing):
                wrong.append(f"{rule} has a reason to have no vector, but it has one, or is no rule")
    text = [
        "# Which vectors test which rule", "",
        "Written by `generate.py`; not to be edited. The rules are those of [FORMAT.md](../FORMAT.md).", "",
        f"{len(vectors)} vectors; {len(tested) - len(missing)} of {len(tested)} rules have at least one.", "",
        "| rule | vectors |", "|---|---|"]
    text += [f"| {rule} | {', '.join(names)} |" for rule, names in tested.items() if names]
    text += ["", "## Rules without a vector", "", "| rule | reason |", "|---|---|"]
    text += [f"| {rule} | {reason(rule) or ''} |" for rule in missing]
    return "\n".join(text) + "\n", wrong
