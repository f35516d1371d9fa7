"""Group T: protected stores (STORE.md, appendix E): whole stores, and items."""

import functools
import hashlib

from forge import draw, flip, key_id, summed
from store_forge import (CARD, DEVICE, FOREIGN, INDEX, KEYBAG, KEYS, LABEL_ID, OWNER, RETIRED, STORE_ID, Shelf,
                         card_lines, item_context, item_file, key, keybag_lines, label, padded)

SEALED = dict(sealed=True)
BOTH = dict(sealed=True, locked=True)
UNKNOWN = "locked afterFirstUnlock"  # in a store that is sealed


def make():
    cards_alone()
    whole_stores()
    names()
    names_refused()
    strange_items()
    items_refused()
    together()
    ended()


def cards_alone():
    def shelf(name, **more):
        return Shelf(name, has_keybag=False, **more)

    shelf("empty").vector("T1", unlock=None, tests="STORE-1 STORE-2 STORE-4 STORE-6", comment="a card, and no item")
    shelf("items").put(b"a").put(b"b/c", content=b"").vector(
        "T1", unlock=None, tests="STORE-2 STORE-6 STORE-9 STORE-10 STORE-11 STORE-13", comment="two items")
    shelf("retired-keys", card=card_lines(key("always", RETIRED["always"], "retired"), key("always"),
                                          key("always", FOREIGN, "retired"))).put(
        b"a", secrets=[RETIRED["always"]]).put(b"b").vector(
        "T1", unlock=None, tests="STORE-5 STORE-6 STORE-13", comment="lines of keys in any order; a retired key opens")
    shelf("edges-of-time", card=card_lines(key("always", time="0000-02-29T00:00:00Z"), key(
        "always", FOREIGN, "retired", "9999-12-31T23:59:59Z"))).vector(
        "T1", unlock=None, tests="STORE-5", comment="the first and the last years")
    many = [key("always", draw("T", f"retired {i}", 32), "retired") for i in range(252)]
    shelf("256-lines", card=card_lines(key("always"), *many)).vector(
        "T1", unlock=None, tests="STORE-5", comment="the most lines that a text has")
    shelf("no-keybag").put(b"a").refuse(b"b", Shelf("no-keybag").box(b"b", "complete"), UNKNOWN, **SEALED).vector(
        "T1", unlock="noKeybag", tests="STORE-13 STORE-16",
        comment="nothing unlocks this store, and it has an item of a class of the keybag")
    one = shelf("unlock-file-of-the-keybag-alone")
    one.files[KEYBAG + ".key"] = one.unlock_file(KEYBAG).bytes()
    one.vector("T1", unlock="noKeybag", tests="STORE-16", comment="a keybag's unlock file without a keybag")
    one = shelf("other-files").put(b"a")
    a = one.files[item_file(b"a")]
    for path in ("README", ".vaultfile-0011223344556677", "lost/" + item_file(b"a")[6:],
                 "items/.vaultfile-0011223344556677", item_file(b"a").replace("items/", "items/x"),
                 item_file(b"a") + ".key", item_file(b"a")[:-6],
                 "items/" + "0A" * 16 + ".vault", "items/" + "0g" * 16 + ".vault", "items/0123.vault",
                 "items/" + "0" * 32 + ".VAULT"):
        one.files[path] = a
    one.vector("T1", unlock=None, tests="STORE-1 STORE-18", comment="files that are no items")
    shelf("wrong-device-key").vector("T1", device=OWNER, open="wrongKey", unlock=None, tests="STORE-4 STORE-16",
                                     comment="another device key")
    for path in (CARD, CARD + ".key"):
        one = shelf(f"no-{path.replace('.', '-')}")
        del one.files[path]
        one.vector("T1", open="E", unlock=None, tests="STORE-1 STORE-16", comment=f"there is no {path}")


