"""Group T: the class unlessOpen of a store (STORE.md, appendix E)."""

import hashlib

from forge import draw, flip, key_id
from recipients import HybridKey, dead, hidden_id, slot
from store_forge import (FOREIGN, FOREIGN_PUBLIC, INDEX, KEYS, PUBLIC, RETIRED, RETIRED_PUBLIC, STRONG, TIME, Shelf,
                         card_lines, identity, item_file, key, keybag_lines, label, public, public_id, text,
                         wide_card, wide_keybag)

SEALED = dict(sealed=True)
BOTH = dict(sealed=True, locked=True)
X25519, X_WING = "x25519", "x-wing"


def shelf(name, card=None, keybag=None, needs=X25519, **more):
    return Shelf(name, card=wide_card() if card is None else card, keybag=wide_keybag() if keybag is None else keybag,
                 needs=needs, **more)


def make():
    whole_stores()
    items()
    items_refused()
    card_texts()
    keybag_texts()
    together()


def whole_stores():
    one = shelf("four-classes")
    for each in KEYS:
        one.put(each.encode(), each)
    one.add(b"from a sealed program", one.public(b"from a sealed program"), "unlessOpen").vector(
        "T13", tests="STORE-6 STORE-7 STORE-12 STORE-13 STORE-31 STORE-32",
        comment="an item of each class, and one with a slot for the public key")
    strong = shelf("x-wing", wide_card(public(STRONG)), wide_keybag(identity(STRONG), publics=[STRONG]), X_WING)
    strong.put(b"a", "unlessOpen").add(b"b", strong.public(b"b", STRONG), "unlessOpen").vector(
        "T13", tests="STORE-13 STORE-31 STORE-32", comment="an X-Wing key")
    sealed = shelf("x-wing-sealed", wide_card(public(STRONG)), wide_keybag(identity(STRONG), publics=[STRONG]))
    sealed.put(b"a").refuse(b"b", sealed.box(b"b", "unlessOpen"), "locked unlessOpen", **SEALED).vector(
        "T13", unlock=None, tests="STORE-31", comment="a card with an X-Wing key opens without X-Wing")
    both = shelf("two-public-keys", wide_card(public(RETIRED_PUBLIC, "retired", slot_key=RETIRED["unlessOpen"]),
                                              public()),
                 wide_keybag(identity(), identity(RETIRED_PUBLIC, "retired"), publics=[PUBLIC, RETIRED_PUBLIC],
                             keys=[key("unlessOpen"), key("complete"), key("afterFirstUnlock"),
                                   key("unlessOpen", RETIRED["unlessOpen"], "retired")]))
    both.add(b"a", both.public(b"a"), "unlessOpen").add(b"b", both.public(b"b", RETIRED_PUBLIC), "unlessOpen")
    both.put(b"c", "unlessOpen").put(b"d", "unlessOpen", secrets=[RETIRED["unlessOpen"]]).vector(
        "T13", tests="STORE-13 STORE-31 STORE-32", comment="retired keys open, and tell the class")
    more = shelf("keybag-lists-more", card_lines(), wide_keybag())
    more.put(b"a", "unlessOpen").add(b"b", more.public(b"b"), "unlessOpen").vector(
        "T13", tests="STORE-8 STORE-13 STORE-35", comment="the class was added to the keybag, and not yet to the card")
    more = shelf("keybag-lists-another", wide_card(), wide_keybag(
        identity(), identity(RETIRED_PUBLIC, "retired"), publics=[RETIRED_PUBLIC, PUBLIC]))
    more.add(b"a", more.public(b"a"), "unlessOpen").add(b"b", more.public(b"b", RETIRED_PUBLIC), "unlessOpen").vector(
        "T13", tests="STORE-8 STORE-32", comment="a public key that is not in the card opens")
    shared = shelf("one-slot-key-of-two", wide_card(public(), public(RETIRED_PUBLIC, "retired")), wide_keybag(
        identity(), identity(RETIRED_PUBLIC, "retired"), publics=[RETIRED_PUBLIC, PUBLIC]))
    shared.put(b"a", "unlessOpen").vector("T13", tests="STORE-31", comment="two public keys with one slot key ID")
    # Nobody has the keybag's secrets yet: the store is only opened.
    alone = shelf("sealed")
    alone.put(b"always").refuse(b"a", alone.public(b"a"), "locked unlessOpen", **SEALED)
    alone.refuse(b"b", alone.box(b"b", "unlessOpen"), "locked unlessOpen", **SEALED)
    alone.refuse(b"c", alone.box(b"c", "complete"), "locked afterFirstUnlock", **SEALED)
    alone.refuse(b"d", alone.public(b"d", FOREIGN_PUBLIC), "locked afterFirstUnlock", **SEALED)
    alone.vector("T13", unlock=None, tests="STORE-13 STORE-31",
                 comment="a sealed program tells the class unlessOpen from the others by its IDs")


