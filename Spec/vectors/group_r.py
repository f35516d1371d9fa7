"""Group R: slots for public keys, types 3 and 4."""

import hpke
from forge import Box, draw, flip, raw_slot, summed
from public_slots import Recipient
from recipients import HybridKey, Key, dead, hidden_id, slot
from vector import recovery, vector

ALICE, BOB = Key("Alice"), Key("Bob")
STRONG, OTHER_STRONG = HybridKey(0), HybridKey(1)
ONE, PQ = "x25519", "x-wing"
BOTH = "x25519 x-wing"
PRIME = 2**255 - 19
# The secret of ML-KEM-768 in the first published vector of X-Wing, recorded with the Python package cryptography 50.
ML_KEM_SECRET = bytes.fromhex("7631eaf24bcc7ba2d1656d8f53778f8caa5f1ce33180e8ab405b9247eab76dfc")
OPENS = "KEY-17 KEY-18 KEY-19 KEY-20 SLOT-24 SLOT-25 SLOT-23"
FLIPPED = {3: (("key-id", 4), ("enc-first", 20), ("enc-last", 51), ("nonce", 52), ("wrapped", 76), ("tag", 123)),
           4: (("key-id", 4), ("ml-kem-first", 20), ("ml-kem-last", 20 + 1087), ("share-first", 20 + 1088),
               ("share-last", 20 + 1119), ("nonce", 1140), ("wrapped", 1164), ("tag", 1211))}


def make():
    every_kind()
    wrong_ones()
    bits()
    shares()
    lengths()
    transplants()
    repeated_ids()
    limits()
    hidden()
    forgeries()
    two_copies()
    without_x_wing()
    recovered()
    both_types()


def box(seed, *slots, **more):
    """A container with these slots, each made by a function of the box."""
    fields = {"capacity": 4096} | more
    return Box(seed, 700, slots=lambda b: [each(b) for each in slots], **fields)


def of(key, label="", **more):
    return lambda b: slot(b, key, label, **more)


def dead_for(key, label=""):
    return lambda b: dead(b, key.kind, key.slot_id(b), label)


def public(case, name, b, key, stream, *, tests, comment, needs=None, **more):
    """A vector whose caller has only this identity."""
    needs = needs or (PQ if key.kind == 4 else ONE)
    vector(case, name, b, stream=stream, keys=more.pop("keys", []), identities=[key.identity], needs=needs, tests=tests,
           comment=comment, **more)


def every_kind():
    b = box("R1", of(ALICE), capacity=512)
    public("R1", "x25519", b, ALICE, "intact", tests=OPENS, comment="one slot of type 3")
    b = box("R1 context", of(ALICE), capacity=512, context=b"ctx")
    public("R1", "x25519-with-a-context", b, ALICE, "intact", tests=OPENS + " KEY-3", comment="and a context")
    b = box("R2", of(STRONG))
    public("R2", "x-wing", b, STRONG, "intact", tests=OPENS + " KEY-21", comment="one slot of type 4")
    b = box("R3", Box.symmetric, lambda b: b.passphrase(b"one"), of(ALICE), of(STRONG), of(BOB))
    why = "slots of types 1 to 4 in one container, opened by "
    vector("R3", "by-the-key", b, stream="intact", tests="SLOT-12", comment=why + "the symmetric key")
    vector("R3", "by-the-passphrase", b, stream="intact", keys=[], passphrases=[b"one"], tests="SLOT-12",
           comment=why + "the passphrase")
    public("R3", "by-x25519", b, ALICE, "intact", tests="SLOT-25", comment=why + "the identity of type 3")
    public("R3", "by-the-second-x25519", b, BOB, "intact", tests="SLOT-25", comment=why + "another of type 3")
    public("R3", "by-x-wing", b, STRONG, "intact", tests="SLOT-25", comment=why + "the identity of type 4")
    vector("R3", "by-all", b, stream="intact", passphrases=[b"one"], identities=[BOB.identity, ALICE.identity, BOB.identity],
           needs=ONE, tests="SLOT-18 SLOT-25", comment=why + "all secrets together, one identity twice")


def wrong_ones():
    for key, other, name in ((ALICE, BOB, "x25519"), (STRONG, OTHER_STRONG, "x-wing")):
        b = box(f"R4 {name}", of(key))
        public("R4", name, b, other, "wrongKey", tests="SLOT-25 SLOT-22", comment="the identity of another recipient")
        public("R5", name, b, key, "wrongKey", context=b"other", tests="SLOT-14 KEY-4",
               comment="the right identity, another context")


