"""The files of a keyring (KEYRING.md, appendix B)."""

import calendar
import re
from typing import NamedTuple

import hpke
import primitives as p
from errors import VaultError, require
from key_text import LONGEST_KEY_FILE, key_of, read_key_file
from public_slots import PluginIdentity
from recipient_text import identity_of, recipient_of
from seek_reader import Container, open_container
from slots import Limits, Secrets

LONGEST_TEXT = 1 << 20
MOST_KEYS = 4096
RESERVED = {"all", "command", "file", "former", "header-file", "identity", "identity-command", "identity-file", "others",
            "passphrase", "passphrase-fd", "passphrase-file", "recipient", "recipient-file", "recipients-file"}
NO_ID = "-"  # of a group, and of a plugin's identity whose recipient is not known


# KEYRING-18.
UNLOCK_LIMITS = Limits(max_memory_kib=262_144, max_stretching_kib=3_145_728)


class Entry(NamedTuple):
    state: str
    time: str
    key_id: str
    name: str
    members: tuple[str, ...] = ()


def keyring_requires(condition: bool, detail: str) -> None:
    require(condition, "keyringMalformed", detail)


def read_keyring(text: bytes, has_x_wing: bool = hpke.has_x_wing()) -> list[Entry]:
    """KEYRING-3 to KEYRING-10, KEYRING-16, KEYRING-19."""
    keyring_requires(len(text) <= LONGEST_TEXT, "too long")
    first, end, rest = text.partition(b"\n")
    version = re.fullmatch(rb"vaultfile keyring ([0-9]+)", first)
    if version is None or not end:
        raise VaultError("keyringMalformed", "first line")
    require(version[1] == b"1", "unsupportedVersion")
    keyring_requires(not rest or rest.endswith(b"\n"), "the last line does not end")
    lines = rest.split(b"\n")[:-1]
    keyring_requires(len(lines) <= MOST_KEYS, "too many keys")
    entries = [read_entry(line, has_x_wing) for line in lines]
    keyring_requires(sum(entry.state == "current" for entry in entries) <= 1, "two current keys")  # KEYRING-6
    # KEYRING-10
    ids = [entry.key_id for entry in entries if entry.key_id != NO_ID]
    keyring_requires(len(set(ids)) == len(ids), "two keys with one ID")
    keyring_requires(len({entry.name for entry in entries}) == len(entries), "two keys with one name")
    # KEYRING-19
    members = {entry.name for entry in entries if entry.state in ("recipient", "former", "identity")}
    for entry in entries:
        keyring_requires(members.issuperset(entry.members), "a member that is no recipient")
    return entries


def read_entry(line: bytes, has_x_wing: bool) -> Entry:
    words = line.decode("latin-1").split(" ")
    keyring_requires(len(words) == 5, "not five words")  # KEYRING-5
    state, time, key_id, secret, name = words
    members: tuple[str, ...] = ()
    keyring_requires(is_time(time), "time")
    if state in ("recipient", "former", "identity"):
        keyring_requires(key_id == id_of(state, key_id, secret, has_x_wing), "another ID")
    elif state == "group":
        keyring_requires(key_id == NO_ID, "the ID of a group")
        members = tuple(secret.split(","))
        keyring_requires(len(set(members)) == len(members), "a member twice")
    else:
        check_symmetric(state, key_id, secret)
    # KEYRING-9
    keyring_requires(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+@-]{0,63}", name) is not None, "name")
    keyring_requires(name not in RESERVED and re.fullmatch("[0-9A-Fa-f]{32}", name) is None, "reserved name")
    keyring_requires(not name.lower().startswith(("age1", "age-")), "a name like a recipient or an identity")
    return Entry(state, time, key_id, name, members)


def id_of(state: str, key_id: str, secret: str, has_x_wing: bool) -> str:
    """KEYRING-16: the ID of a recipient or an identity; the given one if this system cannot compute it."""
    try:
        if state != "identity":
            recipient = recipient_of(secret)
            keyring_requires(" " not in secret, "an ssh key")
        else:
            text, comma, known = secret.partition(",")
            identity = identity_of(text)
            if isinstance(identity, PluginIdentity):
                if not comma:
                    return NO_ID
                recipient = recipient_of(known)
                keyring_requires(recipient.type == p.SLOT_STANZAS, "not a plugin's recipient")
            else:
                keyring_requires(not comma, "a recipient behind an identity that needs none")
                if identity.type == p.SLOT_X_WING and not has_x_wing:
                    keyring_requires(re.fullmatch("[0-9a-f]{32}", key_id) is not None, "ID")
                    return key_id
                recipient = identity.recipient
    except VaultError as error:
        raise VaultError("keyringMalformed", "secret") from error
    return recipient.fingerprint[:p.KEY_ID_SIZE].hex()


def check_symmetric(state: str, key_id: str, secret: str) -> None:
    """The words of a symmetric key."""
    keyring_requires(state in ("current", "retired", "destroyed"), "state")  # KEYRING-6
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


def read_unlock_file(data: bytes, secrets: Secrets, context: bytes = b"vaultfile keyring key",
                     may_be_bare: bool = True) -> bytes:
    """The unlock key (KEYRING-2). A caller without secrets has said that nothing unlocks the keyring. `may_be_bare`:
    whether a caller can say so."""
    try:
        container = open_container(data, secrets._replace(
            context=context, limits=UNLOCK_LIMITS, identities=()))  # KEYRING-17
    except VaultError as error:
        if error.name != "notVaultfile":
            raise
        require(may_be_bare and not secrets.keys and not secrets.passphrases, "keyringUnprotected")
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
