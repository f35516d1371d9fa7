#!/usr/bin/env python3
"""Checks that the package uses every public symbol of the products, by its name.

usage: check.py SYMBOLS..., the folders of products that Documentation/build.py writes. The target UsesNAME uses those of
the product NAME.
"""

import json
import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parent / "Sources"


def check(folder):
    """Prints which symbols of a product are not used, and returns whether all are."""
    words = set()
    for file in (SOURCES / f"Uses{folder.name}").rglob("*.swift"):
        words.update(re.findall(r"\w+|[<>=+]{1,2}", re.sub(r"//.*", "", file.read_text())))
    missing = set()
    count = 0
    for file in folder.glob("*.symbols.json"):
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
    print(f"{folder.name}: {count} public symbols, {len(missing)} of them not used by the package outside")
    # A folder without symbols was not written.
    return count > 0 and not missing


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    results = [check(pathlib.Path(name)) for name in sys.argv[1:]]
    sys.exit(0 if all(results) else 1)


main()