def whole_stores():
    Shelf("three-classes").put(b"a").put(b"b", "afterFirstUnlock").put(b"c", "complete").vector(
        "T2", tests="STORE-3 STORE-7 STORE-8 STORE-12 STORE-13 STORE-16", comment="one item of each class")
    one = Shelf("passphrase").put(b"a", "complete")
    one.files[KEYBAG + ".key"] = one.unlock_file(
        KEYBAG, slots=lambda b: [b.symmetric(), b.passphrase(b"secret", 2, 64)], capacity=1024).bytes()
    one.vector("T2", keys=(), passphrases=(b"secret",), tests="STORE-3 STORE-4", comment="a passphrase unlocks it")
    keys = [key(each, RETIRED[each], "retired") for each in ("complete", "afterFirstUnlock")]
    one = Shelf("retired-keys", keybag=keybag_lines(
        keys[0], key("afterFirstUnlock"), key("complete", FOREIGN, "retired"), key("complete"), keys[1]))
    for each in ("afterFirstUnlock", "complete"):
        one.put(each.encode(), each, secrets=[RETIRED[each]]).put(b"current/" + each.encode(), each)
    one.vector("T2", tests="STORE-5 STORE-7 STORE-13", comment="items of retired keys of both classes")
    Shelf("wrong-unlocker").put(b"a").refuse(b"b", Shelf("wrong-unlocker").box(b"b", "complete"), UNKNOWN,
                                             **SEALED).vector(
        "T2", keys=(DEVICE,), unlock="wrongKey", tests="STORE-4 STORE-16",
        comment="the device key does not unlock, and the store is sealed as before")
    one = Shelf("no-unlock-file")
    del one.files[KEYBAG + ".key"]
    one.vector("T2", unlock="E", tests="STORE-16", comment="a keybag without its unlock file")
    Shelf("lengths").put(b"0", content=b"").put(b"1", "complete", b"1").put(
        b"4096", content=draw("T", "4096", 4096)).put(b"4097", "afterFirstUnlock", draw("T", "4097", 4097)).put(
        b"20000", "complete", draw("T", "20000", 20000)).vector(
        "T2", tests="STORE-9 STORE-13", comment="contents of no byte, of full records, and of several")


def names():
    one = Shelf("lengths")
    for length in (1, 2, 62, 63, 64, 126, 127, 128, 254, 255):
        one.put(b"n" * length, "complete" if length % 2 else "always", b"%d" % length)
    one.vector("T3", tests="STORE-9 STORE-10 STORE-11",
               comment="names of 1 to 255 bytes: labels of 64, 128 and 256 bytes")
    one = Shelf("lengths-without-a-path")
    for length in (62, 63, 64, 126, 127, 128, 255):
        one.put(b"n" * length, content=b"%d" % length, path=b"")
    one.vector("T3", tests="STORE-11", comment="names whose labels are full, and nearly full, in items without a path")
    one = Shelf("strange")
    for name in (b".../..a/a../.b", b"a\n\x1b[2J", b"a\\b", "Bücher/日記".encode(), "e\u0301".encode(), "\u00e9".encode(),
                 b" ",
                 b"d/" * 127 + b"n", b"\0"):
        one.put(name, content=name)
    one.vector("T3", tests="STORE-9 STORE-10 STORE-11",
               comment="control characters, and names that differ only in their form")
    Shelf("no-label").put(b"a/b", labels=lambda b: []).put(b"c", "complete", labels=lambda b: []).vector(
        "T3", tests="STORE-13", comment="without a label the path counts")
    Shelf("no-path").put(b"a/b", path=b"").put(b"c", "complete", path=b"").vector(
        "T3", tests="STORE-13", comment="a label is enough")
    one = Shelf("re-encrypted")
    box = one.box(b"scans/11.pdf", "complete", labels=lambda b: [], log2=16)
    box.capacity = 4096
    box.both_copies()
    one.add(b"scans/11.pdf", box, "complete").put(b"a").vector(
        "T3", tests="STORE-9 STORE-13", comment="another program re-encrypted it: no label, and another form")
    Shelf("path-of-another-name").put(b"a", path=b"b").put(b"c", path=b"..").vector(
        "T3", tests="STORE-13", comment="the label fits, so the path does not count")
    for name, labels, comment in (
            ("other-type", lambda b, n: [label(b, n, kind=0x8057)], "a private slot of another type"),
            ("other-beginning-of-the-id", lambda b, n: [label(b, n, slot_id=bytes(8) + b.file_id[:8])],
             "another program's slot"),
            ("other-end-of-the-id", lambda b, n: [label(b, n, slot_id=LABEL_ID + b.file_id[8:])],
             "the key ID has another part of the file ID"),
            ("tag", lambda b, n: [flip(label(b, n), -1)], "a wrong tag"),
            ("ciphertext", lambda b, n: [flip(label(b, n), 50)], "a changed ciphertext"),
            ("nonce", lambda b, n: [flip(label(b, n), 20)], "a changed nonce"),
            ("other-file-key", lambda b, n: [label(b, n, file_key=FOREIGN)],
             "of another container, so it does not decrypt"),
            ("empty-body", lambda b, n: [label(b, n)[:2] + b"\0\0" + label(b, n)[4:20]], "a body of no byte"),
            ("40-bytes", lambda b, n: [label(b, n, plain=b"")], "no plaintext"),
            ("65-bytes", lambda b, n: [label(b, n, plain=padded(n) + b"\0")], "65 bytes of plaintext"),
            ("32-bytes", lambda b, n: [label(b, n, plain=padded(n)[:32])], "32 bytes of plaintext"),
            ("512-bytes", lambda b, n: [label(b, n, plain=padded(n).ljust(512, b"\0"))], "512 bytes of plaintext"),
            ("longer-than-needed", lambda b, n: [label(b, n, plain=padded(n, 128))], "64 bytes would hold the name"),
            ("not-zero-behind", lambda b, n: [label(b, n, plain=padded(n)[:-1] + b"\1")], "a byte behind the name"),
            ("length-0", lambda b, n: [label(b, n, plain=bytes(64))], "a name of no byte"),
            ("length-behind-the-end", lambda b, n: [label(b, n, plain=b"\x40" + n * 63)],
             "a name of 64 bytes, of which 63 are there"),
            ("dot-dot", lambda b, n: [label(b, b"..")], "a name that is no path (PATH-1)"),
            ("dot", lambda b, n: [label(b, b".")], "a component that is a dot (PATH-1)"),
            ("empty-component", lambda b, n: [label(b, b"x//x")], "an empty component (PATH-1)"),
            ("not-utf-8", lambda b, n: [label(b, b"a\xff")], "a name that is not UTF-8")):
        # A reader that takes the label would refuse the item with a path, and open the one without.
        of_another, own = functools.partial(labels, n=b"x"), functools.partial(labels, n=b"b")
        Shelf(f"label-{name}").put(b"a", labels=of_another).refuse(
            b"b", Shelf(f"label-{name}").box(b"b", labels=own, path=b""), "storeForged").vector(
            "T3", tests="STORE-11 STORE-13", comment=f"{comment}: the label counts as missing; one item has a path")


