"""Group H: packed streams, forged by a holder of the file key."""

from deflate import FIXED, RESERVED, Deflate, run
from forge import Box, draw, flip, patched, u64
from vector import vector

B = 4096
MALFORMED = "packingMalformed"
AT_OPENING, AT_READING = f"{MALFORMED} at opening", f"{MALFORMED} at reading"
STORED, DEFLATED, INDEX = 0, 1, 2
ZEROS = bytes(B)
# A block of zeros, and the short last block of most cases.
FULL, SHORT = run(0, B), run(0, 300)
TWO = bytes(B + 300)


def make():
    methods_and_lengths()
    where_streams_end()
    wrappers_and_types()
    codes()
    symbols()
    free_bits()
    sizes()
    order()
    index_items()
    offsets()
    ends()
    hidden()
    across_records()
    two_groups()


def item(method, body, length=None):
    return bytes([method]) + (len(body) if length is None else length).to_bytes(3, "big") + body


def deflated(body):
    return item(DEFLATED, body)


def index(items):
    """The index item of these items."""
    return item(INDEX, b"".join(each[1:4] for each in items))


class Packed(Box):
    """A container of a stream that is given as its parts. `plaintext` is what a right reader gets. `offsets` are those
    of the index items, by default the right ones of one group. `stated` is member 3."""

    def __init__(self, seed, parts, plaintext, *, offsets=None, stated=None, length=None, members=(), **fields):
        super().__init__(seed, plaintext, compression=1, **fields)
        self.packed = b"".join(parts)
        self.records = self.data_records(self.packed)
        if offsets is None:
            offsets = [len(self.packed) - len(parts[-1])] if parts else []
        self.set_manifest(sorted([
            (1, self.commitment), (2, u64(len(self.plaintext) if length is None else length)),
            (3, u64(len(self.packed) if stated is None else stated)), (4, b"".join(map(u64, offsets)))]
            + list(members)))


def packed(case, name, items, plaintext, *, comment, tests, stream=MALFORMED, seek=None, whole=None, released=None,
           tail=None, **fields):
    """A case of one group: the items of blocks, then the index item that belongs to them, or `tail`."""
    b = Packed(f"{case} {name}", items + ([index(items)] if tail is None else tail), plaintext, **fields)
    if seek is None:
        seek = AT_READING if stream == MALFORMED else stream
    vector(case, name, b, stream=stream, seek=seek, whole=whole, released=released, tests=tests, comment=comment)


def body(case, name, stream, *, comment, tests, opens=None):
    """A deflated body as the only block, or, if it opens, what it gives. Nothing follows a body that is refused."""
    if opens is None:
        packed(case, name, [deflated(stream)], bytes(300), released=0, comment=comment, tests=f"{tests} PACK-5")
    else:
        packed(case, name, [deflated(stream)], opens, stream="intact", comment=comment, tests=tests)


