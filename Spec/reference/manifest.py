"""The manifest: members in ascending order of tag, then zeros (FORMAT.md, 6)."""

from typing import NamedTuple, Optional

import primitives as p
from errors import VaultError, require

COMMITMENT = 1
LENGTH = 2
STREAM_LENGTH = 3
INDEX_OFFSETS = 4
SHA256 = 5
CONTENT_TYPE = 0x8001
NAME = 0x8002
MODIFIED = 0x8003
MODE = 0x8004
TAR_INDEX = 0x8005
SIGNATURES = 0x8010
ITEM_PATH = 0x8056

MEMBER_HEADER_SIZE = 6


class Manifest(NamedTuple):
    length: int  # P
    stream_length: Optional[int]  # |Z|, with compression 1
    index_offsets: Optional[tuple[int, ...]]  # with compression 1
    sha256: Optional[bytes] = None
    content_type: Optional[bytes] = None
    name: Optional[bytes] = None
    modified: Optional[tuple[int, int]] = None  # seconds, nanoseconds
    mode: Optional[int] = None


def parse_manifest(data: bytes, commitment: bytes, compression: int) -> Manifest:
    """MAN-18: the form of the whole manifest, then unknown tags, then the members' own rules."""
    members = split_members(data)
    for tag, _ in members:
        require(tag >= 0x8000 or COMMITMENT <= tag <= SHA256, "unsupportedMember", f"{tag}")  # MAN-16
    return check_members(dict(members), commitment, compression)


def split_members(data: bytes) -> list[tuple[int, bytes]]:
    members: list[tuple[int, bytes]] = []
    at = 0
    while len(data) - at >= MEMBER_HEADER_SIZE:
        tag = int.from_bytes(data[at:at + 2], "big")
        if tag == 0:  # MAN-11
            break
        length = int.from_bytes(data[at + 2:at + MEMBER_HEADER_SIZE], "big")
        at += MEMBER_HEADER_SIZE
        require(length <= len(data) - at, "manifestMalformed", "value past the end")  # MAN-14
        require(not members or tag > members[-1][0], "manifestMalformed", "order of tags")  # MAN-15
        members.append((tag, data[at:at + length]))
        at += length
    require(not any(data[at:]), "manifestMalformed", "padding is not zero")  # MAN-12
    require(len(data) - at < p.MANIFEST_UNIT, "manifestMalformed", "too much padding")  # MAN-13
    return members


def check_members(members: dict[int, bytes], commitment: bytes, compression: int) -> Manifest:
    """Every rule of the table, whether the reader uses the member or not."""
    def require_form(condition: bool, detail: str) -> None:
        require(condition, "manifestMalformed", detail)

    def number(tag: int, detail: str) -> int:
        require_form(len(members[tag]) == 8, detail)
        value = int.from_bytes(members[tag], "big")
        require_form(value < p.MAX_LENGTH, detail)
        return value

    require_form(members.get(COMMITMENT) == commitment, "commitment")  # MAN-2
    require_form(LENGTH in members, "length is missing")  # MAN-3
    length = number(LENGTH, "length")
    packed = compression == p.COMPRESSION_DEFLATE
    require_form((STREAM_LENGTH in members) == packed, "length of the packed stream")  # MAN-4
    require_form((INDEX_OFFSETS in members) == packed, "offsets of the index items")  # MAN-5
    stream_length: Optional[int] = None
    offsets: Optional[tuple[int, ...]] = None
    if packed:
        stream_length = number(STREAM_LENGTH, "length of the packed stream")
        value = members[INDEX_OFFSETS]
        require_form(len(value) % 8 == 0, "offsets of the index items")
        offsets = tuple(int.from_bytes(value[at:at + 8], "big") for at in range(0, len(value), 8))
    sha256 = members.get(SHA256)
    require_form(sha256 is None or len(sha256) == 32, "SHA-256")  # MAN-6
    content_type = members.get(CONTENT_TYPE)
    require_form(content_type is None or is_content_type(content_type), "content type")  # MAN-7
    name = members.get(NAME)
    require_form(name is None or is_name(name), "name")  # MAN-8
    modified: Optional[tuple[int, int]] = None
    if MODIFIED in members:
        value = members[MODIFIED]
        require_form(len(value) == 12, "modification time")  # MAN-9
        modified = (int.from_bytes(value[:8], "big", signed=True), int.from_bytes(value[8:], "big"))
        require_form(modified[1] < 10 ** 9, "modification time")
    mode: Optional[int] = None
    if MODE in members:
        require_form(len(members[MODE]) == 2, "mode")  # MAN-10
        mode = int.from_bytes(members[MODE], "big")
        require_form(mode & ~0o777 == 0, "mode")
    return Manifest(length, stream_length, offsets, sha256, content_type, name, modified, mode)


def is_content_type(value: bytes) -> bool:
    return 1 <= len(value) <= 127 and all(0x20 <= byte <= 0x7E for byte in value)


def is_name(value: bytes) -> bool:
    """One path component of valid UTF-8."""
    if not 1 <= len(value) <= 255 or value in (b".", b".."):
        return False
    try:
        value.decode("utf-8")  # refuses overlong forms and surrogates
    except UnicodeDecodeError:
        return False
    return not any(byte < 0x20 or byte in b"\x7f/\\" for byte in value)


def build_members(manifest: Manifest, commitment: bytes) -> list[tuple[int, bytes]]:
    members = [(COMMITMENT, commitment), (LENGTH, manifest.length.to_bytes(8, "big"))]
    if manifest.stream_length is not None and manifest.index_offsets is not None:
        members.append((STREAM_LENGTH, manifest.stream_length.to_bytes(8, "big")))
        members.append((INDEX_OFFSETS, b"".join(o.to_bytes(8, "big") for o in manifest.index_offsets)))
    if manifest.sha256 is not None:
        members.append((SHA256, manifest.sha256))
    if manifest.content_type is not None:
        members.append((CONTENT_TYPE, manifest.content_type))
    if manifest.name is not None:
        members.append((NAME, manifest.name))
    if manifest.modified is not None:
        seconds, nanoseconds = manifest.modified
        members.append((MODIFIED, seconds.to_bytes(8, "big", signed=True) + nanoseconds.to_bytes(4, "big")))
    if manifest.mode is not None:
        members.append((MODE, manifest.mode.to_bytes(2, "big")))
    return members


def join_members(members: list[tuple[int, bytes]]) -> bytes:
    """The members in sequence, then zeros up to the least multiple of 512 that holds them."""
    data = b"".join(tag.to_bytes(2, "big") + len(value).to_bytes(4, "big") + value for tag, value in members)
    padded = data + bytes(-len(data) % p.MANIFEST_UNIT)
    if len(padded) > p.MAX_MANIFEST:
        raise VaultError("tooLarge", "manifest")
    return padded
