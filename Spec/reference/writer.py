"""Writes containers (FORMAT.md, 12). Every parameter can be set; the randomness can be injected, for tests only."""

import hashlib
import io
from typing import BinaryIO, Callable, Iterable, Iterator, NamedTuple, Optional, Sequence, Union

import primitives as p
from errors import require
from header import (MARK, build_copy, build_preamble, build_slot, default_capacity, least_capacity, passphrase_slot,
                    symmetric_slot)
from layout import build_footer, is_capacity, tail_offset
from manifest import Manifest, build_members, is_content_type, is_name, join_members
from packing import pack
from recipient_slots import RecipientSlot, check_recipients, made_slot
from records import seal_record
from slots import check_context, check_key, check_passphrase

LEAST_PASSES = 2
LEAST_MEMORY_KIB = 19 << 10


class SymmetricSlot(NamedTuple):
    key: bytes


class PassphraseSlot(NamedTuple):
    passphrase: bytes
    passes: int = 3
    memory_kib: int = 256 << 10


class OtherSlot(NamedTuple):
    type: int
    key_id: bytes
    body: bytes


Random = Callable[[int], bytes]


class SlotForKey(NamedTuple):
    """A private slot whose bytes depend on the container's file key."""

    make: Callable[[bytes, bytes, Random], bytes]  # (preamble, file key, random) -> the whole slot


AnySlot = Union[SymmetricSlot, PassphraseSlot, RecipientSlot, OtherSlot, SlotForKey]


def write_container(output: BinaryIO, source: Union[bytes, Iterable[bytes]], slots: list[AnySlot], *,
                    context: bytes = b"", log2_chunk: int = p.DEFAULT_LOG2_CHUNK,
                    compression: int = p.COMPRESSION_NONE, capacity: Optional[int] = None,
                    generation: int = 1, digest: bool = False, content_type: Optional[bytes] = None,
                    name: Optional[bytes] = None, modified: Optional[tuple[int, int]] = None,
                    mode: Optional[int] = None, carried: tuple[tuple[int, bytes], ...] = (),
                    random: Random = p.system_random, weak_stretching: bool = False,
                    header_file: Optional[BinaryIO] = None, mixed: bool = False) -> None:
    """Writes one container. `weak_stretching` and a generation other than 1 are for tests. `carried`: members
    from 0x8000 on to write unchanged (REENC-8), in place of those that the parameters describe. `header_file`: gets
    the slots, of a container that is detached (DET-14). `mixed`: whether the caller consents to MIX-2.

    Draws from `random`, in this order: the file key, the file ID, then for each slot the salt (passphrase), or what
    made_slot names, and the nonce.
    """
    check_arguments(slots, context)
    slots = distinct(slots)
    require(len(slots) >= 1, "lastSlot")  # WRITE-5
    check_slots(slots, weak_stretching)
    check_recipients(slots, mixed, True)
    check_parameters(log2_chunk, compression, capacity, generation)
    chunk = 1 << log2_chunk
    file_key, file_id = random(p.KEY_SIZE), random(p.FILE_ID_SIZE)
    preamble = build_preamble(log2_chunk, compression, file_id, file_key, context)
    record_key = p.stream_key(file_key, preamble, context)
    packed = compression == p.COMPRESSION_DEFLATE
    metadata = writable_metadata(content_type, name, modified, mode)

    built = [build_any_slot(slot, preamble, file_key, random) for slot in slots]
    if header_file is not None:
        header_file.write(build_copy(preamble, least_capacity(built), 1, built, file_key, context))
        built = [MARK]
    if capacity is None:
        capacity = default_capacity(built, len(source) if isinstance(source, bytes) else None)
    copy = build_copy(preamble, capacity, generation, built, file_key, context)
    output.write(copy)

    counted = Counter([source] if isinstance(source, bytes) else source)
    offsets: list[int] = []
    stream: Iterable[bytes] = counted.pieces()
    if packed:
        stream = pack(cut(stream, chunk), offsets)
    stream_length = 0
    records = 0
    for piece in cut(stream, chunk):
        output.write(seal_record(record_key, file_id, records, p.DATA, piece))
        stream_length += len(piece)
        records += 1
        require(stream_length + p.RECORD_OVERHEAD * records < p.MAX_LENGTH, "tooLarge")  # WRITE-11

    members = build_members(metadata._replace(
        length=counted.length, stream_length=stream_length if packed else None,
        index_offsets=tuple(offsets) if packed else None,
        sha256=counted.sha256.digest() if digest else None), preamble[32:])
    plain = join_members(members + list(carried))
    manifest_offset = capacity + stream_length + p.RECORD_OVERHEAD * records
    manifest_end = manifest_offset + len(plain) + p.RECORD_OVERHEAD
    output.write(seal_record(record_key, file_id, records, p.MANIFEST, plain))
    output.write(bytes(tail_offset(capacity, manifest_offset, len(plain)) - manifest_end))
    output.write(copy)
    output.write(build_footer(capacity, manifest_offset, len(plain)))


