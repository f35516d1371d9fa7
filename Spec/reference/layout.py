"""Where the parts of a container are: records, manifest, zeros, tail, footer (FORMAT.md, 2.1 and 2.4)."""

from typing import NamedTuple

import primitives as p
from errors import require


class Geometry(NamedTuple):
    """Follows from capacity, chunk size and the manifest's place alone."""

    capacity: int
    chunk: int
    manifest_offset: int  # m
    manifest_length: int  # M
    records: int  # n
    stream_length: int  # |Z|


def is_capacity(value: int) -> bool:
    """A power of two 512 ... 2^20."""
    return p.MIN_CAPACITY <= value <= p.MAX_CAPACITY and value & (value - 1) == 0


def is_manifest_length(value: int) -> bool:
    """A multiple of 512 in 512 ... 2^20."""
    return p.MANIFEST_UNIT <= value <= p.MAX_MANIFEST and value % p.MANIFEST_UNIT == 0


def record_offset(capacity: int, chunk: int, index: int) -> int:
    """LAY-4."""
    return capacity + index * (chunk + p.RECORD_OVERHEAD)


def tail_offset(capacity: int, manifest_offset: int, manifest_length: int) -> int:
    """LAY-5: T, the least multiple of A = min(c, 4096) that is not below the manifest's end."""
    alignment = min(capacity, p.MAX_ALIGNMENT)
    end = manifest_offset + manifest_length + p.RECORD_OVERHEAD
    return -(-end // alignment) * alignment


def container_length(capacity: int, manifest_offset: int, manifest_length: int) -> int:
    """LAY-7."""
    return tail_offset(capacity, manifest_offset, manifest_length) + capacity + p.FOOTER_SIZE


def geometry(capacity: int, chunk: int, manifest_offset: int, manifest_length: int) -> Geometry:
    """n and |Z| from the manifest's place."""
    data = manifest_offset - capacity
    full, rest = divmod(data, chunk + p.RECORD_OVERHEAD)
    require(not 1 <= rest <= p.RECORD_OVERHEAD, "footerDamaged", "length of the data")  # FOOT-8
    records = full + (1 if rest > 0 else 0)
    return Geometry(capacity, chunk, manifest_offset, manifest_length, records,
                    data - p.RECORD_OVERHEAD * records)


def data_length(shape: Geometry, index: int) -> int:
    """LAY-3: the plaintext length of data record `index`."""
    return min(shape.chunk, shape.stream_length - index * shape.chunk)


class Footer(NamedTuple):
    manifest_offset: int
    length: int
    capacity: int
    manifest_length: int
    end_magic: bytes


def build_footer(capacity: int, manifest_offset: int, manifest_length: int) -> bytes:
    return (manifest_offset.to_bytes(8, "big")
            + container_length(capacity, manifest_offset, manifest_length).to_bytes(8, "big")
            + capacity.to_bytes(4, "big") + manifest_length.to_bytes(4, "big") + p.END_MAGIC)


def split_footer(data: bytes) -> Footer:
    return Footer(int.from_bytes(data[0:8], "big"), int.from_bytes(data[8:16], "big"),
                  int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"), data[24:32])


def check_footer(footer: Footer, file_size: int) -> None:
    """Everything except the end magic; the caller checks that first."""
    require(is_capacity(footer.capacity), "footerDamaged", "capacity")  # FOOT-3
    require(is_manifest_length(footer.manifest_length), "footerDamaged", "manifest length")  # FOOT-4
    require(footer.capacity <= footer.manifest_offset < file_size, "footerDamaged", "manifest offset")  # FOOT-5
    computed = container_length(footer.capacity, footer.manifest_offset, footer.manifest_length)
    require(footer.length == computed == file_size, "footerDamaged", "length")  # FOOT-6
