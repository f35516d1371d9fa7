"""Group F: the end of the container."""

from forge import Box, MANIFEST, draw, flip, patched
from vector import vector

B = 4096
LONG = 2 * B + 300


def make():
    cuts()
    more_behind()
    zeros()
    shifted()
    footer_m()
    footer_fields()
    two_ends()


def cuts():
    b = Box("F1", LONG)
    m, t, end = b.m, b.t, len(b.bytes())
    behind = m + len(b.manifest)
    assert behind + 2 < t
    for name, at in (("inside-the-first-68-bytes", 40), ("inside-the-front", 300)):
        vector("F1", f"cut-{name}", b, data=b.bytes()[:at], stream="truncated", tests="STR-1 SEEK-3",
               comment="the container is cut")
    for name, at, released in (
            ("after-the-front", 512, 0), ("inside-a-record-header", 512 + B + 20 + 2, B),
            ("inside-a-record", 512 + B + 20 + 2000, B), ("at-a-record-border", 512 + 2 * (B + 20), 2 * B),
            ("before-the-manifest", m, LONG), ("inside-the-manifest", m + 300, LONG),
            ("behind-the-manifest", behind, LONG),
            ("inside-the-zeros", behind + 2, LONG), ("behind-the-zeros", t, LONG), ("inside-the-tail", t + 200, LONG),
            ("before-the-footer", end - 32, LONG), ("one-byte-before-the-end", end - 1, LONG)):
        vector("F1", f"cut-{name}", b, data=b.bytes()[:at], stream="truncated", released=released,
               seek="truncated" if at < 2080 else "footerDamaged",
               tests="STR-1 SEEK-3" if at < 2080 else "STR-1 FOOT-2",
               comment="the container is cut: what was authenticated before is released, success is not reported")


def more_behind():
    b = Box("F2")
    good = b.bytes()
    for name, more in (("one-zero-byte", b"\0"), ("32-zero-bytes", bytes(32)), ("the-footer-again", good[-32:]),
                       ("the-container-again", good)):
        vector("F2", f"appended-{name}", b, data=good + more, stream="trailingData", released=700, seek="footerDamaged",
               tests="STR-29 FOOT-6" if more[-1] else "STR-29 FOOT-2",
               comment="bytes behind the container: nothing may follow it")


def zeros():
    for name, change in (("512-more", 512), ("32-more", 32), ("1-more", 1), ("one-fewer", -1), ("none-left", None)):
        b = Box(f"F3 {name}")
        have = len(b.padding())
        b.zeros = bytes(0 if change is None else have + change)
        vector("F3", f"zeros-{name}", b, stream="E", released=700, seek="footerDamaged", tests="FOOT-6 STR-28",
               comment="another number of zeros between manifest and tail, the footer's length adjusted: one "
                       "content, one form")
    for name, at in (("first", 0), ("last", -1)):
        b = Box(f"F4 {name}")
        b.zeros = patched(b.padding(), at, b"\1")
        vector("F4", f"non-zero-byte-{name}", b, stream="paddingNotZero", released=700, tests="LAY-6 STR-19 SEEK-20",
               comment=f"the {name} byte between manifest and tail is not zero: else a place that nobody checks")
    b = Box("F4 cut", LONG)
    b.zeros = patched(b.padding(), 0, b"\1")
    vector("F4", "non-zero-byte-and-cut", b, data=b.bytes()[:b.t - 1], stream="truncated", released=LONG,
           seek="footerDamaged", tests="STR-1 STR-19 FOOT-2",
           comment="a byte between manifest and tail is not zero, and the last one is missing: a step reads all that it "
                   "needs before it checks it")


def shifted():
    b = Box("F5")
    good = b.bytes()
    for name, length in (("as-it-was", len(good)), ("adjusted", len(good) + 32)):
        vector("F5", f"32-bytes-before-the-footer-{name}", b, stream="E", released=700, seek="footerDamaged",
               data=good[:-32] + draw("F5", "between", 32) + b.footer_with(length=length), tests="FOOT-6 STR-28",
               comment="32 bytes between tail and footer")
    vector("F5", "one-byte-before-the-front", b, data=b"\0" + good, stream="notVaultfile", seek="footerDamaged",
           tests="HDR-2 STR-2 FOOT-6", comment="one byte before the front")


def with_footer(case, name, *, seek, plaintext=LONG, tests, comment, members=(), **fields):
    b = Box(f"{case} {name}", plaintext, members=members)
    values = {k: v(b) if callable(v) else v for k, v in fields.items()}
    b.footer = b.footer_with(**values)
    assert b.footer != Box(f"{case} {name}", plaintext, members=members).footer_with()
    vector(case, name, b, stream="footerDamaged", released=plaintext, seek=seek, tests=tests, comment=comment)