def methods_and_lengths():
    for method in (3, 255):
        packed("H1", f"method-{method}", [item(method, SHORT)], bytes(300), released=0, tests="PACK-7 PACK-16",
               comment="an item of a method that does not exist")
    packed("H1", "method-3-behind-a-block", [deflated(FULL), item(3, SHORT)], TWO, released=B, tests="PACK-7 PACK-16",
           comment="the same behind a block that is good, and is released")
    packed("H1", "method-2-as-a-block", [item(INDEX, SHORT)], bytes(300), released=0, tests="PACK-10 PACK-16",
           comment="an index item where the first block should be")
    # The index says the same, and a seeking reader finds it there.
    for method in (STORED, DEFLATED):
        name = ("stored", "deflated")[method]
        packed("H2", f"{name}-body-of-0", [item(method, b"")], b"", length=1, released=0, seek=AT_OPENING,
               tests="PACK-9 PACK-14", comment="a body of no byte; the index item's offset is too low for any body")
        long = draw("H2", name, B + 1) if method == STORED else run(0, 300) + bytes(B + 1 - len(run(0, 300)))
        packed("H2", f"{name}-body-of-b-plus-1", [item(method, long)], draw("H2", name, B), released=0, seek=AT_OPENING,
               tests="PACK-9 PACK-14", comment="a body longer than a block; so is what the index item's offset leaves")
        packed("H2", f"{name}-body-of-b-plus-1-of-two", [item(method, long), deflated(SHORT)],
               draw("H2", name, B) + bytes(300), released=0, tests="PACK-9 PACK-15",
               comment="the same before a short one: only the index item shows it")
    packed("H1", "method-3-over-a-whole-block", [item(3, draw("H1", "whole", 300))], draw("H1", "whole", 300),
           released=0, tests="PACK-7 PACK-16",
           comment="an item of a method that does not exist; its body would do for a stored one")
    packed("H2", "stored-body-one-byte-more-than-stated", [item(STORED, b"0123456789A", 10)], b"0123456789A", released=10,
           tail=[index([item(STORED, b"0123456789A")])], tests="PACK-16 PACK-7",
           comment="a stored body's head states one byte less than the index item: each length has a block of its own")
    packed("H2", "stored-body-of-0xffffff", [item(STORED, SHORT, 0xFFFFFF)], bytes(300), released=0, seek=AT_READING,
           tail=[index([deflated(SHORT)])], tests="PACK-9 PACK-16 CAP-3",
           comment="a body's length of 2^24 - 1: nothing is allocated for it")
    same = Deflate().fixed().text(b"0123456789").match(3).end().bytes()
    packed("H3", "deflated-as-long-as-its-block", [deflated(same)], b"0123456789999", released=0, tests="PACK-12",
           comment="a deflated body that is as long as its block")
    longer = Deflate().fixed().text(b"0123456789").end().bytes()
    packed("H3", "deflated-longer-than-its-block", [deflated(longer)], b"0123456789", released=0, tests="PACK-12",
           comment="a deflated body that is longer than its block")
    shorter = Deflate().fixed().text(b"0123456789").match(4).end().bytes()
    packed("H3", "deflated-one-byte-shorter", [deflated(shorter)], b"01234567899999", stream="intact", tests="PACK-12",
           comment="a deflated body that is one byte shorter than its block")


def where_streams_end():
    for name, more in (("1-zero", b"\0"), ("1-byte", b"\xff"), ("a-second-stream", SHORT)):
        body("H4", f"behind-the-stream-{name}", SHORT + more, tests="PACK-18", comment="bytes behind the DEFLATE stream")
    body("H5", "cut-by-1", SHORT[:-1], tests="PACK-18", comment="a DEFLATE stream without its last byte")
    body("H5", "cut-to-1", SHORT[:1], tests="PACK-18", comment="a DEFLATE stream of which one byte is there")
    flushed = Deflate().fixed(final=0).run(0, 300).end().stored(b"", final=0).bytes()
    body("H5", "sync-flush", flushed, tests="PACK-18",
         comment="a DEFLATE stream that ends with a sync flush, without a final block")
    body("H5", "no-final-block", Deflate().fixed(final=0).run(0, 300).end().bytes(), tests="PACK-18",
         comment="a DEFLATE stream whose only block is not the final one")


def wrappers_and_types():
    body("H6", "zlib-wrapper", b"\x78\x9c" + SHORT + (1 + 300 * 65536).to_bytes(4, "big"), tests="PACK-18",
         comment="a zlib header and checksum (RFC 1950) around the stream")
    body("H6", "gzip-wrapper", bytes.fromhex("1f8b08000000000000ff") + SHORT + bytes(8), tests="PACK-18",
         comment="a gzip header (RFC 1952) before the stream")
    body("H7", "block-type-3", Deflate().block(RESERVED).bytes() + bytes(20), tests="PACK-20", comment="block type 3")
    for name, complement in (("0", 0), ("equal", 300), ("one-bit", 300 ^ 0xFFFF ^ 1)):
        stream = Deflate().stored(bytes(300), final=0, complement=complement).fixed().run(0, 900).end().bytes()
        body("H7", f"stored-complement-{name}", stream, tests="PACK-20",
             comment="a stored block whose NLEN is not the complement of LEN")


# Complete codes: 0, 285 and the end; one distance, and one more. The cases below break one part of them.
LITERALS = {0: 2, 1: 2, 256: 2, 285: 2}
DISTANCES = {0: 1, 1: 1}


def zeros(d, matches=2):
    """1 + 258 · matches zeros with the codes above."""
    d.text([0])
    for _ in range(matches):
        d.match(258)
    return d.end().bytes()


