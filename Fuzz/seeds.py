"""Makes the fuzzer's first inputs from the vectors:
python3 Fuzz/seeds.py FOLDER
python3 Fuzz/seeds.py --longest

FOLDER/TARGET gets the files of each target. A container comes with the secrets of its vector and, if a slot opens, with
its file key: with it, the fuzzer seals the container again after a change. --longest prints how long an input may be.
"""

import hashlib
import io
import sys
from pathlib import Path
from typing import Any, Iterator, Optional

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "Spec" / "reference"))

import hpke  # noqa: E402
import primitives as p  # noqa: E402
import store  # noqa: E402
import store_answers  # noqa: E402
from check_vectors import KEY_OPERATIONS, needed, parse_vector, vector_secrets  # noqa: E402
from header import Slot  # noqa: E402
from key_text import key_line  # noqa: E402
from public_slots import Identity, enc_of, opened_with  # noqa: E402
from stanza_slots import opened_by, parsed  # noqa: E402
from tar_index import make_index  # noqa: E402
from vaultfile_reference import StandIn  # noqa: E402
from writer import SymmetricSlot, write_container  # noqa: E402

LONGEST = 64_000
# The keys of the worked example in the Spec.
KEYS = (bytes(range(32)), bytes(range(32, 64)))
KEY_LINES = tuple(map(key_line, KEYS))
# Private slots in the form that the targets know (FuzzKeys.swift).
PRIVATE_HEAD = bytes.fromhex("80050048") + b"fuzzslot"
KEYRING_CONTEXT, UNLOCK_CONTEXT = b"vaultfile keyring", b"vaultfile keyring key"
HEAD_FIELDS = ("context", "operation", "keep", "consent", "mixed", "random", "header")
HEAD_LISTS = ("key", "passphrase", "identity", "stanza-answer", "failing-plugin", "add", "remove", "stanza-wrap")
# The optional parts of the format that the targets for containers know.
CONTAINER_PARTS = {"x25519", "x-wing", "stanzas", "recipient-changes"}
CHANGES = ("rotate", "repair", "reencrypt")
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
    """The file key that any slot of any copy gives for one of the vector's secrets, even in a damaged copy."""
    keys = {p.key_id(key): key for key in map(bytes.fromhex, fields["key"]) if len(key) == 32}
    identities = recipient_secrets(fields)
    plugin_answers = StandIn(fields["stanza-answer"], []).answers
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
            key = key or opened_by_recipient(Slot(kind, slot[4:20], slot[20:], slot), preamble, identities,
                                             plugin_answers)
            if key is not None and len(key) == 32:
                return key
        at = container.find(p.MAGIC, at + 1)
    return None


def recipient_secrets(fields: dict[str, Any]) -> list[Identity]:
    """The identities that are keys. Those that need X-Wing are left out where this system has none."""
    return [one for one in vector_secrets(fields).identities
            if isinstance(one, Identity) and (one.type == p.SLOT_X25519 or hpke.has_x_wing())]


def opened_by_recipient(slot: Slot, preamble: bytes, identities: list[Identity],
                        answers: dict[tuple[str, str], bytes]) -> Optional[bytes]:
    """What a slot of type 3, 4 or 5 holds, whatever its key ID is."""
    sizes = {p.SLOT_X25519: p.X25519_BODY_SIZE, p.SLOT_X_WING: p.X_WING_BODY_SIZE}
    opened = [opened_with(one.shared_secret(enc_of(slot)), slot, preamble) for one in identities
              if one.type == slot.type and len(slot.body) == sizes[slot.type]]
    if (content := parsed(slot)) is not None:
        digest = hashlib.sha256(content.stanzas).hexdigest()
        opened += [opened_by(secret, slot, preamble) for (_, of), secret in answers.items()
                   if of == digest and len(secret) == 16]
    return next((key for key in opened if key is not None), None)


def records(container: bytes, key: bytes, context: bytes) -> Iterator[tuple[int, bytes]]:
    preamble, at, index = container[:64], int.from_bytes(container[64:68], "big"), 0
    stream_key = p.stream_key(key, preamble, context)
    while at + 20 <= len(container):
        head = container[at:at + 4]
        sealed = container[at + 4:at + 20 + int.from_bytes(head[1:], "big")]
        nonce = p.record_nonce(preamble[16:32], index)
        text = p.aead_open(stream_key, nonce, head, sealed) if len(sealed) > 16 else None
        if text is None:
            return
        yield head[0], text
        at, index = at + 4 + len(sealed), index + 1


