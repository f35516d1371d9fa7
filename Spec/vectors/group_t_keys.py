"""Group T: the card and the keybag of a store (STORE.md, appendix E)."""

from forge import draw, flip, key_id
from group_l import bech32, line
from store_forge import (CARD, DEVICE, FOREIGN, INDEX, KEY_TYPE, KEYBAG, KEYS, OWNER, RETIRED, TIME, TYPES, UNLOCK,
                         Shelf, card_lines, key, keybag_lines, text)


def make():
    card_texts()
    keybag_texts()
    unlock_files()
    containers()


def card_texts():
    def refused(name, lines, comment, error="storeMalformed", tests="STORE-5 STORE-6"):
        data = lines if isinstance(lines, bytes) else text(lines)
        Shelf(name, has_keybag=False, card=data).vector("T7", open=error, unlock=None, tests=tests, comment=comment)

    title, store, index, current = card_lines()
    retired = key("always", RETIRED["always"], "retired")
    for name, lines, comment in text_defects(title, [store, index], current, retired, key("always", FOREIGN)):
        refused(name, lines, comment)
    for name, line_, comment in (
            ("title-of-a-keybag", "vaultfile store keys 1", "the first line of a keybag"),
            ("title-of-a-keyring", "vaultfile keyring 1", "the first line of a keyring")):
        refused(name, [line_, store, index, current], comment)
    refused("version-2", [title[:-1] + "2", store], "another version, whatever follows", "unsupportedVersion",
            "STORE-5")
    refused("version-2-and-two-spaces", [title[:-1] + "2", store.replace(" ", "  ")],
            "the version is judged before the words of other lines", "unsupportedVersion", "STORE-5")
    refused("version-2-and-empty-line", [title[:-1] + "2", "", store], "the same with an empty line",
            "unsupportedVersion", "STORE-5")
    refused("version-2-and-space-behind", [title[:-1] + "2", store + " "], "the same with a space behind a line",
            "unsupportedVersion", "STORE-5")
    refused("version-2-and-a-word", [title[:-1] + "2 x", store], "the words of the first line are judged before",
            tests="STORE-5")
    refused("version-01", [title[:-1] + "01", store, index, current], "not the digit 1 alone", "unsupportedVersion",
            "STORE-5")
    refused("version-of-20-digits", [title[:-1] + "9" * 20], "20 digits", "unsupportedVersion", "STORE-5")
    refused("version-of-21-digits", [title[:-1] + "9" * 21], "21 digits", tests="STORE-5")
    refused("version-2-without-lf", text([title[:-1] + "2"])[:-1], "the end of the lines is judged before the version",
            tests="STORE-5")
    refused("version-2-and-257-lines", [title[:-1] + "2"] * 257, "their number is judged before the version",
            tests="STORE-5")
    long_line = lambda length: (title[:-1] + "2\n").encode().ljust(length - 1, b"x") + b"\n"  # noqa: E731
    refused("version-2-and-65536-bytes", long_line(65536), "the longest text", "unsupportedVersion", tests="STORE-5")
    refused("version-2-and-65537-bytes", long_line(65537), "the length is judged before the version",
            tests="STORE-4 STORE-5")
    many = [key("always", draw("T", f"retired {i}", 32), "retired") for i in range(253)]
    refused("257-lines", [*card_lines(), *many], "a line too many", tests="STORE-5")
    for each in ("afterFirstUnlock", "complete", "unlessOpen", "Always", ""):
        refused(f"class-{each.lower() or 'empty'}", [title, store, index, current, retired.replace("always", each, 1)],
                "a class that a card does not have")
    refused("class-of-the-keybag-alone", [title, store, index, key("complete")], "no key of its own class")
    secret = line(INDEX).decode()
    refused("index-id-of-another-key",
            [title, store, index.replace(index.split(" ")[1], key_id(FOREIGN).hex()), current],
            "the ID does not belong to the index key")
    refused("index-without-secret", [title, store, f"index {index.split(' ')[1]}", current], "no secret")
    refused("index-destroyed", [title, store, f"index {index.split(' ')[1]} -", current], "a secret that is gone")
    refused("index-in-lower-case", [title, store, index.replace(secret, secret.lower()), current],
            "a secret in lower case")
    refused("index-is-a-class-key", [title, store, index, key("always", INDEX)],
            "the key of the class is the index key")
    refused("index-id-line", [title, store, f"index-id {index.split(' ')[1]}", current], "the line of a keybag")
    refused("order-of-lines", [title, index, store, current], "store and index exchanged")
    refused("key-before-index", [title, store, current, index], "a key before the index key")
    refused("index-twice", [title, store, index, index, current], "two lines of the index key")


