"""Makes containers at a cap of the format, one past it, and of any size below. They are too large to be committed.

It uses the code that makes the test vectors.
"""

import hashlib
import os
import sys
import zlib
from itertools import count as numbers

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "Spec", "vectors"))

from forge import Box, draw, flip, join, member, patched, raw_slot, summed, u64  # noqa: E402
from recipient_text import bech32_encoded  # noqa: E402
from recipients import dead as dead_slot, hidden_id, slot, stanza  # noqa: E402

KEY = draw("resources", "key", 32)
PASSPHRASE = b"one of four"
UNKNOWN = 0x7000
MOST_CAPACITY = 1 << 20
GROUP = 65536
DEFLATED, INDEX = 1, 2


def box(plaintext=700, *, seed="resources", **fields):
    return Box(seed, plaintext, user_key=KEY, **fields)


def unknown(number, body=b""):
    return raw_slot(UNKNOWN, number.to_bytes(16, "big"), body)


def dead(key):
    """A symmetric slot for this key that does not open: a reader tries the key, and the tag is wrong."""
    return lambda b: flip(b.symmetric(key), -1)


def with_slots(make, **fields):
    """A container with these slots in both copies; `make` takes the box."""
    return box(slots=make, **fields)


def slots_filling(count, capacity=MOST_CAPACITY):
    """`count` slots that leave no byte of a copy free; the caller's slot is the last."""

    def make(b):
        own = b.symmetric()
        room = capacity - 76 - 64 - len(own)
        others = count - 1
        least, more = divmod(room - 20 * others, others)
        return [unknown(i, bytes(least + (i < more))) for i in range(others)] + [own]

    return make


def stretched(*costs, opens=True):
    """A passphrase slot for each (passes, memory in KiB), the last of which opens; then a slot of the key."""

    def make(b):
        last = len(costs) - 1
        return [b.passphrase(PASSPHRASE, *cost, label=str(i), dead=not (opens and i == last))
                for i, cost in enumerate(costs)] + [b.symmetric()]

    return make


def strangers(kind, count):
    """Identities that open nothing."""
    part = {3: "age-secret-key-", 4: "age-secret-key-pq-"}[kind]
    return [bech32_encoded(part, draw("strangers", str(i), 32)).upper() for i in range(count)]


def two_headers(make, capacity):
    """A container whose copies have different slots; `make` takes the box and a label."""
    b = box(slots=lambda b: make(b, "front"), capacity=capacity)
    b.tail = b.copy(generation=2, slots=make(b, "tail"))
    return b


def hidden_slots(kind, count, own, opens, capacity):
    """Hidden slots of type 3 or 4, of which the last is for `own`, if one opens. Then both copies are the same."""

    def make(b, label):
        last = [slot(b, own, slot_id=hidden_id(b.seed))] if opens else []
        return [dead_slot(b, kind, hidden_id(b.seed, f"{label} {i}"), f"{label} {i}")
                for i in range(count - len(last))] + last

    return box(slots=lambda b: make(b, ""), capacity=capacity) if opens else two_headers(make, capacity)


def stanza_slots(count, own):
    """Slots with stanzas that are as long as they may be, and that no plugin opens. Every other one has the ID of
    `own`."""
    text = next(made for n in numbers(1) if len(made := stanza(["s" * n], draw("stanzas", "body", 5890))) == 8192)

    def make(b, label):
        return [own.slot(b, f"{label} {i}", slot_id=None if i % 2 else hidden_id(b.seed, f"{label} {i}"), stanzas=text)
                for i in range(count)]

    return two_headers(make, MOST_CAPACITY)


def manifest_of(b, members):
    """These members and the required ones."""
    required = [(1, b.commitment), (2, u64(len(b.plaintext)))]
    return sorted(required + list(members))


def with_manifest(length, members=None):
    """A container whose manifest has `length` bytes: one unknown member fills it, or `members` empty ones and one more
    that fills the rest."""
    b = box()
    required = sum(len(member(*each)) for each in manifest_of(b, []))
    empty = [(0x8005 + i, b"") for i in range(members or 0)]
    rest = length - required - 6 * len(empty) - 6
    b.set_manifest(join(manifest_of(b, [*empty, (0xFFFF, bytes(rest))]), length))
    return b


