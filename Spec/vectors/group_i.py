"""Group I: rotation, repair and re-encryption, as far as they are functions of bytes."""

import copy
import hashlib

from forge import Box, Squeezed, draw, flip, key_id, patched, raw_slot, summed
from vector import operation

HIGHEST = 2**32 - 1
CAP = 2**21  # KiB: the most memory of a slot; with two passes the most stretching of a copy
COST = (2, 19 << 10)  # the least that a writer may choose (WRITE-8)
PLACED = "ROT-20 ROT-21"
COPIED = "ROT-26 ROT-28"


def make():
    highest_generation()
    last_slot()
    growth()
    slots_kept()
    wrong_secrets()
    unfinished()
    conflicts()
    passphrases()
    small_containers()
    reencryption()
    reencryption_with_removals()
    dead_slots()
    order_of_slots()
    repairs()
    repairs_refused()


def box(seed, *others, capacity=4096, plaintext=700, **more):
    """A container with a slot for the box's key, then the slots that `others` make."""
    return Box(seed, plaintext, capacity=capacity, slots=lambda b: [b.symmetric(), *(make(b) for make in others)],
               **more)


def unknown(kind, body, slot_id=bytes(16)):
    return lambda b: raw_slot(kind, slot_id, body)


def changed(b, slots, generation, capacity=None):
    """The container with these slots in both copies and everything else unchanged."""
    after = copy.copy(b)
    after.capacity = capacity or b.capacity
    after.zeros = after.footer = None
    return after.both_copies(slots=slots, generation=generation).bytes()


def other_key(b, name="other"):
    return draw(b.seed, f"{name} key", 32)


def two_states(seed, front, tail, *, capacity=4096):
    """A container whose copies hold other slots, `old`, `new` or `both`, in these generations; and the new key."""
    b = box(seed, capacity=capacity)
    new = other_key(b, "new")
    slots = {"old": [b.symmetric()], "new": [b.symmetric(new)], "both": [b.symmetric(), b.symmetric(new)]}
    b.front = b.copy(slots=slots[front[0]], generation=front[1])
    b.tail = b.copy(slots=slots[tail[0]], generation=tail[1])
    return b, new, slots


def highest_generation():
    b = box("I4", generation=HIGHEST)
    new = other_key(b)
    operation("I4", "add-a-key", b, "rotate", add=[(new,)], new=[b.symmetric(new)], result="generationExhausted",
              tests="ROT-11", comment="the generation cannot be raised: nothing is written, and it never wraps")
    operation("I4", "add-what-is-there", b, "rotate", add=[(b.user_key,)], after=b"", written="nothing",
              tests="ROT-11 ROT-12 ROT-17", comment="the highest generation, but nothing is to be written")
    operation("I4", "keep-the-front", b, "repair", keep="front", result="generationExhausted", tests="ROT-11 REP-3",
              comment="a copy is named, so one above the highest generation would have to be written")
    operation("I4", "and-the-last-slot", b, "rotate", remove=["others"], result="generationExhausted",
              tests="ROT-11 ROT-14 ROT-10", comment="two reasons to refuse: the first step gives the name")
    b = box("I4 one below", generation=HIGHEST - 1)
    operation("I4", "one-below", b, "rotate", add=[(new,)], new=[b.symmetric(new)],
              after=changed(b, [b.symmetric(), b.symmetric(new)], HIGHEST), written="in place",
              tests=f"ROT-11 {PLACED}",
              comment="the last rotation that there can be")
    b, new, slots = two_states("I4 unfinished", ("old", HIGHEST - 1), ("both", HIGHEST))
    operation("I4", "unfinished-rotate", b, "rotate", add=[(other_key(b),)], new=[b.symmetric(other_key(b))],
              result="generationExhausted", tests="ROT-8 ROT-11",
              comment="refused before the copies are made equal: what step 4 refuses is refused before anything is "
                      "written")
    operation("I4", "unfinished-repair", b, "repair", after=changed(b, slots["both"], HIGHEST), written="in place",
              tests="ROT-9 REP-2", comment="repair needs no new generation")


def last_slot():
    b = box("I5")
    own = f"id {key_id(b.user_key).hex()}"
    operation("I5", "by-its-id", b, "rotate", remove=[own], result="lastSlot", tests="ROT-14",
              comment="the only slot: nobody could ever open the container again")
    operation("I5", "all-others", b, "rotate", remove=["others"], result="lastSlot", tests="ROT-14 ROT-13",
              comment="all slots but those of the keys to be added, and none is added")
    operation("I5", "with-consent", b, "rotate", remove=[own], consent=True, result="lastSlot", tests="ROT-14",
              comment="consent does not help against having no slot")
    new = other_key(b)
    operation("I5", "replaced", b, "rotate", add=[(new,)], new=[b.symmetric(new)], remove=[own],
              after=changed(b, [b.symmetric(new)], 2), written="in place", tests=f"ROT-12 ROT-14 ROT-13 {PLACED}",
              comment="the only slot goes, another comes")
    b = box("I5 locked", lambda b: b.symmetric(other_key(b)))
    own = f"id {key_id(b.user_key).hex()}"
    what = "the caller's own slot is removed, and he has no key for the other one"
    operation("I5", "own-slot", b, "rotate", remove=[own], result="consentNeeded", tests="ROT-15", comment=what)
    operation("I5", "own-slot-with-consent", b, "rotate", remove=[own], consent=True,
              after=changed(b, [b.symmetric(other_key(b))], 2), written="in place", tests=f"ROT-15 {PLACED}",
              comment=what + ", which he agrees to")


