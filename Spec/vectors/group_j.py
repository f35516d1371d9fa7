"""Group J: single ranges, and the caller's maxima for the plaintext and for the chunks."""

from deflate import run
from forge import Box, draw, flip
from group_h import Packed, deflated, index, item
from vector import operation, reading, recovery, vector

B = 4096
LENGTH = 2 * B + 700
FULL = B + 20


def make():
    ranges()
    ranges_of_damaged_containers()
    maximum()
    maximum_with_packing()
    largest_chunks()


def boxes():
    yield "", Box("J1", LENGTH)
    yield "packed-", Box("J1 packed", LENGTH, compression=1)


def ranges():
    for kind, b in boxes():
        tests = "SEEK-26 SEEK-28" if kind else "SEEK-26 SEEK-27"
        reading("J1", f"{kind}borders", b, (0, 0), (0, 1), (B - 1, B + 1), (B, 2 * B), (1, LENGTH - 1), (2 * B, 2 * B),
                (LENGTH - 1, LENGTH), (LENGTH, LENGTH), (0, LENGTH), tests=tests,
                comment="ranges at every border, empty ones too, also where the plaintext ends")
        beyond = (("one-byte-beyond", LENGTH - 1, LENGTH + 1), ("empty-beyond", LENGTH + 1, LENGTH + 1),
                  ("end-2-to-63", 0, 2**63), ("end-2-to-64-minus-1", LENGTH, 2**64 - 1), ("empty-2-to-63", 2**63, 2**63))
        for name, start, end in beyond:
            reading("J1", f"{kind}{name}", b, (start, end), result="rangeInvalid", tests="SEEK-26",
                    comment="a range that is not within the plaintext, be it empty")
        reading("J1", f"{kind}second-range-beyond", b, (0, 5), (5, LENGTH + 1), result="rangeInvalid", tests="SEEK-26",
                comment="each range is judged by itself")
    b = Box("J1 empty", b"")
    reading("J1", "empty-plaintext", b, (0, 0), tests="SEEK-26", comment="the only range of an empty plaintext")
    reading("J1", "empty-plaintext-beyond", b, (0, 1), result="rangeInvalid", tests="SEEK-26", comment="no byte is there")


def ranges_of_damaged_containers():
    b = Box("J2", LENGTH)
    second = flip(b.bytes(), 512 + FULL + 30)
    reading("J2", "beside-the-damage", b, (0, B), (2 * B, LENGTH), (B + 5, B + 5), data=second, tests="SEEK-26 SEEK-27",
            comment="only the records that carry a range are read, and for an empty one none")
    reading("J2", "up-to-the-damage", b, (0, B), (B - 1, B + 1), data=second, result="recordDamaged",
            tests="REC-7 SEEK-27", comment="one byte of the range lies in the damaged record")
    reading("J2", "beyond-and-damaged", b, (B, LENGTH + 1), data=second, result="rangeInvalid", tests="SEEK-26",
            comment="the range is judged before anything is read")
    b = Box("J2 packed", LENGTH, compression=1)
    third = flip(b.bytes(), 512 + 2 * FULL + 30)
    reading("J2", "packed-index-damaged", b, (0, 1), data=third, result="recordDamaged", tests="PACK-15 SEEK-28",
            comment="the index item of the group is in the damaged record: no block is found without it")
    reading("J2", "packed-empty-range-and-damage", b, (7, 7), data=third, tests="SEEK-26 SEEK-28",
            comment="an empty range needs no index item")
    blocks = [deflated(run(0, B)), item(0, draw("J2", "second", B)), deflated(run(0, 300))]
    lies = [*blocks[:2], item(3, b"?" * (len(blocks[2]) - 4)), index(blocks)]
    forged = Packed("J2 order", lies, bytes(B) + draw("J2", "second", B) + bytes(300))
    reading("J2", "packed-order", forged, (0, 2 * B), tests="SEEK-28 PACK-16",
            comment="the third item is malformed, and no range needs it")
    reading("J2", "packed-order-reached", forged, (0, 2 * B + 1), result="packingMalformed", tests="PACK-16 SEEK-28",
            comment="a range needs it")


def maximum():
    b = Box("J3", LENGTH)
    for most, released in ((LENGTH - 1, 2 * B), (2 * B, 2 * B), (2 * B - 1, B), (B, B), (B - 1, 0), (0, 0)):
        vector("J3", f"maximum-{most}", b, stream="limitExceeded", released=released,
               limits={"max-plaintext-length": most}, tests="ARG-5",
               comment="the record with which the plaintext exceeds the caller's maximum is not released")
    vector("J3", f"maximum-{LENGTH}", b, stream="intact", limits={"max-plaintext-length": LENGTH}, tests="ARG-5",
           comment="exactly as long as the caller allows")
    empty = Box("J3 empty", b"")
    vector("J3", "maximum-0-and-empty", empty, stream="intact", limits={"max-plaintext-length": 0}, tests="ARG-5",
           comment="an empty plaintext is within every maximum")
    limits = {"max-plaintext-length": B + 5}
    vector("J3", "damaged-behind-the-maximum", b, data=flip(b.bytes(), 512 + 2 * FULL + 30), stream="limitExceeded",
           released=B, limits=limits, tests="ARG-5", comment="the damage lies behind the record that exceeds the maximum")
    vector("J3", "damaged-at-the-maximum", b, data=flip(b.bytes(), 512 + FULL + 30), stream="recordDamaged", released=B,
           seek="limitExceeded", limits=limits, tests="ARG-5 STR-10",
           comment="a stream first authenticates the record; a seeking reader knows the length when it opens")
    lies = Box("J3 manifest", LENGTH, members=[(5, bytes(32))])
    vector("J3", "digest-wrong", lies, stream="limitExceeded", released=B, limits=limits, tests="ARG-5",
           comment="the maximum comes before what only the end shows")