def container_bytes(source: Union[bytes, Iterable[bytes]], slots: list[AnySlot], **parameters: object) -> bytes:
    """The container that write_container writes."""
    output = io.BytesIO()
    write_container(output, source, slots, **parameters)  # type: ignore[arg-type]
    return output.getvalue()


def check_arguments(slots: list[AnySlot], context: bytes) -> None:
    """ARG-4."""
    for slot in slots:
        if isinstance(slot, SymmetricSlot):
            check_key(slot.key)
    for slot in slots:
        if isinstance(slot, RecipientSlot):
            slot.check()
    for slot in slots:
        if isinstance(slot, PassphraseSlot):
            check_passphrase(slot.passphrase)
    check_context(context)


def distinct(slots: Sequence[AnySlot]) -> list[AnySlot]:
    """WRITE-5: a secret that is given twice makes one slot, in the place and at the cost that are given first."""
    secrets = [slot.passphrase if isinstance(slot, PassphraseSlot) else slot.recipient
               if isinstance(slot, RecipientSlot) else slot for slot in slots]
    return [slot for i, slot in enumerate(slots) if isinstance(slot, OtherSlot) or secrets[i] not in secrets[:i]]


def check_slots(slots: list[AnySlot], weak_stretching: bool) -> None:
    stretching = 0
    for slot in slots:
        if isinstance(slot, PassphraseSlot):
            if not weak_stretching and (slot.passes < LEAST_PASSES or slot.memory_kib < LEAST_MEMORY_KIB):
                raise ValueError("Argon2id parameters")  # WRITE-8
            require(p.MIN_PASSES <= slot.passes <= p.MAX_PASSES, "doesNotFit")  # WRITE-5, SLOT-10
            require(p.MIN_MEMORY_KIB <= slot.memory_kib <= p.MAX_MEMORY_KIB, "doesNotFit")
            stretching += slot.passes * slot.memory_kib
        elif isinstance(slot, OtherSlot) and (slot.type < 3 or len(slot.key_id) != p.KEY_ID_SIZE):
            raise ValueError("slot")
    count = sum(isinstance(slot, PassphraseSlot) for slot in slots)
    # WRITE-5, SLOT-8, SLOT-11
    require(count <= p.MAX_PASSPHRASE_SLOTS and stretching <= p.MAX_STRETCHING_KIB, "doesNotFit")


def writable_metadata(content_type: Optional[bytes], name: Optional[bytes], modified: Optional[tuple[int, int]],
                      mode: Optional[int]) -> Manifest:
    """The descriptive members; the lengths are not known yet."""
    if content_type is not None and not is_content_type(content_type):
        raise ValueError("content type")
    if modified is not None and not (-(1 << 63) <= modified[0] < 1 << 63 and 0 <= modified[1] < 10 ** 9):
        raise ValueError("modification time")
    if mode is not None and not 0 <= mode <= 0o777:
        raise ValueError("mode")
    if name is not None and not is_name(name):  # WRITE-12
        name = None
    return Manifest(0, None, None, None, content_type, name, modified, mode)


def check_parameters(log2_chunk: int, compression: int, capacity: Optional[int], generation: int) -> None:
    if not p.MIN_LOG2_CHUNK <= log2_chunk <= p.MAX_LOG2_CHUNK:
        raise ValueError("log2 of the chunk size")
    if compression not in (p.COMPRESSION_NONE, p.COMPRESSION_DEFLATE):
        raise ValueError("compression")
    if capacity is not None and not is_capacity(capacity):
        raise ValueError("capacity")
    if not 1 <= generation <= p.MAX_GENERATION:
        raise ValueError("generation")


def build_any_slot(slot: AnySlot, preamble: bytes, file_key: bytes, random: Random) -> bytes:
    if isinstance(slot, SymmetricSlot):
        return symmetric_slot(slot.key, random(p.NONCE_SIZE), preamble, file_key)
    if isinstance(slot, PassphraseSlot):
        salt, nonce = random(p.KEY_ID_SIZE), random(p.NONCE_SIZE)
        return passphrase_slot(slot.passphrase, salt, slot.passes, slot.memory_kib, nonce, preamble, file_key)
    if isinstance(slot, RecipientSlot):
        return made_slot(slot, preamble, file_key, random).slot
    if isinstance(slot, SlotForKey):
        return slot.make(preamble, file_key, random)
    return build_slot(slot.type, slot.key_id, slot.body)


def cut(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in pieces of exactly `size` bytes; the last piece has 1 ... size bytes."""
    buffer = bytearray()
    for piece in pieces:
        buffer += piece
        start = 0
        while len(buffer) - start >= size:
            yield bytes(buffer[start:start + size])
            start += size
        del buffer[:start]
    if buffer:
        yield bytes(buffer)


class Counter:
    """Counts and hashes the bytes that pass through."""

    def __init__(self, source: Iterable[bytes]) -> None:
        self.source = source
        self.length = 0
        self.sha256 = hashlib.sha256()

    def pieces(self) -> Iterator[bytes]:
        for piece in self.source:
            self.length += len(piece)
            require(self.length < p.MAX_LENGTH, "tooLarge")  # WRITE-11
            self.sha256.update(piece)
            yield piece
