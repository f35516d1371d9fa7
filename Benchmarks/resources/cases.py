"""A container at every cap of chapter 15 and of the appendices, and one past it."""

import os
from dataclasses import dataclass, field

import containers as c
from containers import KEY, PASSPHRASE, box, packed, stretched, unknown, with_manifest, with_slots
from forge import draw, patched, summed, u64
from keys import keyring_line, write_identities, write_key, write_keyring
from recipients import HybridKey, Key, PluginKey

MIB = 1 << 20
# Numbers of threads that read each container; the times are for the last one.
THREADS = (1, 2)
# What CAP-4 allows each thread in addition to header copies and chunks: an index item, and everything else.
INDEX_ITEM, ALL_ELSE = 3 << 16, 2 * MIB
# Parts of the program, its libraries and its heap that a small container does not touch. The Spec does not count them.
UNTOUCHED = 2 * MIB
OPENS = "opens"


@dataclass
class Case:
    what: str
    rule: str
    value: str
    make: object  # takes a path, writes the container there, and returns the SHA-256 of the plaintext
    seek: str = OPENS  # the result of a reader that can seek, and of the whole reader
    stream: str = None  # the result of a streaming reader; None if it is that of `seek`
    inspect: str = None  # the result of inspect, which reads no contents; None if it is that of `seek`
    chunk: int = 1 << 16
    capacity: int = 4096
    stretching: int = 0  # KiB of memory, for the bound
    shown: int = 0  # bytes that inspect prints
    library: int = 0  # the part of a library that only this case touches
    seconds: float = 2  # the bound
    keys: list = field(default_factory=lambda: ["--key-file", "KEY"])
    more: list = field(default_factory=list)
    verbs: tuple = ("verify", "decrypt", "stream", "inspect")

    @property
    def title(self):
        return f"{self.what}: {self.value}"

    def expected(self, verb):
        return {"stream": self.stream, "inspect": self.inspect}.get(verb) or self.seek

    def memory(self, threads):
        """The bound of CAP-4, on top of what the process takes for a small container."""
        return allowed(threads, self.capacity, self.chunk) + (self.stretching << 10) + self.shown + self.library


def allowed(threads, capacity=4096, chunk=1 << 16):
    """What CAP-4 allows all threads: for each, two header copies, three chunks, an index item, and everything else."""
    return threads * (2 * capacity + 3 * chunk + INDEX_ITEM + ALL_ELSE) + UNTOUCHED


def of(b):
    """Returns a function that writes a box to the path of the case."""
    return lambda path: c.write(path, b())


def by_passphrase(**fields):
    return {"keys": ["--passphrase-file", "PASSPHRASE"], **fields}


def cases():
    return [*header(), *stretching(), *recipients(), *records(), *manifests(), *packing(), *arguments(), *keyrings()]


def header():
    whole = c.MOST_CAPACITY

    def stated(count):
        return of(lambda: with_slots(
            lambda b: [unknown(i) for i in range(count - 1)] + [b.symmetric()], capacity=1 << 17))

    def generation(number):
        return of(lambda: box().both_copies(generation=number))

    return [
        Case("capacity", "HDR-9", "2^20, full, 1024 slots",
             of(lambda: with_slots(c.slots_filling(1024), capacity=whole)), capacity=whole, shown=MIB),
        Case("capacity", "HDR-9", "2^21", of(lambda: with_capacity(2 * whole)), seek="footerDamaged",
             stream="headerDamaged"),
        Case("generation", "HDR-10", "2^32 − 1", generation(2**32 - 1)),
        Case("generation", "HDR-10", "0", generation(0), seek="headerMalformed"),
        Case("slots", "HDR-11", "1024", stated(1024), capacity=1 << 17, shown=MIB),
        Case("slots", "HDR-11", "1025", stated(1025), seek="headerMalformed", capacity=1 << 17),
        Case("slot's body", "HDR-13", "65,535", of(lambda: with_slots(
            lambda b: [unknown(0, bytes(65535)), b.symmetric()], capacity=1 << 17)), capacity=1 << 17),
    ]


