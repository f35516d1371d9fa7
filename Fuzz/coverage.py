"""Shows which lines of the reading path the fuzzer's inputs reach:
python3 Fuzz/coverage.py FUZZER FOLDER TARGET...

Runs every input in FOLDER and in the regressions through a fuzzer that was built with coverage. Prints for each target
how many lines of each source it reaches, then the lines that no target reaches.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Mapping

TOP = Path(__file__).resolve().parent.parent
# The sources that take untrusted bytes.
READING = (
    "VaultFormat/", "VaultStream/", "VaultStore/Keys/", "VaultFile/Keyring/", "VaultFile/Packing/", "VaultFile/Pipeline/",
    "VaultFile/Reading/", "VaultFile/Recovery/", "VaultFile/Rotation/", "VaultCommand/Arguments/",
    "VaultCommand/Files/InputList.swift", "VaultCommand/Report/Escaping.swift",
    "VaultCommand/Report/InspectionText.swift")
LCOV = dict[str, dict[int, int]]
# The toolchain's own tools: a profile is for one version of LLVM.
TOOLS = Path(shutil.which(os.environ.get("SWIFT", "swift")) or "").resolve().parent


def lines_of(fuzzer: str, profile: Path) -> LCOV:
    text = subprocess.run(
        [TOOLS / "llvm-cov", "export", "-format=lcov", f"-instr-profile={profile}", fuzzer], check=True,
        capture_output=True, text=True).stdout
    found: LCOV = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == "SF":
            name = os.path.relpath(value, TOP / "Sources")
            lines = found.setdefault(name, {}) if name.startswith(READING) else {}
        elif key == "DA":
            number, count = value.split(",")[:2]
            lines[int(number)] = int(count)
    return found


def run(fuzzer: str, folder: Path, target: str) -> Path:
    places = [folder / "corpus" / target, folder / "seeds" / target, TOP / "Fuzz" / "regressions" / target]
    inputs = [str(path) for place in places if place.is_dir() for path in sorted(place.iterdir())]
    raw = folder / f"{target}.profraw"
    # %c does not exist on all systems. So inputs run in groups that fit on a command line, with a file for each group.
    profiles = []
    for start in range(0, len(inputs), 1000):
        part = raw.with_suffix(f".{start}.profraw")
        subprocess.run(
            [fuzzer, f"--target={target}", "-timeout=60", *inputs[start:start + 1000]], check=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"LLVM_PROFILE_FILE": str(part), "SWIFT_BACKTRACE": "enable=no"})
        profiles.append(part)
    profile = folder / f"{target}.profdata"
    subprocess.run([TOOLS / "llvm-profdata", "merge", "-sparse", "-o", profile, *profiles], check=True)
    for part in profiles:
        part.unlink()
    return profile


def share(lines: Mapping[Any, int]) -> str:
    reached = sum(count > 0 for count in lines.values())
    return f"{reached:5} of {len(lines):5}"


def main() -> int:
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 64
    missing = [name for name in READING if not (TOP / "Sources" / name).exists()]
    if missing:
        print("sources are missing: " + ", ".join(missing), file=sys.stderr)
        return 1
    fuzzer, folder = sys.argv[1], Path(sys.argv[2])
    together: LCOV = {}
    for target in sys.argv[3:]:
        found = lines_of(fuzzer, run(fuzzer, folder, target))
        print(f"== {target}")
        for name, lines in sorted(found.items()):
            if any(lines.values()):
                print(f"{share(lines)}  {name}")
            into = together.setdefault(name, {})
            for number, count in lines.items():
                into[number] = into.get(number, 0) + count
    print("== lines that no target reaches")
    for name, lines in sorted(together.items()):
        source = (TOP / "Sources" / name).read_text().splitlines()
        missed = sorted(number for number, count in lines.items() if count == 0)
        print(f"{share(lines)}  {name}")
        for number in missed:
            print(f"    {number:4}  {source[number - 1].strip()}")
    everything = {(name, number): count for name, lines in together.items() for number, count in lines.items()}
    print(f"== all together: {share(everything)} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
