"""Group K: containers at the edges of what is accepted. All of them open."""

import hashlib

from forge import Box, Squeezed, draw, flip, key_id, raw_slot, u16, u32
from vector import vector

B = 4096
LAYOUT = "LAY-2 LAY-3 LAY-4 LAY-5 LAY-7"
KEYS = "KEY-1 KEY-2 KEY-3 KEY-4 KEY-5 KEY-6 KEY-7 KEY-8 KEY-9 KEY-11"
TABLES = "LAY-1 HDR-1 HDR-8 FOOT-1 SLOT-1 SLOT-2 REC-1 MAN-1"
READING = "STR-9 STR-10 STR-11 STR-12 SEEK-26 SEEK-27 WHOLE-1 WHOLE-2"


def make():
    known_answer()
    lengths_and_chunks()
    capacities()
    zeros()
    manifests()
    generation()
    passphrases()
    slots()
    contexts()
    descriptions()
    packed()
    several_secrets()


def accepted(case, name, box, *, tests, comment, stream="intact", **more):
    vector(case, name, box, stream=stream, tests=tests, comment=comment, **more)


def known_answer():
    b = Box("K1", b"abc", log2=16, file_key=bytes(range(32)), file_id=bytes(range(0xA0, 0xB0)),
            user_key=bytes(range(0x20, 0x40)), slots=lambda b: [b.symmetric(nonce=bytes(range(0xC0, 0xD8)))],
            members=[(5, hashlib.sha256(b"abc").digest())])
    assert hashlib.sha256(b.bytes()).hexdigest() == "0249f8694400dab92793b7c15442402e630a416ee5d82b2723315e31b7ffe436"
    accepted("K1", "known-answer", b, comment="the worked example of the specification, byte for byte",
             tests=f"{LAYOUT} {KEYS} {TABLES} HDR-15 HDR-16 REC-7 STR-21 STR-28 STR-30 SEEK-17 SEEK-24")
    new = bytes(range(0x40, 0x60))
    b.tail = b.copy(slots=[*b.slots, b.symmetric(new, nonce=bytes(range(0xE0, 0xF8)))], generation=2)
    assert hashlib.sha256(b.bytes()).hexdigest() == "64ff600cd2952ada4746d208c5610d71ec730890329928d8fef66a8102a1005a"
    why = "the worked example with a newer tail, of an unfinished change, byte for byte"
    vector("K1", "two-copies-by-the-first-key", b, stream="rotationUnfinished", tests="STR-26 SEEK-13 SEEK-17", comment=why)
    vector("K1", "two-copies-by-the-second-key", b, keys=[new], stream="wrongKey", seek="rotationUnfinished",
           tests="STR-7 SEEK-13 SEEK-17", comment=why + "; the second key has no slot in the front")


def lengths_and_chunks():
    for n in (0, 1, B - 1, B, B + 1, 2 * B):
        accepted("K2", f"length-{n}", Box(f"K2 {n}", n), tests=f"{LAYOUT} {READING} REC-3 REC-4",
                 comment=f"a plaintext of {n} bytes in chunks of {B}")
    for log2 in (12, 16, 23):
        b = Box(f"K3 {log2}", Squeezed((1 << log2) + 1), log2=log2)
        accepted("K3", f"chunk-2-to-{log2}", b, tests=f"{LAYOUT} {READING} HDR-5 REC-3",
                 comment=f"chunks of 2^{log2} bytes, one more byte than one (chosen so that the ciphertext is zeros)")


def capacities():
    for power in range(9, 21):
        b = Box(f"K4 {power}", 1, capacity=1 << power)
        accepted("K4", f"capacity-2-to-{power}", b, tests=f"{LAYOUT} HDR-9",
                 comment=f"header copies of 2^{power} bytes, one byte of input")


def zeros():
    for c, n in ((512, 472), (512, 473), (4096, 3544), (4096, 3545)):
        b = Box(f"K5 {c} {n}", n, capacity=c)
        have = len(b.padding())
        assert have in (0, c - 1)
        accepted("K5", f"capacity-{c}-zeros-{have}", b, tests=f"{LAYOUT} LAY-6 STR-19 SEEK-20",
                 comment=f"{have} zeros between manifest and tail: the {'least' if have == 0 else 'most'} there can be")