def growth():
    wide = [unknown(9, bytes(3700)), lambda b: b.symmetric(draw(b.seed, "second key", 32))]
    b = box("I6", *wide)
    assert 76 + sum(map(len, b.slots)) + 64 == 4096 - 52
    new = other_key(b)
    operation("I6", "4096-to-8192", b, "rotate", add=[(new,)], new=[b.symmetric(new)], written="copy",
              after=changed(b, [*b.slots, b.symmetric(new)], 2, 8192), tests="ROT-16 ROT-25 ROT-26",
              comment="the slots do not fit by 40 bytes: the smallest capacity that holds them with one more as long "
                      "as the longest")
    b = box("I6 twice", *wide[:1], unknown(10, bytes(100)))
    assert 76 + sum(map(len, b.slots)) + 64 == 4096 - 24
    b.front = b.copy(generation=7)
    operation("I6", "tail-older-by-a-rollback", b, "rotate", keep="tail", add=[(new,)], new=[b.symmetric(new)],
              written="copy", after=changed(b, [*b.slots, b.symmetric(new)], 8, 8192),
              tests="ROT-6 ROT-11 ROT-25 ROT-26",
              comment="growth out of a conflict: the generation is above both")
    more = [draw("I6", f"key {i}", 32) for i in range(3)]
    for count, capacity, comment in ((2, 8192, "76 + 3 slots of 92 + 3864 twice + 64 is 48 less than 8192"),
                                     (3, 16384, "76 + 4 slots of 92 + 3864 twice + 64 is more than 8192")):
        b = box(f"I6 {count}", unknown(9, bytes(3844)))
        assert 76 + sum(map(len, b.slots)) + 64 == 4096
        made = [b.symmetric(key) for key in more[:count]]
        operation("I6", f"4096-to-{capacity}-by-{count}", b, "rotate", add=[(key,) for key in more[:count]], new=made,
                  written="copy", after=changed(b, [*b.slots, *made], 2, capacity), tests="ROT-25 ROT-26",
                  comment=comment)
    full = [unknown(9, bytes(65535))] * 15 + [unknown(9, bytes(2**20 - 140 - 15 * 65555 - 92 - 20))]
    b = box("I6 full", *full, capacity=2**20, plaintext=1)
    operation("I6", "largest-and-full", b, "rotate", add=[(new,)], new=[b.symmetric(new)], result="doesNotFit",
              tests="ROT-25", comment="the largest capacity, and not a byte free")
    own = f"id {key_id(b.user_key).hex()}"
    operation("I6", "full-and-locked", b, "rotate", remove=[own], after=changed(b, b.slots[1:], 2), consent=True,
              written="in place", tests=f"ROT-15 {PLACED}",
              comment="from a full header a slot can always be removed; here the only one that anybody could open")
    b = box("I6 many", *[unknown(9, b"")] * 1023, capacity=2**15)
    operation("I6", "1024-slots", b, "rotate", add=[(new,)], new=[b.symmetric(new)], result="doesNotFit",
              tests="ROT-25", comment="1024 slots are the most, however much room there is")


def slots_kept():
    odd = [unknown(3, b""), unknown(4, bytes(range(200))), unknown(0x7FFF, b"x"), unknown(0x8000, b"\xff" * 31),
           unknown(3, b"", bytes(16)), lambda b: b.passphrase(b"nobody", dead=True)]
    b = box("I8", *odd)
    new = other_key(b)
    operation("I8", "unknown-slots-kept", b, "rotate", add=[(new,)], new=[b.symmetric(new)], written="in place",
              after=changed(b, [*b.slots, b.symmetric(new)], 2), tests=f"SLOT-12 ROT-12 {PLACED}",
              comment="slots of unknown and private types, of any content, and one that nothing opens stay as they are")
    operation("I8", "all-others-removed", b, "rotate", add=[(new,)], new=[b.symmetric(new)], remove=["others"],
              written="in place", after=changed(b, [b.symmetric(new)], 2), tests=f"ROT-12 ROT-13 {PLACED}",
              comment="they go like any other where all others are to go")
    own = key_id(b.user_key)
    b = box("I8 one ID", lambda b: raw_slot(5, key_id(b.user_key), b"1"), lambda b: b.symmetric(other_key(b)),
            lambda b: raw_slot(5, key_id(b.user_key), b"2"))
    own = f"id {key_id(b.user_key).hex()}"
    operation("I8", "one-id-in-several-types", b, "rotate", remove=[own], keys=[b.user_key, other_key(b)],
              written="in place", after=changed(b, [b.symmetric(other_key(b))], 2), tests=f"ROT-13 {PLACED}",
              comment="every slot with the ID goes, of whatever type")


def wrong_secrets():
    b = box("I9", context=b"right")
    for what, add in (("rotate", [(other_key(b),)]), ("repair", []), ("reencrypt", [(b.user_key,)])):
        operation("I9", f"{what}-with-the-wrong-context", b, what, add=add, context=b"wrong", result="wrongKey",
                  tests="REENC-2" if what == "reencrypt" else "ROT-3",
                  comment="another context: nothing opens, nothing is written")
    new = other_key(b)
    operation("I9", "with-the-right-context", b, "rotate", add=[(new,)], new=[b.symmetric(new)], written="in place",
              after=changed(b, [b.symmetric(), b.symmetric(new)], 2), tests=f"ROT-3 {PLACED}",
              comment="the context goes into the new copy's MAC")
    operation("I9", "by-the-key-to-be-added", b, "rotate", keys=[], add=[(b.user_key,)], written="nothing", after=b"",
              tests="ROT-3 ROT-12 ROT-17", comment="a secret to be added opens, too; it is there already")


def unfinished():
    b, new, slots = two_states("I10", ("old", 3), ("new", 4))
    third = other_key(b, "third")
    why = "the tail is newer and the caller's key opens nothing in it: repair would put the new key's only slot " \
          "in the place of his, while nothing shows that the new key was ever stored"
    operation("I10", "repair-by-the-older-key", b, "repair", result="rotationUnfinished", tests="ROT-5 REP-2",
              comment=why)
    operation("I10", "rotate-by-the-older-key", b, "rotate", add=[(third,)], new=[b.symmetric(third)],
              result="rotationUnfinished", tests="ROT-5", comment=why)
    operation("I10", "repair-by-the-newer-key", b, "repair", keys=[new], after=changed(b, slots["new"], 4),
              written="in place", tests="ROT-5 ROT-9 REP-2", comment="the newer copy is put over the older one")
    operation("I10", "rotate-by-the-newer-key", b, "rotate", keys=[new], add=[(third,)], new=[b.symmetric(third)],
              after=changed(b, [*slots["new"], b.symmetric(third)], 5), written="in place",
              tests=f"ROT-5 ROT-9 ROT-11 {PLACED}", comment="the copies are made equal, then changed")
    operation("I10", "rotate-again", b, "rotate", add=[(new,)], remove=[f"id {key_id(b.user_key).hex()}"],
              after=changed(b, slots["new"], 4), written="in place", tests="ROT-9 ROT-17",
              comment="the interrupted change, asked for once more by the older key: only the end of it is missing")
    operation("I10", "keep-the-older", b, "repair", keep="front", after=changed(b, slots["old"], 5),
              written="in place", tests="ROT-6 ROT-11 ROT-22 REP-3",
              comment="the caller names the older copy: it becomes newer than the one that is given up")
    operation("I10", "keep-the-newer-by-the-older-key", b, "repair", keep="tail", result="consentNeeded", tests="ROT-6",
              comment="the caller names a copy that he cannot open")
    operation("I10", "keep-the-newer-with-consent", b, "repair", keep="tail", consent=True,
              after=changed(b, slots["new"], 5), written="in place", tests="ROT-6 REP-3",
              comment="the caller names a copy that he cannot open, and says that he knows")


