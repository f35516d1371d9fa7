"""Group G: the manifest, forged by a holder of the file key."""

import hashlib

from forge import Box, commitment, join, patched, u16, u32, u64
from vector import vector

B = 4096
MALFORMED = "manifestMalformed"
TYPE, NAME, TIME, MODE, UNKNOWN = 0x8001, 0x8002, 0x8003, 0x8004, 0x8010


def make():
    lengths()
    form()
    order()
    unknown_tags()
    required()
    plaintext_length()
    packing_members()
    digest()
    names()
    times_and_modes()


def base(b):
    return [(1, b.commitment), (2, u64(len(b.plaintext)))]


def forged(case, name, change, stream, *, comment, tests, seek=None, whole=None, plaintext=700, **fields):
    """A container whose manifest comes from `change(box)`: its members, or the whole text."""
    b = Box(f"{case} {name}", plaintext, **fields)
    b.set_manifest(change(b))
    opens = stream == "intact"
    vector(case, name, b, stream=stream, seek=seek, whole=whole, released=None if opens else len(b.plaintext),
           tests=tests, comment=comment)


def malformed(case, name, change, *, comment, tests, **fields):
    forged(case, name, change, MALFORMED, comment=comment, tests=f"{tests} STR-13 SEEK-22", **fields)


def filled(b, size):
    """A manifest of this size without a zero at its end. Its ciphertext is zeros except that of the first members."""
    start = join(base(b) + [u16(UNKNOWN) + u32(size - 58)], 58)
    return start + b.keystream(len(b.records), size)[58:]


def lengths():
    forged("G1", "manifest-of-511", lambda b: join(base(b), 511), "recordDamaged", seek="footerDamaged",
           tests="REC-5 FOOT-4", comment="a manifest of 511 bytes, all else forged to fit")
    forged("G1", "manifest-of-513", lambda b: join(base(b), 513), "recordDamaged", seek="footerDamaged",
           tests="REC-5 FOOT-4", comment="a manifest of 513 bytes, all else forged to fit")
    forged("G1", "manifest-of-0", lambda b: b"", "recordDamaged", seek="footerDamaged",
           tests="REC-5 FOOT-4", comment="a manifest record that holds nothing", plaintext=1200)
    forged("G2", "manifest-above-the-cap", lambda b: filled(b, (1 << 20) + 512), "recordDamaged", seek="footerDamaged",
           tests="REC-5 REC-8 FOOT-4 CAP-3",
           comment="a manifest of 512 bytes more than the cap, all else forged to fit: nothing is allocated for it")


def form():
    zeros = "the zeros behind the members are the fewest: one content, one form"
    malformed("G3", "512-zeros-more-than-needed", lambda b: join(base(b), 1024), tests="MAN-13", comment=zeros)
    malformed("G3", "512-zeros-behind-full-512", lambda b: filled(b, 512) + bytes(512), tests="MAN-13", comment=zeros)
    hidden = "a byte behind the members is not zero: else a place that nobody checks"
    for name, at in (("third", 54), ("last", 511)):
        malformed("G4", f"padding-byte-{name}", lambda b: patched(join(base(b)), at, b"\1"), tests="MAN-12",
                  comment=hidden)
    malformed("G5", "tag-0-before-members", lambda b: base(b) + [(0, b""), (TYPE, b"text/plain")],
              tests="MAN-11 MAN-12",
              comment="a tag of 0 ends the members, and members follow it")
    for left in range(1, 6):
        malformed("G6", f"{left}-bytes-left",
                  lambda b: base(b) + [(UNKNOWN, bytes(454 - left)), b"\x80\x11\0\0\0"[:left - 1] + b"\1"],
                  tests="MAN-11 MAN-12", comment="the head of a member, cut by the manifest's end")
    for name, head, value in (("by-one", u16(UNKNOWN) + u32(512 - 58 + 1), 512 - 58),
                              ("far", u16(UNKNOWN) + u32(100_000), 100),
                              ("4-gib", u16(UNKNOWN) + u32(0xFFFFFFFF), 100)):
        malformed("G7", f"member-past-the-end-{name}", lambda b: base(b) + [head + bytes(value)], tests="MAN-14",
                  comment="the value of the last member ends behind the manifest")
    malformed("G7", "member-past-the-end-no-value", lambda b: base(b) + [(UNKNOWN, bytes(448)), u16(0x8011) + u32(1)],
              tests="MAN-14", comment="the head of the last member ends with the manifest and announces a value")


def order():
    for name, twice in (("1", lambda b: (1, b.commitment)), ("2", lambda b: (2, u64(700))),
                        ("5", lambda b: (5, sha(b))), ("unknown", lambda b: (UNKNOWN, b"value"))):
        malformed("G8", f"tag-twice-{name}", lambda b: sorted(base(b) + [twice(b)] * (1 if name in "12" else 2)),
                  tests="MAN-15",
                  comment="a tag twice, with one value: parsers that differ in which one counts read two manifests")
    malformed("G9", "tags-descending-required", lambda b: base(b)[::-1], tests="MAN-15",
              comment="members 2 and 1, in this order")
    malformed("G9", "tags-descending-optional", lambda b: base(b) + [(NAME, b"a"), (TYPE, b"text/plain")],
              tests="MAN-15",
              comment="members 0x8002 and 0x8001, in this order")
    malformed("G10", "unknown-low-tag-and-a-duplicate-behind",
              lambda b: base(b) + [(9, b""), (NAME, b"a"), (NAME, b"a")],
              tests="MAN-18 MAN-15",
              comment="an unknown low tag, and a duplicate behind it: the form of the whole comes first")


