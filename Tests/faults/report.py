"""The table of outcomes: what each verb ends with, whatever fails."""

import os
import re

PLACE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "OUTCOMES.md")
HEAD = """# What fails, and what comes of it

Made by `make faults`. For each verb: the system calls that the command makes and the files that they are about, the
errors with which they were made to fail, one at a time, and the exit status: 0 is done all the same, 64 usage, 65 what
recover has lost, what verify says of an interrupted rotation, and an input that ends too early, 66 no such input, 73
the output cannot be made, 74 reading or writing failed, 75 in use, as what was not closed is, 78 no key to be had.
`nothing` is no error: the call is said to have read or written nothing.

`make faults` fails where a call that stands here ends with another status. Which calls there are is not the same in
every run, nor on every system: what only this table has, or only the run, is left alone. But every verb must make calls
of which some are known here, and nine in ten of those that it makes with nothing failing must have been made to fail.
Whatever the status, each run was held to this:

- the message names the reason in the system's words, and no message holds a key or a line of plaintext;
- an output is whole and right, or not there, or as it was before; standard output got nothing but the beginning of what
  is right, and with status 0 all of it;
- with status 0 everything was done; nothing that could not be read is called damaged;
- no other file was changed, and no temporary one is left, unless the removing itself failed;
- a container that is changed in its place opens with the right contents, before and after the same once more; where it
  was done, whoever was added opens it, and whoever was removed does not;
- a keyring is as it was, or as it was to be, and each of its keys opens what it opened, but for one that was destroyed;
- it ends, and not by a signal.

"""


class Outcomes:
    def __init__(self):
        # Scene, call and file to error to statuses.
        self.found = {}

    def add(self, scene, call, about, error, status):
        self.found.setdefault((scene, call, about), {}).setdefault(error, set()).add(status)

    @property
    def lines(self):
        """A line for each scene and outcome: the calls that have it."""
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
    """The same of the places that really are so."""
    lines, last = [], None
    for place, words, status in outcomes:
        if place != last:
            lines += ([""] if last else []) + [f"## In place: {place}", "", "| run | outcome |", "|---|---|"]
            last = place
        lines.append(f"| {words} | {status} |")
    return lines + [""]


def parsed(lines):
    """Scene, call, file and error to statuses."""
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
    """What the table says otherwise, and how many outcomes it does not know. Which calls there are is not the same in
    every run, nor on every system."""
    with open(PLACE, encoding="utf-8") as table:
        before = parsed(table)
    now = parsed(lines)
    other = [
        f"{scene}: {error} at {call} {file}: {' or '.join(sorted(seen))}, and OUTCOMES.md says "
        + " or ".join(sorted(before[scene, call, file, error]))
        for (scene, call, file, error), seen in now.items()
        if not seen <= before.get((scene, call, file, error), seen)]
    return other, len(now.keys() - before.keys())


def write(lines):
    with open(PLACE, "w", encoding="utf-8") as file:
        file.write(HEAD + "\n".join(lines).rstrip() + "\n")
