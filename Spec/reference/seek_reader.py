"""Opens a container in a file that can seek; reads ranges or everything (FORMAT.md, 9 and 10)."""

import hashlib
import io
import itertools
import os
from typing import BinaryIO, Iterator, NamedTuple, Optional, Union

import primitives as p
from errors import VaultError, require
from header import Header, intact_copy, own_capacity
from layout import (Geometry, check_footer, data_length, geometry, is_capacity, record_offset, split_footer,
                    tail_offset)
from manifest import Manifest, parse_manifest, split_members
from opening import INTACT, check_copies, check_version, health_of, unlock
from packing import ITEM_HEADER_SIZE, Group, Unpacker, groups, read_block, read_index
from records import open_record
from slots import Secrets, SlotTrials, check_secrets
from stream_reader import check_whole, read_up_to

Bytes = Union[bytes, bytearray, memoryview]
READINGS = 10


class Source:
    """A file that can seek."""

    def __init__(self, source: Union[Bytes, BinaryIO]) -> None:
        self.file = io.BytesIO(source) if isinstance(source, (bytes, bytearray, memoryview)) else source

    def size(self) -> int:
        return self.file.seek(0, os.SEEK_END)

    def read(self, offset: int, length: int) -> bytes:
        """Returns fewer bytes only at the end of the file."""
        self.file.seek(offset)
        return read_up_to(self.file, length)


class Reading(NamedTuple):
    """One reading of footer and copies (SEEK-1); SEEK-2 to SEEK-17 judge it."""

    size: int
    front: bytes  # up to 68 bytes, or all of the copy
    footer: bytes  # empty if the file is too short
    tail: bytes  # like front; empty if no footer leads to it


def take_reading(source: Source) -> Reading:
    """SEEK-1: the front before the footer, the footer before the tail."""
    size = source.size()
    front = read_copy(source, 0, size)
    if size < p.SMALLEST_CONTAINER:
        return Reading(size, front, b"", b"")
    footer = source.read(size - p.FOOTER_SIZE, p.FOOTER_SIZE)
    offset = tail_place(footer, size)
    return Reading(size, front, footer, read_copy(source, offset, size) if offset is not None else b"")


def read_copy(source: Source, offset: int, size: int) -> bytes:
    """The first 68 bytes, and the other bytes too if HDR-17 (1) to (4) hold."""
    start = source.read(offset, 68)
    if len(start) < 68 or start[:8] != p.MAGIC:
        return start
    capacity = own_capacity(start)
    if not is_capacity(capacity) or offset + capacity > size:
        return start
    return source.read(offset, capacity)


def tail_place(data: bytes, size: int) -> Optional[int]:
    """The offset of the tail according to the footer, if the footer is right."""
    footer = split_footer(data)
    try:
        check_footer(footer, size)
    except VaultError:
        return None
    if footer.end_magic != p.END_MAGIC:
        return None
    return tail_offset(footer.capacity, footer.manifest_offset, footer.manifest_length)


class Copies(NamedTuple):
    """What SEEK-2 to SEEK-17 give."""

    header: Header  # the current copy (ROT-3)
    file_key: bytes
    shape: Geometry
    health: str


def judge(reading: Reading, trials: SlotTrials) -> Copies:
    front = intact_copy(reading.front)
    if front is not None:
        check_version(front)  # SEEK-2

    start = reading.front[:8]
    if reading.size < p.SMALLEST_CONTAINER:  # SEEK-3
        require(start == p.MAGIC[:len(start)], "notVaultfile")
        raise VaultError("truncated")
    footer = split_footer(reading.footer)
    if footer.end_magic != p.END_MAGIC:  # SEEK-4, FOOT-2
        raise VaultError("footerDamaged" if start == p.MAGIC else "notVaultfile", "end magic")
    check_footer(footer, reading.size)  # SEEK-5
    tail = intact_copy(reading.tail)  # SEEK-6

    headers = check_copies([copy for copy in (front, tail) if copy is not None], footer.capacity)  # SEEK-7 to 11
    shape = geometry(footer.capacity, headers[0].chunk, footer.manifest_offset, footer.manifest_length)  # SEEK-12
    unlocked = unlock(headers, trials)  # SEEK-13 to SEEK-16
    valid_front = headers[0] if front is not None and headers[0] in unlocked.valid else None
    valid_tail = headers[-1] if tail is not None and headers[-1] in unlocked.valid else None
    current = max(unlocked.valid, key=lambda header: header.generation)  # the first of the highest: the front
    return Copies(current, unlocked.file_key, shape, health_of(valid_front, valid_tail))


def open_container(source: Union[Bytes, BinaryIO], secrets: Secrets) -> "Container":
    seekable = Source(source)
    return Container(seekable, open_copies(seekable, secrets), secrets)


def open_copies(source: Source, secrets: Secrets) -> Copies:
    """SEEK-1 to SEEK-19."""
    check_secrets(secrets)
    trials = SlotTrials(secrets)

    # SEEK-18, without a lock: anything but `intact` may be a rotation in progress.
    reading = take_reading(source)
    result = judged(reading, trials)
    for _ in range(READINGS - 1):
        if isinstance(result, Copies) and result.health == INTACT:
            break
        again = take_reading(source)
        if again == reading:
            break
        reading = again
        result = judged(reading, trials)
    if isinstance(result, VaultError):
        raise result
    return result


