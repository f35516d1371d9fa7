"""Group C: slots."""

import itertools

from collide import collide
from forge import (
    Box, PASSPHRASE, SYMMETRIC, aead_seal, draw, flip, kek_symmetric, key_id, patched, raw_slot, summed, u16, u32)
from primitives import argon2id, kek_passphrase
from vector import HEALTHS, vector

HEAD = 20
NONCE, WRAPPED = 20, 44     # places in a slot of type 1


def make():
    lengths_and_types()
    repeated_ids()
    unknown_types()
    eight_passphrases()
    stretching_caps()
    sums_at_the_cap()
    caller_limits()
    no_slot_opens()
    many_keys_one_slot()
    zero_file_key()
    old_slots()
    passphrases_and_contexts()


def with_slots(seed, slots, plaintext=700, **fields):
    """A box whose copies hold the slots that `slots(box)` gives."""
    return Box(seed, plaintext, slots=slots, **fields)


def lengths_and_types():
    b = with_slots("C1", lambda b: [b.symmetric(), raw_slot(0, draw("C1", "ID", 16), draw("C1", "body", 40))])
    vector("C1", "slot-type-0", b, stream="headerMalformed", tests="SLOT-4",
           comment="a slot of type 0 behind a good one: zeros must never parse as a slot")
    for case, kind, right, name in (("C2", SYMMETRIC, 72, "symmetric"), ("C3", PASSPHRASE, 84, "passphrase")):
        for n in (right - 1, right + 1):
            def slots(b):
                start = b"" if kind == SYMMETRIC else u32(1) + u32(8) + u32(1)
                return [b.symmetric(), raw_slot(kind, draw(case, "ID", 16), (start + draw(case, "body", 90))[:n])]
            b = with_slots(f"{case} {n}", slots)
            vector(case, f"{name}-body-{n}", b, stream="headerMalformed",
                   tests="SLOT-5" if kind == SYMMETRIC else "SLOT-6",
                   comment=f"a {name} slot with a body of {n} bytes behind a good slot")
    b = Box("C4")
    room = 512 - 64 - 76 - 92 - HEAD
    slot = raw_slot(0x7000, draw("C4", "ID", 16), draw("C4", "body", room), room + 65)
    b.both_copies(slots=[b.symmetric(), slot])
    vector("C4", "slot-body-past-the-copy", b, stream="headerMalformed", tests="HDR-13",
           comment="an unknown slot whose body would end behind the copy, in the first record")
    b = Box("C5")
    b.both_copies(slots=[b.symmetric(), raw_slot(0x7000, draw("C5", "ID", 16), draw("C5", "body", 40), 0xFFFF)])
    vector("C5", "slot-body-length-ffff", b, stream="headerMalformed", tests="HDR-13",
           comment="a slot that states a body of 65,535 bytes in a copy of 512")


def repeated_ids():
    b = with_slots("C6", lambda b: [b.symmetric(label="one"), b.symmetric(label="two")])
    vector("C6", "two-symmetric-slots-with-one-id", b, stream="headerMalformed", tests="SLOT-7",
           comment="two slots of type 1 with one ID, both good: readers could differ in which one they try")

    def same_salt(b):
        salt = draw("C7", "salt", 16)
        return [b.passphrase(b"one", salt=salt), b.passphrase(b"two", salt=salt)]
    b = with_slots("C7", same_salt)
    vector("C7", "two-passphrase-slots-with-one-salt", b, stream="headerMalformed", tests="SLOT-7", keys=[],
           passphrases=[b"one"], comment="two slots of type 2 with one salt, both good")

    def same_id(b):
        return [b.symmetric(), b.passphrase(b"one", salt=key_id(b.user_key))]
    b = with_slots("C8", same_id)
    why = "a slot of type 1 and one of type 2 with the same ID: allowed, for only IDs of one type must differ"
    vector("C8", "one-id-in-two-types-by-key", b, stream="intact", tests="SLOT-7", comment=why)
    vector("C8", "one-id-in-two-types-by-passphrase", b, stream="intact", tests="SLOT-7", keys=[],
           passphrases=[b"one"], comment=why)