def conflicts():
    b, new, slots = two_states("I11", ("both", 3), ("old", 5))
    third = other_key(b, "third")
    operation("I11", "repair-without-a-name", b, "repair", result="copiesConflict", tests="ROT-4 REP-2",
              comment="the tail is two newer: no crash leaves this, so nobody but the caller can choose")
    operation("I11", "rotate-without-a-name", b, "rotate", add=[(third,)], new=[b.symmetric(third)],
              result="copiesConflict", tests="ROT-4", comment="the same for a rotation")
    kept = changed(b, slots["both"], 6)
    operation("I11", "keep-the-lower", b, "repair", keep="front", after=kept, written="in place",
              tests="ROT-6 ROT-11 ROT-22 REP-3", comment="the lower copy is kept: one above the higher one's generation")
    operation("I11", "keep-the-lower-and-rotate", b, "rotate", keep="front", add=[(third,)], new=[b.symmetric(third)],
              after=changed(b, [*slots["both"], b.symmetric(third)], 6), written="in place",
              tests="ROT-6 ROT-11 ROT-22", comment="kept and changed in one")
    operation("I11", "keep-what-is-equal", changed_box(b, slots["both"], 6), "rotate", keep="tail",
              after=changed(b, slots["both"], 7), written="in place", tests="ROT-6 ROT-17",
              comment="a copy is named where nothing forces it, and nothing is changed: all steps are done all the same")
    again = changed_box(b, slots["both"], 6)
    again.tail = b.tail
    operation("I11", "discarded-copy-pasted-back", again, "repair", result="copiesConflict", tests="ROT-4 ROT-11",
              comment="the copy that was given up, pasted back as the tail: older than what was kept")
    b, new, slots = two_states("I11 damaged", ("old", 3), ("old", 3))
    b.tail = flip(b.tail, 100)
    operation("I11", "keep-a-damaged-copy", b, "repair", keep="tail", result="headerDamaged", tests="ROT-6",
              comment="the copy named is not valid")
    b.tail = summed(flip(flip(b.tail, 100), 71))
    operation("I11", "keep-a-forged-copy", b, "repair", keep="tail", result="headerDamaged", tests="ROT-6",
              comment="the copy named is intact, but its MAC is wrong")
    b, new, slots = two_states("I11 equal", ("new", 3), ("old", 3))
    operation("I11", "equal-generations-by-both-keys", b, "repair", keys=[b.user_key, new], result="copiesConflict",
              tests="ROT-4",
              comment="two copies of one generation; the caller opens both, and must name one all the same")


def changed_box(b, slots, generation):
    after = copy.copy(b)
    return after.both_copies(slots=slots, generation=generation)


def passphrases():
    names = (b"first", b"second", b"third", b"fourth")
    b = box("I12", *[(lambda b, name=name: b.passphrase(name)) for name in names])
    new = b.passphrase(b"fifth", *COST)
    operation("I12", "one-of-four-changed", b, "rotate", add=[(b"fifth", *COST)],
              remove=[f"passphrase {b'third'.hex()}"],
              new=[new], written="in place", after=changed(b, [*b.slots[:3], b.slots[4], new], 2),
              tests=f"ROT-12 ROT-13 {PLACED}", comment="a slot is removed by its passphrase, and another comes")
    operation("I12", "by-another-passphrase", b, "rotate", keys=[], passphrases=[b"fourth"], add=[(b"fifth", *COST)],
              remove=[f"passphrase {b'fourth'.hex()}"], new=[new], written="in place",
              after=changed(b, [*b.slots[:4], new], 2), tests=f"ROT-12 ROT-13 {PLACED}",
              comment="the one that opens is the one that goes: the new one is a secret at hand, too")
    operation("I12", "fifth", b, "rotate", add=[(b"fifth", *COST)], new=[b.passphrase(b"fifth", *COST)],
              result="doesNotFit",
              tests="ROT-25 SLOT-8", comment="four passphrase slots are the most, however much room there is")
    operation("I12", "present", b, "rotate", add=[(b"second", *COST)], written="nothing", after=b"",
              tests="ROT-12 ROT-17", comment="a passphrase that opens a slot is there, at whatever cost")
    operation("I12", "nobodys-removed", b, "rotate", remove=[f"passphrase {b'fifth'.hex()}"], written="nothing",
              after=b"", tests="ROT-12 ROT-17", comment="a passphrase that opens no slot is not there")
    b = box("I12 at the cap", lambda b: b.passphrase(b"costly", 2, CAP, dead=True))
    costly = f"id {b.slots[1][4:20].hex()}"
    new = b.passphrase(b"new", *COST)
    operation("I12", "beyond-the-sum", b, "rotate", add=[(b"new", 64, CAP)], remove=[costly], result="doesNotFit",
              tests="ROT-25 SLOT-11", comment="the new slot's own cost is above the sum that a copy may ask for: nothing "
                                             "is stretched")
    operation("I12", "at-the-cap-changed", b, "rotate", add=[(b"new", *COST)], remove=[costly], new=[new],
              written="in place", after=changed(b, [b.slots[0], new], 2), tests=f"ROT-13 SLOT-11 {PLACED}",
              comment="the only passphrase slot has all the stretching that a copy may ask for, and is changed; it is "
                      "removed by its ID, so nothing has to be stretched to find it")
    limits = {"max-memory-kib": 1 << 16}
    operation("I12", "present-beyond-the-limits", b, "rotate", add=[(b"new", *COST)], limits=limits,
              result="limitExceeded", tests="ROT-13",
              comment="whether the passphrase is there already hangs on a slot beyond the caller's limits")
    operation("I12", "removed-beyond-the-limits", b, "rotate", remove=[f"passphrase {b'new'.hex()}"], limits=limits,
              result="limitExceeded", tests="ROT-13",
              comment="whether the slot is the one to be removed hangs on the caller's limits: to leave it in silently "
                      "would be a removal that removed nothing")
    b = box("I12 others", lambda b: b.passphrase(b"old"), lambda b: b.symmetric(other_key(b)))
    limits = {"max-memory-kib": 7}
    operation("I12", "others-beyond-the-limits", b, "rotate", add=[(b.user_key,), (b"new", *COST)], remove=["others"],
              limits=limits, result="limitExceeded", tests="ROT-13",
              comment="whether the slot is one of the others hangs on a passphrase that may not be tried on it")
    operation("I12", "others-beyond-the-limits-by-keys", b, "rotate", add=[(b.user_key,)], remove=["others"],
              limits=limits, after=changed(b, b.slots[:1], 2), written="in place", tests=f"ROT-13 {PLACED}",
              comment="no passphrase is to be added, so nothing has to be tried on the slot that is left out")
    old = f"id {b.slots[1][4:20].hex()}"
    new = b.passphrase(b"new", *COST)
    operation("I12", "others-and-its-id-beyond-the-limits", b, "rotate", add=[(b.user_key,), (b"new", *COST)],
              remove=["others", old, f"passphrase {b'old'.hex()}"], limits=limits, new=[new],
              after=changed(b, [b.slots[0], new], 2), written="in place", tests=f"ROT-13 {PLACED}",
              comment="its ID removes the slot that is left out, so no passphrase has to be tried on it")
    operation("I12", "given-twice-beyond-the-limits", b, "rotate", add=[(b"new", *COST), (b"new", *COST)], remove=[old],
              limits=limits, new=[new], after=changed(b, [b.slots[0], b.slots[2], new], 2), written="in place",
              tests=f"ROT-13 {PLACED}",
              comment="the slot that is left out is gone, and the secret that is given twice has its new slot")
    b = box("I12 order", lambda b: b.passphrase(b"first"), lambda b: b.passphrase(b"second"))
    b.front = b.copy(slots=[b.slots[0], b.slots[2]], generation=1)
    b.tail = b.copy(slots=b.slots, generation=2)
    operation("I12", "removed-within-the-limits-of-the-older-copy", b, "rotate", limits={"max-passphrase-slots": 1},
              remove=[f"passphrase {b'second'.hex()}"], written="in place", after=changed(b, b.slots[:2], 3),
              tests=f"SLOT-20 ROT-9 ROT-13 {PLACED}",
              comment="in the current copy it is the second passphrase slot, beyond the caller's limit of one; in the "
                      "older copy it is the first, and that counts for both")
    b = box("I12 cost", lambda b: b.passphrase(b"cheap"))
    again = b.passphrase(b"cheap", *COST, label="again")
    operation("I12", "cost-raised", b, "rotate", add=[(b"cheap", *COST)], remove=[f"passphrase {b'cheap'.hex()}"],
              new=[again], written="in place", after=changed(b, [b.slots[0], again], 2), tests=f"ROT-13 {PLACED}",
              comment="one passphrase removed and added: its slot is made anew, with another cost")


