#!/usr/bin/env python3
"""Builds the documentation of the library products. Fails on any warning, on any public symbol without a comment, and on
any that throws and does not say what.

VaultFile re-exports VaultStream, VaultTar and VaultFormat, and programs import it alone. The compiler's symbol graph of a module
leaves out what the module re-exports, unless the re-exported modules are named. SwiftPM cannot name them, so this script
extracts the symbol graphs itself. Each product becomes one archive with all types that its users see.

usage: build.py [--swift SWIFT] [--scratch-path FOLDER] [--output FOLDER] [--symbols]
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The pages of VaultStore link to those of VaultFile only by name.
PRODUCTS = {
    "VaultStream": ["VaultFormat", "VaultTar"], "VaultFile": ["VaultFormat", "VaultTar", "VaultStream"],
    "VaultStore": []}
TYPES = {"swift.struct", "swift.class", "swift.enum", "swift.protocol", "swift.actor"}


def run(*command, **options):
    return subprocess.run([str(word) for word in command], cwd=ROOT, check=True, text=True, **options)


def include_paths(modules, scratch):
    """Where the compiler finds the Swift modules, and the module maps of C libraries."""
    folders = [modules] + sorted(path.parent for path in (ROOT / "Sources").glob("C*/module.modulemap"))
    folders += sorted(path.parent for path in (scratch / "checkouts").glob("*/Sources/*/include/module.modulemap"))
    return [word for folder in folders for word in ("-I", folder)]


def extract(swift, scratch, module, reexported, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    binaries = pathlib.Path(run(
        swift, "build", "--scratch-path", scratch, "--show-bin-path", stdout=subprocess.PIPE).stdout.strip())
    modules = binaries / "Modules"
    info = json.loads(run(swift, "-print-target-info", stdout=subprocess.PIPE).stdout)
    target = info["target"]["triple"]
    sdk = []
    if sys.platform == "darwin":
        sdk = ["-sdk", run("xcrun", "--show-sdk-path", stdout=subprocess.PIPE).stdout.strip()]
    run(
        swift, "symbolgraph-extract", "-module-name", module, "-target", target, *sdk,
        *include_paths(modules, scratch),
        "-minimum-access-level", "public", "-skip-synthesized-members", "-skip-inherited-docs",
        f"-experimental-allowed-reexported-modules={','.join(reexported)}", "-output-dir", folder)


def symbols(folder):
    """The public symbols of a product, each with its path. What the compiler makes by itself has no comment and is left
    out: `init(rawValue:)`."""
    found = {}
    for file in sorted(folder.glob("*.symbols.json")):
        for symbol in json.loads(file.read_text())["symbols"]:
            path = ".".join(symbol["pathComponents"])
            if not path.endswith(".init(rawValue:)"):
                found[symbol["identifier"]["precise"]] = (path, symbol)
    return list(found.values())


def throws(symbol):
    """Whether it is a function or an initialiser that throws, and not a property that holds one."""
    if "property" in symbol["kind"]["identifier"]:
        return False
    return any(part["spelling"].strip().startswith("throws") for part in symbol.get("declarationFragments", []))


def comment(symbol):
    return "\n".join(line["text"] for line in symbol.get("docComment", {}).get("lines", []))


def docc(swift):
    if sys.platform == "darwin":
        return ["xcrun", "docc"]
    return [pathlib.Path(shutil.which(swift)).resolve().parent / "docc"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--swift", default="swift")
    parser.add_argument("--scratch-path", type=pathlib.Path, default=ROOT / ".build", help="where swift builds")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / ".build/docs")
    parser.add_argument("--symbols", action="store_true", help="only the symbol graphs, and which symbols they have")
    arguments = parser.parse_args()
    failed = False
    scratch = ROOT / arguments.scratch_path
    run(arguments.swift, "build", "--scratch-path", scratch, "--target", "VaultStore")
    for module, reexported in PRODUCTS.items():
        graphs = arguments.output / "symbols" / module
        extract(arguments.swift, scratch, module, reexported, graphs)
        found = symbols(graphs)
        bare = sorted(path for path, symbol in found if "docComment" not in symbol)
        silent = sorted(
            path for path, symbol in found if throws(symbol) and "- Throws:" not in comment(symbol))
        types = sum(symbol["kind"]["identifier"] in TYPES for _, symbol in found)
        print(f"{module}: {types} public types, {len(found)} public symbols, "
              f"{len(bare)} of them without a comment, {len(silent)} that throw and do not say what")
        for path in bare:
            print(f"  without a comment: {path}")
        for path in silent:
            print(f"  does not say what it throws: {path}")
        failed = failed or bool(bare) or bool(silent)
        if arguments.symbols:
            continue
        archive = arguments.output / f"{module}.doccarchive"
        shutil.rmtree(archive, ignore_errors=True)
        converted = subprocess.run(
            [str(word) for word in [
                *docc(arguments.swift), "convert", ROOT / "Sources" / module / f"{module}.docc",
                "--additional-symbol-graph-dir", graphs, "--output-dir", archive, "--warnings-as-errors",
                "--fallback-display-name", module, "--fallback-bundle-identifier", f"vaultfile.{module}"]])
        failed = failed or converted.returncode != 0
    sys.exit(1 if failed else 0)


main()