def sha(b):
    return hashlib.sha256(b.plaintext).digest()


def unknown_tags():
    for tag in (6, 9, 0x7FFF):
        forged("G11", f"unknown-low-tag-{tag:x}", lambda b: base(b) + [(tag, b"value")], "unsupportedMember",
               tests="MAN-16 STR-13 SEEK-22",
               comment="a member that must be understood and is not known")
    forged("G11", "unknown-low-tag-and-a-bad-name", lambda b: base(b) + [(9, b""), (NAME, b"a/b")], "unsupportedMember",
           tests="MAN-16 MAN-18", comment="an unknown low tag, and a bad name behind it: values come last")
    for tag in (0x8000, UNKNOWN, 0xFFFF):
        forged("G12", f"unknown-high-tag-{tag:x}-empty", lambda b: base(b) + [(tag, b"")], "intact", tests="MAN-17",
               comment="an unknown member that need not be understood, of length 0")
    forged("G12", "unknown-high-tag-fills-the-cap", lambda b: filled(b, 1 << 20), "intact", tests="MAN-17 REC-5",
           comment="an unknown member so long that the manifest is as long as the cap allows")


def required():
    malformed("G13", "no-member-1", lambda b: base(b)[1:], tests="MAN-2", comment="no commitment in the manifest")
    malformed("G13", "commitment-of-another-container", lambda b: [(1, Box("G13 other").commitment), base(b)[1]],
              tests="MAN-2",
              comment="the commitment of another container: the payload is bound to its header")
    malformed("G13", "commitment-of-another-context",
              lambda b: [(1, commitment(b.file_key, b.preamble, b"other")), base(b)[1]],
              tests="MAN-2", comment="the commitment that another context gives")
    for n in (31, 33):
        malformed("G13", f"commitment-of-{n}-bytes", lambda b: [(1, (b.commitment + b"\0")[:n]), base(b)[1]],
                  tests="MAN-2",
                  comment="member 1 of another length")
    malformed("G14", "no-member-2", lambda b: base(b)[:1], tests="MAN-3", comment="no length in the manifest")
    for name, value in (("7-bytes", u64(700)[1:]), ("9-bytes", b"\0" + u64(700)), ("2-to-63", u64(1 << 63)),
                        ("2-to-64-minus-1", u64((1 << 64) - 1)), ("700-with-the-sign-bit", u64(700 + (1 << 63)))):
        malformed("G14", f"length-{name}", lambda b: [base(b)[0], (2, value)], tests="MAN-3",
                  comment="member 2 has another length, or a value that no plaintext has")


def plaintext_length():
    for name, value in (("plus-1", lambda n: n + 1), ("minus-1", lambda n: n - 1), ("0", lambda n: 0)):
        forged("G15", f"length-{name}", lambda b: [base(b)[0], (2, u64(value(700)))], "manifestMismatch",
               tests="SEEK-23 STR-16", comment="member 2 is not the length of the plaintext")
        length = B + 300
        forged("G15", f"length-{name}-packed",
               lambda b: [base(b)[0], (2, u64(value(length))), (3, u64(len(b.packed))), (4, offsets(b))], "E",
               seek="E at opening" if name == "0" else "E at reading", plaintext=length, compression=1,
               tests="STR-16 PACK-14" if name == "0" else "STR-16 PACK-16",
               comment="member 2 is not the length of the plaintext, with compression 1")


def offsets(b):
    return b.pack()[1]


def packing_members():
    for name, more in (("3", [(3, u64(700))]), ("4", [(4, b"")]), ("3-and-4", [(3, u64(700)), (4, b"")])):
        malformed("G16", f"compression-0-with-member-{name}", lambda b: base(b) + more,
                  tests="MAN-4" if name == "3" else "MAN-5" if name == "4" else "MAN-4 MAN-5",
                  comment="members of packing without packing")
    for name, kept in (("3", (4,)), ("4", (3,)), ("3-and-4", ())):
        malformed("G16", f"compression-1-without-member-{name}",
                  lambda b: base(b) + [m for m in ((3, u64(len(b.packed))), (4, offsets(b))) if m[0] in kept],
                  tests="MAN-4" if name == "3" else "MAN-5" if name == "4" else "MAN-4 MAN-5", compression=1,
                  plaintext=B + 300, comment="packing without its members")
    for name, change in (("3-of-7-bytes", lambda b: [(3, u64(len(b.packed))[1:]), (4, offsets(b))]),
                         ("3-of-2-to-63", lambda b: [(3, u64(1 << 63)), (4, offsets(b))]),
                         ("4-of-7-bytes", lambda b: [(3, u64(len(b.packed))), (4, offsets(b)[1:])]),
                         ("4-of-9-bytes", lambda b: [(3, u64(len(b.packed))), (4, offsets(b) + b"\0")])):
        malformed("G16", f"compression-1-member-{name}", lambda b: base(b) + change(b), tests=f"MAN-{name[0]}",
                  compression=1,
                  plaintext=B + 300, comment="a member of packing has another length, or a value that it cannot have")


