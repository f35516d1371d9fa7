"""Group E: records."""

from forge import DATA, MANIFEST, Box, flip, join, patched, record_nonce, stream_key, u64
from vector import vector

B = 4096
LONG = 2 * B + 300      # the records 0 and 1 are full, record 2 has 300 bytes
AT_READING = "recordDamaged at reading"


def make():
    types_and_lengths()
    order_of_lengths()
    bits()
    moved()
    wrong_bindings()
    last_record_shifted()


def forged_head(b, i, head):
    """Record i with other first 4 bytes and the right tag for them."""
    b.records[i] = b.record(i, b.plaintext[i * B:(i + 1) * B], head=head)
    return b


def types_and_lengths():
    for kind in (0, 3):
        b = forged_head(Box(f"E1 {kind}", LONG), 1, bytes([kind]) + b"\0\x10\0")
        vector("E1", f"data-record-of-type-{kind}", b, stream="recordDamaged", released=B, seek=AT_READING,
               tests="STR-9 SEEK-27 REC-2 REC-9",
               comment=f"a data record of type {kind}, its tag right: no record is skipped")
        b = Box(f"E1 {kind} manifest", LONG)
        b.manifest = b.record(3, b.manifest_text, kind)
        vector("E1", f"manifest-record-of-type-{kind}", b, stream="recordDamaged", released=LONG,
               tests="STR-9 REC-2 REC-9", comment=f"a manifest record of type {kind}, its tag right")
    b = forged_head(Box("E2", LONG), 1, b"\1\0\0\0")
    vector("E2", "length-0-over-a-full-record", b, stream="recordDamaged", released=B, seek=AT_READING,
           tests="STR-9 SEEK-27 REC-3 REC-9", comment="a full data record that states a length of 0, its tag right")
    b = Box("E2 appended", 2 * B)
    b.records.append(b.record(2, b""))
    b.set_manifest(b.members)
    vector("E2", "empty-record-at-the-end", b, stream="recordDamaged", released=2 * B, seek="footerDamaged",
           tests="STR-9 REC-3 FOOT-8",
           comment="an empty data record behind full ones: one plaintext would have two containers' shapes")
    b = Box("E2 empty", b"")
    b.records = [b.record(0, b"")]
    b.set_manifest(b.members)
    vector("E2", "empty-record-for-an-empty-input", b, stream="recordDamaged", released=0, seek="footerDamaged",
           tests="STR-9 REC-3 FOOT-8", comment="an empty input has no data record, not an empty one")
    for name, tail in (("alone", 0), ("before-a-short-one", 100)):
        b = Box(f"E3 {name}", B + 1 + tail)
        b.records = [b.record(0, b.plaintext[:B + 1])] + ([b.record(1, b.plaintext[B + 1:])] if tail else [])
        b.set_manifest(b.members)
        vector("E3", f"data-record-of-b-plus-1-{name}", b, stream="recordDamaged", released=0,
               seek="recordDamaged at reading" if tail else "E", tests="STR-9 REC-3 REC-9",
               comment="a data record of one byte more than a chunk, all else forged to fit")
    b = forged_head(Box("E4", LONG), 0, b"\1\xff\xff\xff")
    vector("E4", "data-length-ffffff", b, stream="recordDamaged", released=0, seek=AT_READING,
           tests="STR-9 SEEK-27 REC-3 REC-8 REC-9",
           comment="a data record that states 16 MiB: refused by its first 4 bytes, nothing is read or allocated "
                   "by them")


def order_of_lengths():
    b = Box("E5", B + 100 + B)
    cut = b.plaintext[:B], b.plaintext[B:B + 100], b.plaintext[B + 100:]
    b.records = [b.record(i, text) for i, text in enumerate(cut)]
    b.set_manifest(b.members)
    vector("E5", "short-record-before-a-full-one", b, stream="recordDamaged", released=B + 100, seek=AT_READING,
           tests="STR-9 SEEK-27 REC-4 REC-9", comment="a data record behind a short one, all else forged to fit")
    b = Box("E5 short", 300)
    b.records = [b.record(0, b.plaintext[:100]), b.record(1, b.plaintext[100:])]
    b.set_manifest(b.members)
    vector("E5", "two-short-records", b, stream="recordDamaged", released=100, tests="STR-9 REC-4 REC-7 STR-10",
           comment="two short data records: by the geometry there is one, so the manifest has another index")
    b = Box("E6", 2 * B)
    cut = b.plaintext[:B], b.plaintext[B:B + 2000], b.plaintext[B + 2000:]
    b.records = [b.record(i, text) for i, text in enumerate(cut)]
    b.set_manifest(b.members)
    vector("E6", "last-full-record-split-in-two", b, stream="recordDamaged", released=B + 2000, seek="E",
           tests="STR-9 REC-4 FOOT-8",
           comment="the last full record split into two, both forged: one length, two chunkings")


