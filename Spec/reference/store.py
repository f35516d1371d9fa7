"""Protected stores (STORE.md, appendix E): reads whole folders, and writes their files with every byte settable, for
tests.

A folder is a dictionary: the path of each file in it, with `/` between components, and the file's bytes.
"""

import hashlib
import re
from pathlib import Path
from typing import Mapping, NamedTuple, Optional, Sequence

import hpke
import primitives as p
from errors import VaultError, require
from header import Header, Slot, build_slot, intact_copy, parse_form
from item_path import item_path
from key_text import key_line, key_of
from keyring import is_time, read_unlock_file
from manifest import ITEM_PATH
from public_slots import Identity, Recipient
from recipient_text import bech32_encoded, identity_of, recipient_of
from seek_reader import Container, Copies, Source, open_container, open_copies, take_reading
from slots import Secrets
from writer import AnySlot, Random, SlotForKey, SymmetricSlot, container_bytes

Files = Mapping[str, bytes]

# The classes, from weak to strong (STORE-12).
ALWAYS, AFTER_FIRST_UNLOCK, UNLESS_OPEN, COMPLETE = CLASSES = ("always", "afterFirstUnlock", "unlessOpen", "complete")
SEALED, UNLOCKED, LOCKED = "sealed", "unlocked", "locked"

# STORE-5.
LONGEST_TEXT = 1 << 16
MOST_LINES = 256

# STORE-11.
LABEL_ID = bytes.fromhex("83ab458ceaaa93fa")
LABEL_LENGTHS = (64, 128, 256)


class Pair(NamedTuple):
    """One of the two containers with an unlock file beside it (STORE-2, STORE-3)."""

    path: str
    context: bytes
    content_type: bytes
    classes: tuple[str, ...]

    @property
    def key_path(self) -> str:
        return self.path + ".key"

    @property
    def key_context(self) -> bytes:
        return self.context + b" key"


CARD = Pair("store.vault", b"vaultfile store card", b"application/x-vaultfile-store-card", (ALWAYS,))
KEYBAG = Pair("keys.vault", b"vaultfile store keys", b"application/x-vaultfile-store-keys",
              (AFTER_FIRST_UNLOCK, UNLESS_OPEN, COMPLETE))
KEY_TYPE = b"application/x-vaultfile-key"


class ClassKey(NamedTuple):
    """A line `key` of a text (STORE-5)."""

    protection: str
    state: str
    time: str
    key: bytes

    @property
    def key_id(self) -> bytes:
        return p.key_id(self.key)


class Public(NamedTuple):
    """A line `public` of a card (STORE-31)."""

    state: str
    time: str
    recipient: Recipient
    slot_key_id: bytes


class Opener(NamedTuple):
    """A line `identity` (STORE-32)."""

    state: str
    time: str
    identity: Identity


class Card(NamedTuple):
    store_id: bytes
    index: bytes
    keys: tuple[ClassKey, ...]
    publics: tuple[Public, ...] = ()


class Keybag(NamedTuple):
    store_id: bytes
    index_id: bytes
    keys: tuple[ClassKey, ...]
    public_ids: tuple[bytes, ...] = ()
    openers: tuple[Opener, ...] = ()


class Item(NamedTuple):
    """An item that was opened and read."""

    name: bytes
    protection: str
    content: bytes


class Locked(VaultError):
    """`locked`, with the class that is not available."""

    def __init__(self, protection: str) -> None:
        super().__init__("locked", protection)
        self.protection = protection


# Texts.

def text_requires(condition: bool, detail: str) -> None:
    require(condition, "storeMalformed", detail)