def names_refused():
    def one_item(name, comment, tests="STORE-13", **more):
        Shelf(name).refuse(b"a", Shelf(name).box(b"a", **more), "storeForged").refuse(
            b"c", Shelf(name).box(b"c", "complete", **more), "storeForged", **BOTH).vector(
            "T4", tests=tests, comment=comment)

    one_item("no-name", "neither label nor path", labels=lambda b: [], path=b"")
    one_item("label-of-another-name", "the path fits, and the label is that of another name",
             labels=lambda b: [label(b, b"b")])
    one_item("path-of-another-name", "no label, and the path of another name", labels=lambda b: [], path=b"b")
    one_item("path-that-is-none", "no label, and a path that breaks its form", labels=lambda b: [], path=b"a/../a")
    one = Shelf("path-that-is-none-has-the-file-name")
    for name in (b"a/../a", b".", b"a/./a", b"a//a", b"/a", b"a/"):
        one.refuse(name, one.box(name, labels=lambda b: []), "storeForged")
    one.vector(
        "T4", tests="STORE-9 STORE-13", comment="a path that breaks its form, under the file name that it would have")
    one_item("two-labels", "the first label is that of another name", tests="STORE-11 STORE-13",
             labels=lambda b: [label(b, b"b"), label(b, b"a", nonce="second")])
    one = Shelf("two-labels-the-first-fits").put(b"a",
                                                 labels=lambda b: [label(b, b"a"), label(b, b"b", nonce="second")])
    broken = dict(labels=lambda b: [flip(label(b, b"c"), -1), label(b, b"b", nonce="second")])
    one.put(b"c", **broken).vector("T4", tests="STORE-11 STORE-13",
                                   comment="only the first label counts, also if it is broken")
    for name, plain in (("65-bytes", padded(b"a") + b"\0"), ("32-bytes", padded(b"a")[:32]), ("no-bytes", b"")):
        one = Shelf(f"label-of-{name}-and-a-good-one")
        wrong = dict(labels=lambda b: [label(b, b"", plain=plain), label(b, b"a", nonce="second")])
        one.refuse(b"a", one.box(b"a", path=b"", **wrong), "storeForged")
        # By the path. A reader that looks for a label of a right length finds that of another name.
        one.put(b"c", **wrong).vector(
            "T4", tests="STORE-11 STORE-13",
            comment="a label of a wrong length, and then a good one: only the first counts, and it counts as missing")
    one = Shelf("label-of-an-empty-body-and-a-good-one")
    empty = dict(labels=lambda b: [label(b, b"a")[:2] + b"\0\0" + label(b, b"a")[4:20], label(b, b"a", nonce="second")])
    one.refuse(b"a", one.box(b"a", path=b"", **empty), "storeForged").put(b"c", **empty).vector(
        "T4", tests="STORE-11 STORE-13", comment="the same with a first label of no byte")
    one = Shelf("another-id-and-then-a-good-one")
    one.put(b"a", path=b"", labels=lambda b: [label(b, b"b", slot_id=LABEL_ID + bytes(8)), label(b, b"a")]).vector(
        "T4", tests="STORE-11", comment="a slot with another key ID is no label, so the second one is the first")
    one, other = Shelf("two-exchanged").put(b"d"), Shelf("two-exchanged")
    a, b = other.box(b"a"), other.box(b"b", "complete")
    one.refuse(b"a", b, "storeForged", **BOTH).refuse(b"b", a, "storeForged").vector(
        "T4", tests="STORE-10 STORE-13", comment="two items, each under the file name of the other")
    one = Shelf("renamed")
    one.add_file("items/" + "0" * 32 + ".vault", one.box(b"a"), "storeForged", False, False)
    one.vector("T4", tests="STORE-10 STORE-13", comment="an item under a file name that no name has")
    one = Shelf("file-name-without-the-index-key")
    one.add_file(item_file(b"a", b""), one.box(b"a"), "storeForged", False, False)
    one.add_file(item_file(b"a", FOREIGN), one.box(b"a"), "storeForged", False, False)
    one.vector("T4", tests="STORE-10", comment="hashes of the name without a key, and with another index key")