def with_private_slot(container: bytes, key: bytes, fields: dict[str, Any]) -> Optional[bytes]:
    """The same container with only a private slot (SLOT-15), if it is whole and its caller has a key."""
    capacity, preamble = int.from_bytes(container[64:68], "big"), container[:64]
    context = bytes.fromhex(fields.get("context", ""))
    tail = len(container) - 32 - capacity
    if fields.get("whole") != "intact" or not fields["key"] or p.commitment(key, preamble, context) != preamble[32:]:
        return None
    slot = PRIVATE_HEAD + bytes(8) + bytes(range(24))
    wrapped = p.aead_seal(bytes.fromhex(fields["key"][0]), slot[20:], preamble + slot, key)
    body = (container[:72] + bytes.fromhex("00010000") + slot + wrapped).ljust(capacity - 64, b"\0")
    copy = body + p.header_mac(p.header_mac_key(key, preamble, context), body)
    copy += p.checksum(copy)
    return copy + container[capacity:tail] + copy + container[-32:]


def stanzas_of(container: bytes) -> Iterator[tuple[str, bytes]]:
    """The stanzas of a container's slots; also as what a plugin writes that wraps them."""
    for kind, slot in slots_of(container[:1 << 20]):
        if kind == p.SLOT_STANZAS:
            text = slot[24:24 + int.from_bytes(slot[22:24], "big")]
            yield "stanzas", text
            yield "plugin", b"\0\7" + text.replace(b"-> ", b"-> recipient-stanza 0 ") + b"-> done\n\n"


def plugin_texts() -> Iterator[tuple[str, bytes]]:
    """What plugins write."""
    secret = b"AAECAwQFBgcICQoLDA0ODw"
    for first in (0, 1, 2, 3):
        for text in (
            b"-> done\n\n", b"-> msg\ndG91Y2g\n-> done\n\n", b"-> grease-x y\n\n-> done\n\n",
            b"-> confirm Z28 c3RvcA\nb2s\n-> request-secret\nUElO\n-> request-public\nUElO\n-> done\n\n",
            b"-> labels postquantum\n\n-> recipient-stanza 0 x y\nQUJD\n-> done\n\n",
            b"-> file-key 0\n" + secret + b"\n-> done\n\n", b"-> error internal\nbm8\n-> done\n\n",
            b"-> msg\n" + b"QUFB" * 16 + b"\n\n-> done\n\n",
        ):
            yield "plugin", bytes([first, 5]) + text


def inputs(fields: dict[str, Any], container: bytes) -> Iterator[tuple[str, bytes]]:
    """Pairs of target and input. A case for a part that no target knows gives none."""
    if fields.get("needs") == "recipient-texts":
        yield {"identities-file": "identities"}.get(fields["operation"], "recipients"), container
        return
    if fields.get("operation") == "make-tar-index":
        if len(container) < 1 << 16:
            yield "tarstream", container
            yield "extract", container
            if value := make_index(lambda offset, length: container[offset:offset + length]):
                yield "tarindex", value
        return
    if not needed(fields) <= CONTAINER_PARTS:
        return
    if "stanzas" in needed(fields) and "operation" not in fields:
        yield from stanzas_of(container)
    if fields.get("operation") in KEY_OPERATIONS:
        if target := {"key-file": "keyfile", "keyring-text": "keyring"}.get(fields["operation"]):
            yield target, container
        return
    key = file_key(container, fields)
    lines = [f"{name}: {value}" for name in HEAD_LISTS for value in fields[name]]
    lines += [f"{name}: {fields[name]}" for name in HEAD_FIELDS if name in fields]
    if key is not None:
        lines.append(f"file-key: {key.hex()}")
    sealed = "\n".join(lines or ["key: " + KEYS[0].hex()]).encode() + b"\n\n" + container
    operation = fields.get("operation")
    if operation in CHANGES:
        # A new passphrase slot costs too much time in every run.
        if not any(line.startswith("passphrase") for line in fields["add"]):
            for target in ("rotate", "differential"):
                yield target, sealed
        return
    reading = ("open", "decrypt", "seek", "recover", "inspect")
    for target in ("recover", "differential") if operation else (*reading, "differential"):
        yield target, sealed
    if key is not None and (private := with_private_slot(container, key, fields)):
        for target in reading:
            yield target, sealed[:-len(container)] + private
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


def written(text: bytes, key: bytes, context: bytes, content_type: bytes) -> tuple[bytes, bytes]:
    """A small container, and its file key, which is the first value drawn."""
    output, drawn = io.BytesIO(), []

    def draw(count: int) -> bytes:
        drawn.append(hashlib.shake_256(text + context + bytes([len(drawn)])).digest(count))
        return drawn[-1]
    write_container(output, text, [SymmetricSlot(key)], context=context, content_type=content_type, log2_chunk=12,
                    capacity=512, random=draw)
    return output.getvalue(), drawn[0]


