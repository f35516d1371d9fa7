"""Gets everything out of a damaged container that can be authenticated (FORMAT.md, 11).

This is an operation of its own: no reader falls back on it.
"""

from typing import BinaryIO, Callable, Iterator, NamedTuple, Optional, Union

import primitives as p
from errors import VaultError, require
from header import Header, intact_copy, mac_is_right, parse_form
from layout import Geometry, data_length, geometry, is_manifest_length, record_offset, split_footer
from manifest import Manifest, parse_manifest
from opening import check_version
from packing import DEFLATED, INDEX, ITEM_HEADER_SIZE, STORED, Group, groups, read_block, read_index, unpack_block
from records import record_start
from seek_reader import Bytes, Source, read_copy, tail_place
from slots import Expected, Limits, Opened, Secrets, SlotTrials, check_secrets

HASHING_FACTOR = 64


class Recovered(NamedTuple):
    header_offset: Optional[int]  # of the copy that was used; None: the header file (DET-6)
    complete: bool  # a manifest agrees, so the length is authenticated
    length: int
    lost: list[tuple[int, int]]  # ranges of the plaintext that are zeros instead
    manifest: Optional[Manifest]


def recover(source: Union[Bytes, BinaryIO], secrets: Secrets, write: Callable[[bytes], object], *,
            header_offset: Optional[int] = None, stretching_kib: int = p.MAX_RECOVER_STRETCHING_KIB,
            hashing_factor: int = HASHING_FACTOR) -> Recovered:
    check_secrets(secrets)
    file = Source(source)
    if header_offset is not None:  # DET-6
        secrets = secrets._replace(header_file=None)
    found = find_header(file, secrets, header_offset, stretching_kib, hashing_factor)
    secrets.limits.check_chunk(found.header.chunk)  # ARG-8
    salvage = Salvage(file, found, secrets)
    output = Output(write, secrets.limits)
    if salvage.manifest is not None:
        secrets.limits.check_length(salvage.manifest.length)  # ARG-5
    salvage.write_to(output)
    return Recovered(found.offset, salvage.manifest is not None, output.length, output.lost, salvage.manifest)


class Output:
    """The plaintext; lost ranges become zeros once something good follows them, or at the authenticated end."""

    def __init__(self, write: Callable[[bytes], object], limits: Limits) -> None:
        self.write = write
        self.limits = limits
        self.length = 0
        self.pending = 0
        self.lost: list[tuple[int, int]] = []

    def good(self, data: bytes) -> None:
        self.limits.check_length(self.length + self.pending + len(data))  # ARG-5, before any of it is given out
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
    offset: Optional[int]  # None: the header file
    header: Header
    file_key: bytes


class Candidates:
    """Well-formed intact copies that share their bytes 0 ... 67, and so can only have one file key."""

    def __init__(self) -> None:
        self.copies: list[tuple[Optional[int], Header]] = []
        self.counting: list[tuple[Optional[int], Header]] = []
        self.file_key: Optional[bytes] = None
        self.is_unexpected = False  # there are copies with a right MAC, but the caller expects none of them (ARG-6)

    def try_slots(self, open_next: Callable[[list[Header]], Optional[Opened]], secrets: Secrets,
                  required: Expected) -> None:
        """Tries slots until one opens that is in a copy with a right MAC (RECOV-3)."""
        while not self.counting:
            opened = open_next([header for _, header in self.copies])
            if opened is None:
                return
            if self.file_key is None:  # the first slot that opens; the MACs do not depend on the slot
                self.file_key = opened.file_key
                self.copies = [(offset, header) for offset, header in self.copies
                               if mac_is_right(header, self.file_key, secrets.context)]
                expected = [each for each in self.copies if required.is_met(each[1])]
                self.is_unexpected = bool(self.copies) and not expected
                self.copies = expected
            self.counting = [(offset, header) for offset, header in self.copies
                             if any(slot.raw == opened.slot.raw for slot in header.slots)]


def find_header(file: Source, secrets: Secrets, named: Optional[int], stretching_kib: int,
                hashing_factor: int) -> Found:
    trials = SlotTrials(secrets, stretching_kib)
    by_header_file = Candidates()
    if trials.header_file is not None:
        by_header_file.copies.append((None, trials.header_file))
    by_start: dict[bytes, Candidates] = {}
    for offset, copy in intact_copies(file, named, hashing_factor):
        header = well_formed(copy)
        if header is not None:
            by_start.setdefault(copy[:68], Candidates()).copies.append((offset, header))
    every = [by_header_file, *by_start.values()]
    all_copies = [header for candidates in every for _, header in candidates.copies]
    require(bool(all_copies), "headerDamaged")  # RECOV-5

    trials.judge_limits(all_copies, together=True)
    marked = {start: [each for each in candidates.copies if each[1].is_detached]
              for start, candidates in by_start.items()}
    for open_next in (trials.open_symmetric, trials.open_public, trials.open_private, trials.open_stanzas,
                      trials.open_passphrase):
        for candidates in every:
            required = secrets.expected_header_file if candidates is by_header_file else secrets.expected
            candidates.try_slots(open_next, secrets, required)

    if by_header_file.counting:
        return found_by_header_file(file, by_header_file, by_start, marked, secrets)
    counting = [candidates for candidates in by_start.values() if candidates.counting]
    if not counting:  # RECOV-5
        require(not any(candidates.is_unexpected for candidates in every), "unexpectedState")  # ARG-6
        require(all(candidates.file_key is None for candidates in every), "headerForged")
        trials.fail(all_copies)
    require(len(counting) == 1, "copiesDisagree", "name the header copy by its offset: " + ", ".join(
        str(offset) for candidates in counting for offset, _ in candidates.counting))
    assert counting[0].file_key is not None
    offset, header = counting[0].counting[0]
    return Found(offset, header, counting[0].file_key)


