"""Finds the steps of the writing path in Swift sources, besides the checks there.

On the writing path a lost step is as bad as a lost check: a sync that is left out, two calls in the wrong order, a
nonce that is not random. So a file of that path has more points: calls whose result is not used (`drop`), calls that
follow one another (`swap`), conditions that refuse nothing (`condition`), random values (`value`), and reads that must
not come later (`late`). There, errors of the system and of the caller count too.
"""

import re
from pathlib import Path

from brackets import closing
from checks import Checks
from switches import FUNCTION, Point

KINDS = ("drop", "swap", "condition", "value", "late")
# Random values, and what an attacker would like to be in their place.
VALUES = (
    (re.compile(r"\brandomness\.bytes\(((?:[^()]|\([^()]*\))*)\)"), "[UInt8](repeating: 0, count: {})"),
    (re.compile(r"\bRandomBytes\.array\(count: ([^()]+)\)"), "[UInt8](repeating: 0, count: {})"),
    (re.compile(r"\bSecretBytes\(randomCount: ([^()]+)\)"), "SecretBytes(copying: [UInt8](repeating: 7, count: {}).span)"),
)
# Values that must be read before others: where each is used, what it is, and how it is read.
LATE = {
    ("ContainerEnds+Reading.swift", "fileSize: size, front: "): ("front", "Self.copy(at: 0, of: source, size: size)"),
}
# What begins a line and is no call whose result is unused.
NO_CALL = re.compile(
    r"(if|guard|for|while|switch|return|throw|let|var|func|init|deinit|do|catch|else|defer|case|default|repeat|import|"
    r"struct|class|enum|extension|static|private|fileprivate|package|public|internal|override|mutating|consuming|unsafe|"
    r"precondition|preconditionFailure|fatalError|assert|self\.init|super\.init|waitForEnd)\b")
STATEMENT = re.compile(r"(?m)^[ \t]*((?:_ = )?(?:try[?]? )?(?:\w+[?]?\.)*[a-z]\w*)(?=\(| \{)")
CONTINUES = re.compile(r"[,(\[=&|?:+]$|\b(in|return|try)$")
# A block whose only statement may be left out.
MAY_BE_EMPTY = re.compile(
    r"(?:^|\n)[ \t]*(\} )?((if|for|while|else|do|catch|defer|deinit|repeat|init)\b|[\w@ ]*\bfunc\b)(?!.*->)[^{}]*$", re.S)
# The only statement of a loop, on the line of its head.
IN_LOOP = re.compile(r"(?m)^[ \t]*for [^{}\n]* \{ ((?:try )?[\w.]+\([^\n]*\)) \}$")
CHOICE = re.compile(
    r"(?:(?<=[^=!<>][=:] )|(?<=\()|(?<=return )|(?<=throw ))(!?[\w.]+(?: (?:==|!=|<|>|<=|>=) [\w.]+)?) \? "
    r"(?=[^\n]* : )")
# Two calls whose order says nothing.
CLOSES = re.compile(r"\w+\.closeQuietly\(\)$")
# A call that ends a value that cannot be copied. The compiler refuses calls of it afterwards.
CONSUMES = re.compile(r"(?:_ = )?(?:try )?(\w+)\.(?:commit|take|unlock)\(")
PAIR = re.compile(r"\bin (\[([\w.]+), ([\w.]+)\])(?= \{)")


