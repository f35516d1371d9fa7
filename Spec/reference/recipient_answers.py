"""Known answers of public keys: RECIPIENTS.md, 17.7, and the published vectors of HPKE, X-Wing and age."""

import base64
import binascii
import hashlib
import json
import zlib
from pathlib import Path
from typing import Any, Iterator, Optional

import nacl.bindings
import nacl.exceptions

import hpke
import primitives as p
from header import build_copy
from layout import build_footer
from manifest import Manifest, build_members, join_members
from public_slots import (Identity, Recipient, encapsulate, exported_secret, kek_public, public_head, wrapped_slot)
from records import seal_record
from recipient_text import bech32_encoded, identity_of, private_key, recipient_of
from stanza_slots import are_stanzas, kek_stanzas, stanza_slot

PUBLISHED = Path(__file__).resolve().parent / "published"
FILE_KEY = bytes(range(0x00, 0x20))
FILE_ID = bytes(range(0xA0, 0xB0))
NONCE = bytes(range(0xC0, 0xD8))
EPHEMERAL = bytes(range(0x60, 0x80))
IDENTITY = "AGE-SECRET-KEY-1GPQ5YS6YG4RYWJZFFF95CN2WFAG9Z5JN2324V46CT9D9KHZATE0S5FAZ64"
IDENTITY_PQ = "AGE-SECRET-KEY-PQ-107WZHF8G37P86CTQG4G8VPV98MTNHQYN7MHMEZ8TRFH2E7NXAUNQSTZN4F"
CHACHA20_POLY1305 = 3
SECRET = bytes(range(0x80, 0x90))
STANZA = b"-> example.com/stand kJGSk5SVlpeYmZqbnJ2enw\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\n"
SSH_LINE = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"

Answer = tuple[str, bytes, str]