def items():
    one = shelf("public-and-symmetric")
    pairs = [("unlessOpen", "unlessOpen"), ("always", "always"), ("afterFirstUnlock", "afterFirstUnlock"),
             ("complete", "unlessOpen")]
    for number, (own, weakest) in enumerate(pairs):
        name = b"%d" % number
        one.add(name, one.public(name, keys=[KEYS[own]]), weakest)
    one.vector("T14", tests="STORE-13", comment="slots of two classes: the class is the weaker one")
    one = shelf("hidden-and-a-dead-slot-of-a-class")
    for keys, protection in ((("complete",), "complete"), (("complete", "always"), "always")):
        name = protection.encode()
        box = one.box(name, secrets=[], more=lambda b, keys=keys: [
            *(flip(b.symmetric(KEYS[each]), -1) for each in keys), slot(b, PUBLIC, slot_id=hidden_id("T 3"))])
        # When the store is locked, both have a dead slot of a known class: that of `always` is `wrongKey`.
        result = f"{protection} 7 {hashlib.sha256(b'an item').hexdigest()} {name.hex()}"
        one.add_file(item_file(name), box, result, True, protection != "always")
    one.vector("T14", tests="STORE-13",
               comment="a hidden slot opens; the class is that of a slot that opens nothing, by its ID")
    one = shelf("no-label-and-public")
    one.add(b"a", one.public(b"a", labels=lambda b: []), "unlessOpen").vector(
        "T14", tests="STORE-13", comment="no label: the path is the name")
    one = shelf("public-slot-last")
    one.add(b"a", one.public(b"a", FOREIGN_PUBLIC, PUBLIC, keys=[FOREIGN]), "unlessOpen").vector(
        "T14", tests="STORE-13", comment="before it, slots for keys that the store does not have")
    one = shelf("dead-public-slot")
    box = one.box(b"a", "unlessOpen", more=lambda b: [dead(b, 3, PUBLIC.slot_id(b))])
    one.add(b"a", box, "unlessOpen").vector("T14", tests="STORE-13", comment="a slot for the public key that is dead")
    one = shelf("public-slot-of-another-preamble")
    other = one.box(b"x")
    box = one.box(b"a", "complete", more=lambda b: [slot(b, PUBLIC, slot_id=PUBLIC.slot_id(other))])
    one.add(b"a", box, "complete").vector(
        "T14", tests="STORE-13", comment="a slot with the ID of the public key under another preamble has no class")
    one = shelf("symmetric-type-with-the-public-id")
    box = one.box(b"a", "complete", more=lambda b: [b.symmetric(FOREIGN, slot_id=PUBLIC.slot_id(b))])
    one.add(b"a", box, "complete").vector("T14", tests="STORE-13", comment="the type counts, too")
    one = shelf("newer-tail-and-public")
    box = one.box(b"a", "unlessOpen")
    box.capacity = 4096
    front = box.copy()
    box.both_copies(slots=[slot(box, PUBLIC), label(box, b"a")])
    box.tail = box.copy(generation=2, slots=[box.symmetric(KEYS["complete"]), label(box, b"a")])
    assert front != box.front
    seen = f"7 {hashlib.sha256(b'an item').hexdigest()}"
    one.add_file(item_file(b"a"), box, f"complete {seen} {b'a'.hex()}", True, True)
    one.vector("T14", tests="STORE-13", comment="a rotation to another class was interrupted")