def text_defects(title, head, current, retired, second):
    """Defects that cards and keybags have in common: (name, lines, comment). `current`: the line of the one current key
    of a class, in its place at the end; `second`: of another one; `retired`: of another key that is retired."""
    words = current.split(" ")
    store, middle = head

    def changed(number, word):
        return " ".join([*retired.split(" ")[:number], word, *retired.split(" ")[number + 1:]])

    whole = text([title, *head, current])
    key_id_, secret = retired.split(" ")[4:]
    zero = bech32("vaultfile-key-", bytes(32)).upper()
    yield from (
        ("empty", b"", "no line"), ("title-alone", [title], "nothing follows"), ("no-keys", [title, *head], "no key"),
        ("no-lf", whole[:-1], "the last line does not end"), ("empty-line", whole + b"\n", "an empty line at the end"),
        ("empty-line-first", b"\n" + whole, "an empty line at the start"),
        ("cr-lf", whole.replace(b"\n", b"\r\n"), "lines that end with CR and LF"),
        ("byte-order-mark", b"\xef\xbb\xbf" + whole, "a byte-order mark"),
        ("nul", whole + b"\0\n", "a line with a zero byte"),
        ("comment", [title, *head, current, "# a comment"], "a comment"),
        ("two-current-keys", [title, *head, current, second], "two current keys of one class"),
        ("retired-key-alone", [title, *head, current.replace("current", "retired")], "no current key"),
        ("unknown-first-word", [title, *head, current, "public" + retired[3:]], "a line of an unknown kind"),
        ("upper-case-first-word", [title, *head, current, "Key" + retired[3:]], "a first word in another case"),
        ("unknown-line-first", [title, "note a", *head, current], "an unknown line before the others"),
        ("two-spaces", [title, *head, current, retired.replace(" ", "  ", 1)], "two spaces between words"),
        ("space-before", [title, *head, current, " " + retired], "a space before a line"),
        ("space-behind", [title, *head, current, retired + " "], "a space behind a line"),
        ("tab", [title, *head, current, retired.replace(" ", "\t", 1)], "a tab"),
        ("seven-words", [title, *head, current, retired + " name"], "a name behind the secret"),
        ("five-words", [title, *head, current, " ".join(retired.split(" ")[:5])], "no secret"),
        ("title-with-more", [title + " x", *head, current], "a word behind the version"),
        ("title-without-version", [title[:-2], *head, current], "no version"),
        ("title-with-a-sign", [title[:-1] + "+1", *head, current], "a sign before the version"),
        ("title-in-upper-case", [title.upper(), *head, current], "a first line in upper case"),
        ("store-id-in-upper-case", [title, "store " + store[6:].upper(), middle, current], "a store ID in upper case"),
        ("store-id-of-31-digits", [title, store[:-1], middle, current], "31 digits"),
        ("store-id-of-33-digits", [title, store + "0", middle, current], "33 digits"),
        ("store-id-not-hexadecimal", [title, store[:-1] + "g", middle, current], "no hexadecimal digit"),
        ("store-twice", [title, store, store, middle, current], "two lines of the store ID"),
        ("no-store", [title, middle, current], "no store ID"), ("no-index", [title, store, current], "no index key"),
        ("state-destroyed", [title, *head, current, changed(2, "destroyed")], "a state of keyrings"),
        ("state-in-upper-case", [title, *head, current, changed(2, "RETIRED")], "a state in upper case"),
        ("time-not-a-date", [title, *head, current, changed(3, "2026-02-29T10:00:00Z")], "a day that does not exist"),
        ("time-with-a-zone", [title, *head, current, changed(3, "2026-11-21T10:00:00+00:00")],
         "not UTC as in KEYRING-7"),
        ("id-in-upper-case", [title, *head, current, changed(4, key_id_.upper())], "an ID in upper case"),
        ("id-of-another-key", [title, *head, current, changed(4, "0" * 32)],
         "an ID that does not belong to the secret"),
        ("secret-in-lower-case", [title, *head, current, changed(5, secret.lower())], "a secret in lower case"),
        ("secret-in-mixed-case", [title, *head, current, changed(5, secret[:20] + secret[20:].lower())],
         "a secret in mixed case"),
        ("secret-mistyped", [title, *head, current, changed(5, flip(secret.encode(), 30, 1).decode())],
         "a mistyped secret"),
        ("secret-destroyed", [title, *head, current, changed(5, "-")], "a secret that is gone"),
        ("secret-of-zeros", [title, *head, current, f"key {words[1]} retired {TIME} {key_id(bytes(32)).hex()} {zero}"],
         "a key of 32 zeros (ARG-1)"),
        ("one-key-twice", [title, *head, current, current.replace("current", "retired")], "one ID in two lines"))


