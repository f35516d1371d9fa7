"""Packing (compression 1): the stream of items below the record layer (FORMAT.md, 7)."""

import zlib
from typing import Callable, Iterable, Iterator

import primitives as p
from errors import VaultError, require

STORED = 0
DEFLATED = 1
INDEX = 2
ITEM_HEADER_SIZE = 4


def item(method: int, body: bytes) -> bytes:
    return bytes([method]) + len(body).to_bytes(3, "big") + body


def index_body(lengths: list[int]) -> bytes:
    return b"".join(length.to_bytes(3, "big") for length in lengths)


def deflate(block: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(block) + packer.flush()


def pack(blocks: Iterable[bytes], offsets: list[int]) -> Iterator[bytes]:
    """The items of the blocks; appends the offsets of the index items to `offsets`."""
    position = 0
    count = 0
    lengths: list[int] = []
    for block in blocks:
        if count == p.MAX_BLOCKS:
            raise VaultError("tooLarge", "blocks")
        deflated = deflate(block)
        method, body = (DEFLATED, deflated) if len(deflated) < len(block) else (STORED, block)
        position += ITEM_HEADER_SIZE + len(body)
        lengths.append(len(body))
        count += 1
        yield item(method, body)
        if len(lengths) == p.GROUP_BLOCKS:
            offsets.append(position)
            position += ITEM_HEADER_SIZE + 3 * len(lengths)
            yield item(INDEX, index_body(lengths))
            lengths = []
    if lengths:
        offsets.append(position)
        yield item(INDEX, index_body(lengths))


def malformed(detail: str) -> VaultError:
    return VaultError("packingMalformed", detail)


def unpack_block(method: int, body: bytes, chunk: int) -> bytes:
    """PACK-12: the plaintext of one item of method 0 or 1, at most `chunk` bytes."""
    if method == STORED:
        return body
    inflater = zlib.decompressobj(-15)
    try:
        block = inflater.decompress(body, chunk + 1)
    except zlib.error as error:  # PACK-20 to PACK-27
        raise malformed(f"DEFLATE: {error}") from error
    require(len(block) <= chunk, "packingMalformed", "inflates to more than a block")  # PACK-19
    require(inflater.eof, "packingMalformed", "the DEFLATE stream does not end")  # PACK-18
    require(not inflater.unused_data, "packingMalformed", "bytes behind the DEFLATE stream")  # PACK-18
    require(len(body) < len(block), "packingMalformed", "deflated is not shorter")
    return block


class Unpacker:
    """Takes Z in pieces of any size and gives the blocks."""

    def __init__(self, chunk: int) -> None:
        self.chunk = chunk
        self.buffer = bytearray()
        self.position = 0  # of the buffer's first byte in Z
        self.lengths: list[int] = []  # bodies since the last index item
        self.blocks = 0
        self.offsets: list[int] = []
        self.short_block = False  # only the last block is short
        self.closed = False  # an index item of fewer than 65,536 blocks is the last item

    def feed(self, data: bytes) -> Iterator[bytes]:
        self.buffer += data
        while len(self.buffer) >= ITEM_HEADER_SIZE:
            method = self.buffer[0]
            length = int.from_bytes(self.buffer[1:ITEM_HEADER_SIZE], "big")
            self.check_item_start(method, length)
            end = ITEM_HEADER_SIZE + length
            if len(self.buffer) < end:
                return
            body = bytes(self.buffer[ITEM_HEADER_SIZE:end])
            if method == INDEX:
                self.take_index(body)
            else:
                block = unpack_block(method, body, self.chunk)
                self.lengths.append(length)
                self.blocks += 1
                self.short_block = len(block) < self.chunk
                yield block
            del self.buffer[:end]
            self.position += end

    def check_item_start(self, method: int, length: int) -> None:
        """Checks the item's first 4 bytes, before more of Z is read."""
        count = len(self.lengths)
        require(method in (STORED, DEFLATED, INDEX), "packingMalformed", "method")  # PACK-7
        if method == INDEX:
            require(count >= 1 and length == 3 * count, "packingMalformed", "length of an index item")  # PACK-10
        else:
            require(count < p.GROUP_BLOCKS, "packingMalformed", "index item missing")  # PACK-8
            require(1 <= length <= self.chunk, "packingMalformed", "length of an item")  # PACK-9
            # PACK-11
            require(not self.short_block, "packingMalformed", "a short block is not the last")
            require(self.blocks < p.MAX_BLOCKS, "packingMalformed", "too many blocks")
        require(not self.closed, "packingMalformed", "an item behind the last index item")  # PACK-11

    def take_index(self, body: bytes) -> None:
        require(body == index_body(self.lengths), "packingMalformed", "contents of an index item")  # PACK-12
        self.offsets.append(self.position)
        self.closed = len(self.lengths) < p.GROUP_BLOCKS
        self.lengths = []

    def finish(self) -> None:
        """PACK-13."""
        require(not self.buffer, "packingMalformed", "bytes left over")
        require(not self.lengths, "packingMalformed", "no index item at the end")


# Seeking.

class Group:
    """One group of blocks: the offsets of its first item and of its index item, and the number of its blocks."""

    def __init__(self, start: int, index_offset: int, blocks: int) -> None:
        self.start = start
        self.index_offset = index_offset
        self.blocks = blocks


def groups(length: int, chunk: int, stream_length: int, offsets: tuple[int, ...]) -> list[Group]:
    """PACK-14: checks the chain of offsets and gives the groups."""
    blocks = -(-length // chunk)
    require(blocks <= p.MAX_BLOCKS, "packingMalformed", "too many blocks")
    require(-(-blocks // p.GROUP_BLOCKS) == len(offsets), "packingMalformed", "number of index items")
    result: list[Group] = []
    start = 0
    for number, offset in enumerate(offsets):
        count = min(p.GROUP_BLOCKS, blocks - number * p.GROUP_BLOCKS)
        require(start + 5 * count <= offset <= start + (ITEM_HEADER_SIZE + chunk) * count,
                "packingMalformed", "offset of an index item")
        result.append(Group(start, offset, count))
        start = offset + ITEM_HEADER_SIZE + 3 * count
    require(start == stream_length, "packingMalformed", "end of the last index item")
    return result


ReadStream = Callable[[int, int], bytes]  # (offset in Z, length) -> exactly that many bytes


def read_index(read: ReadStream, group: Group, chunk: int) -> list[int]:
    """PACK-15: the body lengths of a group's items."""
    data = read(group.index_offset, ITEM_HEADER_SIZE + 3 * group.blocks)
    require(data[:ITEM_HEADER_SIZE] == item(INDEX, bytes(3 * group.blocks))[:ITEM_HEADER_SIZE],
            "packingMalformed", "index item")
    lengths = [int.from_bytes(data[at:at + 3], "big") for at in range(ITEM_HEADER_SIZE, len(data), 3)]
    require(all(1 <= length <= chunk for length in lengths), "packingMalformed", "length in an index item")
    require(group.start + sum(lengths) + ITEM_HEADER_SIZE * group.blocks == group.index_offset,
            "packingMalformed", "sum of an index item")
    return lengths


def read_block(read: ReadStream, offset: int, length: int, chunk: int, plain_length: int) -> bytes:
    """PACK-16: the block whose item is at `offset` of Z and has a body of `length` bytes."""
    start = read(offset, ITEM_HEADER_SIZE)
    require(start[0] in (STORED, DEFLATED), "packingMalformed", "method")
    require(int.from_bytes(start[1:], "big") == length, "packingMalformed", "length of an item")
    block = unpack_block(start[0], read(offset + ITEM_HEADER_SIZE, length), chunk)
    require(len(block) == plain_length, "packingMalformed", "length of a block")
    return block
