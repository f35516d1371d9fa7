#!/usr/bin/env python3
"""Checks that the folders of each target depend on each other in one direction only.

The compiler keeps targets apart, but files of one target need no imports. So this script reads the types that each
file declares and names, draws an arrow from folder to folder for each name, and fails if the arrows form a circle.
It reads text, not Swift: a nested type with the name of another folder's type looks like an arrow.

check-arrows.py [--all]: with --all it prints every arrow and the types behind it.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "Sources"
DECLARATION = re.compile(
    r"^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|private|fileprivate|final|indirect)\s+)*"
    r"(?:struct|class|enum|protocol|typealias|actor)\s+(\w+)", re.M)
NOT_CODE = [(re.compile(r'"""(.|\n)*?"""'), '""'), (re.compile(r"//.*"), ""), (re.compile(r'"(\\.|[^"\\\n])*"'), '""')]


def code(path):
    text = path.read_text(encoding="utf-8")
    for pattern, replacement in NOT_CODE:
        text = pattern.sub(replacement, text)
    return text


def arrows(target):
    """For each folder of a target, the folders that it uses, and the types behind each."""
    texts = {path: code(path) for path in target.rglob("*.swift")}
    homes = defaultdict(set)
    for path, text in texts.items():
        for name in DECLARATION.findall(text):
            homes[name].add(path.parent)
    found = defaultdict(lambda: defaultdict(set))
    for path, text in texts.items():
        for name in set(re.findall(r"\b[A-Z]\w+\b", text)):
            # A name that two folders declare says nothing.
            if len(homes[name]) == 1 and path.parent not in homes[name]:
                found[path.parent][next(iter(homes[name]))].add(name)
    return found


def circle(found):
    """The folders of one circle, in the order of its arrows; empty if there is none."""
    done = set()

    def visit(folder, way):
        if folder in way:
            return way[way.index(folder):] + [folder]
        if folder in done:
            return []
        for following in sorted(found.get(folder, {})):
            if ring := visit(following, way + [folder]):
                return ring
        done.add(folder)
        return []

    for folder in sorted(found):
        if ring := visit(folder, []):
            return ring
    return []


def main():
    failed = False
    for target in sorted(path for path in SOURCES.iterdir() if path.is_dir()):
        found = arrows(target)
        name = lambda folder: str(folder.relative_to(SOURCES))
        if "--all" in sys.argv:
            for folder in sorted(found):
                for used in sorted(found[folder]):
                    print(f"{name(folder)} -> {name(used)}: {', '.join(sorted(found[folder][used]))}")
        if ring := circle(found):
            failed = True
            print(f"{target.name}: folders depend on each other in a circle:", file=sys.stderr)
            for folder, used in zip(ring, ring[1:]):
                print(f"  {name(folder)} -> {name(used)}: {', '.join(sorted(found[folder][used]))}", file=sys.stderr)
    return 1 if failed else 0


sys.exit(main())