def judged(reading: Reading, trials: SlotTrials) -> Union[Copies, VaultError]:
    try:
        return judge(reading, trials)
    except VaultError as error:
        return error


class Container:
    """An opened container: health, manifest, ranges."""

    def __init__(self, source: Source, copies: Copies, secrets: Secrets) -> None:
        self.source = source
        self.header = copies.header
        self.shape = copies.shape
        self.health = copies.health
        self.record_key = p.stream_key(copies.file_key, self.header.preamble, secrets.context)
        secrets.limits.check_chunk(self.header.chunk)  # ARG-8
        self.check_zeros()  # SEEK-20
        self.manifest = self.open_manifest()  # SEEK-21, SEEK-22
        packed = self.header.compression == p.COMPRESSION_DEFLATE
        stream_length = self.manifest.stream_length if packed else self.manifest.length
        require(stream_length == self.shape.stream_length, "manifestMismatch")  # SEEK-23
        self.last_record: tuple[int, bytes] = (-1, b"")  # kept because neighbouring reads need it again
        self.last_index: tuple[int, list[int], list[int]] = (-1, [], [])  # group, body lengths, offsets of the items
        self.groups: list[Group] = []
        if packed:
            self.groups = groups(self.manifest.length, self.shape.chunk, self.shape.stream_length,
                                 self.manifest.index_offsets or ())  # SEEK-24
        secrets.limits.check_length(self.manifest.length)  # ARG-5

    def check_zeros(self) -> None:
        shape = self.shape
        end = shape.manifest_offset + shape.manifest_length + p.RECORD_OVERHEAD
        tail = tail_offset(shape.capacity, shape.manifest_offset, shape.manifest_length)
        require(not any(self.source.read(end, tail - end)), "paddingNotZero")  # LAY-6

    def open_manifest(self) -> Manifest:
        return parse_manifest(self.manifest_text(), self.header.commitment, self.header.compression)

    def manifest_text(self) -> bytes:
        shape = self.shape
        return self.open_record(shape.manifest_offset, shape.records, p.MANIFEST, shape.manifest_length)

    def members(self) -> dict[int, bytes]:
        """All members of the manifest, unknown ones too."""
        return dict(split_members(self.manifest_text()))

    def read_some(self, offset: int, length: int) -> bytes:
        """The plaintext from an offset on; fewer bytes at its end."""
        end = min(offset + length, self.manifest.length)
        return self.read(offset, end) if offset < end else b""

    def open_record(self, offset: int, index: int, record_type: int, length: int) -> bytes:
        """REC-9, REC-7."""
        record = self.source.read(offset, length + p.RECORD_OVERHEAD)
        plain = open_record(self.record_key, self.header.file_id, index, record_type, length, record)
        if plain is None:
            raise VaultError("recordDamaged", f"record {index}")
        return plain

    def data_record(self, index: int) -> bytes:
        if self.last_record[0] != index:
            offset = record_offset(self.shape.capacity, self.shape.chunk, index)
            plain = self.open_record(offset, index, p.DATA, data_length(self.shape, index))
            self.last_record = (index, plain)
        return self.last_record[1]

    def read_stream(self, start: int, length: int) -> bytes:
        """Bytes of Z (SEEK-27)."""
        if length == 0:
            return b""
        chunk = self.shape.chunk
        first, last = start // chunk, (start + length - 1) // chunk
        data = b"".join(self.data_record(index) for index in range(first, last + 1))
        return data[start - first * chunk:][:length]

    def read(self, start: int, end: int) -> bytes:
        """The plaintext bytes start ..< end."""
        require(0 <= start <= end <= self.manifest.length, "rangeInvalid")  # SEEK-26
        if start == end:
            return b""
        if not self.groups:
            return self.read_stream(start, end - start)
        chunk = self.shape.chunk
        first, last = start // chunk, (end - 1) // chunk
        data = b"".join(self.read_blocks(first, last))
        return data[start - first * chunk:][:end - start]

    def read_blocks(self, first: int, last: int) -> Iterator[bytes]:
        """Blocks first ... last of a packed container (SEEK-28)."""
        chunk = self.shape.chunk
        for number in range(first // p.GROUP_BLOCKS, last // p.GROUP_BLOCKS + 1):
            group = self.groups[number]
            if self.last_index[0] != number:
                lengths = read_index(self.read_stream, group, chunk)
                starts = list(itertools.accumulate((ITEM_HEADER_SIZE + each for each in lengths), initial=group.start))
                self.last_index = (number, lengths, starts)
            _, lengths, starts = self.last_index
            before = number * p.GROUP_BLOCKS
            for block in range(max(first, before), min(last, before + len(lengths) - 1) + 1):
                plain_length = min(chunk, self.manifest.length - block * chunk)
                yield read_block(self.read_stream, starts[block - before], lengths[block - before], chunk, plain_length)

    def read_whole(self) -> Iterator[bytes]:
        """All of the plaintext, with every check of a streaming reader. It is accepted only at the end
        (WHOLE-1 to WHOLE-4)."""
        packed = self.header.compression == p.COMPRESSION_DEFLATE
        unpacker = Unpacker(self.shape.chunk) if packed else None
        digest = hashlib.sha256()
        length = 0
        for index in range(self.shape.records):
            plain = self.data_record(index)
            for block in unpacker.feed(plain) if unpacker else [plain]:
                digest.update(block)
                length += len(block)
                yield block
        # WHOLE-4
        check_whole(self.manifest, unpacker, self.shape.stream_length, length, digest.digest())