def unknown_types():
    def twice(b):
        return [raw_slot(0x7000, draw("C9", "ID", 16), draw("C9", "one", 30)), b.symmetric(),
                raw_slot(0x7000, draw("C9", "ID", 16), draw("C9", "two", 30))]
    b = with_slots("C9", twice)
    vector("C9", "unknown-type-twice-with-one-id", b, stream="intact", tests="SLOT-12 SLOT-7",
           comment="two slots of an unknown type with one ID: skipped by length, whatever they hold")
    for kind, n in ((3, 0), (3, 1), (3, 80), (3, 200), (4, 0), (4, 1), (4, 84), (4, 260)):
        b = with_slots(f"C10 {kind} {n}", lambda b: [
            raw_slot(kind, draw(b.seed, "ID", 16), draw(b.seed, "body", n)), b.symmetric()])
        vector("C10", f"type-{kind}-with-a-body-of-{n}", b, stream="intact", tests="SLOT-12",
               comment=f"a slot of type {kind} with a body of {n} bytes, which is not its length, before the caller's: "
                       "skipped by length")


def eight_passphrases():
    def five(b):
        return [b.passphrase(b"passphrase %d" % i) for i in range(5)] + [b.symmetric()]
    b = with_slots("C11", five, capacity=1024)
    why = "five passphrase slots in one copy: each is one guess per query to a service that opens containers"
    vector("C11", "five-passphrase-slots", b, stream="headerMalformed", tests="SLOT-8", keys=[],
           passphrases=[b"passphrase 0"], comment=why)
    vector("C11", "five-passphrase-slots-with-a-key", b, stream="headerMalformed", tests="SLOT-8 HDR-19",
           comment=why + "; refused whatever key is given")

    b = Box("C12", 5000, capacity=1024)
    secrets = [b"passphrase %d" % i for i in range(8)]
    slots = [b.passphrase(secret) for secret in secrets]
    b.front = b.copy(slots=slots[:4])
    b.tail = b.copy(slots=slots[4:], generation=2)
    for i, secret in enumerate(secrets):
        vector("C12", f"four-and-four-passphrases-by-number-{i + 1}", b, keys=[], passphrases=[secret],
               stream="rotationUnfinished" if i < 4 else "wrongKey", seek="rotationUnfinished",
               tests="SLOT-8 SEEK-13 SEEK-17" + (" STR-26" if i < 4 else " SLOT-22"),
               comment="four passphrase slots in the front, four others in the newer tail, as a crash leaves "
                       "them: the cap "
                       "is for each copy by itself, or an interrupted change would lock everybody out")


def stretching_caps():
    passes, memory = 2**32 - 1, 2**32 - 1
    cases = [
        ("C13", "lanes-0", dict(lanes=0, dead=True), "SLOT-9"),
        ("C13", "lanes-2", dict(lanes=2, dead=True), "SLOT-9"),
        ("C14", "passes-0", dict(passes=0, dead=True), "SLOT-10"),
        ("C14", "passes-65", dict(passes=65), "SLOT-10"),
        ("C15", "memory-7", dict(memory=7, dead=True), "SLOT-10"),
        ("C15", "memory-two-gib-and-one", dict(memory=2**21 + 1, dead=True), "SLOT-10")]
    for case, defect, fields, rule in cases:
        b = with_slots(f"{case} {defect}", lambda b: [b.symmetric(), b.passphrase(b"one", **fields)])
        vector(case, defect, b, stream="headerMalformed", tests=f"{rule} HDR-19", passphrases=[b"one"],
               comment="a passphrase slot beyond the caps behind a good slot: refused whatever key is given, "
                       "nothing stretched")
    sums = [("one-slot", [(64, 2**21)]), ("three-slots", [(1, 2**21), (1, 2**21 - 7), (1, 8)]),
            ("first-slot-cheap", [(1, 8), (64, 2**20)])]
    for name, costs in sums:
        b = with_slots(f"C16 {name}", lambda b: [b.symmetric()] + [
            b.passphrase(b"%d" % i, *cost, dead=cost != (1, 8)) for i, cost in enumerate(costs)], capacity=1024)
        vector("C16", f"stretching-above-the-cap-{name}", b, stream="headerMalformed", tests="SLOT-11 HDR-19",
               passphrases=[b"%d" % (len(costs) - 1)],
               comment="passes times memory, summed over the copy's slots, above 2^22 KiB: nothing is stretched")
    b = with_slots("C17", lambda b: [b.symmetric()] + [
        b.passphrase(b"%d" % i, passes, memory, dead=True) for i in range(4)], capacity=1024)
    vector("C17", "passes-and-memory-overflow", b, stream="headerMalformed", tests="SLOT-10 SLOT-11 CAP-2",
           passphrases=[b"0"],
           comment="passes and memory 2^32 - 1 in four slots: the sum of the products does not fit 64 "
                                       "bits, so each factor is checked before it is multiplied")


