"""Signatures over the content and its description, member 0x8010 (MEMBERS.md, 25)."""

import hashlib
from typing import NamedTuple, Optional, Sequence

import nacl.bindings
import nacl.exceptions

from errors import require
from manifest import SHA256, SIGNATURES

NAMESPACE = b"statement@vaultfile"
MAGIC = b"SSHSIG"
MOST = 16
LONGEST = 16_384
HASHES = {b"sha256": hashlib.sha256, b"sha512": hashlib.sha512}

VALID, UNTRUSTED, INVALID = "valid", "untrusted", "invalid"
UNKNOWN_ALGORITHM, NOT_CHECKED = "unknownAlgorithm", "notChecked"


class Signer(NamedTuple):
    """A line of the caller's list."""

    principal: str
    key: bytes  # as in an SSHSIG blob


class Result(NamedTuple):
    result: str
    principal: Optional[str] = None


class Malformed(Exception):
    """The blob breaks SIG-4."""


# The value and the statement.

def split_value(value: bytes) -> Optional[list[bytes]]:
    """SIG-1: the blobs, or None if the form is broken."""
    count = int.from_bytes(value[:2], "big")
    if len(value) < 2 or not 1 <= count <= MOST:
        return None
    blobs: list[bytes] = []
    at = 2
    for _ in range(count):
        length = int.from_bytes(value[at:at + 4], "big")
        if not 1 <= length <= LONGEST or at + 4 + length > len(value):
            return None
        blobs.append(value[at + 4:at + 4 + length])
        at += 4 + length
    return blobs if at == len(value) else None


def statement(sha256: bytes, length: int, members: dict[int, bytes]) -> bytes:
    """SIG-2."""
    lines = ["vaultfile statement 1", f"plaintext {sha256.hex()} {length}"]
    lines += [f"member {tag:04x} {hashlib.sha256(value).hexdigest()}" for tag, value in sorted(members.items())
              if tag >= 0x8000 and tag != SIGNATURES]
    return "".join(line + "\n" for line in lines).encode()


# One blob.

class Strings:
    """Reads the fields of an SSH structure; raises Malformed."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, count: int) -> bytes:
        if count > len(self.data):
            raise Malformed
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def string(self) -> bytes:
        return self.take(int.from_bytes(self.take(4), "big"))

    def end(self) -> None:
        if self.data:
            raise Malformed


class Blob(NamedTuple):
    key: bytes
    hash: bytes
    signature: bytes


def split_blob(data: bytes) -> Blob:
    """SIG-4; raises Malformed."""
    fields = Strings(data)
    if fields.take(6) != MAGIC or fields.take(4) != bytes([0, 0, 0, 1]):
        raise Malformed
    key, namespace, reserved, hash_name, signature = (fields.string() for _ in range(5))
    fields.end()
    if namespace != NAMESPACE or reserved or hash_name not in HASHES:
        raise Malformed
    Strings(key).string()
    Strings(signature).string()
    return Blob(key, hash_name, signature)


def ssh_string(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def signed_bytes(hash_name: bytes, message: bytes) -> bytes:
    digest = HASHES[hash_name](message).digest()
    return MAGIC + b"".join(map(ssh_string, (NAMESPACE, b"", hash_name, digest)))


def judge(data: bytes, message: bytes, signers: Sequence[Signer]) -> Result:
    """SIG-6, after a full read."""
    try:
        blob = split_blob(data)
        known = is_right(blob, signed_bytes(blob.hash, message))
    except Malformed:
        return Result(INVALID)
    if known is None:
        return Result(UNKNOWN_ALGORITHM)
    if not known:
        return Result(INVALID)
    for signer in signers:
        if signer.key == blob.key:
            return Result(VALID, signer.principal)
    return Result(UNTRUSTED)


def is_right(blob: Blob, signed: bytes) -> Optional[bool]:
    """Whether the signature is right; None if the algorithm of the key or of the signature is not known."""
    key, signature = Strings(blob.key), Strings(blob.signature)
    kind, algorithm = key.string(), signature.string()
    if kind not in KEYS or algorithm not in {each for all_of in KEYS.values() for each in all_of}:
        return None
    if algorithm not in KEYS[kind]:
        return False
    if kind == b"ssh-ed25519":
        public, value = key.string(), signature.string()
        key.end()
        signature.end()
        return ed25519(public, value, signed)
    if kind == b"sk-ssh-ed25519@openssh.com":
        public, application = key.string(), key.string()
        value, flags = signature.string(), signature.take(5)  # flags, and a counter
        key.end()
        signature.end()
        touched = bool(flags[0] & 1)
        message = hashlib.sha256(application).digest() + flags + hashlib.sha256(signed).digest()
        return touched and ed25519(public, value, message)
    return by_cryptography(blob.key, algorithm, signature, signed)


# The algorithms of signatures that go with each algorithm of keys.
KEYS: dict[bytes, tuple[bytes, ...]] = {
    b"ssh-ed25519": (b"ssh-ed25519",), b"sk-ssh-ed25519@openssh.com": (b"sk-ssh-ed25519@openssh.com",)}
try:
    import cryptography.hazmat.primitives.serialization  # noqa: F401
    KEYS[b"ecdsa-sha2-nistp256"] = (b"ecdsa-sha2-nistp256",)
    KEYS[b"ssh-rsa"] = (b"rsa-sha2-256", b"rsa-sha2-512")
except ImportError:
    pass


def ed25519(public: bytes, value: bytes, message: bytes) -> bool:
    if len(public) != 32 or len(value) != 64:
        raise Malformed
    try:
        nacl.bindings.crypto_sign_open(value + message, public)
    except nacl.exceptions.BadSignatureError:
        return False
    return True


def by_cryptography(key: bytes, algorithm: bytes, signature: Strings, signed: bytes) -> bool:
    """ECDSA and RSA, where the package cryptography is."""
    import base64

    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    value = signature.string()
    signature.end()
    kind = Strings(key).string()
    try:
        public = load_ssh_public_key(kind + b" " + base64.b64encode(key))
        if isinstance(public, ec.EllipticCurvePublicKey):
            pair = Strings(value)
            first, second = (int.from_bytes(pair.string(), "big") for _ in range(2))
            pair.end()
            public.verify(utils.encode_dss_signature(first, second), signed, ec.ECDSA(hashes.SHA256()))
            return True
        if isinstance(public, rsa.RSAPublicKey):
            chosen = hashes.SHA256() if algorithm == b"rsa-sha2-256" else hashes.SHA512()
            public.verify(value, signed, padding.PKCS1v15(), chosen)
            return True
    except (InvalidSignature, ValueError):
        pass
    return False


# All signatures of a container.

def results(members: dict[int, bytes], length: int, full_read: bool, signers: Sequence[Signer]) -> list[Result]:
    """SIG-6, for each signature. `length`: of the plaintext."""
    blobs = split_value(members[SIGNATURES]) if SIGNATURES in members else None
    if blobs is None:
        return []
    if not full_read or SHA256 not in members:
        return [Result(NOT_CHECKED)] * len(blobs)
    message = statement(members[SHA256], length, members)
    return [judge(blob, message, signers) for blob in blobs]


def check_demand(found: Sequence[Result], principals: Sequence[str]) -> None:
    """SIG-7; no principals: any."""
    met = any(each.result == VALID and (not principals or each.principal in principals) for each in found)
    require(met, "signatureInvalid")