def strange_items():
    shelf = Shelf("several-class-slots")
    pairs = [("always", "complete"), ("complete", "always"), ("afterFirstUnlock", "complete"),
             ("complete", "afterFirstUnlock"),
             ("afterFirstUnlock", "always")]
    for number, pair in enumerate(pairs):
        weakest = min(pair, key=list(KEYS).index)
        shelf.put(b"%d" % number, weakest, secrets=[KEYS[each] for each in pair])
    shelf.vector("T5", tests="STORE-13", comment="the class of an item is the weakest of its slots' classes")
    Shelf("slot-of-a-key-that-is-not-there").put(b"a", secrets=[FOREIGN, KEYS["always"]]).put(
        b"b", "complete", secrets=[KEYS["complete"], FOREIGN]).vector(
        "T5", tests="STORE-9 STORE-13", comment="a slot for a key that the store does not have")
    Shelf("more-slots").put(b"a", more=lambda b: [b.passphrase(b"x", dead=True), label(b, b"b", kind=0x9000)]).vector(
        "T5", tests="STORE-9 STORE-13", comment="a passphrase slot, and a private slot of another program")
    weaker = key_id(KEYS["always"])
    Shelf("other-slots-with-the-id-of-a-class").put(b"a", "complete", more=lambda b: [
        b.passphrase(b"x", salt=weaker, dead=True), label(b, b"a", kind=0x9000, slot_id=weaker)]).vector(
        "T5", tests="STORE-13", comment="only symmetric slots tell the class")
    Shelf("packed").put(b"a", "complete", draw("T", "packed", 5000), compression=1).vector(
        "T5", tests="STORE-9", comment="another program has packed it")
    content = b"an item with a digest"
    digest = (5, hashlib.sha256(content).digest())
    Shelf("more-members").put(b"a", content=content, members=[digest, (0x8002, b"name.txt"), (0x9000, b"?")]).refuse(
        b"b", Shelf("more-members").box(b"b", members=[digest]), "contentMismatch").vector(
        "T5", tests="STORE-9 STORE-13",
        comment="more members, and an item with another SHA-256 than that of its content")
    one = Shelf("damaged-copies")
    for name, protection in ((b"a", "always"), (b"c", "complete")):
        front, tail = one.box(name, protection), one.box(name + b"/tail", protection)
        front.front, tail.tail = flip(front.front, 100), flip(tail.tail, 100)
        one.add(name, front, protection).add(name + b"/tail", tail, protection)
    one.vector(
        "T5", tests="STORE-9 STORE-13", comment="an item opens with any health")
    one = Shelf("newer-tail")
    box = one.box(b"a")
    box.tail = box.copy(generation=2, slots=[box.symmetric(KEYS["complete"]), label(box, b"a")])
    other = one.box(b"b", "complete")
    other.tail = other.copy(generation=2, slots=[other.symmetric(KEYS["always"]), label(other, b"b")])
    # The current copy is the tail. By it, the first item has the class complete. Sealed, the front's slot opens, and no
    # slot of the current copy is of a key whose ID is known (wrongKey). Locked, the class is known.
    seen = f"7 {hashlib.sha256(b'an item').hexdigest()}"
    one.add_file(item_file(b"a"), box, f"complete {seen} {b'a'.hex()}", False, True)
    one.add_file(item_file(b"b"), other, f"always {seen} {b'b'.hex()}", False, False)
    one.vector("T5", tests="STORE-13", comment="a rotation was interrupted: the class is that of the newer copy")
    two_headers()


