"""Makes and builds the copy of the tree in which every check can be switched."""

import json
import os
import re
import shlex
import subprocess
import sys

import checks
from switches import rewritten

SWIFT = shlex.split(os.environ.get("SWIFT", "swift"))
SWITCH = """#include "mutant.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int chosen = -1, value;
static unsigned char *hits;

__attribute__((constructor)) static void start(void) {
    const char *mutant = getenv("VAULTFILE_MUTANT"), *path = getenv("VAULTFILE_MUTANT_HITS");
    if (mutant) {
        chosen = atoi(mutant);
        value = strchr(mutant, '=')[1];
    }
    if (path) {
        int file = open(path, O_RDWR);
        void *map = file < 0 ? MAP_FAILED : mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (map != MAP_FAILED) hits = map;
        if (file >= 0) close(file);
    }
}

bool vaultMutant(int number, bool given) {
    if (hits) hits[number] = 1;
    if (number != chosen) return given;
    return value == 't' ? true : value == 'f' ? false : !given;
}
"""
# The copy leaves out the command: its tests start processes, and check nothing that the library's tests do not.
PACKAGE = """
package.targets.removeAll { ["VaultCommand", "VaultfileMain", "CommandTests"].contains($0.name) }
package.products.removeAll { $0.name == "vaultfile" }
package.targets.append(.target(name: "VaultMutant", path: "Mutant"))
for target in package.targets
where ["VaultCrypto", "VaultDeflate", "VaultFormat", "VaultTar", "VaultStream", "VaultFile", "VaultArchive", "VaultMount"].contains(target.name) {
    target.dependencies.append("VaultMutant")
}
"""


def write(path, text):
    """Writes a file only if its contents change, so that unchanged files are not compiled again."""
    data = text if isinstance(text, bytes) else text.encode()
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def copy_tree(root, tree, found, left_out):
    changed = {source.path: source for source in found}
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True, capture_output=True,
                           text=True).stdout.splitlines()
    for name in names:
        path = root / name
        if path.is_symlink() or not path.is_file() or name.startswith(".git"):
            continue
        if name in changed:
            source = changed[name]
            write(tree / name, rewritten(source, left_out | source.unwanted))
        elif name == "Package.swift":
            text = path.read_text(encoding="utf-8").replace(".treatAllWarnings(as: .error),", "")
            write(tree / name, text.replace("\nfor target in package.targets where", PACKAGE
                                            + "for target in package.targets where", 1))
        else:
            write(tree / name, path.read_bytes())
            # Tests start some of these files as programs.
            (tree / name).chmod(path.stat().st_mode & 0o777)
    for folder in ("Sources", "Tests", "Spec"):
        for path in (tree / folder).rglob("*"):
            name = str(path.relative_to(tree))
            if path.is_file() and "__pycache__" not in name and name not in names:
                path.unlink()
    if (root / "Package.resolved").exists():
        write(tree / "Package.resolved", (root / "Package.resolved").read_bytes())
    write(tree / "Mutant/mutant.c", SWITCH)
    write(tree / "Mutant/include/mutant.h", "#include <stdbool.h>\nbool vaultMutant(int number, bool given);\n")


def build(root, work, found, options):
    """Builds the tests. If the deletion of a check does not compile, it leaves out the check and builds again.

    Returns the points that were left out."""
    tree, known = work / "tree", work / "left_out.json"
    before = set(json.loads(known.read_text())) if known.exists() else set()
    points = [point for source in found for point in source.wanted]
    left_out = {point.number for point in points if point.key in before}
    if options.built:
        return left_out
    while True:
        copy_tree(root, tree, found, left_out)
        done = subprocess.run(
            [*SWIFT, "build", "--build-tests", "-c", options.configuration, "-Xswiftc", "-enable-testing",
             "--scratch-path", str(work / "build")], cwd=tree, capture_output=True, text=True)
        if done.returncode == 0:
            known.write_text(json.dumps([point.key for point in points if point.number in left_out]))
            return left_out
        new = set()
        for path, line, message in set(re.findall(re.escape(str(tree)) + r"/(\S+?):(\d+):\d+: error: (.*)",
                                                  done.stdout + done.stderr)):
            # If a deleted `throw` leaves a variable unset, the error is where the variable is used.
            reach, kinds = (60, ("throw",)) if "initialized" in message else (12, checks.KINDS)
            near = [point for point in points if point.path == path and 0 <= int(line) - point.line < reach
                    and point.kind in kinds and point.number not in left_out]
            if near:
                point = max(near, key=lambda point: point.line)
                print(f"does not compile without: {path}:{point.line}: {point.text[:70]}: {message[:100]}", flush=True)
                new.add(point.number)
        if not new:
            sys.exit((done.stdout + done.stderr)[-4000:])
        left_out |= new
