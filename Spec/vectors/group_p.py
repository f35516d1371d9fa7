"""Group P: detached headers."""

import copy
import hashlib

from forge import Box, draw, flip, key_id, patched, raw_slot, summed
from vector import operation, recovery, vector

HIGHEST = 2**32 - 1
MARK = raw_slot(6, bytes(16), b"")
PART = {"needs": "detached"}
PLACED = "ROT-20 ROT-21"


def make():
    readers()
    wrong_header_files()
    damaged()
    without_the_part()
    mixed_copies()
    detaching()
    detaching_again()
    attaching()
    attaching_again()
    reencryption()
    rotation()
    recoveries()
    states()
    repairs()


def box(seed, plaintext=700, **more):
    """A detached container. Its own key has no slot yet."""
    return Box(seed, plaintext, **{"capacity": 4096, **more}, slots=lambda b: [MARK])


def header_file(b, *slots, capacity=512, generation=1, **more):
    return b.copy(slots=list(slots) or [b.symmetric()], capacity=capacity, generation=generation, **more)


def placed(b, front, tail=None):
    """The container with these copies."""
    made = copy.copy(b)
    made.front, made.tail = front, front if tail is None else tail
    made.capacity, made.zeros, made.footer = len(front), None, None
    return made


def marks(b, generation=1):
    return b.copy(slots=[MARK], generation=generation)


def readers():
    for name, more in (("", {}), ("small-", {"capacity": 512}), ("packed-", {"compression": 1}),
                       ("context-", {"context": b"a context"})):
        b = box(f"P1 {name}", **more)
        file = header_file(b)
        vector("P1", f"{name}with-its-header-file", b, stream="intact", header_file=file, tests="DET-1 DET-2 DET-3",
               comment="a detached container and its header file", **PART)
        vector("P2", f"{name}without-its-header-file", b, stream="headerDetached", tests="DET-1 SLOT-22",
               comment="the slots are in a header file that the caller does not give", **PART)
    b = Box("P1 passphrase", 700, slots=lambda b: [MARK])
    file = header_file(b, b.symmetric(draw("P1", "other", 32)), b.passphrase(b"mine"))
    vector("P1", "by-a-passphrase", b, stream="intact", keys=[], passphrases=[b"mine"], header_file=file,
           tests="DET-3 SLOT-18", comment="the slots of the header file are tried like those of a copy", **PART)
    vector("P1", "beyond-the-limits", b, stream="limitExceeded", keys=[], passphrases=[b"mine"], header_file=file,
           limits={"max-memory-kib": 7}, tests="DET-3 SLOT-20 SLOT-22",
           comment="the limits are judged over the header file", **PART)
    b = box("P2 limits")
    vector("P2", "no-secret", b, stream="headerDetached", keys=[], tests="SLOT-19 SLOT-22",
           comment="no secret is given, and the name tells what is missing", **PART)
    b = Box("P1 known", b"abc", log2=16, file_key=bytes(range(32)), file_id=bytes(range(0xA0, 0xB0)),
            user_key=bytes(range(0x20, 0x40)), slots=lambda b: [MARK], members=[(5, hashlib.sha256(b"abc").digest())])
    file = header_file(b, b.symmetric(nonce=bytes(range(0xC0, 0xD8))))
    assert hashlib.sha256(b.bytes()).hexdigest() == "84980307a91b5ceca97e511552a1672e109953692cdcf4aa1bc9c17e4fd4d27a"
    vector("P1", "known-answer", b, stream="intact", header_file=file, tests="DET-1 DET-2 DET-3",
           comment="the worked example of detached headers, byte for byte", **PART)