def bits():
    for i, offset, bit in ((1, 3, 0), (1, 1, 7), (2, 3, 0), (2, 2, 4)):
        b = Box(f"E7 {i} {offset}", LONG)
        b.records[i] = flip(b.records[i], offset, bit)
        vector("E7", f"length-bit-of-record-{i}-byte-{offset}", b, stream="E", released=i * B, seek=AT_READING,
               tests="SEEK-27 REC-7 REC-9", comment="a bit of a data record's length flipped")
    b = Box("E7 manifest", LONG)
    b.manifest = flip(b.manifest, 2, 2)
    vector("E7", "length-bit-of-the-manifest", b, stream="E", released=LONG, seek="recordDamaged",
           tests="REC-7 REC-9", comment="a bit of the manifest record's length flipped")
    for name, compression in (("", 0), ("-packed", 1)):
        b = Box("E7 long" + name, LONG, compression=compression)
        b.records[1] = patched(b.records[1], 0, b"\2\x10\0\0")
        vector("E7", "data-record-as-a-long-manifest" + name, b, stream="truncated", released=0 if compression else B,
               seek=AT_READING, tests="STR-1 STR-10 REC-9 WHOLE-3",
               comment="a data record's head says that it is a manifest of 1 MiB, for which a stream waits until its end")
    b = Box("E8", LONG)
    b.records[1] = patched(b.records[1], 0, bytes([MANIFEST]))
    vector("E8", "full-data-record-as-manifest", b, stream="recordDamaged", released=B, seek=AT_READING,
           tests="SEEK-27 REC-7 REC-9",
           comment="a full data record's type changed to manifest; its length would do for one")
    b = Box("E8 short", LONG)
    b.records[2] = patched(b.records[2], 0, bytes([MANIFEST]))
    vector("E8", "short-data-record-as-manifest", b, stream="recordDamaged", released=2 * B, seek=AT_READING,
           tests="STR-9 SEEK-27 REC-5 REC-9", comment="a data record of 300 bytes with the type changed to manifest")
    for name, length in (("behind-a-short-record", LONG), ("behind-full-records", 2 * B)):
        b = Box(f"E9 {name}", length)
        b.manifest = patched(b.manifest, 0, bytes([DATA]))
        vector("E9", f"manifest-as-data-{name}", b, stream="recordDamaged", released=length,
               tests="STR-9 REC-7 REC-4" if length == LONG else "REC-7",
               comment="the manifest's type changed to data")
    b = Box("E9 forged", 2 * B)
    b.manifest = b.record(2, b.manifest_text, DATA)
    vector("E9", "manifest-as-data-forged", b, stream="recordDamaged", released=b.plaintext + b.manifest_text,
           seek="recordDamaged", tests="REC-9 REC-6",
           comment="a manifest sealed as data: a stream gives it out as data and finds no manifest, so a seeking "
                   "reader must "
                   "not take it for one")
    for case, what, offset in (("E10", "ciphertext", 100), ("E11", "tag", -1)):
        b = Box(f"{case} data", LONG)
        b.records[1] = flip(b.records[1], offset)
        vector(case, f"{what}-bit-of-a-data-record", b, stream="recordDamaged", released=B, seek=AT_READING,
               tests="SEEK-27 REC-7 STR-10", comment=f"a bit of a data record's {what} flipped")
        b = Box(f"{case} manifest", LONG)
        b.manifest = flip(b.manifest, offset)
        vector(case, f"{what}-bit-of-the-manifest", b, stream="recordDamaged", released=LONG,
               tests="REC-7 STR-10 SEEK-21", comment=f"a bit of the manifest record's {what} flipped")


def moved():
    for name, compression in (("", 0), ("-packed", 1)):
        b = Box("E12 manifest" + name, LONG, compression=compression)
        inner = [(1, b.commitment), (2, u64(B))] + ([(3, u64(B)), (4, b"")] if compression else [])
        filler = B - len(join(inner, 0)) - 6
        b.records[1] = b.record(1, join([*inner, (0x9000, bytes(filler))]), MANIFEST)
        vector("E12", "manifest-in-the-place-of-a-data-record" + name, b,
               stream="packingMalformed" if compression else "paddingNotZero",
               released=0 if compression else B, seek=AT_READING, tests="REC-9 SEEK-27 WHOLE-3 STR-12",
               comment="a manifest of as many bytes as a chunk in the place of a full data record, the right one behind: "
                       "a stream ends with it, whoever goes by the geometry meets it as a record of the wrong type")
    for i, j in ((0, 1), (1, 2)):
        b = Box(f"E12 {i}", LONG)
        b.records[i], b.records[j] = b.records[j], b.records[i]
        vector("E12", f"records-{i}-and-{j}-exchanged", b, stream="recordDamaged", released=i * B, seek=AT_READING,
               tests="SEEK-27 REC-7 STR-10 REC-7", comment="two data records exchanged")
    for name, i in (("full", 0), ("short", 2)):
        for footer in ("as-it-was", "adjusted"):
            b = Box(f"E13 {name}", LONG)
            if footer == "as-it-was":
                b.freeze()
            b.records.insert(i, b.records[i])
            seek = "footerDamaged" if footer == "as-it-was" else "recordDamaged" if name == "full" else "E"
            vector("E13", f"{name}-record-repeated-footer-{footer}", b, released=(i + 1) * B if i == 0 else LONG,
                   stream="E" if footer == "as-it-was" else "recordDamaged", seek=seek,
                   tests="REC-7 STR-10 REC-7 FOOT-6" if footer == "as-it-was" else "REC-7 STR-10 REC-7",
                   comment=f"a {name} data record stands twice; the footer is {footer.replace('-', ' ')}")
    for name, kept in (("first", [1, 2]), ("middle", [0, 2]), ("last", [0, 1]), ("all", [])):
        for footer in ("as-it-was", "adjusted"):
            # With no record left and copies of 512 bytes, the file would be too short.
            b = Box(f"E14 {name}", LONG, capacity=1024 if name == "all" else 512)
            if footer == "as-it-was":
                b.freeze()
            b.records = [b.records[i] for i in kept]
            released = {"first": 0, "middle": B, "last": 2 * B, "all": 0}[name]
            vector("E14", f"{name}-removed-footer-{footer}", b, released=released,
                   stream="E" if footer == "as-it-was" else "recordDamaged",
                   seek="footerDamaged" if footer == "as-it-was" else "recordDamaged",
                   tests="REC-7 STR-10 FOOT-6" if footer == "as-it-was" else "REC-7 STR-10 SEEK-21",
                   comment=f"data records removed: {name}; the footer is {footer.replace('-', ' ')}")