def codes():
    good = bytes(517)

    def case(name, literals=LITERALS, distances=DISTANCES, *, tests, comment, opens=None, make=zeros, **more):
        body("H8", name, make(Deflate().dynamic(literals, distances, **more)), tests=tests, opens=opens, comment=comment)

    case("good", tests="PACK-23 PACK-24 PACK-25", opens=good, comment="complete codes, of which one symbol is not used")
    case("286-literal-codes", [2, 2] + [0] * 254 + [2] + [0] * 28 + [2], tests="PACK-21", opens=good,
         comment="286 literal/length codes, the most that there may be")
    case("287-literal-codes", [2, 2] + [0] * 254 + [2] + [0] * 28 + [2, 0], tests="PACK-21",
         comment="287 literal/length codes, the last one without a code")
    case("288-literal-codes", [2, 2] + [0] * 254 + [2] + [0] * 28 + [2, 0, 0], tests="PACK-21",
         comment="288 literal/length codes, the last two without a code")
    case("30-distance-codes", distances=[1, 1] + [0] * 28, tests="PACK-21", opens=good,
         comment="30 distance codes, the most that there may be")
    for count in (31, 32):
        case(f"{count}-distance-codes", distances=[1, 1] + [0] * (count - 2), tests="PACK-21",
             comment=f"{count} distance codes, those above 30 without a code")
    case("literals-over-subscribed", LITERALS | {2: 2}, tests="PACK-23", comment="a literal/length code of five codes of 2 bits")
    case("distances-over-subscribed", distances={0: 1, 1: 1, 2: 1}, tests="PACK-23",
         comment="a distance code of three codes of 1 bit")
    case("code-lengths-over-subscribed", tests="PACK-23", code_lengths={s: 3 if s == 0 else 4 for s in range(16)},
         comment="a code for code lengths that is over-subscribed")
    case("literals-incomplete", {0: 2, 256: 2, 285: 2}, tests="PACK-24", comment="a literal/length code with a gap")
    case("distances-incomplete", distances={0: 2, 1: 2, 2: 2}, tests="PACK-24", comment="a distance code with a gap")
    case("one-distance-of-2-bits", distances={0: 2}, tests="PACK-24",
         comment="a distance code of one symbol whose code has 2 bits")
    case("one-distance-of-1-bit", distances={0: 1}, tests="PACK-24", opens=good,
         comment="a distance code of one symbol whose code has 1 bit")
    case("code-lengths-incomplete", tests="PACK-24", code_lengths={s: 4 for s in range(15)},
         comment="a code for code lengths with a gap")
    # All lengths are 1 then: a code of 258 symbols of 1 bit; but the code for the lengths is refused before.
    case("one-code-length", tests="PACK-24", code_lengths={1: 1}, written=[(1, 0, 0)] * 259, make=lambda d: d.bytes() + bytes(40),
         comment="a code for code lengths of one symbol of 1 bit")
    case("no-code-length", tests="PACK-24", code_lengths={18: 0}, written=[], make=lambda d: d.bytes() + bytes(40),
         comment="a code for code lengths without a symbol")
    case("no-end-of-block", {0: 1, 285: 2, 257: 2, 256: 0}, tests="PACK-25", make=lambda d: d.text([0]).match(258).bytes(),
         comment="a literal/length code in which 256 has no code")
    text = [1] * 7 + [0] * 5
    eight = {0: 1, 1: 2, 256: 2}
    letters = bytes(300) + bytes(text)
    case("no-distances", eight, {0: 0}, tests="PACK-24", opens=letters,
         make=lambda d: d.text(letters).end().bytes(), comment="a distance code of no symbol, and no match")
    case("no-distances-and-a-match", {0: 2, 1: 2, 256: 2, 257: 2}, {0: 0}, tests="PACK-26",
         make=lambda d: d.text(bytes(500)).symbol(257).bits(0, 1).end().bytes(),
         comment="a distance code of no symbol, and a match")
    first = Deflate().fixed(final=0).run(0, 300).end()
    only = first.dynamic({256: 1}, {0: 0}).end().bytes()
    body("H8", "only-end-of-block", only, tests="PACK-24", opens=bytes(300),
         comment="behind another block one whose literal/length code has the one symbol 256, of 1 bit")
    first = Deflate().fixed(final=0).run(0, 300).end()
    body("H8", "only-end-of-block-the-other-bit", first.dynamic({256: 1}, {0: 0}).bits(1, 1).bytes(), tests="PACK-26",
         comment="the same with the bit that no code has")
    first = Deflate().fixed(final=0).run(0, 300).end()
    body("H8", "only-end-of-block-of-2-bits", first.dynamic({256: 2}, {0: 0}).end().bytes(), tests="PACK-24",
         comment="the same with a code of 2 bits")
    one = Deflate().dynamic({0: 1, 256: 2, 285: 2}, {0: 1}).text([0]).symbol(285).bits(1, 1).end().bytes()
    body("H8", "one-distance-the-other-bit", one, tests="PACK-26",
         comment="a distance code of one symbol of 1 bit, and the other bit in the data")
    repeats()


