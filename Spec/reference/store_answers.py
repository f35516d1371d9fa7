"""Known answers of stores: the worked example (STORE.md, E.8), and a store that is written and read again."""

import hashlib
import pathlib

import primitives as p
import store
from public_slots import Identity
from recipient_slots import RecipientSlot
from seek_reader import Source, open_copies
from slots import Secrets
from writer import PassphraseSlot, SymmetricSlot

TIME = "2026-11-21T10:00:00Z"
NAME = b"mail/token"


def span(start: int, length: int = 32) -> bytes:
    return bytes(range(start, start + length))


IDENTITY = Identity(p.SLOT_X25519, span(1))
PUBLIC_ID = store.id_in_store(IDENTITY.recipient)
UNLESS_OPEN_KEY = span(0xE0)
CARD = store.Card(
    span(0xA0, 16), span(0), (store.ClassKey(store.ALWAYS, "current", TIME, span(0x20)),),
    (store.Public("current", TIME, IDENTITY.recipient, p.key_id(UNLESS_OPEN_KEY)),))
KEYBAG = store.Keybag(CARD.store_id, p.key_id(CARD.index), (
    store.ClassKey(store.COMPLETE, "current", TIME, span(0x40)),
    store.ClassKey(store.AFTER_FIRST_UNLOCK, "current", TIME, span(0x60)),
    store.ClassKey(store.UNLESS_OPEN, "current", TIME, UNLESS_OPEN_KEY)),
    (PUBLIC_ID,), (store.Opener("current", TIME, IDENTITY),))
PAGE = pathlib.Path(__file__).resolve().parent.parent / "STORE.md"


def printed_texts() -> list[bytes]:
    """The card and the keybag as the page prints them."""
    example = PAGE.read_text(encoding="utf-8").split("### E.8 ")[1].split("### E.9 ")[0]
    blocks = example.split("\n\n")
    return ["".join(line[4:] + "\n" for line in block.split("\n")).encode()
            for block in blocks if block.startswith("    vaultfile store ")]


def answers() -> list[tuple[str, bytes, str]]:
    drawn = iter((span(0x80), span(0xB0, 16), span(0xC0, 24), span(0xD8, 24)))
    item = store.item_bytes(CARD, span(0x20), NAME, b"abc", lambda n: next(drawn))
    secrets = Secrets(keys=(span(0x20),), context=store.item_context(CARD.store_id))
    header = open_copies(Source(item), secrets).header
    drawn_for_public = iter((span(0x80), span(0xB0, 16), span(0x30), span(0xC0, 24), span(0xD8, 24)))
    public_item = store.item_bytes(
        CARD, b"", NAME, b"abc", lambda n: next(drawn_for_public),
        slots=[RecipientSlot(IDENTITY.recipient), store.label_slot(NAME)])
    sealed = open_copies(Source(public_item), Secrets(identities=(IDENTITY,), context=secrets.context)).header
    return [
        ("SHA-256 of the card's text", hashlib.sha256(store.card_text(CARD)).digest(),
         "88a84f619ed0af9aacc4e578789e4186d9ffa7d78983b0e41ff97c63ab16275b"),
        ("SHA-256 of the keybag's text", hashlib.sha256(store.keybag_text(KEYBAG)).digest(),
         "b0e65477e67b01b86e22787a011b56126f069d2f7daa9c6df9841a07649bab2f"),
        ("card and keybag as printed", b"".join(printed_texts()),
         (store.card_text(CARD) + store.keybag_text(KEYBAG)).hex()),
        ("file of an item", store.item_file(CARD.index, NAME).encode(),
         b"items/e5efa93bc9162b918df15e189a97b253.vault".hex()),
        ("commitment of an item", header.commitment,
         "0b7ea33e355c231a38318c93ef3d29c92d9548e9b02e4211129e0baeffc19ef2"),
        ("key of a label", store.label_key(span(0x80), header.preamble),
         "3a37977e7030d39ca890fea883d55aef4509db8c845cd996f0a8ae8e53874cf5"),
        ("label", header.slots[1].raw,
         "8056006883ab458ceaaa93fab0b1b2b3b4b5b6b7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeef"
         "cdbe7497de5b4db0d2640a5de939ceb1dae172031765d9c06bddbf30e7b03dc3e2def9ebabaa8d487b5500ae9264be96"
         "34db48a20fa97f4801952cf4ec01960325a2d03289074b33dda9d20d205cc7c7"),
        ("SHA-256 of an item", hashlib.sha256(item).digest(),
         "b38519116e07f99ebaf3f091b2d68404d279144dbff743190711789774a25bda"),
        ("class slot of an item for a public key", sealed.slots[0].raw,
         "000300685c3b476936a78271b22ee69ba68e6ffa34e42d4af5ef94a07a3a84201b889d4cd1a743cb27b11b6a10438a8feb8e5847"
         "c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7"
         "76701163c9f0d23d19fa13bca7c3ad299ae80f14f39b7799afe9ff310006f58a8b53d7b070c2b160d4b401c0a82375f0"),
        ("SHA-256 of an item for a public key", hashlib.sha256(public_item).digest(),
         "7526c89729c067bc09bb5f2c04a6bfb888e21312f8820ede2c9d08d9d1df83c9"),
        ("line of an account", " ".join(store.group_line(span(0), b"4711", 0)).encode(),
         b"a146f7591ede5d462b6b1c55a47d750c4 shards/14.vault".hex()),
        ("line of an account that came back", " ".join(store.group_line(span(0), b"4711", 1)).encode(),
         b"ab203280493cb7aa4f717db80e37e7ac7 shards/b2.vault".hex()),
        ("items of a store that was written", written_and_read().encode(),
         b"always:a complete:bb afterFirstUnlock:ccc unlessOpen:dddd unlessOpen:e".hex()),
    ]


def written_and_read() -> str:
    """The classes and names of the items of a store that this reference has written."""
    files = store.pair_files(store.CARD, store.card_text(CARD), span(0xC0), [SymmetricSlot(span(0xD0))])
    files |= store.pair_files(store.KEYBAG, store.keybag_text(KEYBAG), span(0xE0), [PassphraseSlot(b"secret", 1, 8)],
                              weak_stretching=True)
    for name, key in zip((b"a", b"bb", b"ccc", b"dddd"), (span(0x20), span(0x40), span(0x60), UNLESS_OPEN_KEY)):
        files[store.item_file(CARD.index, name)] = store.item_bytes(CARD, key, name, b"content of " + name)
    files[store.item_file(CARD.index, b"e")] = store.item_bytes(
        CARD, b"", b"e", b"content of e", slots=[RecipientSlot(IDENTITY.recipient), store.label_slot(b"e")])
    opened = store.Store(files, span(0xD0))
    opened.unlock(Secrets(passphrases=(b"secret",)))
    items = sorted((opened.read(path) for path in opened.item_files()), key=lambda item: item.name)
    assert all(item.content == b"content of " + item.name for item in items)
    return " ".join(f"{item.protection}:{item.name.decode()}" for item in items)