def bits():
    for key, case in ((ALICE, "R6"), (STRONG, "R7")):
        for name, place in FLIPPED[key.kind]:
            b = box(case, lambda b: flip(slot(b, key), place))
            public(case, name, b, key, "wrongKey", tests="SLOT-24 SLOT-14" + (" KEY-22" if "ml-kem" in name else ""),
                   comment=f"a bit of the slot at {place} is changed, and MAC and checksum are right")


def shares():
    """Shares that are of low order, and shares that are not reduced."""
    low_8 = bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157")
    refused = (("zero", bytes(32)), ("one", (1).to_bytes(32, "little")), ("p", PRIME.to_bytes(32, "little")),
               ("p-plus-1", (PRIME + 1).to_bytes(32, "little")), ("order-8", low_8),
               ("order-8-top-bit", low_8[:31] + bytes([low_8[31] | 0x80])))
    for name, share in refused:
        for key, kind in ((ALICE, "x25519"), (STRONG, "x-wing")):
            def zeros(b):
                enc = share if key.kind == 3 else key.made[0][:1088] + share
                secret = (hpke.dhkem_secret(bytes(32), enc, key.public) if key.kind == 3 else
                          hpke.x_wing_secret(ML_KEM_SECRET, bytes(32), share, key.public[1184:]))
                return slot(b, key, made=(enc, secret))
            case = "R9" if key.kind == 3 else "R10"
            public(case, f"made-for-zeros-{name}", box(f"{case} {name}", zeros), key, "wrongKey",
                   tests="KEY-22 SLOT-14",
                   comment="a share for which X25519 gives 32 zeros, and a slot that is right if zeros are a result")
        public("R8", f"share-{name}", box(f"R8 {name}", of(ALICE, made=(share, draw("R8", name, 32)))), ALICE, "wrongKey",
               tests="KEY-22", comment="a share for which X25519 gives 32 zeros")
    # The base point 9 in other encodings: the result of X25519 is the recipient's public key.
    for name, share in (("not-reduced", (PRIME + 9).to_bytes(32, "little")),
                        ("top-bit", (9 | 1 << 255).to_bytes(32, "little"))):
        made = (share, hpke.dhkem_secret(ALICE.public, share, ALICE.public))
        public("R8", f"share-{name}", box(f"R8 {name}", of(ALICE, made=made), capacity=512), ALICE, "intact",
               tests="KEY-22", comment="a share that is not of low order but in an encoding that is not the reduced one")


def lengths():
    for key, right, name in ((ALICE, 104, "x25519"), (STRONG, 1192, "x-wing")):
        for n in (right - 1, right + 1, 0, 65000):
            case = "R11" if abs(n - right) == 1 else "R13"
            wrong = lambda b: raw_slot(key.kind, key.slot_id(b), (slot(b, key)[20:] + bytes(n))[:n])  # noqa: E731
            capacity = 4096 if n < 65000 else 2**17
            b = box(f"{case} {name} {n}", wrong, capacity=capacity)
            public(case, f"{name}-body-{n}", b, key, "wrongKey", tests="SLOT-24 SLOT-12",
                   comment=f"a body of {n} bytes: the slot is not usable, and nothing else is there")
            b = box(f"R12 {name} {n}", wrong, of(key), capacity=capacity)
            public("R12", f"{name}-body-{n}-beside-a-good-one", b, key, "intact", tests="SLOT-24 SLOT-12",
                   comment=f"a body of {n} bytes is skipped")