def keybag_texts():
    def refused(name, lines, comment, error="storeMalformed", tests="STORE-5 STORE-7"):
        data = lines if isinstance(lines, bytes) else text(lines)
        Shelf(name, keybag=data).vector("T8", unlock=error, tests=tests, comment=comment)

    title, store, index, complete, first = keybag_lines()
    # A keybag has two classes. The common defects are made with those of one, and the key of the other comes behind.
    retired = key("complete", RETIRED["complete"], "retired")
    for name, lines, comment in text_defects(title, [store, index], complete, retired, key("complete", FOREIGN)):
        if isinstance(lines, list) and len(lines) > 3:
            lines = [*lines, first]
        elif isinstance(lines, bytes):
            lines = lines.replace(complete.encode(), first.encode() + b"\n" + complete.encode())
        refused(name, lines, comment)
    refused("title-of-a-card", [title.replace("keys", "card"), store, index, complete, first],
            "the first line of a card")
    refused("version-2", [title[:-1] + "2", store, index, complete, first], "another version", "unsupportedVersion",
            "STORE-5")
    refused("complete-alone", [title, store, index, complete], "no key of afterFirstUnlock")
    refused("first-unlock-alone", [title, store, index, first], "no key of complete")
    for each in ("always", "unlessOpen"):
        refused(f"class-{each.lower()}", [title, store, index, complete, first, f"key {each}" + key(
            "always", FOREIGN, "retired")[10:]], "a class that a keybag does not have")
    refused("index-id-in-upper-case", [title, store, index.upper().replace("INDEX-ID", "index-id"), complete, first],
            "an ID in upper case")
    refused("index-with-secret", [title, store, card_lines()[2], complete, first],
            "the line of a card, with the index key")
    refused("index-id-and-secret", [title, store, f"{index} {line(INDEX).decode()}", complete, first],
            "a secret behind the ID")
    refused("key-before-index", [title, store, complete, index, first], "a key before the index key's ID")
    refused("order-of-lines", [title, index, store, complete, first], "store and index-id exchanged")
    refused("key-with-the-id-of-the-index-key",
            [title, store, index, complete, first, key("complete", INDEX, "retired")],
            "a class's key is the index key")
    refused("one-key-in-two-classes",
            [title, store, index, complete, first, key("afterFirstUnlock", KEYS["complete"], "retired")],
            "one ID in two classes")
    refused("both-classes-have-two", [title, store, index, complete, first, key("afterFirstUnlock", FOREIGN)],
            "two current keys of the other class")