def manifests():
    for left in (0, 1, 5, 6, 7):
        b = Box(f"K6 {left}", members=[(0x8010, draw(f"K6 {left}", "value", 454 - left))])
        assert len(b.manifest_text) == 512
        accepted("K6", f"manifest-of-512-with-{left}-zeros", b, tests="MAN-11 MAN-12 MAN-13",
                 comment=f"members that leave {left} bytes of 512: the end needs no tag of 0 where fewer than 6 "
                         "are left")
    b = Box("K6 empty last", members=[(0x8010, draw("K6 empty last", "value", 448)), (0x8011, b"")])
    accepted("K6", "empty-member-in-the-last-6-bytes", b, tests="MAN-11 MAN-14 MAN-17",
             comment="a member of length 0 whose head ends with the manifest")
    b = Box("K6 more", members=[(0x8010, draw("K6 more", "value", 455))])
    assert len(b.manifest_text) == 1024
    accepted("K6", "manifest-of-1024-with-511-zeros", b, tests="MAN-13",
             comment="members of 513 bytes and the most zeros there can be")


def generation():
    b = Box("K7", generation=2**32 - 1)
    accepted("K7", "highest-generation", b, tests="HDR-10",
             comment="generation 2^32 - 1: it opens, and cannot be rotated")


def passphrases():
    def at_the_limits(b):
        return [b.passphrase(b"0", 64, 8)] + [b.passphrase(b"%d" % i, 1, memory, dead=True) for i, memory in (
            (1, 2**21), (2, 2**21 - 520), (3, 8))] + [b.symmetric()]
    b = Box("K8", slots=at_the_limits, capacity=1024)
    why = "four passphrase slots, 64 passes, 2 GiB, and the sum exactly at the cap"
    accepted("K8", "passphrase-slots-at-the-caps-by-passphrase", b, keys=[], passphrases=[b"0"],
             tests="SLOT-8 SLOT-10 SLOT-11", comment=why + "; the first one opens")
    accepted("K8", "passphrase-slots-at-the-caps-by-key", b, tests="SLOT-8 SLOT-10 SLOT-11", comment=why)
    b = Box("K8 real", slots=lambda b: [b.passphrase(b"%d" % i, *cost) for i, cost in enumerate(
        [(1, 8), (3, 1024), (2, 4096), (64, 64)])], capacity=1024)
    for i in range(4):
        accepted("K8", f"four-passphrases-by-number-{i + 1}", b, keys=[], passphrases=[b"%d" % i],
                 tests="KEY-12 KEY-10 SLOT-13 SLOT-3",
                 comment="four passphrase slots of different cost")
    for name, secret in (("of-one-byte", b"x"), ("of-1024-bytes", draw("K8", "long", 1024)),
                         ("with-zero-bytes", b"\0a\0"), ("not-utf-8", b"\xff\xfe")):
        b = Box(f"K8 {name}", slots=lambda b: [b.passphrase(secret)])
        accepted("K8", f"passphrase-{name}", b, keys=[], passphrases=[secret], tests="KEY-15 ARG-2",
                 comment="a passphrase is bytes, 1 to 1,024 of them, taken as they are")


