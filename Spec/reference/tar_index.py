"""The index of a tar stream, member 0x8005 (MEMBERS.md, 24)."""

import bisect
from typing import Callable, Iterator, NamedTuple, Optional

from errors import require

BLOCK = 512
HEAD = 11
MAX_PATH = 4096
MAX_PLACE = 1 << 54
LARGEST_VALUE = 900_000
LONGEST_EXTENSION = 1 << 20
# Headers of these types have no content, whatever their size says: links, devices, folders, pipes.
WITHOUT_CONTENT = b"123456"

Read = Callable[[int, int], bytes]  # of the plaintext: offset, length; fewer bytes at its end


class NotTar(Exception):
    """There is no tar header here."""


class Entry(NamedTuple):
    place: int  # the block of its first header
    path: Optional[bytes]  # None if it is not legal
    offset: int  # of its content
    size: int
    link: Optional[bytes] = None  # the target of a hard link

    @property
    def next_place(self) -> int:
        return (self.offset + self.size + BLOCK - 1) // BLOCK


# The stream.

def legal(path: bytes) -> Optional[bytes]:
    """TAR-1: the path as the index has it, or None."""
    path = path[2:] if path.startswith(b"./") else path
    path = path[:-1] if path.endswith(b"/") else path
    return path if is_legal(path) else None


def is_legal(path: bytes) -> bool:
    return (1 <= len(path) <= MAX_PATH and b"\0" not in path
            and not any(part in (b"", b".", b"..") for part in path.split(b"/")))


def order(path: bytes) -> list[bytes]:
    """TAR-2."""
    return path.split(b"/")


def number(field: bytes) -> int:
    if field[0] & 0x80:  # base 256
        return int.from_bytes(field, "big") & ((1 << 8 * len(field) - 1) - 1)
    text = field.strip(b" \0")
    if not all(byte in b"01234567" for byte in text):
        raise NotTar
    return int(text or b"0", 8)


def pax_records(data: bytes) -> dict[bytes, bytes]:
    records: dict[bytes, bytes] = {}
    while data:
        digits, _, _ = data.partition(b" ")
        if not digits.isdigit() or not len(digits) + 3 <= int(digits) <= len(data) or data[int(digits) - 1:int(digits)] != b"\n":
            raise NotTar
        key, equals, value = data[len(digits) + 1:int(digits) - 1].partition(b"=")
        if not equals:
            raise NotTar
        records[key] = value
        data = data[int(digits):]
    return records