class Blocks:
    """A packed stream of blocks of zeros. Each kind of block is compressed only once."""

    def __init__(self, log2):
        self.chunk = 1 << log2
        self.full = self.item(self.chunk)

    @staticmethod
    def item(count):
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        body = packer.compress(bytes(count)) + packer.flush()
        return bytes([DEFLATED]) + len(body).to_bytes(3, "big") + body

    def stream(self, count):
        """The stream of `count` blocks, and the offsets of its index items."""
        parts, offsets, place = [], [], 0
        for start in range(0, count, GROUP):
            blocks = min(GROUP, count - start)
            items = self.full * blocks
            index = bytes([INDEX]) + (3 * blocks).to_bytes(3, "big") + self.full[1:4] * blocks
            parts += [items, index]
            offsets.append(place + len(items))
            place += len(items) + len(index)
        return b"".join(parts), offsets


def packed(count, log2, change=None, stated=None):
    """A container of `count` blocks of zeros. `change` takes the stream and the offsets of its index items, and returns
    both; `stated` is the plaintext's length in the manifest."""
    b = box(b"", compression=1, log2=log2)
    stream, offsets = Blocks(log2).stream(count)
    if change:
        stream, offsets = change(stream, offsets)
    b.packed, b.records = stream, b.data_records(stream)
    length = (count << log2) if stated is None else stated
    b.set_manifest([(1, b.commitment), (2, u64(length)), (3, u64(len(stream))), (4, b"".join(map(u64, offsets)))])
    b.zero_count = length
    return b


def digest_of_zeros(count):
    digest = hashlib.sha256()
    for start in range(0, count, 1 << 20):
        digest.update(bytes(min(1 << 20, count - start)))
    return digest.hexdigest()


def write(path, b):
    """Writes a container in parts, because it may be large. Returns the SHA-256 of its plaintext."""
    with open(path, "wb") as file:
        for part in (b.front, *b.records, b.manifest, b.padding(), b.tail, b.footer or b.footer_with()):
            file.write(part)
    zeros = getattr(b, "zero_count", None)
    return hashlib.sha256(b.plaintext).hexdigest() if zeros is None else digest_of_zeros(zeros)


def write_groups(path, blocks, log2=12):
    """A packed container that claims `blocks` blocks, in as few bytes as the index allows. Its records are a hole in
    the file: they are damaged, but opening does not read them, and there is no plaintext."""
    groups = -(-blocks // GROUP)
    offsets, place = [], 0
    for group in range(groups):
        count = min(GROUP, blocks - group * GROUP)
        place += 5 * count
        offsets.append(place)
        place += 4 + 3 * count
    b = box(b"", compression=1, log2=log2)
    records = -(-place // b.chunk)
    b.set_manifest(
        [(1, b.commitment), (2, u64(blocks << log2)), (3, u64(place)), (4, b"".join(map(u64, offsets)))], index=records)
    m = b.capacity + place + 20 * records
    align = min(b.capacity, 4096)
    t = -(-(m + len(b.manifest)) // align) * align
    with open(path, "wb") as file:
        file.write(b.front)
        for offset, part in ((m, b.manifest), (t, b.tail)):
            file.seek(offset)
            file.write(part)
        file.write(b.footer_with(m=m, length=t + b.capacity + 32))


def write_copies(path, count, apart):
    """A file of `count` intact header copies. Each has one slot for the caller's key that does not open, and no two
    slots are equal. `apart`: each copy belongs to another container. An attacker can write this without any key."""
    front = with_slots(lambda b: [dead(KEY)(b)]).front
    with open(path, "wb") as file:
        for number in range(count):
            copy = patched(front, 76 + 20, number.to_bytes(24, "big"))
            file.write(summed(patched(copy, 16, number.to_bytes(16, "big")) if apart else copy))


def write_claims(path, count):
    """`count` blocks of 512 bytes, each the beginning of a header copy of 1 MiB whose checksum is wrong."""
    start = box().front[:64] + MOST_CAPACITY.to_bytes(4, "big")
    with open(path, "wb") as file:
        for _ in range(count):
            file.write(start.ljust(512, b"\0"))


def damaged(b, spared=0):
    """Damages every second record, except the last `spared` ones."""
    b.freeze()
    last = len(b.records) - spared
    b.records = [flip(each, -1) if i % 2 == 0 and i < last else each for i, each in enumerate(b.records)]
    return b
