"""Group Q: signatures (MEMBERS.md, 25)."""

import hashlib

import nacl.bindings

from forge import Box, draw, flip, u16, u32
from vector import operation, signatures, vector

SIGNATURES = 0x8010
NAMESPACE = b"statement@vaultfile"
ORDER = 2**252 + 27742317777372353535851937790883648493


def make():
    good()
    statements()
    broken_blobs()
    wrong_signatures()
    algorithms()
    not_checked()
    broken_values()
    demands()
    changes()


def string(data):
    return u32(len(data)) + data


class Signer:
    def __init__(self, name):
        self.name = name
        self.public, self.secret = nacl.bindings.crypto_sign_seed_keypair(draw("Q signer", name, 32))
        self.key = string(b"ssh-ed25519") + string(self.public)
        self.line = (name, self.key)

    def sign(self, message):
        return nacl.bindings.crypto_sign(message, self.secret)[:64]

    def blob(self, text, *, magic=b"SSHSIG", version=1, key=None, namespace=NAMESPACE, reserved=b"", hashing="sha512",
             stated=None, kind=b"ssh-ed25519", value=None, extra=b"", inner=b""):
        """An SSHSIG blob over the statement; each field can be another. `stated`: the name of the hash function."""
        digest = hashlib.new(hashing, text).digest()
        name = hashing.encode() if stated is None else stated
        signed = b"SSHSIG" + string(namespace) + string(reserved) + string(name) + string(digest)
        value = self.sign(signed) if value is None else value(self.sign(signed))
        return (magic + u32(version) + string(self.key if key is None else key) + string(namespace) + string(reserved)
                + string(name) + string(string(kind) + string(value) + inner) + extra)


ALICE, BOB = Signer("alice@example.com"), Signer("bob@example.com")
BOTH = [ALICE.line, BOB.line]


def statement(plaintext, members):
    text = f"vaultfile statement 1\nplaintext {hashlib.sha256(plaintext).hexdigest()} {len(plaintext)}\n"
    for tag, value in sorted(members):
        if tag >= 0x8000 and tag != SIGNATURES:
            text += f"member {tag:04x} {hashlib.sha256(value).hexdigest()}\n"
    return text.encode()


def value_of(*blobs, count=None):
    return u16(len(blobs) if count is None else count) + b"".join(string(blob) for blob in blobs)


PLAIN = b"the signed content"
DIGEST = (5, hashlib.sha256(PLAIN).digest())
NAME = (0x8002, b"a.txt")
MEMBERS = [DIGEST, NAME]
TEXT = statement(PLAIN, MEMBERS)


def signed(seed, value, members=MEMBERS, **more):
    return Box(seed, PLAIN, members=[*members, (SIGNATURES, value)], **more)


def good():
    known = statement(b"abc", [NAME])
    assert len(known) == 176
    assert hashlib.sha256(known).hexdigest() == "b9924e53651d687950e32bc42a33e9f9c0df067ce19fc542ead78d7b993323dc"
    b = Box("Q10 known", b"abc", members=[(5, hashlib.sha256(b"abc").digest()), NAME,
                                          (SIGNATURES, value_of(ALICE.blob(known)))])
    signatures("Q10", "known-answer", b, ["valid alice@example.com"], signers=BOTH, statement=known,
               tests="SIG-2 SIG-4 SIG-6 SIG-1", comment="the worked example, signed")
    for hashing in ("sha256", "sha512"):
        for kind, compression in (("", 0), ("packed-", 1)):
            b = signed(f"Q10 {hashing} {kind}", value_of(ALICE.blob(TEXT, hashing=hashing)), compression=compression)
            signatures("Q10", f"{kind}{hashing}", b, ["valid alice@example.com"], signers=BOTH, statement=TEXT,
                       tests="SIG-2 SIG-4 SIG-6", comment="the caller's list has the key")
    b = signed("Q10", value_of(ALICE.blob(TEXT)))
    signatures("Q10", "no-list", b, ["untrusted"], statement=TEXT, tests="SIG-6", comment="there is no list")
    signatures("Q10", "another-key-in-the-list", b, ["untrusted"], signers=[BOB.line], statement=TEXT, tests="SIG-6",
               comment="the list does not have the key")
    many = [(ALICE if number % 2 else BOB).blob(TEXT) for number in range(16)]
    names = [f"valid {(ALICE if number % 2 else BOB).name}" for number in range(16)]
    signatures("Q10", "sixteen", signed("Q10 16", value_of(*many)), names, signers=BOTH, statement=TEXT,
               tests="SIG-6 SIG-1", comment="the most signatures, in their order")
    vector("Q10", "read", b, stream="intact", tests="MAN-17 SIG-1",
           comment="a reader without signatures skips the member")


