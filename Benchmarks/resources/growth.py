"""Series of containers that show how the time grows with the size of what an attacker can make large."""

import math
from dataclasses import dataclass, field

import containers as c
from cases import MIB, OPENS, allowed
from containers import KEY, box, dead, packed, unknown, with_manifest, with_slots
from forge import draw
from keys import keyring_line, write_keyring

# Quadratic growth would be 2. The rest of the start-up, and caches that become too small, stay below this.
MOST_SLOPE = 1.3


@dataclass
class Series:
    name: str
    verb: str
    unit: str
    sizes: list
    make: object  # takes a path and a size
    result: str = OPENS
    runs: int = 5
    keys: list = field(default_factory=lambda: ["--key-file", "KEY"])
    more: object = lambda size: []
    capacity: int = 4096
    chunk: int = 1 << 16
    besides: int = 0  # memory that CAP-4 does not count, in bytes
    zeros: object = None  # takes a size and returns how many bytes the output has, all of them 0

    @property
    def title(self):
        return f"{self.verb}: {self.name}"

    def memory(self, threads):
        """The bound of CAP-4, on top of what the process takes for a small container."""
        return allowed(threads, self.capacity, self.chunk) + self.besides


def tellable(points):
    """The steps from one size to the next with a measurable difference: (size before, time before, size, time)."""
    least = max(0.002, points[0][1] / 10)
    return [(*before, *after) for before, after in zip(points, points[1:]) if after[1] - before[1] > least]


def slope(points):
    """The power of the size by which the time grows; None if it grows too little to measure.

    Fitted to the time that each size takes above the size before, so that costs common to all sizes, above all the
    start-up, do not count.
    """
    logs = [(math.log(size), math.log(cpu - before)) for _, before, size, cpu in tellable(points)]
    if len(logs) < 2:
        return None
    mean_x, mean_y = (sum(each) / len(logs) for each in zip(*logs))
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)


def problems(points):
    """Says what grows too fast: the whole series, or a single step that the fit may hide."""
    power = slope(points)
    if power is not None and power > MOST_SLOPE:
        yield f"grows as the size to the power {power:.2f}"
    for smaller, before, size, cpu in tellable(points):
        if cpu / before > (size / smaller) ** MOST_SLOPE:
            yield f"{cpu / before:.1f} times the time from {smaller:,} to {size:,}"


def powers(first, last, step=2):
    return [1 << power for power in range(first, last + 1, step)]


def writing(make):
    """Turns a function from a size to a box into one that writes the box."""
    return lambda path, size: c.write(path, make(size))


def all_series():
    return [*headers(), *manifests(), *streams(), *searches()]


def headers():
    def slots(count):
        return with_slots(lambda b: [unknown(i) for i in range(count - 1)] + [b.symmetric()], capacity=1 << 17)

    def filled(capacity):
        return with_slots(c.slots_filling(min(1024, capacity // 512 + 1), capacity), capacity=capacity)

    ring = [draw("ring", str(i), 32) for i in range(1024)]

    def refused(path, count):
        c.write(path, with_slots(lambda b: [dead(key)(b) for key in ring[:count]], capacity=1 << 17))
        write_keyring(path + ".ring", [keyring_line(key, f"key{i}") for i, key in enumerate(ring)])

    return [
        Series("slots of an unknown type", "inspect", "slots", powers(0, 10), writing(slots)),
        Series("slots that refuse a key of a keyring of 1024", "verify", "slots", powers(0, 10), refused,
               # The caller's keys that slots name are in guarded memory, two pages each, while they are tried.
               result="wrongKey", keys=[], capacity=1 << 17, besides=1024 << 13),
        Series("a full header copy", "verify", "bytes", powers(10, 20), writing(filled)),
    ]


def manifests():
    return [
        Series("a manifest of one unknown member", "inspect", "bytes", powers(10, 20), writing(with_manifest)),
        Series("a manifest of empty unknown members", "inspect", "members", [32, 128, 512, 2048, 8192, 32000],
               writing(lambda count: with_manifest(1 << 20, count))),
        Series("groups that a manifest claims", "inspect", "groups", powers(0, 16),
               lambda path, groups: c.write_groups(path, groups * c.GROUP)),
    ]


def streams():
    def broken(count):
        """The index stays undamaged, so that recover looks for every block."""
        return c.damaged(packed(count, 12), 2 + 3 * count // 4096)

    def false_index(count):
        """The index item states wrong lengths: one too many for every second item, one too few for the others."""
        def change(stream, offsets):
            end = offsets[0] + 4
            lengths = bytearray(stream[end:end + 3 * count])
            for place in range(2, 3 * count, 6):
                lengths[place] += 1
                lengths[place + 3] -= 1
            return stream[:end] + bytes(lengths) + stream[end + 3 * count:], offsets
        return packed(count, 12, change)

    def last_byte(count):
        return ["--offset", str((count << 12) - 1), "--length", "1"]

    def whole_range(count):
        return ["--offset", "0", "--length", str(count << 12)]

    def thousandfold(length):
        return packed(length >> 23, 23)

    def in_blocks(count):
        return count << 12

    bomb = {"unit": "bytes of plaintext", "sizes": powers(24, 30), "runs": 3, "chunk": 8 << 20,
            "zeros": lambda length: length}

    return [
        Series("a bomb, a thousandfold", "decrypt", make=writing(thousandfold), **bomb),
        Series("a bomb, a thousandfold", "stream", make=writing(thousandfold), **bomb),
        Series("a bomb, a thousandfold", "verify", make=writing(thousandfold), **bomb),
        Series("a bomb, a thousandfold", "recover", make=writing(thousandfold), **bomb),
        Series("blocks of a group, the last byte", "decrypt", "blocks", powers(8, 16),
               writing(lambda count: packed(count, 12)), more=last_byte, zeros=lambda count: 1),
        Series("blocks of a group, as a range", "decrypt", "blocks", powers(8, 16),
               writing(lambda count: packed(count, 12)), more=whole_range, runs=5, zeros=in_blocks),
        Series("blocks, an index that lies", "recover", "blocks", powers(8, 16), writing(false_index),
               result="packingMalformed", runs=5, zeros=in_blocks),
        Series("blocks, every second record damaged", "recover", "blocks", powers(10, 16), writing(broken),
               result="recordDamaged", runs=5, zeros=in_blocks),
        Series("blocks, every second record damaged", "verify", "blocks", powers(10, 16), writing(broken),
               result="recordDamaged", runs=5),
        Series("records, every second damaged", "verify", "records", powers(6, 14),
               writing(lambda count: c.damaged(box(bytes(count << 12)))), result="recordDamaged", runs=5),
        Series("records, every second damaged", "recover", "records", powers(6, 14),
               writing(lambda count: c.damaged(box(bytes(count << 12)))), result="recordDamaged", runs=5,
               zeros=in_blocks),
    ]


def searches():
    copies = {"unit": "copies", "result": "wrongKey", "runs": 5, "besides": 160 * MIB}
    return [
        Series("copies of one container that refuse the key", "recover", sizes=powers(5, 15),
               make=lambda path, count: c.write_copies(path, count, apart=False), **copies),
        Series("copies of as many containers", "recover", sizes=powers(5, 15),
               make=lambda path, count: c.write_copies(path, count, apart=True), **copies),
        Series("places that claim to be a header copy", "recover", "places", powers(12, 15, 1), c.write_claims,
               result="headerDamaged", runs=5),
    ]
