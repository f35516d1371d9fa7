"""Group Q: members for programs. The index of a tar stream (24)."""

import hashlib

from forge import Box, draw, flip, patched, u32
from vector import member_of_tar, tar_index, vector

PART = {"needs": "tar-index"}
INDEX = 0x8005


def make():
    indexes()
    broken_indexes()
    wrong_indexes()
    found_members()
    made_indexes()
    tar_forms()
    readings_of_headers()
    kept_indexes()
    hard_links()
    lost_targets()


# Tar streams, built by hand.

def header(path, size=0, kind=b"0", prefix=b"", magic=b"ustar\x0000", link=b""):
    head = path.ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + b"%011o\0" % size + b"%011o\0" % 0 + b" " * 8
    head += kind + link.ljust(100, b"\0") + magic + bytes(80) + prefix.ljust(155, b"\0")
    head = head.ljust(512, b"\0")
    return head[:148] + b"%06o\0 " % sum(head) + head[156:]


def entry(path, content=b"", **more):
    return header(path, len(content), **more) + content.ljust(-(-len(content) // 512) * 512, b"\0")


def tar(*entries, end=1024):
    return b"".join(entries) + bytes(end)


def simple(*paths):
    """One header block for each path and no content."""
    return tar(*[entry(path) for path in paths])


# Index values, built by hand.

def varint(value):
    return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + varint(value // 128)


def index_entry(step, shared, rest):
    return varint(step) + varint(shared) + varint(len(rest)) + rest


def value(entries, count, *, log2=0, order=0, version=1, stated=None):
    stated = len(entries) if stated is None else stated
    return bytes([version, log2, order]) + u32(stated) + u32(count) + b"".join(entries)


def places(pairs):
    """Index entries of (place, path), with the longest shared beginnings."""
    made, place, path = [], 0, b""
    for at, name in pairs:
        shared = 0
        while shared < min(len(path), len(name)) and path[shared] == name[shared]:
            shared += 1
        made.append(index_entry(at - place, shared, name[shared:]))
        place, path = at, name
    return made


def indexed(seed, stream, index, **more):
    return Box(seed, stream, members=[(INDEX, index)], **more)


PATHS = (b"a", b"a/b", b"a-b")


def indexes():
    stream = tar(entry(b"a", kind=b"5"), entry(b"a/b", b"content of a/b"), entry(b"a-b", draw("Q1", "a-b", 700)))
    by_path = {b"a": b"", b"a/b": b"content of a/b", b"a-b": draw("Q1", "a-b", 700)}
    for name, step, order, pairs in (
            ("s-1-sorted", 0, 1, [(0, b"a"), (1, b"a/b"), (3, b"a-b")]),
            ("s-1", 0, 0, [(0, b"a"), (1, b"a/b"), (3, b"a-b")]),
            ("s-2-sorted", 1, 1, [(0, b"a"), (3, b"a-b")]), ("s-2", 1, 0, [(0, b"a"), (3, b"a-b")]),
            ("s-4-sorted", 2, 1, [(0, b"a")]), ("s-2-to-31-sorted", 31, 1, [(0, b"a")])):
        index = value(places(pairs), 3, log2=step, order=order)
        for compression in (0, 1):
            kind = "packed-" if compression else ""
            b = indexed(f"Q1 {name} {kind}", stream, index, compression=compression)
            tar_index("Q1", f"{kind}{name}", b, index=f"{1 << step} {order} 3", entries=pairs,
                      tests="TAR-3 TAR-4 TAR-5", comment="an index of three entries", **PART)
            for path, content in by_path.items():
                member_of_tar("Q1", f"{kind}{name}-{path.decode().replace('/', '-in-').replace('-b', '-and-b')}", b,
                              path, content=content, tests="TAR-8 TAR-2 TAR-9", comment="found by the index", **PART)
            member_of_tar("Q1", f"{kind}{name}-nothing", b, b"a.b", tests="TAR-9",
                          comment="a path that the stream does not have", **PART)
    known = simple(*PATHS)
    for step, expected in ((0, "0100010000000300000003000001610101022f620101022d62"),
                           (1, "0101010000000200000003000001610201022d62")):
        pairs = list(enumerate(PATHS))[::1 << step]
        index = value(places(pairs), 3, log2=step, order=1)
        assert index.hex() == expected
        tar_index("Q1", f"known-answer-{step}", indexed("Q1 known", known, index), index=f"{1 << step} 1 3",
                  entries=pairs, tests="TAR-3 TAR-4", comment="the worked example", **PART)
    empty = value([], 0)
    tar_index("Q1", "empty-stream", indexed("Q1 empty", tar(), empty), index="1 0 0", entries=[], tests="TAR-3",
              comment="a stream without entries", **PART)
    vector("Q1", "read", indexed("Q1 read", stream, value(places([(0, b"a"), (1, b"a/b"), (3, b"a-b")]), 3, order=1)),
           stream="intact", tests="TAR-6 MAN-17", comment="a reader that does not use the index skips it")


def broken_indexes():
    stream = simple(*PATHS)
    pairs = [(0, b"a"), (1, b"a/b"), (2, b"a-b")]
    good = value(places(pairs), 3, order=1)
    first, long = places(pairs)[:1], b"p" * 4096
    broken = {
        "version-2": value(places(pairs), 3, version=2), "version-0": value(places(pairs), 3, version=0),
        "log2-32": value(first, 3, log2=32), "order-2": value(places(pairs), 3, order=2),
        "a-byte-behind": good + b"\0", "a-byte-short": good[:-1], "ten-bytes": good[:10], "empty": b"",
        "more-entries-than-n": value(places(pairs), 2), "more-entries-than-n-by-s": value(places(pairs[:2]), 2, log2=1),
        "fewer-entries-than-stated": value(first, 3, stated=2),
        "2-to-32-entries-stated": value(first, 2**32 - 1, stated=2**32 - 1),
        "shared-above-the-path": value([*first, index_entry(1, 2, b"x")], 3),
        "shared-in-the-first": value([index_entry(0, 1, b"a")], 3),
        "varint-not-shortest": value([b"\x80\0" + index_entry(0, 0, b"a")[1:]], 3),
        "varint-of-ten-bytes": value([b"\x80" * 9 + b"\1" + index_entry(0, 0, b"a")[1:]], 3),
        "varint-without-end": value([b"\x80" * 20], 3),
        "place-twice": value([*first, index_entry(0, 1, b"b")], 3),
        "place-of-2-to-54": value([varint(2**54) + index_entry(0, 0, b"a")[1:]], 3),
        "places-that-sum-to-2-to-54": value([varint(2**54 - 1) + index_entry(0, 0, b"a")[1:], index_entry(1, 0, b"b")], 3),
        "path-of-4097-bytes": value([index_entry(0, 0, long + b"p")], 3),
        "path-of-4097-bytes-by-sharing": value([index_entry(0, 0, long), index_entry(1, 4096, b"p")], 3),
        "path-of-2-to-62-bytes": value([b"\0\0" + varint(2**62)], 3),
        "not-sorted": value(places([(0, b"b"), (1, b"a")]), 2, order=1),
        "sorted-as-whole-strings": value(places([(0, b"a"), (1, b"a-b"), (2, b"a/b")]), 3, order=1),
    }
    for name, path in (("dot-dot", b"../x"), ("dot", b"a/./b"), ("absolute", b"/a"), ("empty-component", b"a//b"),
                       ("slash-behind", b"a/"), ("nul", b"a\0b"), ("no-path", b""), ("leading-dot", b"./a")):
        broken[f"path-{name}"] = value([index_entry(0, 0, path)], 3)
    for name, index in broken.items():
        b = indexed(f"Q2 {name}", stream, index)
        tar_index("Q2", name, b, index="absent", tests="TAR-6 TAR-3 TAR-4" + (" TAR-5" if "sorted" in name else ""),
                  comment="the container opens, and the index counts as absent", **PART)
    for name in ("version-2", "empty", "path-dot-dot", "2-to-32-entries-stated"):
        vector("Q2", f"{name}-read", indexed(f"Q2 {name} read", stream, broken[name]), stream="intact",
               tests="TAR-6 MAN-17", comment="no value of the member makes a container unreadable")
    for name, index, what, found in (
            ("place-below-2-to-54", value([varint(2**54 - 1) + index_entry(0, 0, b"a")[1:]], 3), "1 0 3",
             [(2**54 - 1, b"a")]),
            ("path-of-4096-bytes", value([index_entry(0, 0, long)], 3), "1 0 3", [(0, long)]),
            ("one-path-twice", value([*first, index_entry(1, 1, b"")], 2, order=1), "1 1 2", [(0, b"a"), (1, b"a")]),
            ("less-shared-than-it-could", value([*first, index_entry(1, 0, b"a/b")], 2, order=1), "1 1 2",
             [(0, b"a"), (1, b"a/b")]),
            ("n-of-2-to-32-less-1", value(first, 2**32 - 1), f"1 0 {2**32 - 1}", [(0, b"a")])):
        tar_index("Q2", f"accepted-{name}", indexed(f"Q2 {name}", stream, index), index=what, entries=found,
                  tests="TAR-3 TAR-4", comment="at the edge of what is accepted", **PART)
    tar_index("Q2", "accepted-sorted-by-components", indexed("Q2 components", stream, good), index="1 1 3",
              entries=pairs, tests="TAR-2 TAR-5", comment="a/b is before a-b, because a is before a-b", **PART)


def wrong_indexes():
    stream = tar(entry(b"a", b"content"), entry(b"b", b"content"), entry(b"c", b"content"))
    for name, pairs, path in (
            ("another-path", [(0, b"a"), (2, b"x"), (4, b"c")], b"x"),
            ("another-place", [(0, b"a"), (4, b"b")], b"b"), ("content-as-a-header", [(0, b"a"), (1, b"b")], b"b"),
            ("the-end-of-the-stream", [(0, b"a"), (6, b"b")], b"b"),
            ("behind-the-stream", [(0, b"a"), (2**54 - 1, b"b")], b"b")):
        b = indexed(f"Q3 {name}", stream, value(places(pairs), 3))
        member_of_tar("Q3", name, b, path, result="indexMismatch", tests="TAR-8",
                      comment="the headers at the place do not give the path of the index entry", **PART)
    b = indexed("Q3 sorted", stream, value(places([(0, b"a"), (3, b"b")]), 3, log2=1, order=1))
    member_of_tar("Q3", "before-the-wanted-path", b, b"c", result="indexMismatch", tests="TAR-8 TAR-9",
                  comment="the index entry from which the headers are read is wrong", **PART)
    for name, place in (("within-an-entry", 3), ("behind-the-end", 8)):
        b = indexed(f"Q3 next {name}", stream, value(places([(0, b"a"), (place, b"c")]), 3, log2=1, order=1))
        member_of_tar("Q3", f"next-{name}", b, b"b", result="indexMismatch", tests="TAR-9",
                      comment="no header is at the next index entry, and what is before it is read", **PART)
    damaged = tar(entry(b"a", b"content"), flip(entry(b"b", b"content"), 1), entry(b"c", b"content"))
    b = indexed("Q3 damaged", damaged, value(places([(0, b"a"), (4, b"c")]), 3, log2=1, order=1))
    member_of_tar("Q3", "a-header-behind-it", b, b"b", result="indexMismatch", tests="TAR-9",
                  comment="a header between two index entries has a wrong checksum", **PART)


def found_members():
    stream = tar(entry(b"a", b"first"), entry(b"a", b"second"), entry(b"a", b"third"), entry(b"b", b"b"),
                 entry(b"b", b"last"), entry(b"c", b"c"))
    every = [(2 * place, path) for place, path in enumerate((b"a", b"a", b"a", b"b", b"b", b"c"))]
    for name, step, order in (("s-1", 0, 0), ("s-1-sorted", 0, 1), ("s-2-sorted", 1, 1), ("s-4-sorted", 2, 1),
                              ("s-4", 2, 0)):
        b = indexed(f"Q4 {name}", stream, value(places(every[::1 << step]), 6, log2=step, order=order))
        for path, content in ((b"a", b"third"), (b"b", b"last"), (b"c", b"c")):
            member_of_tar("Q4", f"{name}-{path.decode()}", b, path, content=content, tests="TAR-9",
                          comment="the last entry with a path counts", **PART)
    stream = tar(entry(b"../x", b"bad"), entry(b"a", b"a"), entry(b"b", b"b"), entry(b"c", b"c"))
    b = indexed("Q6", stream, value(places([(4, b"b")]), 4, log2=1, order=1))
    member_of_tar("Q6", "before-the-first-index-entry", b, b"a", content=b"a", tests="TAR-1 TAR-9",
                  comment="entry 0 has no legal path and so no index entry: the headers are read from block 0", **PART)
    member_of_tar("Q6", "behind-it", b, b"c", content=b"c", tests="TAR-1 TAR-9", comment="read from entry 2 on", **PART)
    inner = entry(b"inner", b"planted")
    stream = tar(entry(b"a", b"a"), entry(b"archive.tar", inner))
    b = indexed("Q7", stream, value(places([(0, b"a"), (2, b"archive.tar"), (3, b"inner")]), 3))
    member_of_tar("Q7", "by-the-index", b, b"inner", content=b"planted", tests="TAR-10",
                  comment="the index leads into a tar that is the content of a file", **PART)
    member_of_tar("Q7", "by-the-stream", b, b"inner", by="stream", tests="TAR-10",
                  comment="the stream has no such entry", **PART)
    member_of_tar("Q7", "by-the-stream-what-is-there", b, b"archive.tar", by="stream", content=inner, tests="TAR-10",
                  comment="the entry that has it as its content", **PART)


def made(case, name, stream, comment, *, step=0, order=0, pairs=None, count=None, tests="TAR-7"):
    index = None
    if pairs is not None:
        count = len(pairs) if count is None else count
        index = value(places(pairs), count, log2=step, order=order)
    tar_index(case, name, None, data=stream, what="make-tar-index", made=index,
              index=f"{1 << step} {order} {count}" if index else "absent", entries=pairs, tests=tests, comment=comment,
              **PART)


def made_indexes():
    made("Q5", "sorted-by-components", simple(b"a", b"a/b", b"a.txt"), "a walk that goes down into each folder first",
         order=1, pairs=[(0, b"a"), (1, b"a/b"), (2, b"a.txt")], tests="TAR-7 TAR-2")
    made("Q5", "sorted-as-whole-strings", simple(b"a", b"a.txt", b"a/b"), "not sorted: a/b is before a.txt",
         pairs=[(0, b"a"), (1, b"a.txt"), (2, b"a/b")], tests="TAR-7 TAR-2")
    made("Q5", "one-path-twice", simple(b"a", b"a", b"b"), "paths may repeat", order=1,
         pairs=[(0, b"a"), (1, b"a"), (2, b"b")], tests="TAR-7 TAR-2")
    made("Q6", "bad-paths", simple(b"../x", b"a", b"/b", b"c//d", b"./e", b"f/", b"./"),
         "entries whose paths are not legal count, and have no index entry; they have no part in the order", order=1,
         pairs=[(1, b"a"), (4, b"e"), (5, b"f")], count=7, tests="TAR-1 TAR-7 TAR-2")
    made("Q8", "no-entries", tar(), "a stream without entries", order=1, pairs=[])
    made("Q8", "one-block-of-zeros", simple(b"a")[:-512], "one block of zeros ends a stream", order=1, pairs=[(0, b"a")])
    made("Q8", "bytes-behind-the-end", simple(b"a") + b"more", "bytes behind the end", order=1, pairs=[(0, b"a")])
    for name, stream in (("no-end", simple(b"a")[:-1024]), ("cut-in-its-content", entry(b"a", b"x" * 600)[:-512]),
                         ("cut-in-its-end", simple(b"a")[:-1000]), ("no-tar", b"text" * 400), ("nothing", b""),
                         ("damaged", flip(simple(b"a"), 0))):
        made("Q8", name, stream, "not a tar stream that ends: no index, and no error")
    # Each index entry has 182 bytes, because no path shares a byte with the path before.
    for over in (0, 1):
        paths = [bytes([97 + number % 2]) + b"%06d" % number + b"x" * 80 + b"/" + b"y" * 90 for number in range(4944)]
        pairs = list(enumerate(paths))
        left = 900_000 + over - len(value(places(pairs), len(pairs)))
        assert 0 < left < 300, left
        last = b"z" * (left - 4) if left - 3 < 128 else b"z" * 100 + b"/" + b"z" * (left - 4 - 101)
        pairs.append((len(pairs), last))
        assert len(value(places(pairs), len(pairs))) == 900_000 + over
        stream = tar(*[entry(path.rpartition(b"/")[2], prefix=path.rpartition(b"/")[0]) for _, path in pairs])
        if over:
            made("Q8", "value-of-900001-bytes", stream, "S = 1 would need 900,001 bytes, so S is 2", step=1,
                 pairs=pairs[::2], count=len(pairs))
        else:
            made("Q8", "value-of-900000-bytes", stream, "the largest value that a writer makes", pairs=pairs)


def tar_forms():
    long = b"l" * 90 + b"/" + b"m" * 200
    record = b"path=" + long + b"\n"
    record = b"%d " % (len(record) + 4) + record
    stream = tar(
        entry(b"././@LongLink", long + b"\0", kind=b"L", magic=b"ustar  \0"), entry(b"short", b"gnu", magic=b"ustar  \0"),
        entry(b"PaxHeader", record, kind=b"x"), entry(b"other", b"pax"),
        entry(b"globals", b"13 comment=x\n", kind=b"g"), entry(b"after", b"global"),
        entry(b"name", b"prefixed", prefix=b"some/folder"), entry(b"link", kind=b"2"),
        entry(b"././@LongLink", b"target\0", kind=b"K", magic=b"ustar  \0"), entry(b"last", b"", kind=b"2", magic=b"ustar  \0"))
    pairs = [(0, long), (4, long), (8, b"after"), (12, b"some/folder/name"), (14, b"link"), (15, b"last")]
    made("Q8", "extension-headers", stream, "GNU long names, pax paths, global headers, a prefix", pairs=pairs,
         tests="TAR-1 TAR-7")
    b = indexed("Q8 forms", stream, value(places(pairs), 6))
    for path, content in ((long, b"pax"), (b"after", b"global"), (b"some/folder/name", b"prefixed"), (b"link", b"")):
        member_of_tar("Q8", f"member-{path[:4].decode()}", b, path, content=content, tests="TAR-8 TAR-9",
                      comment="an entry with extension headers before it", **PART)


def pax(key, text):
    record = key + b"=" + text + b"\n"
    length = next(n for n in range(len(record) + 2, len(record) + 6) if n == len(b"%d " % n + record))
    return b"%d " % length + record


def readings_of_headers():
    """What two readers of tar could take differently."""
    gnu = entry(b"././@LongLink", b"by-gnu\0", kind=b"L", magic=b"ustar  \0")
    by_pax = entry(b"PaxHeader", pax(b"path", b"by-pax"), kind=b"x")
    for name, heads in (("gnu-then-pax", gnu + by_pax), ("pax-then-gnu", by_pax + gnu)):
        made("Q8", name, tar(heads, entry(b"short")), "a pax path goes before a GNU long name, whichever is first",
             order=1, pairs=[(0, b"by-pax")], tests="TAR-1")
    twice = entry(b"PaxHeader", pax(b"path", b"first"), kind=b"x") + entry(b"PaxHeader", pax(b"mtime", b"1"), kind=b"x")
    made("Q8", "two-pax-headers", tar(twice, entry(b"name")), "the last pax header counts, as a whole", order=1,
         pairs=[(0, b"name")], tests="TAR-1")
    made("Q8", "path-in-a-global-header", tar(entry(b"globals", pax(b"path", b"global"), kind=b"g"), entry(b"a"),
                                              entry(b"b")),
         "a global header changes no path", order=1, pairs=[(0, b"a"), (3, b"b")], tests="TAR-1")
    size = entry(b"PaxHeader", pax(b"size", b"3"), kind=b"x")
    made("Q8", "pax-size", tar(size, header(b"a", 4096) + b"abc".ljust(512, b"\0"), entry(b"b")),
         "a pax size goes before the size of the header", order=1, pairs=[(0, b"a"), (4, b"b")], tests="TAR-1")
    base_256 = patched_head(header(b"a"), 124, b"\x80" + bytes(10) + b"\3") + b"abc".ljust(512, b"\0")
    made("Q8", "size-in-base-256", tar(base_256, entry(b"b")), "the size in base 256", order=1,
         pairs=[(0, b"a"), (2, b"b")], tests="TAR-1")
    high = header(b"\xe4")
    made("Q8", "byte-above-127", tar(high), "a checksum over unsigned bytes", order=1, pairs=[(0, b"\xe4")], tests="TAR-1")
    made("Q8", "signed-checksum", tar(high[:148] + b"%06o\0 " % (unsummed(high) - 256) + high[156:]),
         "a checksum over signed bytes: not a tar stream", tests="TAR-1 TAR-7")
    made("Q8", "folder-with-a-size", tar(header(b"d/", 512, kind=b"5"), entry(b"d/a")), "a folder has no content",
         order=1, pairs=[(0, b"d"), (1, b"d/a")], tests="TAR-1")
    sparse = patched_head(header(b"a", 600, kind=b"S", magic=b"ustar  \0"), 482, b"\1")
    for count in (1, 2):
        more = b"".join(bytes(504) + bytes([number < count - 1]) + bytes(7) for number in range(count))
        made("Q8", f"sparse-map-of-{count}-more", tar(sparse + more + b"abc".ljust(1024, b"\0"), entry(b"b")),
             "the map of a sparse file of GNU tar goes on behind its header", order=1,
             pairs=[(0, b"a"), (3 + count, b"b")], tests="TAR-1")
    made("Q8", "sparse-map-that-ends-in-the-header",
         tar(header(b"a", 600, kind=b"S", magic=b"ustar  \0") + b"abc".ljust(1024, b"\0"), entry(b"b")),
         "a sparse file of GNU tar whose map fits its header", order=1, pairs=[(0, b"a"), (3, b"b")], tests="TAR-1")
    made("Q8", "sparse-byte-in-another-type",
         tar(patched_head(header(b"a", 600), 482, b"\1") + b"abc".ljust(1024, b"\0"), entry(b"b")),
         "byte 482 means nothing in a header of another type", order=1, pairs=[(0, b"a"), (3, b"b")], tests="TAR-1")
    made("Q8", "sparse-map-cut", sparse + bytes(504) + b"\1" + bytes(7), "the map does not end: not a tar stream",
         tests="TAR-1 TAR-7")
    for name, records in (("first", pax(b"GNU.sparse.name", b"right") + pax(b"path", b"made/up")),
                          ("last", pax(b"path", b"made/up") + pax(b"GNU.sparse.name", b"right"))):
        made("Q8", f"sparse-name-{name}", tar(entry(b"PaxHeader", records, kind=b"x"), entry(b"short")),
             "the name of a sparse file goes before its pax path, which its packer has made up", order=1,
             pairs=[(0, b"right")], tests="TAR-1")
    made("Q8", "zeros-behind-an-extension-header", by_pax + bytes(1024), "no header follows it: not a tar stream",
         tests="TAR-1 TAR-7")
    made("Q8", "pax-record-without-lf", tar(entry(b"PaxHeader", b"8 path=a", kind=b"x"), entry(b"a")),
         "a pax record that does not end with LF: not a tar stream", tests="TAR-1 TAR-7")


def unsummed(head):
    return sum(head[:148]) + sum(head[156:]) + 8 * ord(" ")


def patched_head(head, at, field):
    head = patched(head, at, field)
    return head[:148] + b"%06o\0 " % unsummed(head) + head[156:]


def kept_indexes():
    from vector import operation
    index = value(places([(0, b"a"), (1, b"a/b"), (2, b"a-b")]), 3, order=1)
    members = [(INDEX, index)]
    b = Box("Q9", simple(*PATHS), members=members)
    fresh = Box("Q9 fresh", b.plaintext, user_key=b.user_key, members=members)
    operation("Q9", "reencrypt", b, "reencrypt", add=[(b.user_key,)], new=[fresh.file_key, fresh.file_id, *fresh.slots],
              after=fresh.bytes(), written="copy", tests="REENC-8 TAR-6", comment="the index is carried over as it is")


def hard_links():
    def file(path, content):
        return path, entry(path, content)

    def link(path, target, *before):
        return path, b"".join(before) + entry(path, kind=b"1", link=target)

    def name_of(target):
        return entry(b"K", target + b"\0", kind=b"K")

    deep = [b"/".join([folder] * 30) for folder in (b"long", b"pax")]
    unsorted = [
        link(b"early", b"a"), file(b"a", b"first"), link(b"b", b"a"), file(b"a", b"second"), link(b"c", b"./a/"),
        link(b"d", b"b"), link(b"a", b"a"), link(b"e", b"none"), link(b"f", b"../a"), link(b"loop", b"loop"),
        *((path + b"/k", entry(b"k", path[:4], prefix=path)) for path in deep),
        link(b"h", b"a", name_of(deep[0] + b"/k")),
        link(b"i", b"a", entry(b"x", pax(b"linkpath", deep[1] + b"/k"), kind=b"x"), name_of(deep[0] + b"/k"))]
    found = {b"early": None, b"b": b"first", b"c": b"second", b"d": b"first", b"a": b"second", b"e": None, b"f": None,
             b"loop": None, b"h": b"long", b"i": b"pax/"}
    ascending = [
        file(b"a", b"first"), link(b"a", b"a"), file(b"b", b"b"), file(b"b", b"last"), link(b"b", b"c"), file(b"c", b"c"),
        link(b"d", b"a"), link(b"e", b"b"), link(b"f", b"c"), link(b"g", b"h"), file(b"h", b"h")]
    found_in_order = {b"a": b"first", b"b": None, b"d": b"first", b"e": None, b"f": b"c", b"g": None}
    for name, log2, order, listed, expected in (
            ("s-1", 0, 0, unsorted, found), ("s-2", 1, 0, unsorted, found), ("stream", 0, 0, unsorted, found),
            ("s-1-sorted", 0, 1, ascending, found_in_order), ("s-2-sorted", 1, 1, ascending, found_in_order),
            ("s-4-sorted", 2, 1, ascending, found_in_order)):
        pairs, place = [], 0
        for path, blocks in listed:
            pairs.append((place, path))
            place += len(blocks) // 512
        index = value(places(pairs[::1 << log2]), len(pairs), log2=log2, order=order)
        b = indexed(f"Q20 {name}", tar(*[blocks for _, blocks in listed]), index)
        for path, content in expected.items():
            member_of_tar("Q20", f"{name}-{path.decode()}", b, path, content=content, tests="TAR-12 TAR-9",
                          by="stream" if name == "stream" else "index",
                          comment="a hard link leads to the last entry before it with the path of its target", **PART)


def lost_targets():
    """The header of a later entry with the path of a link's target is in a record that was changed."""
    listed = [
        (b"a", entry(b"a", b"first")), (b"b", entry(b"b", kind=b"1", link=b"a")),
        (b"filler", entry(b"filler", draw("Q21", "filler", 4096))), (b"a", entry(b"a", b"second")),
        (b"more", entry(b"more", draw("Q21", "more", 8192))), (b"c", entry(b"c", kind=b"1", link=b"a")),
        (b"d", entry(b"d", kind=b"1", link=b"filler"))]
    pairs, place = [], 0
    for path, blocks in listed:
        pairs.append((place, path))
        place += len(blocks) // 512
    # Record 1 has the header of the second `a`.
    assert pairs[3][0] * 512 // 4096 == 1 and pairs[2][0] == 3 and pairs[5][0] * 512 // 4096 == 3
    stream = tar(*[blocks for _, blocks in listed])
    for name, by in (("index", "index"), ("stream", "stream")):
        b = indexed(f"Q21 {name}", stream, value(places(pairs), len(pairs)))
        b.records[1] = flip(b.records[1], 100)
        member_of_tar("Q21", f"{name}-c", b, b"c", by=by, result="recordDamaged", tests="TAR-12",
                      comment="a hard link whose target is lost: not the content of the entry before it", **PART)
    b = indexed("Q21 before", stream, value(places(pairs), len(pairs)))
    b.records[1] = flip(b.records[1], 100)
    member_of_tar("Q21", "index-b", b, b"b", content=b"first", tests="TAR-12",
                  comment="a hard link before the damage", **PART)