def wrong_header_files():
    slots = Box("P3")
    vector("P3", "container-with-slots", slots, stream="notDetached", header_file=slots.front, tests="DET-3",
           comment="a header file for a container that has its own slots, and whose slots it has too", **PART)
    b = box("P4")
    good = header_file(b)
    other = box("P4 other", user_key=b.user_key)
    vector("P4", "header-of-another-container", b, stream="copiesDisagree", header_file=header_file(other),
           tests="DET-3", comment="the key opens the header file, but it is another container's", **PART)
    vector("P4", "header-of-another-chunk-size", b, stream="copiesDisagree", tests="DET-3",
           header_file=header_file(box("P4", log2=13, file_key=b.file_key, file_id=b.file_id, user_key=b.user_key)),
           comment="the same file key and file ID, another chunk size: the whole preamble is compared", **PART)
    stranger = draw("P5", "another file key", 32)
    wrong = box("P5", file_key=stranger, file_id=b.file_id, commitment_bytes=b.commitment, user_key=b.user_key)
    vector("P5", "slot-and-mac-of-another-key", b, stream="wrongKey", tests="DET-3 SLOT-14",
           header_file=header_file(wrong),
           comment="the preamble is right, and slot and MAC are of another file key: the commitment decides", **PART)
    vector("P6", "forged-mac", b, stream="headerForged", tests="DET-3", header_file=header_file(b, mac_key=bytes(32)),
           comment="a slot that opens, and a MAC that nobody with the file key made", **PART)
    vector("P6", "slot-added-without-the-file-key", b, stream="headerForged", tests="DET-3",
           header_file=summed(patched(good, 74 - 2, b"\0\2")[:168] + MARK + good[188:]),
           comment="an outsider adds a slot and computes the checksum", **PART)
    vector("P7", "older-header-file", placed(b, marks(b, 9)), stream="intact", header_file=good, tests="DET-3 DET-5",
           comment="the generations of a header file are its own: they are not compared with the body's", **PART)
    vector("P7", "another-key", b, stream="wrongKey", header_file=good, keys=[draw("P7", "key", 32)],
           tests="DET-3 SLOT-22", comment="a header file is given, so the error is not headerDetached", **PART)
    vector("P7", "the-mark-as-its-slot", b, stream="wrongKey", header_file=marks(b), tests="DET-1 DET-3",
           comment="a header file that has the mark in place of slots opens nothing", **PART)
    for name, capacity in (("larger", 8192), ("smaller", 1024)):
        vector("P9", f"{name}-capacity", b, stream="intact", header_file=header_file(b, capacity=capacity),
               tests="DET-2 DET-3", comment="the capacity of a header file is its own", **PART)
    vector("P17", "header-of-another-for-one-with-slots", slots, stream="copiesDisagree", header_file=good,
           tests="DET-3", comment="the preamble is compared before the copies are looked at", **PART)


def damaged():
    b = box("P8")
    good = header_file(b)
    for name, file, result in (
            ("empty", b"", "truncated"), ("five-bytes", good[:5], "truncated"), ("67-bytes", good[:67], "truncated"),
            ("cut", good[:-1], "truncated"), ("a-byte-more", good + b"\0", "trailingData"),
            ("the-body", b.bytes(), "trailingData"), ("two-copies", good + good, "trailingData"),
            ("a-bit", flip(good, 100), "headerDamaged"), ("capacity-513", patched(good, 64, b"\0\0\2\1"),
                                                          "headerDamaged"),
            ("text", b"this is a text\n" * 40, "notVaultfile"), ("short-text", b"text", "notVaultfile")):
        vector("P8", name, b, stream=result, header_file=file, tests="DET-2 DET-3",
               comment="the header file is judged before the body", **PART)
    vector("P8", "text-and-a-damaged-body", b, data=b.bytes()[:100], stream="notVaultfile", header_file=b"text" * 20,
           tests="DET-2 DET-3", comment="the header file is judged before the body", **PART)
    vector("P10", "front-damaged", b, data=flip(b.bytes(), 100), stream="headerDamaged", seek="frontDamaged",
           header_file=good, tests="DET-3 SEEK-17", comment="the health is that of the body's copies", **PART)
    vector("P10", "tail-damaged", b, data=flip(b.bytes(), b.t + 100), stream="tailDamaged", header_file=good,
           tests="DET-3 SEEK-17 STR-22", comment="the health is that of the body's copies", **PART)
    vector("P10", "no-copy-intact", b, data=flip(flip(b.bytes(), 100), b.t + 100), stream="headerDamaged",
           header_file=good, tests="DET-3 SEEK-7",
           comment="c and the preamble could be had from the header file, but only recover goes on", **PART)
    forged = b.copy(mac_key=bytes(32))
    vector("P11", "both-macs-of-the-body-forged", placed(b, forged), stream="headerForged", header_file=good,
           tests="DET-3", comment="the header file is right, and no copy of the body is valid", **PART)
    vector("P11", "mac-of-the-front-forged", placed(b, forged, b.tail), stream="headerForged", seek="frontDamaged",
           header_file=good, tests="DET-3 SEEK-17", comment="one valid copy is enough for a reader that has both", **PART)
    vector("P12", "version-2", b, stream="unsupportedVersion", header_file=summed(patched(good, 8, b"\0\2")),
           tests="DET-2", comment="a header file of another version", **PART)
    vector("P12", "suite-2", b, stream="unsupportedSuite", header_file=summed(patched(good, 10, b"\0\2")),
           tests="DET-2", comment="a header file of another suite", **PART)
    vector("P12", "no-slots", b, stream="headerMalformed", header_file=summed(patched(good, 72, b"\0\0")),
           tests="DET-2", comment="a header file whose form is wrong", **PART)


