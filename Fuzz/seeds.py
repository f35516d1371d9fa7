"""Makes the fuzzer's first inputs out of the vectors:
python3 Fuzz/seeds.py FOLDER

FOLDER/TARGET gets files for each target. A container goes in with the secrets of its vector and with its file key, where
a slot gives it: the fuzzer seals with it what it has changed.
"""

import hashlib
import sys
from pathlib import Path
from typing import Any, Iterator, Optional

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "Spec" / "reference"))

import primitives as p  # noqa: E402
from check_vectors import parse_vector  # noqa: E402

LARGEST = 24_000
# The keys of the Spec's worked example, in the text form of its appendix A.
KEY_LINES = ("VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0S67YV7J",
             "VAULTFILE-KEY-1YQSJYGEYY5NZW2PF9G4JCTFW9UCRZV3NXS6NVDEC8YARK0PA8CLS6MGFW6")
KEYS = (bytes(range(32)), bytes(range(32, 64)))
COMMAND_LINES = (
    "decrypt --offset 1K --length 2MiB a.vault", "encrypt --chunk-size 64K --header-capacity 4096 -o b a",
    "decrypt -o - -", "verify --jobs 2 --json a b", "recover --header 512 -o x a.vault", "inspect -v a.vault",
    "rotate --add file:k --remove others a", "rotate --add passphrase-fd:3 --keep tail a", "repair a b c",
    "key generate --name n", "key show", "reencrypt --to x a", "encrypt -p -r dir --compress deflate",
    "decrypt -orange --context=a= -- -x", "--version", "help encrypt", "key destroy x", "encrypt --files-from - -0",
)


def slots_of(copy: bytes) -> Iterator[tuple[int, bytes]]:
    at = 76
    for _ in range(int.from_bytes(copy[72:74], "big")):
        length = 20 + int.from_bytes(copy[at + 2:at + 4], "big")
        if at + length > len(copy):
            return
        yield int.from_bytes(copy[at:at + 2], "big"), copy[at:at + length]
        at += length


def file_key(container: bytes, fields: dict[str, Any]) -> Optional[bytes]:
    """What a slot of any copy, whatever else is wrong with it, gives for one of the vector's secrets."""
    keys = {p.key_id(key): key for key in map(bytes.fromhex, fields["key"]) if len(key) == 32}
    at = container.find(p.MAGIC)
    while at >= 0:
        preamble = container[at:at + 64]
        for kind, slot in slots_of(container[at:at + (1 << 20)]):
            kek = None
            if kind == 1 and len(slot) == 92 and slot[4:20] in keys:
                kek = p.kek_symmetric(keys[slot[4:20]], preamble)
            elif kind == 2 and len(slot) == 104 and fields["passphrase"]:
                passes, memory = (int.from_bytes(slot[i:i + 4], "big") for i in (20, 24))
                passphrase = bytes.fromhex(fields["passphrase"][0])
                if 1 <= passes <= 3 and 8 <= memory <= 1 << 16 and passphrase:
                    kek = p.kek_passphrase(p.argon2id(passphrase, slot[4:20], passes, memory), preamble)
            key = p.aead_open(kek, slot[-72:-48], preamble + slot[:-48], slot[-48:]) if kek else None
            if key is not None and len(key) == 32:
                return key
        at = container.find(p.MAGIC, at + 1)
    return None


def records(container: bytes, key: bytes, context: bytes) -> Iterator[tuple[int, bytes]]:
    preamble, at, index = container[:64], int.from_bytes(container[64:68], "big"), 0
    stream_key = p.stream_key(key, preamble, context)
    while at + 20 <= len(container):
        head = container[at:at + 4]
        sealed = container[at + 4:at + 20 + int.from_bytes(head[1:], "big")]
        text = p.aead_open(stream_key, p.record_nonce(preamble[16:32], index), head, sealed) if len(sealed) > 16 else None
        if text is None:
            return
        yield head[0], text
        at, index = at + 4 + len(sealed), index + 1


def inputs(fields: dict[str, Any], container: bytes) -> Iterator[tuple[str, bytes]]:
    """Target and input."""
    key = file_key(container, fields)
    lines = [f"{name}: {value}" for name in ("key", "passphrase") for value in fields[name]]
    lines += [f"{name}: {fields[name]}" for name in ("context", "operation", "keep", "consent") if name in fields]
    lines += [f"{name}: {value}" for name in ("add", "remove") for value in fields[name]]
    if key is not None:
        lines.append(f"file-key: {key.hex()}")
    sealed = "\n".join(lines or ["key: " + KEYS[0].hex()]).encode() + b"\n\n" + container
    operation = fields.get("operation")
    if operation in ("rotate", "repair", "reencrypt"):
        # A passphrase that is added costs too much for as often as it would be.
        if not any(line.startswith("passphrase") for line in fields["add"]):
            yield "rotate", sealed
        return
    for target in ("recover",) if operation else ("open", "seek", "recover", "differential"):
        yield target, sealed
    capacity = int.from_bytes(container[64:68], "big")
    yield "header", container[:min(capacity, 4096) - 64].rstrip(b"\0")
    if key is None:
        return
    stream = b""
    for kind, text in records(container, key, bytes.fromhex(fields.get("context", ""))):
        if kind == 1:
            stream += text
        else:
            yield "manifest", container[13:14] + text.replace(container[32:64], bytes(32))
    if container[13] == 1 and stream:
        yield "packing", container[12:13] + stream


def texts() -> Iterator[tuple[str, bytes]]:
    for end in ("\n", "", "\r\n"):
        yield "keyfile", ("# made\n" + KEY_LINES[0] + end).encode()
        yield "keyfile", (KEY_LINES[1].lower() + end).encode()
    ids = [p.key_id(key).hex() for key in KEYS]
    lines = [f"current 2026-11-21T10:00:00Z {ids[0]} {KEY_LINES[0]} first\n",
             f"retired 2025-02-28T23:59:59Z {ids[1]} {KEY_LINES[1]} second@2\n",
             f"destroyed 2024-02-29T00:00:00Z {'0' * 32} - third\n"]
    for count in range(4):
        yield "keyring", ("vaultfile keyring 1\n" + "".join(lines[:count])).encode()
    for line in COMMAND_LINES:
        yield "command", line.replace(" ", "\0").encode()
    for number in range(40):
        yield "roundtrip", hashlib.shake_256(bytes([number])).digest(20 + number * number)


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 64
    folder, seen = Path(sys.argv[1]), 0
    found = list(texts())
    for path in sorted((TOP / "Spec" / "vectors").glob("*.vector")):
        fields, container = parse_vector(path.read_bytes())
        if len(container) <= LARGEST:
            found += inputs(fields, container)
    for target, data in found:
        (folder / target).mkdir(parents=True, exist_ok=True)
        (folder / target / hashlib.sha1(data).hexdigest()).write_bytes(data)
        seen += 1
    print(f"{seen} inputs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