def items_refused():
    def refused(name, box, error, comment, **more):
        shelf(name).put(b"good").refuse(b"a", box(shelf(name)), error, **more).vector(
            "T15", tests="STORE-13", comment=comment)

    refused("public-key-of-another-store", lambda one: one.public(b"a", FOREIGN_PUBLIC), "wrongKey",
            "a slot for a public key that is not the store's", **SEALED)
    refused("dead-public-slot-alone", lambda one: one.box(
        b"a", secrets=[], more=lambda b: [dead(b, 3, PUBLIC.slot_id(b))]), "wrongKey",
        "nothing opens, and the class is known", **BOTH)
    refused("public-slot-of-another-store", lambda one: one.public(b"a", context=b"vaultfile store item " + b"0" * 32),
            "wrongKey", "the public key, under another context", **BOTH)
    refused("hidden", lambda one: one.box(b"a", secrets=[], more=lambda b: [slot(b, PUBLIC, slot_id=hidden_id("T"))]),
            "wrongKey", "a hidden slot opens, and has no class", **SEALED)
    refused("hidden-and-complete", lambda one: one.box(
        b"a", secrets=[FOREIGN], more=lambda b: [slot(b, PUBLIC, slot_id=hidden_id("T 2"))]),
        "wrongKey", "a hidden slot beside one of no class", **SEALED)
    refused("public-and-another-name", lambda one: one.public(b"a", labels=lambda b: [label(b, b"b")]), "storeForged",
            "the label is that of another name", **BOTH)

    def broken(one):
        box = one.public(b"a")
        box.records[0] = flip(box.records[0], -1)
        return box
    refused("record-of-a-public-item", broken, "recordDamaged", "its content is damaged", **BOTH)


def line_defects(line, names, texts):
    """(name, line, comment) of a line with state, time, ID and text in the words 2 to 5."""
    words = line.split(" ")

    def changed(number, word):
        return " ".join([*words[:number], word, *words[number + 1:]])
    yield from (
        ("of-another-class", changed(1, "complete"), "another class"),
        ("without-class", changed(1, ""), "an empty class"),
        ("state", changed(2, "destroyed"), "a state that it cannot have"),
        ("time", changed(3, "2026-02-29T10:00:00Z"), "a day that does not exist"),
        ("id-upper-case", changed(4, words[4].upper()), "an ID in upper case"),
        ("id-of-another", changed(4, public_id(FOREIGN_PUBLIC)), "the ID of another public key"),
        ("more-words", line + " x", "a word behind it"),
        ("fewer-words", " ".join(words[:-1]), "the last word is missing"))
    for name, word, comment in zip(names, texts, ("another text", "in the other case", "mistyped", "a plugin's",
                                                  "that of a key")):
        yield name, changed(5, word), comment


TEXTS = ("other-form", "other-case", "mistyped", "plugin", "secret-key")


def mistyped(word):
    return word[:20] + ("Q" if word[20] != "Q" else "P" if word.isupper() else "p") + word[21:]


def card_texts():
    def refused(name, lines, comment, tests="STORE-31"):
        Shelf(name, has_keybag=False, card=text(lines), needs=X25519).vector(
            "T16", open="storeMalformed", unlock=None, tests=tests, comment=comment)

    title, store, index, current = card_lines()
    secret = key("always").split(" ")[5]
    texts = (PUBLIC.identity, PUBLIC.text.upper(), mistyped(PUBLIC.text),
             "age1nobody1" + PUBLIC.text.rpartition("1")[2], secret)
    for name, line, comment in line_defects(public(), TEXTS, texts):
        refused(f"public-{name}", [title, store, index, line, current], comment)
    last = public().rpartition(" ")
    refused("public-slot-key-id-upper-case", [title, store, index, last[0] + " " + last[2].upper(), current],
            "a slot key ID in upper case")
    refused("public-twice", wide_card(public(), public(state="retired")), "one public key twice")
    refused("public-two-current", wide_card(public(), public(RETIRED_PUBLIC)), "two current ones")
    refused("public-retired-alone", wide_card(public(state="retired")), "no current one")
    refused("public-after-the-keys", [title, store, index, current, public()], "behind the keys", "STORE-5 STORE-6")
    refused("public-before-the-index", [title, store, public(), index, current], "before the index key",
            "STORE-5 STORE-6")
    refused("public-of-a-keybag", [title, store, index, f"public {public_id(PUBLIC)}", current], "the line of a keybag")
    refused("identity-in-a-card", [title, store, index, public(), identity(), current], "an identity", "STORE-6")
    refused("key-in-a-card", [title, store, index, public(), current, key("unlessOpen")], "a key of the class",
            "STORE-6")
    refused("slot-key-is-always", wide_card(public(slot_key=KEYS["always"])), "the slot key ID of a key of the card")
    refused("slot-key-is-index", wide_card(public(slot_key=INDEX)), "the slot key ID of the index key")