def without_the_part():
    """Cases for every reader: those without detached headers skip the mark as an unknown slot."""
    b = Box("P13", slots=lambda b: [MARK, b.symmetric()])
    vector("P13", "mark-beside-a-slot", b, stream="intact", tests="DET-1 SLOT-12",
           comment="the mark is the mark only if it is the only slot; here it is skipped")
    vector("P13", "mark-beside-a-slot-with-a-header-file", b, stream="notDetached", header_file=header_file(b),
           tests="DET-1 DET-3", comment="the container has a slot, so it is not detached", **PART)
    for name, slot in (("body-of-one", raw_slot(6, bytes(16), b"\0")), ("key-id", raw_slot(6, b"\1" * 16, b""))):
        b = Box(f"P13 {name}", slots=lambda b: [slot])
        vector("P13", name, b, stream="wrongKey", tests="DET-1 SLOT-12",
               comment="a slot of type 6 that is not the mark is skipped like every slot that cannot be used")
        vector("P13", f"{name}-with-a-header-file", b, stream="notDetached", header_file=header_file(b), tests="DET-1 DET-3",
               comment="the mark has one form", **PART)
    b = box("P14")
    small, large = header_file(b), header_file(b, capacity=4096)
    vector("P14", "header-file-as-a-container", b, data=small, stream="truncated", tests="DET-2 SEEK-3 STR-1",
           comment="a header file is no container: nothing follows the front")
    vector("P14", "large-header-file-as-a-container", b, data=large, stream="truncated", seek="footerDamaged",
           tests="DET-2 SEEK-4 STR-1", comment="a header file is no container: it has no footer")


def mixed_copies():
    b = box("P15")
    file, slots = header_file(b), b.copy(slots=[b.symmetric()])
    newer = "a detach that stopped before the front was written"
    c = placed(b, slots, marks(b, 2))
    vector("P15", "tail-detached-without", c, stream="rotationUnfinished", tests="DET-1 SEEK-17 STR-26",
           comment=newer + ": the front still opens")
    vector("P15", "tail-detached-with", c, stream="notDetached", seek="rotationUnfinished", header_file=file,
           tests="DET-3", comment=newer + ": a stream has only the front, which is not detached", **PART)
    c = placed(b, slots, marks(b, 3))
    vector("P15", "tail-detached-two-newer-without", c, stream="copiesConflict", tests="DET-1 SEEK-17 STR-27",
           comment="no crash leaves this")
    vector("P15", "tail-detached-two-newer-with", c, stream="notDetached", seek="copiesConflict", header_file=file,
           tests="DET-3", comment="no crash leaves this", **PART)
    newer = "an attach that stopped before the front was written"
    c = placed(b, marks(b, 1), b.copy(slots=[b.symmetric()], generation=2))
    vector("P16", "front-detached-without", c, stream="headerDetached", seek="rotationUnfinished",
           tests="DET-1 SLOT-22 SEEK-13", comment=newer + ": the tail opens, and a stream has only the front", **PART)
    vector("P16", "front-detached-with", c, stream="rotationUnfinished", header_file=file, tests="DET-3 STR-26",
           comment=newer, **PART)
    c = placed(b, marks(b, 1), b.copy(slots=[b.symmetric()], generation=49))
    vector("P16", "front-detached-48-newer-without", c, stream="headerDetached", seek="copiesConflict",
           tests="DET-1 SLOT-22 SEEK-17", comment="no crash leaves this", **PART)
    vector("P16", "front-detached-48-newer-with", c, stream="copiesConflict", header_file=file, tests="DET-3 STR-27",
           comment="no crash leaves this", **PART)
    stranger = draw("P16", "stranger", 32)
    vector("P16", "only-the-header-file-is-tried", c, stream="wrongKey", header_file=header_file(b, b.symmetric(stranger)),
           tests="DET-3", comment="the tail has a slot for the key, and the header file has none", **PART)


def attached(seed, **more):
    """A container with its own slots: the key's, a passphrase's, and one of a private type."""
    return Box(seed, 700, **{"capacity": 4096, **more}, slots=lambda b: [
        b.symmetric(), b.passphrase(b"second", dead=True), raw_slot(0x8005, bytes(16), b"private")])


def detached_after(b, generation, capacity=None):
    return placed(b, b.copy(slots=[MARK], generation=generation)).bytes()


