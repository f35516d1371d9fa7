"""Chooses containers for a fuzzer that knows no keys, and the key that opens them:
python3 Fuzz/one_key.py FOLDER INPUTS...

The inputs come with their secrets. This takes the key that opens most of them, and writes it to FOLDER/key and its
containers to FOLDER/inputs.
"""

import hashlib
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Spec" / "reference"))

from key_text import key_line  # noqa: E402

LARGEST = 6000
MOST = 300


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 64
    folder, found = Path(sys.argv[1]), defaultdict(set)
    for place in map(Path, sys.argv[2:]):
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            head, _, container = path.read_bytes().partition(b"\n\n")
            keys = [line[5:] for line in head.split(b"\n") if line.startswith(b"key: ")]
            if len(keys) == 1 and len(keys[0]) == 64 and b"\ncontext:" not in head and len(container) <= LARGEST:
                found[keys[0]].add(container)
    if not found:
        print("no container with exactly one key in " + ", ".join(sys.argv[2:]), file=sys.stderr)
        return 1
    key, containers = max(found.items(), key=lambda item: len(item[1]))
    (folder / "inputs").mkdir(parents=True, exist_ok=True)
    for container in sorted(containers, key=len)[:MOST]:
        (folder / "inputs" / hashlib.sha1(container).hexdigest()).write_bytes(container)
    (folder / "key").write_text(key_line(bytes.fromhex(key.decode())) + "\n")
    print(f"{len(containers)} containers of one key")
    return 0


if __name__ == "__main__":
    sys.exit(main())
