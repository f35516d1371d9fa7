#!/usr/bin/env python3
"""Writes every vector of this folder and COVERAGE.md; with --check, verifies that the folder holds exactly these."""

import sys
from pathlib import Path

import accepted
import coverage
import expected
import group_a
import group_b
import group_c
import group_d
import group_e
import group_f
import group_g
import group_h
import group_i
import group_j
import group_l
import group_m
import group_n
import group_p
import group_q
import group_q_paths
import group_q_signatures
import group_r
import group_s
import group_t
import group_t_keys
import group_t_public
import recovery
from vector import decoded, encoded, header, stores, vectors

HERE = Path(__file__).resolve().parent


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit("usage: generate.py [--check]")
    for group in (group_a, group_b, group_c, group_d, group_e, group_f, group_g, group_h, group_i, group_j, group_l,
                  group_m, group_n, group_p, group_q, group_q_paths, group_q_signatures, group_r, group_s, group_t,
                  group_t_keys, group_t_public, recovery, accepted, expected):
        group.make()
    files = {f"{name}.vector": encoded(lines, data) for name, lines, data in vectors}
    files |= {f"stores/{name}.vector": header(lines) for name, lines, _ in stores}
    text, wrong = coverage.page(vectors + stores)
    files["COVERAGE.md"] = text.encode()
    wrong += check(files) if arguments else write(files)
    print(f"{len(vectors) + len(stores)} vectors, {sum(map(len, files.values())):,} bytes")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def same(path, new):
    """Whether two files are equal. Another zlib may have compressed a container, so the contents are compared."""
    if not path.exists():
        return False
    old = path.read_bytes()
    return old == new or path.suffix == ".vector" and decoded(old) == decoded(new)


def check(files):
    wrong = [f"missing or changed: {name}" for name, new in files.items() if not same(HERE / name, new)]
    return wrong + [f"not from the generator: {path.relative_to(HERE)}" for path in extra(files)]


def write(files):
    for path in extra(files):
        path.unlink()
    for name, new in files.items():
        if not same(HERE / name, new):
            (HERE / name).parent.mkdir(exist_ok=True)
            (HERE / name).write_bytes(new)
    return []


def extra(files):
    return [path for path in sorted(HERE.rglob("*.vector")) if str(path.relative_to(HERE)) not in files]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
