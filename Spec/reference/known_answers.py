"""Checks primitives and writers against the worked examples (FORMAT.md, 17): python3 Spec/reference/known_answers.py"""

import hashlib
import io
import sys

import hpke
import primitives as p
import recipient_answers
import store_answers
from detached import header_file_name
from errors import VaultError
from packing import pack
from seek_reader import open_container
from slots import Secrets
from stream_reader import decrypt_stream
from writer import PassphraseSlot, SymmetricSlot, container_bytes

FILE_KEY = bytes(range(0x00, 0x20))
USER_KEY = bytes(range(0x20, 0x40))
FILE_ID = bytes(range(0xA0, 0xB0))
SALT = bytes(range(0xB0, 0xC0))
SLOT_NONCE = bytes(range(0xC0, 0xD8))
NEW_KEY = bytes(range(0x40, 0x60))
NEW_NONCE = bytes(range(0xE0, 0xF8))


def preamble_for(file_key: bytes, context: bytes) -> bytes:
    head = p.MAGIC + bytes.fromhex("0001 0001 10 00 0000") + FILE_ID
    return head + p.commitment(file_key, head + bytes(32), context)


def known_answers() -> list[tuple[str, str, str]]:
    """(name, computed, expected), in hexadecimal."""
    preamble = preamble_for(FILE_KEY, b"")
    answers = [
        ("commitment", preamble[32:],
         "32da9c1970b5ae01be116bd21494652d2a939de57fc75cab2bf84061744d8ca3"),
        ("header-MAC key", p.header_mac_key(FILE_KEY, preamble, b""),
         "f076c5943c1916e0bcfababf67abca9f90e10f9121715fbf99728b108eff9155"),
        ("stream key", p.stream_key(FILE_KEY, preamble, b""),
         "fefb783dbd1e214adcbcabfd42c68f5c07b3119a23cee88ed28b1f214de8bcba"),
        ("commitment with context", preamble_for(FILE_KEY, b"ctx")[32:],
         "b73f0e2e91b7733e84e8a842e47207bc89ce35708ab74ec7f7867aadcdf67419"),
        ("key ID", p.key_id(FILE_KEY), "d02a15237cf7e7413afa2de4861bc993"),
    ]
    kek = p.kek_symmetric(USER_KEY, preamble)
    slot_start = bytes.fromhex("00010048") + p.key_id(USER_KEY) + SLOT_NONCE
    slot = slot_start + p.aead_seal(kek, SLOT_NONCE, preamble + slot_start, FILE_KEY)
    copy = (preamble + bytes.fromhex("00000200 00000001 0001 0000") + slot).ljust(512 - 64, b"\0")
    mac = p.header_mac(p.header_mac_key(FILE_KEY, preamble, b""), copy)
    record_key = p.stream_key(FILE_KEY, preamble, b"")
    record_start = bytes.fromhex("01000003")
    record = record_start + p.aead_seal(record_key, p.record_nonce(FILE_ID, 0), record_start, b"abc")
    stretched = p.argon2id(b"passphrase", SALT, 1, 8)
    answers += [
        ("key-encryption key", kek,
         "7ee460a1afd76898b0fb1213ad8fdc3b8998ae914d343398a133f2e525de551a"),
        ("slot", slot,
         "0001004860a92f4998937417a5d185216b0a65be" + SLOT_NONCE.hex()
         + "c102069b16aa5a7a60a052d6a47bfeedda8fff3044483ca67f4890afa32047b5"
         + "c5d2fe3f35200c15be53fd0aecda8066"),
        ("header MAC", mac,
         "c0b1702532416a50c6284c899be7e6fb63354c6ce0f4f7c2176a519b9bd02970"),
        ("checksum", p.checksum(copy + mac),
         "c67b44363256637c8217fdce739be0d51f010b78482267055e4312c3ed3251a5"),
        ("record", record, "01000003386654bdf23cb227a2a1a44b0689dcea5fe910"),
        ("Argon2id", stretched,
         "8b143cf59e60c3e732c1d5aba9ca0cc01d584d553a71b2f647ddd175551d138f"),
        ("passphrase key-encryption key", p.kek_passphrase(stretched, preamble),
         "d111056ba2e0fe754a979c3749080901ef3c5a98e94111bfded7a91f4cbce82b"),
    ]
    answers += containers(copy + mac, record) + two_copies(preamble, slot) + detached(copy + mac)
    answers += recipient_answers.answers(preamble)
    answers += store_answers.answers()
    return [(name, value.hex(), expected) for name, value, expected in answers]