def detaching():
    for name, capacity, written in (("", 4096, "in place"), ("small-", 512, "copy")):
        b = attached(f"P18 {name}", capacity=capacity)
        done = dict(after=detached_after(b, 2), written=written, tests=f"DET-1 DET-8 DET-5 {PLACED}")
        operation("P18", f"{name}detach", b, "detach", header_left=header_file(b, *b.slots), **done,
                  comment="all slots go to a header file of generation 1, byte for byte", **PART)
        operation("P18", f"{name}detach-over-its-own", b, "detach", **done, **PART,
                  header_file=header_file(b, *b.slots[:2], generation=6, capacity=1024),
                  header_left=header_file(b, *b.slots, generation=7),
                  comment="the header file of an earlier detach is replaced, one generation higher")
        other = header_file(box("P18 other", user_key=b.user_key))
        for what, file in (("another-containers", other), ("a-text", b"not a header file"),
                           ("a-forged", header_file(b, *b.slots, mac_key=bytes(32)))):
            operation("P18", f"{name}detach-over-{what}", b, "detach", header_file=file, result="copiesDisagree",
                      tests="DET-8", comment="a file that is not the body's is never replaced", **PART)
    b = attached("P18")
    own, gone = header_file(b, *b.slots, generation=3), b.symmetric(draw("P18", "gone", 32))
    more = header_file(b, *b.slots, gone, generation=3)
    operation("P18", "slot-that-the-body-lacks", b, "detach", header_file=more, result="consentNeeded", tests="DET-8",
              comment="the header file has a slot that would be lost", **PART)
    operation("P18", "slot-that-the-body-lacks-with-consent", b, "detach", header_file=more, consent=True,
              after=detached_after(b, 2), written="in place", tests=f"DET-8 {PLACED}",
              header_left=header_file(b, *b.slots, generation=4), comment="the caller consents to the loss", **PART)
    operation("P18", "header-file-of-the-highest-generation", b, "detach", result="generationExhausted",
              header_file=header_file(b, *b.slots, generation=HIGHEST), tests="DET-8 DET-5",
              comment="the generation of the header file cannot be raised", **PART)
    last = placed(b, b.copy(generation=HIGHEST))
    operation("P18", "body-of-the-highest-generation", last, "detach", result="generationExhausted",
              tests="DET-8 ROT-11", comment="refused before the header file is written", **PART)
    operation("P18", "with-the-wrong-key", b, "detach", keys=[draw("P18", "stranger", 32)], result="wrongKey",
              tests="DET-8 ROT-3", comment="only a holder can detach", **PART)
    conflict = placed(b, b.copy(generation=3), b.copy(generation=5))
    operation("P18", "conflict", conflict, "detach", result="copiesConflict", tests="DET-8 ROT-4",
              comment="two valid copies, and no crash explains them", **PART)
    operation("P18", "conflict-with-a-named-copy", conflict, "detach", keep="front", after=detached_after(b, 6),
              written="in place", header_left=header_file(b, *b.slots), tests="DET-8 ROT-6 ROT-22",
              comment="the slots are those of the named copy", **PART)
    wide = Box("P18 wide", 700, capacity=4096, slots=lambda b: [b.symmetric(), raw_slot(0x8005, bytes(16), bytes(300))])
    operation("P18", "header-file-of-1024", wide, "detach", after=detached_after(wide, 2), written="in place",
              header_left=header_file(wide, *wide.slots, capacity=1024), tests=f"DET-8 {PLACED}",
              comment="the least capacity that holds the slots and one more as long as the longest", **PART)


def detaching_again():
    b = attached("P19")
    own, final = header_file(b, *b.slots), detached_after(b, 2)
    tests = f"DET-8 {PLACED}"
    operation("P19", "header-file-written", b, "detach", header_file=own, after=final, written="in place", tests=tests,
              header_left=header_file(b, *b.slots, generation=2),
              comment="stopped behind the header file: the body still opens by itself", **PART)
    c = placed(b, b.copy(), marks(b, 2))
    operation("P19", "tail-written", c, "detach", header_file=own, after=final, written="in place",
              tests="DET-8 ROT-9", comment="stopped behind the tail: the copies are made equal", **PART)
    operation("P19", "tail-written-and-no-header-file", c, "detach", result="rotationUnfinished", tests="DET-8 ROT-5",
              comment="the newer copy is detached, and without the header file nothing shows that its slots are stored",
              **PART)
    operation("P19", "front-torn", placed(b, flip(b.copy(), 100), marks(b, 2)), "detach", header_file=own, after=final,
              written="in place", tests="DET-8 ROT-9", comment="stopped while the front was written", **PART)
    done = placed(b, marks(b, 2))
    operation("P19", "done", done, "detach", header_file=own, after=b"", written="nothing", tests="DET-8",
              comment="detached already: the header file stays as it is", **PART)
    operation("P19", "done-and-no-header-file", done, "detach", result="headerDetached", tests="DET-8 SLOT-22",
              comment="detached already, and the header file is not there", **PART)
    small = attached("P19 small", capacity=512)
    file = header_file(small, *small.slots)
    operation("P19", "small-tail-newer", placed(small, small.copy(), marks(small, 2)), "detach", header_file=file,
              after=detached_after(small, 2), written="copy", tests="DET-8 ROT-9 ROT-28",
              comment="a small container is never written in place", **PART)


