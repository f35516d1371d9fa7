#!/usr/bin/env python3
"""Checks the C library that `make library` has made: what it exports and needs, and vaultfile.h against the functions that
the compiler has seen, against the errors of VaultFile, and as C and C++.

usage: check-library.py SWIFTC LIBRARY   (LIBRARY is the folder .build/library)
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "Sources/VaultC"
HEADER = SOURCES / "vaultfile.h"
# Of the system and of Debian's packages libsodium23, libssl3 and zlib1g. The rest of the list is the C library.
NEEDED = {"libsodium.so", "libcrypto.so", "libz.so", "libc.so", "libm.so", "libgcc_s.so", "libstdc++.so",
          "ld-linux-x86-64.so", "ld-linux-aarch64.so"}
faults = []


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, text=True, stdout=subprocess.PIPE).stdout


def expect(holds, message):
    if not holds:
        faults.append(message)


def functions(text):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    return set(re.findall(r"\b(vaultfile_\w+)\s*\(", text)) - {
        name for name in re.findall(r"\(\*(vaultfile_\w+)\)", text)}


def check_symbols(library):
    exported = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", library).splitlines()}
    exported.discard("VAULTFILE_0")
    strange = {name for name in exported if not name.startswith("vaultfile_")}
    expect(not strange, f"exports what is not the library's: {sorted(strange)[:5]}")
    declared = functions(HEADER.read_text())
    expect(exported == declared, f"exported or declared only: {sorted(exported ^ declared)}")
    dynamic = run("readelf", "-d", library)
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
    other = {name for name in needed if re.sub(r"\.so.*", ".so", name) not in NEEDED}
    expect(not other, f"needs other libraries: {sorted(other)}")
    expect("libvaultfile.so.0" in re.findall(r"SONAME.*\[(.*)\]", dynamic), "has another soname")
    expect(not re.search(r"RPATH|RUNPATH", dynamic), "has a path of libraries in it")
    return len(exported)


def check_header(swiftc, library, folder):
    """A C compiler reads both headers, and refuses a function that they declare differently."""
    maps = [word for path in ROOT.glob("Sources/C*/module.modulemap") for word in ("-I", path.parent)]
    checkouts = library.parent / "checkouts"
    maps += [word for path in checkouts.glob("*/Sources/*/include/module.modulemap") for word in ("-I", path.parent)]
    made = folder / "compiler.h"
    run(swiftc, "-emit-module", "-parse-as-library", "-module-name", "VaultC", "-swift-version", "6",
        "-enable-upcoming-feature", "InternalImportsByDefault", "-enable-upcoming-feature", "MemberImportVisibility",
        "-I", library.parent / "release/Modules", *maps, "-emit-clang-header-path", made, "-o", folder / "VaultC.swiftmodule",
        *sorted(SOURCES.rglob("*.swift")))
    # Handles are pointers to nothing in particular there.
    own = re.sub(r"typedef struct (vaultfile_\w+) \1;", r"typedef void \1;", HEADER.read_text())
    (folder / "own.h").write_text(own)
    (folder / "both.c").write_text('#include "compiler.h"\n#include "own.h"\n')
    run("clang", "-std=c11", "-Wall", "-Werror", "-Wno-nullability-completeness", "-fsyntax-only", folder / "both.c")
    expect(functions(made.read_text()) & functions(own) == functions(own), "the compiler has not seen every function")
    # The header itself, in both languages.
    for language, standard in (("c", "c99"), ("c++", "c++11")):
        run("clang", "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", HEADER)
    # A difference must be noticed.
    (folder / "own.h").write_text(own.replace("uint64_t *length)", "uint32_t *length)"))
    wrong = subprocess.run(
        ["clang", "-std=c11", "-fsyntax-only", folder / "both.c"], stderr=subprocess.PIPE, text=True)
    expect("conflicting types" in wrong.stderr, "a wrong type in the header is not noticed")


def check_statuses():
    statuses = (SOURCES / "Boundary/Failures.swift").read_text()
    numbers = {}
    for first, names in re.findall(r"\(\s*(\d+),\s*\[(.*?)\]\s*\)", statuses, re.S):
        for index, name in enumerate(re.findall(r'"(\w+)"', names)):
            numbers[name] = int(first) + index
    header = dict(re.findall(r"VAULTFILE_(\w+) = (\d+),", HEADER.read_text().split("enum vaultfile_number")[0]))
    wanted = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper(): str(number) for name, number in numbers.items()}
    wanted["OK"] = "0"
    header.pop("OTHER", None)
    expect(header == wanted, f"the numbers differ: {sorted(set(header.items()) ^ set(wanted.items()))}")
    codes = set(re.findall(r"public static let (\w+) = Code", (ROOT / "Sources/VaultFormat/VaultError.swift").read_text()))
    expect(codes <= set(numbers), f"errors without a number: {sorted(codes - set(numbers))}")
    version = re.search(r'VAULTFILE_VERSION "(.*)"', HEADER.read_text()).group(1)
    expect(f'CText("{version}")' in (SOURCES / "Calls/Library.swift").read_text(), "the versions differ")
    return len(numbers)


def main():
    swiftc, library = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    count = check_symbols(library / "lib/libvaultfile.so")
    with tempfile.TemporaryDirectory() as folder:
        check_header(swiftc, library, pathlib.Path(folder))
    statuses = check_statuses()
    for fault in faults:
        print(f"libvaultfile: {fault}", file=sys.stderr)
    print(f"libvaultfile: {count} functions, {statuses} errors, {len(faults)} faults")
    sys.exit(1 if faults else 0)


main()