def repeats():
    """The lengths of LITERALS and DISTANCES, written with repeats."""
    table = {0: 3, 1: 3, 2: 3, 16: 3, 17: 3, 18: 3, 3: 3, 4: 3}
    # 0: 2, 1: 2, 254 zeros, 256: 2, 28 zeros, 285: 2, distances 1, 1.
    gap, most = [(18, 127, 7), (18, 105, 7)], [(18, 17, 7)]
    right = [(2, 0, 0), (2, 0, 0)] + gap + [(2, 0, 0)] + most + [(2, 0, 0), (1, 0, 0), (1, 0, 0)]
    good = zeros(Deflate().dynamic(LITERALS, DISTANCES, code_lengths=table, written=right))
    body("H8", "repeats", good, tests="PACK-22", opens=bytes(517), comment="code lengths written with repeats")
    # Distances 0 … 3 of 2 bits: the last length of the literals is repeated.
    across = right[:-2] + [(16, 1, 2)]
    stream = Deflate().dynamic(LITERALS, {s: 2 for s in range(4)}, code_lengths=table, written=across)
    body("H8", "repeat-across", zeros(stream), tests="PACK-22", opens=bytes(517),
         comment="a repeat that crosses from the literal/length code to the distance code")
    stream = Deflate().dynamic(LITERALS, {s: 2 for s in range(4)}, code_lengths=table, written=right[:-2] + [(16, 2, 2)])
    body("H8", "repeat-past-the-last", zeros(stream), tests="PACK-22", comment="a repeat that reaches one past the last length")
    stream = Deflate().dynamic(LITERALS, DISTANCES, code_lengths=table, written=[(16, 0, 2)] + right)
    body("H8", "repeat-of-nothing", zeros(stream), tests="PACK-22", comment="a repeat with no length before it")


def symbols():
    for symbol in (286, 287):
        stream = Deflate().fixed().run(0, 300).symbol(symbol).bits(0, 5).end().bytes()
        body("H8", f"length-symbol-{symbol}", stream, tests="PACK-26", comment="a length symbol that only the fixed code has")
    for symbol in (30, 31):
        stream = Deflate().fixed().run(0, 300).match(258, symbol).end().bytes()
        body("H8", f"distance-symbol-{symbol}", stream, tests="PACK-26",
             comment="a distance symbol that only the fixed code has")
    stream = Deflate().fixed().text(b"ab").match(258, 2).end().bytes()
    body("H8", "distance-before-the-start", stream, tests="PACK-27", comment="a distance of three behind two bytes")
    stream = Deflate().fixed().match(258).end().bytes()
    body("H8", "distance-at-the-start", stream, tests="PACK-27", comment="a match before the first byte")
    stream = Deflate().fixed().text(b"ab").match(258, 1).end().bytes()
    body("H8", "distance-to-the-start", stream, tests="PACK-27", opens=b"ab" * 130,
         comment="a distance that reaches just to the first byte")
    stream = Deflate().fixed().match(258).match(42).end().bytes()
    packed("H8", "distance-into-another-block", [deflated(FULL), deflated(stream)], TWO, released=B,
           tests="PACK-27 PACK-16", comment="a match at the start of the second block: the first one is not in reach")