def small_containers():
    b = box("I13", capacity=512)
    new = other_key(b)
    operation("I13", "rotate", b, "rotate", add=[(new,)], new=[b.symmetric(new)], written="copy",
              after=changed(b, [b.symmetric(), b.symmetric(new)], 2), tests=COPIED,
              comment="copies, payload and footer share blocks of the disk: never written in place")
    operation("I13", "nothing-to-change", b, "rotate", add=[(b.user_key,)], written="nothing", after=b"",
              tests="ROT-17 ROT-28", comment="nothing to do: not even a copy is made")
    operation("I13", "repair-of-a-good-one", b, "repair", written="nothing", after=b"", tests="ROT-28 REP-2",
              comment="nothing to do")
    good = b.bytes()
    tail = len(good) - 32 - 512
    for name, data in (("front", bytes(512) + good[512:]), ("tail", flip(good, tail + 80))):
        operation("I13", f"repair-the-{name}", b, "repair", data=data, written="copy", after=good, tests="ROT-28 REP-2",
                  comment=f"a damaged {name}: a copy with the other one, unchanged, in both places")
        operation("I13", f"{name}-damaged-and-nothing-to-change", b, "rotate", data=data, add=[(b.user_key,)],
                  written="copy", after=good, tests="ROT-17 ROT-28",
                  comment="a rotation that has nothing to change leaves both copies whole, as it does in place")
    operation("I13", "front-damaged-and-rotated", b, "rotate", data=bytes(512) + good[512:], add=[(new,)],
              new=[b.symmetric(new)], written="copy", after=changed(b, [b.symmetric(), b.symmetric(new)], 2),
              tests=COPIED, comment="a damaged front and a change at once")
    operation("I13", "named", b, "repair", keep="front", written="copy", after=changed(b, [b.symmetric()], 2),
              tests="ROT-6 ROT-28 REP-3", comment="a copy is named: it gets a new generation, by copying")
    third = [other_key(b, str(i)) for i in range(4)]
    operation("I13", "grown", b, "rotate", add=[(key,) for key in third], new=[b.symmetric(key) for key in third],
              written="copy", after=changed(b, [b.symmetric(), *map(b.symmetric, third)], 2, 1024),
              tests=f"ROT-16 ROT-25 {COPIED}",
              comment="76 + 5 slots of 92 + 64 is more than 512: to 1024, not to 4096, which is for new containers only")
    b, new, slots = two_states("I13 unfinished", ("old", 3), ("new", 4), capacity=512)
    operation("I13", "unfinished-by-the-older-key", b, "repair", result="rotationUnfinished", tests="ROT-5 ROT-28",
              comment="a rotation of a small container is never unfinished, but copies may come from anywhere")
    operation("I13", "unfinished-by-the-newer-key", b, "repair", keys=[new], written="copy",
              after=changed(b, slots["new"], 4), tests="ROT-28", comment="the newer copy in both places")
    b = Box("I13 packed", 300, capacity=2048, compression=1)
    operation("I13", "packed", b, "rotate", add=[(new,)], new=[b.symmetric(new)], written="copy",
              after=changed(b, [b.symmetric(), b.symmetric(new)], 2), tests=COPIED,
              comment="a packed container: the records are copied as they are")