def two_headers():
    """Items whose two header copies are valid and differ: the newer one is the current copy, of equals the front."""
    def labels(name, comment, front, tail, generation, error=None):
        one = Shelf(f"two-labels-{name}").put(b"good")
        for each, protection in ((b"a", "always"), (b"c", "complete")):
            box = one.box(each, protection, labels=lambda b: [label(b, front)] if front else [], path=b"")
            box.tail = box.copy(generation=generation,
                                slots=[box.symmetric(KEYS[protection]), *([label(box, tail)] if tail else [])])
            if (front if generation == 1 else tail) == each:
                one.add(each, box, protection)
            else:
                one.refuse(each, box, "storeForged", **(BOTH if protection == "complete" else {}))
        one.vector("T5", tests="STORE-11 STORE-13", comment=comment)

    labels("in-the-newer-tail", "the label of the newer tail counts, and that of the front does not", b"b", b"a", 2)
    labels("in-the-older-front", "the newer tail has the label of another name", b"a", b"b", 2)
    labels("of-one-generation", "two copies of one generation: the front's label counts", b"a", b"b", 1)
    labels("none-in-the-newer-tail", "the newer tail has no label: that of the front does not take its place", b"a", b"", 2)
    labels("none-in-the-older-front", "only the newer tail has a label", b"", b"a", 2)

    # What the copies show where no key opens: only the front's slots tell the class, if the front is intact.
    def dead(box, protection):
        return flip(box.symmetric(KEYS[protection]), -1)

    one = Shelf("class-shown-by-the-front").put(b"good")
    box = one.box(b"a", "complete")
    box.front = box.copy(slots=[dead(box, "always"), label(box, b"a")])
    box.tail = box.copy(generation=2)
    one.add(b"a", box, "complete")
    one.expected[item_file(b"a")] = one.expected[item_file(b"a")][0], True, False
    one.vector("T5", tests="STORE-13",
               comment="the newer tail has the slot of `complete`, the front a dead one of `always`. Locked, no key opens "
                       "and the front alone is looked at: wrongKey. A reader that looks at the tail says locked")
    one = Shelf("class-shown-by-the-front-alone").put(b"good")
    box = one.box(b"a", "complete")
    box.tail = box.copy(generation=2, slots=[dead(box, "always"), label(box, b"a")])
    one.add(b"a", box, "always")
    one.expected[item_file(b"a")] = one.expected[item_file(b"a")][0], True, True
    one.vector("T5", tests="STORE-13",
               comment="the other way round. Unlocked, the slot of the newer tail gives the class. Locked, the front says "
                       "`complete`: a reader that takes the weakest class of both copies says wrongKey")
    one = Shelf("class-shown-by-the-tail").put(b"good")
    for name, shown, is_locked in ((b"a", "complete", True), (b"b", "always", False)):
        box = one.box(name, "complete")
        other = box.copy(generation=2, slots=[dead(box, "always"), box.symmetric(KEYS["complete"]), label(box, name)])
        first, second = (other, box.front) if is_locked else (box.front, other)
        box.front, box.tail = flip(first, 100), second
        one.add(name, box, shown)
        one.expected[item_file(name)] = one.expected[item_file(name)][0], True, is_locked
    one.vector("T5", tests="STORE-13", comment="the front is damaged, and the tail alone is looked at")