def sums_at_the_cap():
    b = Box("C18", 5000, capacity=1024)
    cheap = b.passphrase(b"cheap")
    slots = [[b.passphrase(b"%s %d" % (where, i), *cost, dead=True) for i, cost in enumerate(
        [(1, 2**21), (1, 2**20), (1, 2**20 - 8)])] for where in (b"front", b"tail")]
    b.front = b.copy(slots=[cheap, b.symmetric()] + slots[0])
    b.tail = b.copy(slots=[cheap, b.symmetric()] + slots[1], generation=2)
    why = "2^22 KiB times passes in each copy, different slots: the cap is for each copy by itself"
    vector("C18", "stretching-at-the-cap-in-each-copy-by-key", b, stream="rotationUnfinished",
           tests="SLOT-11 SLOT-18 SEEK-17 STR-26", passphrases=[b"nobody's"],
           comment=why + "; symmetric slots are tried first, so nothing is stretched")
    vector("C18", "stretching-at-the-cap-in-each-copy-by-passphrase", b, stream="rotationUnfinished", keys=[],
           passphrases=[b"cheap"], tests="SLOT-11 SLOT-18 SEEK-17 STR-26", comment=why)


def caller_limits():
    def limited(name, costs, limits, secret, result, *, key=False, what):
        b = with_slots(f"C19 {name}", lambda b: [b.passphrase(b"%d" % i, *cost) for i, cost in enumerate(costs)]
                       + [b.symmetric()], capacity=1024)
        vector("C19", name, b, stream=result, keys=[b.user_key] if key else [], passphrases=[secret], limits=limits,
               tests="SLOT-20 SLOT-22" if result == "limitExceeded" else "SLOT-20", comment=what)

    beyond = "the only slot that the passphrase fits is beyond the caller's own limit: not tried, and said so"
    limited("passes-beyond-the-callers", [(2, 8)], {"max-passes": 1}, b"0", "limitExceeded", what=beyond)
    limited("memory-beyond-the-callers", [(1, 16)], {"max-memory-kib": 15}, b"0", "limitExceeded", what=beyond)
    limited("count-beyond-the-callers", [(1, 8), (1, 8)], {"max-passphrase-slots": 1}, b"1", "limitExceeded",
            what=beyond + "; the first slot is tried")
    limited("sum-beyond-the-callers", [(1, 8), (1, 8)], {"max-stretching-kib": 15}, b"1", "limitExceeded",
            what=beyond + "; the first slot is tried")
    limited("product-beyond-the-callers", [(3, 8)], {"max-stretching-kib": 23}, b"0", "limitExceeded", what=beyond)
    limited("at-the-callers-limits", [(2, 8), (1, 16)], {
        "max-passes": 2, "max-memory-kib": 16, "max-passphrase-slots": 2, "max-stretching-kib": 32}, b"1", "intact",
            what="slots exactly at the caller's own limits are tried")
    limited("first-fits-second-beyond", [(1, 8), (2, 8)], {"max-passes": 1}, b"0", "intact",
            what="a slot within the caller's limits opens; the one beyond them is not in the way")
    limited("wrong-passphrase-and-a-slot-beyond", [(1, 8), (2, 8)], {"max-passes": 1}, b"none", "limitExceeded",
            what="nothing opens and one slot was not tried: the passphrase may be right")
    limited("skipped-slot-not-in-the-count", [(2, 8), (1, 8)], {"max-passes": 1, "max-passphrase-slots": 1}, b"1",
            "intact", what="a slot skipped for its passes does not count as one of the slots before the next")
    limited("skipped-slot-not-in-the-sum", [(1, 64), (1, 8)], {"max-stretching-kib": 8}, b"1", "intact",
            what="a slot skipped for its cost does not count in the sum before the next")
    limited("beyond-the-callers-with-a-key", [(2, 8)], {"max-passes": 1}, b"0", "intact", key=True,
            what="a symmetric key opens whatever the caller's limits on stretching are")
    b = with_slots("C19 no passphrase", lambda b: [b.passphrase(b"0", 2)])
    vector("C19", "beyond-the-callers-but-no-passphrase", b, stream="wrongKey", limits={"max-passes": 1},
           tests="SLOT-17 SLOT-20 SLOT-22",
           comment="a slot beyond the caller's limit, but no passphrase was given: it would not have been tried anyway")

    b = Box("C19 one copy", 5000)
    mine, other = b.passphrase(b"mine"), b.passphrase(b"other")
    for name, front, tail, stream in (("front", [other, mine], [mine], "limitExceeded"),
                                      ("tail", [mine], [other, mine], "rotationUnfinished")):
        b.front, b.tail = b.copy(slots=front), b.copy(slots=tail, generation=2)
        vector("C19", f"beyond-the-callers-in-the-{name}-only", b, keys=[], passphrases=[b"mine"], stream=stream,
               seek="rotationUnfinished", limits={"max-passphrase-slots": 1},
               tests="SLOT-20 SEEK-17" + (" STR-26" if stream in HEALTHS else " SLOT-22"),
               comment=f"a slot beyond the caller's limit in the {name} and within it in the other copy: it is tried")

    b = Box("C19 forged tail", 5000)
    b.front = b.copy(slots=[b.passphrase(b"0", 2)])
    b.tail = flipped_mac(b.copy(slots=[b.passphrase(b"0", label="old")], generation=2**32 - 1))
    vector("C19", "valid-slot-beyond-forged-slot-within", b, stream="limitExceeded", seek="headerForged", keys=[],
           passphrases=[b"0"], limits={"max-passes": 1}, tests="SLOT-20 SLOT-22 SEEK-16",
           comment="a slot opens in a tail that is not valid, and the valid front's is beyond the caller's limit")

    b = Box("C19 both", 5000, capacity=1024, generation=2)
    old = draw("C19 both", "old key", 32)
    mine, removed = b.passphrase(b"mine"), b.symmetric(old)
    b.front = b.copy(slots=[b.passphrase(b"other"), mine])
    limits, why = {"max-stretching-kib": 8}, "the slot is beyond the caller's sum in the valid front"
    for name, slots, seek, keys, what in (
            ("within-in-a-forged-tail", [mine], "tailDamaged", [], ", within it in a tail that is not valid: tried, and it opens"),
            ("within-in-a-forged-tail-behind-an-old-slot", [removed, mine], "tailDamaged", [old],
             ", within it in a tail that is not valid, where an old slot opens first: limits are judged once, over all "
             "intact copies, so it is tried then"),
            ("within-nowhere-and-an-old-slot-opens", [removed], "headerForged", [old],
             " and stands nowhere else; an old slot opens in a tail that is not valid")):
        b.tail = flipped_mac(b.copy(slots=slots, generation=2**32 - 1))
        vector("C19", f"beyond-in-the-front-{name}", b, stream="limitExceeded", seek=seek, keys=keys,
               passphrases=[b"mine"], limits=limits, comment=why + what,
               tests="SLOT-20 SLOT-22 SEEK-16" + (" SEEK-17" if seek in HEALTHS else ""))