def attaching():
    b = attached("P20")
    body = placed(b, marks(b, 5))
    file = header_file(b, *b.slots, generation=3)
    after = placed(b, b.copy(generation=6)).bytes()
    operation("P20", "attach", body, "attach", header_file=file, header_left=b"", after=after, written="in place",
              tests=f"DET-9 ROT-11 {PLACED}", comment="the slots of the header file, one generation above the body's",
              **PART)
    operation("P20", "attach-with-the-wrong-key", body, "attach", header_file=file, result="wrongKey",
              keys=[draw("P20", "stranger", 32)], tests="DET-9", comment="only a holder can attach", **PART)
    other = header_file(box("P20 other", user_key=b.user_key))
    operation("P20", "attach-another-containers", body, "attach", header_file=other, result="copiesDisagree",
              tests="DET-3 DET-9", comment="the header file of another container", **PART)
    operation("P20", "attach-a-forged", body, "attach", header_file=header_file(b, mac_key=bytes(32)),
              result="headerForged", tests="DET-3 DET-9", comment="a header file with another MAC", **PART)
    operation("P20", "attach-a-damaged", body, "attach", header_file=flip(file, 99), result="headerDamaged",
              tests="DET-2 DET-9", comment="a damaged header file", **PART)
    operation("P20", "body-of-the-highest-generation", placed(b, marks(b, HIGHEST)), "attach", header_file=file,
              result="generationExhausted", tests="DET-9 ROT-11", comment="the body's generation cannot be raised",
              **PART)
    small = attached("P20 small", capacity=512)
    operation("P20", "attach-small", placed(small, marks(small)), "attach", header_left=b"", written="copy",
              header_file=header_file(small, *small.slots), after=placed(small, small.copy(generation=2)).bytes(),
              tests="DET-9 ROT-28", comment="a small container is copied", **PART)
    wide = attached("P20 wide", capacity=512)
    slots = [*wide.slots, raw_slot(0x8006, bytes(16), bytes(300))]
    operation("P20", "attach-and-grow", placed(wide, marks(wide)), "attach", header_left=b"", written="copy",
              header_file=header_file(wide, *slots, capacity=1024), tests="DET-9 ROT-25 ROT-26",
              after=placed(wide, wide.copy(slots=slots, generation=2, capacity=1024)).bytes(),
              comment="the slots need more than the body's capacity: the container grows", **PART)


def attaching_again():
    b = attached("P20 again")
    file = header_file(b, *b.slots, generation=3)
    slots = b.copy(generation=6)
    after = placed(b, slots).bytes()
    common = dict(header_left=b"", **PART)
    operation("P20", "tail-written", placed(b, marks(b, 5), slots), "attach", header_file=file, after=after,
              written="in place", tests="DET-9 ROT-9 ROT-17", comment="stopped behind the tail", **common)
    operation("P20", "front-torn", placed(b, flip(slots, 100), slots), "attach", header_file=file, after=after,
              written="in place", tests="DET-9 ROT-9", comment="stopped while the front was written", **common)
    operation("P21", "body-written", placed(b, slots), "attach", header_file=file, after=b"", written="nothing",
              tests="DET-9", comment="stopped before the header file was removed", **common)
    changed = [*b.slots[1:], b.symmetric(draw("P20", "new", 32)), b.symmetric()]
    operation("P20", "tail-written-and-header-file-rotated", placed(b, marks(b, 5), slots), "attach",
              header_file=header_file(b, *changed, generation=4), written="in place",
              after=placed(b, b.copy(slots=changed, generation=7)).bytes(), tests=f"DET-9 ROT-9 {PLACED}",
              comment="the header file was rotated after the attach stopped: its slots are written", **common)
    operation("P20", "after-a-detach-that-stopped", placed(b, b.copy(generation=1), marks(b, 2)), "attach",
              header_file=header_file(b, *b.slots), written="in place",
              after=placed(b, b.copy(generation=3)).bytes(), tests=f"DET-9 ROT-9 {PLACED}",
              comment="the tail is detached and the front is not: the slots of the header file are written", **common)
    more = header_file(b, *b.slots, b.symmetric(draw("P21", "more", 32)))
    for name, wrong in (("slot-that-the-body-lacks", more),
                        ("forged", header_file(b, *b.slots, mac_key=bytes(32))), ("text", b"text"),
                        ("another-containers", header_file(box("P21 other", user_key=b.user_key)))):
        operation("P21", name, placed(b, slots), "attach", header_file=wrong, result="notDetached", tests="DET-9",
                  comment="the body has its own slots, and nothing shows that the file can go", **PART)