def unlock_files():
    """The two unlock files, in the same ways."""
    for path, what in ((CARD, "card"), (KEYBAG, "keybag")):
        def refused(name, file, error, comment, tests="STORE-4"):
            one = Shelf(f"{what}-{name}")
            one.files[path + ".key"] = file(one) if callable(file) else file
            given = dict(open=error, unlock=None) if path == CARD else dict(unlock=error)
            one.vector("T9", tests=f"{tests} {'STORE-2' if path == CARD else 'STORE-3'}", comment=comment, **given)

        def changed(name, error, comment, **more):
            refused(name, lambda one: one.unlock_file(path, **more).bytes(), error, comment)

        refused("unlock-file-bare", line(UNLOCK[path]) + b"\n", "keyringUnprotected", "a bare key file, which fits")
        refused("unlock-file-text", b"text", "keyringUnprotected", "neither a container nor a key file")
        refused("unlock-file-empty", b"", "truncated", "an empty unlock file is a container that was cut off")
        refused("unlock-file-cut", lambda one: one.unlock_file(path).bytes()[:-1], "truncated", "a byte less")
        changed("unlock-file-of-a-keyring", "wrongKey", "the context of a keyring's unlock file",
                context=b"vaultfile keyring key")
        changed("unlock-file-of-the-other", "wrongKey", "the context of the other unlock file",
                context=b"vaultfile store keys key" if path == CARD else b"vaultfile store card key")
        changed("unlock-file-without-context", "wrongKey", "no context", context=b"")
        changed("unlock-file-content-type", "keyringMalformed", "another content type", content_type=TYPES[path])
        changed("unlock-file-no-content-type", "keyringMalformed", "no content type", content_type=None)
        changed("unlock-file-no-key", "badKey", "not a key file", plain=b"no key\n")
        changed("unlock-file-too-long", "badKey", "a key file of 16,385 bytes",
                plain=b"#" * (16384 - len(line(UNLOCK[path]))) + b"\n" + line(UNLOCK[path]))
        changed("unlock-file-packed", "unsupportedCompression", "it is packed", compression=1)
        changed("unlock-file-other-key", "keyringMismatch", "it has another unlock key", plain=line(FOREIGN) + b"\n")
        one = Shelf(f"{what}-unlock-file-two-slots")
        one.files[path + ".key"] = one.unlock_file(path, slots=lambda b: [b.symmetric(FOREIGN), b.symmetric()]).bytes()
        one.put(b"a").vector("T9", tests="STORE-4", comment="several things open it")
        one = Shelf(f"{what}-unlock-file-with-comments")
        one.files[path + ".key"] = one.unlock_file(
            path, f"# key ID: {key_id(UNLOCK[path]).hex()}\n".encode() + line(UNLOCK[path]) + b"\n").bytes()
        one.put(b"a").vector("T9", tests="STORE-4", comment="with a comment line, as programs write key files")
        one = Shelf(f"{what}-unlock-file-damaged-front")
        one.files[path + ".key"] = flip(one.files[path + ".key"], 100)
        one.put(b"a").vector("T9", tests="STORE-4", comment="an unlock file opens with any health")
    one = Shelf("keybag-unlock-file-bare-and-no-keys")
    one.files[KEYBAG + ".key"] = line(UNLOCK[KEYBAG]) + b"\n"
    one.vector("T9", keys=(), unlock="keyringUnprotected", tests="STORE-3 STORE-4",
               comment="no caller can say that nothing protects a store")
    one = Shelf("keybag-unlock-file-costly")
    one.files[KEYBAG + ".key"] = one.unlock_file(
        KEYBAG, slots=lambda b: [b.passphrase(b"secret", 1, 262145, dead=True)]).bytes()
    one.vector("T9", keys=(), passphrases=(b"secret",), unlock="limitExceeded", tests="STORE-3 STORE-4",
               comment="its one slot needs more than 256 MiB (KEYRING-18)")