def transplants():
    def renamed(made, kind):
        return kind.to_bytes(2, "big") + made[2:]
    b = box("R14 3 as 4", lambda b: renamed(slot(b, ALICE), 4))
    public("R14", "type-3-called-4", b, ALICE, "wrongKey", needs=BOTH, tests="SLOT-24", comment="the type is changed")
    b = box("R14 4 as 3", lambda b: renamed(slot(b, STRONG), 3))
    public("R14", "type-4-called-3", b, STRONG, "wrongKey", tests="SLOT-24", comment="the type is changed")
    padded = Recipient(4, ALICE.public)
    b = box("R14 body", lambda b: raw_slot(4, padded.key_id(b.preamble), slot(b, ALICE)[20:] + bytes(1088)))
    public("R14", "type-3-in-a-body-of-4", b, ALICE, "wrongKey", needs=BOTH, tests="SLOT-25",
           comment="a slot of type 4 whose share is for an identity of type 3")
    first = box("R15 first", of(ALICE), capacity=512)
    b = box("R15", lambda b: first.slots[0], capacity=512)
    public("R15", "of-another-container", b, ALICE, "wrongKey", tests="SLOT-25 KEY-18",
           comment="a slot of another container for the same recipient: its key ID is another")

    def moved(source, b):
        made = source.slots[0]
        return made[:4] + ALICE.slot_id(b) + made[20:]
    b = box("R16", lambda b: moved(first, b), capacity=512)
    public("R16", "of-another-container-with-the-id", b, ALICE, "wrongKey", tests="KEY-19 KEY-20 SLOT-24",
           comment="the same with the right key ID: the ID and the preamble are in info")
    same = box("R17 first", of(ALICE), capacity=512, file_key=draw("R17", "file key", 32))
    b = box("R17", lambda b: moved(same, b), capacity=512, file_key=draw("R17", "file key", 32))
    public("R17", "of-another-container-with-the-same-k", b, ALICE, "wrongKey", tests="KEY-19 KEY-20 SLOT-24",
           comment="both containers have one K; the preamble still prevents it")
    for key, name in ((ALICE, "x25519"), (STRONG, "x-wing")):
        b = box(f"R18 {name}", of(key, file_key=draw("R18", "another K", 32)))
        public("R18", name, b, key, "wrongKey", tests="SLOT-14 KEY-4",
               comment="the slot decrypts, and holds a key to which the preamble does not commit")


def repeated_ids():
    for key, name in ((ALICE, "x25519"), (STRONG, "x-wing")):
        for order, slots in (("dead-first", (dead_for(key), of(key))), ("dead-last", (of(key), dead_for(key)))):
            b = box(f"R19 {name} {order}", *slots)
            public("R19", f"{name}-{order}", b, key, "intact", tests="SLOT-25 SLOT-7",
                   comment="two slots of one ID, one of them dead: a person with K can put it there, so both are tried")


def limits():
    def many(name, count, make, *last, capacity=16384):
        return box(f"R20 {name}", *[make(i) for i in range(count)], *last, capacity=capacity)
    mine = of(ALICE)
    b = many("64", 64, lambda i: dead_for(ALICE, str(i)), mine)
    public("R20", "64-dead-ones-before", b, ALICE, "limitExceeded", tests="SLOT-27 SLOT-22",
           comment="64 slots with the recipient's ID are tried, the 65th is left out")
    vector("R23", "64-dead-ones-and-a-key", Box("R23", 700, capacity=16384, slots=lambda b: [
        *(dead_for(ALICE, str(i))(b) for i in range(64)), slot(b, ALICE), b.symmetric()]), stream="intact",
        identities=[ALICE.identity], needs=ONE, tests="SLOT-27 SLOT-18",
        comment="a symmetric key opens, whatever is left out")
    b = many("63", 63, lambda i: dead_for(ALICE, str(i)), mine)
    public("R20", "63-dead-ones-before", b, ALICE, "intact", tests="SLOT-27", comment="the 64th slot opens")
    b = many("equal", 64, lambda i: dead_for(ALICE), mine)
    public("R20", "64-equal-dead-ones-before", b, ALICE, "limitExceeded", tests="SLOT-27 SLOT-22",
           comment="slots of equal bytes count each, although one try decides them all")
    b = many("short", 64, lambda i: lambda b: raw_slot(3, ALICE.slot_id(b), bytes(103)), mine)
    public("R20", "64-short-ones-before", b, ALICE, "intact", tests="SLOT-27 SLOT-24",
           comment="slots that are not usable do not count")
    b = many("others", 64, lambda i: dead_for(BOB, str(i)), mine)
    public("R20", "64-for-another-before", b, ALICE, "intact", tests="SLOT-27", comment="slots for others do not count")
    vector("R20", "64-for-another-identity", b, stream="limitExceeded", keys=[], needs=ONE, tests="SLOT-27 SLOT-22",
           identities=[ALICE.identity, BOB.identity],
           comment="one count for all identities: 64 dead slots for one of them leave out the slot of the other")
    b = box("R24", *[lambda b, i=i: raw_slot(3, draw("R24", f"ID {i}", 16), bytes(104)) for i in range(1000)], mine,
            capacity=2**17)
    public("R24", "1000-for-others-before", b, ALICE, "intact", tests="SLOT-27 HDR-11", comment="none of them is tried")
    b = box("R25", *[lambda b, i=i: raw_slot(4, draw("R25", f"ID {i}", 16), bytes(1192)) for i in range(863)], of(STRONG),
            capacity=2**20)
    public("R25", "864-of-type-4", b, STRONG, "intact", tests="SLOT-27", comment="as many as a header can hold")
    b = box("R28", dead_for(ALICE), mine)
    for limit, result in ((0, "limitExceeded"), (1, "limitExceeded"), (2, "intact")):
        public("R28", f"limit-{limit}", b, ALICE, result, limits={"max-public-key-slots": limit},
               tests="SLOT-27" + (" SLOT-22" if limit < 2 else ""), comment="the second slot opens; the caller's own limit")
    vector("R28", "limit-0-and-no-identity-for-it", b, stream="wrongKey", keys=[], identities=[BOB.identity], needs=ONE,
           limits={"max-public-key-slots": 0}, tests="SLOT-27 SLOT-22",
           comment="nothing was left out for which the caller has an identity")