def digest():
    forged("G17", "digest-wrong", lambda b: base(b) + [(5, sha(b)[::-1])], "contentMismatch", seek="intact",
           whole="contentMismatch at reading", plaintext=B + 300, tests="MAN-6 STR-18 SEEK-29 WHOLE-4",
           comment="the digest is another content's: a full read refuses it, a reader of ranges never reports it "
                   "as verified")
    forged("G17", "digest-of-zeros", lambda b: base(b) + [(5, bytes(32))], "contentMismatch", seek="intact",
           whole="contentMismatch at reading", tests="MAN-6 STR-18 SEEK-29 WHOLE-4",
           comment="a digest of zeros is a digest, not an absent one")
    for n in (0, 31, 33):
        malformed("G18", f"digest-of-{n}-bytes", lambda b: base(b) + [(5, (sha(b) + b"\0")[:n])], tests="MAN-6",
                  comment="a digest of another length, refused by readers too that do not use it")


def names():
    for name, value in (
            ("empty", b""), ("of-256-bytes", b"a" * 256), ("slash", b"a/b"), ("backslash", b"a\\b"), ("dot", b"."),
            ("dot-dot", b".."), ("nul", b"a\0b"), ("escape", b"a\x1b[2Jb"), ("line-feed", b"a\nb"), ("1f", b"a\x1fb"),
            ("delete", b"a\x7fb"), ("latin-1", b"caf\xe9"),
            ("cut-sequence", b"a\xe2\x82"), ("lone-continuation", b"a\x80b"), ("overlong-slash", b"a\xc0\xafb"),
            ("overlong-nul", b"a\xc0\x80b"), ("overlong-three-bytes", b"\xe0\x80\xaf"), ("surrogate", b"\xed\xa0\x80"),
            ("surrogate-pair", b"\xed\xa0\xbd\xed\xb8\x80"), ("above-10ffff", b"\xf4\x90\x80\x80"),
            ("five-bytes", b"\xf8\x88\x80\x80\x80")):
        malformed("G19", f"name-{name}", lambda b: base(b) + [(NAME, value)], tests="MAN-8",
                  comment="a name that is no single path component of valid UTF-8: it leads elsewhere, or reads "
                          "differently")
    for name, value in (("u-0085", "a\u0085b"), ("u-202e", "a\u202egpj.exe"), ("three-dots", "..."),
                        ("leading-dot", ".profile"), ("u-10ffff", "\U0010ffff"), ("u-d7ff-and-u-e000", "\ud7ff\ue000"),
                        ("one-space", " "), ("leading-bom", "\ufeffa")):
        forged("G20", f"name-{name}", lambda b: base(b) + [(NAME, value.encode())], "intact", tests="MAN-8",
               comment="a name that is allowed; whoever prints it escapes it")


def times_and_modes():
    for name, value in (("4755", u16(0o4755)), ("1000", u16(0o1000)), ("ffff", u16(0xFFFF)), ("one-byte", b"\7"),
                        ("three-bytes", b"\0\1\xa4")):
        malformed("G21", f"mode-{name}", lambda b: base(b) + [(MODE, value)], tests="MAN-10",
                  comment="a mode with bits beyond 0o777 (set-user-ID, sticky), or of another length")
    seconds = (1_700_000_000).to_bytes(8, "big", signed=True)
    for name, value in (("nanoseconds-1000000000", seconds + u32(10**9)), ("of-11-bytes", (seconds + u32(0))[:11]),
                        ("of-13-bytes", seconds + u32(0) + b"\0"), ("of-8-bytes", seconds)):
        malformed("G22", f"time-{name}", lambda b: base(b) + [(TIME, value)], tests="MAN-9",
                  comment="a modification time with a second of nanoseconds, or of another length")
    for name, number in (("least", -(1 << 63)), ("most", (1 << 63) - 1), ("minus-1", -1)):
        value = number.to_bytes(8, "big", signed=True) + u32(10**9 - 1)
        forged("G22", f"time-{name}-seconds", lambda b: base(b) + [(TIME, value)], "intact", tests="MAN-9",
               comment="any number of seconds is a time; what a system cannot express is the caller's matter")
    for name, value in (("line-feed", b"text/\nplain"), ("empty", b""), ("of-128-bytes", b"a" * 128), ("1f", b"a\x1fb"),
                        ("7f", b"a\x7fb"), ("latin-1", b"caf\xe9")):
        malformed("G23", f"content-type-{name}", lambda b: base(b) + [(TYPE, value)], tests="MAN-7",
                  comment="a content type with other bytes than 0x20 to 0x7E, or of another length")
