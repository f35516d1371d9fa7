"""Known answers of stores: the worked example (STORE.md, E.8), and a store that is written and read again."""

import hashlib

import primitives as p
import store
from seek_reader import Source, open_copies
from slots import Secrets
from writer import PassphraseSlot, SymmetricSlot

TIME = "2026-11-21T10:00:00Z"
NAME = b"mail/token"


def span(start: int, length: int = 32) -> bytes:
    return bytes(range(start, start + length))


CARD = store.Card(span(0xA0, 16), span(0), (store.ClassKey(store.ALWAYS, "current", TIME, span(0x20)),))
KEYBAG = store.Keybag(CARD.store_id, p.key_id(CARD.index), (
    store.ClassKey(store.COMPLETE, "current", TIME, span(0x40)),
    store.ClassKey(store.AFTER_FIRST_UNLOCK, "current", TIME, span(0x60))))


def answers() -> list[tuple[str, bytes, str]]:
    drawn = iter((span(0x80), span(0xB0, 16), span(0xC0, 24), span(0xD8, 24)))
    item = store.item_bytes(CARD, span(0x20), NAME, b"abc", lambda n: next(drawn))
    secrets = Secrets(keys=(span(0x20),), context=store.item_context(CARD.store_id))
    header = open_copies(Source(item), secrets).header
    return [
        ("SHA-256 of the card's text", hashlib.sha256(store.card_text(CARD)).digest(),
         "380bfe40a24907df7c932a2ee2208c98ac5a76a054887286451d9ee7ba95cfe5"),
        ("SHA-256 of the keybag's text", hashlib.sha256(store.keybag_text(KEYBAG)).digest(),
         "519e051567921f4a75d74e22e241578880087a64464fc8c94615b07d79d66895"),
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
        ("line of an account", " ".join(store.group_line(span(0), b"4711", 0)).encode(),
         b"a146f7591ede5d462b6b1c55a47d750c4 shards/14.vault".hex()),
        ("line of an account that came back", " ".join(store.group_line(span(0), b"4711", 1)).encode(),
         b"ab203280493cb7aa4f717db80e37e7ac7 shards/b2.vault".hex()),
        ("items of a store that was written", written_and_read().encode(),
         b"always:a complete:bb afterFirstUnlock:ccc".hex()),
    ]


def written_and_read() -> str:
    """The classes and names of the items of a store that this reference has written."""
    files = store.pair_files(store.CARD, store.card_text(CARD), span(0xC0), [SymmetricSlot(span(0xD0))])
    files |= store.pair_files(store.KEYBAG, store.keybag_text(KEYBAG), span(0xE0), [PassphraseSlot(b"secret", 1, 8)],
                              weak_stretching=True)
    for name, key in zip((b"a", b"bb", b"ccc"), (span(0x20), span(0x40), span(0x60))):
        files[store.item_file(CARD.index, name)] = store.item_bytes(CARD, key, name, b"content of " + name)
    opened = store.Store(files, span(0xD0))
    opened.unlock(Secrets(passphrases=(b"secret",)))
    items = sorted((opened.read(path) for path in opened.item_files()), key=lambda item: item.name)
    assert all(item.content == b"content of " + item.name for item in items)
    return " ".join(f"{item.protection}:{item.name.decode()}" for item in items)