def reencryption():
    members = [(5, hashlib.sha256(draw("I14", "plaintext", 5000)).digest()), (0x8000, b"as it is"),
               (0x8001, b"text/plain"),
               (0x8002, "näme".encode()), (0x8003, bytes(12)), (0x8004, b"\1\xa4"), (0x8010, b""), (0xFFFF, b"last")]
    b = box("I14", lambda b: b.symmetric(other_key(b, "retired")), capacity=4096, plaintext=5000, members=members,
            context=b"bound")
    retired = other_key(b, "retired")
    fresh = Box("I14 new", b.plaintext, capacity=512, context=b"bound", members=members, user_key=b.user_key)
    made = [fresh.file_key, fresh.file_id]
    why = "somebody who had the file key has put the slot of a retired key back: it gets no successor"
    own = dict(add=[(b.user_key,)], new=[*made, *fresh.slots])
    operation("I14", "planted-slot", b, "reencrypt", **own, result="consentNeeded", tests="REENC-4 REENC-5",
              comment=why)
    operation("I14", "planted-slot-with-consent", b, "reencrypt", **own, consent=True, after=fresh.bytes(),
              written="copy", tests="REENC-2 REENC-3 REENC-4 REENC-5 REENC-8 WRITE-7",
              comment=why + ". The members from 0x8000 on and the digest are carried over; the capacity is the default")
    operation("I14", "planted-slot-and-its-key-at-hand", b, "reencrypt", **own, keys=[b.user_key, retired],
              result="consentNeeded", tests="REENC-4 REENC-5",
              comment="a key that opens is not a key that the new container is for")
    both = Box("I14 both", b.plaintext, capacity=512, context=b"bound", members=members, user_key=b.user_key,
               slots=lambda new: [new.symmetric(retired), new.symmetric(b.user_key)])
    operation("I14", "both-named", b, "reencrypt", add=[(retired,), (b.user_key,), (retired,)], after=both.bytes(),
              new=[both.file_key, both.file_id, *both.slots], written="copy", tests="REENC-4 REENC-5 WRITE-5",
              comment="both keys are named, one of them twice: two slots, in the order named, and nothing is lost")
    operation("I14", "nobody-named", b, "reencrypt", consent=True, result="lastSlot", tests="REENC-4 WRITE-5",
              comment="no key for the new container")
    five = dict(add=[(b"%d" % number, *COST) for number in range(5)])
    operation("I14", "nobody-named-without-consent", b, "reencrypt", result="consentNeeded", tests="REENC-4 REENC-5",
              comment="no key for the new container, and slots would be lost: consent comes first")
    operation("I14", "five-passphrases-without-consent", b, "reencrypt", **five, result="consentNeeded", tests="REENC-5",
              comment="more passphrases than a header holds, and slots would be lost: consent comes first")
    damaged = copy.copy(b)
    damaged.records = [b.records[0], flip(b.records[1], 30)]
    why = ", and a damaged record: what can be refused before the first record is read is refused before it"
    operation("I14", "record-damaged-without-consent", damaged, "reencrypt", **own, result="consentNeeded",
              tests="REENC-5", comment="slots would be lost" + why)
    operation("I14", "record-damaged-and-nobody-named", damaged, "reencrypt", consent=True, result="lastSlot",
              tests="REENC-5 WRITE-5", comment="no key for the new container" + why)
    operation("I14", "record-damaged-and-five-passphrases", damaged, "reencrypt", **five, consent=True,
              result="doesNotFit", tests="REENC-5 WRITE-5", comment="more passphrases than a header holds" + why)
    operation("I14", "record-damaged", damaged, "reencrypt", **own, consent=True, result="recordDamaged",
              tests="REENC-2 REENC-3", comment="every check of the old container comes before the new one is its name's")
    damaged = Box("I14 digest", 700, capacity=512, members=[(5, bytes(32))])
    operation("I14", "digest-wrong", damaged, "reencrypt", add=[(damaged.user_key,)],
              new=[*made, damaged.symmetric()], result="contentMismatch", tests="REENC-2 REENC-3",
              comment="what only a whole reader sees is seen, too")

    b, new, slots = two_states("I14 unfinished", ("old", 3), ("new", 4))
    fresh = Box("I14 unfinished new", b.plaintext, capacity=512, user_key=b.user_key)
    own = dict(add=[(b.user_key,)], new=[fresh.file_key, fresh.file_id, *fresh.slots])
    operation("I14", "slot-of-the-tail-alone", b, "reencrypt", **own, result="consentNeeded", tests="REENC-5",
              comment="the slot that would be lost stands in one valid copy only")
    operation("I14", "slot-of-the-tail-alone-with-consent", b, "reencrypt", **own, consent=True, after=fresh.bytes(),
              written="copy", tests="REENC-3 REENC-5", comment="copies that differ do not stop re-encryption")
    older, new, _ = two_states("I14 older", ("both", 3), ("new", 4))
    fresh_of_older = Box("I14 older new", older.plaintext, capacity=512, user_key=new)
    own_of_older = dict(keys=[new], add=[(new,)],
                        new=[fresh_of_older.file_key, fresh_of_older.file_id, *fresh_of_older.slots])
    operation("I14", "slot-of-the-older-copy-alone", older, "reencrypt", **own_of_older, result="consentNeeded",
              tests="REENC-5", comment="the slot that would be lost stands in the older valid copy only")
    operation("I14", "slot-of-the-older-copy-named", older, "reencrypt", **own_of_older,
              remove=[f"id {key_id(older.user_key).hex()}"], after=fresh_of_older.bytes(), written="copy",
              tests="REENC-5 REENC-6", comment="the slot of the older valid copy is named")
    b.tail = flip(b.tail, 90)
    operation("I14", "slot-of-a-damaged-tail", b, "reencrypt", **own, after=fresh.bytes(), written="copy",
              tests="REENC-5", comment="a slot that stands in no valid copy is none")

    b = box("I14 passphrase", lambda b: b.passphrase(b"stays"), capacity=512)
    fresh = Box("I14 passphrase new", b.plaintext, capacity=512, slots=lambda new: [
        new.symmetric(b.user_key), new.passphrase(b"stays", *COST)])
    operation("I14", "passphrase-named", b, "reencrypt", add=[(b.user_key,), (b"stays", *COST)], after=fresh.bytes(),
              new=[fresh.file_key, fresh.file_id, *fresh.slots], written="copy", tests="REENC-4 REENC-5",
              comment="a passphrase slot has a successor if one of the passphrases named opens it")
    operation("I14", "passphrase-named-twice", b, "reencrypt",
              add=[(b.user_key,), (b"stays", *COST), (b"stays", 3, COST[1]), (b.user_key,)], after=fresh.bytes(),
              new=[fresh.file_key, fresh.file_id, *fresh.slots], written="copy", tests="REENC-4 WRITE-5",
              comment="a secret that is given twice makes one slot, in the place and at the cost that are given first")
    crowd = Box("I14 crowd", b.plaintext, capacity=1024, slots=lambda new: [
        new.symmetric(b.user_key), new.passphrase(b"stays", *COST),
        *(new.passphrase(b"%d" % number, *COST) for number in range(3))])
    operation("I14", "four-passphrases-and-one-twice", b, "reencrypt", after=crowd.bytes(), written="copy",
              add=[(b.user_key,), (b"stays", *COST), *((b"%d" % number, *COST) for number in range(3)), (b"1", *COST)],
              new=[crowd.file_key, crowd.file_id, *crowd.slots], tests="WRITE-5 SLOT-8",
              comment="five passphrases are named, and four slots are made: the header may have them")
    operation("I14", "another-passphrase-named", b, "reencrypt", add=[(b.user_key,), (b"other", *COST)],
              new=[fresh.file_key, fresh.file_id, fresh.slots[0], fresh.passphrase(b"other", *COST)],
              result="consentNeeded", tests="REENC-5", comment="nobody can tell that it is the same person's")
    b = box("I14 unknown", unknown(9, b"what"), capacity=512)
    fresh = Box("I14 unknown new", b.plaintext, capacity=512, user_key=b.user_key)
    operation("I14", "unknown-slot", b, "reencrypt", add=[(b.user_key,)], result="consentNeeded",
              new=[fresh.file_key, fresh.file_id, *fresh.slots], tests="REENC-5",
              comment="a slot of an unknown type cannot be taken over, and is lost only with consent")
    b = box("I14 large", capacity=512, plaintext=Squeezed(1 << 16), log2=16)
    fresh = Box("I14 large new", b.plaintext, capacity=4096, log2=16, user_key=b.user_key)
    operation("I14", "64-kib", b, "reencrypt", add=[(b.user_key,)], after=fresh.bytes(), written="copy",
              new=[fresh.file_key, fresh.file_id, *fresh.slots], tests="REENC-8 WRITE-7",
              comment="64 KiB and more get the larger default capacity; the chunk size stays")


