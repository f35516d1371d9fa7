"""Key files and keyrings (OPERATIONS.md, appendix A; KEYRING.md), as far as they are functions of bytes."""

import calendar
import re
from typing import NamedTuple

import primitives as p
from errors import VaultError, require
from seek_reader import Container, open_container
from slots import Limits, Secrets, check_key

PREFIX = "vaultfile-key-"
ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def checksum(values: list[int]) -> int:
    """The checksum of Bech32 over the values of the digits (BIP 173)."""
    state = 1
    for value in values:
        top = state >> 25
        state = (state & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(GENERATORS):
            state ^= generator if top >> bit & 1 else 0
    return state


def key_line(key: bytes) -> str:
    """KEYFILE-2."""
    number = int.from_bytes(key, "big") << 4
    digits = [number >> 5 * place & 31 for place in reversed(range(52))]
    head = [ord(each) >> 5 for each in PREFIX] + [0] + [ord(each) & 31 for each in PREFIX]
    state = checksum(head + digits + [0] * 6) ^ 1
    digits += [state >> 5 * place & 31 for place in reversed(range(6))]
    return (PREFIX + "1" + "".join(ALPHABET[each] for each in digits)).upper()


LONGEST_KEY_FILE = 16_384
LINE_LENGTH = len(PREFIX) + 1 + 52 + 6


def key_of(line: bytes) -> bytes:
    """KEYFILE-2, KEYFILE-3."""
    text = line.decode("latin-1")
    require(len(text) == LINE_LENGTH and text in (text.upper(), text.lower()), "badKey", "length or case")
    text = text.lower()
    require(text.startswith(PREFIX + "1"), "badKey", "not the beginning of a key")
    values = [ALPHABET.find(each) for each in text[len(PREFIX) + 1:]]
    require(-1 not in values, "badKey", "a character that is no digit")
    head = [ord(each) >> 5 for each in PREFIX] + [0] + [ord(each) & 31 for each in PREFIX]
    require(checksum(head + values) == 1, "badKey", "checksum")
    number = 0
    for value in values[:52]:
        number = number << 5 | value
    require(number & 15 == 0, "badKey", "fill bits")
    key = (number >> 4).to_bytes(p.KEY_SIZE, "big")
    check_key(key)
    return key


def read_key_file(text: bytes) -> bytes:
    """KEYFILE-1."""
    require(len(text) <= LONGEST_KEY_FILE, "badKey", "too long")
    *ended, last = text.split(b"\n")
    lines = [line[:-1] if line.endswith(b"\r") else line for line in ended] + [last]
    lines = [line for line in lines if line and not line.startswith(b"#")]
    require(len(lines) == 1, "badKey", "not exactly one key line")
    return key_of(lines[0])


# The keyring.

LONGEST_TEXT = 1 << 20
MOST_KEYS = 4096
RESERVED = {"all", "command", "file", "others", "passphrase", "passphrase-fd", "passphrase-file", "recipient"}


# KEYRING-17.
UNLOCK_LIMITS = Limits(max_memory_kib=262_144, max_stretching_kib=3_145_728)


class Entry(NamedTuple):
    state: str
    time: str
    key_id: str
    name: str


def keyring_requires(condition: bool, detail: str) -> None:
    require(condition, "keyringMalformed", detail)


def read_keyring(text: bytes) -> list[Entry]:
    """KEYRING-3 to KEYRING-10."""
    keyring_requires(len(text) <= LONGEST_TEXT, "too long")
    first, end, rest = text.partition(b"\n")
    version = re.fullmatch(rb"vaultfile keyring ([0-9]+)", first)
    if version is None or not end:
        raise VaultError("keyringMalformed", "first line")
    require(version[1] == b"1", "unsupportedVersion")
    keyring_requires(not rest or rest.endswith(b"\n"), "the last line does not end")
    lines = rest.split(b"\n")[:-1]
    keyring_requires(len(lines) <= MOST_KEYS, "too many keys")
    entries = [read_entry(line) for line in lines]
    keyring_requires(sum(entry.state == "current" for entry in entries) <= 1, "two current keys")  # KEYRING-6
    # KEYRING-10
    keyring_requires(len({entry.key_id for entry in entries}) == len(entries), "two keys with one ID")
    keyring_requires(len({entry.name for entry in entries}) == len(entries), "two keys with one name")
    return entries


def read_entry(line: bytes) -> Entry:
    words = line.decode("latin-1").split(" ")
    keyring_requires(len(words) == 5, "not five words")  # KEYRING-5
    state, time, key_id, secret, name = words
    keyring_requires(state in ("current", "retired", "destroyed"), "state")  # KEYRING-6
    keyring_requires(is_time(time), "time")
    keyring_requires(re.fullmatch("[0-9a-f]{32}", key_id) is not None, "ID")  # KEYRING-8
    if state == "destroyed":
        keyring_requires(secret == "-", "a destroyed key has no secret")
    else:
        keyring_requires(secret == secret.upper(), "the secret is in upper case")
        try:
            key = key_of(secret.encode("latin-1"))
        except VaultError as error:
            raise VaultError("keyringMalformed", "secret") from error
        keyring_requires(p.key_id(key).hex() == key_id, "another key's ID")
    # KEYRING-9
    keyring_requires(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+@-]{0,63}", name) is not None, "name")
    keyring_requires(name not in RESERVED and re.fullmatch("[0-9A-Fa-f]{32}", name) is None, "reserved name")
    return Entry(state, time, key_id, name)


def is_time(text: str) -> bool:
    """KEYRING-7."""
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", text) is None:
        return False
    year, month, day, hour, minute, second = (int(each) for each in re.findall("[0-9]+", text))
    days = (31, 29 if calendar.isleap(year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return 1 <= month <= 12 and 1 <= day <= days[month - 1] and hour < 24 and minute < 60 and second < 60


def plaintext_of_keys(container: Container, content_type: bytes, longest: int, too_long: str) -> bytes:
    """The plaintext of one of the two files (KEYRING-1, KEYRING-3)."""
    keyring_requires(container.manifest.content_type == content_type, "content type")
    require(container.header.compression == p.COMPRESSION_NONE, "unsupportedCompression")
    require(container.manifest.length <= longest, too_long, "too long")
    return container.read(0, container.manifest.length)


def read_unlock_file(data: bytes, secrets: Secrets) -> bytes:
    """The unlock key (KEYRING-2). A caller without secrets has said that nothing unlocks the keyring."""
    try:
        container = open_container(data, secrets._replace(context=b"vaultfile keyring key", limits=UNLOCK_LIMITS))
    except VaultError as error:
        if error.name != "notVaultfile":
            raise
        require(not secrets.keys and not secrets.passphrases, "keyringUnprotected")
        return read_key_file(data)
    return read_key_file(plaintext_of_keys(container, b"application/x-vaultfile-key", LONGEST_KEY_FILE, "badKey"))


def read_keyring_file(data: bytes, unlock_key: bytes) -> list[Entry]:
    """KEYRING-1, KEYRING-3."""
    try:
        container = open_container(data, Secrets(keys=(unlock_key,), context=b"vaultfile keyring"))
    except VaultError as error:
        raise VaultError("keyringMismatch" if error.name == "wrongKey" else error.name, error.detail) from error
    keyring_requires(container.manifest.content_type == b"application/x-vaultfile-keyring", "content type")
    slots = container.header.slots
    keyring_requires(len(slots) <= 2 and all(slot.type == p.SLOT_SYMMETRIC for slot in slots), "slots")
    return read_keyring(plaintext_of_keys(
        container, b"application/x-vaultfile-keyring", LONGEST_TEXT, "keyringMalformed"))
