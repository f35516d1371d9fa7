"""The text form of a symmetric key (OPERATIONS.md, appendix A)."""

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
