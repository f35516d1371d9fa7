"""Stores built by hand: a good one, whose texts, containers and items a case replaces one by one."""

import base64
import hashlib
import re

from forge import Box, aead_seal, draw, key_id, raw_slot
from group_l import line
from primitives import blake2b
from recipients import HybridKey, Key, slot
from vector import rule_order, stores

CARD, KEYBAG = "store.vault", "keys.vault"
CONTEXTS = {CARD: b"vaultfile store card", KEYBAG: b"vaultfile store keys"}
TYPES = {CARD: b"application/x-vaultfile-store-card", KEYBAG: b"application/x-vaultfile-store-keys"}
KEY_TYPE = b"application/x-vaultfile-key"
CONTENT_TYPE, ITEM_PATH, LABEL = 0x8001, 0x8056, 0x8056
LABEL_ID = bytes.fromhex("83ab458ceaaa93fa")
TIME = "2026-11-21T10:00:00Z"
CLASSES = ("always", "afterFirstUnlock", "unlessOpen", "complete")

STORE_ID = draw("T", "store ID", 16)
DEVICE, OWNER, INDEX = (draw("T", each, 32) for each in ("device key", "owner's key", "index key"))
UNLOCK = {CARD: draw("T", "unlock key of the card", 32), KEYBAG: draw("T", "unlock key of the keybag", 32)}
KEYS = {each: draw("T", f"key of {each}", 32) for each in CLASSES}
RETIRED = {each: draw("T", f"retired key of {each}", 32) for each in CLASSES}
FOREIGN = draw("T", "key of another store", 32)
PUBLIC, RETIRED_PUBLIC, FOREIGN_PUBLIC = Key("store"), Key("retired, of a store"), Key("of another store")
STRONG = HybridKey(0)
LABEL_LENGTHS = (64, 128, 256)


def hex_id(key):
    return key_id(key).hex()


def key(protection, secret=None, state="current", time=TIME):
    """The line of a key."""
    secret = KEYS[protection] if secret is None else secret
    return f"key {protection} {state} {time} {hex_id(secret)} {line(secret).decode()}"


def public_id(one):
    """STORE-31."""
    return one.recipient.fingerprint[:16].hex()


def public(one=PUBLIC, state="current", time=TIME, slot_key=None):
    """The line of a public key in a card."""
    return (f"public unlessOpen {state} {time} {public_id(one)} {one.text} "
            f"{hex_id(KEYS['unlessOpen'] if slot_key is None else slot_key)}")


def identity(one=PUBLIC, state="current", time=TIME):
    """The line of an identity."""
    return f"identity unlessOpen {state} {time} {public_id(one)} {one.identity}"


def wide_card(*publics, **more):
    """The lines of a card with the class unlessOpen."""
    return card_lines(*(publics or [public()]), key("always"), **more)


def wide_keybag(*openers, publics=(PUBLIC,), keys=None, **more):
    """The lines of a keybag with the class unlessOpen."""
    if keys is None:
        keys = [key(each) for each in ("complete", "afterFirstUnlock", "unlessOpen")]
    return keybag_lines(*(f"public {public_id(each)}" for each in publics), *(openers or [identity()]), *keys, **more)


def card_lines(*keys, store_id=STORE_ID, index=INDEX):
    return ["vaultfile store card 1", f"store {store_id.hex()}", f"index {hex_id(index)} {line(index).decode()}",
            *(keys or [key("always")])]


def keybag_lines(*keys, store_id=STORE_ID, index=INDEX):
    return ["vaultfile store keys 1", f"store {store_id.hex()}", f"index-id {hex_id(index)}",
            *(keys or [key("complete"), key("afterFirstUnlock")])]


def text(lines):
    return "".join(each + "\n" for each in lines).encode("latin-1")


def item_file(name, index=INDEX):
    return f"items/{blake2b(16, b'vaultstore1 item', index, name).hex()}.vault"


def item_context(store_id=STORE_ID):
    return b"vaultfile store item " + store_id.hex().encode()


def padded(name, length=None):
    plain = bytes([len(name)]) + name
    return plain.ljust(length or next(each for each in LABEL_LENGTHS if each >= len(plain)), b"\0")


def label(box, name, *, plain=None, slot_id=None, kind=LABEL, file_key=None, nonce="label nonce"):
    """The label of an item. `plain`: in place of the padded name."""
    plain = padded(name) if plain is None else plain
    nonce = draw(box.seed, nonce, 24)
    slot_id = LABEL_ID + box.file_id[:8] if slot_id is None else slot_id
    head = raw_slot(kind, slot_id, b"", len(plain) + 40)
    sealing = blake2b(32, b"vaultstore1label", file_key or box.file_key, box.preamble)
    return head + nonce + aead_seal(sealing, nonce, box.preamble + head, plain)


def room(box, slots):
    """The capacity of WRITE-7 for a short input."""
    needed, capacity = 140 + sum(map(len, slots)) + max(map(len, slots)), 512
    while capacity < needed:
        capacity *= 2
    box.capacity = capacity
    return slots