class Lines:
    """The lines of a card or a keybag (STORE-5)."""

    def __init__(self, text: bytes, title: bytes) -> None:
        self.lines = text.decode("latin-1").split("\n")
        text_requires(len(self.lines) - 1 <= MOST_LINES, "too many lines")
        text_requires(self.lines.pop() == "", "the last line does not end")
        version = self.next(4, *title.decode().split(" "))[3]
        text_requires(re.fullmatch("[0-9]{1,20}", version) is not None, "version")
        require(version == "1", "unsupportedVersion")

    def next(self, count: int, *first: str) -> list[str]:
        """The words of the next line. There are `count` of them, and it begins with the words `first`."""
        text_requires(bool(self.lines), "too few lines")
        words = self.lines.pop(0).split(" ")
        text_requires(len(words) == count and words[:len(first)] == list(first), "words of a line")
        return words

    def begins(self, word: str) -> bool:
        return bool(self.lines) and self.lines[0].split(" ")[0] == word

    def publics(self) -> tuple[Public, ...]:
        """The lines `public` of a card (STORE-31)."""
        found: list[Public] = []
        while self.begins("public"):
            _, _, state, time, key_id, text, slot_key_id = self.next(7, "public", UNLESS_OPEN)
            check_state(state, time)
            recipient = recipient_in_store(text)
            text_requires(id_in_store(recipient) == id_of(key_id), "another public key's ID")
            found.append(Public(state, time, recipient, id_of(slot_key_id)))
        text_requires(len({one.recipient for one in found}) == len(found), "one public key twice")
        text_requires(not found or [one.state for one in found].count("current") == 1, "not one current public key")
        return tuple(found)

    def public_ids(self) -> tuple[bytes, ...]:
        """The lines `public` of a keybag (STORE-32)."""
        found: list[bytes] = []
        while self.begins("public"):
            found.append(id_of(self.next(2, "public")[1]))
        text_requires(len(set(found)) == len(found), "one public key twice")
        return tuple(found)

    def keys(self, classes: Sequence[str], more_ids: Sequence[bytes], openers: list[Opener]) -> tuple[ClassKey, ...]:
        """The lines `key`, to the end of the text. The lines `identity` go to `openers`."""
        keys: list[ClassKey] = []
        while self.lines:
            if UNLESS_OPEN in classes and self.begins("identity"):
                openers.append(opener(*self.next(6, "identity", UNLESS_OPEN)[2:]))
                continue
            _, protection, state, time, key_id, secret = self.next(6, "key")
            text_requires(protection in classes, "class")
            check_state(state, time)
            keys.append(ClassKey(protection, state, time, key_with_id(key_id, secret)))
        for each in classes:
            text_requires([key.protection for key in keys if key.state == "current"].count(each) == 1,
                          "a class has not one current key")
        ids = [*more_ids, *(key.key_id for key in keys)]
        text_requires(len(set(ids)) == len(ids), "one ID twice")
        return tuple(keys)


def check_state(state: str, time: str) -> None:
    text_requires(state in ("current", "retired"), "state")
    text_requires(is_time(time), "time")


def id_in_store(recipient: Recipient) -> bytes:
    """STORE-31."""
    return recipient.fingerprint[:16]


def recipient_in_store(text: str) -> Recipient:
    """STORE-31."""
    try:
        recipient = recipient_of(text)
    except VaultError as error:
        raise VaultError("storeMalformed", "public key") from error
    text_requires(recipient.type in (p.SLOT_X25519, p.SLOT_X_WING), "a plugin's recipient")
    return recipient


def opener(state: str, time: str, key_id: str, text: str) -> Opener:
    """STORE-32."""
    check_state(state, time)
    try:
        identity = identity_of(text)
    except VaultError as error:
        raise VaultError("storeMalformed", "identity") from error
    if not isinstance(identity, Identity):
        raise VaultError("storeMalformed", "a plugin's identity")
    require(identity.type == p.SLOT_X25519 or hpke.has_x_wing(), "badKey", "this system has no X-Wing")
    text_requires(id_in_store(identity.recipient) == id_of(key_id), "another identity's ID")
    return Opener(state, time, identity)


def id_of(word: str) -> bytes:
    text_requires(re.fullmatch("[0-9a-f]{32}", word) is not None, "ID")
    return bytes.fromhex(word)


def key_with_id(key_id: str, secret: str) -> bytes:
    """KEYRING-8."""
    text_requires(secret == secret.upper(), "the secret is in upper case")
    try:
        key = key_of(secret.encode("latin-1"))
    except VaultError as error:
        raise VaultError("storeMalformed", "secret") from error
    text_requires(p.key_id(key) == id_of(key_id), "another key's ID")
    return key


def read_card(text: bytes) -> Card:
    """STORE-6."""
    lines = Lines(text, b"vaultfile store card")
    store_id = id_of(lines.next(2, "store")[1])
    index = key_with_id(*lines.next(3, "index")[1:])
    publics = lines.publics()
    keys = lines.keys(CARD.classes, [p.key_id(index)], [])
    own = {p.key_id(index), *(key.key_id for key in keys)}
    text_requires(not any(one.slot_key_id in own for one in publics), "a slot key ID of the card")
    return Card(store_id, index, keys, publics)