def flipped_mac(copy):
    return summed(flip(copy, -64))


def no_slot_opens():
    b = with_slots("C20", lambda b: [raw_slot(0x7000 + i, draw("C20", f"ID {i}", 16), draw("C20", f"{i}", 40))
                                     for i in range(3)])
    vector("C20", "only-unknown-types", b, stream="wrongKey", tests="SLOT-12 SLOT-19 SLOT-22", passphrases=[b"one"],
           comment="only slots of unknown types: well formed, and nothing here for this caller")
    b = Box("C21")
    x = Box("C21 other", user_key=b.user_key)
    b.both_copies(slots=x.slots)
    vector("C21", "slot-of-another-container", b, stream="wrongKey", tests="SLOT-13 SLOT-22",
           comment="a slot of another container of the same user key, forged in: bound to the preamble it was made for")
    for what, place in (("wrapped-key", WRAPPED), ("nonce", NONCE)):
        b = Box(f"C22 {what}")
        b.both_copies(slots=[flip(b.slots[0], place, 5)])
        vector("C22", f"{what}-bit", b, stream="wrongKey", tests="SLOT-13 SLOT-14 SLOT-22",
               comment=f"one bit of the slot's {what.replace('-', ' ')} flipped, MAC right")
    b = Box("C23")
    new = draw("C23", "new key", 32)
    b.both_copies(slots=[patched(b.slots[0], 4, key_id(new))])
    why = "the slot's key ID exchanged for another key's, MAC right: bound by the slot's associated data"
    vector("C23", "key-id-changed-old-key", b, stream="wrongKey", tests="SLOT-16 SLOT-22", comment=why)
    vector("C23", "key-id-changed-new-key", b, stream="wrongKey", keys=[new], tests="SLOT-13 SLOT-22", comment=why)
    b = Box("C24")
    b.both_copies(slots=[u16(0x7000) + b.slots[0][2:]])
    vector("C24", "type-1-to-7000", b, stream="wrongKey", tests="SLOT-12 SLOT-19 SLOT-22",
           comment="a good slot under an unknown type: skipped, not guessed")
    b = Box("C24 sealed")
    head = u16(0x7000) + b.slots[0][2:WRAPPED]
    sealed = aead_seal(kek_symmetric(b.user_key, b.preamble), head[NONCE:], b.preamble + head, b.file_key)
    b.both_copies(slots=[head + sealed])
    vector("C24", "type-7000-sealed-like-type-1", b, stream="wrongKey", tests="SLOT-12 SLOT-19 SLOT-22",
           comment="a slot of unknown type that would open if it were tried as a symmetric one")
    b = Box("C25")
    b.both_copies(slots=[b.symmetric(file_key=draw("C25", "other file key", 32))])
    vector("C25", "slot-of-another-file-key", b, stream="wrongKey", tests="KEY-4 SLOT-14 SLOT-22",
           comment="the slot unwraps, with a right tag, to another file key: the commitment does not fit")