def with_capacity(capacity):
    """A container whose copies state this capacity, even an invalid one."""
    b = box(capacity=4096)
    b.capacity = capacity
    return b.both_copies()


def stretching():
    def slots(*costs, **fields):
        return of(lambda: with_slots(stretched(*costs, **fields), capacity=1024))

    def lanes(count):
        return of(lambda: with_slots(
            lambda b: [b.passphrase(PASSPHRASE, lanes=count, dead=count != 1), b.symmetric()], capacity=1024))

    def both_copies():
        b = with_slots(stretched(*4 * [(1, 2**20)], opens=False), capacity=1024)
        b.tail = b.copy(generation=2, slots=[
            b.passphrase(b"%d" % i, 1, 2**20, dead=True) for i in range(4)] + [b.symmetric()])
        return b

    refused = "headerMalformed"
    # For containers that cost seconds, one reader of each kind is enough.
    dear = {"seconds": 120, "verbs": ("verify", "stream")}
    return [
        Case("passphrase slots", "SLOT-8", "4", slots(*4 * [(1, 8)]), **by_passphrase()),
        Case("passphrase slots", "SLOT-8", "5", slots(*5 * [(1, 8)]), **by_passphrase(seek=refused)),
        Case("Argon2id passes", "SLOT-10", "64", slots((64, 2**16)), **by_passphrase(stretching=2**16, **dear)),
        Case("Argon2id passes", "SLOT-10", "65", slots((65, 8)), **by_passphrase(seek=refused)),
        Case("Argon2id memory, KiB", "SLOT-10", "2^21, twice", slots((2, 2**21)),
             **by_passphrase(stretching=2**21, **dear)),
        Case("Argon2id memory, KiB", "SLOT-10", "2^21 + 1", slots((1, 2**21 + 1), opens=False),
             **by_passphrase(seek=refused)),
        Case("Argon2id lanes", "SLOT-9", "1", lanes(1), **by_passphrase()),
        Case("Argon2id lanes", "SLOT-9", "2", lanes(2), **by_passphrase(seek=refused)),
        Case("Σ passes × memory, KiB", "SLOT-11", "2^22, the last of 4 opens", slots(*4 * [(1, 2**20)]),
             **by_passphrase(stretching=2**20, **dear)),
        Case("Σ passes × memory, KiB", "SLOT-11", "2^22 in each copy, none opens", of(both_copies),
             **by_passphrase(stretching=2**20, seek="wrongKey", **dear)),
        Case("Σ passes × memory, KiB", "SLOT-11", "2^22 + 1", slots(*3 * [(1, 2**20)], (1, 2**20 + 1), opens=False),
             **by_passphrase(seek=refused)),
    ]