def reencryption_with_removals():
    """I22: what the caller names for removal."""
    b = box("I22", lambda b: b.symmetric(other_key(b)), lambda b: b.passphrase(b"gone"), unknown(9, b"what", b"9" * 16),
            capacity=1024)
    own, other = (f"id {key_id(key).hex()}" for key in (b.user_key, other_key(b)))
    phrase, strange = f"passphrase {b'gone'.hex()}", f"id {(b'9' * 16).hex()}"

    def new(*keys, passphrase=None):
        fresh = Box("I22 new", b.plaintext, capacity=512, slots=lambda new: [
            *(new.symmetric(key) for key in keys or (b.user_key,)),
            *([new.passphrase(passphrase, *COST)] if passphrase else [])])
        add = [(key,) for key in keys or (b.user_key,)] + ([(passphrase, *COST)] if passphrase else [])
        return dict(add=add, new=[fresh.file_key, fresh.file_id, *fresh.slots]), fresh.bytes()

    def done(name, remove, made, **more):
        operation("I22", name, b, "reencrypt", remove=remove, after=made[1], written="copy", **made[0], **more)

    def refused(name, remove, made, result="consentNeeded", **more):
        operation("I22", name, b, "reencrypt", remove=remove, result=result, **made[0], **more)

    done("all-named", [other, phrase, strange], new(), tests="REENC-4 REENC-5 REENC-6",
         comment="each slot that is lost is named, by its ID or by the passphrase that opens it: that is consent")
    refused("one-not-named", [other, phrase], new(), tests="REENC-5 REENC-6",
            comment="one slot that is lost is not named: nobody has agreed to its loss")
    done("one-not-named-with-consent", [other, phrase], new(), consent=True, tests="REENC-5 REENC-6",
         comment="the caller consents to everything, beside what they name")
    done("others", ["others"], new(), tests="REENC-5 REENC-6",
         comment="all slots are named that open with none of the secrets for the new container")
    done("others-and-removed-and-added", ["others", own], new(b.user_key, other_key(b)), tests="REENC-4 REENC-6",
         comment="a key that is removed and added gets a new slot, as in rotation; its old slot has a successor")
    done("removed-and-added", [own, other, phrase, strange], new(), tests="REENC-4 REENC-6",
         comment="removal comes first: the key named for the new container has its slot there")
    done("others-beside-a-passphrase", ["others"], new(passphrase=b"gone"), tests="REENC-5 REENC-6",
         comment="the passphrase opens the old slot, which has a successor and is not one of the others")
    refused("wrong-passphrase", [other, strange, f"passphrase {b'never'.hex()}"], new(), tests="REENC-6",
            comment="a passphrase that opens no slot names none")
    refused("id-of-nothing", [other, phrase, f"id {bytes(16).hex()}"], new(), tests="REENC-6",
            comment="an ID that no slot has names none")
    third = other_key(b, "third")
    done("by-the-passphrase-that-is-removed", [own, other, phrase, strange], new(third), keys=[],
         tests="REENC-2 REENC-6",
         comment="what names a slot is at hand, and opens the old container")
    operation("I22", "nobody-named", b, "reencrypt", remove=["others"], result="lastSlot", tests="REENC-4 REENC-6",
              comment="all slots are named, and the new container would have none")

    limits = {"max-memory-kib": 7}
    refused("removed-beyond-the-limits", [other, phrase, strange], new(), "limitExceeded", limits=limits,
            tests="REENC-6 SLOT-20",
            comment="whether the passphrase names the slot hangs on a slot that is left out")
    refused("beyond-the-limits-and-one-not-named", [phrase, strange], new(), "limitExceeded", limits=limits,
            tests="REENC-5 REENC-6", comment="one slot that is lost is not named, and whether another is hangs on the "
            "limits: they come before consent")
    refused("removed-beyond-the-limits-with-consent", [other, phrase, strange], new(), "limitExceeded", limits=limits,
            consent=True, tests="REENC-5 REENC-6", comment="consent comes after the question what is named")
    refused("others-beyond-the-limits", ["others"], new(passphrase=b"gone"), "limitExceeded", limits=limits,
            tests="REENC-6",
            comment="whether the slot is one of the others hangs on a passphrase that may not be tried on it")
    done("others-beyond-the-limits-by-keys", ["others"], new(), limits=limits, tests="REENC-6",
         comment="no passphrase is for the new container, so nothing has to be tried on the slot that is left out")
    gone = f"id {b.slots[2][4:20].hex()}"
    done("id-beyond-the-limits", [other, gone, strange, phrase], new(), limits=limits, tests="REENC-6",
         comment="its ID names the slot, so the passphrase need not be tried on it")


def dead_slots():
    dead = lambda b: flip(b.symmetric(other_key(b, "carol")), -20)  # noqa: E731
    b = box("I15", dead, lambda b: b.symmetric(other_key(b)))
    carol = other_key(b, "carol")
    made = b.symmetric(carol, label="again")
    operation("I15", "of-the-key-to-be-added", b, "rotate", add=[(carol,)], new=[made], written="in place",
              after=changed(b, [b.slots[0], made, b.slots[2]], 2), tests=f"ROT-12 {PLACED}",
              comment="a holder has put a dead slot under Carol's ID: it would keep her out for ever if it counted")
    operation("I15", "of-a-key-at-hand", b, "rotate", keys=[b.user_key, carol], add=[(other_key(b),)], new=[made],
              written="in place", after=changed(b, [b.slots[0], made, b.slots[2]], 2), tests=f"ROT-12 {PLACED}",
              comment="replaced wherever the key is at hand, also where nothing is added")
    operation("I15", "of-nobody-here", b, "rotate", add=[(other_key(b),)], written="nothing", after=b"",
              tests="ROT-12 ROT-17", comment="without her key nobody can tell that it is dead")
    operation("I15", "among-all-others", b, "rotate", add=[(other_key(b),), (carol,)], remove=["others"], new=[made],
              written="in place", after=changed(b, [b.slots[2], made], 2), tests=f"ROT-12 ROT-13 {PLACED}",
              comment="all slots go that the keys to be added do not open, the dead one too: hers comes behind")
    operation("I15", "of-a-copy-named", b, "repair", keys=[b.user_key, carol], keep="front", written="in place",
              after=changed(b, b.slots, 2), tests="REP-3", comment="repair changes no slot")
    b = box("I15 types", lambda b: b.passphrase(b"hers", salt=key_id(other_key(b, "carol"))),
            lambda b: raw_slot(7, key_id(other_key(b, "carol")), b"hers"))
    carol = other_key(b, "carol")
    operation("I15", "id-in-other-types", b, "rotate", add=[(carol,)], new=[b.symmetric(carol)], written="in place",
              after=changed(b, [*b.slots, b.symmetric(carol)], 2), tests=f"ROT-12 {PLACED}",
              comment="only a symmetric slot is the slot of a symmetric key, whatever IDs the others have")
    b = box("I15 other file key", lambda b: b.symmetric(other_key(b, "carol"), file_key=bytes(32)))
    carol = other_key(b, "carol")
    made = b.symmetric(carol, label="again")
    operation("I15", "of-another-file-key", b, "rotate", add=[(carol,)], new=[made], written="in place",
              after=changed(b, [b.slots[0], made], 2), tests=f"ROT-12 SLOT-14 {PLACED}",
              comment="it decrypts, but to another file key: that is not opening")


