"""Key files and keyrings, in text (Spec, appendices A and B)."""

import os

from forge import Box, key_id

ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
PREFIX = "vaultfile-key-"
GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
CONTENT_TYPE = 0x8001


def checksum(values):
    """Bech32's, over the values of the digits (BIP 173)."""
    state = 1
    for value in values:
        top = state >> 25
        state = (state & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(GENERATORS):
            state ^= generator if top >> bit & 1 else 0
    return state


def key_line(key):
    number = int.from_bytes(key, "big") << 4
    digits = [number >> 5 * place & 31 for place in reversed(range(52))]
    head = [ord(each) >> 5 for each in PREFIX] + [0] + [ord(each) & 31 for each in PREFIX]
    state = checksum(head + digits + [0] * 6) ^ 1
    digits += [state >> 5 * place & 31 for place in reversed(range(6))]
    return (PREFIX + "1" + "".join(ALPHABET[each] for each in digits)).upper()


def write_key(path, key):
    with open(path, "w", encoding="ascii") as file:
        file.write(key_line(key) + "\n")
    os.chmod(path, 0o600)
    return path


def keyring_line(key, name):
    return f"retired 2026-11-21T10:00:00Z {key_id(key).hex()} {key_line(key)} {name}\n"


def write_keyring(path, lines):
    """A keyring that nothing protects: the key file beside it unlocks it."""
    text = ("vaultfile keyring 1\n" + "".join(lines)).encode()
    box = Box(f"keyring of {len(lines)}", text, capacity=4096, log2=16, context=b"vaultfile keyring",
              members=[(CONTENT_TYPE, b"application/x-vaultfile-keyring")])
    with open(path, "wb") as file:
        file.write(box.bytes())
    os.chmod(path, 0o600)
    write_key(path + ".key", box.user_key)
    return path
