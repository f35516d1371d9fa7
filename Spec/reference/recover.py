"""Gets out of a damaged container what can be authenticated. An operation of its own: no reader falls back to it."""

from typing import BinaryIO, Callable, Iterator, NamedTuple, Optional, Union

import primitives as p
from errors import VaultError, require
from header import Header, intact_copy, mac_is_right, own_capacity, parse_form, version_of
from layout import (Geometry, data_length, geometry, is_capacity, is_manifest_length, record_offset,
                    split_footer)
from manifest import Manifest, parse_manifest
from packing import DEFLATED, INDEX, ITEM_HEADER_SIZE, STORED, Group, groups, read_block, read_index, unpack_block
from records import record_start
from seek_reader import Bytes, Source, tail_place
from slots import Opened, Secrets, SlotTrials, check_secrets

HASHING_FACTOR = 64


class Recovered(NamedTuple):
    header_offset: int  # of the copy that was used
    complete: bool  # a manifest agrees: the length is authenticated
    length: int
    lost: list[tuple[int, int]]  # ranges of the plaintext that are zeros instead
    manifest: Optional[Manifest]


def recover(source: Union[Bytes, BinaryIO], secrets: Secrets, write: Callable[[bytes], object], *,
            header_offset: Optional[int] = None, stretching_kib: int = p.MAX_RECOVER_STRETCHING_KIB,
            hashing_factor: int = HASHING_FACTOR) -> Recovered:
    check_secrets(secrets)
    file = Source(source)
    found = find_header(file, secrets, header_offset, stretching_kib, hashing_factor)
    salvage = Salvage(file, found, secrets)
    output = Output(write)
    salvage.write_to(output)
    return Recovered(found.offset, salvage.manifest is not None, output.length, output.lost, salvage.manifest)