def slots():
    def unknown(b, kind, n):
        return raw_slot(kind, draw(b.seed, f"ID {kind}", 16), draw(b.seed, f"body {kind}", n))

    orders = [("first", lambda b: [unknown(b, 0x1234, 50), b.symmetric(), b.passphrase(b"one")]),
              ("between", lambda b: [b.symmetric(draw(b.seed, "other", 32)), unknown(b, 0x1234, 50), b.symmetric()]),
              ("last", lambda b: [b.symmetric(), b.passphrase(b"one"), unknown(b, 0x1234, 50)]),
              ("with-an-empty-body", lambda b: [unknown(b, 0x1234, 0), b.symmetric(), unknown(b, 0x7FFF, 0)]),
              ("private", lambda b: [unknown(b, 0x8000, 72), unknown(b, 0xFFFF, 84), b.symmetric()]),
              ("with-the-callers-id", lambda b: [raw_slot(0x1234, key_id(b.user_key), b"x" * 72), b.symmetric()])]
    for name, make_slots in orders:
        b = Box(f"K9 {name}", slots=make_slots)
        accepted("K9", f"unknown-type-{name}", b, tests="SLOT-12",
                 comment="slots of unknown types are skipped by length")
    b = Box("K9 full", slots=lambda b: [b.symmetric(), unknown(b, 0x1234, 512 - 64 - 76 - 92 - 20)])
    accepted("K9", "slots-fill-the-copy", b, tests="HDR-13", comment="slots up to the MAC, no zero between")
    b = Box("K9 empty last", slots=lambda b: [b.symmetric(), unknown(b, 0x1234, 512 - 64 - 76 - 92 - 40),
                                             unknown(b, 0x1235, 0)])
    accepted("K9", "empty-body-up-to-the-mac", b, tests="HDR-13 SLOT-12",
             comment="the head of a slot without a body ends where the MAC begins")
    b = Box("K9 many", slots=lambda b: [raw_slot(0x1234, bytes(16), b"")] * 1023 + [b.symmetric()], capacity=32768)
    accepted("K9", "1024-slots", b, tests="HDR-11", comment="as many slots as a copy may have, the caller's last")
    b = Box("K9 dead", 5000)
    b.tail = b.copy(slots=[flip(b.slots[0], -1)], generation=2)
    accepted("K9", "dead-slot-in-the-newer-tail", b, stream="rotationUnfinished",
             tests="SLOT-16 SLOT-18 SEEK-13 SEEK-17 STR-26",
             comment="the caller's slot in the newer tail does not open, that in the front does")


def contexts():
    for n in (1, 65535):
        b = Box(f"K10 {n}", context=draw("K10", "context", n))
        accepted("K10", f"context-of-{n}", b, tests=f"{KEYS} KEY-16 ARG-3",
                 comment="the shortest and the longest context")


def descriptions():
    time = (1_700_000_000).to_bytes(8, "big") + u32(123_456_789)
    b = Box("K11 all")
    digest = hashlib.sha256(b.plaintext).digest()
    b = Box("K11 all", members=[(5, digest), (0x8001, b"text/plain; charset=utf-8"), (0x8002, "Bücher.txt".encode()),
                                (0x8003, time), (0x8004, u16(0o640)), (0x9000, b"unknown")])
    accepted("K11", "every-member", b, tests="MAN-6 MAN-7 MAN-8 MAN-9 MAN-10 MAN-17",
             comment="every member that version 1 knows, and an unknown one")
    b = Box("K11 long", members=[(0x8001, bytes(range(0x20, 0x7F)) + b"~" * 32), (0x8002, b"n" * 255)])
    assert len(b.members[2][1]) == 127
    accepted("K11", "longest-name-and-type", b, tests="MAN-7 MAN-8",
             comment="a name of 255 bytes, a content type of 127")
    b = Box("K11 short", members=[(0x8001, b" "), (0x8002, b"n"), (0x8003, bytes(12)), (0x8004, u16(0))])
    accepted("K11", "shortest-values", b, tests="MAN-7 MAN-8 MAN-9 MAN-10",
             comment="the shortest values, time and mode zero")
    b = Box("K11 mode", members=[(0x8004, u16(0o777))])
    accepted("K11", "mode-777", b, tests="MAN-10", comment="the highest mode")


def packed():
    for name, n in (("empty-input", 0), ("one-byte", 1), ("one-full-block", B), ("two-blocks", B + 300)):
        b = Box(f"K12 {name}", n, compression=1)
        accepted("K12", f"packed-{name}", b, tests="PACK-1 PACK-2 PACK-3 PACK-6 MAN-4 MAN-5 STR-16 SEEK-28 WHOLE-3",
                 comment="compression 1, input that does not shrink: stored blocks and one index item, or "
                         "nothing at all")


def several_secrets():
    b = Box("K13", slots=lambda b: [b.symmetric(), b.passphrase(b"one")])
    others = [draw("K13", f"other {i}", 32) for i in range(5)]
    accepted("K13", "many-keys-one-fits", b, keys=others + [b.user_key], passphrases=[b"none"], tests="SLOT-16",
             comment="a caller with many keys: the slot's ID says which")
    accepted("K13", "many-passphrases-one-fits", b, keys=others, passphrases=[b"none", b"neither", b"one"],
             tests="SLOT-17 SLOT-18",
             comment="a caller with several passphrases: each slot is tried with each")
