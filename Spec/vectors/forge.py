"""Containers built by hand: good ones, and ones that break a single rule.

`Box` builds a good container and leaves its parts (header copies, records, manifest, zeros, footer) as plain bytes
that a case replaces or patches before `bytes()` joins them. The key schedule and the ciphers are the reference's.
"""

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

SPEC_REFERENCE = Path(__file__).resolve().parent.parent / "reference"
sys.path.insert(0, str(SPEC_REFERENCE))

from primitives import (  # noqa: E402
    DATA, END_MAGIC, MAGIC, MANIFEST, aead_open, aead_seal, argon2id, checksum, commitment, header_mac,
    header_mac_key, kek_passphrase, kek_symmetric, key_id, record_nonce, stream_key)

__all__ = [
    "Box", "DATA", "END_MAGIC", "MAGIC", "MANIFEST", "PASSPHRASE", "SPEC_REFERENCE", "SYMMETRIC", "Squeezed", "aead_open", "aead_seal",
    "checksum",
    "commitment", "draw", "flip", "header_mac_key", "join", "key_id", "kek_symmetric", "member", "mended", "patched",
    "raw_slot", "record_nonce", "stream_key", "summed", "u16", "u32", "u64"]

SYMMETRIC, PASSPHRASE = 1, 2


def u16(n):
    return n.to_bytes(2, "big")


def u32(n):
    return n.to_bytes(4, "big")


def u64(n):
    return n.to_bytes(8, "big")


def draw(seed, label, n):
    """The fixed randomness: n bytes that depend only on the case and on their use."""
    return hashlib.shake_256(f"vaultfile vectors: {seed}: {label}".encode()).digest(n)


def patched(data, offset, new):
    """`data` with `new` over the bytes at `offset` (counted from the end if negative)."""
    offset %= len(data)
    assert offset + len(new) <= len(data)
    return data[:offset] + new + data[offset + len(new):]


def flip(data, offset, bit=0):
    """`data` with one bit flipped."""
    offset %= len(data)
    return patched(data, offset, bytes([data[offset] ^ 1 << bit]))


def summed(copy):
    """A header copy with its unkeyed checksum right again. This needs no file key."""
    return copy[:-32] + checksum(copy[:-32])


def mended(copy, mac_key):
    """A header copy with MAC and checksum right again. Only a holder of the file key can do this."""
    body = copy[:-64]
    return summed(body + header_mac(mac_key, body) + bytes(32))


def member(tag, value):
    """One member of the manifest."""
    return u16(tag) + u32(len(value)) + value