def read_keybag(text: bytes) -> Keybag:
    """STORE-7."""
    lines = Lines(text, b"vaultfile store keys")
    store_id = id_of(lines.next(2, "store")[1])
    index_id = id_of(lines.next(2, "index-id")[1])
    public_ids = lines.public_ids()
    classes = [each for each in KEYBAG.classes if public_ids or each != UNLESS_OPEN]
    openers: list[Opener] = []
    keys = lines.keys(classes, [index_id], openers)
    text_requires(sorted(id_in_store(one.identity.recipient) for one in openers) == sorted(public_ids), "identities")
    text_requires(not openers or [one.state for one in openers].count("current") == 1, "not one current identity")
    return Keybag(store_id, index_id, keys, public_ids, tuple(openers))


def check_together(card: Card, keybag: Keybag) -> None:
    """STORE-8."""
    ids = {key.key_id for key in card.keys}
    require(card.store_id == keybag.store_id and p.key_id(card.index) == keybag.index_id
            and not any(key.key_id in ids for key in keybag.keys)
            and all(id_in_store(one.recipient) in keybag.public_ids for one in card.publics)
            and all(any(one.slot_key_id == key.key_id and key.protection == UNLESS_OPEN for key in keybag.keys)
                    for one in card.publics), "storeForged", "card and keybag")


def read_pair(files: Files, pair: Pair, secrets: Secrets) -> bytes:
    """The text of the card or of the keybag (STORE-4)."""
    unlock_key = read_unlock_file(file_of(files, pair.key_path), secrets, pair.key_context, may_be_bare=False)
    try:
        container = open_container(file_of(files, pair.path), Secrets(keys=(unlock_key,), context=pair.context))
    except VaultError as error:
        raise VaultError("keyringMismatch" if error.name == "wrongKey" else error.name, error.detail) from error
    text_requires(container.manifest.content_type == pair.content_type, "content type")
    slots = container.header.slots
    text_requires(len(slots) <= 2 and all(slot.type == p.SLOT_SYMMETRIC for slot in slots), "slots")
    require(container.header.compression == p.COMPRESSION_NONE, "unsupportedCompression")
    text_requires(container.manifest.length <= LONGEST_TEXT, "too long")
    return container.read(0, container.manifest.length)


def file_of(files: Files, path: str) -> bytes:
    require(path in files, "system", f"there is no file {path}")
    return files[path]


# Items.

def item_context(store_id: bytes) -> bytes:
    """STORE-9."""
    return b"vaultfile store item " + store_id.hex().encode()


def item_file(index: bytes, name: bytes) -> str:
    """STORE-10: the path of an item of this name."""
    return f"items/{p.blake2b(16, b'vaultstore1 item', index, name).hex()}.vault"


def group_line(group_key: bytes, account: bytes, number: int) -> tuple[str, str]:
    """GROUP-3: the name of an account's line, and the shard that has it."""
    digest = p.blake2b(16, b"vaultstore1acct_", group_key, number.to_bytes(4, "big") + account)
    return "a" + digest.hex(), f"shards/{digest[:1].hex()}.vault"


def padded(name: bytes) -> bytes:
    """STORE-11: the plaintext of a label."""
    text = bytes([len(name)]) + name
    return text.ljust(min(length for length in LABEL_LENGTHS if length >= len(text)), b"\0")


def label_id(file_id: bytes) -> bytes:
    return LABEL_ID + file_id[:8]


def label_key(file_key: bytes, preamble: bytes) -> bytes:
    return p.blake2b(32, b"vaultstore1label", file_key, preamble)


def label_of(header: Header, file_key: bytes) -> Optional[bytes]:
    """STORE-11: the name in the label; None if there is no label, or it does not decrypt, or breaks its form."""
    wanted = label_id(header.file_id)
    slot = next((slot for slot in header.slots if slot.type == p.SLOT_LABEL and slot.key_id == wanted), None)
    if slot is None or len(slot.body) - p.NONCE_SIZE - p.TAG_SIZE not in LABEL_LENGTHS:
        return None
    text = p.aead_open(label_key(file_key, header.preamble), slot.body[:p.NONCE_SIZE],
                       header.preamble + slot.raw[:p.SLOT_HEADER_SIZE], slot.body[p.NONCE_SIZE:])
    if text is None:
        return None
    name = item_path(text[1:1 + text[0]])
    return name if name is not None and padded(name) == text else None


