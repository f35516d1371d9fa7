"""Constants, key schedule and primitives of vaultfile version 1, suite 1 (FORMAT.md, 3).

XChaCha20-Poly1305 (IETF) and Argon2id come from PyNaCl, BLAKE2b from hashlib.
"""

import hashlib
import hmac
import secrets
from typing import Optional

import nacl.bindings
import nacl.exceptions

# Magic numbers and record types.
MAGIC = bytes.fromhex("89564C540D0A1A0A")
END_MAGIC = bytes.fromhex("0A1A0A0D544C5689")
DATA = 1
MANIFEST = 2

# Slot types.
SLOT_SYMMETRIC = 1
SLOT_PASSPHRASE = 2
SLOT_X25519 = 3
SLOT_X_WING = 4
SLOT_STANZAS = 5
RECIPIENT_TYPES = (SLOT_X25519, SLOT_X_WING, SLOT_STANZAS)
SLOT_MARK = 6  # in place of the slots of a detached copy
SLOT_LABEL = 0x8056  # of an item of a store

# Compression.
COMPRESSION_NONE = 0
COMPRESSION_DEFLATE = 1

VERSION = 1
SUITE = 1

# Sizes.
KEY_SIZE = 32
TAG_SIZE = 16
NONCE_SIZE = 24
KEY_ID_SIZE = 16
FILE_ID_SIZE = 16
COMMITMENT_SIZE = 32
MAC_SIZE = 32
CHECKSUM_SIZE = 32
PREAMBLE_SIZE = 64
SLOTS_OFFSET = 76
SLOT_HEADER_SIZE = 20
SYMMETRIC_BODY_SIZE = 72
PASSPHRASE_BODY_SIZE = 84
WRAPPED_SIZE = 48
X25519_BODY_SIZE = 104
X_WING_BODY_SIZE = 1192
RECORD_HEADER_SIZE = 4
RECORD_OVERHEAD = 20
FOOTER_SIZE = 32
SMALLEST_CONTAINER = 2080

# Limits.
MIN_CAPACITY = 512
MAX_CAPACITY = 1 << 20
MIN_LOG2_CHUNK = 12
MAX_LOG2_CHUNK = 23
DEFAULT_LOG2_CHUNK = 16
MAX_GENERATION = (1 << 32) - 1
MAX_SLOTS = 1024
MAX_PASSPHRASE_SLOTS = 4
MAX_PUBLIC_KEY_SLOTS = 64
MAX_STANZA_SLOTS = 32
MIN_PASSES = 1
MAX_PASSES = 64
MIN_MEMORY_KIB = 8
MAX_MEMORY_KIB = 1 << 21
MAX_STRETCHING_KIB = 1 << 22
MAX_RECOVER_STRETCHING_KIB = 1 << 23
MANIFEST_UNIT = 512
MAX_MANIFEST = 1 << 20
GROUP_BLOCKS = 65536
MAX_BLOCKS = 1 << 32
MAX_LENGTH = 1 << 63  # every length, offset and count is below this
MAX_CONTEXT = 65535
MAX_PASSPHRASE = 1024
MAX_ALIGNMENT = 4096


def blake2b(n: int, label: bytes, key: bytes, message: bytes) -> bytes:
    """KEY-1: H(n, label, key, message); an empty key means unkeyed."""
    assert len(label) == 16
    return hashlib.blake2b(message, digest_size=n, key=key, person=label).digest()


def key_input(preamble: bytes, context: bytes) -> bytes:
    """KEY-3: I = preamble[0 ..< 32] || u32 length of the context || context."""
    assert len(preamble) == PREAMBLE_SIZE
    return preamble[:32] + len(context).to_bytes(4, "big") + context


def commitment(file_key: bytes, preamble: bytes, context: bytes) -> bytes:
    """KEY-4."""
    return blake2b(32, b"vaultfile1commit", file_key, key_input(preamble, context))


def header_mac_key(file_key: bytes, preamble: bytes, context: bytes) -> bytes:
    """KEY-5."""
    return blake2b(32, b"vaultfile1hdrkey", file_key, key_input(preamble, context))


def stream_key(file_key: bytes, preamble: bytes, context: bytes) -> bytes:
    """KEY-8."""
    return blake2b(32, b"vaultfile1stream", file_key, key_input(preamble, context))


def header_mac(mac_key: bytes, copy_without_mac_and_checksum: bytes) -> bytes:
    """KEY-6."""
    return blake2b(32, b"vaultfile1hdrmac", mac_key, copy_without_mac_and_checksum)


def checksum(copy_without_checksum: bytes) -> bytes:
    """KEY-7."""
    return blake2b(32, b"vaultfile1chksum", b"", copy_without_checksum)


def kek_symmetric(user_key: bytes, preamble: bytes) -> bytes:
    """KEY-9."""
    assert len(preamble) == PREAMBLE_SIZE
    return blake2b(32, b"vaultfile1wrap-s", user_key, preamble)


def kek_passphrase(argon2_out: bytes, preamble: bytes) -> bytes:
    """KEY-10."""
    assert len(preamble) == PREAMBLE_SIZE
    return blake2b(32, b"vaultfile1wrap-p", argon2_out, preamble)


def key_id(user_key: bytes) -> bytes:
    """KEY-11."""
    return blake2b(16, b"vaultfile key ID", user_key, MAGIC)


def argon2id(passphrase: bytes, salt: bytes, passes: int, memory_kib: int) -> bytes:
    """KEY-12: Argon2id version 0x13, one lane, 32 bytes. Raises MemoryError if the memory is not available."""
    try:
        return nacl.bindings.crypto_pwhash_alg(
            32, passphrase, salt, passes, memory_kib * 1024,
            nacl.bindings.crypto_pwhash_ALG_ARGON2ID13)
    except nacl.exceptions.RuntimeError as error:
        raise MemoryError("Argon2id: memory is not available") from error


def aead_seal(key: bytes, nonce24: bytes, ad: bytes, plaintext: bytes) -> bytes:
    """KEY-2: ciphertext || tag."""
    return nacl.bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, ad, nonce24, key)


def aead_open(key: bytes, nonce24: bytes, ad: bytes, ciphertext_and_tag: bytes) -> Optional[bytes]:
    """The plaintext, or None if the tag is wrong."""
    if len(ciphertext_and_tag) < TAG_SIZE:
        return None
    try:
        return nacl.bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(
            ciphertext_and_tag, ad, nonce24, key)
    except nacl.exceptions.CryptoError:
        return None


def record_nonce(file_id: bytes, index: int) -> bytes:
    """REC-7."""
    assert len(file_id) == FILE_ID_SIZE
    return file_id + index.to_bytes(8, "big")


def equal(a: bytes, b: bytes) -> bool:
    """Comparison in constant time."""
    return hmac.compare_digest(a, b)


def system_random(n: int) -> bytes:
    """The writer's default source of randomness."""
    return secrets.token_bytes(n)