def many_keys_one_slot():
    b = Box("C26")
    secrets = [b"first", b"second", b"third"]
    salt = draw("C26", "salt", 16)
    keys = [kek_passphrase(argon2id(secret, salt, 1, 8), b.preamble) for secret in secrets]
    for i in itertools.count():
        nonce = draw("C26", f"nonce {i}", 24)
        head = raw_slot(PASSPHRASE, salt, u32(1) + u32(8) + u32(1) + nonce, 84)
        wrapped = collide(keys, nonce, b.preamble + head, bytes(32), [0, 1])
        if wrapped:
            break
    b.both_copies(slots=[head + wrapped, b.symmetric()])
    for name, secret in zip(("first", "second", "third"), secrets):
        vector("C26", f"slot-of-three-passphrases-by-the-{name}", b, keys=[], passphrases=[secret], stream="wrongKey",
               tests="KEY-4 SLOT-14 SLOT-22",
               comment="one wrapped key with a tag that is right under three passphrases, to three file keys: the "
                       "commitment refuses it, or one query would test three guesses")


def zero_file_key():
    b = Box("C27", file_key=bytes(32))
    b.both_copies(slots=[flip(b.slots[0], -1)])
    why = "a container whose file key is 32 zero bytes, which a reader goes on with after a failed unwrapping"
    vector("C27", "zero-file-key-behind-a-wrong-tag", b, stream="wrongKey", tests="SLOT-14 SLOT-22",
           comment=why + ": it may open only if the tag was right as well")
    vector("C27", "zero-file-key-without-a-slot", b, stream="wrongKey", keys=[draw("C27", "key without a slot", 32)],
           tests="SLOT-14 SLOT-19 SLOT-22", comment=why + ": nor may it open where no slot matched")
    wrapped = aead_seal(bytes(32), bytes(24), b"", bytes(32))
    b = Box("C27 dummy", file_key=bytes(32), slots=lambda b: [raw_slot(0x7000, draw("C27", "ID", 16), wrapped)])
    vector("C27", "zero-file-key-and-only-unknown-slots", b, stream="wrongKey", passphrases=[b"one"],
           tests="SLOT-14 SLOT-19 SLOT-22", comment=why + ": no slot of a type that it could try")


