"""Header copies: intact or damaged, their form, their MAC; building them (FORMAT.md, 2.2, 2.3 and 4.1)."""

from typing import NamedTuple, Optional

import primitives as p
from errors import VaultError, require
from layout import is_capacity


# DET-1: the only slot of a detached copy.
MARK = p.SLOT_MARK.to_bytes(2, "big") + bytes(2 + p.KEY_ID_SIZE)


class Slot(NamedTuple):
    type: int
    key_id: bytes
    body: bytes
    raw: bytes  # the whole slot, as it is in the copy

    @property
    def passes(self) -> int:
        return int.from_bytes(self.body[0:4], "big")

    @property
    def memory_kib(self) -> int:
        return int.from_bytes(self.body[4:8], "big")

    @property
    def lanes(self) -> int:
        return int.from_bytes(self.body[8:12], "big")

    @property
    def stretching_kib(self) -> int:
        return self.passes * self.memory_kib


class Header(NamedTuple):
    """A header copy whose form is right."""

    raw: bytes
    preamble: bytes
    log2_chunk: int
    compression: int
    file_id: bytes
    commitment: bytes
    capacity: int
    generation: int
    slots: tuple[Slot, ...]

    @property
    def chunk(self) -> int:
        return 1 << self.log2_chunk

    @property
    def is_detached(self) -> bool:
        """DET-1."""
        return [slot.raw for slot in self.slots] == [MARK]


def own_capacity(start: bytes) -> int:
    """The capacity field of a copy; at least its first 68 bytes are given."""
    return int.from_bytes(start[64:68], "big")


def intact_copy(data: bytes) -> Optional[bytes]:
    """HDR-17: the intact header copy at the beginning of data, or None: damaged."""
    if len(data) < 68 or data[:8] != p.MAGIC:
        return None
    capacity = own_capacity(data)
    if not is_capacity(capacity) or capacity > len(data):  # HDR-9
        return None
    copy = bytes(data[:capacity])
    if p.checksum(copy[:-p.CHECKSUM_SIZE]) != copy[-p.CHECKSUM_SIZE:]:  # HDR-16
        return None
    return copy


def version_of(copy: bytes) -> int:
    return int.from_bytes(copy[8:10], "big")


def parse_form(copy: bytes) -> Header:
    """HDR-19: the form of an intact copy of version 1, in the order of its bytes."""
    capacity = len(copy)
    require(int.from_bytes(copy[10:12], "big") == p.SUITE, "unsupportedSuite")  # HDR-4
    log2_chunk = copy[12]
    require(p.MIN_LOG2_CHUNK <= log2_chunk <= p.MAX_LOG2_CHUNK, "headerMalformed", "chunk size")  # HDR-5
    compression = copy[13]
    require(compression in (p.COMPRESSION_NONE, p.COMPRESSION_DEFLATE), "unsupportedCompression")  # HDR-6
    require(copy[14:16] == bytes(2), "unsupportedFlags")  # HDR-7
    generation = int.from_bytes(copy[68:72], "big")
    require(generation >= 1, "headerMalformed", "generation")  # HDR-10
    count = int.from_bytes(copy[72:74], "big")
    require(1 <= count <= p.MAX_SLOTS, "headerMalformed", "slot count")  # HDR-11
    require(copy[74:76] == bytes(2), "headerMalformed", "reserved")  # HDR-12
    slots, end = parse_slots(copy, count)
    require(not any(copy[end:capacity - 64]), "headerMalformed", "padding")  # HDR-14
    check_caps(slots)
    return Header(copy, copy[:64], log2_chunk, compression, copy[16:32], copy[32:64], capacity, generation,
                  tuple(slots))


def parse_slots(copy: bytes, count: int) -> tuple[list[Slot], int]:
    """HDR-13: the slots and the offset behind the last one."""
    limit = len(copy) - p.MAC_SIZE - p.CHECKSUM_SIZE
    slots: list[Slot] = []
    seen: set[tuple[int, bytes]] = set()
    at = p.SLOTS_OFFSET
    for _ in range(count):
        require(at + p.SLOT_HEADER_SIZE <= limit, "headerMalformed", "slot behind the end")
        slot_type = int.from_bytes(copy[at:at + 2], "big")
        length = int.from_bytes(copy[at + 2:at + 4], "big")
        require(slot_type != 0, "headerMalformed", "slot type 0")  # SLOT-4
        body_at = at + p.SLOT_HEADER_SIZE
        require(body_at + length <= limit, "headerMalformed", "slot body behind the end")
        key_id = copy[at + 4:body_at]
        if slot_type in (p.SLOT_SYMMETRIC, p.SLOT_PASSPHRASE):
            wanted = p.SYMMETRIC_BODY_SIZE if slot_type == p.SLOT_SYMMETRIC else p.PASSPHRASE_BODY_SIZE
            require(length == wanted, "headerMalformed", "slot body length")  # SLOT-5, SLOT-6
            require((slot_type, key_id) not in seen, "headerMalformed", "key ID twice")  # SLOT-7
            seen.add((slot_type, key_id))
        slots.append(Slot(slot_type, key_id, copy[body_at:body_at + length], copy[at:body_at + length]))
        at = body_at + length
    return slots, at


def read_header_file(data: bytes) -> Header:
    """DET-2."""
    if len(data) < 68:
        require(data[:8] == p.MAGIC[:len(data)], "notVaultfile")
        raise VaultError("truncated", "header file")
    require(data[:8] == p.MAGIC, "notVaultfile", "header file")
    capacity = own_capacity(data)
    require(is_capacity(capacity), "headerDamaged", "capacity of the header file")
    require(len(data) >= capacity, "truncated", "header file")
    require(len(data) == capacity, "trailingData", "header file")
    require(intact_copy(data) is not None, "headerDamaged", "header file")
    require(version_of(data) == p.VERSION, "unsupportedVersion")
    return parse_form(data)


