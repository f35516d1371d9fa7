"""Containers for a fuzzer that knows no keys, and the key that opens them:
python3 Fuzz/one_key.py FOLDER INPUTS...

Of the inputs, which come with their secrets, those of the key that most of them have: the containers go to FOLDER/inputs,
and the key to FOLDER/key.
"""

import hashlib
import sys
from collections import defaultdict
from pathlib import Path

LARGEST = 6000
MOST = 300
ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def key_line(key: bytes) -> str:
    """KEYFILE-2."""
    prefix = "vaultfile-key-"
    bits = f"{int.from_bytes(key, 'big'):0256b}" + "0000"
    digits = [int(bits[at:at + 5], 2) for at in range(0, 260, 5)]
    state = 1
    for digit in [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix] + digits + [0] * 6:
        top, state = state >> 25, (state & 0x1FFFFFF) << 5 ^ digit
        for bit, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            state ^= generator if top >> bit & 1 else 0
    digits += [(state ^ 1) >> 5 * (5 - at) & 31 for at in range(6)]
    return (prefix + "1" + "".join(ALPHABET[digit] for digit in digits)).upper()


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
    key, containers = max(found.items(), key=lambda item: len(item[1]))
    (folder / "inputs").mkdir(parents=True, exist_ok=True)
    for container in sorted(containers, key=len)[:MOST]:
        (folder / "inputs" / hashlib.sha1(container).hexdigest()).write_bytes(container)
    (folder / "key").write_text(key_line(bytes.fromhex(key.decode())) + "\n")
    print(f"{len(containers)} containers of one key")
    return 0


if __name__ == "__main__":
    sys.exit(main())
