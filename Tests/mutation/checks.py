"""Finds the checks of the reading path and the steps of the writing path in Swift sources, and makes each of them
switchable.

A check is a place that decides whether untrusted bytes are accepted: a condition of a `guard`, an `if` that throws or
refuses, a `throw` that is alone in a `case` or `catch`, a call whose only effect is to throw, a clause in the result of
a function that answers yes or no. Each check gets a number and is wrapped in a call. The call returns its argument,
unless the environment has chosen its number. So everything is built once, and each mutant is a run of the same tests.

This module matches brackets instead of parsing Swift. That is enough, because one tool formats all sources. A `guard`
or `if` that has only bindings cannot be deleted, because its values cannot be made up. Such checks are counted, and the
checks in the function that gives the value are mutants of their own.

On the writing path a lost step is as bad as a lost check: a sync that is left out, two calls in the wrong order, a
nonce that is not random. So a file of that path has more points: calls whose result is not used (`drop`), calls that
follow one another (`swap`), conditions that refuse nothing (`condition`), random values (`value`), and reads that must
not come later (`late`). There, errors of the system and of the caller count too.

`// mutant: why` on the line of a check, or alone on the line before, says why no test can notice that the check is
gone. It holds for the whole statement.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

FUNCTION = "vaultMutant"
KINDS = ("guard", "if", "where", "throw", "call", "answer", "binding")
WRITING_KINDS = ("drop", "swap", "condition", "value", "late")
# Bindings of guards, and the value that each gets when its guard is deleted.
MADE_UP = {
    ("RecordHead.swift", "let kind = bytes.first.flatMap(Kind.init)"): "Kind.data",
    ("PackedStream.swift", "let method = bytes.first.flatMap(Method.init)"): "Method.stored",
    ("Preamble.swift", "let known = Compression(rawValue: compression)"): "Compression.none",
    ("Manifest.swift", "let commitment = values.commitment"): "preamble.commitment",
    ("Manifest.swift", "let plaintextLength = values.plaintextLength"): "0",
    ("KeyringText.swift", "let state = KeyringEntry.State(name: stateName)"): "KeyringEntry.State.retired",
    ("ByteCoding.swift", "let high = digits[index]"): "0",
    ("ByteCoding.swift", "let low = digits[index + 1]"): "0",
}
# Errors about the caller's arguments, the system or a writer's input, not about bytes that were read.
NOT_OF_BYTES = ("invalidArgument", "outputExists", "outputFailed", "inputFailed", "keyExists", "noSuchKey",
                "doesNotFit", "tooLarge", "inUse", "memoryUnavailable", "hardLinks")
OTHER_ERRORS = re.compile(r"\.(%s)\b|Errno|MemoryUnavailable|ZlibFailure" % "|".join(NOT_OF_BYTES))
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
REFUSES = re.compile(
    r"\bthrow\b|\breturn\s+(nil|false|true|try|\.\w+|cut\(\)|\(|VaultError|prefix)|\bcontinue\b|\bbreak\b")
CALL = re.compile(r"(?<=[\s{;])try (?:[\w.?]+\.)?(?:check|verify|refuse)\w*\(|(?<=[\s{;])_ = try [\w.]+\.packing\(")
ANSWER = re.compile(r"\)\s*(?:throws(?:\(\w+\))?\s*)?->\s*Bool\??\s*\{|\bvar \w+: Bool \{")
TERNARY = re.compile(r"\breturn ([^\n?{}]+) \? [^\n]+ : (?:nil|\.refused)\b|\{ ([^\n{}?]+) \? \$0 : nil \}")
VALIDITY = re.compile(r"\{ !?([^\n{}]*\bisValid\([^\n{}]*\)) \}")
CONJUNCTION = re.compile(r"\breturn ([^\n{}?]* && [^\n{}?]*)(?=\n)")
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


def masked(text, strings=True):
    """The text with comments, and string literals too, replaced by spaces."""
    out, place = list(text), 0

    def blank(start, end):
        for index in range(start, end):
            if out[index] != "\n":
                out[index] = " "

    def string_end(start):
        quotes = '"""' if text.startswith('"""', start) else '"'
        at = start + len(quotes)
        while not text.startswith(quotes, at):
            if text.startswith("\\(", at):
                depth, at = 1, at + 2
                while depth:
                    if text[at] == '"':
                        at = string_end(at)
                        continue
                    depth += {"(": 1, ")": -1}.get(text[at], 0)
                    at += 1
            else:
                at += 2 if text[at] == "\\" else 1
        return at + len(quotes)

    while place < len(text):
        if text.startswith("//", place):
            end = text.find("\n", place)
            end = len(text) if end < 0 else end
        elif text.startswith("/*", place):
            end = text.index("*/", place) + 2
        elif text[place] == '"':
            end = string_end(place)
            if not strings:
                place = end
                continue
        else:
            place += 1
            continue
        blank(place, end)
        place = end
    return "".join(out)


def closing(mask, opening):
    """The place where the bracket that opens at `opening` closes."""
    depth = 0
    for place in range(opening, len(mask)):
        depth += (mask[place] in "([{") - (mask[place] in ")]}")
        if depth == 0:
            return place
    raise ValueError("a bracket is not closed")


def split(mask, start, end, separator):
    """The parts between separators outside brackets, without surrounding space."""
    parts, depth, begin, place = [], 0, start, start
    while place < end:
        depth += (mask[place] in "([{") - (mask[place] in ")]}")
        if depth == 0 and mask.startswith(separator, place):
            parts.append((begin, place))
            begin = place = place + len(separator)
            continue
        place += 1
    parts.append((begin, end))
    stripped = []
    for first, last in parts:
        part = mask[first:last]
        stripped.append((first + len(part) - len(part.lstrip()), last - len(part) + len(part.rstrip())))
    return [part for part in stripped if part[0] < part[1]]


def is_binding(clause):
    return re.match(r"(let|var|case|#available)\b|(let|var|case)\s", clause) is not None


def body_brace(mask, start):
    """The brace that begins the body of a statement whose conditions begin at `start`: the first one after them that
    belongs to no closure."""
    depth = 0
    for place in range(start, len(mask)):
        character = mask[place]
        if character == "{" and depth == 0:
            # After a trailing closure the condition continues, after a body it does not.
            if not mask[closing(mask, place) + 1:].lstrip(" ").startswith((",", ".", "==", "&&")):
                return place
        depth += (character in "([{") - (character in ")]}")
    raise ValueError("a statement has no body")


class Finder:
    def __init__(self, path, text, writes=False):
        self.source = Source(path, text, masked(text))
        self.mask = self.source.mask
        self.uncommented = masked(text, strings=False)
        self.writes = writes
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

    # MARK: Kinds of checks

    def guards(self):
        for found in re.finditer(r"\bguard\b", self.mask):
            start, depth, place = found.end(), 0, found.end()
            while depth or not re.match(r"\belse\s*\{", self.mask[place:]) or self.mask[place - 1].isalnum():
                depth += (self.mask[place] in "([{") - (self.mask[place] in ")]}")
                place += 1
            brace = self.mask.index("{", place)
            end = closing(self.mask, brace)
            body = self.mask[brace + 1:end]
            parts = split(self.mask, start, place, ",")
            is_other = OTHER_ERRORS.search(self.source.text[brace:end]) is not None
            if not REFUSES.search(body) or is_other and not self.writes:
                if self.writes and body.strip() == "return":
                    conditions = [part for part in parts if not is_binding(self.mask[part[0]:part[1]])]
                    self.clauses(conditions, "condition", (found.start(), brace), True)
                continue
            for part in parts:
                self.made_up(part, (found.start(), brace))
            conditions = [part for part in parts if not is_binding(self.mask[part[0]:part[1]])]
            if not conditions:
                self.source.bindings += 1
            self.clauses(conditions, "guard", (found.start(), brace), is_other)

    def made_up(self, part, statement):
        """Handles a binding for which MADE_UP has a value."""
        text = self.source.text[part[0]:part[1]]
        value = MADE_UP.get((Path(self.source.path).name, text))
        if value is None:
            return
        point = Point(self.source.path, self.source.line(part[0]), text, "binding", True, False, self.why(*statement))
        self.source.points.append(point)
        self.source.edits.append((part[1], 1, f" ?? ({FUNCTION}(", point, f", false) ? {value} : nil)"))

    def ifs(self):
        for found in re.finditer(r"(?<!#)\b(if|where|while)\b(?! case)|\bif case\b", self.mask):
            word = found.group(0).split()[0]
            if word == "while":
                continue
            start = found.start() + len(word)
            if word == "where":
                self.where(start, found)
                continue
            try:
                brace = body_brace(self.mask, start)
            except ValueError as error:
                raise ValueError(f"{self.source.path}:{self.source.line(start)}: {error}") from error
            end = closing(self.mask, brace)
            body = self.mask[brace + 1:end].strip()
            statement = (found.start(), brace)
            parts = split(self.mask, start, brace, ",")
            conditions = [part for part in parts if not is_binding(self.mask[part[0]:part[1]])]
            is_other = OTHER_ERRORS.search(self.source.text[brace:end]) is not None
            if not re.match(r"throw\b|return (nil|false|\.tailDamaged)\b", body):
                if self.writes:
                    self.clauses(conditions, "condition", statement, True)
                continue
            if is_other and not self.writes:
                continue
            if conditions:
                self.wrap(*conditions[0], "if", False, statement, writes=is_other)
                for condition in conditions[1:]:
                    self.wrap(*condition, "if", True, statement, inverts=False, writes=is_other)
            elif not is_other:
                self.insert(parts[-1][1], ", ", "", self.source.text[found.start():brace], "if", statement)

    def where(self, start, found):
        end, depth = start, 0
        while depth or self.mask[end] not in "{:\n":
            depth += (self.mask[end] in "([") - (self.mask[end] in ")]")
            end += 1
        rest = self.mask[end + 1:].lstrip()
        if rest.startswith("throw"):
            (part,) = split(self.mask, start, end, "\0")
            self.wrap(*part, "where", False, (found.start(), end))

    def throws(self):
        """Finds every `throw` that is the whole body of a `case` or `catch`."""
        for found in re.finditer(r"\bthrow\b", self.mask):
            before = self.mask[:found.start()].rstrip()
            line = before[before.rfind("\n") + 1:].strip()
            if not re.match(r"(case\b.*|default):$|\}? ?catch\b.*\{$", line) or " where " in line:
                continue
            end = self.statement_end(found.start())
            is_other = OTHER_ERRORS.search(self.source.text[found.start():end]) is not None
            if is_other and (not self.writes or "catch" in line and self.gives_value(found.start())):
                continue
            statement = (found.start(), end)
            self.insert(found.start(), "if ", " { ", self.source.text[found.start():end], "throw", statement, is_other)
            self.source.edits.append((end, 0, " }", None, ""))

    def gives_value(self, place):
        """Whether the `do` of a `catch` gives a value that is missing if the `catch` does not throw."""
        depth, end = 0, self.mask.rfind("}", 0, self.mask.rfind("catch", 0, place))
        for index in range(end, -1, -1):
            depth += (self.mask[index] == "}") - (self.mask[index] == "{")
            if depth == 0:
                break
        return re.search(r"\breturn \S|(?m:^\s*\(?\w+(, \w+)*\)? = )|\{ \(?\w+(, \w+)*\)? = ", self.mask[index:end]) is not None

    def calls(self):
        for found in re.finditer(CALL, self.mask):
            before = self.mask[:found.start()].rstrip(" ")
            if not before.endswith(("\n", "{", ";", "}")):
                continue
            end = closing(self.mask, self.mask.index("(", found.start())) + 1
            # With its trailing closures.
            while closure := re.match(r" (\w+: )?\{", self.mask[end:]):
                end = closing(self.mask, end + closure.end() - 1) + 1
            self.insert(found.start(), "if ", " { ", self.source.text[found.start():end], "call", (found.start(), end))
            self.source.edits.append((end, 0, " }", None, ""))

    def answers(self):
        for found in re.finditer(ANSWER, self.mask):
            brace = found.end() - 1
            end = closing(self.mask, brace)
            body = self.mask[brace + 1:end]
            if not re.search(r"\b(return|let|var|guard|if|for|switch|do|defer|while)\b", body):
                parts = split(self.mask, brace + 1, end, "\0")
                if parts and body.strip() not in ("get", "true", "false"):
                    self.clauses(parts, "answer", (brace, end))
                continue
            for back in re.finditer(r"\breturn (?!true\b|false\b|nil\b)", body):
                start = brace + 1 + back.end()
                stop = self.statement_end(start)
                if re.search(r" \? ", self.mask[start:stop]):
                    continue
                self.clauses([(start, stop)], "answer", (start, stop))
        for pattern in (TERNARY, VALIDITY, CONJUNCTION):
            for found in re.finditer(pattern, self.mask):
                group = next(number for number in (1, 2) if number <= pattern.groups and found.group(number))
                start, end = found.span(group)
                if all(not start <= edit[0] < end for edit in self.source.edits):
                    self.clauses([(start, end)], "answer", found.span())

    # MARK: Steps of the writing path

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

    def choose(self, start, end, other, kind):
        """Makes another expression take the place of this one."""
        text = self.source.text[start:end]
        point = Point(self.source.path, self.source.line(start), " ".join(text.split()), kind, False, False,
                      self.why(start, end), True)
        self.source.points.append(point)
        self.source.edits.append((start, 1, f"({FUNCTION}(", point, ", true) ? "))
        self.source.edits.append((end, 0, f" : {other})", None, ""))

    def choices(self):
        for found in re.finditer(CHOICE, self.mask):
            if all(not found.start(1) <= edit[0] < found.end(1) for edit in self.source.edits):
                self.wrap(*found.span(1), "condition", False, found.span(), False, True)

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

    def find(self):
        for kind in (self.guards, self.ifs, self.throws, self.calls, self.answers):
            kind()
        if self.writes:
            for kind in (self.steps, self.orders, self.values, self.choices):
                kind()
        return self.source


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


def find(root, path, writes=False):
    """Reads a source and finds its checks, and its steps if it is of the writing path."""
    source = Finder(path, (Path(root) / path).read_text(encoding="utf-8"), writes).find()
    source.points.sort(key=lambda point: point.line)
    alike = Counter()
    for point in source.points:
        name = f"{path} {point.kind} {point.text}"
        point.key = f"{name} {alike[name]}"
        alike[name] += 1
    return source
