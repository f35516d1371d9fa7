"""The table of outcomes: the exit status of each verb for each fault."""

import os
import re

PLACE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "OUTCOMES.md")
HEAD = """# Faults and their outcomes

Written by `make faults`; do not edit. For each verb, the tables list the system calls that the command makes and the
files that they concern, the errors with which each call was made to fail, one at a time, and the exit status. The
statuses are: 0 the command succeeds in spite of the error; 64 usage; 65 losses found by recover, an interrupted
rotation found by verify, or an input that ends too early; 66 no such input; 69 the system does not keep keyrings
unlocked; 73 cannot create the output; 74 reading or writing failed; 75 in use, for example because a lock was not
released; 78 no key available. `nothing` is not an error: the call reports that it read or wrote nothing. In `key lock`
and `key list, unlocked`, `key unlock` ran before.

`make faults` fails if a call in these tables ends with another status. Not every run and not every system makes the
same calls, so calls that only these tables or only the run has do not count. But some calls of every verb must be in
these tables, and nine in ten of the calls that a verb makes without faults must have been made to fail. Whatever its
status, each run had to keep these promises:

- the message names the reason in the system's words, and no message holds a key or a line of plaintext;
- an output is whole and right, or absent, or unchanged; standard output has only a beginning of the right bytes, and
  all of them if the status is 0;
- with status 0 everything was done; no unreadable file is called damaged;
- no other file changes, and no temporary file remains, unless the removal itself failed;
- a container changed in place, also by edit, opens with the right contents, before and after a second run of the same
  command; if the change succeeded, added keys open it and removed keys do not;
- a keyring is as it was or as it should become, and each of its keys opens what it opened before, except a destroyed
  one;
- a keyring is unlocked or locked as status 0 says; the text that edit gives to the editor stays only if a message says
  where it is;
- the command ends, and not by a signal.

"""


class Outcomes:
    def __init__(self):
        # Maps scene, call and file to errors, and each error to its statuses.
        self.found = {}

    def add(self, scene, call, about, error, status):
        self.found.setdefault((scene, call, about), {}).setdefault(error, set()).add(status)

    @property
    def lines(self):
        """A line for each outcome of a scene, with the calls that have it."""
        rows = {}
        for (scene, call, about), errors in self.found.items():
            statuses = {}
            for error, seen in sorted(errors.items()):
                statuses.setdefault(" or ".join(map(str, sorted(seen))), []).append(error)
            outcome = "; ".join(f"{' '.join(errors)}: {status}" for status, errors in sorted(statuses.items()))
            rows.setdefault(scene, {}).setdefault(outcome, {}).setdefault(call, []).append(about)
        lines = []
        for scene, outcomes in rows.items():
            lines += [f"## {scene}", "", "| calls | outcome |", "|---|---|"]
            for outcome, calls in sorted(outcomes.items()):
                text = " · ".join(
                    f"{call} {', '.join(sorted(abouts))}".strip() for call, abouts in sorted(calls.items()))
                lines.append(f"| {text} | {outcome} |")
            lines.append("")
        return lines


def of_places(outcomes):
    """The same for places that really are full, read-only and so on."""
    lines, last = [], None
    for place, words, status in outcomes:
        if place != last:
            lines += ([""] if last else []) + [f"## In place: {place}", "", "| run | outcome |", "|---|---|"]
            last = place
        lines.append(f"| {words} | {status} |")
    return lines + [""]


def parsed(lines):
    """Reads the table: maps scene, call, file and error to statuses."""
    found, scene = {}, None
    for line in lines:
        if line.startswith("## "):
            scene = line[3:].strip()
        elif match := re.match(r"\| (.*) \| (.*) \|$", line):
            for calls in match[1].split(" · "):
                call, _, files = calls.partition(" ")
                for file in files.split(", "):
                    for outcome in match[2].split("; "):
                        errors, _, statuses = outcome.rpartition(": ")
                        for error in errors.split() or [""]:
                            found[scene, call, file, error] = set(statuses.split(" or "))
    return found


def differences(lines):
    """The outcomes that differ from the table, and the number of outcomes that it does not have: not every run, and not
    every system, makes the same calls."""
    with open(PLACE, encoding="utf-8") as table:
        before = parsed(table)
    now = parsed(lines)
    other = [
        f"{scene}: {error} at {call} {file}: {' or '.join(sorted(seen))}, but OUTCOMES.md says "
        + " or ".join(sorted(before[scene, call, file, error]))
        for (scene, call, file, error), seen in now.items()
        if not seen <= before.get((scene, call, file, error), seen)]
    return other, len(now.keys() - before.keys())


def sections(lines):
    """Maps each heading to the lines below it."""
    found, heading = {}, None
    for line in lines:
        if line.startswith("## "):
            heading = line
        if heading:
            found.setdefault(heading, []).append(line)
    return found


def write(lines, names=None):
    """Writes the page. names: the names of all scenes, if only some have run; then the others keep their tables."""
    found = sections(lines)
    if names:
        with open(PLACE, encoding="utf-8") as file:
            before = sections(file.read().splitlines())
        places = [heading for heading in before if heading.startswith("## In place: ")]
        order = [*(f"## {name}" for name in names), *places]
        found = {heading: {**before, **found}[heading] for heading in order if heading in found or heading in before}
    text = "\n\n".join("\n".join(section).rstrip() for section in found.values())
    with open(PLACE, "w", encoding="utf-8") as file:
        file.write(HEAD + text + "\n")