def hidden():
    mine = of(ALICE, slot_id=hidden_id("R21"))
    public("R21", "x25519", box("R21", mine, capacity=512), ALICE, "intact", tests="SLOT-26 SLOT-25",
           comment="a hidden slot is tried with each identity of its type")
    vector("R21", "x25519-by-the-second", box("R21", mine, capacity=512), stream="intact", keys=[], needs=ONE,
           identities=[BOB.identity, ALICE.identity], tests="SLOT-26 SLOT-25", comment="the second identity opens it")
    b = box("R21 4", of(STRONG, slot_id=hidden_id("R21 4")))
    public("R21", "x-wing", b, STRONG, "intact", tests="SLOT-26 SLOT-25", comment="the same for type 4")
    foreign = [lambda b, i=i: dead(b, 3, hidden_id("R22", str(i)), str(i)) for i in range(64)]
    b = box("R22 64", *foreign, mine, capacity=16384)
    public("R22", "64-of-others-before", b, ALICE, "limitExceeded", tests="SLOT-27 SLOT-26 SLOT-22",
           comment="64 hidden slots are tried, the 65th is left out")
    b = box("R22 63", *foreign[1:], mine, capacity=16384)
    public("R22", "63-of-others-before", b, ALICE, "intact", tests="SLOT-27 SLOT-26", comment="the 64th is tried")
    b = box("R22 shown", *foreign, of(ALICE), capacity=16384)
    public("R22", "64-of-others-and-one-shown", b, ALICE, "intact", tests="SLOT-27 SLOT-26",
           comment="hidden slots and those with an ID are counted apart")
    public("R23", "64-hidden-and-a-key", box("R23 hidden", *foreign, mine, Box.symmetric, capacity=16384), ALICE, "intact",
           keys=[draw("R23 hidden", "user key", 32)], tests="SLOT-27 SLOT-18",
           comment="a symmetric key opens, whatever is left out")
    b = box("R26", lambda b: slot(b, ALICE, slot_id=bytes(7) + b"\1" + bytes(8)), capacity=512)
    public("R26", "seven-zeros", b, ALICE, "wrongKey", tests="SLOT-26 SLOT-25",
           comment="an ID that begins with 7 zeros is not hidden, and it is not the recipient's: not tried")
    b = box("R26 eight", lambda b: slot(b, ALICE, slot_id=bytes(16)), capacity=512)
    public("R26", "sixteen-zeros", b, ALICE, "intact", tests="SLOT-26", comment="the other 8 bytes may be anything")
    b = box("R27", mine, capacity=512)
    public("R27", "identity-of-another-type", b, STRONG, "wrongKey", needs=BOTH, tests="SLOT-25 SLOT-27",
           comment="a hidden slot of type 3, and an identity of type 4 alone: not tried and not counted")
    b = box("R27 counted", *foreign, of(STRONG, slot_id=hidden_id("R27")), capacity=16384)
    public("R27", "64-hidden-of-another-type", b, STRONG, "intact", tests="SLOT-27",
           comment="hidden slots of a type for which there is no identity do not count")