def reencryption():
    b = box("P22", capacity=512)
    new_key = draw("P22", "new key", 32)
    old = header_file(b, b.symmetric(), b.symmetric(new_key))
    fresh = box("P22 fresh", b.plaintext, capacity=512, user_key=b.user_key)
    slots = [fresh.symmetric(), fresh.symmetric(new_key)]
    file = header_file(fresh, *slots)
    sealing = dict(add=[(b.user_key,), (new_key,)], new=[fresh.file_key, fresh.file_id, *slots])
    operation("P22", "reencrypt", b, "reencrypt", **sealing, header_file=old, after=fresh.bytes(), written="copy",
              header_left=file, tests="DET-13 REENC-3 REENC-5",
              comment="the new container is detached too; the mark is no slot that needs consent", **PART)
    operation("P22", "reencrypt-without-its-header-file", b, "reencrypt", **sealing, result="headerDetached",
              tests="DET-13 REENC-2", comment="the slots are in a header file that is not given", **PART)
    own = fresh.symmetric()
    operation("P22", "slot-without-a-successor", b, "reencrypt", add=[(b.user_key,)], header_file=old,
              new=[fresh.file_key, fresh.file_id, own], result="consentNeeded", tests="DET-13 REENC-5",
              comment="the header file counts as a valid copy: one of its slots would be lost", **PART)
    operation("P22", "slot-without-a-successor-that-is-named", b, "reencrypt", add=[(b.user_key,)], header_file=old,
              new=[fresh.file_key, fresh.file_id, own], remove=[f"id {key_id(new_key).hex()}"], written="copy",
              after=fresh.bytes(), header_left=header_file(fresh, own), tests="DET-13 REENC-6",
              comment="the caller names it", **PART)
    c = placed(b, b.copy(slots=[b.symmetric()]), marks(b, 2))
    operation("P22", "of-a-stopped-detach", c, "reencrypt", **sealing, header_file=old, after=fresh.bytes(),
              written="copy", header_left=file, tests="DET-13", comment="the current copy is detached", **PART)
    c = placed(b, marks(b, 1), b.copy(slots=[b.symmetric()], generation=2))
    attached_again = placed(fresh, fresh.copy(slots=slots)).bytes()
    operation("P22", "of-a-stopped-attach", c, "reencrypt", **sealing, header_file=old, after=attached_again,
              written="copy", header_left=b"", tests="DET-13", comment="the current copy has slots, so the new container "
              "has them too, and the header file goes", **PART)
    vector("P22", "stopped-behind-the-header-file", b, stream="copiesDisagree", header_file=file, tests="DET-3 DET-13",
           comment="the old body with the new header file, which has another name", **PART)
    vector("P22", "stopped-behind-the-body", fresh, stream="copiesDisagree", header_file=old, tests="DET-3 DET-13",
           comment="the new body with the old header file, which is left and has another name", **PART)


def rotation():
    b = box("P23")
    new = draw("P23", "new key", 32)
    own, added = b.symmetric(), b.symmetric(new)
    file = header_file(b, generation=4)
    adding = dict(add=[(new,)], new=[added])
    of_file = dict(tests="DET-10", **PART)
    operation("P23", "add-a-key", b, "rotate-header", data=file, **adding, written="copy",
              after=header_file(b, own, added, generation=5), comment="the body is not read", **of_file)
    operation("P23", "replace-the-key", b, "rotate-header", data=file, **adding, written="copy", remove=["others"],
              after=header_file(b, added, generation=5), comment="all slots but the new one go", **of_file)
    operation("P23", "add-what-is-there", b, "rotate-header", data=file, add=[(b.user_key,)], written="nothing",
              after=b"", comment="nothing is to be written", **of_file)
    operation("P23", "last-slot", b, "rotate-header", data=file, remove=["others"], result="lastSlot",
              comment="nobody could open the container again", **of_file)
    both = header_file(b, own, added)
    operation("P23", "no-way-in", b, "rotate-header", data=both, remove=[f"id {key_id(b.user_key).hex()}"],
              result="consentNeeded", comment="the caller's own slot goes", **of_file)
    full = header_file(b, own, raw_slot(0x8005, bytes(16), bytes(200)))
    operation("P23", "grow", b, "rotate-header", data=full, **adding, written="copy",
              after=header_file(b, own, raw_slot(0x8005, bytes(16), bytes(200)), added, capacity=1024, generation=2),
              comment="the capacity grows, whatever the body's is", **of_file)
    wide = header_file(b, own, added, capacity=4096)
    operation("P23", "never-smaller", b, "rotate-header", data=wide, remove=[f"id {key_id(new).hex()}"], written="copy",
              after=header_file(b, own, capacity=4096, generation=2), comment="the capacity stays", **of_file)
    operation("P23", "highest-generation", b, "rotate-header", data=header_file(b, generation=HIGHEST), **adding,
              result="generationExhausted", comment="the generation cannot be raised", **of_file)
    for name, data, result in (("forged", header_file(b, mac_key=bytes(32)), "headerForged"),
                               ("cut", file[:-1], "truncated"), ("a-bit", flip(file, 99), "headerDamaged"),
                               ("the-body", b.bytes(), "trailingData"), ("the-mark", marks(b), "wrongKey")):
        operation("P23", name, b, "rotate-header", data=data, **adding, result=result,
                  comment="it is opened like the header file of a reader", **of_file)
    operation("P23", "wrong-key", b, "rotate-header", data=file, keys=[new], **adding, result="wrongKey",
              comment="the key to be added opens nothing", **of_file)
    operation("P23", "the-body-itself", b, "rotate", **adding, result="headerDetached", tests="DET-10 SLOT-22",
              comment="no slot is put beside the mark", **PART)
    stopped = placed(b, b.copy(slots=[own]), marks(b, 2))
    operation("P23", "the-body-itself-where-the-mark-is-named", stopped, "rotate", keep="tail", consent=True, **adding,
              result="headerDetached", tests="DET-10 ROT-6", comment="no slot is put beside the mark", **PART)
    operation("P23", "the-body-itself-after-a-stopped-detach", stopped, "rotate", header_file=header_file(b), **adding,
              result="rotationUnfinished", tests="DET-10", comment="the slots of the front would stay", **PART)


