"""Group Q: the path of an item (MEMBERS.md, 26)."""

import hashlib

from forge import Box
from vector import operation, path_of_item, vector

ITEM_PATH = 0x8056
PLAIN = b"an item"
DIGEST = (5, hashlib.sha256(PLAIN).digest())


def make():
    for name, path, comment in (
            ("one-byte", b"a", "the shortest"), ("with-folders", b"scans/2026/11.pdf", "several components"),
            ("of-255", b"d/" * 100 + b"n" * 55, "the longest"), ("utf-8", "Bücher/日記.txt".encode(), "other letters"),
            ("dots", b".../..a/a../.b", "components that are not `.` or `..`"),
            ("control", b"a\n\x1b[2J", "control characters: a program escapes them")):
        path_of_item("Q19", name, item(name, path), path, tests="PATH-1", comment=comment)
    for name, value, comment in (
            ("empty", b"", "no byte"), ("of-256", b"n" * 256, "a byte too many"), ("absolute", b"/a", "an empty component"),
            ("slash-behind", b"a/", "an empty component"), ("two-slashes", b"a//b", "an empty component"),
            ("slash", b"/", "empty components"), ("dot", b".", "a component `.`"), ("dot-within", b"a/./b", "a component `.`"),
            ("dot-dot", b"a/../b", "a component `..`"), ("dot-dot-first", b"../a", "a component `..`"),
            ("not-utf-8", b"a\xff", "not UTF-8"), ("overlong", b"a\xc0\xafb", "not the shortest form"),
            ("surrogate", b"\xed\xa0\x80", "a surrogate"), ("above-the-last", b"\xf4\x90\x80\x80", "above U+10FFFF")):
        b = item(name, value)
        path_of_item("Q19", name, b, None, tests="PATH-1", comment=comment)
        if name in ("empty", "dot-dot", "not-utf-8"):
            vector("Q19", f"{name}-read", b, stream="intact", tests="MAN-17 PATH-1",
                   comment="no value of the member makes a container unreadable")
    path_of_item("Q19", "no-member", Box("Q19 none", PLAIN), None, tests="PATH-1", comment="there is no such member")
    b = item("re-encrypted", b"a/b")
    fresh = Box("Q19 fresh", PLAIN, user_key=b.user_key, members=[DIGEST, (ITEM_PATH, b"a/b")])
    operation("Q19", "reencrypt", b, "reencrypt", add=[(b.user_key,)], new=[fresh.file_key, fresh.file_id, *fresh.slots],
              after=fresh.bytes(), written="copy", tests="REENC-8 PATH-2", comment="re-encryption carries it over")


def item(name, value):
    return Box(f"Q19 {name}", PLAIN, members=[DIGEST, (ITEM_PATH, value)])
