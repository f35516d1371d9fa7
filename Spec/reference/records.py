"""Records: 4 bytes of type and length, ciphertext, tag (FORMAT.md, 5)."""

from typing import Optional

import primitives as p


def record_start(record_type: int, length: int) -> bytes:
    return bytes([record_type]) + length.to_bytes(3, "big")


def seal_record(key: bytes, file_id: bytes, index: int, record_type: int, plaintext: bytes) -> bytes:
    """REC-7."""
    start = record_start(record_type, len(plaintext))
    return start + p.aead_seal(key, p.record_nonce(file_id, index), start, plaintext)


def open_record(key: bytes, file_id: bytes, index: int, record_type: int, length: int,
                record: bytes) -> Optional[bytes]:
    """The plaintext of a record, or None if it does not have this type and length or does not decrypt."""
    start = record_start(record_type, length)  # REC-9
    if record[:p.RECORD_HEADER_SIZE] != start or len(record) != length + p.RECORD_OVERHEAD:
        return None
    # REC-7
    return p.aead_open(key, p.record_nonce(file_id, index), start, record[p.RECORD_HEADER_SIZE:])