def check_caps(slots: list[Slot]) -> None:
    """The caps on passphrase slots, for each copy by itself, whatever secrets are given."""
    passphrase = [slot for slot in slots if slot.type == p.SLOT_PASSPHRASE]
    require(len(passphrase) <= p.MAX_PASSPHRASE_SLOTS, "headerMalformed", "passphrase slots")  # SLOT-8
    for slot in passphrase:
        require(slot.lanes == 1, "headerMalformed", "lanes")  # SLOT-9
        require(p.MIN_PASSES <= slot.passes <= p.MAX_PASSES, "headerMalformed", "passes")  # SLOT-10
        require(p.MIN_MEMORY_KIB <= slot.memory_kib <= p.MAX_MEMORY_KIB, "headerMalformed", "memory")  # SLOT-10
    total = sum(slot.stretching_kib for slot in passphrase)
    require(total <= p.MAX_STRETCHING_KIB, "headerMalformed", "passes x memory")  # SLOT-11


def mac_is_right(header: Header, file_key: bytes, context: bytes) -> bool:
    """HDR-15."""
    mac_key = p.header_mac_key(file_key, header.preamble, context)
    computed = p.header_mac(mac_key, header.raw[:-(p.MAC_SIZE + p.CHECKSUM_SIZE)])
    return p.equal(computed, header.raw[-(p.MAC_SIZE + p.CHECKSUM_SIZE):-p.CHECKSUM_SIZE])


# Building.

def build_preamble(log2_chunk: int, compression: int, file_id: bytes, file_key: bytes, context: bytes) -> bytes:
    start = (p.MAGIC + p.VERSION.to_bytes(2, "big") + p.SUITE.to_bytes(2, "big")
             + bytes([log2_chunk, compression]) + bytes(2) + file_id)
    return start + p.commitment(file_key, start + bytes(p.COMMITMENT_SIZE), context)


def build_slot(slot_type: int, key_id: bytes, body: bytes) -> bytes:
    return slot_type.to_bytes(2, "big") + len(body).to_bytes(2, "big") + key_id + body


def symmetric_slot(user_key: bytes, nonce: bytes, preamble: bytes, file_key: bytes) -> bytes:
    """SLOT-13."""
    start = (p.SLOT_SYMMETRIC.to_bytes(2, "big") + p.SYMMETRIC_BODY_SIZE.to_bytes(2, "big")
             + p.key_id(user_key) + nonce)
    return start + p.aead_seal(p.kek_symmetric(user_key, preamble), nonce, preamble + start, file_key)


def passphrase_slot(passphrase: bytes, salt: bytes, passes: int, memory_kib: int, nonce: bytes,
                    preamble: bytes, file_key: bytes) -> bytes:
    """SLOT-13."""
    start = (p.SLOT_PASSPHRASE.to_bytes(2, "big") + p.PASSPHRASE_BODY_SIZE.to_bytes(2, "big") + salt
             + passes.to_bytes(4, "big") + memory_kib.to_bytes(4, "big") + (1).to_bytes(4, "big") + nonce)
    kek = p.kek_passphrase(p.argon2id(passphrase, salt, passes, memory_kib), preamble)
    return start + p.aead_seal(kek, nonce, preamble + start, file_key)


ROOMY = 16_384  # holds 13 slots of type 4 (WRITE-7)


def default_capacity(slots: list[bytes], length: Optional[int]) -> int:
    """WRITE-7, for an input of this length, or None if that is not known."""
    least = least_capacity(slots)
    if length is not None and length < 64 << 10:
        return least
    has_x_wing = any(slot[:2] == p.SLOT_X_WING.to_bytes(2, "big") for slot in slots)
    is_roomy = has_x_wing and (length is None or length >= 1 << 20)
    return max(least, ROOMY if is_roomy else p.MAX_ALIGNMENT)


def least_capacity(slots: list[bytes]) -> int:
    """R of WRITE-7: the smallest capacity that holds the slots and one more as long as the longest."""
    fixed = p.SLOTS_OFFSET + p.MAC_SIZE + p.CHECKSUM_SIZE
    needed = fixed + sum(map(len, slots))
    if len(slots) > p.MAX_SLOTS or needed > p.MAX_CAPACITY:
        raise VaultError("doesNotFit")  # WRITE-5
    capacity = p.MIN_CAPACITY
    while capacity < p.MAX_CAPACITY and capacity < needed + max(map(len, slots)):
        capacity *= 2
    return capacity


def build_copy(preamble: bytes, capacity: int, generation: int, slots: list[bytes], file_key: bytes,
               context: bytes) -> bytes:
    start = (preamble + capacity.to_bytes(4, "big") + generation.to_bytes(4, "big")
             + len(slots).to_bytes(2, "big") + bytes(2) + b"".join(slots))
    room = capacity - p.MAC_SIZE - p.CHECKSUM_SIZE
    require(len(slots) <= p.MAX_SLOTS and len(start) <= room, "doesNotFit")  # WRITE-5
    copy = start.ljust(room, b"\0")
    copy += p.header_mac(p.header_mac_key(file_key, preamble, context), copy)
    return copy + p.checksum(copy)


def checked_again(copy: bytes) -> bytes:
    """The copy with its checksum made right. This needs no key."""
    return copy[:-p.CHECKSUM_SIZE] + p.checksum(copy[:-p.CHECKSUM_SIZE])
