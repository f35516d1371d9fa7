"""Group L: key files, and the two files of a keyring."""

from forge import Box, draw, flip, key_id
from vector import keys

ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
TIME = "2026-11-21T10:00:00Z"
LONGEST = 16384
KEYS = [bytes(range(32)), bytes(range(0x20, 0x40)), *(draw("L", f"key {i}", 32) for i in range(3))]


def make():
    key_files()
    key_files_refused()
    keyrings()
    keyrings_refused()
    keyring_limits()
    unlock_files()
    keyring_files()


def bech32(part, data, *, fill=0, constant=1, count=52):
    """The line of a key, in lower case, with any human-readable part, bits behind the key and constant."""
    number = int.from_bytes(data, "big") << 4 | fill
    digits = [number >> 5 * place & 31 for place in reversed(range(count))]
    state = 1
    for value in [ord(c) >> 5 for c in part] + [0] + [ord(c) & 31 for c in part] + digits + [0] * 6:
        top, state = state >> 25, (state & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            state ^= generator if top >> bit & 1 else 0
    digits += [(state ^ constant) >> 5 * place & 31 for place in reversed(range(6))]
    return part + "1" + "".join(ALPHABET[digit] for digit in digits)


def line(key):
    return bech32("vaultfile-key-", key).upper().encode()


KEY = KEYS[0]
LINE = line(KEY)
assert LINE == b"VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0S67YV7J"


def key_files():
    for name, text, comment in (
            ("as-written", b"# created: 2026-11-21T10:00:00Z\n# key ID: d02a15237cf7e7413afa2de4861bc993\n" + LINE + b"\n",
             "comments, then the key line"),
            ("line-alone", LINE, "the end of the last line may be missing"),
            ("lower-case", LINE.lower() + b"\n", "all in lower case"),
            ("cr-lf", b"# one\r\n\r\n" + LINE + b"\r\n# two\r\n", "lines that end with CR and LF"),
            ("comment-behind", LINE + b"\n# end", "a comment behind the key, without an end"),
            ("empty-lines", b"\n\n" + LINE + b"\n\n", "empty lines"),
            ("cr-in-a-comment", b"# a\rb\r\r\n" + LINE + b"\n", "a CR without LF in a comment has no meaning"),
            ("any-bytes-in-a-comment", b"#\x00\xff " + LINE + b"\n" + LINE + b"\n", "a comment may hold any bytes but LF"),
            ("cr-at-the-end-of-a-comment", LINE + b"\n# end\r", "a comment at the end of the file ends with a CR without LF"),
            ("longest", b"#" * (LONGEST - len(LINE) - 1) + b"\n" + LINE, "16,384 bytes")):
        keys("L1", name, "key-file", text, key_id=key_id(KEY), tests="KEYFILE-1 KEYFILE-2 KEYFILE-3", comment=comment)


def key_files_refused():
    second = LINE.lower()
    for name, text, comment in (
            ("empty", b"", "no key line"), ("comment-alone", b"# nothing\n", "no key line"),
            ("two-keys", LINE + b"\n" + LINE + b"\n", "two key lines, even of one key"),
            ("space-before", b" " + LINE, "a space before the key"), ("space-behind", LINE + b" \n", "a space behind it"),
            ("lone-cr", LINE + b"\r" + LINE, "a CR does not end a line"),
            ("cr-at-the-end", LINE + b"\r", "a CR without LF at the end"),
            ("cr-alone-at-the-end", LINE + b"\n\r", "a last line of a CR without LF is not empty"),
            ("spaces-alone", b"   \n" + LINE + b"\n", "a line of spaces alone is not empty, as for a reader that trims lines"),
            ("tab-alone", LINE + b"\n\t\n", "nor is a line of a tab"), ("cr-cr-lf", LINE + b"\r\r\n", "one CR too many"),
            ("byte-order-mark", b"\xef\xbb\xbf" + LINE, "a byte-order mark"), ("nul", LINE + b"\0", "a zero byte"),
            ("space-before-a-comment", b" # x\n" + LINE, "a comment begins with the line"),
            ("too-long", b"#" * (LONGEST - len(LINE)) + b"\n" + LINE, "16,385 bytes")):
        keys("L2", name, "key-file", text, result="badKey", tests="KEYFILE-1", comment=comment)
    for name, text, comment in (
            ("one-character-wrong", flip(LINE, 30, 1), "a mistyped character"),
            ("two-exchanged", LINE[:40] + LINE[41:42] + LINE[40:41] + LINE[42:], "two characters exchanged"),
            ("one-fewer", LINE[:-1], "72 characters"), ("one-more", LINE + b"Q", "74 characters"),
            ("mixed-case", LINE[:20] + second[20:], "upper and lower case in one line"),
            ("mixed-in-the-part", b"v" + LINE[1:], "the same in the human-readable part"),
            ("another-part", bech32("vaultfile-kex-", KEY).upper().encode(), "another human-readable part"),
            ("checksum-over-upper-case", bech32("VAULTFILE-KEY-", KEY).upper().encode(),
             "the checksum is over the part in upper case"),
            ("bech32m", bech32("vaultfile-key-", KEY, constant=0x2BC830A3).upper().encode(), "the constant of Bech32m"),
            ("fill-bits", bech32("vaultfile-key-", KEY, fill=1).upper().encode(), "a fill bit is set"),
            ("fill-bits-high", bech32("vaultfile-key-", KEY, fill=8).upper().encode(), "the highest fill bit is set"),
            ("31-bytes", bech32("vaultfile-key-", KEY[:31] + b"\0", count=51).upper().encode(), "51 groups of bits"),
            ("not-in-the-alphabet", LINE.replace(b"Q", b"B", 1), "a character that Bech32 leaves out")):
        keys("L2", name, "key-file", text, result="badKey", tests="KEYFILE-2 KEYFILE-3", comment=comment)
    keys("L2", "zero-key", "key-file", line(bytes(32)), result="badKey", tests="KEYFILE-3 ARG-1", comment="a key of 32 zeros")


def entry(key, name, state="retired", time=TIME):
    secret = b"-" if state == "destroyed" else line(key)
    return b" ".join([state.encode(), time.encode(), key_id(key).hex().encode(), secret, name.encode()]) + b"\n"


def shown(key, name, state="retired", time=TIME):
    return f"{state} {time} {key_id(key).hex()} {name}"


TITLE = b"vaultfile keyring 1\n"


def keyring(case, name, entries, *, tests, comment):
    keys(case, name, "keyring-text", TITLE + b"".join(entry(*each) for each in entries),
         entries=[shown(*each) for each in entries], tests=tests, comment=comment)


def keyrings():
    one, two, three = KEYS[:3]
    keyring("L3", "three-states", [(one, "first"), (two, "second@host.example", "destroyed"), (three, "3_+-.", "current")],
            tests="KEYRING-3 KEYRING-5 KEYRING-6 KEYRING-8 KEYRING-9", comment="one key of each state")
    keyring("L3", "empty", [], tests="KEYRING-3 KEYRING-4", comment="a keyring without keys")
    keyring("L3", "edges-of-time", [(one, "a", "retired", "0000-02-29T00:00:00Z"), (two, "b", "retired", "9999-12-31T23:59:59Z"),
                                    (three, "c", "retired", "2000-02-29T12:00:00Z")], tests="KEYRING-7",
            comment="the first and the last years, and leap days")
    keyring("L3", "edges-of-names", [(one, "x" * 64), (two, "0"), (three, "f" * 31), (KEYS[3], "g" * 32),
                                     (KEYS[4], "All")], tests="KEYRING-9",
            comment="names of 64 and of 1, of 31 digits, of 32 letters that are not all digits, and a word in another case")
    keyring("L3", "name-of-33-digits", [(one, "a" * 33), (two, "0" * 64)], tests="KEYRING-9",
            comment="33 and 64 hexadecimal digits: only 32 of them are no name")


def keyrings_refused():
    one, two = KEYS[:2]
    good = entry(one, "first", "current") + entry(two, "second", "destroyed")
    own = key_id(one).hex().encode()

    def refused(name, text, tests, comment, result="keyringMalformed"):
        keys("L4", name, "keyring-text", text, result=result, tests=tests, comment=comment)

    for name, version in (("2", b"2"), ("0", b"0"), ("01", b"01"), ("11", b"11"), ("many-digits", b"9" * 40)):
        refused(f"version-{name}", TITLE.replace(b"1", version) + good, "KEYRING-3", "a string of digits that is not 1",
                "unsupportedVersion")
    refused("version-2-and-another-text", TITLE.replace(b"1", b"2") + b"what this version has\n\n", "KEYRING-3",
            "the first line of another version, and a text that this version does not have: the line comes first",
            "unsupportedVersion")
    refused("version-2-without-end", TITLE.replace(b"1", b"2")[:-1], "KEYRING-3",
            "the first line of another version, without LF: no first line of any version")
    refused("version-2-too-long", TITLE.replace(b"1", b"2") + b"x" * (1 << 20), "KEYRING-3 KEYRING-4",
            "the first line of another version, and more than 1,048,576 bytes: the length comes first")
    for name, text, comment in (
            ("empty-text", b"", "no first line"), ("title-without-end", TITLE[:-1], "the first line does not end"),
            ("title-cr-lf", TITLE[:-1] + b"\r\n", "a CR in the first line"),
            ("title-upper-case", b"Vaultfile keyring 1\n" + good, "another first line"),
            ("title-no-version", b"vaultfile keyring \n" + good, "no digit"),
            ("title-byte-order-mark", b"\xef\xbb\xbf" + TITLE, "a byte-order mark"),
            ("last-line-without-end", TITLE + good[:-1], "the last line does not end")):
        refused(name, text, "KEYRING-3", comment)
    for name, text, comment in (
            ("empty-line", TITLE + b"\n" + good, "an empty line"), ("comment", TITLE + b"# x\n" + good, "a comment"),
            ("cr-lf", TITLE + good.replace(b"\n", b"\r\n"), "CR before LF"),
            ("two-spaces", TITLE + good.replace(b" ", b"  ", 1), "two spaces between words"),
            ("tab", TITLE + good.replace(b" ", b"\t", 1), "a tab in place of a space"),
            ("space-before", TITLE + b" " + good, "a space before the first word"),
            ("space-behind", TITLE + good.replace(b"first\n", b"first \n"), "a space behind the last word"),
            ("four-words", TITLE + good.replace(b" first", b""), "no name"),
            ("six-words", TITLE + good.replace(b"first", b"first x"), "one word more")):
        refused(name, text, "KEYRING-5", comment)
    refused("state-unknown", TITLE + good.replace(b"current", b"revoked"), "KEYRING-6", "another state")
    refused("state-upper-case", TITLE + good.replace(b"current", b"Current"), "KEYRING-6", "a state in upper case")
    refused("two-current", TITLE + entry(one, "a", "current") + entry(two, "b", "current"), "KEYRING-6", "two current keys")
    for number, time in enumerate((
            "2026-02-29T10:00:00Z", "1900-02-29T10:00:00Z", "2026-13-01T10:00:00Z", "2026-00-01T10:00:00Z",
            "2026-11-31T10:00:00Z", "2026-11-00T10:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T10:60:00Z",
            "2026-11-21T10:00:60Z", "2026-11-21T10:00:00z", "2026-11-21T10:00:00", "2026-11-21T10:00:00.0Z",
            "2026-11-21t10:00:00Z", "02026-11-21T10:00:00Z", "2026-11-21T10:00:00+00:00", "-")):
        refused(f"time-{number + 1}", TITLE + good.replace(TIME.encode(), time.encode(), 1), "KEYRING-7",
                f"no time of this form, or none that exists: {time}")
    for name, text, comment in (
            ("id-of-another-key", good.replace(own, key_id(KEYS[2]).hex().encode()), "an ID that is another key's"),
            ("id-upper-case", good.replace(own, own.upper()), "an ID in upper case"),
            ("id-short", good.replace(own, own[:-1]), "31 digits"), ("id-long", good.replace(own, own + b"0"), "33 digits"),
            ("secret-lower-case", good.replace(LINE, LINE.lower()), "a secret in lower case, which a key file may have"),
            ("secret-mistyped", good.replace(LINE, flip(LINE, 30, 1)), "a secret that was mistyped"),
            ("secret-missing", good.replace(LINE, b"-"), "no secret, and the key is not destroyed"),
            ("secret-of-a-destroyed-key", good.replace(b" - ", b" " + line(two) + b" "), "a destroyed key has its secret"),
            ("secret-of-zeros", good.replace(LINE, line(bytes(32))).replace(own, key_id(bytes(32)).hex().encode()),
             "a key of 32 zeros")):
        refused(name, TITLE + text, "KEYRING-8", comment)
    for number, bad in enumerate((b"x" * 65, b".x", b"-x", b"_x", b"@x", b"+x", b"a/b", b"a:b", "ä".encode(), own, own.upper(),
                                  b"all", b"command", b"file", b"others", b"passphrase", b"passphrase-fd",
                                  b"passphrase-file", b"recipient")):
        refused(f"name-{number + 1}", TITLE + good.replace(b"first", bad), "KEYRING-9", f"no name: {bad.decode()}")
    refused("one-id-twice", TITLE + entry(one, "a") + entry(one, "b", "destroyed"), "KEYRING-10", "two lines with one ID")
    refused("one-name-twice", TITLE + entry(one, "a") + entry(two, "a", "destroyed"), "KEYRING-10", "two lines with one name")


def keyring_limits():
    lines = [b" ".join([b"destroyed", TIME.encode(), b"%032x" % number, b"-", b"k%d" % number]) + b"\n"
             for number in range(4097)]
    keys("L3", "4096-keys", "keyring-text", TITLE + b"".join(lines[:4096]), tests="KEYRING-4", comment="the most lines",
         entries=[f"destroyed {TIME} {number:032x} k{number}" for number in range(4096)])
    keys("L4", "4097-keys", "keyring-text", TITLE + b"".join(lines), result="keyringMalformed", tests="KEYRING-4",
         comment="one line too many")


def unlock_files():
    content = [(0x8001, b"application/x-vaultfile-key")]
    text = LINE + b"\n"

    def box(name="", plaintext=text, context=b"vaultfile keyring key", members=content, **more):
        return Box(f"L5 {name}", plaintext, context=context, members=members, **more)

    b = box()
    keys("L5", "protected", "unlock-file", b.bytes(), secrets=[b.user_key], key_id=key_id(KEY), tests="KEYRING-2",
         comment="a container of a key file")
    keys("L5", "unprotected", "unlock-file", text, key_id=key_id(KEY), tests="KEYRING-2",
         comment="a key file, and the caller has named nothing that unlocks it")
    keys("L5", "unprotected-and-unlocker-named", "unlock-file", text, secrets=[b.user_key], result="keyringUnprotected",
         tests="KEYRING-2", comment="somebody has put their own key file there: new containers would be for their key")
    for name, data in (("empty", b""), ("beginning-of-the-magic", b.bytes()[:5]), ("cut", b.bytes()[:1000])):
        for more, secrets in (("", []), ("-and-unlocker-named", [b.user_key])):
            keys("L5", name + more, "unlock-file", data, secrets=secrets, result="truncated", tests="KEYRING-2 SEEK-3",
                 comment="a container that was cut off is no key file, and nor is an empty file")
    keys("L5", "no-key", "unlock-file", b"# no key\n", result="badKey", tests="KEYRING-2 KEYFILE-1",
         comment="neither a container nor a key file")
    keys("L5", "wrong-key", "unlock-file", b.bytes(), secrets=[KEYS[3]], result="wrongKey", tests="KEYRING-1 KEYRING-2",
         comment="the secret does not open the unlock file")
    other = box("context", context=b"vaultfile keyring")
    keys("L5", "another-context", "unlock-file", other.bytes(), secrets=[other.user_key], result="wrongKey",
         tests="KEYRING-2", comment="a container that was made for something else")
    for name, b, result, comment in (
            ("another-content-type", box("type", members=[(0x8001, b"application/x-vaultfile-keyring")]),
             "keyringMalformed", "the content type of the other file"),
            ("no-content-type", box("no type", members=()), "keyringMalformed", "no content type"),
            ("packed", box("packed", compression=1), "unsupportedCompression", "the unlock file is never packed"),
            ("packed-and-no-content-type", box("packed type", compression=1, members=()), "keyringMalformed",
             "packed, and no content type: the content type comes first"),
            ("packed-and-too-long", box("packed long", compression=1, plaintext=b"#" * LONGEST + b"\n" + LINE),
             "unsupportedCompression", "packed, and a key file of too many bytes: packing comes first"),
            ("malformed-text", box("text", plaintext=b"x"), "badKey", "the plaintext is no key file"),
            ("too-long", box("long", plaintext=b"#" * LONGEST + b"\n" + LINE), "badKey", "a key file of too many bytes")):
        keys("L5", name, "unlock-file", b.bytes(), secrets=[b.user_key], result=result, tests="KEYRING-1 KEYRING-2 KEYRING-3",
             comment=comment)
    b = box("too long", plaintext=b"#" * LONGEST + b"\n" + LINE)
    b.records[0] = flip(b.records[0], 30)
    keys("L5", "too-long-and-record-damaged", "unlock-file", b.bytes(), secrets=[b.user_key], result="badKey",
         tests="KEYRING-3", comment="a key file of too many bytes, and a damaged record: the length comes first")
    b = box("packed", compression=1)
    keys("L5", "packed-and-wrong-key", "unlock-file", b.bytes(), secrets=[KEYS[3]], result="wrongKey", tests="KEYRING-3",
         comment="packed, and the secret does not open it: opening comes first")
    b = box("tail")
    keys("L5", "tail-damaged", "unlock-file", flip(b.bytes(), b.t + 100), secrets=[b.user_key], key_id=key_id(KEY),
         tests="KEYRING-3", comment="any health will do")
    b = box("digest", members=[(5, bytes(32)), *content])
    keys("L5", "digest-wrong", "unlock-file", b.bytes(), secrets=[b.user_key], key_id=key_id(KEY), tests="KEYRING-3",
         comment="the SHA-256 in the manifest is not compared: the text is read as a range")
    unlock_limits(box)


def unlock_limits(box):
    """KEYRING-18. Nothing is stretched for a slot that is left out."""
    def refused(name, comment, *cost):
        b = box(name, slots=lambda b: [b.symmetric(), b.passphrase(b"word", *cost, dead=True)])
        keys("L5", name, "unlock-file", b.bytes(), passphrases=[b"word"], result="limitExceeded", tests="KEYRING-18 SLOT-22",
             comment=comment)
        keys("L5", name + "-with-a-key", "unlock-file", b.bytes(), secrets=[b.user_key], passphrases=[b"word"],
             key_id=key_id(KEY), tests="KEYRING-18 SLOT-20", comment=comment + ", and a key opens another slot")

    refused("memory-beyond-the-limit", "a passphrase slot of 262,145 KiB", 1, 262_145)
    refused("sum-beyond-the-limit", "a passphrase slot of 64 passes over 49,153 KiB, above 3,145,728", 64, 49_153)
    # A reader that counts as a writer does (786,432) would leave the slot out.
    b = box("sum above a writer's", slots=lambda b: [b.passphrase(b"word", 64, 12_289)])
    keys("L5", "sum-above-a-writers-limit", "unlock-file", b.bytes(), passphrases=[b"word"], key_id=key_id(KEY),
         tests="KEYRING-18", comment="64 passes over 12,289 KiB, 786,496: no writer makes this, and a reader tries it")
    b = box("sum of two", slots=lambda b: [b.passphrase(b"word", 1, 8, label="first", dead=True),
                                           b.passphrase(b"word", 64, 49_152, label="second", dead=True)])
    keys("L5", "sum-of-two-beyond-the-limit", "unlock-file", b.bytes(), passphrases=[b"word"], result="limitExceeded",
         tests="KEYRING-18 SLOT-20 SLOT-22",
         comment="slots of 8 and of 3,145,728: each is within the limit, their sum is not, and the second is left out")
    b = box("memory at the limit", slots=lambda b: [b.passphrase(b"word", 1, 262_144)])
    keys("L5", "memory-at-the-limit", "unlock-file", b.bytes(), passphrases=[b"word"], key_id=key_id(KEY),
         tests="KEYRING-18", comment="a passphrase slot of 262,144 KiB is tried")


def keyring_files():
    content = [(0x8001, b"application/x-vaultfile-keyring")]
    text = TITLE + entry(KEYS[0], "first", "current")
    entries = [shown(KEYS[0], "first", "current")]

    def box(name="", plaintext=text, context=b"vaultfile keyring", members=content, **more):
        return Box(f"L6 {name}", plaintext, context=context, members=members, **more)

    b = box()
    keys("L6", "one-slot", "keyring-file", b.bytes(), secrets=[b.user_key], entries=entries, tests="KEYRING-1",
         comment="the slot of the unlock key")
    b = box("two", slots=lambda b: [b.symmetric(), b.symmetric(KEYS[3])])
    for number, key in enumerate((b.user_key, KEYS[3])):
        keys("L6", f"two-slots-by-number-{number + 1}", "keyring-file", b.bytes(), secrets=[key], entries=entries,
             tests="KEYRING-1", comment="two unlock keys, while one is exchanged for the other")
    keys("L6", "another-unlock-key", "keyring-file", b.bytes(), secrets=[KEYS[4]], result="keyringMismatch",
         tests="KEYRING-1", comment="the two files do not belong together")
    three = box("three", slots=lambda b: [b.symmetric(), b.symmetric(KEYS[3]), b.symmetric(KEYS[4])], capacity=1024)
    strange = box("strange", slots=lambda b: [b.symmetric(), b.passphrase(b"word", dead=True)])
    for name, b, result, comment in (
            ("three-slots", three, "keyringMalformed", "a slot that the next change would silently drop"),
            ("passphrase-slot", strange, "keyringMalformed", "a slot that is not symmetric"),
            ("another-context", box("context", context=b""), "keyringMismatch", "a container that is no keyring"),
            ("another-content-type", box("type", members=[(0x8001, b"application/x-vaultfile-key")]), "keyringMalformed",
             "the content type of the unlock file"),
            ("no-content-type", box("no type", members=()), "keyringMalformed", "no content type"),
            ("packed", box("packed", compression=1), "unsupportedCompression", "the keyring file is never packed"),
            ("packed-and-no-content-type", box("packed type", compression=1, members=()), "keyringMalformed",
             "packed, and no content type: the content type comes first"),
            ("packed-and-three-slots", box("packed three", compression=1, capacity=1024, slots=lambda b: [
                b.symmetric(), b.symmetric(KEYS[3]), b.symmetric(KEYS[4])]), "keyringMalformed",
             "packed, and three slots: the slots come first"),
            ("malformed-text", box("text", plaintext=b"vaultfile keyring 1"), "keyringMalformed", "no text of a keyring"),
            ("version-2", box("version", plaintext=b"vaultfile keyring 2\n"), "unsupportedVersion",
             "the text of another version")):
        keys("L6", name, "keyring-file", b.bytes(), secrets=[b.user_key], result=result, tests="KEYRING-1 KEYRING-3",
             comment=comment)
    b = box("packed", compression=1)
    keys("L6", "packed-and-another-unlock-key", "keyring-file", b.bytes(), secrets=[KEYS[4]], result="keyringMismatch",
         tests="KEYRING-3", comment="packed, and not of this unlock key: opening comes first")
    b = box("states", capacity=1024)
    many = [b.symmetric(), b.symmetric(KEYS[3]), b.symmetric(KEYS[4])]
    b.front, b.tail = b.copy(generation=1), b.copy(slots=many, generation=2)
    keys("L6", "three-slots-in-the-newer-copy", "keyring-file", b.bytes(), secrets=[b.user_key], result="keyringMalformed",
         tests="KEYRING-3", comment="the tail is the current copy, and has a slot that the next change would drop")
    b.front, b.tail = b.copy(slots=many, generation=1), b.copy(generation=2)
    keys("L6", "three-slots-in-the-older-copy", "keyring-file", b.bytes(), secrets=[b.user_key], entries=entries,
         tests="KEYRING-3", comment="the tail is the current copy, and has the slot of the unlock key alone")
    b = box("front")
    keys("L6", "front-damaged", "keyring-file", flip(b.bytes(), 100), secrets=[b.user_key], entries=entries,
         tests="KEYRING-3", comment="any health will do")
    b = box("digest", members=[(5, bytes(32)), *content])
    keys("L6", "digest-wrong", "keyring-file", b.bytes(), secrets=[b.user_key], entries=entries, tests="KEYRING-3",
         comment="the SHA-256 in the manifest is not compared: the text is read as a range")
    b = box("record")
    b.records[0] = flip(b.records[0], 30)
    keys("L6", "record-damaged", "keyring-file", b.bytes(), secrets=[b.user_key], result="recordDamaged",
         tests="KEYRING-3", comment="a record that does not decrypt")