def found_by_header_file(file: Source, by_header_file: Candidates, by_start: dict[bytes, Candidates],
                         marked: dict[bytes, list[tuple[Optional[int], Header]]], secrets: Secrets) -> Found:
    """DET-6: where the header file counts."""
    header, file_key = by_header_file.counting[0][1], by_header_file.file_key
    assert file_key is not None
    counting: list[list[tuple[Optional[int], Header]]] = []
    for start, candidates in by_start.items():
        detached = [each for each in marked[start] if each[1].preamble == header.preamble
                    and mac_is_right(each[1], file_key, secrets.context) and secrets.expected.is_met(each[1])]
        if candidates.counting + detached:
            counting.append(candidates.counting + detached)
    others = {each[0][1].preamble for each in counting}
    require(len(counting) <= 1 and others <= {header.preamble}, "copiesDisagree")  # RECOV-6
    if counting:
        offset, copy = min(counting[0], key=lambda each: each[0] or 0)
        return Found(offset, copy, file_key)
    return Found(None, header._replace(capacity=body_capacity(file, header, file_key, secrets)), file_key)


def body_capacity(file: Source, header: Header, file_key: bytes, secrets: Secrets) -> int:
    """DET-6: c, if no copy of the body counts."""
    size = file.size()
    footer = file.read(max(0, size - p.FOOTER_SIZE), p.FOOTER_SIZE)
    if size >= p.SMALLEST_CONTAINER and tail_place(footer, size) is not None:
        return split_footer(footer).capacity
    key, chunk = p.stream_key(file_key, header.preamble, secrets.context), header.chunk
    capacity = p.MIN_CAPACITY
    while capacity <= p.MAX_CAPACITY:
        start = file.read(capacity, p.RECORD_HEADER_SIZE)
        own = (start[0], int.from_bytes(start[1:], "big")) if len(start) == p.RECORD_HEADER_SIZE else (0, 0)
        is_record = (own[0] == p.DATA and 1 <= own[1] <= chunk
                     or own[0] == p.MANIFEST and is_manifest_length(own[1]))
        for kind, length in ([own] if is_record else []) + [(p.DATA, chunk)]:
            sealed = file.read(capacity + p.RECORD_HEADER_SIZE, length + p.TAG_SIZE)
            nonce = p.record_nonce(header.file_id, 0)
            if p.aead_open(key, nonce, record_start(kind, length), sealed) is not None:
                return capacity
        capacity *= 2
    return header.capacity


def well_formed(copy: bytes) -> Optional[Header]:
    """RECOV-2."""
    try:
        check_version(copy)
        return parse_form(copy)
    except VaultError:
        return None


def intact_copies(file: Source, named: Optional[int], hashing_factor: int) -> Iterator[tuple[int, bytes]]:
    """RECOV-1, or only the place that the caller names (RECOV-6). Ends where hashing would exceed its limit (RECOV-4):
    each place counts twice, for its checksum and for a MAC."""
    size = file.size()
    hashing_left = hashing_factor * size
    seen: set[int] = set()
    for offset, anywhere in places(file, size):
        if named not in (None, offset):
            continue
        data = read_copy(file, offset, size)
        if offset in seen or len(data) <= 68:
            continue
        if not anywhere and offset % min(p.MAX_ALIGNMENT, len(data)) != 0:
            continue
        if 2 * len(data) > hashing_left:
            return
        hashing_left -= 2 * len(data)
        seen.add(offset)
        copy = intact_copy(data)
        if copy is not None:
            yield offset, copy


def places(file: Source, size: int) -> Iterator[tuple[int, bool]]:
    """The offsets at which copies are looked for; True for those that need not be multiples (RECOV-1)."""
    yield 0, True
    if size >= p.SMALLEST_CONTAINER:
        tail = tail_place(file.read(size - p.FOOTER_SIZE, p.FOOTER_SIZE), size)
        if tail is not None:
            yield tail, True
    for offset in range(0, size, p.MIN_CAPACITY):
        yield offset, False


# The records.

class Lost(Exception):
    """A needed record is lost."""