def recipients():
    """The dearest slots: those that are tried with every identity, and those that go to a plugin with the longest
    stanzas. Each copy has others, so both are tried."""

    def tried(kind, hidden, *, identities=16, opens=False, capacity):
        def make(path):
            owner = {3: Key, 4: HybridKey}[kind]
            own = owner("Alice" if kind == 3 else 0)
            write_identities(path + ".identities", c.strangers(kind, identities - 1) + [own.identity])
            return c.write(path, c.hidden_slots(kind, hidden, own, opens, capacity))
        return make

    def handed_over(count):
        def make(path):
            write_identities(path + ".identities", PluginKey("stand").known.split(" ")[::-1])
            return c.write(path, c.stanza_slots(count, PluginKey("stand")))
        return make

    # The library of X-Wing takes 2 MiB at its first use.
    given = {"keys": ["--identity", "INPUT.identities"], "verbs": ("verify", "stream"), "library": 2 * MIB}
    beyond = "limitExceeded"
    found = []
    for name, kind, capacity in (("X25519", 3, 1 << 14), ("X-Wing", 4, 1 << 17)):
        what = f"{name} slots, 16 identities"
        found += [
            Case(what, "SLOT-27", "64 hidden, the last opens", tried(kind, 64, opens=True, capacity=capacity),
                 capacity=capacity, **given),
            Case(what, "SLOT-27", "64 hidden in each copy, none opens", tried(kind, 64, capacity=capacity),
                 capacity=capacity, seek="wrongKey", **given),
            Case(what, "SLOT-27", "65 hidden, the last would open", tried(kind, 65, opens=True, capacity=capacity),
                 capacity=capacity, seek=beyond, **given),
            Case(what, "SLOT-27", "as many as fit, none opens", tried(kind, 800, capacity=1 << 20),
                 capacity=1 << 20, seek=beyond, **given),
        ]
    return found + [
        Case("slots with stanzas of 8 KiB", "SLOT-33", "32 and 32 in each copy, none opens", handed_over(64),
             capacity=1 << 20, seek="wrongKey", **given),
        Case("slots with stanzas of 8 KiB", "SLOT-33", "as many as fit", handed_over(120), capacity=1 << 20,
             seek=beyond, **given),
    ]


def records():
    chunk = 1 << 23

    def log2(number):
        return of(lambda: box().both(lambda copy: summed(patched(copy, 12, bytes([number])))))

    return [
        Case("chunk", "HDR-5", "2^23, 4 records", of(lambda: box(4 * chunk, log2=23)), chunk=chunk),
        Case("chunk", "HDR-5", "2^24", log2(24), seek="headerMalformed"),
        Case("chunk", "HDR-5", "2^12, 16,384 records", of(lambda: box(bytes(64 * MIB), log2=12))),
        Case("chunk", "HDR-5", "2^11", log2(11), seek="headerMalformed"),
    ]


def manifests():
    def having(tag, value):
        def make():
            b = box()
            b.set_manifest(sorted([(1, b.commitment), (2, u64(len(b.plaintext)))] + [(tag, value)]))
            return b
        return of(make)

    def stated(length):
        def make():
            b = box()
            b.set_manifest([(1, b.commitment), (2, u64(length))])
            return b
        return of(make)

    def place(m):
        def make():
            b = box()
            b.footer = b.footer_with(m=m)
            return b
        return of(make)

    refused = "manifestMalformed"
    return [
        Case("manifest", "FOOT-4, REC-5", "2^20, one member", of(lambda: with_manifest(1 << 20))),
        Case("manifest", "FOOT-4, REC-5", "2^20, 32,000 members", of(lambda: with_manifest(1 << 20, 32000))),
        Case("manifest", "FOOT-4, REC-5", "2^20 + 512", of(lambda: with_manifest((1 << 20) + 512)),
             seek="footerDamaged", stream="recordDamaged"),
        Case("content type", "MAN-7", "127", having(0x8001, b"x" * 127)),
        Case("content type", "MAN-7", "128", having(0x8001, b"x" * 128), seek=refused),
        Case("name", "MAN-8", "255", having(0x8002, b"x" * 255)),
        Case("name", "MAN-8", "256", having(0x8002, b"x" * 256), seek=refused),
        Case("plaintext stated", "MAN-3", "2^63 − 1, of 700", stated(2**63 - 1), seek="manifestMismatch"),
        Case("plaintext stated", "MAN-3", "2^63", stated(2**63), seek=refused),
        Case("manifest's place", "FOOT-5", "2^63", place(2**63), seek="footerDamaged"),
    ]


