"""Finds the checks of the reading path in Swift sources.

A check is a place that decides whether untrusted bytes are accepted: a condition of a `guard`, an `if` that throws or
refuses, a `throw` that is alone in a `case` or `catch`, a call whose only effect is to throw, a clause in the result of
a function that answers yes or no.

A `guard` or `if` that has only bindings cannot be deleted, because its values cannot be made up. Such checks are
counted, and the checks in the function that gives the value are mutants of their own.
"""

import re
from pathlib import Path

from brackets import body_brace, closing, is_binding, split
from switches import FUNCTION, Point, Switches

KINDS = ("guard", "if", "where", "throw", "call", "answer", "binding")
# Bindings of guards, and the value that each gets when its guard is deleted.
MADE_UP = {
    ("RecordHead.swift", "let kind = bytes.first.flatMap(Kind.init)"): "Kind.data",
    ("PackedStream.swift", "let method = bytes.first.flatMap(Method.init)"): "Method.stored",
    ("Preamble.swift", "let known = Compression(rawValue: compression)"): "Compression.none",
    ("Manifest.swift", "let commitment = values.commitment"): "preamble.commitment",
    ("Manifest.swift", "let plaintextLength = values.plaintextLength"): "0",
    ("KeyringLine.swift", "let state = KeyringEntry.State(name: stateName)"): "KeyringEntry.State.retired",
    ("ByteCoding.swift", "let high = digits[index]"): "0",
    ("ByteCoding.swift", "let low = digits[index + 1]"): "0",
}
# Errors about the caller's arguments, the system or a writer's input, not about bytes that were read.
NOT_OF_BYTES = ("invalidArgument", "outputExists", "outputFailed", "inputFailed", "keyExists", "noSuchKey",
                "doesNotFit", "tooLarge", "inUse", "memoryUnavailable", "hardLinks")
OTHER_ERRORS = re.compile(r"\.(%s)\b|Errno|MemoryUnavailable|ZlibFailure" % "|".join(NOT_OF_BYTES))
REFUSES = re.compile(
    r"\bthrow\b|\breturn\s+(nil|false|true|try|\.\w+|cut\(\)|\(|VaultError|prefix)|\bcontinue\b|\bbreak\b")
CALL = re.compile(r"(?<=[\s{;])try (?:[\w.?]+\.)?(?:check|verify|refuse)\w*\(|(?<=[\s{;])_ = try [\w.]+\.packing\(")
ANSWER = re.compile(r"\)\s*(?:throws(?:\(\w+\))?\s*)?->\s*Bool\??\s*\{|\bvar \w+: Bool \{")
TERNARY = re.compile(r"\breturn ([^\n?{}]+) \? [^\n]+ : (?:nil|\.refused)\b|\{ ([^\n{}?]+) \? \$0 : nil \}")
VALIDITY = re.compile(r"\{ !?([^\n{}]*\bisValid\([^\n{}]*\)) \}")
CONJUNCTION = re.compile(r"\breturn ([^\n{}?]* && [^\n{}?]*)(?=\n)")


class Checks(Switches):
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

    def find(self):
        for kind in (self.guards, self.ifs, self.throws, self.calls, self.answers):
            kind()
        return self.source