def statements():
    rich = [DIGEST, (0x8001, b"text/plain"), NAME, (0x8003, bytes(12)), (0x8004, b"\1\xa4"), (0x8005, b"no index"),
            (0x800F, b""), (0x8011, b"unknown"), (0xFFFF, b"the last")]
    text = statement(PLAIN, rich)
    b = signed("Q11 all", value_of(ALICE.blob(text)), sorted(rich))
    signatures("Q11", "all-members", b, ["valid alice@example.com"], signers=BOTH, statement=text, tests="SIG-2 SIG-3",
               comment="every member from 0x8000 on but the signatures, unknown ones and a broken index too")
    bare = statement(PLAIN, [])
    signatures("Q11", "no-members", signed("Q11 bare", value_of(ALICE.blob(bare)), [DIGEST]),
               ["valid alice@example.com"], signers=BOTH, statement=bare, tests="SIG-2",
               comment="no descriptive member")
    empty = Box("Q11 empty", b"", members=[(5, hashlib.sha256(b"").digest()),
                                           (SIGNATURES, value_of(ALICE.blob(statement(b"", []))))])
    signatures("Q11", "empty-plaintext", empty, ["valid alice@example.com"], signers=BOTH,
               statement=statement(b"", []), tests="SIG-2", comment="the length is 0")
    for name, members in (("another-name", [DIGEST, (0x8002, b"b.txt")]), ("a-member-more", [*MEMBERS, (0x9000, b"x")]),
                          ("a-member-less", [DIGEST])):
        signatures("Q11", name, signed(f"Q11 {name}", value_of(ALICE.blob(TEXT)), members), ["invalid"], signers=BOTH,
                   statement=statement(PLAIN, members), tests="SIG-2 SIG-3 SIG-6",
                   comment="the members are not those that were signed")
    other = Box("Q11 content", b"another content", members=[
        (5, hashlib.sha256(b"another content").digest()), NAME, (SIGNATURES, value_of(ALICE.blob(TEXT)))])
    signatures("Q11", "another-content", other, ["invalid"], signers=BOTH, tests="SIG-2 SIG-6",
               statement=statement(b"another content", MEMBERS), comment="the content is not the one that was signed")


def broken_blobs():
    def check(name, blob, comment):
        signatures("Q12", name, signed(f"Q12 {name}", value_of(blob)), ["invalid"], signers=BOTH, statement=TEXT,
                   tests="SIG-4 SIG-6", comment=comment)

    good_blob = ALICE.blob(TEXT)
    check("reserved", ALICE.blob(TEXT, reserved=b"x"), "the reserved field is not empty")
    check("namespace", ALICE.blob(TEXT, namespace=b"file"), "a signature for another use of the key")
    check("empty-namespace", ALICE.blob(TEXT, namespace=b""), "a signature for no use")
    check("sha1", ALICE.blob(TEXT, hashing="sha1"), "a hash algorithm that is not allowed")
    check("hash-in-upper-case", ALICE.blob(TEXT, stated=b"SHA512"), "names are compared as bytes")
    check("version-2", ALICE.blob(TEXT, version=2), "another version of SSHSIG")
    check("version-0", ALICE.blob(TEXT, version=0), "another version of SSHSIG")
    check("magic", ALICE.blob(TEXT, magic=b"SSHSIX"), "another magic")
    check("one-byte", b"S", "a blob of one byte is within the form of the member")
    check("cut", good_blob[:-1], "the last field is cut")
    check("a-byte-behind", good_blob + b"\0", "something follows the last field")
    check("a-byte-behind-the-signature", ALICE.blob(TEXT, inner=b"\0"), "something follows inside of the signature")
    check("a-byte-behind-the-key", ALICE.blob(TEXT, key=ALICE.key + b"\0"), "something follows inside of the key")
    check("field-of-2-to-32-bytes", b"SSHSIG" + u32(1) + b"\xff" * 4 + bytes(100), "a field is longer than the blob")
    check("armour", b"-----BEGIN SSH SIGNATURE-----\n", "the armour in place of its decoded body")