def recoveries():
    length = 2 * 4096 + 700
    common = dict(case="P24", **PART)
    for name, capacity in (("", 512), ("large-", 4096)):
        b = box(f"P24 {name}", length, capacity=capacity)
        good, other = b.bytes(), header_file(b, capacity=2048)
        neither = patched(patched(good, 0, bytes(capacity)), b.t, bytes(capacity))
        recovery(f"{name}whole", b, header_file=other, tests="DET-6 RECOV-3",
                 comment="c is that of the copies, not that of the header file", **common)
        recovery(f"{name}no-copies", b, data=neither, header_file=other, tests="DET-6 RECOV-7",
                 comment="c comes from the footer", **common)
        recovery(f"{name}no-copies-and-no-footer", b, data=neither[:-32] + bytes(32), header_file=other,
                 tests="DET-6 RECOV-8", comment="the least power of two at which record 0 decrypts", **common)
        recovery(f"{name}no-copies-no-footer-and-no-head", b, data=patched(neither[:-32], capacity, bytes(4)),
                 header_file=other, tests="DET-6 RECOV-10", comment="record 0 has lost its own 4 bytes", **common)
    same = header_file(b, capacity=4096)
    lost = patched(neither[:-32], 4096, bytes(4116)) + bytes(32)
    recovery("record-0-lost", b, data=lost, header_file=same, lost=[(0, 4096)], tests="DET-6 RECOV-12",
             comment="no record 0 shows c, so it is that of the header file", **common)
    recovery("record-0-lost-and-another-capacity", b, data=lost, header_file=other, length=0, complete=False,
             tests="DET-6 RECOV-11", comment="c is taken from the header file, and is wrong", **common)
    empty = box("P24 empty", 0, capacity=1024)
    recovery("empty", empty, data=patched(empty.bytes()[:-32], 0, bytes(1024))[:empty.t], header_file=header_file(empty),
             tests="DET-6 RECOV-8", comment="record 0 is the manifest", **common)
    recovery("without-its-header-file", b, result="headerDetached", tests="DET-6 RECOV-5 SLOT-22",
             comment="the slots are in a header file that is not given", **common)
    recovery("another-containers", b, result="wrongKey", header_file=header_file(box("P24 other")),
             tests="DET-6 RECOV-5", comment="the key opens nothing in it", **common)
    opens = box("P24 opens", user_key=b.user_key)
    recovery("another-containers-that-opens", b, header_file=header_file(opens), length=0, complete=False,
             tests="DET-6 RECOV-11", comment="only the header file counts, and no record decrypts under its key", **common)
    mixed = placed(b, b.front, b.copy(slots=[b.symmetric()], generation=2))
    recovery("another-containers-beside-slots", mixed, header_file=header_file(opens), result="copiesDisagree",
             tests="DET-6 RECOV-6", comment="the tail counts too, and is of another container", **common)
    recovery("another-containers-and-a-named-copy", mixed, header_file=header_file(opens), header=b.t,
             tests="DET-6 RECOV-6", comment="the caller names the tail: the header file is ignored", **common)
    recovery("forged", b, header_file=header_file(b, mac_key=bytes(32)), result="headerForged", tests="DET-6 RECOV-5",
             comment="a slot opens, and the MAC is wrong", **common)
    recovery("damaged-header-file", b, header_file=flip(same, 99), result="headerDamaged", tests="DET-2 DET-6",
             comment="the header file is judged first", **common)
    recovery("damaged-header-file-and-a-named-copy", mixed, header_file=flip(same, 99), header=b.t, tests="DET-6",
             comment="the caller names the tail: the header file is not judged", **common)
    decoy = patched(neither, 0, summed(patched(b.copy(capacity=512, mac_key=bytes(32)), 0, b.preamble)))
    recovery("decoy-of-another-capacity", b, data=decoy, header_file=same, tests="DET-6",
             comment="a detached copy with the preamble and another capacity, whose MAC is wrong, gives no c", **common)


