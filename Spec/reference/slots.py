"""The caller's secrets, and the slots on which they are tried (FORMAT.md, 4.3, 4.4 and 16.1)."""

from typing import Callable, NamedTuple, Optional

import hpke
import primitives as p
from errors import require
from header import Header, Slot, read_header_file
from public_slots import (AnyIdentity, Identity, PluginIdentity, Recipient, enc_of, is_hidden, is_usable,
                          opened_with)
from stanza_slots import Plugins, Sessions, opened_by


class Limits(NamedTuple):
    """The caller's own limits (SLOT-20, SLOT-27, SLOT-33, ARG-5, ARG-8); the format's caps apply too."""

    max_passes: int = p.MAX_PASSES
    max_memory_kib: int = p.MAX_MEMORY_KIB
    max_passphrase_slots: int = p.MAX_PASSPHRASE_SLOTS
    max_stretching_kib: int = p.MAX_STRETCHING_KIB
    max_public_key_slots: int = p.MAX_PUBLIC_KEY_SLOTS
    max_stanza_slots: int = p.MAX_STANZA_SLOTS
    max_plaintext_length: Optional[int] = None  # ARG-5
    max_chunk_size: Optional[int] = None  # ARG-8

    def check_length(self, length: int) -> None:
        """ARG-5."""
        require(self.max_plaintext_length is None or length <= self.max_plaintext_length, "limitExceeded",
                "the plaintext is longer than the caller allows")

    def check_chunk(self, chunk: int) -> None:
        """ARG-8."""
        require(self.max_chunk_size is None or chunk <= self.max_chunk_size, "limitExceeded",
                "the chunks are larger than the caller allows")


class Expected(NamedTuple):
    """The state of the header that the caller requires (ARG-6); None for what they do not require."""

    commitment: Optional[bytes] = None
    generation: Optional[int] = None  # the least
    mac: Optional[bytes] = None

    def is_met(self, header: Header) -> bool:
        if self.commitment not in (None, header.commitment):
            return False
        has_mac = self.mac == header.raw[-p.MAC_SIZE - p.CHECKSUM_SIZE:-p.CHECKSUM_SIZE]
        if self.generation is None:
            return self.mac is None or has_mac
        least = self.generation if self.mac is None else self.generation + 1
        return header.generation >= least or header.generation == self.generation and has_mac


# SLOT-15: (key ID, body, associated data) -> 32 bytes, or None.
PrivateSlot = Callable[[bytes, bytes, bytes], Optional[bytes]]


class Secrets(NamedTuple):
    keys: tuple[bytes, ...] = ()
    passphrases: tuple[bytes, ...] = ()
    context: bytes = b""
    limits: Limits = Limits()
    private_slot: Optional[PrivateSlot] = None
    expected: Expected = Expected()
    header_file: Optional[bytes] = None  # of a detached container (DET-3)
    expected_header_file: Expected = Expected()  # the state that the caller requires of it (DET-5)
    identities: tuple[AnyIdentity, ...] = ()
    plugins: Optional[Plugins] = None
    has_x_wing: bool = hpke.has_x_wing()  # False: as if the system had no X-Wing


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
    """SLOT-20: the passphrase slots of one copy that are within the caller's limits, and those that are beyond."""
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


def trial_of(header: Header, slot: Slot) -> bytes:
    """A slot under its preamble: what SLOT-18 tries once."""
    return header.preamble + slot.raw


def unwrap(kek: bytes, nonce: bytes, associated: bytes, wrapped: bytes, preamble: bytes,
           context: bytes) -> Optional[bytes]:
    """SLOT-14, steps 2 to 5."""
    file_key = p.aead_open(kek, nonce, associated, wrapped)
    return fitting(file_key, preamble, context)


def fitting(file_key: Optional[bytes], preamble: bytes, context: bytes) -> Optional[bytes]:
    """SLOT-14, steps 3 to 5: the file key if there is one and the preamble commits to it."""
    succeeded = file_key is not None and len(file_key) == p.KEY_SIZE
    candidate = file_key if succeeded else bytes(p.KEY_SIZE)
    fits = p.equal(p.commitment(candidate, preamble, context), preamble[32:64])
    return candidate if succeeded and fits else None


