"""Key files and keyrings (Spec, appendices A and B)."""

import os

from forge import Box, key_id
from key_text import key_line

CONTENT_TYPE = 0x8001


def write_key(path, key):
    with open(path, "w", encoding="ascii") as file:
        file.write(key_line(key) + "\n")
    os.chmod(path, 0o600)
    return path


def write_identities(path, lines):
    """A file of identities; a line that is a recipient becomes a comment, and is known to belong to the next line."""
    with open(path, "w", encoding="ascii") as file:
        file.writelines(("# " if line.startswith("age1") else "") + line + "\n" for line in lines)
    os.chmod(path, 0o600)


def keyring_line(key, name):
    return f"retired 2026-11-21T10:00:00Z {key_id(key).hex()} {key_line(key)} {name}\n"


def write_keyring(path, lines):
    """Writes an unprotected keyring: the key file beside it unlocks it."""
    text = ("vaultfile keyring 1\n" + "".join(lines)).encode()
    box = Box(f"keyring of {len(lines)}", text, capacity=4096, log2=16, context=b"vaultfile keyring",
              members=[(CONTENT_TYPE, b"application/x-vaultfile-keyring")])
    with open(path, "wb") as file:
        file.write(box.bytes())
    os.chmod(path, 0o600)
    write_key(path + ".key", box.user_key)
    return path