def keyring_files(text: bytes) -> Iterator[tuple[str, bytes]]:
    """The two files of a keyring: of an unprotected one, and of one that a key unlocks."""
    unlocker, unlock_key = (bytes([count] * 32) for count in (3, 4))
    keyring, file_key = written(text, unlock_key, KEYRING_CONTEXT, b"application/x-vaultfile-keyring")
    key_file = (key_line(unlock_key) + "\n").encode()
    protected, own_key = written(key_file, unlocker, UNLOCK_CONTEXT, b"application/x-vaultfile-key")
    head = f"key: {unlock_key.hex()}\nfile-key: {file_key.hex()}\ncontext: {KEYRING_CONTEXT.hex()}\n"
    head += f"unlocker: {unlocker.hex()}\nunlock-file-key: {own_key.hex()}\n"
    for unlock_file in (key_file, protected):
        yield "keyringfiles", f"{head}unlock-file: {unlock_file.hex()}\n\n".encode() + keyring


def store_texts() -> Iterator[tuple[str, bytes]]:
    """Cards and keybags with and without the class `unlessOpen`, with old keys; and labels."""
    card, keybag = store_answers.CARD, store_answers.KEYBAG
    retired = tuple(key._replace(state="retired", key=bytes([9 + number] * 32)) for number, key in enumerate(keybag.keys))
    old = store.ClassKey(store.ALWAYS, "retired", store_answers.TIME, bytes([8] * 32))
    for one in (card, card._replace(publics=()), card._replace(keys=(*card.keys, old))):
        yield "storetexts", store.card_text(one)
    narrow = keybag._replace(
        keys=tuple(key for key in keybag.keys if key.protection != store.UNLESS_OPEN), public_ids=(), openers=())
    kept = narrow._replace(keys=tuple(key for key in narrow.keys if key.protection == store.AFTER_FIRST_UNLOCK))
    for bag in (keybag, narrow, kept, keybag._replace(keys=(*keybag.keys, *retired))):
        yield "storetexts", store.keybag_text(bag)
    for name in (b"a", b"mail/token", b"n" * 63, b"n" * 64, b"n" * 255):
        yield "storetexts", store.padded(name)


def texts() -> Iterator[tuple[str, bytes]]:
    for end in ("\n", "", "\r\n"):
        yield "keyfile", ("# made\n" + KEY_LINES[0] + end).encode()
        yield "keyfile", (KEY_LINES[1].lower() + end).encode()
    ids = [p.key_id(key).hex() for key in KEYS]
    lines = [f"current 2026-11-21T10:00:00Z {ids[0]} {KEY_LINES[0]} first\n",
             f"retired 2025-02-28T23:59:59Z {ids[1]} {KEY_LINES[1]} second@2\n",
             f"destroyed 2024-02-29T00:00:00Z {'0' * 32} - third\n"]
    for count in range(4):
        text = ("vaultfile keyring 1\n" + "".join(lines[:count])).encode()
        yield "keyring", text
        yield from keyring_files(text)
    yield from store_texts()
    for separator in (b"\n", b"\0"):
        for list_ in (b"a\nb c\n-\n", b"a\0b", b"\n\n", b"\0", b"x" * 8192, "\u202e\u00ad\u00e9\n".encode() + b"\xff"):
            for times in (0, 1, 31):
                yield "pathlist", bytes([times << 3 | (separator == b"\0")]) + list_
    for text in ("p\u00e4ssw\u00f6rd\n", "pa\u0308sswo\u0308rd s\u0307\u0323\r\n", "\u1100\u1161\u11a8 \uac01",
                 "\u1f82" * 300):
        yield "passphrase", text.encode()
    yield from plugin_texts()
    for line in COMMAND_LINES:
        yield "command", line.replace(" ", "\0").encode()
    # Random calls of the C library, which the fuzzer makes sensible.
    for number in range(40):
        yield "library", hashlib.shake_256(b"library" + bytes([number])).digest(20 + number * 10)
    for number in range(40):
        yield "roundtrip", hashlib.shake_256(bytes([number])).digest(20 + number * number)


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 64
    if sys.argv[1] == "--longest":
        print(LONGEST)
        return 0
    folder, seen = Path(sys.argv[1]), 0
    found = list(texts())
    for path in sorted((TOP / "Spec" / "vectors").glob("*.vector")):
        found += inputs(*parse_vector(path.read_bytes()))
    for target, data in found:
        if len(data) > LONGEST:
            continue
        (folder / target).mkdir(parents=True, exist_ok=True)
        (folder / target / hashlib.sha1(data).hexdigest()).write_bytes(data)
        seen += 1
    print(f"{seen} inputs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
