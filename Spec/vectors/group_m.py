"""Group M: texts of recipients and identities."""

import base64
import hashlib

import nacl.bindings

from forge import draw
from public_slots import Recipient
from recipients import HybridKey, Key, bech32
from vector import keys

ALICE, BOB = Key("Alice"), Key("Bob")
STRONG = HybridKey(0)
PRIME = 2**255 - 19
NEEDS = "recipient-texts"
STAND, OTHER = bech32("age1stand", b"\1\2"), bech32("age1other-1.x", b"")
# Every encoding of a public key of low order that is reduced; then those that are not, and those with the top bit.
LOW = {"zero": 0, "one": 1, "p-minus-1": PRIME - 1,
       "order-8": int.from_bytes(bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"), "little"),
       "order-8-twist": int.from_bytes(bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"), "little")}
HIGH = {"p": PRIME, "p-plus-1": PRIME + 1, "p-plus-9": PRIME + 9, "top-bit": 1 << 255 | 9, "ones": 2**256 - 1}


def make():
    accepted()
    cases_and_lengths()
    lines()
    low_order()
    coefficients()
    ssh_lines()
    ssh_files()
    private_keys()
    other_files()
    plugins()
    known_recipients()


def shown(key):
    return f"{key.kind} {key.recipient.fingerprint.hex()}"


def shown_plugin(text):
    name = text.rpartition("1")[0][4:]
    return f"5 {name} {Recipient(5, text.encode()).fingerprint.hex()}"


def secret(key):
    return f"{key.kind} {key.secret.hex()}"


def known(name, *texts):
    return " ".join(["5", name, *(Recipient(5, text.encode()).fingerprint.hex() for text in texts)])


def text(case, name, what, data, *, tests, comment, **more):
    keys(case, name, what, data if isinstance(data, bytes) else data.encode(), tests=tests, comment=comment, needs=NEEDS,
         **({"result": "badKey"} if "entries" not in more else {}), **more)


def accepted():
    for name, line, entry in (("x25519", ALICE.text, shown(ALICE)), ("x-wing", STRONG.text, shown(STRONG)),
                              ("plugin", STAND, shown_plugin(STAND)), ("plugin-without-data", OTHER, shown_plugin(OTHER))):
        text("M4", f"recipient-{name}", "recipient", line, entries=[entry], tests="KEYTEXT-1 KEYTEXT-2 KEY-17",
             comment="one recipient as an argument")
        text("M4", f"recipients-file-{name}", "recipients-file", line + "\n", entries=[entry],
             tests="KEYTEXT-2 KEYTEXT-5", comment="a file of it")
    listed = f"# team\n\n{ALICE.text}\n{STAND}\n#\n{STRONG.text}\n{BOB.text}\n"
    every = [shown(ALICE), shown_plugin(STAND), shown(STRONG), shown(BOB)]
    text("M4", "comments-and-empty-lines", "recipients-file", listed, entries=every, tests="KEYTEXT-5", comment="several")
    text("M4", "cr-lf", "recipients-file", listed.replace("\n", "\r\n"), entries=every, tests="KEYTEXT-5",
         comment="lines that end with CR and LF")
    text("M4", "no-last-end", "recipients-file", listed[:-1], entries=every, tests="KEYTEXT-5",
         comment="the end of the last line is missing")
    text("M4", "twice", "recipients-file", listed + listed, entries=every, tests="KEYTEXT-5",
         comment="each recipient twice is one")
    text("M4", "longest-file", "recipients-file", ("#" * ((1 << 20) - len(ALICE.text) - 1) + "\n" + ALICE.text),
         entries=[shown(ALICE)], tests="KEYTEXT-5", comment="a file of 1 MiB")
    text("M4", "identities", "identities-file", f"# one\n{ALICE.identity}\n\n{STRONG.identity}\n{BOB.identity}",
         entries=[secret(ALICE), secret(STRONG), secret(BOB)], tests="KEYTEXT-3 KEYTEXT-5", comment="three identities")
    text("M4", "identity-twice", "identities-file", f"{ALICE.identity}\n{BOB.identity}\r\n{ALICE.identity}\n",
         entries=[secret(ALICE), secret(BOB)], tests="KEYTEXT-3 KEYTEXT-5", comment="an identity twice is one")
    zeros = bech32("age-secret-key-", bytes(32)).upper()
    text("M4", "identity-of-zeros", "identities-file", zeros, entries=["3 " + bytes(32).hex()], tests="KEYTEXT-3",
         comment="any 32 bytes are a scalar: it is clamped when it is used")


def cases_and_lengths():
    mixed = ALICE.text[:20] + ALICE.text[20:].upper()
    text("M1", "recipient-in-upper-case", "recipient", ALICE.text.upper(), tests="KEYTEXT-2", comment="upper case")
    text("M1", "recipient-in-mixed-case", "recipient", mixed, tests="KEYTEXT-1 KEYTEXT-2", comment="mixed case")
    text("M1", "plugin-in-upper-case", "recipient", STAND.upper(), tests="KEYTEXT-2", comment="upper case")
    text("M1", "identity-in-lower-case", "identities-file", ALICE.identity.lower(), tests="KEYTEXT-3", comment="lower case")
    text("M1", "identity-in-mixed-case", "identities-file", ALICE.identity[:20] + ALICE.identity[20:].lower(),
         tests="KEYTEXT-1 KEYTEXT-3", comment="mixed case")
    text("M1", "part-in-upper-case", "recipient", "AGE1" + ALICE.text[4:], tests="KEYTEXT-1 KEYTEXT-2",
         comment="mixed case, in the part before the separator")
    for name, line, what in (("x25519", ALICE.text, "recipient"), ("x-wing", STRONG.text, "recipient"),
                             ("plugin", STAND, "recipient"), ("identity", ALICE.identity, "identities-file")):
        wrong = "Q" if line.isupper() else "q"
        changed = line[:-1] + (wrong if line[-1] != wrong else wrong.translate(str.maketrans("Qq", "Pp")))
        text("M2", f"checksum-{name}", what, changed, tests="KEYTEXT-1", comment="the last character is another")
    text("M2", "bech32m", "recipient", bech32("age", ALICE.public, constant=0x2BC830A3), tests="KEYTEXT-1",
         comment="the constant of Bech32m")
    text("M2", "fill-bits", "recipient", bech32("age", ALICE.public, fill=1), tests="KEYTEXT-1", comment="a fill bit is set")
    text("M2", "five-fill-bits", "recipient", bech32("age1stand", bytes(5), more="q"), tests="KEYTEXT-1",
         comment="five fill bits, all zero: a character too many")
    text("M2", "no-separator", "recipients-file", "age\n", tests="KEYTEXT-1", comment="no separator")
    text("M2", "short-checksum", "recipient", "age1qqqqq", tests="KEYTEXT-1", comment="five characters behind the separator")
    text("M2", "not-in-the-alphabet", "recipient", ALICE.text[:-8] + "b" + ALICE.text[-7:], tests="KEYTEXT-1",
         comment="a character that Bech32 leaves out")
    for n in (0, 31, 33):
        text("M2", f"x25519-of-{n}-bytes", "recipient", bech32("age", (ALICE.public + b"\0")[:n]), tests="KEYTEXT-2",
             comment=f"a public key of {n} bytes")
        text("M2", f"identity-of-{n}-bytes", "identities-file", bech32("age-secret-key-", (ALICE.secret + b"\0")[:n]).upper(),
             tests="KEYTEXT-3", comment=f"a scalar of {n} bytes")
    for n in (1215, 1217):
        text("M2", f"x-wing-of-{n}-bytes", "recipient", bech32("age1pq", (STRONG.public + b"\0")[:n]), tests="KEYTEXT-2",
             comment=f"a public key of {n} bytes")
    text("M8", "seed-of-64-bytes", "identities-file", bech32("age-secret-key-pq-", bytes(range(64))).upper(),
         tests="KEYTEXT-3", comment="64 bytes in place of a seed of 32")
    text("M8", "expanded-key", "identities-file", bech32("age-secret-key-pq-", bytes(96)).upper(), tests="KEYTEXT-3",
         comment="the 96 bytes to which a seed is expanded")


def lines():
    for name, what, data, comment in (
            ("space-before", "recipients-file", " " + ALICE.text, "a space before the recipient"),
            ("space-behind", "recipients-file", ALICE.text + " \n", "a space behind it"),
            ("space-before-a-comment", "recipients-file", " # x\n" + ALICE.text, "a comment begins with its line"),
            ("comment-behind", "recipients-file", ALICE.text + " # Alice\n", "a comment behind a key"),
            ("two-in-a-line", "recipients-file", ALICE.text + " " + BOB.text, "two recipients in one line"),
            ("lone-cr", "recipients-file", ALICE.text + "\r" + BOB.text, "a CR does not end a line"),
            ("spaces-alone", "recipients-file", f"   \n{ALICE.text}\n",
             "a line of spaces alone is not empty, as for a reader that trims lines"),
            ("tab-alone", "recipients-file", f"{ALICE.text}\n\t\n", "nor is a line of a tab"),
            ("cr-at-the-end", "recipients-file", ALICE.text + "\r", "a CR without LF at the end of the file"),
            ("cr-alone-at-the-end", "recipients-file", ALICE.text + "\n\r", "a last line of a CR without LF is not empty"),
            ("identities-spaces-alone", "identities-file", f"{ALICE.identity}\n \n", "a line of a space alone is not empty"),
            ("identities-cr-at-the-end", "identities-file", ALICE.identity + "\r",
             "a CR without LF at the end of the file"),
            ("byte-order-mark", "recipients-file", "\ufeff" + ALICE.text, "a byte-order mark"),
            ("not-utf-8", "recipients-file", b"# \xff\n" + ALICE.text.encode(), "a comment that is not UTF-8"),
            ("identity-among-recipients", "recipients-file", f"{ALICE.text}\n{BOB.identity}\n", "an identity"),
            ("recipient-among-identities", "identities-file", f"{ALICE.identity}\n{BOB.text}\n", "a recipient"),
            ("symmetric-key-among-identities", "identities-file",
             "VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0S67YV7J\n", "a symmetric key"),
            ("no-recipient", "recipients-file", "# nobody\n\n", "no recipient"), ("empty", "recipients-file", "", "empty"),
            ("no-identity", "identities-file", f"# {ALICE.identity}\n", "no identity"),
            ("empty-identities", "identities-file", "", "empty"),
            ("too-long", "recipients-file", "#" * ((1 << 20) - len(ALICE.text)) + "\n" + ALICE.text, "1 MiB and a byte"),
            ("identities-too-long", "identities-file", "#" * ((1 << 20) - len(ALICE.identity)) + "\n" + ALICE.identity,
             "1 MiB and a byte")):
        text("M3", name, what, data, tests="KEYTEXT-5", comment=comment)
    for name, line in (("x25519", ALICE.text), ("plugin", STAND)):
        text("M3", f"argument-{name}-and-an-end-of-line", "recipient", line + "\n", tests="KEYTEXT-1",
             comment="an argument is the recipient alone")


def low_order():
    for group, tests in ((LOW, "KEYTEXT-4 KEY-22 ARG-7"), (HIGH, "KEYTEXT-4 ARG-7")):
        for name, number in group.items():
            point = number.to_bytes(32, "little")
            comment = "of low order" if group is LOW else "not reduced"
            text("M5", name, "recipient", bech32("age", point), tests=tests, comment=f"a public key that is {comment}")
            text("M6", name, "recipient", bech32("age1pq", STRONG.public[:1184] + point), tests=tests,
                 comment=f"an X-Wing key whose last 32 bytes are {comment}")


def coefficients():
    def with_three(place, number):
        return STRONG.public[:place] + number.to_bytes(3, "little") + STRONG.public[place + 3:]
    right = int.from_bytes(STRONG.public[:3], "little")
    for name, place, number in (("even", 0, right & ~0xFFF | 3329), ("odd", 0, right & 0xFFF | 3329 << 12),
                                ("largest", 0, 0xFFFFFF), ("last", 1149, 3329 << 12)):
        text("M7", f"coefficient-{name}", "recipient", bech32("age1pq", with_three(place, number)), tests="KEYTEXT-4",
             comment="a coefficient of ML-KEM that is 3329 or more")
    largest = bech32("age1pq", with_three(0, 3328 << 12 | 3328))
    fingerprint = Recipient(4, with_three(0, 3328 << 12 | 3328)).fingerprint.hex()
    text("M7", "coefficient-3328", "recipient", largest, entries=[f"4 {fingerprint}"], tests="KEYTEXT-4",
         comment="the largest coefficient, twice")
    rho = STRONG.public[:1152] + b"\xff" * 32 + STRONG.public[1184:]
    text("M7", "seed-of-ones", "recipient", bech32("age1pq", rho), entries=[f"4 {Recipient(4, rho).fingerprint.hex()}"],
         tests="KEYTEXT-4", comment="the 32 bytes behind the coefficients may be anything")


# ssh

def string(data):
    return len(data).to_bytes(4, "big") + data


SEED = draw("M", "ssh seed", 32)
POINT = nacl.bindings.crypto_sign_seed_keypair(SEED)[0]
SSH = Recipient(3, nacl.bindings.crypto_sign_ed25519_pk_to_curve25519(POINT))
SHOWN_SSH = f"3 {SSH.fingerprint.hex()}"
ED = b"ssh-ed25519"


def encoded(blob):
    return base64.b64encode(blob).decode()


def ssh(point=POINT, name=ED, more=b""):
    return f"ssh-ed25519 {encoded(string(name) + string(point) + more)}"


LINE = ssh()
RSA = "ssh-rsa " + encoded(string(b"ssh-rsa") + string(b"\1\0\1") + string(b"\0" + draw("M", "RSA", 256)))
ECDSA = "ecdsa-sha2-nistp256 " + encoded(string(b"ecdsa-sha2-nistp256") + string(b"nistp256")
                                         + string(b"\4" + draw("M", "ECDSA", 64)))
SK = "sk-ssh-ed25519@openssh.com " + encoded(string(b"sk-ssh-ed25519@openssh.com") + string(POINT) + string(b"ssh:"))
CERTIFICATE = "ssh-ed25519-cert-v01@openssh.com " + encoded(string(b"ssh-ed25519-cert-v01@openssh.com")
                                                            + string(bytes(32)) + string(POINT))


def other_type(name):
    """A line of another type of key."""
    return f"{name} {encoded(string(name.encode()))}"


def ssh_lines():
    for name, line, comment in (("line", LINE, "no comment"), ("comment", LINE + " alice@example.com", "a comment"),
                                ("two-spaces-in-the-comment", LINE + "  a  b ", "a comment with spaces"),
                                ("tab-and-utf-8", LINE + " a\tü", "a comment with a tab and letters of all kinds")):
        text("M10", f"argument-{name}", "recipient", line, entries=[SHOWN_SSH], tests="KEYTEXT-2 KEYTEXT-6", comment=comment)
    small = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
    mixed = nacl.bindings.crypto_core_ed25519_add(POINT, small)
    unpadded = ssh().rstrip("=")
    for name, line, comment in (
            ("rsa", RSA, "a key of another type"), ("ecdsa", ECDSA, "a key of another type"),
            ("sk", SK, "a key of another type"), ("certificate", CERTIFICATE, "a certificate"),
            ("sk-called-ssh-ed25519", "ssh-ed25519 " + SK.partition(" ")[2], "the name in the base64 is another"),
            ("bytes-behind", ssh(more=b"\0"), "a byte behind the key"), ("31-bytes", ssh(POINT[:31]), "a short key"),
            ("options", 'no-pty,command="a b" ' + LINE, "options before the key"),
            ("two-spaces", LINE.replace(" ", "  "), "two spaces before the base64"),
            ("tab", LINE.replace(" ", "\t"), "a tab before the base64"), ("nothing-behind", "ssh-ed25519", "no base64"),
            ("space-alone", "ssh-ed25519 ", "no base64 behind the space"),
            ("tab-behind", LINE + "\tx", "a tab before the comment"),
            ("cr-behind", LINE + "\r", "a CR behind the base64"), ("lf-behind", LINE + "\n", "an LF behind the base64"),
            ("lf-behind-the-comment", LINE + " a\n", "an argument has no LF, although a comment may be anything"),
            ("two-lines", f"{LINE} a\n{LINE} b",
             "two lines in one argument: a reader that takes the second for comment would leave out a recipient"),
            ("base64-cut", unpadded[:-1], "the base64 is cut"), ("base64-not-canonical", "ssh-ed25519 " + encoded(
                string(ED) + string(POINT))[:-1] + "/", "bits that no byte has"),
            ("upper-case-name", LINE.replace("ssh", "SSH"), "another name"),
            ("small-order", ssh(small), "a point of order 8"), ("identity-point", ssh(b"\1" + bytes(31)), "the neutral point"),
            ("order-of-8-times-l", ssh(mixed), "a point outside of the prime-order group"),
            ("no-point", ssh(b"\2" + bytes(31)), "no point of the curve")):
        text("M9", name, "recipient", line, tests="KEYTEXT-6 KEYTEXT-8", comment=comment)


def ssh_files():
    def file(name, data, entries, skipped, comment):
        text("M10", name, "recipients-file", data, entries=entries, skipped=skipped, tests="KEYTEXT-6 KEYTEXT-5",
             comment=comment)
    file("keys-of-a-forge", f"{RSA}\n{LINE}\n", [SHOWN_SSH], 1, "a page of public keys: the RSA key is skipped")
    file("authorized-keys", f"# work\n{LINE} alice@example.com\n\n{ECDSA} a\n{SK} b\n{CERTIFICATE} c\n"
         f'command="a \\" b",no-pty {ssh(nacl.bindings.crypto_sign_seed_keypair(bytes(32))[0])} d\nno-pty {RSA}\n',
         [SHOWN_SSH], 5, "keys of other types and with options are skipped")
    file("beside-age", f"{ALICE.text}\n{LINE}\n{LINE} again\n", [shown(ALICE), SHOWN_SSH], 0,
         "texts of both kinds; a key twice is one")
    file("as-age", bech32("age", SSH.key) + f"\n{LINE}\n", [SHOWN_SSH], 0, "the same key in both forms is one")
    file("options-with-a-quote-behind-a-backslash", f'environment=\\"a {LINE} x\n{LINE}\n', [SHOWN_SSH], 1,
         "outside of quotes, a backslash keeps a quote from beginning them")
    file("options-before-a-bad-point", f"no-pty {ssh(bytes([2]) + bytes(31))}\n{LINE}\n", [SHOWN_SSH], 1,
         "the key behind options is not judged")
    file("options-before-a-short-key", f"no-pty {ssh(POINT[:31])}\n{LINE}\n", [SHOWN_SSH], 1,
         "the key behind options is not judged")
    file("options-of-two-quotes", f'"" {LINE}\n{LINE}\n', [SHOWN_SSH], 1, "two quotes are options")
    file("cr-at-the-end-of-the-comment", f"{LINE} a\r", [SHOWN_SSH], 0,
         "the comment has a CR, because no LF follows it")
    file("word-of-64-bytes", f"{other_type('t' * 64)}\n{LINE}\n", [SHOWN_SSH], 1, "the longest name of a type")
    for name, data, comment in (
            ("rsa-alone", RSA + "\n", "every line is skipped"), ("options-alone", f"no-pty {LINE}\n", "every line is skipped"),
            ("rsa-called-otherwise", RSA.replace("ssh-rsa", "ssh-rsb", 1) + f"\n{LINE}\n", "a name that the base64 does not have"),
            ("bad-ed25519", f"{LINE}\n{ssh(more=bytes(1))}\n", "an ssh-ed25519 line that is wrong"),
            ("open-quote", f'command="a b {LINE}\n{LINE}\n', "options whose quotes do not end"),
            ("space-before-ssh", f" {LINE}\n", "a space before the type"),
            ("empty-options", f" {LINE}\n{LINE}\n",
             "a space before the type: options have a byte at least, so the line is not skipped"),
            ("empty-word", f"{other_type('')}\n{LINE}\n", "the empty word, and base64 of string(the empty word)"),
            ("empty-word-behind-options", f"no-pty {other_type('')}\n{LINE}\n", "the same behind options"),
            ("word-of-65-bytes", f"{other_type('t' * 65)}\n{LINE}\n", "no name of a type has 65 bytes"),
            ("word-of-another-script", f"{other_type('ssh-ü')}\n{LINE}\n", "a name of a type is ASCII")):
        text("M10", name, "recipients-file", data, tests="KEYTEXT-6 KEYTEXT-5", comment=comment)


def private(seed=SEED, *, cipher=b"none", kdf=b"none", options=b"", count=1, outer=None, checks=(b"abcd", b"abcd"),
            name=ED, public=None, inner=None, comment=b"a", padding=None, behind=b"", width=70, magic=b"openssh-key-v1\0",
            end="\n", stated=None):
    """An OpenSSH private key; every part can be replaced."""
    right = nacl.bindings.crypto_sign_seed_keypair(seed)[0]
    section = (b"".join(checks) + string(name) + string(public or right) + string(seed + (inner or right))
               + string(comment))
    section += bytes(range(1, 1 + -len(section) % 8)) if padding is None else padding
    blob = (magic + string(cipher) + string(kdf) + string(options) + (count if stated is None else stated).to_bytes(4, "big")
            + string(string(name) + string(outer or right)) * count + string(section) + behind)
    body = encoded(blob)
    lines = [body[at:at + width] for at in range(0, len(body), width)]
    return end.join(["-----BEGIN OPENSSH PRIVATE KEY-----", *lines, "-----END OPENSSH PRIVATE KEY-----", ""])


def private_keys():
    scalar = nacl.bindings.crypto_sign_ed25519_sk_to_curve25519(SEED + POINT).hex()

    entry = f"3 {hashlib.sha512(SEED).digest()[:32].hex()}"
    for name, data, comment in (
            ("private-key", private(), "as ssh-keygen writes it"), ("private-key-cr-lf", private(end="\r\n"), "CR and LF"),
            ("private-key-no-last-end", private()[:-1], "the last end of line is missing"),
            ("private-key-in-one-line", private(width=1000), "one line of base64"),
            ("private-key-with-empty-lines", private(end="\n\n").rstrip("\n") + "\n", "empty lines between those of base64"),
            ("private-key-no-comment", private(comment=b""), "an empty comment"),
            ("private-key-without-padding", private(comment=b"a" * next(
                n for n in range(8) if private(comment=b"a" * n) == private(comment=b"a" * n, padding=b""))),
             "a section that needs no padding")):
        text("M11", name, "identities-file", data, entries=[entry], tests="KEYTEXT-7 KEYTEXT-3", comment=comment)
    other = nacl.bindings.crypto_sign_seed_keypair(bytes(32))[0]
    refused = (
        ("passphrase", private(cipher=b"aes256-ctr", kdf=b"bcrypt", options=string(bytes(16)) + bytes([0, 0, 0, 16])),
         "a key under a passphrase"),
        ("cipher-without-kdf", private(cipher=b"aes256-ctr"), "a cipher, but no KDF"),
        ("kdf-without-cipher", private(kdf=b"bcrypt"), "a KDF, but no cipher"),
        ("kdf-options", private(options=b"\0"), "options of no KDF"), ("no-key", private(count=0), "no key"),
        ("two-keys", private(count=2), "two keys"), ("check-words", private(checks=(b"abcd", b"abce")), "unequal check words"),
        ("no-key-stated", private(stated=0), "the number of keys is 0, and one is there"),
        ("two-keys-stated", private(stated=2), "the number of keys is 2, and one is there"),
        ("empty-line-before", "\n" + private(), "an empty line before the first line"),
        ("space-before-begin", " " + private(), "a space before the first line"),
        ("space-behind-begin", private().replace("\n", " \n", 1), "a space behind the first line"),
        ("tab-behind-begin", private().replace("\n", "\t\n", 1), "a tab behind the first line"),
        ("space-before-end", private().replace("-----END", " -----END"), "a space before the last line"),
        ("space-behind-end", private()[:-1] + " \n", "a space behind the last line"),
        ("cr-behind-end", private()[:-1] + "\r", "a CR without LF behind the last line"),
        ("empty-line-behind", private() + "\n", "an empty line behind the last one"),
        ("space-in-base64", private()[:60] + " " + private()[60:], "a space within a line of base64"),
        ("space-behind-base64", private().replace("\n-----END", " \n-----END"), "a space behind a line of base64"),
        ("space-before-base64", private().replace("\n", "\n ", 1), "a space before a line of base64"),
        ("rsa", private(name=b"ssh-rsa"), "a key of another type"), ("outer", private(outer=other), "another key outside"),
        ("inner", private(inner=other), "another key behind the seed"),
        ("public", private(public=other), "another key in the section"),
        ("all-three", private(outer=other, inner=other, public=other), "a key that the seed does not give"),
        ("padding-zero", private(padding=bytes(section_gap())), "padding of zeros"),
        ("padding-too-long", private(padding=bytes(range(1, 9 + section_gap()))), "8 bytes of padding too many"),
        ("padding-missing", private(comment=b"ab", padding=b""), "a section that is no multiple of 8"),
        ("byte-behind", private(behind=b"\0"), "a byte behind the section"),
        ("magic", private(magic=b"openssh-key-v2\0"), "another magic"),
        ("no-base64", private()[:-36] + "!" + private()[-35:], "a character that is no base64"),
        ("not-canonical", loose(private(comment=b"a" * 8)), "bits that no byte has"),
        ("no-end", private().partition("-----END")[0], "no last line"),
        ("something-behind", private() + "# x\n", "a line behind the last one"),
        ("two-files", private() + private(), "two keys, one behind the other"),
        ("too-long", private(comment=b"c" * 12300), "more than 16,384 bytes"),
        ("other-pem", private().replace("OPENSSH ", ""), "PEM of another kind"))
    for name, data, comment in refused:
        text("M11", name, "identities-file", data, tests="KEYTEXT-7 KEYTEXT-8", comment=comment)


def loose(pem):
    """The same with a bit set that belongs to no byte."""
    body, sign, rest = pem.partition("=")
    assert sign
    return body[:-1] + chr(ord(body[-1]) + 1) + sign + rest


def section_gap():
    """How many bytes of padding the private section of `private()` has."""
    length = 8 + 4 + len(ED) + 4 + 32 + 4 + 64 + 4 + 1
    return -length % 8


def other_files():
    text("M12", "age-file", "identities-file", b"age-encryption.org/v1\n-> scrypt AAAAAAAAAAAAAAAAAAAAAA 18\n"
         + base64.b64encode(bytes(32)).rstrip(b"=") + b"\n--- " + base64.b64encode(bytes(32)).rstrip(b"=") + b"\n" + bytes(32),
         tests="KEYTEXT-8 KEYTEXT-5", comment="an encrypted age file")
    text("M12", "armored-age-file", "identities-file",
         "-----BEGIN AGE ENCRYPTED FILE-----\nYWdlLWVuY3J5cHRpb24ub3JnL3YxCg==\n-----END AGE ENCRYPTED FILE-----\n",
         tests="KEYTEXT-8 KEYTEXT-5", comment="an encrypted age file with armour")


def plugins():
    for name, plugin in (("path", "../x"), ("empty", ""), ("65-characters", "n" * 65), ("slash", "a/b"), ("star", "a*")):
        text("M13", f"recipient-{name}", "recipient", bech32("age1" + plugin, b"\1"), tests="KEYTEXT-2",
             comment="a name that no plugin has")
        text("M13", f"identity-{name}", "identities-file", bech32("age-plugin-" + plugin + "-", b"\1").upper(),
             tests="KEYTEXT-3", comment="a name that no plugin has")
    for name, plugin in (("64-characters", "n" * 64), ("every-character", "az09-_.+"), ("one-character", "x")):
        line = bech32("age1" + plugin, b"\1")
        text("M13", f"recipient-{name}", "recipient", line, entries=[shown_plugin(line)], tests="KEYTEXT-2",
             comment="a name of a plugin")
        text("M13", f"identity-{name}", "identities-file", bech32(f"age-plugin-{plugin}-", b"").upper(),
             entries=[known(plugin)], tests="KEYTEXT-3", comment="a name of a plugin")
    text("M13", "no-dash", "identities-file", bech32("age-plugin-x", b"\1").upper(), tests="KEYTEXT-3",
         comment="the part does not end with a dash")
    text("M13", "other-part", "recipient", bech32("agf", ALICE.public), tests="KEYTEXT-2", comment="another part")
    text("M13", "other-identity", "identities-file", bech32("age-secret-kex-", ALICE.secret).upper(), tests="KEYTEXT-3",
         comment="another part")
    text("M14", "pq-of-33-bytes", "recipient", bech32("age1pq", bytes(33)), tests="KEYTEXT-2",
         comment="`pq` is never the name of a plugin")
    text("M14", "identity-of-pq", "identities-file", bech32("age-plugin-pq-", b"\1").upper(), tests="KEYTEXT-3",
         comment="nor in an identity: a reader that checks only the characters of a name takes `AGE-PLUGIN-PQ-1…`")
    tag = bech32("age1tag", draw("M14", "tag", 33))
    text("M14", "tag", "recipient", tag, entries=[shown_plugin(tag)], tests="KEYTEXT-2",
         comment="a recipient of the plugin `tag`, like any other")
    longest = bech32("age1x", draw("M15", "longest", 10232))
    assert len(longest) == 16384
    text("M15", "16384-characters", "recipient", longest, entries=[shown_plugin(longest)], tests="KEYTEXT-1",
         comment="the longest text")
    longer = bech32("age1xy", draw("M15", "longest", 10232))
    assert len(longer) == 16385
    text("M15", "16385-characters", "recipient", longer, tests="KEYTEXT-1", comment="one character more")


def known_recipients():
    one, two = (bech32("age-plugin-stand-", bytes([i])).upper() for i in (1, 2))

    def file(name, data, entries, comment):
        text("M16", name, "identities-file", data, entries=entries, tests="KEYTEXT-9 KEYTEXT-5", comment=comment)
    file("above", f"# created: 2026-11-21\n# recipient: {STAND}\n# slot 1\n{one}\n", [known("stand", STAND)],
         "a recipient in a comment line above the identity")
    file("two", f"#{STAND},{OTHER}\tx\n{one}\n", [known("stand", STAND, OTHER)],
         "two, cut at a comma and a tab, directly behind the #")
    file("above-the-one-before", f"# {STAND}\n{one}\n{two}\n", [known("stand", STAND), known("stand")],
         "a recipient above the identity before belongs to that one")
    file("behind", f"{one}\n# {STAND}\n", [known("stand")], "a recipient behind the identity")
    file("native", f"# {ALICE.text} {STRONG.text}\n{one}\n", [known("stand")], "recipients of types 3 and 4 are not known ones")
    file("no-recipient", f"# {STAND}x {STAND.upper()} a{STAND}\n{one}\n", [known("stand")], "words that are no recipients")
    for name, sign, what in (("semicolon", ";", "a semicolon"), ("colon", ":", "a colon"), ("no-break-space", "\u00a0", "U+00A0"),
                             ("form-feed", "\f", "a form feed"), ("cr", "\r", "a CR")):
        file(f"{name}-before", f"# recipient{sign}{STAND}\n{one}\n", [known("stand")],
             f"{what} does not cut words, so there is no recipient")
        file(f"{name}-behind", f"# {STAND}{sign}x\n{one}\n", [known("stand")], f"{what} does not cut words")
    file("above-another-kind", f"# {STAND}\n{ALICE.identity}\n{one}\n", [secret(ALICE), known("stand")],
         "a recipient above an identity of type 3")
    file("twice", f"# {STAND}\n{one}\n# {OTHER}\n{one}\n# {STAND}\n{one}\n", [known("stand", STAND, OTHER)],
         "an identity that is there three times has the known recipients of all")
