"""Key files (OPERATIONS.md, appendix A)."""

import primitives as p
from errors import require
from slots import check_key

PREFIX = "vaultfile-key-"
ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def checksum(values: list[int]) -> int:
    """The checksum of Bech32 over the values of the digits (BIP 173)."""
    state = 1
    for value in values:
        top = state >> 25
        state = (state & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(GENERATORS):
            state ^= generator if top >> bit & 1 else 0
    return state


def key_line(key: bytes) -> str:
    """KEYFILE-2."""
    number = int.from_bytes(key, "big") << 4
    digits = [number >> 5 * place & 31 for place in reversed(range(52))]
    head = [ord(each) >> 5 for each in PREFIX] + [0] + [ord(each) & 31 for each in PREFIX]
    state = checksum(head + digits + [0] * 6) ^ 1
    digits += [state >> 5 * place & 31 for place in reversed(range(6))]
    return (PREFIX + "1" + "".join(ALPHABET[each] for each in digits)).upper()


LONGEST_KEY_FILE = 16_384
LINE_LENGTH = len(PREFIX) + 1 + 52 + 6


def key_of(line: bytes) -> bytes:
    """KEYFILE-2, KEYFILE-3."""
    text = line.decode("latin-1")
    require(len(text) == LINE_LENGTH and text in (text.upper(), text.lower()), "badKey", "length or case")
    text = text.lower()
    require(text.startswith(PREFIX + "1"), "badKey", "not the beginning of a key")
    values = [ALPHABET.find(each) for each in text[len(PREFIX) + 1:]]
    require(-1 not in values, "badKey", "a character that is no digit")
    head = [ord(each) >> 5 for each in PREFIX] + [0] + [ord(each) & 31 for each in PREFIX]
    require(checksum(head + values) == 1, "badKey", "checksum")
    number = 0
    for value in values[:52]:
        number = number << 5 | value
    require(number & 15 == 0, "badKey", "fill bits")
    key = (number >> 4).to_bytes(p.KEY_SIZE, "big")
    check_key(key)
    return key


def read_key_file(text: bytes) -> bytes:
    """KEYFILE-1."""
    require(len(text) <= LONGEST_KEY_FILE, "badKey", "too long")
    *ended, last = text.split(b"\n")
    lines = [line[:-1] if line.endswith(b"\r") else line for line in ended] + [last]
    lines = [line for line in lines if line and not line.startswith(b"#")]
    require(len(lines) == 1, "badKey", "not exactly one key line")
    return key_of(lines[0])