def items_refused():
    def shelf(name, box, error, comment, tests="STORE-13", needs=None, **more):
        Shelf(name, needs=needs).put(b"good").refuse(b"a", box, error, **more).vector("T6", tests=tests,
                                                                         comment=comment)

    def box(name, protection="always", **more):
        return Shelf(name).box(b"a", protection, **more)

    shelf("key-that-is-not-there", box("key-that-is-not-there", secrets=[FOREIGN]), "wrongKey",
          "a key of no class of this store", **SEALED)
    for name, context in (("other-store", item_context(bytes(16))), ("no-context", b""),
                          ("upper-case-context", item_context()[:-32] + STORE_ID.hex().upper().encode()),
                          ("context-of-the-card", b"vaultfile store card")):
        shelf(f"item-of-{name}" if name == "other-store" else name, box(name, context=context), "wrongKey",
              "the class's key, under another context", "STORE-9 STORE-13", **SEALED)
        shelf(f"{name}-complete", box(f"{name} complete", "complete", context=context), "wrongKey",
              "the same with a key that is not available later", "STORE-9 STORE-13", **BOTH)
    dead = box("dead")
    dead.slots[0] = flip(dead.slots[0], -1)
    dead.both_copies()
    shelf("dead-class-slot", dead, "wrongKey", "a slot with the ID of a class that does not open", **SEALED)
    dead = box("dead-and-complete", secrets=[KEYS["afterFirstUnlock"], KEYS["complete"]])
    dead.slots[0] = flip(dead.slots[0], -1)
    dead.both_copies()
    one = Shelf("dead-slot-of-a-weaker-class").put(b"good")
    one.add_file(item_file(b"a"), dead, f"afterFirstUnlock 7 {hashlib.sha256(b'an item').hexdigest()} {b'a'.hex()}",
                 True, False)
    one.vector("T6", tests="STORE-13",
               comment="a dead slot of a weaker class: unlocked, the other slot opens; locked again, it is wrongKey, "
                       "because the weaker class is available")
    shelf("passphrase-alone", box("passphrase-alone", secrets=[], more=lambda b: [b.passphrase(b"secret")]), "wrongKey",
          "no symmetric slot", **SEALED)
    only = box("owner", secrets=[OWNER])
    shelf("owners-key", only, "wrongKey", "what unlocks the store opens no item", **SEALED)
    index = box("index", secrets=[INDEX])
    shelf("index-key", index, "wrongKey", "the index key opens no item", **SEALED)
    other = box("no-class-in-the-current-copy")
    other.tail = other.copy(generation=2, slots=[other.symmetric(FOREIGN), label(other, b"a")])
    shelf("no-class-in-the-current-copy", other, "wrongKey",
          "the older copy opens, and the newer one has no class's slot")
    other = box("no-class-and-manifest", labels=lambda b: [])
    other.tail = other.copy(generation=2, slots=[other.symmetric(FOREIGN)])
    other.manifest = flip(other.manifest, -1)
    shelf("no-class-and-manifest", other, "wrongKey", "the class is looked for before the manifest is read")
    other = box("manifest", labels=lambda b: [label(b, b"b")])
    other.manifest = flip(other.manifest, -1)
    shelf("manifest-and-label", other, "recordDamaged", "the manifest is read before names are compared")
    other = box("record")
    other.records[0] = flip(other.records[0], -1)
    shelf("record", other, "recordDamaged", "it opens, and its content is damaged", "STORE-13")
    good = box("bytes").bytes()
    for name, data, error, comment in (
            ("no-byte", b"", "truncated", "an empty file"), ("cut", good[:-1], "truncated", "a byte less"),
            ("text", b"not a container" * 200, "notVaultfile", "not a container"),
            ("both-copies", flip(flip(good, 100), 1600), "headerDamaged", "both copies are damaged"),
            ("version-2", summed(good[:8] + b"\0\2" + good[10:512]) + good[512:], "unsupportedVersion",
             "another version")):
        shelf(name, data, error, comment)
    mark = bytes.fromhex("0006") + bytes(18)
    other = box("detached")
    other.both_copies(slots=[mark])
    shelf("detached", other, "headerDetached", "the slots are in a header file", "STORE-13 DET-1", needs="detached")
    forged_headers()


