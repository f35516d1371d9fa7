"""Texts of recipients and identities (RECIPIENTS.md, appendix C)."""

import base64
import binascii
import hashlib
import re
from typing import NamedTuple, Optional

import nacl.bindings
import nacl.exceptions

import hpke
import primitives as p
from errors import VaultError, require
from key_text import ALPHABET, checksum
from public_slots import AnyIdentity, Identity, PluginIdentity, Recipient

LONGEST_TEXT = 16_384
LONGEST_FILE = 1 << 20
LONGEST_PRIVATE_KEY = 16_384
MODULUS = 2 ** 255 - 19
ML_KEM_MODULUS = 3329
X_WING_KEY = hpke.ML_KEM_KEY + 32
PLUGIN_NAME = re.compile(r"[a-z0-9._+-]{1,64}")
SSH_ED25519 = b"ssh-ed25519"
SSH_TYPE = re.compile(rb"[!-~]{1,64}")
PEM_BEGIN, PEM_END = b"-----BEGIN OPENSSH PRIVATE KEY-----", b"-----END OPENSSH PRIVATE KEY-----"


def bad(detail: str) -> VaultError:
    return VaultError("badKey", detail)


# Bech32.

def expanded(part: str) -> list[int]:
    return [ord(each) >> 5 for each in part] + [0] + [ord(each) & 31 for each in part]