def free_bits():
    stream = Deflate().fixed(final=0).run(0, 300).end().stored(bytes(9), skipped=0xFF).bytes()
    body("H8", "skipped-bits", stream, tests="PACK-28", opens=bytes(309),
         comment="ones in the bits that are skipped before a stored block's length")
    assert SHORT != Deflate().fixed().run(0, 300).end().bytes(0xFF)
    body("H8", "bits-behind-the-end", Deflate().fixed().run(0, 300).end().bytes(0xFF), tests="PACK-28", opens=bytes(300),
         comment="ones in the bits behind the stream's end")
    stream = Deflate().fixed().text([0]).symbol(284).bits(31, 5).bits(0, 5).end().bytes()
    body("H8", "258-by-symbol-284", stream, tests="PACK-28", opens=bytes(259),
         comment="the length 258 written with symbol 284 and the extra bits 31")
    stream = (Deflate().fixed(final=0).end().stored(b"", final=0).fixed(final=0).run(0, 300).end()
              .dynamic({256: 1}, {0: 0}, final=0).end().stored(b"").bytes())
    body("H8", "empty-blocks", stream, tests="PACK-28", opens=bytes(300),
         comment="empty blocks of every type before and behind the one that holds something")


def sizes():
    body("H9", "inflates-to-nothing", Deflate().fixed().end().bytes(), tests="PACK-19 PACK-12",
         comment="a DEFLATE stream that gives no byte")
    body("H9", "inflates-to-nothing-stored", Deflate().stored(b"").bytes(), tests="PACK-19 PACK-12",
         comment="a DEFLATE stream of an empty stored block")
    packed("H9", "inflates-to-b", [deflated(run(0, B))], ZEROS, stream="intact", tests="PACK-19",
           comment="a DEFLATE stream that gives just a block")
    packed("H9", "inflates-to-b-and-an-empty-block", [deflated(
        Deflate().fixed(final=0).run(0, B).end().stored(b"").bytes())], ZEROS, stream="intact", tests="PACK-19 PACK-28",
        comment="one that gives just a block, and then an empty block of its own")
    for name, size in (("b-plus-1", B + 1), ("2b", 2 * B), ("100-b", 100 * B)):
        packed("H9", f"inflates-to-{name}", [deflated(run(0, size))], ZEROS, released=0, tests="PACK-19",
               comment="a DEFLATE stream that gives more than a block")
    bomb = zeros(Deflate().dynamic(LITERALS, DISTANCES), matches=65_028)
    packed("H9", "inflates-to-16-mib", [deflated(bomb)], bytes(1 << 20), released=0, tests="PACK-19 CAP-3",
           log2=20, comment="a DEFLATE stream that would give 16 MiB: nothing behind a block is inflated")
    packed("H10", "short-block-before-another", [deflated(run(0, B - 1)), deflated(SHORT)], bytes(B - 1 + 300),
           released=B - 1, tests="PACK-11 PACK-16",
           comment="a block of B - 1 bytes, and a short one behind it")
    packed("H10", "short-block-before-a-full-one", [deflated(run(0, B - 1)), deflated(FULL)], bytes(2 * B - 1),
           released=B - 1, tests="PACK-11 PACK-16",
           comment="a block of B - 1 bytes, and a full one behind it: the number of blocks is right")
    packed("H10", "short-block-and-a-damaged-record", [deflated(run(0, B - 1)), item(STORED, draw("H10", "block", B))],
           bytes(B - 1) + draw("H10", "block", B), released=B - 1, tests="PACK-11 STR-11",
           comment="the same where the second item's body is stored: its head is refused before its body is read")
    for name, length in (("1-more", 301), ("1-fewer", 299)):
        packed("H10", f"last-block-{name}-than-said", [deflated(SHORT)], bytes(300), length=length, released=300,
               stream="manifestMismatch", seek=AT_READING, whole="manifestMismatch at reading",
               tests="STR-16 PACK-16", comment="member 2 leaves the last block another length than it has")


def order():
    two = [deflated(FULL), deflated(SHORT)]
    packed("H11", "no-index-item", two, TWO, tail=[], offsets=[], released=len(TWO), seek=AT_OPENING,
           tests="PACK-13 PACK-14 STR-14", comment="no index item at the end")
    packed("H11", "no-index-item-but-an-offset", two, TWO, tail=[], offsets=[len(b"".join(two)) - 10], released=len(TWO),
           tests="PACK-13 PACK-15 STR-14", comment="the same, and the offset in the manifest that would be right for the length")
    early = [two[0], index(two[:1]), two[1], index(two[1:])]
    offsets = [len(two[0]), len(b"".join(early)) - len(early[3])]
    packed("H12", "index-item-early", early[:3], TWO, tail=early[3:], offsets=offsets, released=B, seek=AT_OPENING,
           tests="PACK-11 PACK-14", comment="an index item behind the first block, and another behind the second")
    packed("H12", "block-behind-the-index-item", two[:1], TWO, tail=[index(two[:1]), two[1]], offsets=[len(two[0])],
           released=B, seek=AT_OPENING, tests="PACK-11 PACK-14", comment="a block behind the last index item")