def containers(copy_without_checksum: bytes, record: bytes) -> list[tuple[str, bytes, str]]:
    """What the writer makes from the same inputs, and what the reader makes from that."""
    drawn = iter((FILE_KEY, FILE_ID, SLOT_NONCE, FILE_KEY, FILE_ID, SALT, SLOT_NONCE))

    def draw(n: int) -> bytes:
        return next(drawn)

    container = container_bytes(b"abc", [SymmetricSlot(USER_KEY)], capacity=512, digest=True, random=draw)
    opened = open_container(container, Secrets(keys=(USER_KEY,)))
    other = container_bytes(b"", [PassphraseSlot(b"passphrase", 1, 8)], random=draw, weak_stretching=True)
    packed: list[int] = []
    stream = b"".join(pack([b"a" * 20], packed))
    return [
        ("length of the container", len(container).to_bytes(4, "big"), "00000820"),
        ("front", container[:480], copy_without_checksum.hex()),
        ("record 0", container[512:535], record.hex()),
        ("manifest record", container[0x217:0x22B] + container[0x41B:0x42B],
         "0200020007b1096847 9a321dc4d437fd979967a406bfc3d1bd9a3727b3b056d1795cf265".replace(" ", "")),
        ("footer", container[0x800:], "000000000000021700000000000008200000020000000200" + p.END_MAGIC.hex()),
        ("SHA-256 of the container", hashlib.sha256(container).digest(),
         "0249f8694400dab92793b7c15442402e630a416ee5d82b2723315e31b7ffe436"),
        ("plaintext", opened.read(0, 3), b"abc".hex()),
        ("passphrase slot", other[76:180],
         "00020054" + SALT.hex() + "000000010000000800000001" + SLOT_NONCE.hex()
         + "c973ce6959f82d670d0c06c7c91c85fb96d86118b1e53897629c931ecf23f576"
         + "2dfcd7e3ac1fe9054b6c24239a931e37"),
        ("packed stream", stream, "010000054b4cc4040002000003000005"),
        ("offset of the index item", packed[0].to_bytes(8, "big"), "0000000000000009"),
    ]


def two_copies(preamble: bytes, slot: bytes) -> list[tuple[str, bytes, str]]:
    """17.6: the container of 17.3 with a newer tail."""
    kek = p.kek_symmetric(NEW_KEY, preamble)
    start = bytes.fromhex("00010048") + p.key_id(NEW_KEY) + NEW_NONCE
    added = start + p.aead_seal(kek, NEW_NONCE, preamble + start, FILE_KEY)
    body = (preamble + bytes.fromhex("00000200 00000002 0002 0000") + slot + added).ljust(512 - 64, b"\0")
    mac = p.header_mac(p.header_mac_key(FILE_KEY, preamble, b""), body)
    tail = body + mac + p.checksum(body + mac)
    drawn = iter((FILE_KEY, FILE_ID, SLOT_NONCE))
    container = container_bytes(b"abc", [SymmetricSlot(USER_KEY)], capacity=512, digest=True,
                                random=lambda n: next(drawn))
    container = container[:0x600] + tail + container[0x800:]
    new = Secrets(keys=(NEW_KEY,))
    try:
        decrypt_stream(io.BytesIO(container), new, bytearray().extend)
        by_stream = ""
    except VaultError as error:
        by_stream = error.name
    return [
        ("key ID of the new key", p.key_id(NEW_KEY), "56f3aa733061b5b7df93e03dc801a4fd"),
        ("wrapped file key of the new slot", added[-48:],
         "82ec6d4ca1e158262bf265572f83b01cf191555b805f14d694cfef33ee338bf0"
         "173a8ba7822b9170002d4e6ab9cf63ef"),
        ("MAC of the tail", mac, "8ac805f2616f982394cc2505489806f92ff596ab49dd709279efef65e71b1636"),
        ("checksum of the tail", tail[-32:], "03c069f93e8cd81deecfb4c169a7570b49520f3be3a467cf33be7bf1b9ce7253"),
        ("SHA-256 of the container with two copies", hashlib.sha256(container).digest(),
         "64ff600cd2952ada4746d208c5610d71ec730890329928d8fef66a8102a1005a"),
        ("health of two copies", open_container(container, new).health.encode(), b"rotationUnfinished".hex()),
        ("health of two copies by the older key", open_container(container, Secrets(keys=(USER_KEY,))).health.encode(),
         b"rotationUnfinished".hex()),
        ("two copies as a stream", by_stream.encode(), b"wrongKey".hex()),
    ]


def detached(copy_without_checksum: bytes) -> list[tuple[str, bytes, str]]:
    """23.7: the header file of `abc` is the front of 17.3."""
    drawn = iter((FILE_KEY, FILE_ID, SLOT_NONCE))
    file = io.BytesIO()
    body = container_bytes(b"abc", [SymmetricSlot(USER_KEY)], capacity=512, digest=True, header_file=file,
                           random=lambda n: next(drawn))
    opened = open_container(body, Secrets(keys=(USER_KEY,), header_file=file.getvalue()))
    return [
        ("SHA-256 of the body", hashlib.sha256(body).digest(),
         "84980307a91b5ceca97e511552a1672e109953692cdcf4aa1bc9c17e4fd4d27a"),
        ("header file", file.getvalue()[:480], copy_without_checksum.hex()),
        ("SHA-256 of the header file", hashlib.sha256(file.getvalue()).digest(),
         "cdff7765b7825e1350f53cfaa51fbc6066bfbcbf0ac265c96e9915a82228710a"),
        ("name of the header file", header_file_name("abc.vault", body[32:64]).encode(),
         b"abc.vault.32da9c1970b5ae01.hdr".hex()),
        ("plaintext of the detached container", opened.read(0, 3), b"abc".hex()),
    ]


def main() -> int:
    failed = 0
    answers = known_answers()
    for name, computed, expected in answers:
        if computed != expected:
            failed += 1
            print(f"{name}: computed {computed}, expected {expected}")
    if not hpke.has_x_wing():
        print("left out: what opens X-Wing slots, because the package cryptography (48 or newer) is not here")
    print(f"{len(answers) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