def forged_headers():
    """Items whose header copies somebody without the file key has changed."""
    def forged(copy):
        return summed(copy[:-64] + bytes(64))

    one = Shelf("forged-header").put(b"good")
    for protection, states in (("always", {}), ("afterFirstUnlock", SEALED), ("complete", BOTH)):
        other = one.box(protection.encode(), protection).both(forged)
        one.refuse(protection.encode(), other, "headerForged", **states)
    one.vector("T6", tests="STORE-13 SEEK-16",
               comment="no copy has a right MAC: headerForged where a key opens a slot, and locked where none does")
    one = Shelf("forged-header-and-no-class")
    other = one.box(b"a", labels=lambda b: [])
    other.tail = other.copy(generation=2, slots=[other.symmetric(FOREIGN)])
    one.refuse(b"a", other.both(forged), "headerForged").vector(
        "T6", tests="STORE-13", comment="the MAC is judged before the class and the name")
    one = Shelf("one-forged-copy").put(b"good")
    box = one.box(b"a", "complete")
    box.front = forged(box.copy(generation=9, slots=[box.symmetric(KEYS["always"], file_key=FOREIGN), label(box, b"b")]))
    one.add(b"a", box, "complete")
    # The slot of the front is not the item's, so sealed and locked no key opens: the front alone is looked at then.
    one.expected[item_file(b"a")] = one.expected[item_file(b"a")][0], True, False
    box = one.box(b"c", "afterFirstUnlock")
    box.tail = forged(box.copy(generation=9, slots=[box.symmetric(KEYS["complete"]), label(box, b"b")]))
    one.add(b"c", box, "afterFirstUnlock").vector(
        "T6", tests="STORE-11 STORE-13",
        comment="class and label are those of the copy with the right MAC, whatever the generation of the other says")


def together():
    def refused(name, comment, **lines):
        Shelf(name, keybag=keybag_lines(**lines)).put(b"a").refuse(
            b"b", Shelf(name).box(b"b", "complete"), UNKNOWN, **SEALED).vector(
            "T11", unlock="storeForged", tests="STORE-8 STORE-16", comment=comment)

    refused("other-store-id", "the keybag of another store with the same keys", store_id=bytes(16))
    refused("other-index-key", "the keybag names another index key", index=FOREIGN)
    Shelf("other-card", card=card_lines(key("always", FOREIGN), index=RETIRED["always"], store_id=bytes(16))).vector(
        "T11", unlock="storeForged", tests="STORE-8",
        comment="someone with the device key has put their own card there")
    for name, keybag in (
            ("key-of-the-card-in-the-keybag", keybag_lines(key("complete"), key("afterFirstUnlock", KEYS["always"]))),
            ("key-of-the-card-retired-in-the-keybag", keybag_lines(
                key("complete"), key("afterFirstUnlock"), key("complete", KEYS["always"], "retired")))):
        Shelf(name, keybag=keybag).put(b"a").vector(
            "T11", unlock="storeForged", tests="STORE-8", comment="one key in card and keybag")
    Shelf("retired-key-of-the-card", card=card_lines(key("always"), key("always", FOREIGN, "retired")),
          keybag=keybag_lines(
        key("complete", FOREIGN), key("afterFirstUnlock"))).vector(
        "T11", unlock="storeForged", tests="STORE-8", comment="a retired key of the card is current in the keybag")


def ended():
    one = Shelf("gone").put(b"a")
    one.files["gone"] = b""
    one.vector("T12", open="gone", unlock=None, tests="STORE-16 STORE-23", comment="a wipe has begun")
    one.name = "gone-and-no-keys"
    one.files = {name: data for name,
                 data in one.files.items() if name in ("lock", "gone") or name.startswith("items/")}
    one.vector("T12", open="gone", unlock=None, tests="STORE-16 STORE-23", comment="its keys are gone")
    one.name = "gone-and-no-items"
    one.files = {"gone": b"", "lock": b""}
    one.vector("T12", open="gone", unlock=None, tests="STORE-16 STORE-23", comment="a wipe has ended")
    one = Shelf("gone-with-content")
    one.files["gone"] = b"x"
    one.vector("T12", open="gone", unlock=None, tests="STORE-16 STORE-23", comment="only its name counts")