class Store:
    """A store that the device key has opened (STORE-16)."""

    def __init__(self, files: Files, device_key: bytes) -> None:
        require("gone" not in files, "gone")
        self.files = files
        self.card = read_card(read_pair(files, CARD, Secrets(keys=(device_key,))))
        self.state = SEALED
        self.known: dict[bytes, str] = {}  # the classes of all keys whose IDs are known
        self.keys: dict[bytes, bytes] = {}
        self.publics = {one.recipient for one in self.card.publics}
        self.identities: tuple[Identity, ...] = ()
        self.known |= {one.slot_key_id: UNLESS_OPEN for one in self.card.publics}
        self.add(self.card.keys)

    def add(self, keys: Sequence[ClassKey]) -> None:
        self.known |= {key.key_id: key.protection for key in keys}
        self.keys |= {key.key_id: key.key for key in keys}

    def unlock(self, secrets: Secrets) -> None:
        """STORE-16."""
        require("gone" not in self.files, "gone")
        require(KEYBAG.path in self.files, "noKeybag")
        keybag = read_keybag(read_pair(self.files, KEYBAG, secrets))
        check_together(self.card, keybag)
        self.add(keybag.keys)
        self.identities = tuple(one.identity for one in keybag.openers)
        self.publics |= {one.recipient for one in self.identities}
        self.state = UNLOCKED

    def lock(self) -> None:
        """STORE-17."""
        self.keys = {key_id: key for key_id, key in self.keys.items()
                     if self.known[key_id] not in (UNLESS_OPEN, COMPLETE)}
        self.identities = ()
        self.state = LOCKED if self.state == UNLOCKED else self.state

    def item_files(self) -> list[str]:
        """STORE-18."""
        return sorted(path for path in self.files if re.fullmatch(r"items/[0-9a-f]{32}\.vault", path))

    def is_available(self, protection: str) -> bool:
        return protection in (self.known[key_id] for key_id in self.keys)

    def class_of(self, slot: Slot, preamble: bytes) -> Optional[str]:
        if slot.type == p.SLOT_SYMMETRIC:
            return self.known.get(slot.key_id)
        is_own = any(one.type == slot.type and one.key_id(preamble) == slot.key_id for one in self.publics)
        return UNLESS_OPEN if is_own else None

    def weakest(self, header: Header) -> Optional[str]:
        """The weakest class of the slots that have one."""
        found = [self.class_of(slot, header.preamble) for slot in header.slots]
        return min((each for each in found if each is not None), key=CLASSES.index, default=None)

    def open(self, path: str) -> tuple[bytes, str, Container]:
        """STORE-13: name, class and container of an item."""
        source = Source(file_of(self.files, path))
        secrets = Secrets(keys=tuple(self.keys.values()), identities=self.identities,
                          context=item_context(self.card.store_id))
        try:
            copies = open_copies(source, secrets)
        except VaultError as error:
            raise self.error(source, error) from error
        protection = self.weakest(copies.header)
        if protection is None:
            raise VaultError("wrongKey", "no slot of a class")
        if not self.is_available(protection):
            raise Locked(protection)
        container = Container(source, copies, secrets)
        name = label_of(copies.header, copies.file_key) or item_path(container.members().get(ITEM_PATH, b""))
        require(name is not None and item_file(self.card.index, name) == path, "storeForged", "name")
        assert name is not None
        return name, protection, container

    def error(self, source: Source, error: VaultError) -> VaultError:
        """STORE-13, step 1: what takes the place of `wrongKey`."""
        if error.name != "wrongKey":
            return error
        reading = take_reading(source)
        copy = intact_copy(reading.front) or intact_copy(reading.tail)
        protection = self.weakest(parse_form(copy)) if copy is not None else None
        if protection is not None and not self.is_available(protection):
            return Locked(protection)
        return Locked(AFTER_FIRST_UNLOCK) if self.state == SEALED else error

    def read(self, path: str) -> Item:
        """Opens an item and reads its content."""
        name, protection, container = self.open(path)
        content = container.read(0, container.manifest.length)
        require(container.manifest.sha256 in (None, hashlib.sha256(content).digest()), "contentMismatch")
        return Item(name, protection, content)