class SlotTrials:
    """Tries slots of header copies. One value serves one opening, however often the header is read: it keeps the result
    of each slot under each preamble, so nothing is stretched or decapsulated twice (SLOT-18)."""

    def __init__(self, secrets: Secrets, stretching_budget: Optional[int] = None) -> None:
        self.secrets = secrets
        self.by_id = {p.key_id(key): key for key in secrets.keys}
        self.identities: list[tuple[Identity, Recipient]] = [
            (one, one.recipient) for one in dict.fromkeys(secrets.identities)
            if isinstance(one, Identity) and (one.type == p.SLOT_X25519 or secrets.has_x_wing)]
        self.sessions = Sessions([one for one in dict.fromkeys(secrets.identities) if isinstance(one, PluginIdentity)],
                                 secrets.plugins, secrets.limits.max_stanza_slots)
        self.results: dict[bytes, Optional[bytes]] = {}  # of the slots that were tried
        self.within: set[bytes] = set()
        self.beyond: set[bytes] = set()  # in some copy
        self.left_out: set[bytes] = set()
        self.no_memory: set[bytes] = set()  # SLOT-21: not tried again
        self.stretching_left = stretching_budget  # RECOV-4; None: only the caps bound it
        # DET-3: judged before anything else is read.
        self.header_file = read_header_file(secrets.header_file) if secrets.header_file is not None else None

    def judge_limits(self, copies: list[Header], together: bool = False) -> None:
        """SLOT-20, SLOT-27 and SLOT-33, for these intact copies, before a slot of them is tried. What may be tried once
        may be tried to the end. `together`: SLOT-27 and SLOT-33 count over all copies, as RECOV-3 says."""
        for header in copies:
            for found, judged in zip((self.within, self.beyond), within_limits(header, self.secrets.limits)):
                found.update(trial_of(header, slot) for slot in judged)
        for group in [copies] if together else [[header] for header in copies]:
            slots = [(header, slot) for header in group for slot in header.slots]
            self.judge_public(slots)
            self.sessions.judge(slots)
        self.left_out = self.beyond - self.within

    def judge_public(self, slots: list[tuple[Header, Slot]]) -> None:
        """SLOT-27."""
        counts = {True: 0, False: 0}
        seen: set[bytes] = set()
        for header, slot in slots:
            if not self.identities_for(header, slot):
                continue
            trial = trial_of(header, slot)
            if header is not slots[0][0] and trial in seen:  # of several candidates together, equal slots count once
                continue
            seen.add(trial)
            counts[is_hidden(slot)] += 1
            is_within = counts[is_hidden(slot)] <= self.secrets.limits.max_public_key_slots
            (self.within if is_within else self.beyond).add(trial)

    def identities_for(self, header: Header, slot: Slot) -> list[Identity]:
        """SLOT-25."""
        if not is_usable(slot, self.secrets.has_x_wing):
            return []
        return [identity for identity, recipient in self.identities if identity.type == slot.type and (
            is_hidden(slot) or recipient.key_id(header.preamble) == slot.key_id)]

    def open_first(self, copies: list[Header], ask_plugins: bool = True) -> Optional[Opened]:
        """SLOT-18. `ask_plugins`: whether a plugin may be asked for slots that it has not got yet."""
        return (self.open_symmetric(copies) or self.open_public(copies) or self.open_private(copies)
                or (self.open_stanzas(copies) if ask_plugins else self.opened_stanzas(copies))
                or self.open_passphrase(copies))

    def open_symmetric(self, copies: list[Header]) -> Optional[Opened]:
        """SLOT-16."""
        return self.first_of(copies, self.try_symmetric, lambda header, slot: (
            slot.type == p.SLOT_SYMMETRIC and slot.key_id in self.by_id))

    def open_public(self, copies: list[Header]) -> Optional[Opened]:
        """SLOT-25, SLOT-27."""
        return self.first_of(copies, self.try_public, lambda header, slot: (
            trial_of(header, slot) in self.within and bool(self.identities_for(header, slot))))

    def open_private(self, copies: list[Header]) -> Optional[Opened]:
        """SLOT-15."""
        return self.first_of(copies, self.try_private, lambda header, slot: (
            slot.type >= 0x8000 and self.secrets.private_slot is not None))

    def open_stanzas(self, copies: list[Header]) -> Optional[Opened]:
        """SLOT-32 to SLOT-34."""
        for answered in self.sessions.rounds(copies):
            for header, slot, answer in answered:
                trial = trial_of(header, slot)
                if self.results.get(trial) is None:
                    given = opened_by(answer, slot, header.preamble)
                    self.results[trial] = fitting(given, header.preamble, self.secrets.context)
                file_key = self.results[trial]
                if file_key is not None:
                    return Opened(file_key, slot)
        return None

    def opened_stanzas(self, copies: list[Header]) -> Optional[Opened]:
        """A slot that a plugin has opened before (ROT-15)."""
        for header in copies:
            for slot in header.slots:
                file_key = self.results.get(trial_of(header, slot))
                if slot.type == p.SLOT_STANZAS and file_key is not None:
                    return Opened(file_key, slot)
        return None

    def sessions_that_opened(self, header: Header, slot: Slot) -> list[list[set[Recipient]]]:
        """For each plugin that has opened a slot, the known recipients of each of its identities (REENC-5)."""
        found = []
        for name, identities in self.sessions.by_name.items():
            answer = self.sessions.answers.get((name, trial_of(header, slot)))
            given = opened_by(answer, slot, header.preamble) if answer is not None else None
            if fitting(given, header.preamble, self.secrets.context) is not None:
                known: dict[str, set[Recipient]] = {}
                for one in identities:
                    known.setdefault(one.text, set()).update(one.known)
                found.append(list(known.values()))
        return found

    def open_passphrase(self, copies: list[Header]) -> Optional[Opened]:
        """SLOT-17."""
        return self.first_of(copies, self.try_passphrase, lambda header, slot: (
            slot.type == p.SLOT_PASSPHRASE and bool(self.secrets.passphrases)))

    def first_of(self, copies: list[Header], attempt: Callable[[Header, Slot], Optional[bytes]],
                 wanted: Callable[[Header, Slot], bool]) -> Optional[Opened]:
        for header in copies:
            for slot in header.slots:
                if not wanted(header, slot):
                    continue
                trial = trial_of(header, slot)
                if trial not in self.results:
                    if slot.type == p.SLOT_PASSPHRASE and not self.affordable(trial, slot):
                        continue
                    try:
                        self.results[trial] = attempt(header, slot)
                    except MemoryError:  # SLOT-21
                        self.no_memory.add(trial)
                        continue
                file_key = self.results[trial]
                if file_key is not None:
                    return Opened(file_key, slot)
        return None

    def affordable(self, trial: bytes, slot: Slot) -> bool:
        """SLOT-20, SLOT-21, RECOV-4."""
        if trial not in self.within or trial in self.left_out or trial in self.no_memory:
            return False
        if self.stretching_left is not None:
            if slot.stretching_kib > self.stretching_left:
                self.left_out.add(trial)
                return False
            self.stretching_left -= slot.stretching_kib
        return True

    def try_symmetric(self, header: Header, slot: Slot) -> Optional[bytes]:
        kek = p.kek_symmetric(self.by_id[slot.key_id], header.preamble)
        nonce, wrapped = slot.body[:p.NONCE_SIZE], slot.body[p.NONCE_SIZE:]
        associated = header.preamble + slot.raw[:-len(wrapped)]
        return unwrap(kek, nonce, associated, wrapped, header.preamble, self.secrets.context)

    def try_public(self, header: Header, slot: Slot) -> Optional[bytes]:
        for identity in self.identities_for(header, slot):
            given = opened_with(identity.shared_secret(enc_of(slot)), slot, header.preamble)
            file_key = fitting(given, header.preamble, self.secrets.context)
            if file_key is not None:
                return file_key
        return None

    def try_private(self, header: Header, slot: Slot) -> Optional[bytes]:
        assert self.secrets.private_slot is not None
        given = self.secrets.private_slot(slot.key_id, slot.body, header.preamble + slot.raw[:p.SLOT_HEADER_SIZE])
        return fitting(given, header.preamble, self.secrets.context)

    def try_passphrase(self, header: Header, slot: Slot) -> Optional[bytes]:
        """With each passphrase; raises MemoryError."""
        nonce, wrapped = slot.body[12:12 + p.NONCE_SIZE], slot.body[12 + p.NONCE_SIZE:]
        associated = header.preamble + slot.raw[:-len(wrapped)]
        for passphrase in self.secrets.passphrases:
            stretched = p.argon2id(passphrase, slot.key_id, slot.passes, slot.memory_kib)
            kek = p.kek_passphrase(stretched, header.preamble)
            file_key = unwrap(kek, nonce, associated, wrapped, header.preamble, self.secrets.context)
            if file_key is not None:
                return file_key
        return None

    def fail(self, copies: list[Header]) -> None:
        """No slot opened."""
        slots = {trial_of(header, slot): slot.type for header in copies for slot in header.slots}
        if not slots.keys() & self.results.keys():  # SLOT-19
            zero = bytes(p.KEY_SIZE)
            unwrap(zero, bytes(p.NONCE_SIZE), bytes(108), bytes(p.KEY_SIZE + p.TAG_SIZE), copies[0].preamble,
                   self.secrets.context)
        # SLOT-22. A slot for a public key is left out only if the caller gave an identity for it.
        left_out = {slots[trial] for trial in slots.keys() & (self.left_out | self.no_memory)}
        if not self.secrets.passphrases:
            left_out.discard(p.SLOT_PASSPHRASE)
        require(not left_out and not self.sessions.left_out(set(slots)), "limitExceeded")
        require(not self.sessions.plugin_failed(set(slots)), "pluginFailed")
        require(self.header_file is not None or not any(header.is_detached for header in copies), "headerDetached")
        require(False, "wrongKey", "no key, passphrase, identity or context given opens this container")
