"""Reads a container from its first byte to its last, in one pass, from anything with read(n) (FORMAT.md, 8).

It treats every input as a pipe: STR-33 and STR-34 apply to readers that know that their input is a file.
"""

import hashlib
from typing import Callable, Generator, NamedTuple, Protocol

import primitives as p
from errors import VaultError, require
from header import Header, intact_copy, mac_is_right, own_capacity, parse_form
from layout import build_footer, is_capacity, is_manifest_length, tail_offset
from manifest import Manifest, parse_manifest
from opening import TAIL_DAMAGED, check_copies, health_of, unlock
from packing import Unpacker
from records import open_record
from slots import Secrets, SlotTrials, check_secrets


class Readable(Protocol):
    def read(self, size: int) -> bytes: ...


class Result(NamedTuple):
    health: str
    manifest: Manifest


def read_up_to(source: Readable, size: int) -> bytes:
    """Returns fewer bytes only at the end of the input, however short the single reads are."""
    data = bytearray()
    while len(data) < size:
        piece = source.read(size - len(data))
        if not piece:
            break
        data += piece
    return bytes(data)


def read_exactly(source: Readable, size: int) -> bytes:
    data = read_up_to(source, size)
    require(len(data) == size, "truncated")  # STR-1
    return data


class Body(NamedTuple):
    """The result of STR-2 to STR-18: everything up to and including the manifest is verified."""

    header: Header
    file_key: bytes
    manifest_offset: int  # m
    manifest_length: int  # M
    manifest: Manifest


def read_stream(source: Readable, secrets: Secrets) -> Generator[bytes, None, Result]:
    """Yields authenticated plaintext; the container is accepted only when the generator returns."""
    check_secrets(secrets)
    body = yield from read_body(source, secrets)
    header = body.header

    # The zeros (STR-19).
    manifest_end = body.manifest_offset + body.manifest_length + p.RECORD_OVERHEAD
    tail = tail_offset(header.capacity, body.manifest_offset, body.manifest_length)
    zeros = read_exactly(source, tail - manifest_end)
    require(not any(zeros), "paddingNotZero")

    # The tail, the footer, the end.
    health = judge_tail(read_exactly(source, header.capacity), header, body.file_key, secrets)  # STR-20
    footer = read_exactly(source, p.FOOTER_SIZE)
    expected = build_footer(header.capacity, body.manifest_offset, body.manifest_length)
    require(footer == expected, "footerDamaged")  # STR-28
    require(not source.read(1), "trailingData")  # STR-29
    return Result(health, body.manifest)  # STR-30


def read_body(source: Readable, secrets: Secrets) -> Generator[bytes, None, Body]:
    """STR-2 to STR-18. Yields authenticated plaintext."""
    # The front.
    trials = SlotTrials(secrets)
    copy = read_front(source)
    header = check_copies([copy], None)[0]  # STR-5, STR-6
    file_key = unlock([header], trials).file_key  # STR-7, STR-8
    secrets.limits.check_chunk(header.chunk)  # ARG-8
    record_key = p.stream_key(file_key, header.preamble, secrets.context)

    # The records.
    digest = hashlib.sha256()
    length = 0
    stream_length = 0
    unpacker = Unpacker(header.chunk) if header.compression == p.COMPRESSION_DEFLATE else None
    index = 0
    short = False
    while True:
        start = read_exactly(source, p.RECORD_HEADER_SIZE)  # STR-9
        record_type, size = start[0], int.from_bytes(start[1:], "big")
        if record_type == p.DATA:
            require(1 <= size <= header.chunk, "recordDamaged", "length of a data record")  # REC-3
            require(not short, "recordDamaged", "a data record behind a short one")  # REC-4
        else:
            require(record_type == p.MANIFEST, "recordDamaged", "record type")  # REC-2
            require(is_manifest_length(size), "recordDamaged", "length of a manifest record")  # REC-5
        record = start + read_exactly(source, size + p.TAG_SIZE)  # STR-10
        plain = open_record(record_key, header.file_id, index, record_type, size, record)
        if plain is None:
            raise VaultError("recordDamaged", f"record {index}")
        if record_type == p.MANIFEST:  # STR-12
            break
        short = size < header.chunk
        stream_length += size
        index += 1
        # STR-11
        for block in unpacker.feed(plain) if unpacker else [plain]:
            secrets.limits.check_length(length + len(block))  # ARG-5
            digest.update(block)
            length += len(block)
            yield block

    # The manifest.
    manifest = parse_manifest(plain, header.commitment, header.compression)  # STR-13
    check_whole(manifest, unpacker, stream_length, length, digest.digest())
    manifest_offset = header.capacity + stream_length + p.RECORD_OVERHEAD * index
    return Body(header, file_key, manifest_offset, len(plain), manifest)


def read_front(source: Readable) -> bytes:
    """The front copy, intact."""
    start = read_up_to(source, 68)  # STR-2
    if len(start) < 68:
        require(start[:8] == p.MAGIC[:len(start)], "notVaultfile")
        raise VaultError("truncated")
    require(start[:8] == p.MAGIC, "notVaultfile")
    require(is_capacity(own_capacity(start)), "headerDamaged", "capacity")  # STR-3
    copy = intact_copy(start + read_exactly(source, own_capacity(start) - 68))
    if copy is None:
        raise VaultError("headerDamaged", "checksum")  # STR-4
    return copy


def check_whole(manifest: Manifest, unpacker: "Unpacker | None", stream_length: int, length: int,
                sha256: bytes) -> None:
    """The checks that need everything to be read."""
    if unpacker:
        unpacker.finish()  # STR-14
        require(manifest.stream_length == stream_length, "manifestMismatch", "stream length")  # STR-15
    require(manifest.length == length, "manifestMismatch", "length")  # STR-16
    if unpacker:
        require(manifest.index_offsets == tuple(unpacker.offsets), "packingMalformed", "offsets")  # STR-17
    require(manifest.sha256 in (None, sha256), "contentMismatch")  # STR-18


def judge_tail(data: bytes, front: Header, file_key: bytes, secrets: Secrets) -> str:
    """The health, from the c bytes at the place of the tail."""
    copy = intact_copy(data)
    if copy is None:  # STR-22
        return TAIL_DAMAGED
    require(copy[:68] == front.raw[:68], "copiesDisagree")  # STR-23
    tail = parse_form(copy)  # STR-24
    if not mac_is_right(tail, file_key, secrets.context) or not secrets.expected.is_met(tail):  # STR-25, ARG-6
        return TAIL_DAMAGED
    return health_of(front, tail)  # STR-21, STR-26, STR-27


def decrypt_stream(source: Readable, secrets: Secrets, write: Callable[[bytes], object]) -> Result:
    """Writes the plaintext as it is released."""
    def run() -> Generator[bytes, None, None]:
        nonlocal result
        result = yield from read_stream(source, secrets)

    result: "Result | None" = None
    for piece in run():
        write(piece)
    assert result is not None
    return result