def order_of_slots():
    b = box("I21", lambda b: b.symmetric(other_key(b)), lambda b: b.passphrase(b"word"))
    other, new = other_key(b), other_key(b, "new")
    again = b.symmetric(label="again")
    operation("I21", "removed-and-added", b, "rotate", add=[(b.user_key,)], remove=[f"id {key_id(b.user_key).hex()}"],
              new=[again], written="in place", after=changed(b, [*b.slots[1:], again], 2), tests=f"ROT-13 {PLACED}",
              comment="what is removed goes first: the key gets a new slot behind the others")
    secrets = [(b"new", *COST), (new,), (b"new", *COST), (other,), (new,), (b"word", *COST)]
    made = [b.passphrase(b"new", *COST), b.symmetric(new)]
    operation("I21", "twice-and-present", b, "rotate", add=secrets, new=made, written="in place",
              after=changed(b, [*b.slots, *made], 2), tests=f"ROT-12 ROT-13 {PLACED}",
              comment="in the order given; a secret given twice gets one slot, one that is there none")
    operation("I21", "others-stay-in-place", b, "rotate", add=[(b"word", *COST), (new,), (other,)], remove=["others"],
              new=[b.symmetric(new)], written="in place", after=changed(b, [*b.slots[1:], b.symmetric(new)], 2),
              tests=f"ROT-13 {PLACED}", comment="slots that the secrets to be added open stay as and where they are")
    operation("I21", "removed-what-is-not-there", b, "rotate", remove=[f"id {bytes(16).hex()}"], written="nothing",
              after=b"", tests="ROT-12 ROT-17", comment="to remove what is not there is no error")
    b.front = b.tail[:512] + bytes(512) + b.tail[1024:-1] + b"\0"
    operation("I21", "nothing-to-change-and-damaged", b, "rotate", add=[(other,)], written="in place",
              after=changed(b, b.slots, 1), tests="ROT-9 ROT-17", comment="the copies are made equal, and that is all")
    operation("I21", "changed-and-damaged", b, "rotate", add=[(new,)], new=[b.symmetric(new)], written="in place",
              after=changed(b, [*b.slots, b.symmetric(new)], 2), tests=f"ROT-9 {PLACED}",
              comment="the copies are made equal first, then changed")


def repairs():
    b = box("I18")
    good = b.bytes()
    tail, footer = b.t, b.t + 4096
    assert len(good) == footer + 32 and len(b.padding()) > 1000
    in_place = [
        ("front-zeroed", bytes(4096) + good[4096:], "ROT-9 REP-2", "the front is zeros"),
        ("front-torn", good[:512] + draw("I18", "torn", 512) + good[1024:], "ROT-9 REP-2",
         "a sector of the front is lost"),
        ("tail-zeroed", patched(good, tail, bytes(4096)), "ROT-9 REP-2", "the tail is zeros"),
        ("tail-forged", patched(good, tail, summed(flip(b.tail, 70))), "ROT-9 REP-2",
         "the tail has another generation, and a MAC that is not its own"),
        ("front-forged", summed(flip(b.front, 70)) + good[4096:], "ROT-9 REP-2", "the same in the front"),
        ("footer-bit", flip(good, -20), "REP-4 REP-6", "a bit of the footer"),
        ("footer-zeroed", patched(good, footer, bytes(32)), "REP-4 REP-6", "the footer is zeros"),
        ("footer-cut", good[:footer], "REP-4 REP-6", "the file ends before the footer"),
        ("footer-cut-inside", good[:-7], "REP-4 REP-6", "the file ends inside the footer"),
        ("tail-cut", good[:tail + 700], "REP-4 REP-5 REP-6", "the file ends inside the tail"),
        ("tail-cut-before", good[:tail], "REP-4 REP-5 REP-6", "the file ends before the tail"),
        ("tail-and-footer-zeroed", patched(good, tail, bytes(4096 + 32)), "REP-4 REP-5 REP-6", "both are zeros"),
        ("tail-forged-and-footer-bit", flip(patched(good, tail, summed(flip(b.tail, 70))), -20), "REP-5 REP-6",
         "an intact tail that is not valid is like a damaged one"),
        ("appended", good + b"appended", "REP-4 REP-6", "something follows the footer"),
        ("appended-container", good + Box("I18 appended").bytes(), "REP-4 REP-6",
         "another container follows, whose footer is good")]
    for name, data, tests, comment in in_place:
        operation("I18", name, b, "repair", data=data, after=good, written="in place", tests=tests,
                  comment=comment + ": the identical container comes back")
    copied = [
        ("zeros-bit", flip(good, tail - 5), "a byte between manifest and tail"),
        ("zeros-cut", good[:tail - 1], "the file ends one byte before the tail"),
        ("zeros-cut-at-once", good[:b.m + len(b.manifest)], "the file ends behind the manifest"),
        ("zeros-bit-and-footer-bit", flip(flip(good, tail - 5), -1), "zeros and footer")]
    for name, data, comment in copied:
        operation("I18", name, b, "repair", data=data, after=good, written="copy", tests="REP-4 REP-7 ROT-26",
                  comment=comment + ": the identical container, as a copy, for these bytes share a block with the "
                                    "manifest's last ones")
    operation("I18", "good", b, "repair", after=b"", written="nothing", tests="REP-2", comment="nothing to repair")
    data = flip(good, 4096 + 100)
    operation("I18", "record-damaged", b, "repair", data=data, after=data, written="nothing", tests="REP-2",
              comment="repair looks at no record, and mends none")

    small = box("I18 small", capacity=1024)
    good = small.bytes()
    for name, data in (("footer-bit", flip(good, -20)), ("tail-cut", good[:small.t + 700]),
                       ("zeros-bit", flip(good, small.t - 1)), ("appended", good + bytes(9))):
        operation("I18", f"small-{name}", small, "repair", data=data, after=good, written="copy",
                  tests="REP-4 REP-7 ROT-28", comment="a small container: the identical one, as a copy")

    b, new, slots = two_states("I18 unfinished", ("old", 3), ("both", 4))
    data = flip(b.bytes(), -3)
    operation("I18", "unfinished-and-footer-bit", b, "repair", data=data, written="in place",
              after=changed(b, slots["both"], 4), tests="REP-5 REP-6 ROT-9",
              comment="the tail is found without the footer, and is the newer one: the new key's only slot is in it")
    b, new, slots = two_states("I18 unfinished apart", ("old", 3), ("new", 4))
    data = flip(b.bytes(), -3)
    operation("I18", "unfinished-and-footer-bit-by-the-older-key", b, "repair", data=data, result="rotationUnfinished",
              tests="REP-5 ROT-5 ROT-8", comment="refused before the footer is written")
    operation("I18", "unfinished-and-footer-bit-by-the-newer-key", b, "repair", data=data, keys=[new],
              result="footerDamaged", tests="REP-4",
              comment="the front, which has to be read, opens with the older key only")
    operation("I18", "unfinished-and-footer-bit-by-both", b, "repair", data=data, keys=[new, b.user_key],
              written="in place", after=changed(b, slots["new"], 4), tests="REP-5 REP-6 ROT-9",
              comment="the older key reads the front, the newer one opens the tail that is found")
    operation("I18", "unfinished-and-footer-bit-keep-the-front", b, "repair", data=data, keep="front",
              written="in place", after=changed(b, slots["old"], 5), tests="REP-3 REP-5 REP-6 ROT-6",
              comment="footer, then the copies as the caller has named them")
    operation("I18", "unfinished-and-zeros-keep-the-front", b, "repair", data=flip(b.bytes(), b.t - 1), keep="front",
              written="copy", after=changed(b, slots["old"], 5), tests="REP-3 REP-7 ROT-28",
              comment="by a copy, with the new generation, since a copy was named")


    b = box("I18 late", lambda b: b.passphrase(b"one"), lambda b: b.passphrase(b"two"))
    _, one, two = b.slots
    b.front = b.copy(generation=3)
    hand = dict(passphrases=[b"two"], limits={"max-passphrase-slots": 1})
    for name, kept, more in (
            ("within", [two], dict(after=changed(b, [two], 4), written="in place")),
            ("beyond", [one, two], dict(result="rotationUnfinished"))):
        b.tail = b.copy(slots=kept, generation=4)
        operation("I18", f"slot-{name}-the-limits-of-a-tail-found-late", b, "repair", data=flip(b.bytes(), -3), **hand,
                  **more, tests="REP-5 ROT-5 SLOT-20",
                  comment="the tail is found without the footer, behind the first trials: the caller's limits are judged "
                          "for it then, and only in it may the slot be within them")
    b = box("I18 overwritten", lambda b: b.passphrase(b"other"), lambda b: b.passphrase(b"mine"))
    b.tail = summed(flip(b.copy(slots=[b.slots[0], b.slots[2]], generation=9), -64))
    operation("I18", "slot-within-the-limits-of-a-tail-that-is-overwritten", b, "repair", keys=[], passphrases=[b"mine"],
              limits={"max-passphrase-slots": 1}, after=changed(b, b.slots, 1), written="in place",
              tests="REP-1 ROT-5 ROT-9 SLOT-20",
              comment="the caller's slot is within their limits only in a tail that is not valid: it may be tried to the end, "
                      "although the container does not open within the same limits afterwards")