def wrong_signatures():
    def check(name, blob, comment, result="invalid"):
        signatures("Q13", name, signed(f"Q13 {name}", value_of(blob)), [result], signers=BOTH, statement=TEXT,
                   tests="SIG-4 SIG-6", comment=comment)

    for place in (0, 31, 32, 63):
        check(f"bit-of-byte-{place}", ALICE.blob(TEXT, value=lambda value, place=place: flip(value, place)),
              "one bit of the signature")
    check("of-another-key", ALICE.blob(TEXT, key=BOB.key), "the key in the blob did not make the signature")
    check("another-hash-stated", ALICE.blob(TEXT, value=lambda _: ALICE.sign(b"SSHSIG" + string(NAMESPACE) + string(
        b"") + string(b"sha256") + string(hashlib.sha256(TEXT).digest()))), "signed under the other hash algorithm")
    check("over-the-text-itself", ALICE.blob(TEXT, value=lambda _: ALICE.sign(TEXT)), "not the form of SSHSIG")
    check("s-plus-the-order", ALICE.blob(TEXT, value=lambda value: value[:32] + (int.from_bytes(
        value[32:], "little") + ORDER).to_bytes(32, "little")), "S is not below the order of the group")
    for length in (63, 65):
        check(f"of-{length}-bytes", ALICE.blob(TEXT, value=lambda value, length=length: (value + b"\0")[:length]),
              "a signature of another length")
    check("key-of-31-bytes", ALICE.blob(TEXT, key=string(b"ssh-ed25519") + string(ALICE.public[:31])),
          "a key of another length")
    mixed = value_of(ALICE.blob(TEXT, value=lambda value: flip(value, 3)), BOB.blob(TEXT), b"junk")
    signatures("Q13", "beside-others", signed("Q13 mixed", mixed), ["invalid", "valid bob@example.com", "invalid"],
               signers=BOTH, statement=TEXT, tests="SIG-6", comment="each signature is judged by itself")


def algorithms():
    def check(name, blob, result, comment):
        signatures("Q14", name, signed(f"Q14 {name}", value_of(blob)), [result], signers=BOTH, statement=TEXT,
                   tests="SIG-4 SIG-6", comment=comment)

    new = b"ssh-new@example.com"
    unknown = string(new) + string(bytes(32))
    check("unknown-key", ALICE.blob(TEXT, key=unknown, kind=new), "unknownAlgorithm", "a key that no program knows")
    check("unknown-signature", ALICE.blob(TEXT, kind=new), "unknownAlgorithm", "a known key, an unknown signature")
    check("unknown-and-wrong-namespace", ALICE.blob(TEXT, key=unknown, kind=new, namespace=b"file"), "invalid",
          "SIG-4 comes before the algorithms")


def not_checked():
    b = signed("Q15", value_of(ALICE.blob(TEXT), b"junk"))
    signatures("Q15", "a-range", b, ["notChecked"] * 2, by="range", signers=BOTH, statement=TEXT, tests="SIG-5 SIG-6",
               comment="a reader of ranges checks no signature, whatever it has read")
    b = signed("Q15 no digest", value_of(ALICE.blob(TEXT)), [NAME])
    signatures("Q15", "no-member-5", b, ["notChecked"], signers=BOTH, tests="SIG-3 SIG-6",
               comment="without the digest of the plaintext nothing can be checked")
    wrong = Box("Q15 digest", PLAIN, members=[(5, bytes(32)), NAME, (SIGNATURES, value_of(ALICE.blob(TEXT)))])
    signatures("Q15", "another-digest", wrong, [], result="contentMismatch", signers=BOTH, tests="SIG-5 STR-18",
               comment="the content is checked first")
    damaged = signed("Q15 damaged", value_of(ALICE.blob(TEXT)))
    signatures("Q15", "damaged-content", damaged, [], result="recordDamaged", signers=BOTH, tests="SIG-5",
               data=flip(damaged.bytes(), 520), comment="the content is read first")


def broken_values():
    one = ALICE.blob(TEXT)
    for name, value in (
            ("count-0", u16(0)), ("count-17", value_of(*[b"x"] * 17)), ("count-2-of-one", value_of(one, count=2)),
            ("count-1-of-two", value_of(one, one, count=1)), ("length-0", u16(1) + u32(0)),
            ("length-past-the-end", u16(1) + u32(len(one) + 1) + one), ("a-byte-behind", value_of(one) + b"\0"),
            ("length-of-16385", value_of(bytes(16_385))), ("empty", b""), ("one-byte", b"\0"), ("no-length", u16(1))):
        b = signed(f"Q16 {name}", value)
        signatures("Q16", name, b, [], signers=BOTH, statement=TEXT, tests="SIG-1",
                   comment="the container opens, and has no signature")
        if name in ("count-0", "length-past-the-end", "empty"):
            vector("Q16", f"{name}-read", b, stream="intact", tests="MAN-17 SIG-1",
                   comment="no value of the member makes a container unreadable")
    signatures("Q16", "accepted-length-of-16384", signed("Q16 longest", value_of(bytes(16_384))), ["invalid"],
               statement=TEXT, tests="SIG-4 SIG-1", comment="the longest blob; it is none of SSHSIG")