class Steps(Checks):
    writes = True

    def steps(self):
        """Finds calls whose result is not used, and those that follow one another."""
        taken = {edit[0] for edit in self.source.edits}
        blocks = {}
        for found in re.finditer(STATEMENT, self.mask):
            start = found.start(1)
            before = self.mask[:found.start()].rstrip()
            call = re.sub(r"^(_ = )?(try[?]? )?", "", found.group(1))
            if NO_CALL.match(call) or CONTINUES.search(before) or not before:
                continue
            end = self.statement_end(start)
            if not self.mask[start:end].endswith((")", "}")):
                continue
            opening = self.block(start)
            if opening is None or not self.may_go(opening, start, end):
                continue
            blocks.setdefault(opening, []).append((start, end))
        for found in re.finditer(IN_LOOP, self.mask):
            blocks[found.start(1)] = [found.span(1)]
        for statements in blocks.values():
            for start, end in statements:
                if start not in taken:
                    text = self.source.text[start:end]
                    self.insert(start, "if ", " { ", text, "drop", (start, end), True)
                    self.source.edits.append((end, 0, " }", None, ""))
            run = []
            for start, end in [*statements, (None, None)]:
                if run and (start is None or self.mask[run[-1][1]:start].strip()):
                    self.swaps(run)
                    run = []
                run.append((start, end))

    def block(self, place):
        """The brace of the block that a statement is in."""
        depth = 0
        for index in range(place - 1, -1, -1):
            depth += (self.mask[index] in ")]}") - (self.mask[index] in "([{")
            if depth < 0:
                return index if self.mask[index] == "{" else None
        return None

    def may_go(self, opening, start, end):
        """Whether a statement may be left out: it is not the value of its block."""
        body = self.mask[opening + 1:closing(self.mask, opening)]
        is_alone = not self.mask[opening + 1:start].strip() and not self.mask[end:opening + 1 + len(body)].strip()
        if re.search(r"(?m)^\s*(case\b.*|default):", body):
            return False
        if not is_alone:
            return True
        head = self.mask[:opening]
        return MAY_BE_EMPTY.search(head[max(head.rfind("\n\n"), head.rfind("}"), head.rfind("{")) + 1:]) is not None

    def swaps(self, run):
        """Makes each two neighbours of these statements exchangeable."""
        if len(run) < 2:
            return
        texts = [self.on_one_line(start, end) for start, end in run]
        points = []
        for index in range(len(run) - 1):
            last = CONSUMES.match(texts[index + 1])
            if last and re.search(rf"\b{last.group(1)}\b", texts[index]):
                continue
            if texts[index] == texts[index + 1] or all(CLOSES.match(each) for each in texts[index:index + 2]):
                continue
            text = " ".join(" <-> ".join(texts[index:index + 2]).split())
            point = Point(self.source.path, self.source.line(run[index][0]), text, "swap", False, False,
                          self.why(run[index][0], run[index + 1][1]), True)
            points.append((index, point))
            self.source.points.append(point)

        def chosen(is_on):
            return [(index, point) for index, point in points if is_on(point)]

        def before(is_on):
            tests = [f"{FUNCTION}({point.number}, true)" for _, point in chosen(is_on)]
            return f"if {' && '.join(tests)} {{ " if tests else ""

        def after(is_on):
            on, text = chosen(is_on), ""
            for turn, (index, point) in enumerate(on):
                other = [*texts[:index], texts[index + 1], texts[index], *texts[index + 2:]]
                test = "" if turn == len(on) - 1 else f"if !{FUNCTION}({point.number}, true) "
                text += f" else {test}{{ " + "; ".join(other) + " }"
            return " }" + text if on else ""

        self.source.edits.append((run[0][0], 0.5, before, None, ""))
        self.source.edits.append((run[-1][1], 0.75, after, None, ""))

    def on_one_line(self, start, end):
        """A statement without comments and ends of lines, so that lines keep their numbers."""
        text, mask, brackets, pieces = self.uncommented[start:end], self.mask[start:end], [], []
        for place, character in enumerate(text):
            if mask[place] in "([{":
                brackets.append(mask[place])
            elif mask[place] in ")]}":
                brackets.pop()
            elif character == "\n":
                before, after = mask[:place].rstrip(), mask[place:].lstrip()
                ends = brackets and brackets[-1] == "{" and not CONTINUES.search(before) and before[-1] != "{" \
                    and not after.startswith((".", "}", "?", ":", "&&", "||", "else"))
                pieces.append("; " if ends else " ")
                continue
            pieces.append(character)
        return " ".join("".join(pieces).split()).replace(" ;", ";")

    def orders(self):
        for found in re.finditer(PAIR, self.mask):
            start, end = found.span(1)
            self.choose(start, end, f"[{found.group(3)}, {found.group(2)}]", "swap")
        for (name, use), (value, again) in LATE.items():
            place = self.mask.find(use) + len(use)
            if Path(self.source.path).name == name and place >= len(use):
                self.choose(place, place + len(value), f"(try {again})", "late")

    def values(self):
        for pattern, other in VALUES:
            for found in re.finditer(pattern, self.mask):
                self.choose(*found.span(), other.format(self.source.text[slice(*found.span(1))]), "value")

    def choices(self):
        for found in re.finditer(CHOICE, self.mask):
            if all(not found.start(1) <= edit[0] < found.end(1) for edit in self.source.edits):
                self.wrap(*found.span(1), "condition", False, found.span(), False, True)

    def find(self):
        super().find()
        for kind in (self.steps, self.orders, self.values, self.choices):
            kind()
        return self.source