def folder_files(folder: Path) -> dict[str, bytes]:
    """The files of a folder. Links are not followed."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.is_symlink()}


# Writing. What a parameter does not name has the form of the rules.

def text_of(title: str, *lines: str) -> bytes:
    return "".join(line + "\n" for line in (title, *lines)).encode("latin-1")


def key_text(key: ClassKey) -> str:
    return f"key {key.protection} {key.state} {key.time} {key.key_id.hex()} {key_line(key.key)}"


def public_text(one: Public) -> str:
    part = "age" if one.recipient.type == p.SLOT_X25519 else "age1pq"
    return (f"public {UNLESS_OPEN} {one.state} {one.time} {id_in_store(one.recipient).hex()} "
            f"{bech32_encoded(part, one.recipient.key)} {one.slot_key_id.hex()}")


def opener_text(one: Opener) -> str:
    part = "age-secret-key-" if one.identity.type == p.SLOT_X25519 else "age-secret-key-pq-"
    return (f"identity {UNLESS_OPEN} {one.state} {one.time} {id_in_store(one.identity.recipient).hex()} "
            f"{bech32_encoded(part, one.identity.secret).upper()}")


def card_text(card: Card) -> bytes:
    return text_of("vaultfile store card 1", f"store {card.store_id.hex()}",
                   f"index {p.key_id(card.index).hex()} {key_line(card.index)}", *map(public_text, card.publics),
                   *map(key_text, card.keys))


def keybag_text(keybag: Keybag) -> bytes:
    return text_of("vaultfile store keys 1", f"store {keybag.store_id.hex()}", f"index-id {keybag.index_id.hex()}",
                   *(f"public {each.hex()}" for each in keybag.public_ids), *map(opener_text, keybag.openers),
                   *map(key_text, keybag.keys))


def pair_files(pair: Pair, text: bytes, unlock_key: bytes, unlockers: list[AnySlot], random: Random = p.system_random,
               *, unlock_text: Optional[bytes] = None, slots: Optional[list[AnySlot]] = None,
               context: Optional[bytes] = None, content_type: Optional[bytes] = None,
               key_context: Optional[bytes] = None, key_type: Optional[bytes] = None,
               weak_stretching: bool = False) -> dict[str, bytes]:
    """A card or a keybag, and its unlock file, which is made first."""
    unlock = key_line(unlock_key).encode() + b"\n" if unlock_text is None else unlock_text
    return {
        pair.key_path: container_bytes(
            unlock, unlockers, context=pair.key_context if key_context is None else key_context, random=random,
            content_type=KEY_TYPE if key_type is None else key_type, weak_stretching=weak_stretching),
        pair.path: container_bytes(
            text, [SymmetricSlot(unlock_key)] if slots is None else slots, random=random,
            context=pair.context if context is None else context,
            content_type=pair.content_type if content_type is None else content_type)}


def label_slot(name: bytes, *, text: Optional[bytes] = None, key_id: Optional[bytes] = None) -> SlotForKey:
    """STORE-11. Draws the nonce."""
    def make(preamble: bytes, file_key: bytes, random: Random) -> bytes:
        nonce, plain = random(p.NONCE_SIZE), padded(name) if text is None else text
        slot_id = label_id(preamble[16:32]) if key_id is None else key_id
        head = build_slot(p.SLOT_LABEL, slot_id, bytes(p.NONCE_SIZE + len(plain) + p.TAG_SIZE))[:p.SLOT_HEADER_SIZE]
        return head + nonce + p.aead_seal(label_key(file_key, preamble), nonce, preamble + head, plain)
    return SlotForKey(make)


def item_bytes(card: Card, key: bytes, name: bytes, content: bytes, random: Random = p.system_random, *,
               slots: Optional[list[AnySlot]] = None, context: Optional[bytes] = None,
               path: Optional[bytes] = None, has_path: bool = True, **parameters: object) -> bytes:
    """An item (STORE-9). `slots`: in place of class slot and label; `path`: in place of the name; `parameters`: of
    write_container."""
    made = [SymmetricSlot(key), label_slot(name)] if slots is None else slots
    carried = ((ITEM_PATH, name if path is None else path),) if has_path else ()
    return container_bytes(content, made, context=item_context(card.store_id) if context is None else context,
                           carried=carried, random=random, **parameters)