class Salvage:
    """The records of a container whose file key is known. It reports no health and no digest (RECOV-16)."""

    def __init__(self, file: Source, found: Found, secrets: Secrets) -> None:
        self.file = file
        self.size = file.size()
        self.header = found.header
        self.chunk = found.header.chunk
        self.record_key = p.stream_key(found.file_key, found.header.preamble, secrets.context)
        self.shape: Optional[Geometry] = None  # if a manifest agrees
        self.manifest: Optional[Manifest] = None
        self.groups: list[Group] = []
        self.walked: list[int] = []  # without a manifest: the lengths of the data records, 0 for a lost one
        self.last_record: tuple[int, bytes] = (-1, b"")
        if not self.manifest_by_footer():
            self.walk()

    def open_at(self, offset: int, index: int, record_type: int, length: int) -> Optional[bytes]:
        """RECOV-9: a record of this type and length, whatever its own 4 bytes say."""
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
        """RECOV-7, RECOV-8: whether there is a manifest here that agrees with the geometry of its place, and whose
        index offsets agree with its lengths. Any other manifest counts as none."""
        try:
            shape = geometry(self.header.capacity, self.chunk, offset, length)
            plain = self.open_at(offset, shape.records, p.MANIFEST, length)
            if plain is None:
                return False
            manifest = parse_manifest(plain, self.header.commitment, self.header.compression)
            packed = self.header.compression == p.COMPRESSION_DEFLATE
            if (manifest.stream_length if packed else manifest.length) != shape.stream_length:
                return False
            # PACK-14. Without it a holder's P could ask for 2^63 zeros.
            self.groups = groups(manifest.length, self.chunk, shape.stream_length,
                                 manifest.index_offsets or ()) if packed else []
        except VaultError:
            return False
        self.shape, self.manifest = shape, manifest
        return True

    def walk(self) -> None:
        """RECOV-10: from record to record; ends at a manifest that decrypts, or at the end of the file."""
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
        else:
            self.write_blocks(output)
        if self.manifest is not None:  # without it, bytes lost behind the last good byte are not given out (RECOV-11)
            output.lose(self.manifest.length - output.length - output.pending)
            output.flush()

    def write_records(self, output: Output) -> None:
        """RECOV-12."""
        count = self.shape.records if self.shape is not None else len(self.walked)
        for index in range(count):
            try:
                output.good(self.data_record(index))
            except Lost:
                output.lose(data_length(self.shape, index) if self.shape is not None else self.chunk)

    def write_blocks(self, output: Output) -> None:
        """RECOV-13, group by group, as long as the start of the group is known."""
        start = 0
        first = 0  # the group's first block
        while self.manifest is None or first * self.chunk < self.manifest.length:
            group = self.groups[first // p.GROUP_BLOCKS] if self.groups else None
            lengths = self.lengths_by_index(group) if group is not None else None
            if lengths is None:
                lengths = self.lengths_by_heads(group.start if group is not None else start, first)
            count = group.blocks if group is not None else len(lengths)
            at = group.start if group is not None else start
            for place in range(count):
                self.write_block(at, lengths[place] if place < len(lengths) else 0, first + place, output)
                at += ITEM_HEADER_SIZE + (lengths[place] if place < len(lengths) else 0)
            if group is None:
                if count < p.GROUP_BLOCKS or not self.is_index_item(at, count):
                    return
                start = at + ITEM_HEADER_SIZE + 3 * count
            first += p.GROUP_BLOCKS

    def write_block(self, at: int, length: int, number: int, output: Output) -> None:
        """Writes the block whose item is at `at`. A length of 0 means that the position of the item is unknown."""
        plain_length = self.chunk
        if self.manifest is not None:
            plain_length = min(self.chunk, self.manifest.length - number * self.chunk)
        try:
            if length == 0:
                raise Lost
            if self.manifest is not None:
                block = read_block(self.read_stream, at, length, self.chunk, plain_length)
            else:
                method = self.read_stream(at, ITEM_HEADER_SIZE)[0]
                block = unpack_block(method, self.read_stream(at + ITEM_HEADER_SIZE, length), self.chunk)
            output.good(block)
        except (Lost, VaultError):
            output.lose(plain_length)

    def lengths_by_index(self, group: Group) -> Optional[list[int]]:
        try:
            return read_index(self.read_stream, group, self.chunk)
        except (Lost, VaultError):
            return None

    def lengths_by_heads(self, at: int, first: int) -> list[int]:
        """The body lengths of the group's items, as far as their heads can be followed."""
        count = p.GROUP_BLOCKS
        if self.manifest is not None:
            count = min(count, -(-self.manifest.length // self.chunk) - first)
        lengths: list[int] = []
        try:
            while len(lengths) < count:
                start = self.read_stream(at, ITEM_HEADER_SIZE)
                length = int.from_bytes(start[1:], "big")
                if start[0] not in (STORED, DEFLATED) or not 1 <= length <= self.chunk:
                    break
                lengths.append(length)
                at += ITEM_HEADER_SIZE + length
        except Lost:
            pass
        return lengths

    def is_index_item(self, at: int, count: int) -> bool:
        try:
            start = self.read_stream(at, ITEM_HEADER_SIZE)
        except Lost:
            return False
        return start[0] == INDEX and int.from_bytes(start[1:], "big") == 3 * count