def join(members, size=None):
    """Members (as (tag, value) or as raw bytes), then zeros to the least multiple of 512, or to `size`."""
    text = b"".join(m if isinstance(m, bytes) else member(*m) for m in members)
    return text.ljust(max(512, -(-len(text) // 512) * 512) if size is None else size, b"\0")


def raw_slot(kind, slot_id, body, length=None):
    """A slot of any type; `length` overrides the length that it states."""
    return u16(kind) + u16(len(body) if length is None else length) + slot_id + body


@dataclass
class Squeezed:
    length: int


class Box:
    """One container. `seed` fixes all its randomness; `plaintext` is bytes, a length of random bytes, or what
    `Squeezed(length)` stands for: the bytes whose ciphertext is all zeros, so that a large container compresses."""

    def __init__(self, seed, plaintext=700, *, capacity=512, log2=12, compression=0, flags=0, version=1, suite=1,
                 magic=MAGIC, context=b"", generation=1, slots=None, members=(), manifest=None, file_key=None,
                 file_id=None, user_key=None, commitment_bytes=None, chunk=None, payload_key=None):
        self.seed = seed
        self.capacity, self.compression, self.context = capacity, compression, context
        self.generation = generation
        self.chunk = chunk or 1 << log2
        self.file_key = file_key or draw(seed, "file key", 32)
        self.file_id = file_id or draw(seed, "file ID", 16)
        self.user_key = user_key or draw(seed, "user key", 32)
        start = (magic + u16(version) + u16(suite) + bytes([log2, compression]) + u16(flags) + self.file_id)
        self.commitment = commitment_bytes or commitment(self.file_key, start + bytes(32), context)
        self.preamble = start + self.commitment
        self.mac_key = header_mac_key(self.file_key, self.preamble, context)
        self.stream_key = payload_key or stream_key(self.file_key, self.preamble, context)

        self.plaintext = self.make_plaintext(plaintext)
        self.slots = slots(self) if slots else [self.symmetric()]
        self.front = self.tail = self.copy()
        packed, offsets = self.pack() if compression == 1 else (self.plaintext, None)
        self.packed = packed
        self.records = self.data_records(packed)
        if manifest is None:
            required = [(1, self.commitment), (2, u64(len(self.plaintext)))]
            if compression == 1:
                required += [(3, u64(len(packed))), (4, offsets)]
            manifest = sorted(required + list(members))
        self.set_manifest(manifest)
        self.zeros = self.footer = None     # None: as the other parts require

    # Header

    def symmetric(self, user_key=None, *, label="", file_key=None, slot_id=None, preamble=None, nonce=None):
        """A slot of type 1 (its nonce depends on the key and the label)."""
        user_key = user_key or self.user_key
        nonce = nonce or draw(self.seed, f"slot nonce {label} {user_key.hex()}", 24)
        head = raw_slot(SYMMETRIC, slot_id or key_id(user_key), nonce, 72)
        return self._wrapped(head, kek_symmetric(user_key, preamble or self.preamble), file_key, preamble)

    def passphrase(self, secret, passes=1, memory=8, *, label="", lanes=1, salt=None, dead=False, file_key=None):
        """A slot of type 2. `dead`: nothing is stretched, and no passphrase opens it."""
        salt = salt or draw(self.seed, f"salt {label} {secret.hex()}", 16)
        body = u32(passes) + u32(memory) + u32(lanes) + draw(self.seed, f"slot nonce {label} {secret.hex()}", 24)
        if dead:
            return raw_slot(PASSPHRASE, salt, body + draw(self.seed, f"dead {label} {secret.hex()}", 48))
        key = kek_passphrase(argon2id(secret, salt, passes, memory), self.preamble)
        return self._wrapped(raw_slot(PASSPHRASE, salt, body, 84), key, file_key, None)

    def _wrapped(self, head, key, file_key, preamble):
        ad = (preamble or self.preamble) + head
        return head + aead_seal(key, head[-24:], ad, file_key or self.file_key)

    def copy(self, *, slots=None, capacity=None, size=None, generation=None, count=None, reserved=0, patches=(),
             mac_key=None):
        """A header copy whose MAC and checksum are right, whatever the overrides."""
        slots = self.slots if slots is None else slots
        capacity = self.capacity if capacity is None else capacity
        generation = self.generation if generation is None else generation
        text = (self.preamble + u32(capacity) + u32(generation) + u16(len(slots) if count is None else count)
                + u16(reserved) + b"".join(slots))
        room = (capacity if size is None else size) - 64
        assert len(text) <= room, "the slots do not fit"
        text = text.ljust(room, b"\0")
        for offset, new in patches:
            text = patched(text, offset, new)
        return mended(text + bytes(64), mac_key or self.mac_key)

    def both(self, change):
        """Applies `change` to both header copies."""
        self.front, self.tail = change(self.front), change(self.tail)
        return self

    def both_copies(self, **fields):
        """Makes both header copies anew and identical."""
        self.front = self.tail = self.copy(**fields)
        return self

    # Payload

    def make_plaintext(self, plaintext):
        if isinstance(plaintext, Squeezed):
            return b"".join(self.keystream(i // self.chunk, min(self.chunk, plaintext.length - i))
                            for i in range(0, plaintext.length, self.chunk))
        return draw(self.seed, "plaintext", plaintext) if isinstance(plaintext, int) else plaintext

    def record(self, index, text, kind=DATA, *, head=None, ad=None, nonce=None, key=None):
        head = head or bytes([kind]) + len(text).to_bytes(3, "big")
        return head + aead_seal(key or self.stream_key, nonce or record_nonce(self.file_id, index),
                                head if ad is None else ad, text)

    def data_records(self, text):
        return [self.record(i // self.chunk, text[i:i + self.chunk]) for i in range(0, len(text), self.chunk)]

    def set_manifest(self, text, index=None):
        """`text`: the manifest's plaintext, or its members as (tag, value) or raw bytes."""
        self.members = [] if isinstance(text, bytes) else [m for m in text if not isinstance(m, bytes)]
        self.manifest_text = text if isinstance(text, bytes) else join(text)
        self.manifest = self.record(len(self.records) if index is None else index, self.manifest_text, MANIFEST)

    def pack(self):
        """The packed stream (stored blocks only, one group at most) and the offsets of its index items."""
        blocks = [self.plaintext[i:i + self.chunk] for i in range(0, len(self.plaintext), self.chunk)]
        assert len(blocks) <= 65536
        if not blocks:
            return b"", b""
        lengths = [len(block).to_bytes(3, "big") for block in blocks]
        items = b"".join(b"\0" + length + block for length, block in zip(lengths, blocks))
        index = b"\2" + (3 * len(blocks)).to_bytes(3, "big") + b"".join(lengths)
        return items + index, u64(len(items))

    def keystream(self, index, n):
        """The plaintext of record `index` whose ciphertext is all zeros (so that the container compresses)."""
        return aead_seal(self.stream_key, record_nonce(self.file_id, index), b"", bytes(n))[:n]

    # Geometry of the present parts

    @property
    def m(self):
        return len(self.front) + sum(map(len, self.records))

    @property
    def t(self):
        """T by the footer's arithmetic: the offset of the tail."""
        align = max(1, min(self.capacity, 4096))
        return -(-(self.m + len(self.manifest)) // align) * align

    @property
    def released(self):
        """The length of the plaintext in the records before record i: released[i]."""
        sums = [0]
        for record in self.records:
            sums.append(sums[-1] + len(record) - 20)
        return sums

    def padding(self):
        return bytes(self.t - self.m - len(self.manifest)) if self.zeros is None else self.zeros

    def footer_with(self, *, m=None, length=None, c=None, M=None, end=END_MAGIC):
        """The footer that the present parts require, except for the fields given."""
        whole = self.m + len(self.manifest) + len(self.padding()) + len(self.tail) + 32
        return (u64(self.m if m is None else m) + u64(whole if length is None else length)
                + u32(self.capacity if c is None else c) + u32(len(self.manifest) - 20 if M is None else M) + end)

    def freeze(self):
        """Keeps the zeros and the footer as they are now, whatever changes afterwards."""
        self.zeros, self.footer = self.padding(), self.footer_with()
        return self

    def unsealed(self):
        """The container before its data records are encrypted: plaintext in place of ciphertext, zeros in place of
        tags."""
        text = self.packed
        parts = [text[i:i + self.chunk] for i in range(0, len(text), self.chunk)]
        assert [len(part) + 20 for part in parts] == [len(record) for record in self.records]
        sealed = self.records
        self.records = [record[:4] + part + bytes(16) for record, part in zip(sealed, parts)]
        data = self.bytes()
        self.records = sealed
        return data

    def bytes(self):
        return (self.front + b"".join(self.records) + self.manifest + self.padding() + self.tail
                + (self.footer_with() if self.footer is None else self.footer))
