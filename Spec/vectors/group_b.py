"""Group B: the header copy except its slots."""

from forge import Box, draw, flip, header_mac_key, patched, raw_slot, summed, u32
from vector import vector


def make():
    capacity()
    form()
    slot_area()
    mac_and_checksum()
    changed_without_the_key()


def capacity():
    def stated(n):
        return lambda copy: summed(patched(copy, 64, u32(n)))

    for n in (0, 256, 513, 768, (1 << 20) + 512, 1 << 21):
        b = Box(f"B1 {n}").both(stated(n))
        vector("B1", f"capacity-{n}-both", b, stream="headerDamaged", tests="HDR-9 HDR-17 STR-3 SEEK-7",
               comment=f"capacity {n} in both copies: no copy has such a place for its checksum, so both are damaged")
        b = Box(f"B2 {n}").freeze().both(stated(n))
        b.footer = patched(b.footer, 16, u32(n))
        vector("B2", f"capacity-{n}-both-and-footer", b, stream="headerDamaged", seek="footerDamaged",
               tests="HDR-9 STR-3 FOOT-3", comment=f"capacity {n} in both copies and in the footer")
    for n in (256, 513, 768, (1 << 20) + 512, 1 << 21):
        b = Box(f"B2 {n} forged", 1100, capacity=n)
        vector("B2", f"capacity-{n}-forged", b, stream="headerDamaged", seek="footerDamaged",
               tests="HDR-9 STR-3 FOOT-3",
               comment=f"a container of capacity {n}, all else right for it: a reader that skips the check opens it")
    for n in (513, 1024):
        b = Box(f"B1 {n} front", 5000)
        b.front = stated(n)(b.front)
        vector("B1", f"capacity-{n}-front-summed", b, stream="headerDamaged", seek="frontDamaged",
               tests="HDR-9 HDR-17 SEEK-17" + (" STR-3" if n == 513 else " HDR-16 STR-4"),
               comment=f"capacity {n} in the front of a 512 container, summed at the old place")
        b = Box(f"B1 {n} tail", 5000)
        b.tail = stated(n)(b.tail)
        vector("B1", f"capacity-{n}-tail-summed", b, stream="tailDamaged", tests="HDR-9 HDR-17 STR-20 STR-22 SEEK-17",
               comment=f"capacity {n} in the tail of a 512 container, summed at the old place")
    b = Box("B3").both(stated(65536))
    vector("B3", "capacity-larger-than-the-file-both", b, stream="truncated", seek="headerDamaged",
           tests="HDR-17 STR-1 SEEK-7", comment="a capacity of 65,536 in a file of 2,592 bytes")
    b = Box("B3 footer").both(stated(65536))
    b.footer = b.footer_with(c=65536)
    vector("B3", "capacity-larger-than-the-file-both-and-footer", b, stream="truncated", seek="footerDamaged",
           tests="STR-1 FOOT-5", comment="a capacity of 65,536 in a file of 2,592 bytes, the footer agrees")
    b = Box("B4").both(stated(0xFFFFFFFF))
    vector("B4", "capacity-4-gib-both", b, stream="headerDamaged", tests="HDR-9 STR-3 CAP-3",
           comment="capacity 0xFFFFFFFF: refused before memory is taken for it")
    b = Box("B5").both(stated(1024))
    vector("B5", "capacity-1024-summed-at-512", b, stream="headerDamaged", tests="HDR-16 HDR-17 STR-4 SEEK-7",
           comment="capacity 1,024 in both copies of a 512 container, summed at the old place: the place of the "
                   "checksum "
                   "is given by the copy's own capacity and nothing else")