class Output:
    """The plaintext; lost ranges become zeros once something good follows them, or at the authenticated end."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.write = write
        self.length = 0
        self.pending = 0
        self.lost: list[tuple[int, int]] = []

    def good(self, data: bytes) -> None:
        self.flush()
        self.write(data)
        self.length += len(data)

    def lose(self, length: int) -> None:
        self.pending += length

    def flush(self) -> None:
        if self.pending:
            self.lost.append((self.length, self.length + self.pending))
        while self.pending:
            size = min(self.pending, 1 << 20)
            self.write(bytes(size))
            self.length += size
            self.pending -= size


# The header.

class Found(NamedTuple):
    offset: int
    header: Header
    file_key: bytes


class Candidates:
    """Intact, well-formed copies that share their bytes 0 ... 67."""

    def __init__(self) -> None:
        self.copies: list[tuple[int, Header]] = []
        self.valid: list[tuple[int, Header]] = []
        self.file_key: Optional[bytes] = None

    def try_slots(self, open_next: Callable[[list[Header]], Optional[Opened]], context: bytes) -> bool:
        """Until a slot opens that stands in a copy with a right MAC. Whether any slot opened."""
        opened_any = False
        while not self.valid:
            opened = open_next([header for _, header in self.copies])
            if opened is None:
                break
            opened_any = True
            valid = [(offset, header) for offset, header in self.copies
                     if mac_is_right(header, opened.file_key, context)]
            if any(slot.raw == opened.slot.raw for _, header in valid for slot in header.slots):
                self.valid, self.file_key = valid, opened.file_key
        return opened_any


def find_header(file: Source, secrets: Secrets, named: Optional[int], stretching_kib: int,
                hashing_factor: int) -> Found:
    by_start: dict[bytes, Candidates] = {}
    for offset, copy in intact_copies(file, hashing_factor):
        if version_of(copy) != p.VERSION:
            continue
        try:
            header = parse_form(copy)
        except VaultError:
            continue
        by_start.setdefault(copy[:68], Candidates()).copies.append((offset, header))
    require(bool(by_start), "headerDamaged")

    trials = SlotTrials(secrets, stretching_kib)
    opened_any = False
    for open_next in (trials.open_fast, trials.open_passphrase):
        for candidates in by_start.values():
            opened_any |= candidates.try_slots(open_next, secrets.context)
    counting = [candidates for candidates in by_start.values() if candidates.valid]
    if not counting:
        require(not opened_any, "headerForged")
        trials.fail([header for candidates in by_start.values() for _, header in candidates.copies])
    if named is not None:
        counting = [c for c in counting if any(offset == named for offset, _ in c.valid)]
        require(bool(counting), "headerDamaged", "no valid header copy at the offset named")
    require(len(counting) == 1, "copiesDisagree", "name the header copy by its offset: " + ", ".join(
        str(offset) for candidates in counting for offset, _ in candidates.valid))
    chosen = counting[0]
    assert chosen.file_key is not None
    offset, header = chosen.valid[0] if named is None else next(v for v in chosen.valid if v[0] == named)
    return Found(offset, header, chosen.file_key)


def intact_copies(file: Source, hashing_factor: int) -> Iterator[tuple[int, bytes]]:
    """The front, the tail where a footer leads to it, then every place where a copy may stand."""
    size = file.size()
    hashing_left = hashing_factor * size
    seen: set[int] = set()
    for offset in places(file, size):
        start = file.read(offset, 68)
        if offset in seen or len(start) < 68 or start[:8] != p.MAGIC:
            continue
        capacity = own_capacity(start)
        if not is_capacity(capacity) or offset + capacity > size or capacity > hashing_left:
            continue
        if len(seen) > 0 and offset % min(p.MAX_ALIGNMENT, capacity) != 0:
            continue
        seen.add(offset)
        hashing_left -= capacity
        copy = intact_copy(file.read(offset, capacity))
        if copy is not None:
            yield offset, copy


def places(file: Source, size: int) -> Iterator[int]:
    yield 0
    if size >= p.SMALLEST_CONTAINER:
        tail = tail_place(file.read(size - p.FOOTER_SIZE, p.FOOTER_SIZE), size)
        if tail is not None:
            yield tail
    yield from range(0, size, p.MIN_CAPACITY)


# The records.

class Lost(Exception):
    """A record that is needed is lost."""


class Salvage:
    """The records of a container whose file key is known."""

    def __init__(self, file: Source, found: Found, secrets: Secrets) -> None:
        self.file = file
        self.size = file.size()
        self.header = found.header
        self.chunk = found.header.chunk
        self.record_key = p.stream_key(found.file_key, found.header.preamble, secrets.context)
        self.shape: Optional[Geometry] = None  # where a manifest agrees
        self.manifest: Optional[Manifest] = None
        self.groups: list[Group] = []
        self.walked: list[int] = []  # without one: the lengths of the data records, 0 for a lost one
        self.last_record: tuple[int, bytes] = (-1, b"")
        if not self.manifest_by_footer():
            self.walk()

    def open_at(self, offset: int, index: int, record_type: int, length: int) -> Optional[bytes]:
        """A record of this type and length, whatever its own 4 bytes say."""
        if offset + length + p.RECORD_OVERHEAD > self.size:
            return None
        record = self.file.read(offset, length + p.RECORD_OVERHEAD)
        return p.aead_open(self.record_key, p.record_nonce(self.header.file_id, index),
                           record_start(record_type, length), record[p.RECORD_HEADER_SIZE:])

    def manifest_by_footer(self) -> bool:
        if self.size < p.SMALLEST_CONTAINER:
            return False
        data = self.file.read(self.size - p.FOOTER_SIZE, p.FOOTER_SIZE)
        footer = split_footer(data)
        if tail_place(data, self.size) is None or footer.capacity != self.header.capacity:
            return False
        return self.take_manifest(footer.manifest_offset, footer.manifest_length)

    def take_manifest(self, offset: int, length: int) -> bool:
        """Whether a manifest stands here that agrees with the geometry that follows from its place."""
        try:
            shape = geometry(self.header.capacity, self.chunk, offset, length)
            plain = self.open_at(offset, shape.records, p.MANIFEST, length)
            if plain is None:
                return False
            manifest = parse_manifest(plain, self.header.commitment, self.header.compression)
            packed = self.header.compression == p.COMPRESSION_DEFLATE
            if (manifest.stream_length if packed else manifest.length) != shape.stream_length:
                return False
            if packed:
                self.groups = groups(manifest.length, self.chunk, shape.stream_length,
                                     manifest.index_offsets or ())
        except VaultError:
            return False
        self.shape, self.manifest = shape, manifest
        return True

    def walk(self) -> None:
        """From record to record; ends at a manifest that decrypts, or at the end of the file."""
        at = self.header.capacity
        full = self.chunk + p.RECORD_OVERHEAD
        short = False
        while True:
            index = len(self.walked)
            start = self.file.read(at, p.RECORD_HEADER_SIZE)
            record_type, length = (start[0], int.from_bytes(start[1:], "big")) if len(start) == 4 else (0, 0)
            if record_type == p.MANIFEST and is_manifest_length(length):
                if self.open_at(at, index, p.MANIFEST, length) is not None:
                    self.take_manifest(at, length)
                    return
            if short:
                return
            own = record_type == p.DATA and 1 <= length <= self.chunk
            if own and self.open_at(at, index, p.DATA, length) is not None:
                self.walked.append(length)
                at += length + p.RECORD_OVERHEAD
                short = length < self.chunk
            elif at + full <= self.size:
                good = self.open_at(at, index, p.DATA, self.chunk) is not None
                self.walked.append(self.chunk if good else 0)
                at += full
            else:
                return

    def data_record(self, index: int) -> bytes:
        """Raises Lost."""
        if self.last_record[0] != index:
            if self.shape is not None:
                length = data_length(self.shape, index)
            else:
                length = self.walked[index] if index < len(self.walked) else 0
            plain: Optional[bytes] = None
            if length > 0:
                offset = record_offset(self.header.capacity, self.chunk, index)
                plain = self.open_at(offset, index, p.DATA, length)
            if plain is None:
                raise Lost
            self.last_record = (index, plain)
        return self.last_record[1]

    def read_stream(self, start: int, length: int) -> bytes:
        """Bytes of Z; raises Lost."""
        data = b"".join(self.data_record(index)
                        for index in range(start // self.chunk, (start + length - 1) // self.chunk + 1))
        data = data[start % self.chunk:][:length]
        if len(data) < length:
            raise Lost
        return data

    def write_to(self, output: Output) -> None:
        if self.header.compression == p.COMPRESSION_NONE:
            self.write_records(output)
        elif self.manifest is not None:
            for number, group in enumerate(self.groups):
                self.write_group(number, group, output)
        else:
            self.write_items(output)
        if self.manifest is not None:
            output.flush()  # the length is authenticated: what is lost at the end is given out as zeros

    def write_records(self, output: Output) -> None:
        count = self.shape.records if self.shape is not None else len(self.walked)
        for index in range(count):
            try:
                output.good(self.data_record(index))
            except Lost:
                output.lose(data_length(self.shape, index) if self.shape is not None else self.chunk)

    def write_group(self, number: int, group: Group, output: Output) -> None:
        """By the group's index item; without it by the heads of its items, as far as they reach."""
        assert self.manifest is not None
        try:
            lengths = read_index(self.read_stream, group, self.chunk)
        except (Lost, VaultError):
            lengths = self.lengths_by_heads(group)
        at = group.start
        for place in range(group.blocks):
            plain_length = min(self.chunk, self.manifest.length - (number * p.GROUP_BLOCKS + place) * self.chunk)
            if place >= len(lengths):
                output.lose(plain_length)
                continue
            try:
                output.good(read_block(self.read_stream, at, lengths[place], self.chunk, plain_length))
            except (Lost, VaultError):
                output.lose(plain_length)
            at += ITEM_HEADER_SIZE + lengths[place]

    def lengths_by_heads(self, group: Group) -> list[int]:
        lengths: list[int] = []
        at = group.start
        try:
            while len(lengths) < group.blocks:
                start = self.read_stream(at, ITEM_HEADER_SIZE)
                length = int.from_bytes(start[1:], "big")
                if start[0] not in (STORED, DEFLATED) or not 1 <= length <= self.chunk:
                    break
                lengths.append(length)
                at += ITEM_HEADER_SIZE + length
        except Lost:
            pass
        return lengths

    def write_items(self, output: Output) -> None:
        """Without a manifest: by the heads of the items, from the first on."""
        at = 0
        count = 0  # blocks since the last index item
        short = False
        try:
            while True:
                start = self.read_stream(at, ITEM_HEADER_SIZE)
                length = int.from_bytes(start[1:], "big")
                if start[0] == INDEX and count == p.GROUP_BLOCKS and length == 3 * count and not short:
                    count = 0
                elif start[0] in (STORED, DEFLATED) and 1 <= length <= self.chunk and count < p.GROUP_BLOCKS \
                        and not short:
                    try:
                        block = unpack_block(start[0], self.read_stream(at + ITEM_HEADER_SIZE, length), self.chunk)
                        output.good(block)
                        short = len(block) < self.chunk
                    except (Lost, VaultError):
                        output.lose(self.chunk)
                    count += 1
                else:
                    return  # the last index item, or nothing that can be followed
                at += ITEM_HEADER_SIZE + length
        except Lost:
            return