def index_items():
    two = [deflated(FULL), deflated(SHORT)]
    place = len(b"".join(two))
    packed("H14", "index-item-of-length-0", two, TWO, tail=[item(INDEX, b"")], offsets=[place], released=len(TWO),
           seek=AT_OPENING, tests="PACK-10 PACK-14", comment="an index item without a length")
    packed("H14", "two-index-items", two, TWO, tail=[index(two), item(INDEX, b"")], offsets=[place], released=len(TWO),
           seek=AT_OPENING, tests="PACK-10 PACK-14", comment="an empty index item behind the right one")
    packed("H14", "index-item-twice", two, TWO, tail=[index(two), index(two)], offsets=[place], released=len(TWO),
           seek=AT_OPENING, tests="PACK-10 PACK-14", comment="the index item twice")
    packed("H14", "index-item-of-nothing", [], b"", tail=[item(INDEX, b"")], offsets=[0], released=0, seek=AT_OPENING,
           tests="PACK-10 PACK-14", comment="an empty index item for an empty plaintext")
    packed("H14", "index-item-of-nothing-no-offset", [], b"", tail=[item(INDEX, b"")], offsets=[], released=0,
           seek=AT_OPENING, tests="PACK-10 PACK-14", comment="the same without an offset")
    right = index(two)
    for name, changed in (("one-length-more", right[4:] + b"\0\0\1"), ("one-length-fewer", right[4:-3]),
                          ("one-byte-more", right[4:] + b"\0"), ("one-byte-fewer", right[4:-1])):
        packed("H15", f"index-body-{name}", two, TWO, tail=[item(INDEX, changed)], released=len(TWO), seek=AT_OPENING,
               tests="PACK-10 PACK-14", comment="an index item whose body is not as long as its blocks ask for")
    for name, at, change in (("plus-1", 2, 1), ("minus-1", 2, -1), ("last-plus-1", 5, 1)):
        changed = patched(right, 4 + at, bytes([right[4 + at] + change]))
        packed("H16", f"index-length-{name}", two, TWO, tail=[changed], released=len(TWO), tests="PACK-12 PACK-15",
               comment="one length in the index item is wrong")
    packed("H16", "index-lengths-exchanged", two, TWO, tail=[right[:4] + right[7:10] + right[4:7]], released=len(TWO),
           tests="PACK-12 PACK-16", comment="the lengths in the index item exchanged: their sum is right")
    packed("H16", "index-length-moved", two, TWO, released=len(TWO), tests="PACK-12 PACK-16",
           tail=[patched(patched(right, 6, bytes([right[6] - 1])), 9, bytes([right[9] + 1]))],
           comment="one length 1 less, the other 1 more: their sum is right")
    packed("H15", "index-item-of-method-0", two[:1], ZEROS, tail=[item(STORED, index(two[:1])[4:])],
           released=ZEROS + index(two[:1])[4:],
           tests="PACK-15 PACK-13", comment="a stored block where the index item should be; its body would do for one")
    packed("H15", "index-head-states-one-length-more", two, TWO, tail=[item(INDEX, right[4:], 9)], released=len(TWO),
           tests="PACK-10 PACK-15", comment="an index item's head states one length more than there is room for")
    packed("H16", "index-without-a-block-s-item", [deflated(SHORT), item(STORED, b"hidden")], bytes(300),
           tail=[index([deflated(SHORT)])], released=300, tests="PACK-11 PACK-15",
           comment="an item that the index item leaves out, between the last block and it")
    packed("H16", "index-length-0", two, TWO, released=len(TWO), tests="PACK-12 PACK-15",
           tail=[right[:4] + bytes(3) + (len(FULL) + len(SHORT)).to_bytes(3, "big")],
           comment="a length of 0 in the index item, the sum right")
    # Both lead a reader of ranges to the right bytes: it sees only the bytes to which the index points.
    packed("H16", "item-shorter-than-its-index-says", [item(DEFLATED, FULL, 7), two[1]], TWO, tail=[right], released=0,
           tests="PACK-12 PACK-16", comment="the index item holds the length of a body, and the item itself a lower one")
    packed("H16", "item-of-method-2", [item(INDEX, ZEROS), two[1]], TWO, tail=[index([item(STORED, ZEROS), two[1]])],
           released=0, tests="PACK-10 PACK-16", comment="a block that is stored in an index item")
    packed("G17", "digest-of-zeros-packed", two, TWO, members=[(5, bytes(32))], stream="contentMismatch", seek="intact",
           whole="contentMismatch at reading", released=len(TWO), tests="MAN-6 STR-18 SEEK-29 WHOLE-4",
           comment="a digest that is another content's, of a packed stream")


