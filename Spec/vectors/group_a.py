"""Group A: magic, version, parameters of the preamble."""

from forge import Box, MAGIC, draw, flip, patched, summed, u16, u32
from vector import vector


def make():
    stubs()
    magic()
    version()
    parameters()


def stubs():
    b = Box("A1")
    for case, defect, data, result, what in [
            ("A1", "empty-file", b"", "truncated", "an empty file"),
            ("A2", "one-byte-of-the-magic", MAGIC[:1], "truncated", "the magic's first byte and nothing else"),
            ("A3", "magic-only", MAGIC, "truncated", "the magic and nothing else"),
            ("A4", "seven-zero-bytes", bytes(7), "notVaultfile", "seven bytes that are no beginning of the magic")]:
        vector(case, defect, b, data=data, stream=result, tests="HDR-2 STR-2 SEEK-3",
               comment=f"{what}: too short for a container, and named by what there is")


def magic():
    why = "what a transfer in text mode does; must not be taken for a container, nor for a forged one"
    b = Box("A5")
    good = b.bytes()
    lf = MAGIC.replace(b"\r\n", b"\n")
    vector("A5", "magic-cr-lf-to-lf", b, data=lf + good[8:], stream="notVaultfile", seek="footerDamaged",
           tests="HDR-2 STR-2 FOOT-6", comment=f"CR LF of the magic became LF: {why}")
    b = Box("A6")
    good = b.bytes()
    vector("A6", "magic-lf-to-cr-lf", b, data=MAGIC.replace(b"\n", b"\r\n") + good[8:], stream="notVaultfile",
           seek="footerDamaged", tests="HDR-2 STR-2 FOOT-6", comment=f"LF of the magic became CR LF: {why}")
    vector("A6", "whole-file-lf-to-cr-lf", b, data=good.replace(b"\n", b"\r\n"), stream="notVaultfile",
           tests="HDR-2 STR-2 SEEK-4", comment=f"LF became CR LF everywhere, in the end magic too: {why}")

    def seven_bits(copy):
        return summed(patched(copy, 0, bytes([copy[0] & 0x7F])))

    b = Box("A7").both(seven_bits)
    vector("A7", "high-bit-of-the-magic-cleared-both", b, stream="notVaultfile", seek="headerDamaged",
           tests="HDR-2 STR-2 HDR-17 SEEK-7", comment="the magic passed a 7-bit channel, in both copies")
    b = Box("A8")
    b.front = seven_bits(b.front)
    vector("A8", "high-bit-of-the-magic-cleared-front", b, stream="notVaultfile", seek="frontDamaged",
           tests="HDR-2 STR-2 HDR-17 SEEK-17",
           comment="the magic passed a 7-bit channel in the front only: the tail still opens for who can seek")
    b = Box("A8 tail", 5000)
    b.tail = seven_bits(b.tail)
    vector("A8", "high-bit-of-the-magic-cleared-tail", b, stream="tailDamaged", tests="HDR-2 HDR-17 STR-22 SEEK-17",
           comment="the magic passed a 7-bit channel in the tail only, checksum right: no copy without the magic")