def demands():
    only_alice = signed("Q17", value_of(ALICE.blob(TEXT)))
    valid = ["valid alice@example.com"]

    def check(name, b, found, comment, *, demand=("*",), **more):
        signatures("Q17", name, b, found, demand=demand, statement=TEXT, tests="SIG-7", comment=comment,
                   result="done" if found else "signatureInvalid", **more)

    check("any", only_alice, valid, "any principal will do", signers=BOTH)
    check("the-principal", only_alice, valid, "the demanded principal", signers=BOTH, demand=[ALICE.name])
    check("one-of-two-principals", only_alice, valid, "one of the principals that are demanded", signers=BOTH,
          demand=[BOB.name, ALICE.name])
    check("another-principal", only_alice, [], "valid, and of another principal", signers=BOTH, demand=[BOB.name])
    check("untrusted", only_alice, [], "right, and not in the list", signers=[BOB.line])
    check("no-list", only_alice, [], "right, and there is no list")
    check("no-signature", Box("Q17 none", PLAIN, members=MEMBERS), [], "there is no signature", signers=BOTH)
    check("broken-value", signed("Q17 broken", u16(0)), [], "a value that breaks its form", signers=BOTH)
    check("no-member-5", signed("Q17 no digest", value_of(ALICE.blob(TEXT)), [NAME]), [], "nothing can be checked",
          signers=BOTH)
    check("a-range", only_alice, [], "a reader of ranges cannot meet a demand", signers=BOTH, by="range")
    mixed = signed("Q17 mixed", value_of(b"junk", BOB.blob(TEXT, namespace=b"file"), ALICE.blob(TEXT)))
    check("beside-invalid-ones", mixed, ["invalid", "invalid", *valid], "one valid signature is enough", signers=BOTH)
    damaged = signed("Q17 damaged", value_of(ALICE.blob(TEXT)))
    signatures("Q17", "damaged-content", damaged, [], result="recordDamaged", demand=["*"], tests="SIG-7",
               data=flip(damaged.bytes(), 520), comment="errors of the content come first")


def changes():
    kept = (SIGNATURES, value_of(ALICE.blob(TEXT)))
    b = Box("Q18", PLAIN, members=[*MEMBERS, kept])

    def resealed(*members):
        fresh = Box("Q18 fresh", PLAIN, user_key=b.user_key, members=members)
        return fresh, dict(add=[(b.user_key,)], new=[fresh.file_key, fresh.file_id, *fresh.slots])

    fresh, sealing = resealed(*MEMBERS, kept)
    operation("Q18", "reencrypt", b, "reencrypt", **sealing, after=fresh.bytes(), written="copy",
              tests="REENC-8 SIG-9", comment="the signatures are carried over, by every program")
    signatures("Q18", "reencrypted", fresh, ["valid alice@example.com"], signers=BOTH, statement=TEXT, tests="SIG-8 SIG-9",
               comment="they are as valid in the new container")
    part = dict(set_name=b"b.txt", needs="signatures", tests="SIG-9")
    operation("Q18", "renamed", b, "reencrypt", **sealing, **part, result="consentNeeded",
              comment="with another name the signatures would be wrong: they are left out only with consent")
    renamed, sealing = resealed(DIGEST, (0x8002, b"b.txt"))
    operation("Q18", "renamed-with-consent", b, "reencrypt", **sealing, **part, consent=True, after=renamed.bytes(),
              written="copy", comment="the new container has no signatures")
    same, sealing = resealed(*MEMBERS, kept)
    operation("Q18", "renamed-to-what-it-is", b, "reencrypt", **sealing, **{**part, "set_name": b"a.txt"},
              after=same.bytes(), written="copy", comment="the name does not change, so the signatures stay")
    unsigned = Box("Q18 unsigned", PLAIN, user_key=b.user_key, members=MEMBERS)
    operation("Q18", "renamed-unsigned", unsigned, "reencrypt", **sealing_of(renamed, b), **part, after=renamed.bytes(),
              written="copy", comment="without signatures nothing is lost")


def sealing_of(fresh, b):
    return dict(add=[(b.user_key,)], new=[fresh.file_key, fresh.file_id, *fresh.slots])
