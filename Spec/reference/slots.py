"""The caller's secrets, and which slots they are tried on (FORMAT.md, 4.3, 4.4 and 16.1)."""

from typing import Callable, NamedTuple, Optional

import primitives as p
from errors import require
from header import Header, Slot


class Limits(NamedTuple):
    """The caller's own limits on passphrase slots (SLOT-17); the format's caps hold besides."""

    max_passes: int = p.MAX_PASSES
    max_memory_kib: int = p.MAX_MEMORY_KIB
    max_passphrase_slots: int = p.MAX_PASSPHRASE_SLOTS
    max_stretching_kib: int = p.MAX_STRETCHING_KIB


# SLOT-12: (key ID, body, associated data) -> 32 bytes, or None.
PrivateSlot = Callable[[bytes, bytes, bytes], Optional[bytes]]


class Secrets(NamedTuple):
    keys: tuple[bytes, ...] = ()
    passphrases: tuple[bytes, ...] = ()
    context: bytes = b""
    limits: Limits = Limits()
    private_slot: Optional[PrivateSlot] = None


def check_key(key: bytes) -> None:
    require(len(key) == p.KEY_SIZE and key != bytes(p.KEY_SIZE), "badKey")  # ARG-1


def check_passphrase(passphrase: bytes) -> None:
    require(1 <= len(passphrase) <= p.MAX_PASSPHRASE, "badPassphrase")  # ARG-2


def check_context(context: bytes) -> None:
    require(len(context) <= p.MAX_CONTEXT, "badContext")  # ARG-3


def check_secrets(secrets: Secrets) -> None:
    """ARG-4: before anything is read."""
    for key in secrets.keys:
        check_key(key)
    for passphrase in secrets.passphrases:
        check_passphrase(passphrase)
    check_context(secrets.context)


class Opened(NamedTuple):
    file_key: bytes
    slot: Slot


def within_limits(header: Header, limits: Limits) -> tuple[list[Slot], list[Slot]]:
    """SLOT-17: the passphrase slots of one copy within the caller's limits, and those beyond."""
    within: list[Slot] = []
    beyond: list[Slot] = []
    total = 0
    for slot in header.slots:
        if slot.type != p.SLOT_PASSPHRASE:
            continue
        if (slot.passes > limits.max_passes or slot.memory_kib > limits.max_memory_kib
                or len(within) + 1 > limits.max_passphrase_slots
                or total + slot.stretching_kib > limits.max_stretching_kib):
            beyond.append(slot)
        else:
            within.append(slot)
            total += slot.stretching_kib
    return within, beyond


def unwrap(kek: bytes, nonce: bytes, associated: bytes, wrapped: bytes, preamble: bytes,
           context: bytes) -> Optional[bytes]:
    """SLOT-11, steps 2 to 5."""
    file_key = p.aead_open(kek, nonce, associated, wrapped)
    return fitting(file_key, preamble, context)


def fitting(file_key: Optional[bytes], preamble: bytes, context: bytes) -> Optional[bytes]:
    """SLOT-11, steps 3 to 5: the file key if there is one and the preamble commits to it."""
    succeeded = file_key is not None and len(file_key) == p.KEY_SIZE
    candidate = file_key if succeeded else bytes(p.KEY_SIZE)
    fits = p.equal(p.commitment(candidate, preamble, context), preamble[32:64])
    return candidate if succeeded and fits else None


