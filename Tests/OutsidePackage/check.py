#!/usr/bin/env python3
"""Checks that the package uses every public symbol of VaultFile, by its name.

usage: check.py SYMBOLS, the folder that Documentation/build.py writes
"""

import json
import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parent / "Sources"


def main():
    words = set()
    for file in SOURCES.rglob("*.swift"):
        words.update(re.findall(r"\w+|[<>=+]{1,2}", re.sub(r"//.*", "", file.read_text())))
    missing = set()
    count = 0
    for file in pathlib.Path(sys.argv[1]).glob("*.symbols.json"):
        for symbol in json.loads(file.read_text())["symbols"]:
            path = symbol["pathComponents"]
            # `init(bytes:)` is used by its type's name and its labels.
            name = path[-1].split("(")[0].strip("`").split(" ")[0]
            labels = [label for label in path[-1].partition("(")[2].rstrip(")").split(":") if label not in ("", "_")]
            # The label of a closure that comes last is left out where it is called.
            optional = labels[-1:] if len(labels) > 1 or name != "init" else []
            wanted = [label for label in labels if label not in optional] + ([path[-2]] if name == "init" and len(path) > 1 else [name])
            count += 1
            if any(word not in words for word in wanted) and "hash(into:)" not in path[-1]:
                missing.add(".".join(path))
    for path in sorted(missing):
        print(f"not used: {path}")
    print(f"{count} public symbols, {len(missing)} of them not used by the package outside")
    sys.exit(1 if missing else 0)


main()
