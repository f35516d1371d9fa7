#!/usr/bin/env python3
"""Compares pieces of 64 KiB through libvaultfile with the same through VaultFile, by processor time: the least of several
runs, which alternate. It links the Swift program with the library that `make library` has built.

usage: compare.py SWIFTC LIBRARY [RUNS]   (LIBRARY is the folder .build/library)
"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    swiftc, library = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    here = pathlib.Path(__file__).parent
    maps = [word for path in ROOT.glob("Sources/C*/module.modulemap") for word in ("-I", path.parent)]
    maps += [
        word for path in library.parent.glob("checkouts/*/Sources/*/include/module.modulemap") for word in ("-I", path.parent)]
    with tempfile.TemporaryDirectory() as folder:
        programs = {"Swift": pathlib.Path(folder, "swift"), "C": pathlib.Path(folder, "c")}
        subprocess.run(
            [swiftc, "-O", "-parse-as-library", here / "speed.swift", "-I", library.parent / "release/Modules", *maps,
             library.parent / "release/libVaultC.a", "-static-stdlib", "-use-ld=lld", "-lsodium", "-lcrypto", "-lz",
             "-lFoundationEssentials", "-l_FoundationCollections", "-l_FoundationCShims", "-o", programs["Swift"]],
            check=True)
        subprocess.run(
            ["cc", "-O2", here / "speed.c", "-I", library / "include", "-L", library / "lib", "-lvaultfile",
             f"-Wl,-rpath,{library / 'lib'}", "-o", programs["C"]], check=True)
        best = {}
        for _ in range(runs):
            for name, program in programs.items():
                times = [float(word) for word in subprocess.run(
                    [program], check=True, stdout=subprocess.PIPE, text=True).stdout.split()]
                best[name] = [min(pair) for pair in zip(times, best.get(name, times))]
    for what, swift, c in zip(("encrypt", "read ranges", "decrypt"), best["Swift"], best["C"]):
        print(f"{what}: Swift {swift:.3f} s, C {c:.3f} s, {c / swift:.3f} times")


main()