def entry_at(read: Read, place: int) -> Optional[Entry]:
    """The entry at a place; None at the end of the stream; raises NotTar."""
    at = place * BLOCK
    long_name: Optional[bytes] = None
    long_link: Optional[bytes] = None
    pax: dict[bytes, bytes] = {}
    while True:
        head = read(at, BLOCK)
        if len(head) < BLOCK:
            raise NotTar
        if not any(head):
            if at != place * BLOCK:
                raise NotTar
            return None
        if number(head[148:156]) != sum(head) - sum(head[148:156]) + 8 * ord(" "):
            raise NotTar
        size, kind, at = number(head[124:136]), head[156:157], at + BLOCK
        if kind in (b"L", b"K", b"x", b"g"):
            if size > LONGEST_EXTENSION:
                raise NotTar
            data = read(at, size)
            if len(data) < size:
                raise NotTar
            if kind == b"L":
                long_name = data.partition(b"\0")[0]
            elif kind == b"K":
                long_link = data.partition(b"\0")[0]
            elif kind == b"x":
                pax = pax_records(data)
            at += -(-size // BLOCK) * BLOCK
            continue
        more = kind == b"S" and head[482] != 0
        while more:  # of the map of a sparse file
            block = read(at, BLOCK)
            if len(block) < BLOCK:
                raise NotTar
            more, at = block[504] != 0, at + BLOCK
        name = head[:100].partition(b"\0")[0]
        if head[257:263] == b"ustar\0" and head[345] != 0:
            name = head[345:500].partition(b"\0")[0] + b"/" + name
        path = pax.get(b"GNU.sparse.name", pax.get(b"path", name if long_name is None else long_name))
        if pax.get(b"size", b"0").isdigit():
            size = int(pax.get(b"size", b"%d" % size))
        link = None
        if kind == b"1":
            link = pax.get(b"linkpath", head[157:257].partition(b"\0")[0] if long_link is None else long_link)
        return Entry(place, legal(path), at, 0 if kind in WITHOUT_CONTENT else size, link)


def entries(read: Read, place: int = 0, end: Optional[int] = None) -> Iterator[Entry]:
    """The entries from a place on, to the end of the stream, or to those at `end`. Raises NotTar, also if no entry is
    at `end`."""
    while end is None or place < end:
        entry = entry_at(read, place)
        if entry is None:
            break
        yield entry
        place = entry.next_place
    if end is not None and place != end:
        raise NotTar


# The value.

class IndexEntry(NamedTuple):
    place: int
    path: bytes


class Index(NamedTuple):
    log2_step: int  # of S
    is_sorted: bool
    count: int  # N
    entries: list[IndexEntry]


class Malformed(Exception):
    """The value is no index."""


class Values:
    """Reads the parts of a value in their order; raises Malformed."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise Malformed
        self.at += count
        return self.data[self.at - count:self.at]

    def varint(self) -> int:
        """TAR-4."""
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if byte == 0 and shift > 0:  # not the shortest form
                    raise Malformed
                return value
            shift += 7
            if shift > 56:  # 2^63 or more, or not the shortest form
                raise Malformed


def parse_index(value: bytes) -> Optional[Index]:
    """TAR-3 to TAR-5; None counts as absent (TAR-6)."""
    values = Values(value)
    try:
        version, log2_step, sorting = values.take(3)
        count, total = (int.from_bytes(values.take(4), "big") for _ in range(2))
        if version != 1 or log2_step > 31 or sorting > 1 or count > -(-total // (1 << log2_step)):
            return None
        found: list[IndexEntry] = []
        place, path = 0, b""
        for each in range(count):
            step, shared, rest = values.varint(), values.varint(), values.varint()
            place += step
            if each > 0 and step == 0 or place >= MAX_PLACE or shared > len(path) or shared + rest > MAX_PATH:
                return None
            path = path[:shared] + values.take(rest)
            if not is_legal(path) or sorting and found and order(found[-1].path) > order(path):
                return None
            found.append(IndexEntry(place, path))
    except Malformed:
        return None
    return Index(log2_step, bool(sorting), total, found) if values.at == len(value) else None


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def encode_index(index: Index) -> bytes:
    """TAR-3, TAR-4."""
    out = bytearray([1, index.log2_step, index.is_sorted])
    out += len(index.entries).to_bytes(4, "big") + index.count.to_bytes(4, "big")
    place, path = 0, b""
    for entry in index.entries:
        shared = 0
        while shared < min(len(path), len(entry.path)) and path[shared] == entry.path[shared]:
            shared += 1
        out += varint(entry.place - place) + varint(shared) + varint(len(entry.path) - shared) + entry.path[shared:]
        place, path = entry
    return bytes(out)


def make_index(read: Read, least_log2_step: int = 0, largest: int = LARGEST_VALUE) -> Optional[bytes]:
    """TAR-7: the value for a stream, or None if it has no index."""
    try:
        found = list(entries(read))
    except NotTar:
        return None
    if len(found) >= 1 << 32 or any(entry.place >= MAX_PLACE for entry in found):
        return None
    paths = [order(entry.path) for entry in found if entry.path is not None]
    is_sorted = all(first <= second for first, second in zip(paths, paths[1:]))
    log2_step = least_log2_step
    while True:
        value = encode_index(Index(log2_step, is_sorted, len(found), [
            IndexEntry(entry.place, entry.path) for entry in found[::1 << log2_step] if entry.path is not None]))
        if len(value) <= largest:
            return value
        log2_step += 1


# Finding.

def find(index: Index, path: bytes, read: Read, before: Optional[int] = None) -> Optional[Entry]:
    """TAR-9: the last entry with the path, or None if the stream has none; raises indexMismatch.

    `before`: only entries at places before it count."""
    indexed = [each for each in index.entries if before is None or each.place < before]
    if index.log2_step == 0:
        for each in reversed(indexed):
            if each.path == path:
                return read_at(each, read)
        return None
    if not index.is_sorted:
        return find_by_stream(path, read, before)
    following = bisect.bisect_right([order(each.path) for each in indexed], order(path))
    end = indexed[following].place if following < len(indexed) else before
    place = 0
    if following > 0:
        place = indexed[following - 1].place
        read_at(indexed[following - 1], read)
    try:
        return last_with(path, entries(read, place, end))
    except NotTar:
        require(False, "indexMismatch")
        return None


def target(entry: Optional[Entry], look: Callable[[bytes, int], Optional[Entry]]) -> Optional[Entry]:
    """TAR-12: what a hard link leads to, or None for nothing; any other entry itself.

    `look`: the last entry with a path before a place."""
    while entry is not None and entry.link is not None:
        path = legal(entry.link)
        entry = None if path is None else look(path, entry.place)
    return entry


def read_at(entry: IndexEntry, read: Read) -> Entry:
    """TAR-8."""
    try:
        found = entry_at(read, entry.place)
    except NotTar:
        found = None
    require(found is not None and found.path == entry.path, "indexMismatch")
    assert found is not None
    return found


def find_by_stream(path: bytes, read: Read, before: Optional[int] = None) -> Optional[Entry]:
    """By all headers of the stream."""
    try:
        return last_with(path, entries(read, 0, before))
    except NotTar:
        return None


def last_with(path: bytes, found: Iterator[Entry]) -> Optional[Entry]:
    last: Optional[Entry] = None
    for entry in found:
        if entry.path == path:
            last = entry
    return last
