"""Group D: two header copies that differ."""

from collide import collided
from forge import Box, draw, flip, join, patched, record_nonce, summed, u16, u32, u64
from vector import vector


def make():
    two_file_keys()
    two_capacities()
    generations()
    front_and_tail_torn()
    slots_pasted_back()
    malformed_copies()
    other_containers()
    single_bits()


def two_file_keys():
    first = Box("D1", 700)
    second = Box("D1 second", 700, file_id=first.file_id)
    keys = [first.stream_key, second.stream_key]
    head, nonce = b"\1" + (700).to_bytes(3, "big"), record_nonce(first.file_id, 0)
    first.records = [head + collided("D1 record", keys, nonce, head, 700, [5])]
    first.plaintext = opened(first, first.records[0], 0)
    # Under the first key the manifest is well formed: the free block is in an unknown member.
    head, nonce = b"\2" + (512).to_bytes(3, "big"), record_nonce(first.file_id, 1)
    text = join([(1, first.commitment), (2, u64(700)), (0x8010, bytes(400))])
    fixed = bytes(a ^ b for a, b in zip(text, first.keystream(1, 512)))
    for i in range(64, 450, 16):
        try:
            first.manifest = head + collided("D1 manifest", keys, nonce, head, 512, [i // 16], fixed)
            break
        except AssertionError:
            continue
    first.tail = second.front
    why = "front and tail commit to two file keys under which all records decrypt: two readers would see two contents"
    vector("D1", "two-file-keys-by-the-first", first, stream="copiesDisagree", released=700, comment=why,
           tests="SEEK-8 STR-23")
    vector("D1", "two-file-keys-by-the-second", first, keys=[second.user_key], stream="wrongKey", seek="copiesDisagree",
           tests="SEEK-8", comment=why)


def opened(box, record, index):
    """A record's plaintext: the ciphertext under the keystream."""
    return bytes(a ^ b for a, b in zip(record[4:-16], box.keystream(index, len(record) - 20)))


def two_capacities():
    x, y = Box("D2 small", 492), Box("D2", 5000, capacity=1024)
    data = x.front + x.records[0] + y.bytes()[1024:]
    assert len(data) == len(y.bytes())
    why = "a front of 512 with its own record, in a container for another key whose header copies have 1,024"
    vector("D2", "front-of-its-own-capacity-by-its-key", x, data=data, stream="E", seek="copiesDisagree", released=492,
           tests="SEEK-8 HDR-17", comment=why)
    vector("D2", "front-of-its-own-capacity-by-the-other-key", y, data=data, stream="E", seek="copiesDisagree",
           tests="SEEK-8 HDR-17", comment=why)
    b = Box("D3", 5000, capacity=1024)
    small = b.copy(capacity=512) + bytes(512)
    b.tail = small
    vector("D3", "tail-of-a-smaller-capacity", b, stream="copiesDisagree", released=5000,
           tests="SEEK-6 SEEK-8 STR-20 STR-23",
           comment="the same file key, and a valid tail that says it has 512 bytes in the place of 1,024")
    b = Box("D3 front", 5000, capacity=1024)
    b.front = small_copy(b)
    vector("D3", "front-of-a-smaller-capacity", b, stream="E", seek="copiesDisagree", released=0,
           tests="SEEK-8 HDR-17",
           comment="the same file key, and a valid front that says it has 512 bytes in the place of 1,024")
    b = Box("D4", 5000, capacity=1024)
    b.front, b.tail = small_copy(b), bytes(1024)
    vector("D4", "front-of-a-smaller-capacity-tail-damaged", b, stream="E", seek="footerDamaged", released=0,
           tests="FOOT-7 HDR-17 SEEK-10",
           comment="a valid front of 512 where the footer says 1,024: not damaged, for a stream takes it, so refused")
    b = Box("D4 malformed", 5000, capacity=1024)
    b.front, b.tail = b.copy(capacity=512, reserved=1) + bytes(512), bytes(1024)
    vector("D4", "front-of-a-smaller-capacity-and-malformed", b, stream="headerMalformed", seek="footerDamaged",
           tests="FOOT-7 HDR-12 SEEK-10", comment="the same with a front of a wrong form: a seeking reader compares "
           "capacities before it looks at forms, and a stream has no footer yet")
    b = Box("D5", 400)
    data = b.freeze().bytes()
    data = patched(data, 64, u32(1024))
    data = summed(data[:1024]) + data[1024:]
    vector("D5", "front-summed-over-ciphertext", b, data=data, stream="E", seek="copiesDisagree",
           tests="SEEK-8 HDR-16 HDR-17",
           comment="the front says 1,024 and has a right checksum there, in the manifest record: intact, "
                   "whatever lies there")


def small_copy(b):
    return b.copy(capacity=512) + bytes(512)


def generations():
    def two(seed, front, tail, *, same=False):
        """A box with an old state (one key) and a new one (another key), in the generations given."""
        b = Box(seed, 5000)
        new = draw(seed, "new key", 32)
        slots = {"old": [b.symmetric()], "new": [b.symmetric(new)], "both": [b.symmetric(), b.symmetric(new)]}
        b.front = b.copy(slots=slots[front[0]], generation=front[1])
        b.tail = b.copy(slots=slots[tail[0]], generation=tail[1])
        return b, new

    b, _ = two("D6", ("old", 3), ("both", 3))
    vector("D6", "equal-generation-different-slots", b, stream="copiesConflict", tests="SEEK-17 STR-27",
           comment="two valid copies of one generation with different slots: no crash leaves this")
    b, new = two("D7", ("both", 4), ("old", 3))
    vector("D7", "front-newer", b, stream="copiesConflict", tests="SEEK-17 STR-27",
           comment="the front is newer than the tail: rotation writes the tail first")
    vector("D7", "front-newer-by-its-key", b, keys=[new], stream="copiesConflict", tests="SEEK-13 SEEK-17 STR-27",
           comment="the front is newer than the tail; the caller's key stands in the front alone")
    b, new = two("D8", ("old", 3), ("new", 4))
    why = "the tail is one newer, with another key: a rotation that a crash stopped between its two writes"
    vector("D8", "tail-one-newer-by-the-old-key", b, stream="rotationUnfinished", tests="SEEK-17 STR-26", comment=why)
    vector("D8", "tail-one-newer-by-the-new-key", b, keys=[new], stream="wrongKey", seek="rotationUnfinished",
           tests="SEEK-13 SEEK-17 SLOT-22", comment=why)
    b, _ = two("D8 same slots", ("old", 3), ("old", 4))
    vector("D8", "tail-one-newer-with-equal-slots", b, stream="rotationUnfinished", tests="SEEK-17 STR-26",
           comment="the tail is one newer and holds the same slots")
    b, _ = two("D8 highest", ("old", 2**32 - 2), ("both", 2**32 - 1))
    vector("D8", "tail-one-newer-at-the-highest-generation", b, stream="rotationUnfinished", tests="SEEK-17 STR-26",
           comment="the tail has the highest generation, the front one less")
    b, _ = two("D9", ("old", 3), ("both", 5))
    vector("D9", "tail-two-newer", b, stream="copiesConflict", tests="SEEK-17 STR-27",
           comment="the tail is two newer: two rotations with nothing between them in the front")
    b, _ = two("D9 wrapped", ("old", 2**32 - 1), ("both", 1))
    vector("D9", "tail-newer-by-wraparound", b, stream="copiesConflict", tests="SEEK-17 STR-27",
           comment="the front has the highest generation, the tail the first: two apart, and one only if 32 bits wrap")
    b, new = two("D10", ("old", 3), ("new", 3))
    vector("D10", "equal-generation-key-only-in-the-tail", b, keys=[new], stream="wrongKey", seek="copiesConflict",
           tests="SEEK-13 SEEK-17 SLOT-22",
           comment="two valid copies of one generation; the caller's key stands in the tail alone")
    for name, front, tail, health in (
            ("front-newer", 7, 5, "copiesConflict"), ("tail-one-newer", 5, 6, "rotationUnfinished"),
            ("tail-two-newer", 5, 7, "copiesConflict")):
        b, _ = two(f"D23 {name}", ("old", front), ("both", tail))
        vector("D23", f"two-older-states-{name}", b, stream=health,
               tests="SEEK-17 STR-26" if health == "rotationUnfinished" else "SEEK-17 STR-27",
               comment="both copies are older states of the container, put together by a rollback: judged as "
                       "they stand")


def front_and_tail_torn():
    b = Box("D11", 5000)
    b.front = bytes(512)
    vector("D11", "front-zeroed", b, stream="notVaultfile", seek="frontDamaged", tests="HDR-2 STR-2 HDR-17 SEEK-17",
           comment="the front is lost, zeros in its place: the tail opens for who can seek")

    def states(seed):
        b = Box(seed, 5000, capacity=4096)
        more = [b.symmetric(), b.symmetric(draw(seed, "new key", 32))]
        return b, b.copy(), b.copy(slots=more, generation=2)

    for cut in range(512, 4096, 512):
        b, old, new = states(f"D12 {cut}")
        b.front, b.tail = new[:cut] + old[cut:], new
        vector("D12", f"front-torn-new-up-to-{cut}", b, stream="headerDamaged", seek="frontDamaged",
               tests="HDR-17 STR-4 SEEK-17",
               comment="a crash while the front was written: its first sectors are new, the rest old")
        b, old, new = states(f"D12 {cut} from")
        b.front, b.tail = old[:cut] + new[cut:], new
        vector("D12", f"front-torn-new-from-{cut}", b, stream="headerDamaged", seek="frontDamaged",
               tests="HDR-17 STR-4 SEEK-17",
               comment="a crash while the front was written: its last sectors are new, the rest old")
        b, old, new = states(f"D13 {cut}")
        b.front, b.tail = old, new[:cut] + old[cut:]
        vector("D13", f"tail-torn-new-up-to-{cut}", b, stream="tailDamaged", tests="HDR-17 SEEK-17 STR-22",
               comment="a crash while the tail was written: its first sectors are new, the rest old")
        b, old, new = states(f"D13 {cut} from")
        b.front, b.tail = old, old[:cut] + new[cut:]
        vector("D13", f"tail-torn-new-from-{cut}", b, stream="tailDamaged", tests="HDR-17 SEEK-17 STR-22",
               comment="a crash while the tail was written: its last sectors are new, the rest old")
    b, old, new = states("D12 first sector")
    b.front = draw("D12", "first sector", 512) + old[512:]
    vector("D12", "front-first-sector-overwritten", b, stream="notVaultfile", seek="frontDamaged",
           tests="HDR-2 STR-2 HDR-17 SEEK-17", comment="another program overwrote the first sector")
    b = Box("D13", 5000)
    b.tail = bytes(512)
    vector("D13", "tail-zeroed", b, stream="tailDamaged", tests="HDR-17 SEEK-17 STR-22",
           comment="the tail is lost, zeros in its place")
    b = Box("D14", 5000).both(lambda copy: flip(copy, 100))
    vector("D14", "both-damaged", b, stream="headerDamaged", tests="HDR-17 SEEK-7",
           comment="both copies are damaged: only recover may look for another")
    b = Box("D14 zeroed", 5000).both(lambda copy: bytes(512))
    vector("D14", "both-zeroed", b, stream="notVaultfile", seek="headerDamaged", tests="HDR-2 STR-2 HDR-17 SEEK-7",
           comment="both copies are lost: the end magic still says what the file is")
    b = Box("D15", 5000)
    b.front = summed(flip(b.copy(), -64))
    b.tail = summed(flip(b.copy(generation=2), -40))
    vector("D15", "mac-of-both-forged", b, stream="headerForged", tests="HDR-15 HDR-18 SEEK-15 SEEK-16",
           comment="both copies are intact, of two generations, and neither is valid")


def slots_pasted_back():
    def pasted(seed):
        b = Box(seed, 5000, generation=2)
        removed = draw(seed, "removed key", 32)
        both = b.copy(slots=[b.symmetric(), b.symmetric(removed)])
        return b, removed, summed(both[:-64] + b.front[-64:])

    why = "a removed slot pasted back beside the others without the file key"
    b, removed, copy = pasted("D16")
    b.front = copy
    vector("D16", "removed-slot-in-the-front-by-its-key", b, keys=[removed], stream="headerForged",
           tests="STR-8 SEEK-16", comment=why + ", in the front: its key gets nothing from it")
    vector("D16", "removed-slot-in-the-front-by-another-key", b, stream="headerForged", seek="frontDamaged",
           tests="STR-8 SEEK-16 SEEK-17", comment=why + ", in the front; the others open by the tail")
    b, removed, copy = pasted("D17")
    b.tail = copy
    vector("D17", "removed-slot-in-the-tail-by-its-key", b, keys=[removed], stream="wrongKey", seek="headerForged",
           tests="SEEK-16", comment=why + ", in the tail: its key gets nothing from it")
    vector("D17", "removed-slot-in-the-tail-by-another-key", b, stream="tailDamaged",
           tests="STR-25 SEEK-16 SEEK-17", comment=why + ", in the tail; the others open by the front")


def malformed_copies():
    b = Box("D18", 5000)
    b.tail = b.copy(reserved=1)
    vector("D18", "tail-reserved-1-mac-right", b, stream="headerMalformed", released=5000,
           tests="HDR-12 HDR-19 SEEK-11 STR-24",
           comment="an intact tail that breaks the form, MAC right: a defect of its maker's, not damage")
    b = Box("D18 mac", 5000)
    b.tail = summed(patched(b.tail, 74, u16(1)))
    vector("D18", "tail-reserved-1-mac-wrong", b, stream="headerMalformed", released=5000,
           tests="HDR-12 HDR-19 SEEK-11 STR-24",
           comment="an intact tail that breaks the form, MAC wrong: the form is judged before the MAC")
    b = Box("D19", 5000)
    b.front = b.copy(reserved=1)
    vector("D19", "front-reserved-1", b, stream="headerMalformed", tests="HDR-12 HDR-19 STR-6 SEEK-11",
           comment="an intact front that breaks the form beside a good tail: no falling back")


def other_containers():
    def pair(seed):
        b = Box(seed, 5000)
        return b, Box(f"{seed} other", 5000, user_key=b.user_key)

    b, x = pair("D20")
    b.front, b.tail = flip(b.front, 100), x.tail
    vector("D20", "front-damaged-tail-of-another-container", b, stream="headerDamaged", seek="recordDamaged",
           tests="HDR-17 STR-4 SEEK-21",
           comment="a damaged front, and the tail of another container of the same user key and size")
    b, x = pair("D21")
    b.front = x.front
    vector("D21", "front-of-another-container", b, stream="recordDamaged", released=0, seek="copiesDisagree",
           tests="REC-7 STR-10 SEEK-8", comment="the front of another container of the same user key")
    b, x = pair("D22")
    b.tail = x.tail
    vector("D22", "tail-of-another-container", b, stream="copiesDisagree", released=5000,
           tests="SEEK-8 STR-23", comment="the tail of another container of the same user key")


def single_bits():
    for what, offset in (("capacity", 66), ("version", 9), ("file-id", 20), ("checksum", -1), ("slots", 130),
                         ("padding", 300)):
        b = Box(f"D24 {what}", 5000)
        b.front = flip(b.front, offset)
        vector("D24", f"{what}-bit-front-not-summed", b, stream="headerDamaged", seek="frontDamaged",
               tests="HDR-17 SEEK-17 STR-3" if what == "capacity" else "HDR-17 SEEK-17 STR-4",
               comment=f"one bit of the front's {what} flipped: damage, whatever it hits")
        b = Box(f"D24 {what} tail", 5000)
        b.tail = flip(b.tail, offset)
        vector("D24", f"{what}-bit-tail-not-summed", b, stream="tailDamaged",
               tests="HDR-17 SEEK-17 STR-22", comment=f"one bit of the tail's {what} flipped: damage, whatever it hits")