def published(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((PUBLISHED / name).read_text())
    return [{field: bytes.fromhex(value) if isinstance(value, str) else value for field, value in row.items()}
            for row in rows]


def answers(preamble: bytes) -> Iterator[Answer]:
    """`preamble`: that of chapter 17."""
    slots = [x25519_slot(preamble), x_wing_slot(preamble), stand_slot(preamble)]
    yield from x25519_answers(preamble, slots[0])
    yield from x_wing_answers(preamble, slots[1])
    yield from stanza_answers(preamble, slots[2])
    yield ("container with slots of types 3, 4 and 5", hashlib.sha256(container(preamble, slots)).digest(),
           "43f7b6eb85d2846fc294c48bd0469feddc0a122b5eeaa0ef29ef6140cf39ed26")
    yield from ssh_answers()
    yield from hpke_answers()
    if hpke.has_x_wing():
        yield from x_wing_published()
        yield from age_hybrid()
    yield from age_stanzas()


def x25519_slot(preamble: bytes) -> bytes:
    identity = identity_of(IDENTITY)
    assert isinstance(identity, Identity)
    enc, shared = encapsulate(identity.recipient, EPHEMERAL)
    return wrapped_slot(p.SLOT_X25519, identity.recipient.key_id(preamble), enc, shared, NONCE, preamble, FILE_KEY)


def x25519_answers(preamble: bytes, slot: bytes) -> Iterator[Answer]:
    identity = identity_of(IDENTITY)
    assert isinstance(identity, Identity)
    recipient = identity.recipient
    enc, shared = encapsulate(recipient, EPHEMERAL)
    head = public_head(p.SLOT_X25519, recipient.key_id(preamble))
    exported = exported_secret(p.SLOT_X25519, shared, preamble, head)
    yield "X25519 scalar", identity.secret, bytes(range(0x40, 0x60)).hex()
    yield "X25519 recipient", bech32_encoded("age", recipient.key).encode(), (
        b"age10xnrrmk7r0uunrcjqvkdatwsu7s8jwv0c7rt3rxggmkgntu955dq25yyzj".hex())
    yield "X25519 public key", recipient.key, "79a631eede1bf9c98f12032cdeadd0e7a079398fc786b88cc846ec89af85a51a"
    yield ("X25519 fingerprint", recipient.fingerprint,
           "8d740b10496464522582b00022722bbab0990cd1d7adf8b4e4e2b5bde12d45a2")
    yield "X25519 enc", enc, "675dd574ed7789310b3d2e7681f3790b466c773b1521fecf36577958371ea52f"
    yield "X25519 shared secret", shared, "f58dc970688739d4df48278bfa666781904cdbaba94fe03da9299b496d44ba82"
    yield "X25519 slot head", head, "0003006828913dab2455f299442b7e8f99ea1f5a"
    yield "X25519 exported secret", exported, "35eaf86431724c05a23081271d904615e4f8b4a04ede81ad0b4733ae93528c6f"
    yield ("X25519 key-encryption key", kek_public(exported, preamble),
           "f6fb8d04f5848d0a5492683009a5376bfc4e07a3751e7dac01490548e6c1b685")
    yield ("X25519 wrapped", slot[-48:],
           "88810c9121ebae8ad688d868e1f270874dd8193678a6acd408a2ee91a321c1b25c87c953e6737e366dbeec95598bf528")
    yield ("X25519 slot", hashlib.sha256(slot).digest(),
           "74a3d2b063835bbc8bc98c8cdd3f67634a3f6a1c6a7c9db3e90af7e64188fa1c")


def x_wing_slot(preamble: bytes) -> bytes:
    first = published("x-wing.json")[0]
    recipient = Recipient(p.SLOT_X_WING, first["pk"])
    return wrapped_slot(p.SLOT_X_WING, recipient.key_id(preamble), first["ct"], first["ss"], NONCE, preamble, FILE_KEY)


def x_wing_answers(preamble: bytes, slot: bytes) -> Iterator[Answer]:
    first = published("x-wing.json")[0]
    identity = identity_of(IDENTITY_PQ)
    assert isinstance(identity, Identity)
    recipient = Recipient(p.SLOT_X_WING, first["pk"])
    head = public_head(p.SLOT_X_WING, recipient.key_id(preamble))
    exported = exported_secret(p.SLOT_X_WING, first["ss"], preamble, head)
    yield "X-Wing seed", identity.secret, first["sk"].hex()
    yield ("X-Wing recipient", hashlib.sha256(bech32_encoded("age1pq", first["pk"]).encode()).digest(),
           "90fd79447d43e911f77df85d3ef9fe8977011f2ed521791cc8dfa98a883729a1")
    yield ("X-Wing fingerprint", recipient.fingerprint,
           "eb7d1a0d75ee294b0b9f64e2c24ef12528aaad63a8ccc26041d6d2ac15abff4d")
    yield "X-Wing key ID", head[4:], "37625a98ba5e65634690721298857b72"
    yield "X-Wing exported secret", exported, "8a85906579b41f386bd2a08b97791aa11f1c0cbbb3dfdf3017a60d78b4ae7555"
    yield ("X-Wing key-encryption key", kek_public(exported, preamble),
           "80a64cff2291deda7fbe457ec74b5475bd19827ba4276617f1f99d8752b8bd38")
    yield ("X-Wing wrapped", slot[-48:],
           "f5ca5b72464e5191ee2fed5166e263f17f7b94f1327f60c96087d1a4389b262366739852a970cbdef42607893eb4ddaa")
    yield ("X-Wing slot", hashlib.sha256(slot).digest(),
           "2f5171376a83ee4c7cbbc537e4439f959d6605789fcbfcd264ed528b974d889b")


def stand_slot(preamble: bytes) -> bytes:
    recipient = recipient_of("age1stand1qypqm6670e")
    return stanza_slot(recipient.key_id(preamble), 0, STANZA, SECRET, NONCE, preamble, FILE_KEY)


def stanza_answers(preamble: bytes, slot: bytes) -> Iterator[Answer]:
    recipient = recipient_of("age1stand1qypqm6670e")
    yield ("stanza fingerprint", recipient.fingerprint,
           "890133a265647e2a0fc3087f8d7e71afdfc0feaa65cee226271cb48bd4e9557e")
    yield "stanza key ID", recipient.key_id(preamble), "e513d123281d236768a3bedd614e15c2"
    yield ("stanza key-encryption key", kek_stanzas(SECRET, preamble),
           "4eca6f38c5b7c2b21f1c35153af376fe825f27bb33021eee5218c58eb8c91aa5")
    yield ("stanza wrapped", slot[-48:],
           "e058f63af2993798902e8997588a1f758866cb51011f02a6fb44f6a2e9fcd92e1c40c7e4f0bfac243cdb24eca5afb2d7")
    yield ("stanza slot", hashlib.sha256(slot).digest(),
           "f79e76566b33f52cf5f6aa96a152c56dc4b5af742c29c9775d16b1b873c28164")


def container(preamble: bytes, slots: list[bytes]) -> bytes:
    """The container of `abc` with member 5 and a capacity of 4096."""
    copy = build_copy(preamble, 4096, 1, slots, FILE_KEY, b"")
    key = p.stream_key(FILE_KEY, preamble, b"")
    members = build_members(Manifest(3, None, None, hashlib.sha256(b"abc").digest(), None, None, None, None),
                            preamble[32:])
    records = (seal_record(key, FILE_ID, 0, p.DATA, b"abc")
               + seal_record(key, FILE_ID, 1, p.MANIFEST, join_members(members)))
    return (copy + records).ljust(8192, b"\0") + copy + build_footer(4096, 4096 + 23, 512)


def ssh_answers() -> Iterator[Answer]:
    recipient = recipient_of(SSH_LINE)
    yield "ssh recipient", bech32_encoded("age", recipient.key).encode(), (
        b"age1guqappygg504gkjqn76c4cl9skqu5s9v8al3z35ce4caatrnegqsayk6a2".hex())
    scalar = private_key(openssh_private_key(bytes(range(32))))
    yield "ssh scalar", scalar, "3d94eea49c580aef816935762be049559d6d1440dede12e6a125f1841fff8e6f"
    yield "ssh public key of the scalar", Identity(p.SLOT_X25519, scalar).recipient.key, recipient.key.hex()


def openssh_private_key(seed: bytes) -> bytes:
    """A file as ssh-keygen writes it, without a passphrase."""
    def string(data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + data

    public, _ = nacl.bindings.crypto_sign_seed_keypair(seed)
    secret = bytes(8) + string(b"ssh-ed25519") + string(public) + string(seed + public) + string(b"comment")
    secret += bytes(range(1, 1 + -len(secret) % 8))
    blob = (b"openssh-key-v1\0" + string(b"none") * 2 + string(b"") + (1).to_bytes(4, "big")
            + string(string(b"ssh-ed25519") + string(public)) + string(secret))
    text = base64.b64encode(blob)
    lines = [text[at:at + 70] for at in range(0, len(text), 70)]
    return b"\n".join([b"-----BEGIN OPENSSH PRIVATE KEY-----", *lines, b"-----END OPENSSH PRIVATE KEY-----", b""])


def hpke_answers() -> Iterator[Answer]:
    """RFC 9180."""
    for row in published("hpke-x25519.json"):
        name = f"HPKE, AEAD {row['aead_id']:04x}"
        enc, shared = hpke.dhkem_encapsulate(row["pkRm"], row["skEm"]) or (b"", b"")
        yield f"{name}: enc", enc, row["enc"].hex()
        yield f"{name}: shared secret", shared, row["shared_secret"].hex()
        yield f"{name}: decapsulated", hpke.dhkem_decapsulate(enc, row["skRm"]) or b"", row["shared_secret"].hex()
        yield from exports(name, row)


def exports(name: str, row: dict[str, Any]) -> Iterator[Answer]:
    context = hpke.context(row["kem_id"], row["shared_secret"], row["info"], row["aead_id"])
    yield f"{name}: exporter secret", context.exporter_secret(), row["exporter_secret"].hex()
    for each in row["exports"]:
        value = context.export(bytes.fromhex(each["exporter_context"]), each["L"])
        yield f"{name}: export of {each['exporter_context']}", value, each["exported_value"]


def x_wing_published() -> Iterator[Answer]:
    """draft-connolly-cfrg-xwing-kem and draft-ietf-hpke-pq."""
    for number, row in enumerate(published("x-wing.json")):
        yield f"X-Wing {number}: public key", hpke.x_wing_public(row["sk"]), row["pk"].hex()
        yield f"X-Wing {number}: shared secret", hpke.x_wing_decapsulate(row["ct"], row["sk"]) or b"", row["ss"].hex()
        enc, shared = hpke.x_wing_encapsulate(row["pk"], EPHEMERAL) or (b"", b"")
        yield f"X-Wing {number}: encapsulated", hpke.x_wing_decapsulate(enc, row["sk"]) or b"", shared.hex()
    for row in published("hpke-x-wing.json"):
        yield "HPKE, X-Wing: public key", hpke.x_wing_public(row["skRm"]), row["pkRm"].hex()
        yield ("HPKE, X-Wing: shared secret", hpke.x_wing_decapsulate(row["enc"], row["skRm"]) or b"",
               row["shared_secret"].hex())
        yield from exports("HPKE, X-Wing", row)


def age_vector(path: Path) -> tuple[dict[str, list[str]], bytes]:
    """The fields of a CCTV file, and its stanzas."""
    text, _, file = path.read_bytes().partition(b"\n\n")
    fields: dict[str, list[str]] = {}
    for line in text.decode().split("\n"):
        name, _, value = line.partition(": ")
        fields.setdefault(name, []).append(value)
    file = zlib.decompress(file) if "compressed" in fields else file
    head = file.partition(b"\n---")[0]
    return fields, head.partition(b"\n")[2] + b"\n"


def age_stanzas() -> Iterator[Answer]:
    """What CCTV's files say of the form of stanzas: SLOT-29 is age's form."""
    for path in sorted((PUBLISHED / "cctv-age").glob("stanza_*")):
        fields, stanzas = age_vector(path)
        yield f"CCTV {path.name}", str(are_stanzas(stanzas)).encode(), (
            str(fields["expect"] != ["header failure"]).encode().hex())


def age_hybrid() -> Iterator[Answer]:
    """CCTV's stanzas `mlkem768x25519`: X-Wing and HPKE with another info and with an AEAD."""
    for path in sorted((PUBLISHED / "cctv-age").glob("hybrid*")):
        fields, stanzas = age_vector(path)
        expected = fields["file key"][0] if fields["expect"] == ["success"] else ""
        yield f"CCTV {path.name}", age_file_key(fields.get("identity", []), stanzas) or b"", expected


def age_file_key(identities: list[str], stanzas: bytes) -> Optional[bytes]:
    """The file key that a stanza `mlkem768x25519` gives for one of the identities; None for every failure."""
    seeds = [one.secret for one in map(identity_of, identities) if isinstance(one, Identity)]
    lines = stanzas.split(b"\n")
    for place, line in enumerate(lines):
        words = line.split(b" ")
        if words[:2] != [b"->", b"mlkem768x25519"] or len(words) != 3:
            continue
        enc, body = unpadded(words[2]), unpadded(lines[place + 1])
        if enc is None or len(enc) != 1120 or body is None or len(body) != 32:
            return None
        for seed in seeds:
            shared = hpke.x_wing_decapsulate(enc, seed)
            if shared is None:
                return None
            context = hpke.context(hpke.KEM_X_WING, shared, b"age-encryption.org/mlkem768x25519", CHACHA20_POLY1305)
            key = context.suite.expand(context.secret, b"key", context.schedule, 32)
            nonce = context.suite.expand(context.secret, b"base_nonce", context.schedule, 12)
            try:
                return nacl.bindings.crypto_aead_chacha20poly1305_ietf_decrypt(body, b"", nonce, key)
            except nacl.exceptions.CryptoError:
                continue
    return None


def unpadded(text: bytes) -> Optional[bytes]:
    """Canonical base64 without padding."""
    try:
        data = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        return None
    return data if base64.b64encode(data).rstrip(b"=") == text else None