def offsets():
    two = [deflated(FULL), deflated(SHORT)]
    place = len(b"".join(two))
    for name, changed in (("plus-1", [place + 1]), ("minus-1", [place - 1]), ("0", [0]), ("2-to-the-63", [1 << 63]),
                          ("all-ones", [(1 << 64) - 1]), ("one-more", [place, place]), ("none", [])):
        packed("H17", f"offsets-{name}", two, TWO, offsets=changed, released=len(TWO), seek=AT_OPENING,
               tests="STR-17 PACK-14 SEEK-24", comment="the offsets of the index items in the manifest are wrong")
    # Right for a seeking reader, which finds its index item in the body of another item. A streaming reader has seen
    # the position of the index item.
    packed("H17", "offset-for-an-empty-plaintext", [], b"", tail=[], offsets=[0], released=0, seek=AT_OPENING,
           tests="STR-17 PACK-14", comment="an offset where nothing is packed")


def ends():
    two = [deflated(FULL), deflated(SHORT)]
    right = two + [index(two)]
    place = len(b"".join(two))
    packed("H18", "3-bytes-left-over", two, TWO, tail=[right[2], b"\1\0\0"], offsets=[place], released=len(TWO),
           seek=AT_OPENING, tests="PACK-13 PACK-14 STR-14", comment="three bytes behind the last item")
    packed("H18", "ends-in-the-index-item", two, TWO, tail=[right[2][:-1]], offsets=[place], released=len(TWO),
           seek=AT_OPENING, tests="PACK-13 PACK-14 STR-14", comment="the last byte of the index item is missing")
    packed("H18", "ends-in-a-head", two[:1], TWO, tail=[two[1][:3]], offsets=[place], released=B, seek=AT_OPENING,
           tests="PACK-13 PACK-14 STR-14", comment="the stream ends inside the head of the second item")
    packed("H18", "ends-in-a-body", two[:1], TWO, tail=[two[1][:-1]], offsets=[place], released=B, seek=AT_OPENING,
           tests="PACK-13 PACK-14 STR-14", comment="the stream ends inside the body of the second item")
    packed("H18", "ends-behind-a-head", two[:1], TWO, tail=[two[1][:4]], offsets=[place], released=B, seek=AT_OPENING,
           tests="PACK-13 PACK-14 STR-14", comment="the stream ends right behind the head of the second item")
    packed("H18", "ends-behind-the-head-of-the-index-item", two, TWO, tail=[right[2][:4]], offsets=[place],
           released=len(TWO), seek=AT_OPENING, tests="PACK-13 PACK-14 STR-14",
           comment="the stream ends right behind the head of the index item")
    packed("H18", "ends-behind-a-head-and-offsets-fit", [item(STORED, b"12345\2\0\0")], b"12345\2\0\0",
           tail=[item(INDEX, b"", 3)], offsets=[9], released=8, seek=AT_READING, tests="PACK-13 PACK-15 STR-14",
           comment="the stream ends right behind a head; lengths and offset agree with each other, and PACK-14 holds")
    size = len(b"".join(right))
    for name, stated in (("plus-1", size + 1), ("minus-1", size - 1), ("0", 0)):
        packed("H19", f"member-3-{name}", two, TWO, stated=stated, released=len(TWO), stream="manifestMismatch",
               seek="manifestMismatch", tests="STR-15 SEEK-23", comment="member 3 is not the length of the packed stream")
    packed("H19", "not-ended-and-member-3", two[:1], TWO, tail=[two[1][:-1]], offsets=[place], stated=1, released=B,
           seek="manifestMismatch", tests="STR-14 SEEK-23",
           comment="an item that is not complete, and member 3 is wrong: a stream sees the one, a seeking reader the other")
    packed("H19", "not-ended-and-manifest-malformed", two, TWO, tail=[right[2][:-1]], offsets=[place],
           members=[(5, bytes(31))], stream="manifestMalformed", seek="manifestMalformed", released=len(TWO),
           tests="MAN-6 MAN-18 STR-13 STR-14",
           comment="an item that is not complete, and a manifest of a wrong form: the form comes first")
    b = Packed("H19 damaged", right, TWO)
    b.records[0] = flip(b.records[0], -1)
    vector("H19", "damaged-record", b, stream="recordDamaged", seek="recordDamaged at reading", released=0, tests="STR-10",
           comment="the one record of a packed stream is damaged: nothing is released")