class SlotTrials:
    """Tries slots of header copies; a slot that stands byte for byte in two copies of one preamble once (SLOT-15)."""

    def __init__(self, secrets: Secrets, stretching_budget: Optional[int] = None) -> None:
        self.secrets = secrets
        self.tried: set[bytes] = set()
        self.beyond: set[bytes] = set()
        self.memory_failed = False
        self.stretching_left = stretching_budget  # RECOV-4; None: no other bound than the caps

    @property
    def limited(self) -> bool:
        """A passphrase slot was left out (SLOT-17, SLOT-18)."""
        return self.memory_failed or bool(self.beyond - self.tried)

    def open_first(self, copies: list[Header]) -> Optional[Opened]:
        """SLOT-15."""
        return self.open_symmetric(copies) or self.open_private(copies) or self.open_passphrase(copies)

    def open_symmetric(self, copies: list[Header]) -> Optional[Opened]:
        """SLOT-13."""
        by_id = {p.key_id(key): key for key in self.secrets.keys}
        for header in copies:
            for slot in header.slots:
                if slot.type == p.SLOT_SYMMETRIC and slot.key_id in by_id and self.first_time(header, slot):
                    file_key = self.try_symmetric(header, slot, by_id[slot.key_id])
                    if file_key is not None:
                        return Opened(file_key, slot)
        return None

    def open_private(self, copies: list[Header]) -> Optional[Opened]:
        """SLOT-12."""
        for header in copies:
            for slot in header.slots:
                if slot.type >= 0x8000 and self.secrets.private_slot and self.first_time(header, slot):
                    associated = header.preamble + slot.raw[:p.SLOT_HEADER_SIZE]
                    given = self.secrets.private_slot(slot.key_id, slot.body, associated)
                    file_key = fitting(given, header.preamble, self.secrets.context)
                    if file_key is not None:
                        return Opened(file_key, slot)
        return None

    def open_passphrase(self, copies: list[Header]) -> Optional[Opened]:
        """SLOT-14."""
        if not self.secrets.passphrases:
            return None
        for header in copies:
            within, beyond = within_limits(header, self.secrets.limits)
            self.beyond.update(header.preamble + slot.raw for slot in beyond)
            for slot in within:
                if not self.affordable(header, slot) or not self.first_time(header, slot):
                    continue
                for passphrase in self.secrets.passphrases:
                    file_key = self.try_passphrase(header, slot, passphrase)
                    if file_key is not None:
                        return Opened(file_key, slot)
        return None

    def first_time(self, header: Header, slot: Slot) -> bool:
        new = header.preamble + slot.raw not in self.tried
        self.tried.add(header.preamble + slot.raw)
        return new

    def affordable(self, header: Header, slot: Slot) -> bool:
        if self.stretching_left is None or header.preamble + slot.raw in self.tried:
            return True
        if slot.stretching_kib > self.stretching_left:
            self.beyond.add(header.preamble + slot.raw)
            return False
        self.stretching_left -= slot.stretching_kib
        return True

    def try_symmetric(self, header: Header, slot: Slot, key: bytes) -> Optional[bytes]:
        kek = p.kek_symmetric(key, header.preamble)
        nonce, wrapped = slot.body[:p.NONCE_SIZE], slot.body[p.NONCE_SIZE:]
        associated = header.preamble + slot.raw[:-len(wrapped)]
        return unwrap(kek, nonce, associated, wrapped, header.preamble, self.secrets.context)

    def try_passphrase(self, header: Header, slot: Slot, passphrase: bytes) -> Optional[bytes]:
        try:
            stretched = p.argon2id(passphrase, slot.key_id, slot.passes, slot.memory_kib)
        except MemoryError:  # SLOT-18
            self.memory_failed = True
            return None
        kek = p.kek_passphrase(stretched, header.preamble)
        nonce, wrapped = slot.body[12:12 + p.NONCE_SIZE], slot.body[12 + p.NONCE_SIZE:]
        associated = header.preamble + slot.raw[:-len(wrapped)]
        return unwrap(kek, nonce, associated, wrapped, header.preamble, self.secrets.context)

    def fail(self, copies: list[Header]) -> None:
        """No slot opened."""
        if not self.tried:  # SLOT-16
            zero = bytes(p.KEY_SIZE)
            unwrap(zero, bytes(p.NONCE_SIZE), b"", bytes(p.KEY_SIZE + p.TAG_SIZE), copies[0].preamble,
                   self.secrets.context)
        # SLOT-19
        require(not self.limited, "limitExceeded")
        require(False, "wrongKey", "no key, passphrase or context given opens this container")
