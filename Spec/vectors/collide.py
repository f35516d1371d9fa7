"""One ciphertext and tag that XChaCha20-Poly1305 accepts under several keys.

Poly1305 commits to no key: its tag is linear in the ciphertext's blocks, so with as many blocks left free as there are
keys beyond the first, the tag and the free blocks follow from linear equations modulo 2^130 - 5. Such a slot or
record opens under each of the keys, to different contents. Only the commitment refuses it.
"""

import itertools
import struct

from forge import aead_open, draw

P = (1 << 130) - 5


def chacha_block(state):
    words = list(state)
    for _ in range(10):
        for a, b, c, d in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                           (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                words[x] = (words[x] + words[y]) & 0xFFFFFFFF
                words[z] ^= words[x]
                words[z] = (words[z] << turn | words[z] >> 32 - turn) & 0xFFFFFFFF
    return words


def poly1305_key(key, nonce24):
    """The key (r, s) of the one-time authenticator."""
    sigma = struct.unpack("<4I", b"expand 32-byte k")
    inner = chacha_block(sigma + struct.unpack("<8I", key) + struct.unpack("<4I", nonce24[:16]))
    state = sigma + tuple(inner[0:4] + inner[12:16]) + (0, 0) + struct.unpack("<2I", nonce24[16:])
    stream = struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(chacha_block(state), state)))
    r = int.from_bytes(stream[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    return r, int.from_bytes(stream[16:32], "little")


def blocks(ad, ciphertext):
    """The input of Poly1305, in blocks of 16 bytes."""
    def full(part):
        return part + bytes(-len(part) % 16)
    text = full(ad) + full(ciphertext) + struct.pack("<2Q", len(ad), len(ciphertext))
    return [text[i:i + 16] for i in range(0, len(text), 16)]


def solved(rows):
    """The solution of a square system of linear equations modulo P (each row with its right side), or None."""
    rows = [list(row) for row in rows]
    for i in range(len(rows)):
        pivot = next((j for j in range(i, len(rows)) if rows[j][i] % P), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        inverse = pow(rows[i][i], -1, P)
        rows[i] = [x * inverse % P for x in rows[i]]
        for j in range(len(rows)):
            if j != i:
                rows[j] = [(x - rows[j][i] * y) % P for x, y in zip(rows[j], rows[i])]
    return [row[-1] for row in rows]


def collide(keys, nonce24, ad, ciphertext, free):
    """`ciphertext` with its 16-byte blocks numbered in `free` (one fewer than keys) replaced, and a tag, so that it
    opens under every key; None if this ciphertext has no solution."""
    one_time = [poly1305_key(key, nonce24) for key in keys]
    text = blocks(ad, ciphertext)
    places = [len(blocks(ad, b"")) - 1 + i for i in free]
    rows = []
    for r, _ in one_time:
        powers = [pow(r, len(text) - i, P) for i in range(len(text))]
        values = [(1 << 128) + (0 if i in places else int.from_bytes(text[i], "little")) for i in range(len(text))]
        rows.append(([powers[i] for i in places] + [-1], -sum(v * p for v, p in zip(values, powers))))
    for wraps in itertools.product(range(5), repeat=len(keys)):
        # The accumulator of key i is tag - s + wraps * 2^128, as an integer.
        solution = solved([left + [right - s + (wrap << 128)]
                           for (left, right), (_, s), wrap in zip(rows, one_time, wraps)])
        if solution is None or max(solution) >> 128:
            continue
        parts = [ciphertext[i:i + 16] for i in range(0, len(ciphertext), 16)]
        for i, value in zip(free, solution):
            parts[i] = value.to_bytes(16, "little")
        sealed = b"".join(parts) + solution[-1].to_bytes(16, "little")
        if all(aead_open(key, nonce24, ad, sealed) is not None for key in keys):
            return sealed
    return None


def collided(seed, keys, nonce24, ad, length, free, fixed=b""):
    """A ciphertext of this length with a tag that opens under every key: `fixed`, then random bytes until it works."""
    for i in range(10_000):
        start = fixed + draw(seed, f"ciphertext {i}", length - len(fixed))
        sealed = collide(keys, nonce24, ad, start, free)
        if sealed:
            return sealed
    raise AssertionError("no ciphertext found")