def containers():
    """The card and the keybag as containers."""
    for path, what in ((CARD, "card"), (KEYBAG, "keybag")):
        other = KEYBAG if path == CARD else CARD
        rule = "STORE-2" if path == CARD else "STORE-3"

        def expected(one, error, comment, tests):
            given = dict(open=error, unlock=None) if path == CARD and error != "done" else dict(unlock=error)
            one.vector("T10", tests=f"{tests} {rule}", comment=comment, **given)

        def changed(name, error, comment, lines=None, tests="STORE-4", **more):
            one = Shelf(f"{what}-{name}")
            one.files[path] = one.container(path, lines, **more).bytes()
            expected(one, error, comment, tests)

        changed("other-context", "keyringMismatch", "the context of a keyring", context=b"vaultfile keyring")
        changed("no-context", "keyringMismatch", "no context", context=b"")
        changed("other-unlock-key", "keyringMismatch", "another unlock key", user_key=FOREIGN)
        changed("content-type", "storeMalformed", "the content type of the other", content_type=TYPES[other])
        changed("content-type-of-a-keyring", "storeMalformed", "the content type of a keyring",
                content_type=b"application/x-vaultfile-keyring")
        changed("no-content-type", "storeMalformed", "no content type", content_type=b"")
        changed("packed", "unsupportedCompression", "it is packed", compression=1)
        changed("packed-and-content-type", "storeMalformed", "the content type is judged first", compression=1,
                content_type=KEY_TYPE)
        changed("packed-and-too-long", "unsupportedCompression", "packing is judged before the length", b"x" * 65537,
                compression=1)
        changed("too-long", "storeMalformed", "65,537 bytes", b"x" * 65537, tests="STORE-4 STORE-5")
        changed("version-2-and-content-type", "storeMalformed", "the content type is judged before the text",
                b"vaultfile store card 2\n", content_type=KEY_TYPE)
        changed("two-slots", "done", "the unlock key is being exchanged (KEYRING-13)", slots=lambda b: [
            b.symmetric(FOREIGN), b.symmetric()])
        changed("three-slots", "storeMalformed", "a slot too many", slots=lambda b: [
            b.symmetric(), b.symmetric(FOREIGN), b.symmetric(RETIRED["always"])])
        changed("passphrase-slot", "storeMalformed", "a slot that is not symmetric", slots=lambda b: [
            b.symmetric(), b.passphrase(b"secret", dead=True)])
        one = Shelf(f"{what}-exchanged")
        one.files[path], one.files[path + ".key"] = one.files[other], one.files[other + ".key"]
        if path == CARD:
            one.vector("T10", open="wrongKey", unlock=None, tests="STORE-2 STORE-4",
                       comment="the keybag's two files in the card's place")
            one = Shelf(f"{what}-alone-exchanged")
            one.files[path] = one.files[other]
            one.vector("T10", open="keyringMismatch", unlock=None, tests="STORE-2 STORE-4",
                       comment="the keybag in the card's place")
            one = Shelf(f"{what}-and-keybag-under-one-key")
            one.files[path] = one.container(KEYBAG, user_key=UNLOCK[CARD]).bytes()
            one.vector("T10", open="keyringMismatch", unlock=None, tests="STORE-2 STORE-4",
                       comment="a keybag for the card's unlock key: the contexts differ")
        else:
            one.vector("T10", keys=(OWNER, DEVICE), unlock="wrongKey", tests="STORE-3 STORE-4",
                       comment="the card's two files in the keybag's place")
            one = Shelf(f"{what}-that-the-device-key-unlocks")
            one.files[path + ".key"] = one.unlock_file(KEYBAG, slots=lambda b: [b.symmetric(DEVICE)]).bytes()
            one.vector("T10", unlock="wrongKey", tests="STORE-3 STORE-4", comment="the person's key does not open it")
        one = Shelf(f"{what}-damaged-front")
        one.files[path] = flip(one.files[path], 100)
        expected(one, "done", "a damaged copy is no error", "STORE-4")
        one = Shelf(f"{what}-record")
        one.files[path] = flip(one.files[path], 600)
        expected(one, "recordDamaged", "a damaged record", "STORE-4")