def maximum_with_packing():
    # All items are in one record.
    blocks = [deflated(run(0, B)), deflated(run(1, B)), deflated(run(2, 300))]
    plaintext = bytes(B) + b"\1" * B + b"\2" * 300
    b = Packed("J4", [*blocks, index(blocks)], plaintext)
    for most, released in ((len(plaintext) - 1, 2 * B), (2 * B - 1, B), (0, 0)):
        vector("J4", f"maximum-{most}", b, stream="limitExceeded", released=released,
               limits={"max-plaintext-length": most}, tests="ARG-5",
               comment="the maximum is judged block by block, though all of them are in one record")
    vector("J4", f"maximum-{len(plaintext)}", b, stream="intact", limits={"max-plaintext-length": len(plaintext)},
           tests="ARG-5", comment="exactly as long as the caller allows")
    for name, parts, stream in (
            ("malformed-at-the-maximum", [blocks[0], item(1, b"\7\7\7"), blocks[2]], "packingMalformed"),
            ("malformed-behind-the-maximum", [*blocks[:2], item(3, b"?")], "limitExceeded")):
        forged = Packed(f"J4 {name}", [*parts, index(parts)], plaintext)
        vector("J4", name, forged, stream=stream, released=B, seek="limitExceeded",
               limits={"max-plaintext-length": B + 5}, tests="ARG-5 STR-11",
               comment="the item with which the maximum is exceeded is checked first; the next one is not looked at")
    forged = Packed("J4 offsets", [*blocks, index(blocks)], plaintext, offsets=[1])
    vector("J4", "offsets-wrong", forged, stream="limitExceeded", released=B, seek="packingMalformed",
           limits={"max-plaintext-length": B + 5}, tests="ARG-5 PACK-14",
           comment="a seeking reader judges the maximum behind SEEK-24")


def largest_chunks():
    """Chunks of 8192 bytes."""
    for kind, compression in (("", 0), ("packed-", 1)):
        b = Box(f"J5 {kind}", 3 * B, log2=13, compression=compression)
        vector("J5", f"{kind}at-the-maximum", b, stream="intact", limits={"max-chunk-size": 2 * B}, tests="ARG-8",
               comment="chunks exactly as large as the caller allows")
        vector("J5", f"{kind}above-the-maximum", b, stream="limitExceeded", limits={"max-chunk-size": B},
               tests="ARG-8", comment="nothing is released of a container with larger chunks")
    limits = {"max-chunk-size": B}
    b = Box("J5 ", 3 * B, log2=13)
    vector("J5", "above-and-the-wrong-key", b, stream="wrongKey", keys=[draw("J5", "wrong key", 32)], limits=limits,
           tests="ARG-8", comment="a key has to open the header first")
    vector("J5", "above-and-forged", b, data=b.copy(mac_key=bytes(32)) + b.bytes()[512:b.t]
           + b.copy(mac_key=bytes(32)) + b.bytes()[-32:], stream="headerForged", limits=limits,
           tests="ARG-8 SEEK-16 STR-8", comment="the header has to be valid first")
    for name, place, what in (("record", 512 + 30, "a record"), ("manifest", b.m + 30, "the manifest"),
                              ("zeros", b.t - 1, "a byte before the tail")):
        vector("J5", f"above-and-{name}-damaged", b, data=flip(b.bytes(), place), stream="limitExceeded",
               limits=limits, tests="ARG-8", comment=f"judged before {what} is looked at")
    vector("J5", "above-and-tail-damaged", b, data=flip(b.bytes(), b.t + 100), stream="limitExceeded", limits=limits,
           tests="ARG-8", comment="one valid copy is enough to be judged")
    reading("J5", "above-and-a-range", b, (0, 1), result="limitExceeded", limits=limits, tests="ARG-8",
            comment="however short the range is")
    recovery("chunks-above-the-maximum", b, result="limitExceeded", limits=limits, tests="ARG-8",
             comment="recover gives out nothing of larger chunks")
    recovery("chunks-at-the-maximum", b, limits={"max-chunk-size": 2 * B}, tests="ARG-8",
             comment="chunks exactly as large as the caller allows")
    b = Box("J5 changes", 700, log2=13, capacity=4096)
    new = draw("J5", "new key", 32)
    operation("I24", "rotate-chunks-above-the-maximum", b, "rotate", add=[(new,)], new=[b.symmetric(new)],
              result="limitExceeded", limits=limits, tests="ARG-8", comment="a rotation opens the container, too")
    operation("I24", "repair-chunks-above-the-maximum", b, "repair", result="limitExceeded", limits=limits,
              tests="ARG-8", comment="so does a repair")
    operation("I24", "repair-the-footer-of-chunks-above-the-maximum", b, "repair", data=flip(b.bytes(), -3),
              result="footerDamaged", limits=limits, tests="ARG-8 REP-4",
              comment="the records cannot be read within the limit, so nothing is known of the end")
