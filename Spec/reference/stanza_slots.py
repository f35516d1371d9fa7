"""Slots of type 5: age stanzas, which only plugins open (RECIPIENTS.md, 4.6)."""

import base64
import re
from typing import Callable, Iterator, NamedTuple, Optional

import primitives as p
from header import Header, Slot
from public_slots import PluginIdentity

SECRET_SIZE = 16
LEAST_STANZAS, MOST_STANZAS, LONGEST_STANZAS = 1, 16, 8192
POST_QUANTUM = 1  # label bit 0
FIXED_BODY = 4 + p.NONCE_SIZE + p.WRAPPED_SIZE
STANZA = re.compile(rb"-> [!-~]+(?: [!-~]+)*\n(?:[A-Za-z0-9+/]{64}\n)*([A-Za-z0-9+/]{0,63})\n")


class PluginFailed(Exception):
    """A plugin is not there, or a session with it failed."""


# One session with a plugin (SLOT-34): its name, the texts of its identities, the stanzas of each slot -> for each slot
# the secret, or None. Raises PluginFailed.
Plugins = Callable[[str, list[str], list[bytes]], list[Optional[bytes]]]


class StanzaSlot(NamedTuple):
    labels: int
    stanzas: bytes
    start: bytes  # the slot before the wrapped file key
    nonce: bytes
    wrapped: bytes


def are_stanzas(text: bytes) -> bool:
    """SLOT-29."""
    at = count = 0
    while at < len(text):
        stanza = STANZA.match(text, at)
        if stanza is None:
            return False
        last = stanza[1]
        padded = last + b"=" * (-len(last) % 4)
        if len(last) % 4 == 1 or base64.b64encode(base64.b64decode(padded)) != padded:
            return False
        at, count = stanza.end(), count + 1
    return LEAST_STANZAS <= count <= MOST_STANZAS


def parsed(slot: Slot) -> Optional[StanzaSlot]:
    """SLOT-29: None if the slot is not usable."""
    length = int.from_bytes(slot.body[2:4], "big")
    labels = int.from_bytes(slot.body[0:2], "big")
    if (slot.type != p.SLOT_STANZAS or len(slot.body) != FIXED_BODY + length or labels not in (0, POST_QUANTUM)
            or not 1 <= length <= LONGEST_STANZAS or not are_stanzas(slot.body[4:4 + length])):
        return None
    start = slot.raw[:-p.WRAPPED_SIZE]
    return StanzaSlot(labels, slot.body[4:4 + length], start, start[-p.NONCE_SIZE:], slot.raw[-p.WRAPPED_SIZE:])


def kek_stanzas(secret: bytes, preamble: bytes) -> bytes:
    """KEY-23."""
    return p.blake2b(32, b"vaultfile1wrap-a", secret, preamble)


def stanza_slot(key_id: bytes, labels: int, stanzas: bytes, secret: bytes, nonce: bytes, preamble: bytes,
                file_key: bytes) -> bytes:
    """SLOT-13, SLOT-30."""
    start = (p.SLOT_STANZAS.to_bytes(2, "big") + (FIXED_BODY + len(stanzas)).to_bytes(2, "big") + key_id
             + labels.to_bytes(2, "big") + len(stanzas).to_bytes(2, "big") + stanzas + nonce)
    return start + p.aead_seal(kek_stanzas(secret, preamble), nonce, preamble + start, file_key)


class Sessions:
    """The stanza slots of one opening: which plugin gets which, in which session, and what it answered."""

    def __init__(self, identities: list[PluginIdentity], plugins: Optional[Plugins], limit: int) -> None:
        self.plugins = plugins
        self.limit = limit
        self.by_name: dict[str, list[PluginIdentity]] = {}
        for each in identities:
            self.by_name.setdefault(each.name, []).append(each)
        self.within: set[tuple[str, bytes]] = set()
        self.beyond: set[tuple[str, bytes]] = set()
        self.answers: dict[tuple[str, bytes], Optional[bytes]] = {}  # of the slots that were handed over
        self.failed: set[tuple[str, bytes]] = set()  # slots that a plugin was to open when it failed

    def is_matched(self, name: str, header: Header, slot: Slot) -> bool:
        """SLOT-32."""
        return any(recipient.key_id(header.preamble) == slot.key_id
                   for identity in self.by_name[name] for recipient in identity.known)

    def judge(self, slots: list[tuple[Header, Slot]]) -> None:
        """SLOT-33, for one copy, or for several that count as one."""
        distinct = {header.preamble + slot.raw: (header, slot) for header, slot in slots if parsed(slot) is not None}
        for name in self.by_name:
            counts = {True: 0, False: 0}
            for trial, (header, slot) in distinct.items():
                matched = self.is_matched(name, header, slot)
                counts[matched] += 1
                (self.within if counts[matched] <= self.limit else self.beyond).add((name, trial))

    def rounds(self, copies: list[Header]) -> Iterator[list[tuple[Header, Slot, bytes]]]:
        """SLOT-34: after each session, the slots for which its plugin has given an answer."""
        for matched in (True, False):
            for name in self.by_name:
                self.hold(name, matched, copies)
                yield [(header, slot, answer) for header in copies for slot in header.slots
                       if (answer := self.answers.get((name, header.preamble + slot.raw))) is not None]

    def hold(self, name: str, matched: bool, copies: list[Header]) -> None:
        wanted: dict[bytes, bytes] = {}
        for header in copies:
            for slot in header.slots:
                trial = header.preamble + slot.raw
                content = parsed(slot)
                if (content is not None and (name, trial) in self.within and (name, trial) not in self.answers
                        and self.is_matched(name, header, slot) == matched):
                    wanted[trial] = content.stanzas
        if not wanted:
            return
        answers: list[Optional[bytes]] = [None] * len(wanted)
        try:
            if self.plugins is None:
                raise PluginFailed(name)
            answers = self.plugins(name, [each.text for each in self.by_name[name]], list(wanted.values()))
            if any(answer is not None and len(answer) != SECRET_SIZE for answer in answers):
                raise PluginFailed(name)
        except PluginFailed:
            self.failed.update((name, trial) for trial in wanted)
            answers = [None] * len(wanted)
        self.answers.update(zip([(name, trial) for trial in wanted], answers))

    def left_out(self, trials: set[bytes]) -> bool:
        return any(trial in trials for _, trial in self.beyond - self.within)

    def plugin_failed(self, trials: set[bytes]) -> bool:
        return any(trial in trials for _, trial in self.failed)


def opened_by(answer: bytes, slot: Slot, preamble: bytes) -> Optional[bytes]:
    """Steps 1 and 2 of SLOT-14."""
    content = parsed(slot)
    assert content is not None
    return p.aead_open(kek_stanzas(answer, preamble), content.nonce, preamble + content.start, content.wrapped)
