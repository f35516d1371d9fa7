"""Brackets, comments and strings of Swift sources.

This module matches brackets instead of parsing Swift. That is enough, because one tool formats all sources.
"""

import re


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