def forgeries():
    b = box("R29", lambda b: flip(slot(b, ALICE), 123), capacity=512, file_key=bytes(32))
    public("R29", "zero-file-key", b, ALICE, "wrongKey", tests="SLOT-14",
           comment="K is zeros, MAC and commitment are right, the tag is wrong")
    good = Box("R30", 700, capacity=512)
    b = Box("R30", 700, capacity=512)
    b.both(lambda copy: summed(good.copy(slots=[good.symmetric(), slot(good, ALICE, file_key=bytes(32))])[:-64]
                               + copy[-64:-32] + bytes(32)))
    vector("R30", "added-without-k", b, stream="headerForged", seek="headerForged", needs=ONE, identities=[ALICE.identity],
           tests="STR-8 SEEK-16", comment="an outsider adds a slot for a public key, and the MAC is the old one")
    public("R30", "added-without-k-by-the-recipient", b, ALICE, "wrongKey", tests="SLOT-14",
           comment="the same for the new recipient: the slot holds another K")
    whole = box("R31", of(ALICE), of(STRONG))
    b = box("R31", of(ALICE), of(STRONG))
    b.both(lambda copy: summed(whole.copy(slots=whole.slots[:1])[:-64] + copy[-64:-32] + bytes(32)))
    public("R31", "strong-slot-dropped", b, ALICE, "headerForged", needs=ONE, tests="STR-8 SEEK-16",
           comment="an outsider drops the slot of type 4 in both copies")


def two_copies():
    b = box("R32", of(BOB))
    b.tail = b.copy(slots=[*b.slots, slot(b, ALICE)], generation=2)
    public("R32", "only-in-the-tail", b, ALICE, "wrongKey", seek="rotationUnfinished", tests="SEEK-13 SEEK-17",
           comment="the newer tail has the slot, the front has not")
    b = box("R33", of(BOB))
    b.tail = summed(b.copy(slots=[slot(b, ALICE)], generation=2)[:-64] + bytes(64))
    public("R33", "old-slot-in-a-forged-tail", b, ALICE, "wrongKey", seek="headerForged", tests="SEEK-16",
           comment="an outsider puts an old slot into the tail: its identity does not get in")
    vector("R33", "old-slot-in-a-forged-tail-and-the-new-identity", b, stream="tailDamaged", keys=[], needs=ONE,
           identities=[ALICE.identity, BOB.identity], tests="SEEK-16 SEEK-17 STR-25",
           comment="the old slot opens first, and then the slot of the valid copy")
    b = box("R33 limits", *[dead_for(ALICE, str(i)) for i in range(2)], of(ALICE))
    b.tail = b.copy(slots=[b.slots[2]], generation=2)
    public("R33", "within-the-limit-in-one-copy", b, ALICE, "limitExceeded", seek="rotationUnfinished",
           limits={"max-public-key-slots": 2}, tests="SLOT-27 SLOT-20 SEEK-17",
           comment="a slot that is within the limit in one copy may be tried wherever it is")
    b = box("R33 both", dead_for(ALICE, "0"), of(ALICE))
    b.tail = b.copy(slots=[dead_for(ALICE, "1")(b), b.slots[1]], generation=2)
    public("R33", "left-out-in-both-copies", b, ALICE, "limitExceeded", limits={"max-public-key-slots": 1},
           tests="SLOT-27 SLOT-22", comment="each copy is judged alone: its second slot is left out in both")


def without_x_wing():
    b = box("R34", of(STRONG))
    public("R34", "alone", b, STRONG, "wrongKey", needs="no-x-wing", tests="SLOT-24 SLOT-22",
           comment="a slot of type 4 in a system that lacks X-Wing: not usable, and the container is not refused for it")
    b = box("R34 beside", of(STRONG), of(ALICE))
    vector("R34", "beside-x25519", b, stream="intact", keys=[], identities=[STRONG.identity, ALICE.identity],
           needs="x25519 no-x-wing", tests="SLOT-24", comment="the same beside a slot of type 3")
    b = box("R34 hidden", *[lambda b, i=i: dead(b, 4, hidden_id("R34", str(i)), str(i)) for i in range(2)],
            of(ALICE, slot_id=hidden_id("R34")))
    vector("R34", "does-not-count", b, stream="intact", keys=[], identities=[STRONG.identity, ALICE.identity],
           needs="x25519 no-x-wing", limits={"max-public-key-slots": 1}, tests="SLOT-24 SLOT-27",
           comment="slots that are not usable do not count")