class Shelf:
    """The folder of a store. `name` fixes the randomness of its containers."""

    def __init__(self, name, *, has_keybag=True, card=None, keybag=None, needs=None):
        self.name = name
        self.needs = needs
        self.files = {"lock": b""}
        self.expected = {}
        self.pair(CARD, card_lines() if card is None else card)
        if has_keybag:
            self.pair(KEYBAG, keybag_lines() if keybag is None else keybag)

    def pair(self, path, lines):
        self.files[path + ".key"] = self.unlock_file(path).bytes()
        self.files[path] = self.container(path, lines).bytes()
        return self

    def unlock_file(self, path, plain=None, *, slots=None, context=None, content_type=KEY_TYPE, **box):
        """The unlock file of a card or a keybag."""
        opener = DEVICE if path == CARD else OWNER
        return Box(f"T {self.name} {path}.key", line(UNLOCK[path]) + b"\n" if plain is None else plain, slots=slots,
                   context=CONTEXTS[path] + b" key" if context is None else context, user_key=opener,
                   members=[(CONTENT_TYPE, content_type)] if content_type else (), **box)

    def container(self, path, lines=None, *, context=None, content_type=None, user_key=None, **box):
        """A card or a keybag. `lines`: of its text, or the text."""
        if lines is None:
            lines = card_lines() if path == CARD else keybag_lines()
        content_type = TYPES[path] if content_type is None else content_type
        return Box(f"T {self.name} {path}", lines if isinstance(lines, bytes) else text(lines),
                   context=CONTEXTS[path] if context is None else context, user_key=user_key or UNLOCK[path],
                   members=[(CONTENT_TYPE, content_type)] if content_type else (), **box)

    def box(self, name, protection="always", content=b"an item", *, secrets=None, labels=None, path=None, more=(),
            context=None, seed="", members=(), **box):
        """The container of an item. `secrets`: the keys of its symmetric slots; `labels`: a function of the box, with
        its labels; `path`: in place of its name, or b"" for none; `more`: a function of the box, with more slots."""
        secrets = [KEYS[protection]] if secrets is None else secrets

        def slots(made):
            return room(made, [*(made.symmetric(each) for each in secrets),
                               *([label(made, name)] if labels is None else labels(made)),
                               *(more(made) if more else ())])
        path = name if path is None else path
        carried = [(ITEM_PATH, path)] if path else []
        return Box(f"T {self.name} {name.hex()} {seed}", content, slots=slots, members=[*carried, *members],
                   context=item_context() if context is None else context, **box)

    def public(self, name, *publics, keys=(), content=b"an item", **more):
        """The container of an item that a sealed program has written. `publics`: those that get slots; `keys`: of
        symmetric slots before them."""
        added = more.pop("more", lambda b: [])
        return self.box(name, "unlessOpen", content, secrets=list(keys), more=lambda b: [
            *(slot(b, each) for each in publics or [PUBLIC]), *added(b)], **more)

    def put(self, name, protection="always", content=b"an item", **more):
        """Adds a good item."""
        return self.add(name, self.box(name, protection, content, **more), protection, content)

    def add(self, name, box, protection, content=b"an item", file=None):
        """Adds an item that opens. `box`: its container or its bytes."""
        return self.add_file(item_file(name) if file is None else file, box,
                             f"{protection} {len(content)} {hashlib.sha256(content).hexdigest()} {name.hex()}",
                             protection != "always", protection in ("unlessOpen", "complete"))

    def refuse(self, name, box, error, *, sealed=False, locked=False):
        """Adds an item that does not open in the last state. `sealed`, `locked`: whether it is `locked` in these
        states."""
        return self.add_file(item_file(name), box, error, sealed, locked)

    def add_file(self, file, box, result, sealed, locked):
        assert file not in self.files, file
        self.files[file] = box if isinstance(box, bytes) else box.bytes()
        self.expected[file] = result, sealed, locked
        return self

    def vector(self, case, *, open="done", unlock="done", device=DEVICE, keys=(OWNER,), passphrases=(), tests, comment):
        """Adds the vector. `unlock`: None if the store is only opened; then what is expected of the items is about
        that."""
        lines = [("case", case), ("tests", ", ".join(sorted(set(tests.split()), key=rule_order))), ("comment", comment),
                 *([("needs", self.needs)] if self.needs else []), ("device-key", device.hex())]
        if unlock is not None:
            lines += [("unlock-key", each.hex()) for each in keys]
            lines += [("unlock-passphrase", each.hex()) for each in passphrases]
        lines += [("file", f"{path} {base64.b64encode(data).decode()}") for path, data in sorted(self.files.items())]
        lines.append(("open", open))
        if open == "done":
            lines += [("unlock", unlock)] if unlock is not None else []
            lines.append(("locked-when-sealed", str(sum(sealed for _, sealed, _ in self.expected.values()))))
            if unlock == "done":
                lines.append(("locked-when-locked", str(sum(locked for _, _, locked in self.expected.values()))))
            lines += [("item", f"{file[6:38]} {result}") for file, (result, *_) in sorted(self.expected.items())]
        name = f"{case}-{self.name}"
        assert re.fullmatch(r"T[0-9]+-[a-z0-9-]+", name), name
        assert all(each[0] != name for each in stores), name
        stores.append((name, lines, b""))