def bech32_decoded(text: str) -> tuple[str, bytes]:
    """KEYTEXT-1: the human-readable part in lower case, and the data. The case is the caller's to check."""
    require(len(text) <= LONGEST_TEXT, "badKey", "too long")
    require(text in (text.lower(), text.upper()), "badKey", "upper and lower case")
    part, separator, digits = text.lower().rpartition("1")
    require(bool(separator) and bool(part) and all("!" <= each <= "~" for each in part), "badKey", "no Bech32")
    values = [ALPHABET.find(each) for each in digits]
    require(len(values) >= 6 and -1 not in values, "badKey", "a character that is no digit")
    require(checksum(expanded(part) + values) == 1, "badKey", "checksum")
    values = values[:-6]
    number = 0
    for value in values:
        number = number << 5 | value
    fill = 5 * len(values) % 8
    require(fill < 5 and number & (1 << fill) - 1 == 0, "badKey", "fill bits")
    return part, (number >> fill).to_bytes(5 * len(values) // 8, "big")


def bech32_encoded(part: str, data: bytes) -> str:
    fill = -8 * len(data) % 5
    number = int.from_bytes(data, "big") << fill
    digits = [number >> 5 * place & 31 for place in reversed(range((8 * len(data) + fill) // 5))]
    state = checksum(expanded(part) + digits + [0] * 6) ^ 1
    digits += [state >> 5 * place & 31 for place in reversed(range(6))]
    return part + "1" + "".join(ALPHABET[each] for each in digits)


# One recipient, one identity.

def recipient_of(text: str) -> Recipient:
    """KEYTEXT-2, one recipient as an argument."""
    require("\n" not in text, "badKey", "more than one line")
    if text.startswith("age1"):
        return age_recipient(text)
    recipient, what = ssh_line(text.encode())
    if recipient is None:
        raise bad(what)
    return recipient


def age_recipient(text: str) -> Recipient:
    require(text == text.lower(), "badKey", "a recipient is in lower case")
    part, data = bech32_decoded(text)
    if part == "age":
        return checked(Recipient(p.SLOT_X25519, data))
    if part == "age1pq":
        return checked(Recipient(p.SLOT_X_WING, data))
    require(part.startswith("age1"), "badKey", "no recipient")
    check_plugin_name(part[4:])
    return Recipient(p.SLOT_STANZAS, text.encode())


def plugin_of(recipient: Recipient) -> str:
    """The name of the plugin of a recipient of type 5."""
    return recipient.key.decode().rpartition("1")[0][len("age1"):]


def checked(recipient: Recipient) -> Recipient:
    """KEYTEXT-4."""
    key = recipient.key
    require(len(key) == (32 if recipient.type == p.SLOT_X25519 else X_WING_KEY), "badKey", "length")
    point = key[-32:]
    require(int.from_bytes(point, "little") < MODULUS, "badKey", "a public key that is not reduced")
    require(hpke.x25519(bytes(32), point) is not None, "badKey", "a public key of low order")
    for place in range(0, len(key) - 32 - 32, 3):
        three = int.from_bytes(key[place:place + 3], "little")
        require(three & 0xFFF < ML_KEM_MODULUS and three >> 12 < ML_KEM_MODULUS, "badKey", "coefficient")
    return recipient


def check_plugin_name(name: str) -> None:
    """KEYTEXT-2."""
    require(PLUGIN_NAME.fullmatch(name) is not None and name != "pq", "badKey", "name of a plugin")


def identity_of(text: str, known: tuple[Recipient, ...] = ()) -> AnyIdentity:
    """KEYTEXT-3, but for OpenSSH's private keys."""
    require(text == text.upper(), "badKey", "an identity is in upper case")
    part, data = bech32_decoded(text)
    if part in ("age-secret-key-", "age-secret-key-pq-"):
        require(len(data) == 32, "badKey", "length")
        return Identity(p.SLOT_X25519 if part == "age-secret-key-" else p.SLOT_X_WING, data)
    require(part.startswith("age-plugin-") and part.endswith("-"), "badKey", "no identity")
    check_plugin_name(part[len("age-plugin-"):-1])
    return PluginIdentity(part[len("age-plugin-"):-1], text, known)


# Files.

class RecipientsFile(NamedTuple):
    recipients: list[Recipient]
    skipped: list[str]  # lines that are skipped with a warning


def lines_of(data: bytes) -> list[str]:
    """KEYTEXT-5: the lines of a file."""
    require(len(data) <= LONGEST_FILE, "badKey", "too long")
    try:
        *ended, last = data.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise bad("not UTF-8") from error
    return [line[:-1] if line.endswith("\r") else line for line in ended] + [last]


def read_recipients(data: bytes) -> RecipientsFile:
    """KEYTEXT-5, KEYTEXT-6."""
    found: list[Recipient] = []
    skipped: list[str] = []
    for line in lines_of(data):
        if not line or line.startswith("#"):
            continue
        if line.startswith("age1"):
            found.append(age_recipient(line))
            continue
        recipient, what = ssh_line(line.encode())
        if recipient is not None:
            found.append(recipient)
        else:
            require(what in SKIPPED, "badKey", what)
            skipped.append(what)
    require(bool(found), "badKey", "no recipient")
    return RecipientsFile(list(dict.fromkeys(found)), skipped)


def read_identities(data: bytes) -> list[AnyIdentity]:
    """KEYTEXT-3, KEYTEXT-5, KEYTEXT-7, KEYTEXT-9."""
    if data.startswith(PEM_BEGIN):
        return [Identity(p.SLOT_X25519, private_key(data))]
    found: list[AnyIdentity] = []
    known: list[Recipient] = []
    for line in lines_of(data):
        if line.startswith("#"):
            known += known_in(line[1:])
        elif line:
            found.append(identity_of(line, tuple(known)))
            known = []
    require(bool(found), "badKey", "no identity")
    return merged(found)


def known_in(comment: str) -> list[Recipient]:
    """KEYTEXT-9."""
    found = []
    for word in re.split(r"[ \t,]+", comment):
        if word.startswith("age1"):
            try:
                found.append(age_recipient(word))
            except VaultError:
                continue
    return [each for each in found if each.type == p.SLOT_STANZAS]


def merged(identities: list[AnyIdentity]) -> list[AnyIdentity]:
    """KEYTEXT-5: the same key twice is one, with the known recipients of both."""
    result: dict[tuple[object, ...], AnyIdentity] = {}
    for each in identities:
        if isinstance(each, PluginIdentity):
            before = result.get((each.text,))
            known = (before.known if isinstance(before, PluginIdentity) else ()) + each.known
            result[(each.text,)] = each._replace(known=tuple(dict.fromkeys(known)))
        else:
            result[each] = each
    return list(result.values())


# OpenSSH.

OTHER_TYPE, OPTIONS = "another type of ssh key", "an ssh key with options"
SKIPPED = (OTHER_TYPE, OPTIONS)


def take(data: bytes) -> tuple[bytes, bytes]:
    """A string of ssh's wire format, and what follows it."""
    length = int.from_bytes(data[:4], "big")
    require(len(data) >= 4 + length, "badKey", "cut")
    return data[4:4 + length], data[4 + length:]


def canonical(text: bytes) -> bytes:
    """Base64 with padding, in its one form."""
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise bad("base64") from error
    require(base64.b64encode(data) == text, "badKey", "base64")
    return data


def ssh_line(line: bytes) -> tuple[Optional[Recipient], str]:
    """KEYTEXT-6: the recipient; or None, and why the line is none or is skipped."""
    name, _, rest = line.partition(b" ")
    if name == SSH_ED25519:
        return ed25519_recipient(rest.partition(b" ")[0]), ""
    if is_ssh_line(line):
        return None, OTHER_TYPE
    behind = behind_options(line)
    if behind is not None and is_ssh_line(behind):
        return None, OPTIONS
    return None, "no recipient"


def is_ssh_line(line: bytes) -> bool:
    """Whether the first word is the name in the base64 that follows it."""
    name, _, rest = line.partition(b" ")
    try:
        inside, _ = take(canonical(rest.partition(b" ")[0]))
    except VaultError:
        return False
    return SSH_TYPE.fullmatch(name) is not None and inside == name


def behind_options(line: bytes) -> Optional[bytes]:
    """What follows the first space outside of double quotes; None if there is none, or nothing before it. A backslash
    before a quote keeps it from beginning or ending quotes."""
    quoted = False
    for place, byte in enumerate(line):
        if byte == ord('"') and line[place - 1:place] != b"\\":
            quoted = not quoted
        elif byte == ord(" ") and not quoted:
            return line[place + 1:] if place > 0 else None
    return None


def ed25519_recipient(text: bytes) -> Recipient:
    name, rest = take(canonical(text))
    require(name == SSH_ED25519, "badKey", "another key in an ssh-ed25519 line")
    point, rest = take(rest)
    require(len(point) == 32 and not rest, "badKey", "length")
    try:
        return Recipient(p.SLOT_X25519, nacl.bindings.crypto_sign_ed25519_pk_to_curve25519(point))
    except (nacl.exceptions.CryptoError, RuntimeError) as error:
        raise bad("no point of the prime-order group") from error


def private_key(data: bytes) -> bytes:
    """KEYTEXT-7: the X25519 scalar."""
    require(len(data) <= LONGEST_PRIVATE_KEY, "badKey", "too long")
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    require(len(lines) > 2 and lines[0] == PEM_BEGIN and lines[-1] == PEM_END, "badKey", "PEM")
    blob = canonical(b"".join(lines[1:-1]))
    magic = b"openssh-key-v1\0"
    require(blob.startswith(magic), "badKey", "no OpenSSH private key")
    cipher, rest = take(blob[len(magic):])
    kdf, rest = take(rest)
    options, rest = take(rest)
    require(cipher == kdf == b"none" and not options, "badKey", "under a passphrase")
    require(rest[:4] == (1).to_bytes(4, "big"), "badKey", "not one key")
    outer, rest = take(rest[4:])
    secret, rest = take(rest)
    require(not rest and len(secret) % 8 == 0, "badKey", "length")
    require(secret[:4] == secret[4:8] and len(secret) >= 8, "badKey", "check words")
    name, rest = take(secret[8:])
    require(name == SSH_ED25519, "badKey", "another type of key")
    public, rest = take(rest)
    pair, rest = take(rest)
    _, padding = take(rest)
    require(len(padding) < 8 and padding == bytes(range(1, len(padding) + 1)), "badKey", "padding")
    require(len(public) == 32 and len(pair) == 64, "badKey", "length")
    made, _ = nacl.bindings.crypto_sign_seed_keypair(pair[:32])
    wire = len(SSH_ED25519).to_bytes(4, "big") + SSH_ED25519 + len(public).to_bytes(4, "big") + public
    require(public == pair[32:] == made and outer == wire, "badKey", "public key")
    return hashlib.sha512(pair[:32]).digest()[:32]