def both_types():
    """SLOT-27 has one count for types 3 and 4, and another for hidden slots."""
    dead_ones = [*(dead_for(ALICE, str(i)) for i in range(63)), lambda b: raw_slot(4, STRONG.slot_id(b), bytes(1192))]
    both = dict(keys=[], identities=[ALICE.identity, STRONG.identity], needs=BOTH)
    b = box("R35", *dead_ones, of(ALICE), capacity=16384)
    vector("R35", "64-of-both-types-before", b, stream="limitExceeded", tests="SLOT-27 SLOT-22", **both,
           comment="63 dead slots of type 3 and one of type 4: a reader that counts each type apart opens the next one")
    vector("R35", "64-of-both-types-and-one-identity", b, stream="intact", keys=[], identities=[ALICE.identity], needs=BOTH,
           tests="SLOT-27", comment="the slot of type 4 does not count for a caller without its identity")
    b = box("R35 hidden", *[lambda b, i=i: dead(b, 3, hidden_id("R35", str(i)), str(i)) for i in range(63)],
            lambda b: raw_slot(4, hidden_id("R35", "4"), bytes(1192)), of(ALICE, slot_id=hidden_id("R35")), capacity=16384)
    vector("R35", "64-hidden-of-both-types-before", b, stream="limitExceeded", tests="SLOT-27 SLOT-26 SLOT-22", **both,
           comment="the same with hidden slots")
    b = box("R35 ID", *[lambda b, i=i: raw_slot(4, ALICE.slot_id(b), bytes([i]) * 1192) for i in range(64)], of(ALICE),
            capacity=2**17)
    vector("R35", "64-of-another-type-with-the-id", b, stream="intact", tests="SLOT-25 SLOT-27", **both,
           comment="slots of type 4 with the ID of an identity of type 3: a reader that compares IDs alone counts them")
    b = box("R35 copies", *[dead_for(ALICE, str(i)) for i in range(64)], capacity=16384)
    b.tail = b.copy(slots=[*(dead_for(ALICE, str(i))(b) for i in range(64, 127)), slot(b, ALICE)], generation=2)
    public("R35", "each-copy-counts-alone", b, ALICE, "wrongKey", seek="rotationUnfinished", tests="SLOT-27 SEEK-17",
           comment="64 slots in each copy are tried: a reader that counts over both leaves half of them out")


def recovered():
    b = box("I19 x25519", of(ALICE))
    recovery("x25519", b, data=flip(b.bytes(), 20), keys=[], identities=[ALICE.identity], needs=ONE, tests="RECOV-3",
             comment="the front is damaged, and the tail has a slot of type 3")
    mine, others = slot(b, ALICE, "mine"), [dead_for(ALICE, str(i))(b) for i in range(3)]
    first, second = b.copy(slots=others[:2]), b.copy(slots=[others[2], mine], generation=2)
    data = first + b.bytes()[4096:-4128] + second + b.bytes()[-32:]
    recovery("x25519-within-the-limit-of-all-candidates", b, data=data, keys=[], identities=[ALICE.identity], needs=ONE,
             limits={"max-public-key-slots": 4}, tests="RECOV-3 SLOT-27",
             comment="two candidates with two slots each: four tries")
    recovery("x25519-beyond-the-limit-of-all-candidates", b, data=data, keys=[], identities=[ALICE.identity], needs=ONE,
             limits={"max-public-key-slots": 3}, result="limitExceeded", tests="RECOV-3 RECOV-5 SLOT-27",
             comment="the counts are over all candidates, so the fourth slot is left out")
    recovery("x25519-of-a-named-candidate", b, data=data, keys=[], identities=[ALICE.identity], needs=ONE,
             limits={"max-public-key-slots": 2}, header=b.t, tests="RECOV-6 SLOT-27",
             comment="the caller names a candidate, and only its slots count")
    again = b.copy(slots=[others[0], others[1], mine], generation=2)
    data = first + b.bytes()[4096:-4128] + again + b.bytes()[-32:]
    recovery("x25519-equal-slots-of-two-candidates", b, data=data, keys=[], identities=[ALICE.identity], needs=ONE,
             limits={"max-public-key-slots": 3}, tests="RECOV-3 SLOT-27",
             comment="a slot that an earlier candidate has too counts once")