def keybag_texts():
    def refused(name, lines, comment, error="storeMalformed", needs=X25519, tests="STORE-32"):
        Shelf(name, card=wide_card(), keybag=text(lines), needs=needs).put(b"a").vector(
            "T17", unlock=error, tests=tests, comment=comment)

    secret = key("always").split(" ")[5]
    texts = (PUBLIC.text, PUBLIC.identity.lower(), mistyped(PUBLIC.identity),
             "AGE-PLUGIN-NOBODY-1" + PUBLIC.identity.rpartition("1")[2], secret)
    for name, line, comment in line_defects(identity(), TEXTS, texts):
        refused(f"identity-{name}", wide_keybag(line), comment)
    other = HybridKey(1)
    line = identity(STRONG).replace(public_id(STRONG), public_id(other))
    refused("x-wing-id-of-another", wide_keybag(line, publics=[other]), "the ID of another X-Wing key", needs=X_WING)
    three = [key(each) for each in ("complete", "afterFirstUnlock", "unlessOpen")]
    head = keybag_lines()[:3]
    own = f"public {public_id(PUBLIC)}"
    refused("no-identity", [*head, own, *three], "a public key without identity")
    refused("no-public", [*head, identity(), *three], "identity and key, and no public key")
    refused("no-public-and-identity", [*head, identity(), *three[:2]], "an identity alone")
    refused("no-public-and-key", [*head, *three], "a key of the class alone", tests="STORE-7 STORE-32")
    refused("no-key", wide_keybag(keys=three[:2]), "no key of the class", tests="STORE-7 STORE-32")
    refused("two-keys", wide_keybag(keys=[*three, key("unlessOpen", FOREIGN)]), "two current keys of the class",
            tests="STORE-7")
    refused("keybag-public-twice", wide_keybag(publics=[PUBLIC, PUBLIC]), "a public key twice")
    refused("both-twice", wide_keybag(identity(), identity(state="retired"), publics=[PUBLIC, PUBLIC]),
            "public key and identity twice")
    refused("identity-twice", wide_keybag(identity(), identity(state="retired")), "an identity twice")
    refused("identity-of-no-public", wide_keybag(identity(), identity(RETIRED_PUBLIC, "retired")),
            "an identity that no line public names")
    refused("public-of-no-identity", wide_keybag(publics=[PUBLIC, RETIRED_PUBLIC]), "a public key without identity")
    refused("two-current-identities", wide_keybag(identity(), identity(RETIRED_PUBLIC),
                                                  publics=[PUBLIC, RETIRED_PUBLIC]), "two current identities")
    refused("no-current-identity", wide_keybag(identity(state="retired")), "no current identity")
    refused("public-of-a-card", [*head, public(), identity(), *three], "the line of a card")
    refused("public-id-upper-case", [*head, own.upper().replace("PUBLIC", "public"), identity(), *three],
            "an ID in upper case")
    refused("keybag-public-after-keys", [*head, identity(), *three, own], "behind the keys", tests="STORE-5 STORE-7")
    refused("keybag-public-between-keys", [*head, identity(), three[0], own, *three[1:]], "between keys",
            tests="STORE-5 STORE-7")
    refused("keybag-public-before-index-id", [*head[:2], own, head[2], identity(), *three], "before the index key's ID",
            tests="STORE-5 STORE-7")
    one = Shelf("identities-between-keys", card=wide_card(), keybag=text([*head, own, three[0], identity(), *three[1:]]),
                needs=X25519)
    one.add(b"a", one.public(b"a"), "unlessOpen").vector(
        "T17", tests="STORE-5 STORE-7 STORE-32", comment="identities and keys in any order")


def together():
    def refused(name, card, keybag, comment):
        one = shelf(name, card, keybag).put(b"good")
        one.vector("T18", unlock="storeForged", tests="STORE-8 STORE-16", comment=comment)

    refused("forged-public-key", wide_card(public(FOREIGN_PUBLIC)), wide_keybag(),
            "someone with the device key has put their own public key there")
    refused("forged-public-key-added", wide_card(public(FOREIGN_PUBLIC), public(state="retired")), wide_keybag(),
            "the same beside the right one, which is retired")
    refused("forged-public-key-retired", wide_card(public(), public(FOREIGN_PUBLIC, "retired")), wide_keybag(),
            "a retired public key that is not the keybag's")
    refused("public-key-and-an-older-keybag", wide_card(), keybag_lines(), "the keybag does not know the class")
    for name, secret in (("foreign", FOREIGN), ("complete", KEYS["complete"]),
                         ("after-first-unlock", KEYS["afterFirstUnlock"])):
        refused(f"slot-key-{name}", wide_card(public(slot_key=secret)), wide_keybag(),
                "the slot key ID is not that of a key of the class")
    assert key_id(FOREIGN) and TIME and draw