def form():
    b = Box("B6").both_copies(generation=0)
    vector("B6", "generation-0", b, stream="headerMalformed", tests="HDR-10",
           comment="generation 0: a new container has 1, and nothing is older")
    for n in (0, 1025, 65535):
        b = Box(f"B7 {n}").both_copies(count=n)
        vector("B7", f"slot-count-{n}", b, stream="headerMalformed", tests="HDR-11",
               comment=f"slot count {n} over one slot")
    b = Box("B7 none").both_copies(slots=[])
    vector("B7", "slot-count-0-and-no-slot", b, stream="headerMalformed", tests="HDR-11",
           comment="no slot at all, and a count that says so: nobody could open it")
    b = Box("B7 many", capacity=32768, slots=lambda b: [b.symmetric()] + [raw_slot(0x7000, bytes(16), b"")] * 1024)
    vector("B7", "slot-count-1025-that-fit", b, stream="headerMalformed", tests="HDR-11",
           comment="1,025 slots, all there: one more than the cap")
    for n in (1, 0x8000):
        b = Box(f"B8 {n}").both_copies(reserved=n)
        vector("B8", f"reserved-{n}", b, stream="headerMalformed", tests="HDR-12",
               comment="the reserved field is not zero: an ignored field is a place to hide bytes")
    for case, where, offset in (("B9", "right-behind-the-slots", 76 + 92), ("B10", "right-before-the-mac", 512 - 65)):
        b = Box(case).both_copies(patches=[(offset, b"\1")])
        vector(case, f"padding-byte-{where}", b, stream="headerMalformed", tests="HDR-14",
               comment=f"a padding byte that is not zero, {where.replace('-', ' ')}")


def slot_area():
    b = Box("B11")
    room = 512 - 64 - 76 - 92 - 20
    slot = raw_slot(0x7000, draw("B11", "ID", 16), draw("B11", "body", room), room + 1)
    b.both_copies(slots=[b.symmetric(), slot])
    vector("B11", "slots-end-inside-the-mac", b, stream="headerMalformed", tests="HDR-13",
           comment="the last slot's body ends one byte inside the MAC: a slot that changes with the MAC over it")
    b = Box("B12").both_copies(count=2)
    vector("B12", "slot-count-one-too-high", b, stream="headerMalformed", tests="HDR-13 SLOT-4",
           comment="the count is one too high: zeros are parsed as a slot of type 0")
    b = Box("B13")
    b.both_copies(slots=[b.symmetric(), b.symmetric(draw("B13", "other key", 32))], count=1)
    vector("B13", "slot-count-one-too-low", b, stream="headerMalformed", tests="HDR-13 HDR-14",
           comment="the count is one too low: the bytes of the last slot stand in the padding")
    b = Box("B14")
    full = [b.symmetric(), raw_slot(0x7000, draw("B14", "ID", 16), draw("B14", "body", room))]
    b.both_copies(slots=full, count=3)
    vector("B14", "full-copy-and-count-one-too-high", b, stream="headerMalformed", tests="HDR-13",
           comment="slots that fill the copy to its last byte, and a count of one more: the next would be parsed "
                   "from the MAC")


def mac_and_checksum():
    def mac_bit(copy):
        return summed(flip(copy, -64))

    b = Box("B15").both(mac_bit)
    vector("B15", "mac-bit-both", b, stream="headerForged", tests="HDR-15 HDR-18 STR-8 SEEK-15 SEEK-16",
           comment="a bit of the MAC flipped in both copies, summed: no copy is valid")
    b = Box("B16", 5000)
    b.tail = mac_bit(b.tail)
    vector("B16", "mac-bit-tail", b, stream="tailDamaged", tests="HDR-15 HDR-18 SEEK-17 STR-25",
           comment="a bit of the tail's MAC flipped, summed: a copy that is not valid counts as damaged")
    b = Box("B17", 5000)
    b.front = mac_bit(b.front)
    vector("B17", "mac-bit-front", b, stream="headerForged", seek="frontDamaged",
           tests="HDR-15 HDR-18 STR-8 SEEK-17 SEEK-16",
           comment="a bit of the front's MAC flipped, summed: the stream stops, who can seek opens by the tail")
    b = Box("B18")
    b.both_copies(mac_key=header_mac_key(b.file_key, b.preamble, b"another context"))
    vector("B18", "mac-of-another-context", b, stream="headerForged", tests="HDR-15 HDR-18 KEY-5 KEY-6",
           comment="the MAC is made with the header-MAC key of another context")
    b = Box("B18 stream")
    b.both_copies(mac_key=b.stream_key)
    vector("B18", "mac-under-the-stream-key", b, stream="headerForged", tests="HDR-15 HDR-18 KEY-5 KEY-6",
           comment="the MAC is made with the stream key: two uses of one key")
    b = Box("B19").both(lambda copy: flip(copy, -1))
    vector("B19", "checksum-bit-both", b, stream="headerDamaged", tests="HDR-16 HDR-17 STR-4 SEEK-7",
           comment="a bit of the checksum flipped in both copies")