def hidden():
    first = draw("H20", "block", B)
    inner = item(STORED, draw("H20", "hidden", 300))
    first = first[:-len(inner)] + inner
    items = [item(STORED, first), deflated(SHORT)]
    lengths = [B - len(inner), len(inner) - 4 + 4 + len(SHORT)]
    forged = item(INDEX, b"".join(length.to_bytes(3, "big") for length in lengths))
    packed("H20", "hidden-item", items, first + bytes(300), tail=[forged], released=B + 300,
           tests="PACK-12 PACK-16 PACK-17 WHOLE-3",
           comment="the index item points into a stored block, where an item stands that no stream sees")


def across_records():
    # 200 blocks of a length that makes items lie across the borders of records, 2000 whose index item is longer than B.
    many = [deflated(run(i % 251, B)) for i in range(2000)]
    plaintext = b"".join(bytes([i % 251]) * B for i in range(2000))
    packed("H22", "index-item-longer-than-b", many, plaintext, stream="intact", tests="PACK-2 PACK-10 PACK-15 STR-11",
           comment="an index item of 6000 bytes, which lies across three records of 4096")
    for shift in range(3):
        # The second item's head lies across the border of two records, its body across three.
        first = padded(B - 3 + shift)
        block = draw("H21", str(shift), B)
        packed("H21", f"item-across-records-{shift}", [first[0], item(STORED, block)], first[1] + block, stream="intact",
               tests="PACK-2 PACK-16 STR-11 SEEK-28",
               comment="an item whose head lies across two records, and which lies across three")


GROUP = 65536


class Groups(Packed):
    """A container of zeros, in `counts` full blocks before each index item, and a block of 300 bytes before the last.
    Its file holds the data records before their encryption."""

    def __init__(self, seed, *counts):
        parts, offsets, place = [], [], 0
        for number, count in enumerate(counts):
            items = [deflated(FULL)] * count + [deflated(SHORT)] * (number == len(counts) - 1)
            parts += [*items, index(items)]
            place += sum(map(len, items))
            offsets.append(place)
            place += len(parts[-1])
        length = sum(counts) * B + 300
        super().__init__(seed, parts, b"", offsets=offsets, length=length)
        self.plaintext = bytes(length)


def two_groups():
    vector("H23", "two-groups", Groups("H23", GROUP, 5), stream="intact", unsealed=True,
           tests="PACK-2 PACK-3 PACK-4 PACK-6 PACK-14 PACK-15 STR-17",
           comment="65,536 blocks and their index item, then a group of 6 blocks")
    vector("H13", "no-index-item-behind-65536-blocks", Groups("H13", GROUP), stream=MALFORMED, released=GROUP * B,
           unsealed=True, tests="PACK-3 PACK-8 PACK-14",
           comment="block 65,537 follows where an index item must be; the offsets in the manifest are too few for it")
    vector("H23", "index-item-early", Groups("H23 early", GROUP - 1, 5), stream=MALFORMED, released=(GROUP - 1) * B,
           unsealed=True, tests="PACK-3 PACK-11 PACK-14",
           comment="an index item behind 65,535 blocks, and something behind it")
    vector("H23", "index-item-of-no-block", Groups("H23 none", GROUP, 0), stream="intact", unsealed=True,
           tests="PACK-3 PACK-4 PACK-14", comment="the second group is the last block alone")


def padded(size):
    """An item of `size` bytes for a full block: (item, block)."""
    block = draw("H21", "first", size)
    # As many literals as necessary; the rest of the block repeats the last one.
    for count in range(size - 40, size - 4):
        head = bytes(byte % 144 for byte in block[:count])
        left = B - count
        stream = Deflate().fixed().text(head[:-1]).run(head[-1], left + 1).end().bytes()
        if len(stream) + 4 == size:
            return deflated(stream), head + head[-1:] * left
    raise AssertionError(size)