def packing():
    def without_index(stream, offsets):
        """One block too many before the first index item, which states it correctly."""
        item = c.Blocks(12).full
        items = item * (c.GROUP + 1)
        index = bytes([c.INDEX]) + (3 * (c.GROUP + 1)).to_bytes(3, "big") + item[1:4] * (c.GROUP + 1)
        return items + index, [len(items)]

    def too_long(stream, offsets):
        """A block that inflates to one byte more than a block may have."""
        item = c.Blocks.item(4097)
        index = bytes([c.INDEX, 0, 0, 3]) + item[1:4]
        return item + index, [len(item)]

    malformed = "packingMalformed"
    return [
        Case("index item's body", "PACK-10", "196,608", of(lambda: packed(c.GROUP, 12))),
        Case("index item's body", "PACK-10", "196,611", of(lambda: packed(c.GROUP, 12, without_index,
             (c.GROUP + 1) << 12)), seek=malformed),
        Case("blocks", "PACK-14", "2^32, stated", lambda path: c.write_groups(path, 1 << 32), verbs=("inspect",)),
        Case("blocks", "PACK-14", "2^32 + 1, stated", lambda path: c.write_groups(path, (1 << 32) + 1),
             verbs=("inspect",), seek=malformed),
        Case("inflated block", "PACK-19", "2^12", of(lambda: packed(1, 12))),
        Case("inflated block", "PACK-19", "2^12 + 1", of(lambda: packed(1, 12, too_long)), seek=malformed,
             inspect=OPENS),
        Case("inflated block", "PACK-19", "2^23, of 8 KiB each", of(lambda: packed(32, 23)), chunk=1 << 23,
             seconds=10),
    ]


def arguments():
    def context(length):
        return {"more": ["--context", "x" * length]}

    def bound(length):
        return of(lambda: box(context=b"x" * length))

    def passphrase(length):
        def make(path):
            with open(path + ".passphrase", "wb") as file:
                file.write(b"x" * length + b"\n")
            os.chmod(path + ".passphrase", 0o600)
            return c.write(path, with_slots(lambda b: [b.passphrase(b"x" * length), b.symmetric()], capacity=1024))
        return make

    def key_file(length):
        def make(path):
            write_key(path + ".key", KEY)
            with open(path + ".key", "a", encoding="ascii") as file:
                file.write("#" * (length - os.path.getsize(path + ".key")))
            return c.write(path, box())
        return make

    given = {"keys": ["--passphrase-file", "INPUT.passphrase"]}
    own = {"keys": ["--key-file", "INPUT.key"]}
    return [
        Case("context", "KEY-16", "65,535", bound(65535), **context(65535)),
        Case("context", "KEY-16", "65,536", bound(65536), **context(65536), seek="badContext"),
        Case("passphrase", "KEY-15", "1024", passphrase(1024), **given),
        Case("passphrase", "KEY-15", "1025", passphrase(1025), **given, seek="badPassphrase"),
        Case("key file", "KEYFILE-1", "16,384", key_file(16384), **own),
        Case("key file", "KEYFILE-1", "16,385", key_file(16385), **own, seek="badKey"),
    ]


def keyrings():
    """The container opens with a keyring whose last key is its key."""

    def keyring(count, name="a", filler=""):
        def make(path):
            lines = [keyring_line(draw("keyring", str(i), 32), f"{name}{i:04}") for i in range(count - 1)]
            write_keyring(path + ".ring", lines + [keyring_line(KEY, name), *([filler] if filler else [])])
            return c.write(path, box())
        return make

    given = {"keys": [], "verbs": ("verify", "decrypt", "stream")}
    refused = {"seek": "keyringMalformed"}
    return [
        Case("keyring's keys", "KEYRING-4", "4096", keyring(4096), **given),
        Case("keyring's keys", "KEYRING-4", "4097", keyring(4097), **given, **refused),
        Case("keyring's text", "KEYRING-4", "above 2^20", keyring(1, filler="x" * (1 << 20)), **given, **refused),
        Case("key's name", "KEYRING-9", "64", keyring(1, "n" * 64), **given),
        Case("key's name", "KEYRING-9", "65", keyring(1, "n" * 65), **given, **refused),
    ]
