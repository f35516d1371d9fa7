"""Opens a container that can seek; reads ranges or everything."""

import hashlib
import io
import os
from typing import BinaryIO, Iterator, NamedTuple, Optional, Union

import primitives as p
from errors import VaultError, require
from header import Header, intact_copy, own_capacity
from layout import (Geometry, check_footer, data_length, geometry, is_capacity, record_offset, split_footer,
                    tail_offset)
from manifest import Manifest, parse_manifest
from opening import INTACT, check_copies, check_version, health_of, unlock
from packing import Group, Unpacker, groups, read_block, read_index
from records import open_record
from slots import Secrets, check_secrets
from stream_reader import check_whole, read_up_to

Bytes = Union[bytes, bytearray, memoryview]
READINGS = 10


class Source:
    """A file that can seek; remembers what was read, so that it can be compared with a second reading."""

    def __init__(self, source: Union[Bytes, BinaryIO]) -> None:
        self.file = io.BytesIO(source) if isinstance(source, (bytes, bytearray, memoryview)) else source
        self.seen: list[tuple[int, int, bytes]] = []

    def size(self) -> int:
        return self.file.seek(0, os.SEEK_END)

    def read(self, offset: int, length: int) -> bytes:
        """Fewer bytes only at the end of the file."""
        self.file.seek(offset)
        return read_up_to(self.file, length)

    def note(self, offset: int, length: int) -> bytes:
        data = self.read(offset, length)
        self.seen.append((offset, length, data))
        return data

    def has_changed(self) -> bool:
        return any(self.read(offset, length) != data for offset, length, data in self.seen)


class Copies(NamedTuple):
    """Result of steps 1 to 5."""

    header: Header  # a valid copy
    file_key: bytes
    shape: Geometry
    health: str


def open_steps(source: Source, secrets: Secrets) -> Copies:
    """Steps 1 to 5, on one reading of footer and copies."""
    source.seen = []
    size = source.size()
    front = note_copy(source, 0, size)
    if front is not None:
        check_version(front)

    start = source.note(0, 8)
    if size < p.SMALLEST_CONTAINER:
        require(start == p.MAGIC[:len(start)], "notVaultfile")
        raise VaultError("truncated")
    footer = split_footer(source.note(size - p.FOOTER_SIZE, p.FOOTER_SIZE))
    if footer.end_magic != p.END_MAGIC:
        raise VaultError("footerDamaged" if start == p.MAGIC else "notVaultfile", "end magic")
    check_footer(footer, size)
    tail = note_copy(source, tail_offset(footer.capacity, footer.manifest_offset, footer.manifest_length), size)

    headers = check_copies([copy for copy in (front, tail) if copy is not None], footer.capacity)
    shape = geometry(footer.capacity, headers[0].chunk, footer.manifest_offset, footer.manifest_length)
    unlocked = unlock(headers, secrets)
    valid_front = next((h for h in unlocked.valid if front is not None and h is headers[0]), None)
    valid_tail = next((h for h in unlocked.valid if tail is not None and h is headers[-1]), None)
    return Copies(unlocked.valid[0], unlocked.file_key, shape, health_of(valid_front, valid_tail))


def note_copy(source: Source, offset: int, size: int) -> Optional[bytes]:
    """The intact copy at this offset, or None; reads what its own capacity field says, no further than
    the end of the file."""
    start = source.note(offset, 68)
    if len(start) < 68 or start[:8] != p.MAGIC:
        return None
    capacity = own_capacity(start)
    if not is_capacity(capacity) or offset + capacity > size:
        return None
    return intact_copy(source.note(offset, capacity))


def open_container(source: Union[Bytes, BinaryIO], secrets: Secrets) -> "Container":
    check_secrets(secrets)
    seekable = Source(source)
    for reading in range(READINGS):
        error: Optional[VaultError] = None
        copies: Optional[Copies] = None
        try:
            copies = open_steps(seekable, secrets)
            if copies.health == INTACT:
                break
        except VaultError as caught:
            error = caught
        # Anything but `intact` may be a rotation seen half done: it counts once two readings agree.
        if not seekable.has_changed():
            break
    if error is not None:
        raise error
    assert copies is not None
    return Container(seekable, copies, secrets)


class Container:
    """An opened container: health, manifest, ranges."""

    def __init__(self, source: Source, copies: Copies, secrets: Secrets) -> None:
        """Step 6."""
        self.source = source
        self.header = copies.header
        self.shape = copies.shape
        self.health = copies.health
        self.record_key = p.stream_key(copies.file_key, self.header.preamble, secrets.context)
        self.check_zeros()
        self.manifest = self.open_manifest()
        packed = self.header.compression == p.COMPRESSION_DEFLATE
        stream_length = self.manifest.stream_length if packed else self.manifest.length
        require(stream_length == self.shape.stream_length, "manifestMismatch")
        self.last_record: tuple[int, bytes] = (-1, b"")  # kept, since neighbouring reads need it again
        self.last_index: tuple[int, list[int]] = (-1, [])
        self.groups: list[Group] = []
        if packed:
            self.groups = groups(self.manifest.length, self.shape.chunk, self.shape.stream_length,
                                 self.manifest.index_offsets or ())

    def check_zeros(self) -> None:
        shape = self.shape
        end = shape.manifest_offset + shape.manifest_length + p.RECORD_OVERHEAD
        tail = tail_offset(shape.capacity, shape.manifest_offset, shape.manifest_length)
        require(not any(self.source.read(end, tail - end)), "paddingNotZero")

    def open_manifest(self) -> Manifest:
        shape = self.shape
        plain = self.open_record(shape.manifest_offset, shape.records, p.MANIFEST, shape.manifest_length)
        return parse_manifest(plain, self.header.commitment, self.header.compression)

    def open_record(self, offset: int, index: int, record_type: int, length: int) -> bytes:
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
        """Bytes of Z."""
        if length == 0:
            return b""
        chunk = self.shape.chunk
        first, last = start // chunk, (start + length - 1) // chunk
        data = b"".join(self.data_record(index) for index in range(first, last + 1))
        return data[start - first * chunk:][:length]

    def read(self, start: int, end: int) -> bytes:
        """The plaintext bytes start ..< end."""
        require(0 <= start <= end <= self.manifest.length, "rangeInvalid")
        if start == end:
            return b""
        if not self.groups:
            return self.read_stream(start, end - start)
        chunk = self.shape.chunk
        first, last = start // chunk, (end - 1) // chunk
        data = b"".join(self.read_blocks(first, last))
        return data[start - first * chunk:][:end - start]

    def read_blocks(self, first: int, last: int) -> Iterator[bytes]:
        """Blocks first ... last of a packed container."""
        chunk = self.shape.chunk
        for number in range(first // p.GROUP_BLOCKS, last // p.GROUP_BLOCKS + 1):
            group = self.groups[number]
            if self.last_index[0] != number:
                self.last_index = (number, read_index(self.read_stream, group, chunk))
            lengths = self.last_index[1]
            at = group.start
            for place, length in enumerate(lengths):
                block = number * p.GROUP_BLOCKS + place
                if first <= block <= last:
                    plain_length = min(chunk, self.manifest.length - block * chunk)
                    yield read_block(self.read_stream, at, length, chunk, plain_length)
                at += 4 + length

    def read_whole(self) -> Iterator[bytes]:
        """All of the plaintext, with every check of a streaming reader; accepted only at the end."""
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
        check_whole(self.manifest, unpacker, self.shape.stream_length, length, digest.digest())
