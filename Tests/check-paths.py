#!/usr/bin/env python3
"""Checks that every path and make target that the documents name exists.

Documents are read as text: links of Markdown, and names in backticks that begin with a folder of this repository, or
that are `make TARGET`.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    "README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "Documentation/*.md", "Fuzz/README.md",
    "Benchmarks/README.md", "Spec/vectors/README.md", "Spec/reference/README.md"]
FOLDERS = ("Sources", "Tests", "Spec", "Fuzz", "Benchmarks", "Documentation", "Examples")
# In the middle of a path these stand for something that the reader chooses.
CHOSEN = re.compile(r"[A-Z]{3,}\b(?!\.md)|\*|…")


def targets():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", makefile, re.M))


def named(text):
    """The paths of a document's links, relative to it, and those in backticks, relative to the root."""
    links = [link for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in link]
    marked = re.findall(r"`([^`\n]+)`", text)
    paths = [name.split()[0] for name in marked if name.startswith(tuple(folder + "/" for folder in FOLDERS))]
    return links, [path for path in paths if not CHOSEN.search(path)]


def faults(path, known):
    text = path.read_text(encoding="utf-8")
    links, paths = named(text)
    for link in links:
        if not (path.parent / link).exists():
            yield f"no such file: {link}"
    for each in paths:
        if not (ROOT / each).exists():
            yield f"no such file: {each}"
    for target in re.findall(r"(?:`|^    (?:cd \S+ && )?)make ([a-z][a-z-]*)", text, re.M):
        if target not in known:
            yield f"no such target: make {target}"


def main():
    known, count = targets(), 0
    documents = [path for pattern in DOCUMENTS for path in sorted(ROOT.glob(pattern))]
    for path in documents:
        for fault in faults(path, known):
            count += 1
            print(f"{path.relative_to(ROOT)}: {fault}", file=sys.stderr)
    print(f"{len(documents)} documents, {count} names that do not exist")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