def states():
    b = box("P25")
    body = placed(b, marks(b, 9))
    file = header_file(b, generation=3)
    forgotten = header_file(b, b.symmetric(draw("P25", "removed", 32)), b.symmetric(), generation=3)

    def state(data, *, mac=True, generation=None):
        wanted = int.from_bytes(data[68:72], "big") if generation is None else generation
        return f"{b.commitment.hex()} {wanted} {data[-64:-32].hex() if mac else '-'}"

    common = dict(tests="ARG-6 DET-5", **PART)
    vector("P25", "the-state", body, stream="intact", header_file=file, expect_header=state(file),
           comment="the header file is of generation 3 and the body of 9", **common)
    vector("P25", "least-generation", body, stream="intact", header_file=file, expect_header=state(file, mac=False),
           comment="only a least generation is required", **common)
    for name, given in (("older", header_file(b, generation=2)), ("another-of-the-generation", forgotten)):
        vector("P25", name, body, stream="unexpectedState", header_file=given, expect_header=state(file),
               comment="a header file that the body once had was put back", **common)
    vector("P25", "state-of-both", body, stream="intact", header_file=file, expect_header=state(file),
           expect=state(body.front), comment="the header file and the body have states of their own", **common)
    vector("P25", "older-body", placed(b, marks(b, 8)), stream="unexpectedState", header_file=file,
           expect_header=state(file), expect=state(body.front), comment="the copies of the body are older", **common)
    vector("P25", "older-front", placed(b, marks(b, 8), marks(b, 9)), stream="unexpectedState", seek="frontDamaged",
           header_file=file, expect=state(body.front), comment="the front does not meet the state of the body", **common)
    vector("P25", "slots-put-back", placed(b, b.copy(slots=[b.symmetric()], generation=8)), stream="unexpectedState",
           expect=state(body.front), comment="a header from before the detaching was put back into the body", **common)
    operation("P25", "rotate-an-older", b, "rotate-header", data=header_file(b, generation=2), expect_header=state(file),
              add=[(draw("P25", "new", 32),)], new=[b.symmetric(draw("P25", "new", 32))], result="unexpectedState",
              tests="ARG-6 DET-10 DET-5", comment="the state is that of the header file", **PART)
    recovery("recover-an-older", body, case="P25", header_file=header_file(b, generation=2), expect_header=state(file),
             result="unexpectedState", tests="ARG-6 DET-6 DET-5", comment="the header file does not count", **PART)


def repairs():
    b = box("P26")
    file = header_file(b)
    body = placed(b, marks(b, 5))
    good = body.bytes()
    common = dict(after=good, written="in place", header_file=file, **PART)
    operation("P26", "tail", body, "repair", data=flip(good, body.t + 99), tests="DET-12 ROT-9", **common,
              comment="the front is put in the place of the tail")
    operation("P26", "front", body, "repair", data=flip(good, 99), tests="DET-12 ROT-9", **common,
              comment="the tail is put in the place of the front")
    operation("P26", "footer", body, "repair", data=flip(good, -3), tests="DET-12 REP-4 REP-6", **common,
              comment="the front is read as a stream, with the header file")
    operation("P26", "good", body, "repair", header_file=file, after=b"", written="nothing", tests="DET-12 REP-2",
              comment="nothing to repair", **PART)
    operation("P26", "without-its-header-file", body, "repair", data=flip(good, 99), result="headerDetached",
              tests="DET-12 SLOT-22", comment="the slots are in a header file that is not given", **PART)
    stopped = placed(b, b.copy(slots=[b.symmetric()], generation=4), marks(b, 5))
    operation("P26", "stopped-detach", stopped, "repair", tests="DET-12 ROT-5 ROT-9", **common,
              comment="the newer copy is detached, and the header file opens it")
    operation("P26", "stopped-detach-without-its-header-file", stopped, "repair", result="rotationUnfinished",
              tests="DET-12 ROT-5", comment="nothing shows that the slots of the newer copy are stored", **PART)
    kept = placed(b, b.copy(slots=[b.symmetric()], generation=6)).bytes()
    operation("P26", "stopped-detach-and-the-front-is-named", stopped, "repair", keep="front", after=kept,
              written="in place", tests="DET-12 REP-3 ROT-6", comment="the slots of the front are kept", **PART)
    attached_tail = b.copy(slots=[b.symmetric()], generation=6)
    operation("P26", "stopped-attach", placed(b, marks(b, 5), attached_tail), "repair", header_file=file,
              after=placed(b, attached_tail).bytes(), written="in place", tests="DET-12 ROT-9",
              comment="the newer copy has slots", **PART)
