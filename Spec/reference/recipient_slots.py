"""New slots of types 3 to 5, and which recipients may be together (RECIPIENTS.md, 4.7)."""

from typing import Callable, Iterable, NamedTuple, Optional, Union

import hpke
import primitives as p
from errors import require
from header import Slot
from public_slots import (HIDDEN, Identity, Recipient, encapsulate, exported_secret, is_hidden, is_usable, kek_public,
                          public_head, wrapped_slot)
from stanza_slots import (FIXED_BODY, LONGEST_STANZAS, POST_QUANTUM, SECRET_SIZE, are_stanzas, kek_stanzas, parsed,
                          stanza_slot)

STRONG, CLASSICAL = "strong", "classical"
LABELS = {(): 0, ("postquantum",): POST_QUANTUM}


class RecipientSlot(NamedTuple):
    """A recipient that gets a slot."""

    recipient: Recipient
    is_hidden: bool = False
    identity: Optional[Identity] = None  # of a recipient whose identity the caller gives
    labels: tuple[str, ...] = ()  # what a plugin has made for a recipient of type 5 (PLUG-5)
    stanzas: bytes = b""

    @property
    def type(self) -> int:
        return self.recipient.type

    @property
    def size(self) -> int:
        """Of the whole slot."""
        body = {p.SLOT_X25519: p.X25519_BODY_SIZE, p.SLOT_X_WING: p.X_WING_BODY_SIZE}
        return p.SLOT_HEADER_SIZE + body.get(self.type, FIXED_BODY + len(self.stanzas))

    @property
    def strength(self) -> str:
        """MIX-1."""
        return STRONG if self.type == p.SLOT_X_WING or "postquantum" in self.labels else CLASSICAL

    def check(self, has_x_wing: bool = hpke.has_x_wing()) -> None:
        """ARG-7: before anything is read."""
        require(self.type != p.SLOT_X_WING or has_x_wing, "badKey", "this system has no X-Wing")
        if self.type == p.SLOT_STANZAS:  # PLUG-5
            require(self.labels in LABELS, "mixedRecipients", "an unknown label")
            require(len(self.stanzas) <= LONGEST_STANZAS and are_stanzas(self.stanzas), "pluginFailed")


class Made(NamedTuple):
    slot: bytes
    secret: bytes  # exported, or s: what opens the slot for its writer (ROT-18)


def made_slot(one: RecipientSlot, preamble: bytes, file_key: bytes, random: Callable[[int], bytes]) -> Made:
    """Draws from `random`, in this order: the end of a hidden key ID; the scalar of the encapsulation, or s; the
    nonce."""
    key_id = HIDDEN + random(8) if one.is_hidden else one.recipient.key_id(preamble)
    if one.type == p.SLOT_STANZAS:
        secret, nonce = random(SECRET_SIZE), random(p.NONCE_SIZE)
        return Made(stanza_slot(key_id, LABELS[one.labels], one.stanzas, secret, nonce, preamble, file_key), secret)
    enc, shared = encapsulate(one.recipient, random(p.KEY_SIZE))
    slot = wrapped_slot(one.type, key_id, enc, shared, random(p.NONCE_SIZE), preamble, file_key)
    return Made(slot, exported_secret(one.type, shared, preamble, public_head(one.type, key_id)))


def opened_by_writer(slot: Slot, secret: bytes, preamble: bytes) -> Optional[bytes]:
    """ROT-18: the first two steps of SLOT-14 with what the writer has kept."""
    kek = (kek_stanzas if slot.type == p.SLOT_STANZAS else kek_public)(secret, preamble)
    start, wrapped = slot.raw[:-p.WRAPPED_SIZE], slot.raw[-p.WRAPPED_SIZE:]
    return p.aead_open(kek, start[-p.NONCE_SIZE:], preamble + start, wrapped)


def strength(slot: Slot) -> Optional[str]:
    """MIX-1."""
    content = parsed(slot)
    if slot.type == p.SLOT_X_WING or content is not None and content.labels & POST_QUANTUM:
        return STRONG
    return CLASSICAL if slot.type in p.RECIPIENT_TYPES else None


def check_recipients(slots: Iterable[Union[Slot, RecipientSlot, object]], mixed: bool, has_x_wing: bool) -> None:
    """MIX-2 and WRITE-5, for the slots of a new header: those that stay, and those that are made."""
    new = [slot for slot in slots if isinstance(slot, RecipientSlot)]
    old = [slot for slot in slots if isinstance(slot, Slot)]
    strengths = {slot.strength for slot in new} | {strength(slot) for slot in old} - {None}
    require(not new or mixed or len(strengths) < 2, "mixedRecipients")
    for types, most in (((p.SLOT_X25519, p.SLOT_X_WING), p.MAX_PUBLIC_KEY_SLOTS),
                        ((p.SLOT_STANZAS,), p.MAX_STANZA_SLOTS)):
        added = sum(slot.is_hidden and slot.type in types for slot in new)
        there = sum(is_hidden(slot) and slot.type in types and is_tried(slot, has_x_wing) for slot in old)
        require(not added or added + there <= most, "doesNotFit")


def is_tried(slot: Slot, has_x_wing: bool) -> bool:
    """Whether it is usable (SLOT-24, SLOT-29)."""
    return is_usable(slot, has_x_wing) or parsed(slot) is not None