def version():
    def with_version(n):
        return lambda copy: patched(copy, 8, u16(n))

    for case, n in (("A9", 0), ("A10", 2)):
        b = Box(case).both(lambda copy: summed(with_version(n)(copy)))
        vector(case, f"version-{n}-both-summed", b, stream="unsupportedVersion", tests="HDR-3 STR-5 SEEK-2",
               comment=f"version {n} with a right checksum: another version of the format, refused by name")
        b = Box(case, version=n)
        vector(case, f"version-{n}-forged", b, stream="unsupportedVersion", tests="HDR-3 STR-5 SEEK-2",
               comment=f"version {n}, all else as in version 1 and right: a reader that skips the check would open it")
    b = Box("A11").both(with_version(2))
    vector("A11", "version-2-both-not-summed", b, stream="headerDamaged", tests="HDR-17 STR-4 SEEK-7",
           comment="version 2 without its checksum is damage, not a new version: the checksum is judged first")
    b = Box("A12")
    b.front = summed(with_version(2)(b.front))
    vector("A12", "version-2-front-summed", b, stream="unsupportedVersion", tests="HDR-3 STR-5 SEEK-2",
           comment="version 2 in the front only, summed: a reader of version 2 would take this copy, so who reads "
                   "version 1 must not pass over it to the tail")
    b = Box("A13")
    b.front = with_version(2)(b.front)
    vector("A13", "version-2-front-not-summed", b, stream="headerDamaged", seek="frontDamaged",
           tests="HDR-17 STR-4 SEEK-17", comment="version 2 in the front, checksum wrong: damaged for every reader")
    b = Box("A14")
    b.tail = summed(with_version(2)(b.tail))
    vector("A14", "version-2-tail-summed", b, stream="copiesDisagree", released=700,
           tests="SEEK-8 STR-23",
           comment="version 2 in the tail only, summed: two intact copies that say different things; nobody may choose")
    b = Box("A14 damaged", 5000)
    b.front, b.tail = flip(b.front, 100), summed(with_version(2)(b.tail))
    vector("A14", "version-2-tail-summed-front-damaged", b, stream="headerDamaged", seek="unsupportedVersion",
           tests="HDR-3 STR-4 SEEK-9", comment="the front is damaged, and the tail that is left is of version 2")
    b = Box("A14 smaller", 5000, capacity=1024)
    small = bytearray(b.tail[:512])
    small[8:10], small[64:68] = u16(2), u32(512)
    b.front, b.tail = flip(b.front, 100), summed(bytes(small)) + b.tail[512:]
    vector("A14", "version-2-tail-summed-of-a-smaller-capacity", b, stream="headerDamaged", seek="unsupportedVersion",
           tests="HDR-3 HDR-17 STR-4 SEEK-9",
           comment="the same, and its capacity is not the footer's: another version may mean it otherwise")
    b = Box("A15").both(lambda copy: summed(with_version(2)(copy)))
    b.footer = draw("A15", "other footer", 32)
    vector("A15", "version-2-both-summed-other-footer", b, stream="unsupportedVersion", tests="HDR-3 STR-5 SEEK-2",
           comment="version 2 may end otherwise: the front's version is judged before the footer")


def parameters():
    fields = [
        ("A16", "suite", 10, 2, "unsupportedSuite", "HDR-4", (0, 2), lambda n: dict(suite=n)),
        ("A17", "log2-chunk", 12, 1, "headerMalformed", "HDR-5", (11, 24, 0, 255),
         lambda n: dict(log2=n, chunk=1 << min(n, 24))),
        ("A18", "compression", 13, 1, "unsupportedCompression", "HDR-6", (2, 255),
         lambda n: dict(compression=n)),
        ("A19", "flags", 14, 2, "unsupportedFlags", "HDR-7", (0x0001, 0x8000), lambda n: dict(flags=n))]
    for case, field, offset, width, error, rule, values, forged in fields:
        for n in values:
            def change(copy):
                return summed(patched(copy, offset, n.to_bytes(width, "big")))
            shown = f"{n:04x}" if field == "flags" else n
            b = Box(f"{case} {n}").both(change)
            vector(case, f"{field}-{shown}-both-summed", b, stream=error, tests=f"{rule} HDR-19 STR-6 SEEK-11",
                   comment=f"{field} {shown} in both copies, summed: refused by name, before any key is tried")
            # A chunk of one byte makes a record of each byte.
            b = Box(f"{case} {n} forged", 1 if n == 0 and field == "log2-chunk" else 700, **forged(n))
            vector(case, f"{field}-{shown}-forged", b, stream=error, tests=f"{rule} HDR-19 STR-6 SEEK-11",
                   comment=f"{field} {shown}, MAC, commitment and records right: a reader that skips the check "
                           "opens it")
        n = values[0]
        b = Box(f"A20 {field}")
        b.tail = change(b.tail)
        vector("A20", f"{field}-tail-only", b, stream="copiesDisagree", released=700,
               tests="SEEK-8 STR-23",
               comment=f"another {field} in an intact tail: the copies disagree, whatever the front says")
        b = Box(f"A20 {field}")
        b.front = change(b.front)
        vector("A20", f"{field}-front-only", b, stream=error, seek="copiesDisagree", tests=f"{rule} STR-6 SEEK-8",
               comment=f"another {field} in an intact front: the stream names it; who sees both copies, the "
                       "disagreement")