def footer_m():
    why = "the footer's m points elsewhere: a hint must agree with what is computed and authenticated"
    for name, change in (("1", 1), ("512", 512), ("chunk", B + 20)):
        for sign, word in ((1, "plus"), (-1, "minus")):
            with_footer("F6", f"m-{word}-{name}", m=lambda b: b.m + sign * change, seek="E", tests="STR-28",
                        comment=why)
    for name, m in (("0", 0), ("length", 10272), ("2-to-63", 1 << 63),
                    ("2-to-64-minus-1", (1 << 64) - 1)):
        with_footer("F6", f"m-{name}", m=m, seek="footerDamaged",
                    tests="FOOT-5 STR-28 CAP-2" if m >= 1 << 63 else "FOOT-5 STR-28",
                    comment=why)
    with_footer("F6", "m-below-c", m=511, plaintext=300, seek="footerDamaged", tests="FOOT-5 STR-28",
                comment=why + "; the lengths agree, but the manifest would begin inside the front")
    for r in (1, 20):
        with_footer("F6", f"m-with-remainder-{r}", m=lambda b: b.m + r, plaintext=2 * B, seek="footerDamaged",
                    tests="FOOT-8 STR-28", comment=why + "; no container has this remainder")
    with_footer("F6", "m-with-remainder-21", m=lambda b: b.m + 21, plaintext=2 * B, seek="E", tests="STR-28",
                comment=why + "; the least remainder that a container can have")


def footer_fields():
    short = dict(plaintext=700)
    for name, length in (("plus-1", lambda b: len(b.bytes()) + 1), ("minus-1", lambda b: len(b.bytes()) - 1), ("0", 0),
                         ("2-to-64-minus-1", (1 << 64) - 1)):
        with_footer("F7", f"length-{name}", length=length, seek="footerDamaged", tests="FOOT-6 STR-28",
                    comment="the footer states another length", **short)
    for power in range(32):
        if power != 9:
            allowed = 9 <= power <= 20
            with_footer("F8", f"c-2-to-{power}", c=1 << power, seek="footerDamaged", **short,
                        tests="FOOT-6 STR-28" if allowed else "FOOT-3 STR-28",
                        comment="the footer states another capacity")
    wide = dict(members=[(0x8010, draw("F9", "member", 700))])
    for name, change in (("plus", 512), ("minus", -512)):
        with_footer("F9", f"manifest-{name}-512", M=lambda b: len(b.manifest_text) + change, seek="E",
                    tests="STR-28", comment="the footer states another length of the manifest", **short, **wide)
    for name, length in (("plus-1", 1025), ("0", 0), ("above-the-cap", (1 << 20) + 512),
                         ("2-to-32-minus-1", (1 << 32) - 1)):
        with_footer("F9", f"manifest-{name}", M=length, seek="footerDamaged", tests="FOOT-4 STR-28",
                    comment="the footer states a length that no manifest has", **short, **wide)
    for i in range(8):
        b = Box(f"F10 {i}")
        b.footer = flip(b.footer_with(), 24 + i, i)
        vector("F10", f"end-magic-byte-{i}", b, stream="footerDamaged", released=700, tests="FOOT-2 STR-28",
               comment=f"one bit of byte {i} of the end magic flipped")
    b, x = Box("F11"), Box("F11 other", 690)
    assert len(b.bytes()) == len(x.bytes())
    b.footer = x.footer_with()
    vector("F11", "footer-of-another-container", b, stream="footerDamaged", released=700, seek="E", tests="STR-28",
           comment="the footer of another container of the same size and another m")


def two_ends():
    def second(b, index):
        return b.record(index, b.manifest_text, MANIFEST)

    b = Box("F12 second")
    b.records, b.manifest = b.records + [b.manifest], second(b, 2)
    vector("F12", "two-manifests-footer-for-the-second", b, stream="E", released=700, tests="REC-6",
           comment="two manifest records, the footer leads to the second")
    b = Box("F12 first")
    b.footer = b.footer_with(length=b.t + 1024 + 512 + 32)
    more = second(b, 2)
    b.zeros = b.padding() + more + bytes(1024 - len(more))
    vector("F12", "two-manifests-footer-for-the-first", b, stream="E", released=700, tests="REC-6 FOOT-6",
           comment="two manifest records, the footer leads to the first")
    b = Box("F12 zeros", capacity=4096)
    more = second(b, 2)
    b.zeros = more + b.padding()[len(more):]
    vector("F12", "two-manifests-in-the-zeros", b, stream="paddingNotZero", released=700,
           tests="REC-6 LAY-6 STR-19 SEEK-20",
           comment="a second manifest record in the place of the zeros")
    b = Box("F13", B)
    more = b.record(2, draw("F13", "more", 300))
    b.records, b.manifest = b.records + [b.manifest, more], b.record(3, b.manifest_text, MANIFEST)
    vector("F13", "data-behind-the-manifest", b, stream="E", released=B, tests="REC-6",
           comment="a manifest, more data, and a manifest again")
    b = Box("F13 zeros")
    more = b.record(2, draw("F13", "more", 100))
    b.zeros = more + b.padding()[len(more):]
    vector("F13", "data-in-the-zeros", b, stream="paddingNotZero", released=700, tests="REC-6 LAY-6 STR-19 SEEK-20",
           comment="a data record behind the manifest, in the place of the zeros")
