"""Slots for public keys, built by hand: keys, slots of types 3 to 5, and the identities that open them."""

import base64
import hashlib
import json

from forge import SPEC_REFERENCE, draw, raw_slot

import hpke
from public_slots import Recipient, wrapped_slot
from key_text import ALPHABET, checksum
from recipient_text import bech32_encoded, expanded
from stanza_slots import stanza_slot

X25519, X_WING, STANZAS = 3, 4, 5
# (seed, public key, enc, shared secret), from appendix C of draft-connolly-cfrg-xwing-kem.
PUBLISHED = [{name: bytes.fromhex(value) for name, value in row.items()}
             for row in json.loads((SPEC_REFERENCE / "published" / "x-wing.json").read_text())]


class Key:
    """An X25519 key."""

    kind, part, recipient_part = X25519, "age-secret-key-", "age"

    def __init__(self, name):
        self.secret = draw("recipients", name, 32)
        self.public = hpke.x25519_public(self.secret)

    @property
    def identity(self):
        return bech32_encoded(self.part, self.secret).upper()

    @property
    def text(self):
        return bech32_encoded(self.recipient_part, self.public)

    @property
    def recipient(self):
        return Recipient(self.kind, self.public)

    def slot_id(self, b):
        return self.recipient.key_id(b.preamble)

    def encapsulated(self, b, label):
        return hpke.dhkem_encapsulate(self.public, draw(b.seed, f"ephemeral {label}", 32))


class HybridKey(Key):
    """An X-Wing key of a published vector, whose enc and shared secret all its slots have."""

    kind, part, recipient_part = X_WING, "age-secret-key-pq-", "age1pq"

    def __init__(self, number):
        row = PUBLISHED[number]
        self.secret, self.public, self.made = row["sk"], row["pk"], (row["ct"], row["ss"])

    def encapsulated(self, b, label):
        return self.made


def bech32(part, data, *, fill=0, more="", constant=1):
    """A Bech32 text in lower case; `fill`: its fill bits, `more`: characters between data and checksum."""
    bits = -8 * len(data) % 5
    number = int.from_bytes(data, "big") << bits | fill
    count = (8 * len(data) + bits) // 5
    digits = [number >> 5 * place & 31 for place in reversed(range(count))] + [ALPHABET.index(each) for each in more]
    state = checksum(expanded(part) + digits + [0] * 6) ^ constant
    digits += [state >> 5 * place & 31 for place in reversed(range(6))]
    return part + "1" + "".join(ALPHABET[digit] for digit in digits)


def hidden_id(seed, label=""):
    return bytes(8) + draw(seed, f"hidden {label}", 8)


def slot(b, key, label="", *, slot_id=None, made=None, file_key=None, preamble=None):
    """A slot of type 3 or 4. `made`: enc and shared secret in place of right ones."""
    enc, shared = made or key.encapsulated(b, label + key.public.hex()[:8])
    nonce = draw(b.seed, f"slot nonce {label} {key.public.hex()[:64]}", 24)
    return wrapped_slot(key.kind, slot_id or key.slot_id(b), enc, shared, nonce, preamble or b.preamble,
                        file_key or b.file_key)


def dead(b, kind, slot_id, label=""):
    """A slot of the right length that no identity opens."""
    return raw_slot(kind, slot_id, draw(b.seed, f"dead {label}", {X25519: 104, X_WING: 1192}[kind]))


class PluginKey:
    """A key that a plugin holds. Its stand-in knows the secret of each slot (`answer`)."""

    kind = STANZAS

    def __init__(self, name, number=1):
        self.name = name
        self.text = bech32("age1" + name, draw("recipients", f"{name} {number}", 8))
        self.identity = bech32(f"age-plugin-{name}-", draw("recipients", f"{name} identity {number}", 8)).upper()

    @property
    def recipient(self):
        return Recipient(STANZAS, self.text.encode())

    @property
    def known(self):
        """The identity with its recipient."""
        return f"{self.identity} {self.text}"

    def slot_id(self, b):
        return self.recipient.key_id(b.preamble)

    def secret(self, b, label=""):
        return draw(b.seed, f"secret {self.text} {label}", 16)

    def stanzas(self, b, label=""):
        """One stanza, other bytes for each slot."""
        return stanza([self.name, "x"], draw(b.seed, f"stanza {self.text} {label}", 32))

    def slot(self, b, label="", *, stanzas=None, slot_id=None, labels=0, secret=None, file_key=None):
        return stanza_slot(slot_id or self.slot_id(b), labels, self.stanzas(b, label) if stanzas is None else stanzas,
                           secret or self.secret(b, label), draw(b.seed, f"slot nonce {self.text} {label}", 24),
                           b.preamble, file_key or b.file_key)

    def answer(self, b, label="", *, stanzas=None, secret=None):
        """The line of a vector: what the plugin answers for these stanzas."""
        digest = hashlib.sha256(self.stanzas(b, label) if stanzas is None else stanzas).hexdigest()
        return "stanza-answer", f"{self.name} {digest} {(secret or self.secret(b, label)).hex()}"


def stanza(arguments, body):
    """A stanza as age writes it."""
    text = base64.b64encode(body).rstrip(b"=")
    lines = [text[at:at + 64] for at in range(0, len(text), 64)]
    if not lines or len(lines[-1]) == 64:
        lines.append(b"")
    head = b"-> " + " ".join(arguments).encode()
    return b"".join(line + b"\n" for line in [head, *lines])
