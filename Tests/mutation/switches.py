"""Makes expressions and statements of Swift sources switchable.

Each of them gets a number and is wrapped in a call. The call returns its argument, unless the environment has chosen
its number. So everything is built once, and each mutant is a run of the same tests.

`// mutant: why` on the line of a check or a step, or alone on the line before, says why no test can notice that it is
gone. It holds for the whole statement.
"""

import re
from dataclasses import dataclass, field

from brackets import masked, split

FUNCTION = "vaultMutant"
MARK = re.compile(r"//\s*mutant:\s*(.+)")


@dataclass
class Point:
    """A check. `deleted` is the value that removes it; `inverts` says whether its opposite is a mutant too."""
    path: str
    line: int
    text: str
    kind: str
    deleted: bool
    inverts: bool = True
    why: str = ""
    # Whether it is of the writing path.
    writes: bool = False
    number: int = -1
    # Its name, the same in every run.
    key: str = ""


    @property
    def changes(self):
        """The mutants: the value that the switch gives (`!` is the opposite), and what that does."""
        if self.kind == "condition":
            return [("t", "always"), ("f", "never")]
        others = {"swap": "swapped", "value": "not random", "late": "read late"}
        if self.kind in others:
            return [("f", others[self.kind])]
        first = ("tf"[not self.deleted], "stricter" if self.kind == "if" and self.deleted else "deleted")
        return [first, ("!", "inverted")] if self.inverts else [first]


@dataclass
class Source:
    """A file, its checks, and the edits that make the checks switchable."""
    path: str
    text: str
    mask: str = ""
    points: list = field(default_factory=list)
    bindings: int = 0
    edits: list = field(default_factory=list)
    # Those that FILES and WRITES choose, and the others.
    wanted: list = field(default_factory=list)
    unwanted: list = field(default_factory=list)

    def line(self, place):
        return self.text.count("\n", 0, place) + 1


class Switches:
    """A source, and what makes its points switchable. Subclasses find the points."""

    # Whether the file is of the writing path.
    writes = False

    def __init__(self, path, text):
        self.source = Source(path, text, masked(text))
        self.mask = self.source.mask
        self.uncommented = masked(text, strings=False)
        self.marks = {}
        for number, line in enumerate(text.split("\n"), 1):
            found = MARK.search(line)
            if found:
                alone = line.strip().startswith("//")
                self.marks[number + 1 if alone else number] = found.group(1).strip()

    def why(self, start, end):
        first, last = self.source.line(start), self.source.line(end)
        return next((self.marks[line] for line in range(first, last + 1) if line in self.marks), "")

    def wrap(self, start, end, kind, deleted, statement, inverts=True, writes=False):
        """Makes the expression between two places switchable."""
        text = self.source.text[start:end]
        prefix = re.match(r"try\s+", text)
        inner = start + (prefix.end() if prefix else 0)
        point = Point(self.source.path, self.source.line(start), " ".join(text.split()), kind, deleted, inverts,
                      self.why(*statement), writes)
        self.source.points.append(point)
        self.source.edits.append((inner, 1, f"{FUNCTION}(", point, ", "))
        self.source.edits.append((end, 0, ")", None, ""))

    def insert(self, place, before, after, text, kind, statement, writes=False):
        """Puts a switch in front of a statement. It is on, unless the check is deleted."""
        point = Point(self.source.path, self.source.line(statement[0]), " ".join(text.split()), kind, False, False,
                      self.why(*statement), writes)
        self.source.points.append(point)
        self.source.edits.append((place, 2, before + FUNCTION + "(", point, ", true)" + after))

    def clauses(self, parts, kind, statement, writes=False):
        if kind == "condition":
            parts = [each for part in parts for each in split(self.mask, *part, " || ")]
        for start, end in parts:
            for first, last in split(self.mask, start, end, " && "):
                if " || " in self.mask[start:end] and len(split(self.mask, start, end, " || ")) > 1:
                    first, last = start, end
                self.wrap(first, last, kind, kind != "condition", statement, kind != "condition", writes)
                if (first, last) == (start, end):
                    break

    def choose(self, start, end, other, kind):
        """Makes another expression take the place of this one."""
        text = self.source.text[start:end]
        point = Point(self.source.path, self.source.line(start), " ".join(text.split()), kind, False, False,
                      self.why(start, end), True)
        self.source.points.append(point)
        self.source.edits.append((start, 1, f"({FUNCTION}(", point, ", true) ? "))
        self.source.edits.append((end, 0, f" : {other})", None, ""))

    def statement_end(self, start):
        """The end of a statement: the end of its last line, or the brace that closes its block."""
        depth = 0
        for place in range(start, len(self.mask)):
            character = self.mask[place]
            if depth == 0 and character in ")]}":
                break
            if depth == 0 and character == "\n" and not re.match(r"\s*(&&|\|\||\.|\?|:|\+)", self.mask[place:]):
                break
            depth += (character in "([{") - (character in ")]}")
        return start + len(self.mask[start:place].rstrip())


def rewritten(source, left_out):
    """The text with its checks made switchable, except the points in `left_out`."""
    text, edits, skipping = source.text, [], 0
    # An edit without a point closes the one before.
    on = True
    for place, order, before, point, after in source.edits:
        if callable(before):
            edits.append((place, order, len(edits), before(lambda point: point.number not in left_out)))
            continue
        if point is not None:
            on = point.number not in left_out
            piece = f"{before}{point.number}{after}"
        else:
            piece = before
        if on:
            edits.append((place, order, len(edits), piece))
    for place, _, _, piece in sorted(edits, reverse=True):
        text = text[:place] + piece + text[place:]
    # At the end, so that lines keep their numbers.
    return f"{text}import VaultMutant\n" if source.points else text