def wrong_bindings():
    def replaced(case, name, b, i, record, tests, comment):
        b.records[i] = record
        vector(case, name, b, stream="recordDamaged", released=i * B, seek=AT_READING, tests=f"{tests} SEEK-27",
               comment=comment)

    b = Box("E15", LONG)
    x = Box("E15 other", LONG, user_key=b.user_key)
    replaced("E15", "record-of-another-container", b, 1, x.records[1], "REC-7 STR-10 KEY-8",
             "a data record of another container of the same user key, with the same index")
    b = Box("E16", LONG)
    nonce = record_nonce(Box("E16 other").file_id, 1)
    replaced("E16", "record-of-another-file-id", b, 1, b.record(1, b.plaintext[B:2 * B], nonce=nonce),
             "REC-7", "a data record of the right index and stream key under another file ID")
    b = Box("E17", LONG)
    replaced("E17", "index-little-endian", b, 1,
             b.record(1, b.plaintext[B:2 * B], nonce=b.file_id + u64(1)[::-1]), "REC-7",
             "the index in the nonce is little-endian")
    for n in (3, 5):
        b = Box(f"E18 {n}", LONG)
        replaced("E18", f"associated-data-of-{n}-bytes", b, 1,
                 b.record(1, b.plaintext[B:2 * B], ad=(b.records[1][:4] + b"\0")[:n]), "REC-7",
                 f"the associated data has {n} bytes instead of 4")
    b = Box("E19", LONG, context=b"account 1")
    other = stream_key(b.file_key, b.preamble, b"")
    replaced("E19", "data-key-without-the-context", b, 1, b.record(1, b.plaintext[B:2 * B], key=other),
             "KEY-8", "one data record is sealed under the stream key of no context")
    b = Box("E19 all", context=b"account 1")
    b = Box("E19 all", LONG, context=b"account 1", payload_key=stream_key(b.file_key, b.preamble, b""))
    vector("E19", "all-keys-without-the-context", b, stream="recordDamaged", released=0, tests="KEY-8",
           comment="all records are sealed under the stream key of no context")


def last_record_shifted():
    changes = [("1-shorter", 299), ("20-shorter", 280), ("100-shorter", 200), ("cut-to-1", 1), ("1-longer", 301),
               ("20-longer", 320), ("100-longer", 400), ("filled-to-b", B)]
    for name, n in changes:
        for head in ("length-kept", "length-adjusted"):
            b = Box(f"E20 {name} {head}", LONG)
            shift(b, n, head == "length-adjusted")
            vector("E20", f"last-record-{name}-{head}", b, stream="E", released=2 * B, seek="manifestMismatch",
                   tests="SEEK-23 REC-7 STR-10",
                   comment="bytes cut from or added to the last record without the file key, all behind it moved "
                           "along, footer "
                           "right: the manifest still opens, so only its length shows that the last bytes moved")
    for name, n in (("1-shorter", -1), ("20-shorter", -20), ("1-longer", 1)):
        b = Box(f"E21 {name}", B + 300, compression=1)
        shift(b, len(b.records[-1]) - 20 + n, True)
        # Block 0 begins in record 0 and ends in record 1, which does not decrypt.
        vector("E21", f"last-packed-record-{name}", b, stream="E", released=0, seek="manifestMismatch",
               tests="SEEK-23 REC-7 STR-10",
               comment="as E20 with compression 1: only member 3 shows that the last bytes of the packed stream moved")


def shift(b, n, adjust):
    """Makes the last record carry n bytes, changes its head if `adjust`, and moves everything behind it."""
    last = b.records[-1]
    head = b"\1" + n.to_bytes(3, "big") if adjust else last[:4]
    b.records[-1] = head + (last[4:-16] + bytes(B))[:n] + last[-16:]