def repairs_refused():
    b = box("I18")
    good = b.bytes()
    operation("I18", "conflict-and-footer-bit", b, "repair", result="copiesConflict", tests="REP-5 REP-1 ROT-4 ROT-8",
              data=flip(patched(good, b.t, b.copy(generation=9)), -3), comment="refused before the footer is written")
    operation("I18", "conflict-and-footer-bit-keep-the-tail", b, "repair", keep="tail", written="in place",
              data=flip(patched(good, b.t, b.copy(generation=9)), -3), after=changed(b, b.slots, 10),
              tests="REP-3 REP-5 REP-6 ROT-6", comment="the copy at T is named")
    operation("I18", "keep-a-tail-that-is-not-there", b, "repair", keep="tail", data=good[:b.t], result="headerDamaged",
              tests="REP-5 ROT-6 ROT-8", comment="no valid copy stands at T")
    operation("I18", "exhausted-and-footer-bit", b, "repair", keep="front", result="generationExhausted",
              data=flip(patched(good, b.t, b.copy(generation=HIGHEST)), -3), tests="REP-5 REP-1 ROT-8 ROT-11",
              comment="refused before the footer is written")
    other = box("I18 other")
    data = flip(patched(good, b.t, other.tail), -3)
    operation("I18", "tail-of-another-container", b, "repair", data=data, result="copiesDisagree", tests="REP-5",
              comment="with a good footer nobody would open this: repair does not choose between two containers either")
    for name, data in (("larger", good[:b.t] + b.copy(capacity=8192)),
                       ("smaller", flip(patched(good, b.t, b.copy(capacity=2048)), -3))):
        operation("I18", f"tail-of-a-{name}-capacity", b, "repair", data=data, result="copiesDisagree", tests="REP-5",
                  comment="a copy is as long as it says of itself; with another capacity it is not of this container")
    end = -(-len(good) // 4096) * 4096
    assert end - len(b.manifest) > b.m
    data = (good.ljust(end, b"\0") + other.tail
            + b.footer_with(m=end - len(b.manifest), length=end + 4096 + 32))
    operation("I18", "tail-of-another-container-behind-the-end", b, "repair", data=data, result="copiesDisagree",
              tests="REP-4", comment="this one is whole, and something of another follows: nothing of it is cut off")
    malformed = b.copy(reserved=1)
    operation("I18", "tail-malformed", b, "repair", data=flip(patched(good, b.t, malformed), -3),
              result="headerMalformed", tests="REP-5", comment="the same for an intact copy of a wrong form")
    stands = [
        ("tail-of-another-container-and-footer-good", patched(good, b.t, other.tail), "copiesDisagree"),
        ("tail-malformed-and-footer-good", patched(good, b.t, malformed), "headerMalformed"),
        ("version-2", patched(good, b.t, b"")[:8] + b"\0\2" + good[10:], "unsupportedVersion")]
    for name, data, error in stands:
        data = summed(data[:4096]) + data[4096:] if name == "version-2" else data
        operation("I18", name, b, "repair", data=data, result=error, tests="REP-4",
                  comment="an error that stands, without another look")
    operation("I18", "front-and-footer", b, "repair", data=flip(bytes(4096) + good[4096:], -3),
              result="notVaultfile", tests="REP-4",
              comment="without an intact front there is nothing to start from")
    operation("I18", "front-damaged-and-footer", b, "repair", data=flip(flip(good, 100), -3), result="footerDamaged",
              tests="REP-4", comment="a damaged front, and a footer that does not lead to the tail")
    operation("I18", "both-copies", b, "repair", data=flip(flip(good, 100), b.t + 100), result="headerDamaged",
              tests="REP-4", comment="neither copy is intact")
    operation("I18", "footer-and-record", b, "repair", data=flip(flip(good, 4096 + 100), -3), result="footerDamaged",
              tests="REP-4", comment="the way to the manifest cannot be verified: opening's error stands")
    operation("I18", "manifest", b, "repair", data=flip(good, b.m + 100), result="recordDamaged", tests="REP-4",
              comment="the manifest cannot be mended")
    operation("I18", "cut-before-the-manifest", b, "repair", data=good[:b.m], result="footerDamaged",
              tests="REP-4",
              comment="the manifest is gone")
    operation("I18", "footer-and-wrong-key", b, "repair", keys=[other_key(b)], data=flip(good, -3),
              result="footerDamaged", tests="REP-4", comment="nothing opens the front")
    operation("I18", "rotate-and-footer-bit", b, "rotate", add=[(other_key(b),)], data=flip(good, -20),
              new=[b.symmetric(other_key(b))], result="footerDamaged", tests="ROT-3",
              comment="a rotation mends no footer")
