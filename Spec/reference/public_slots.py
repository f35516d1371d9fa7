"""Slots of types 3 and 4: fingerprints, key IDs, wrapping and opening (RECIPIENTS.md, 4.5)."""

from typing import NamedTuple, Optional, Union

import hpke
import primitives as p
from errors import require
from header import Slot

HIDDEN = bytes(8)  # how the key ID of a hidden slot begins (SLOT-26)
KEMS = {p.SLOT_X25519: hpke.KEM_X25519, p.SLOT_X_WING: hpke.KEM_X_WING}


class Recipient(NamedTuple):
    """A public key, or what names a plugin's: KEY-17's slot type and E."""

    type: int
    key: bytes

    @property
    def fingerprint(self) -> bytes:
        """KEY-17."""
        return p.blake2b(32, b"vaultfile1pubkey", b"", self.type.to_bytes(2, "big") + self.key)

    def key_id(self, preamble: bytes) -> bytes:
        """KEY-18."""
        return p.blake2b(16, b"vaultfile1pub-id", self.fingerprint, preamble)


class Identity(NamedTuple):
    """The private key of type 3 (a scalar) or of type 4 (a seed)."""

    type: int
    secret: bytes

    @property
    def recipient(self) -> Recipient:
        public = hpke.x25519_public if self.type == p.SLOT_X25519 else hpke.x_wing_public
        return Recipient(self.type, public(self.secret))

    def shared_secret(self, enc: bytes) -> Optional[bytes]:
        """KEY-19, KEY-22: None if it would come from an X25519 result of zeros."""
        if self.type == p.SLOT_X25519:
            return hpke.dhkem_decapsulate(enc, self.secret)
        return hpke.x_wing_decapsulate(enc, self.secret)


class PluginIdentity(NamedTuple):
    """An identity of type 5: only its plugin understands it."""

    name: str
    text: str
    known: tuple[Recipient, ...] = ()  # SLOT-32


AnyIdentity = Union[Identity, PluginIdentity]


def is_hidden(slot: Slot) -> bool:
    """SLOT-26."""
    return slot.type in p.RECIPIENT_TYPES and slot.key_id[:8] == HIDDEN


def is_usable(slot: Slot, has_x_wing: bool) -> bool:
    """SLOT-24."""
    if slot.type == p.SLOT_X25519:
        return len(slot.body) == p.X25519_BODY_SIZE
    return slot.type == p.SLOT_X_WING and len(slot.body) == p.X_WING_BODY_SIZE and has_x_wing


def exported_secret(slot_type: int, shared: bytes, preamble: bytes, head: bytes) -> bytes:
    """KEY-19; `head` is the slot's first 20 bytes."""
    info = b"vaultfile1hpke-i" + preamble + head
    return hpke.context(KEMS[slot_type], shared, info).export(b"vaultfile1hpke-x", 32)


def kek_public(exported: bytes, preamble: bytes) -> bytes:
    """KEY-20."""
    return p.blake2b(32, b"vaultfile1wrap-h", exported, preamble)


def public_head(slot_type: int, key_id: bytes) -> bytes:
    length = p.X25519_BODY_SIZE if slot_type == p.SLOT_X25519 else p.X_WING_BODY_SIZE
    return slot_type.to_bytes(2, "big") + length.to_bytes(2, "big") + key_id


def wrapped_slot(slot_type: int, key_id: bytes, enc: bytes, shared: bytes, nonce: bytes, preamble: bytes,
                 file_key: bytes) -> bytes:
    """A slot of type 3 or 4 (SLOT-13, SLOT-24)."""
    head = public_head(slot_type, key_id)
    kek = kek_public(exported_secret(slot_type, shared, preamble, head), preamble)
    start = head + enc + nonce
    return start + p.aead_seal(kek, nonce, preamble + start, file_key)


def encapsulate(recipient: Recipient, ephemeral: bytes) -> tuple[bytes, bytes]:
    """(enc, shared secret); KEY-22 refuses some public keys."""
    if recipient.type == p.SLOT_X_WING:
        require(hpke.has_x_wing(), "badKey", "this system has no X-Wing")  # SLOT-24
    made = (hpke.dhkem_encapsulate if recipient.type == p.SLOT_X25519 else hpke.x_wing_encapsulate)(
        recipient.key, ephemeral)
    require(made is not None, "badKey", "a public key of low order")
    assert made is not None
    return made


def opened_with(shared: Optional[bytes], slot: Slot, preamble: bytes) -> Optional[bytes]:
    """What the slot holds, if the shared secret is right: steps 1 and 2 of SLOT-14."""
    if shared is None:
        return None
    kek = kek_public(exported_secret(slot.type, shared, preamble, slot.raw[:p.SLOT_HEADER_SIZE]), preamble)
    nonce, wrapped = slot.raw[-p.WRAPPED_SIZE - p.NONCE_SIZE:-p.WRAPPED_SIZE], slot.raw[-p.WRAPPED_SIZE:]
    return p.aead_open(kek, nonce, preamble + slot.raw[:-p.WRAPPED_SIZE], wrapped)


def enc_of(slot: Slot) -> bytes:
    return slot.body[:-p.WRAPPED_SIZE - p.NONCE_SIZE]
