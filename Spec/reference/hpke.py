"""What slots of types 3 and 4 need of HPKE and of its two KEMs (RECIPIENTS.md, 4.5; RFC 9180, base mode).

X25519 comes from PyNaCl, HKDF from hmac. X-Wing needs ML-KEM-768, which comes from the package `cryptography` (48 or
newer). Without it type 4 is not usable here (SLOT-24).
"""

import hashlib
import hmac
from typing import NamedTuple, Optional

import nacl.bindings
import nacl.exceptions

try:
    from cryptography.hazmat.primitives.asymmetric import mlkem
except ImportError:
    mlkem = None  # type: ignore[assignment]

KEM_X25519 = 0x0020
KEM_X_WING = 0x647A
KDF_HKDF_SHA256 = 0x0001
EXPORT_ONLY = 0xFFFF
ML_KEM_KEY = 1184
ML_KEM_CIPHERTEXT = 1088
X_WING_LABEL = bytes.fromhex("5C2E2F2F5E5C")


def has_x_wing() -> bool:
    """Whether this system has ML-KEM-768, and so X-Wing."""
    return mlkem is not None


def hmac_sha256(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha256).digest()


class Suite(NamedTuple):
    """The labeled functions of RFC 9180, 4: `name` is a suite_id."""

    name: bytes

    def extract(self, salt: bytes, label: bytes, ikm: bytes) -> bytes:
        return hmac_sha256(salt or bytes(32), b"HPKE-v1" + self.name + label + ikm)

    def expand(self, prk: bytes, label: bytes, info: bytes, length: int) -> bytes:
        info = length.to_bytes(2, "big") + b"HPKE-v1" + self.name + label + info
        out = block = b""
        for count in range(1, -(-length // 32) + 1):
            block = hmac_sha256(prk, block + info + bytes([count]))
            out += block
        return out[:length]


class Context(NamedTuple):
    """A context in base mode (RFC 9180, 5.1): it only exports here, unless a test asks for more."""

    suite: Suite
    secret: bytes
    schedule: bytes

    def exporter_secret(self) -> bytes:
        return self.suite.expand(self.secret, b"exp", self.schedule, 32)

    def export(self, context: bytes, length: int) -> bytes:
        return self.suite.expand(self.exporter_secret(), b"sec", context, length)


def context(kem: int, shared_secret: bytes, info: bytes, aead: int = EXPORT_ONLY) -> Context:
    suite = Suite(b"HPKE" + kem.to_bytes(2, "big") + KDF_HKDF_SHA256.to_bytes(2, "big") + aead.to_bytes(2, "big"))
    schedule = b"\0" + suite.extract(b"", b"psk_id_hash", b"") + suite.extract(b"", b"info_hash", info)
    return Context(suite, suite.extract(shared_secret, b"secret", b""), schedule)


# X25519.

def x25519(scalar: bytes, point: bytes) -> Optional[bytes]:
    """KEY-22: None in place of 32 zeros. libsodium reports them as an error."""
    try:
        result = nacl.bindings.crypto_scalarmult(scalar, point)
    except (nacl.exceptions.CryptoError, RuntimeError):
        return None
    return result if any(result) else None


def x25519_public(scalar: bytes) -> bytes:
    return nacl.bindings.crypto_scalarmult_base(scalar)


# DHKEM(X25519, HKDF-SHA256) (RFC 9180, 4.1).

def dhkem_secret(dh: bytes, enc: bytes, public: bytes) -> bytes:
    suite = Suite(b"KEM" + KEM_X25519.to_bytes(2, "big"))
    return suite.expand(suite.extract(b"", b"eae_prk", dh), b"shared_secret", enc + public, 32)


def dhkem_encapsulate(public: bytes, ephemeral: bytes) -> Optional[tuple[bytes, bytes]]:
    """(enc, shared secret), or None for a public key that KEY-22 refuses."""
    enc = x25519_public(ephemeral)
    dh = x25519(ephemeral, public)
    return None if dh is None else (enc, dhkem_secret(dh, enc, public))


def dhkem_decapsulate(enc: bytes, scalar: bytes) -> Optional[bytes]:
    dh = x25519(scalar, enc)
    return None if dh is None else dhkem_secret(dh, enc, x25519_public(scalar))


# X-Wing (KEY-21).

def x_wing_expanded(seed: bytes) -> tuple[bytes, bytes]:
    """ML-KEM-768's seed, and the X25519 scalar."""
    expanded = hashlib.shake_256(seed).digest(96)
    return expanded[:64], expanded[64:]


def x_wing_public(seed: bytes) -> bytes:
    ml_seed, scalar = x_wing_expanded(seed)
    key = mlkem.MLKEM768PrivateKey.from_seed_bytes(ml_seed)
    return key.public_key().public_bytes_raw() + x25519_public(scalar)


def x_wing_secret(ml_secret: bytes, dh: bytes, share: bytes, public: bytes) -> bytes:
    """The combiner; `public` is the X25519 half of the public key."""
    return hashlib.sha3_256(ml_secret + dh + share + public + X_WING_LABEL).digest()


def x_wing_encapsulate(public: bytes, ephemeral: bytes) -> Optional[tuple[bytes, bytes]]:
    """(enc, shared secret). The library draws ML-KEM's randomness, so only the X25519 half can be given."""
    dh = x25519(ephemeral, public[ML_KEM_KEY:])
    if dh is None:
        return None
    try:
        key = mlkem.MLKEM768PublicKey.from_public_bytes(public[:ML_KEM_KEY])
        ml_secret, ciphertext = key.encapsulate()
    except ValueError:
        return None
    share = x25519_public(ephemeral)
    return ciphertext + share, x_wing_secret(ml_secret, dh, share, public[ML_KEM_KEY:])


def x_wing_decapsulate(enc: bytes, seed: bytes) -> Optional[bytes]:
    ml_seed, scalar = x_wing_expanded(seed)
    share = enc[ML_KEM_CIPHERTEXT:]
    dh = x25519(scalar, share)
    if dh is None:
        return None
    ml_secret = mlkem.MLKEM768PrivateKey.from_seed_bytes(ml_seed).decapsulate(enc[:ML_KEM_CIPHERTEXT])
    return x_wing_secret(ml_secret, dh, share, x25519_public(scalar))