def old_slots():
    def pair(seed):
        """(box with the new key's slot, the old key, a forged copy of highest generation with the old key's slot)."""
        b = Box(seed, 5000, generation=2)
        old = draw(seed, "old key", 32)
        before = b.copy(slots=[b.symmetric(old)], generation=1)
        return b, old, summed(patched(before, 68, b"\xff" * 4))

    b, old, forged = pair("C28")
    b.tail = forged
    why = "an old copy, its generation raised without the file key, pasted over the"
    vector("C28", "old-slot-in-a-forged-tail", b, keys=[old, b.user_key], stream="tailDamaged",
           tests="SEEK-16 STR-25 SEEK-17",
           comment=why + " tail: its slot opens first, but who holds the new key too must still get in by the front")
    vector("C28", "old-slot-in-a-forged-tail-new-key-first", b, keys=[b.user_key, old], stream="tailDamaged",
           tests="SEEK-16 STR-25 SEEK-17", comment=why + " tail; the keys in the other order")
    vector("C28", "old-slot-in-a-forged-tail-old-key-only", b, keys=[old], stream="wrongKey", seek="headerForged",
           tests="SLOT-16 SEEK-16", comment=why + " tail: the old key alone gets nothing from it")
    b = Box("C28 two", 5000, generation=2)
    olds = [draw("C28 two", f"old key {i}", 32) for i in range(2)]
    b.tail = flipped_mac(b.copy(slots=[b.symmetric(old) for old in olds], generation=2**32 - 1))
    vector("C28", "two-old-slots-in-a-forged-tail", b, keys=olds, stream="wrongKey", seek="headerForged",
           tests="SLOT-16 SEEK-16",
           comment=why + " tail, with slots of two old keys, both given: one does not vouch for the other")
    b, old, forged = pair("C29")
    b.front = forged
    vector("C29", "old-slot-in-a-forged-front", b, keys=[old, b.user_key], stream="headerForged", seek="frontDamaged",
           tests="SEEK-16 STR-8 SEEK-17", comment=why + " front; the caller holds the old and the new key")
    vector("C29", "old-slot-in-a-forged-front-old-key-only", b, keys=[old], stream="headerForged",
           tests="SEEK-16 STR-8", comment=why + " front; the caller holds the old key only")


def passphrases_and_contexts():
    nfc = "Schlüssel".encode()
    b = with_slots("C30", lambda b: [b.passphrase(nfc)])
    for name, secret, what in (
            ("wrong-passphrase", b"Schluessel", "another passphrase"),
            ("passphrase-in-nfd", "Schlu\u0308ssel".encode(),
             "the same text in NFD: the library takes the bytes as they are"),
            ("passphrase-with-lf", nfc + b"\n",
             "the passphrase with its line's end: the library takes the bytes as they are")):
        vector("C30", name, b, keys=[], passphrases=[secret], stream="wrongKey", tests="KEY-15 SLOT-22",
               comment=what)
    b = with_slots("C31", lambda b: [b.symmetric(), b.passphrase(b"one")])
    for name, secret in (("passphrase-empty", b""), ("passphrase-of-1025-bytes", bytes([97]) * 1025)):
        vector("C31", name, b, passphrases=[secret], stream="badPassphrase", tests="KEY-15 ARG-2 ARG-4",
               comment="a passphrase of 0 or of more than 1,024 bytes is the caller's mistake, whatever the "
                       "container is")
    vector("C31", "key-of-zeros", b, keys=[bytes(32)], stream="badKey", tests="ARG-1 ARG-4",
           comment="the all-zero key is no key: a variable that nobody set")
    vector("C31", "context-of-65536-bytes", b, context=bytes([97]) * 65536, stream="badContext",
           tests="KEY-16 ARG-3 ARG-4",
           comment="a context of more than 65,535 bytes")

    b = Box("C32")
    vector("C32", "wrong-key", b, keys=[draw("C32", "another key", 32)], stream="wrongKey",
           tests="SLOT-16 SLOT-19 SLOT-22", comment="a key that no slot is for")
    vector("C32", "no-secrets", b, keys=[], stream="wrongKey", tests="SLOT-16 SLOT-19 SLOT-22",
           comment="a caller without any key or passphrase")
    vector("C32", "context-where-none-was-used", b, context=b"context", stream="wrongKey",
           tests="KEY-3 KEY-4 SLOT-14 SLOT-22", comment="the right key with a context, for a container made without")
    b = Box("C32 context", context=b"account 1")
    vector("C32", "wrong-context", b, context=b"account 2", stream="wrongKey", tests="KEY-3 KEY-4 SLOT-14 SLOT-22",
           comment="the right key with another context")
    vector("C32", "no-context", b, context=b"", stream="wrongKey", tests="KEY-3 KEY-4 SLOT-14 SLOT-22",
           comment="the right key without the context")
    b = with_slots("C32 split", lambda b: [b.passphrase(b"a")], context=b"bc")
    vector("C32", "passphrase-ab-context-c-for-a-bc", b, keys=[], passphrases=[b"ab"], context=b"c", stream="wrongKey",
           tests="KEY-3 KEY-4 SLOT-14 SLOT-22", comment="passphrase and context cut at another place: never one string")