def changed_without_the_key():
    b = Box("B20", 5000).both(lambda copy: summed(patched(copy, 68, u32(2))))
    vector("B20", "generation-plus-one-both-summed", b, stream="headerForged",
           tests="HDR-15 HDR-18 STR-8 SEEK-15 SEEK-16",
           comment="the generation raised without the file key, checksum right: not a byte may be released "
                   "before the MAC")
    b = Box("B21")
    mine, other = b.symmetric(), b.symmetric(draw("B21", "other key", 32))
    kept = b.copy(slots=[mine])
    b.both_copies(slots=[mine, other]).both(lambda copy: summed(kept[:-64] + copy[-64:]))
    vector("B21", "other-slot-dropped-both-summed", b, stream="headerForged",
           tests="HDR-15 HDR-18 STR-8 SEEK-15 SEEK-16",
           comment="another holder's slot dropped without the file key: would lock him out for ever at the next "
                   "rotation")
    b = Box("B22")
    more = b.copy(slots=[b.symmetric(), raw_slot(0x7000, draw("B22", "ID", 16), draw("B22", "body", 40))])
    b.both(lambda copy: summed(more[:-64] + copy[-64:]))
    vector("B22", "unknown-slot-added-both-summed", b, stream="headerForged",
           tests="HDR-15 HDR-18 STR-8 SEEK-15 SEEK-16",
           comment="a slot of unknown type added without the file key")
    b = Box("B23", 5000)
    b.front = summed(patched(b.front, 68, b"\xff" * 4))
    vector("B23", "highest-generation-front-summed", b, stream="headerForged", seek="frontDamaged",
           tests="HDR-15 HDR-18 STR-8 SEEK-17 SEEK-16",
           comment="the highest generation in the front without the file key: tried first, found not valid, "
                   "passed over")
    b, x = Box("B24", 5000), Box("B24 other", 5000, user_key=Box("B24").user_key)
    b.front = b.tail = x.front
    vector("B24", "header-of-another-container-both", b, stream="recordDamaged", released=0,
           tests="REC-7 STR-10 SEEK-21",
           comment="both copies of another container of the same user key: it opens, but no record is its own")
    x = Box("B24 chunk", 5000, log2=16, user_key=b.user_key)
    b.front = b.tail = x.front
    vector("B24", "header-of-another-chunk-size-both", b, stream="E", released=0, tests="REC-7 STR-10",
           comment="both copies of another container of the same user key with larger chunks")
    x = Box("B24 capacity", 5000, capacity=1024, user_key=b.user_key)
    good = Box("B24", 5000)
    vector("B24", "header-of-another-capacity-both", b, data=x.front + good.bytes()[512:good.t] + x.tail
           + good.footer_with(), stream="E", released=0, tests="REC-7 STR-10",
           comment="both copies of another container of the same user key with a larger header")
    for what, offset, bit in (("commitment-bit", 40, 3), ("file-id-bit", 20, 3), ("chunk-16-to-17", 12, None),
                              ("compression-0-to-1", 13, None)):
        b = Box(f"B25 {what}", log2=16)

        def change(copy):
            return summed(flip(copy, offset, bit) if bit else patched(copy, offset, bytes([copy[offset] + 1])))
        b.both(change)
        vector("B25", f"{what}-both-summed", b, stream="wrongKey", tests="KEY-4 SLOT-13 SLOT-14 SLOT-22",
               comment=f"{what.replace('-', ' ')} in both copies, summed: the preamble is bound to every slot and to K")
