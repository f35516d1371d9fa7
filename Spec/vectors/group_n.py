"""Group N: changes with recipients, and recipients in a keyring."""

import copy

from forge import Box, Squeezed, draw, key_id
from recipients import HybridKey, Key, PluginKey, bech32, dead, hidden_id, slot, stanza
from stanza_slots import stanza_slot
from vector import keys, operation

ALICE, BOB, CAROL = Key("Alice"), Key("Bob"), Key("Carol")
STRONG, OTHER_STRONG, THIRD_STRONG = HybridKey(0), HybridKey(1), HybridKey(2)
STAND, OTHER, SECOND = PluginKey("stand"), PluginKey("other"), PluginKey("stand", 2)
ONE, PQ, STANZAS = "recipient-changes x25519", "recipient-changes x-wing", "recipient-changes stanzas"
PLACED = "ROT-20 ROT-21"


def make():
    kinds_together()
    twice()
    added()
    present_or_dead()
    removed()
    others()
    mixing()
    capacities()
    hidden()
    reencrypted()
    plugins()
    left_out()
    keyrings()
    unlock_files()
    without_x_wing()


def box(seed, *slots, key=True, **more):
    """A container with a slot for the box's key, then these."""
    fields = {"capacity": 16384} | more
    return Box(seed, 700, slots=lambda b: [*([b.symmetric()] if key else []), *(each(b) for each in slots)], **fields)


def of(key, label="", **more):
    return lambda b: slot(b, key, label, **more)


def hidden_of(key, label=""):
    return lambda b: slot(b, key, label, slot_id=hidden_id(b.seed, label + key.text))


def dead_of(key, label="", slot_id=None):
    return lambda b: dead(b, key.kind, slot_id or key.slot_id(b), label + key.text[:20])


def changed(b, slots, generation=2, capacity=None):
    after = copy.copy(b)
    after.capacity = capacity or b.capacity
    after.zeros = after.footer = None
    return after.both_copies(slots=slots, generation=generation).bytes()


def fresh(b, key, label="new", is_hidden=False):
    """(a new slot of type 3 for a recipient, the random bytes that it takes)."""
    ephemeral = draw(b.seed, f"ephemeral {label}{key.public.hex()[:8]}", 32)
    slot_id = hidden_id(b.seed, label) if is_hidden else None
    made = slot(b, key, label, slot_id=slot_id)
    return made, (slot_id[8:] if is_hidden else b"") + ephemeral + made[52:76]


def rotated(case, name, b, add=(), *, after=None, drawn=b"", tests, comment, needs=ONE, written="in place", left=None, **more):
    """A rotation; `after`: the slots that it leaves; or `left`, without their bytes."""
    if left is not None:
        more |= {"written": written, "after": left}
        tests += f" {PLACED}"
    elif after is not None:
        more |= {"written": written, "after": changed(b, after), "drawn": drawn}
        tests += f" {PLACED}"
    operation(case, name, b, "rotate", add=add, needs=needs, tests=tests, comment=comment, **more)


def nothing(case, name, b, add=(), *, tests, comment, needs=ONE, **more):
    operation(case, name, b, "rotate", add=add, needs=needs, after=b"", written="nothing", tests=tests + " ROT-17",
              comment=comment, **more)


def refused(case, name, b, add, result, *, tests, comment, needs=ONE, what="rotate", **more):
    operation(case, name, b, what, add=add, needs=needs, result=result, tests=tests, comment=comment, **more)


def resealed(case, name, b, add, *, ids=None, opens=(), tests, comment, needs=ONE, capacity=None, **more):
    """A re-encryption; its key IDs depend on the new preamble."""
    capacity = capacity or 512
    operation(case, name, b, "reencrypt", add=add, needs=needs, after=(1, capacity, ids), written="copy", opens=opens,
              tests=tests, comment=comment, **more)


def to(key, role="recipient"):
    return f"{role} {key.identity if role.endswith('identity') else key.text}"


def own(b):
    return f"key {b.user_key.hex()}"


def kinds_together():
    b = box("N1")
    why = "a new container for a post-quantum recipient and "
    refused("N1", "types-4-and-3", b, [to(STRONG), to(ALICE)], "mixedRecipients", what="reencrypt", needs=ONE + " x-wing",
            consent=True, tests="MIX-1 MIX-2 REENC-5", comment=why + "a classical one; consent to something else")
    resealed("N1", "types-4-and-3-with-consent", b, [to(STRONG), to(ALICE)], needs=ONE + " x-wing", mixed=True,
             consent=True, opens=[ALICE.identity, STRONG.identity], capacity=4096, tests="MIX-2 REENC-4",
             comment=why + "a classical one, with consent to that")
    resealed("N1", "types-4-and-1", b, [own(b), to(STRONG)], needs=PQ, opens=[STRONG.identity], capacity=4096,
             tests="MIX-1 MIX-2", comment=why + "a symmetric key")
    cheap = f"passphrase {b'one'.hex()} 2 19456"
    resealed("N1", "types-3-1-and-2", b, [to(ALICE), own(b), cheap], opens=[ALICE.identity], tests="MIX-1 MIX-2",
             comment="a classical recipient, a key and a passphrase", capacity=1024)


def twice():
    b = box("N2", capacity=4096)
    made, drawn = fresh(b, BOB)
    rotated("N2", "the-same-text", b, [to(BOB), to(BOB)], after=[*b.slots, made], drawn=drawn, tests="WRITE-5 ROT-12",
            comment="a recipient twice: one slot")
    rotated("N2", "and-its-identity", b, [to(BOB), to(BOB, "identity"), to(BOB, "hidden-recipient")],
            after=[*b.slots, made], drawn=drawn, tests="WRITE-5 ROT-12",
            comment="a recipient, its identity, and the recipient hidden: one slot, as given first")
    resealed("N2", "in-a-new-container", b, [own(b), to(BOB), to(BOB, "identity")], opens=[BOB.identity],
             tests="WRITE-5 REENC-4", comment="likewise: the header of two slots has 512 bytes")


def added():
    b = box("N3", capacity=4096)
    made, drawn = fresh(b, BOB)
    rotated("N3", "whose-identity-is-elsewhere", b, [to(BOB)], after=[*b.slots, made], drawn=drawn,
            tests="ROT-12 ROT-18 ROT-13 KEY-17 KEY-18 KEY-19 KEY-20 SLOT-23 WRITE-15", comment="a slot for somebody else")
    shy, taken = fresh(b, BOB, is_hidden=True)
    rotated("N3", "hidden", b, [to(BOB, "hidden-recipient")], after=[*b.slots, shy], drawn=taken,
            tests="ROT-12 ROT-18 SLOT-26", comment="a hidden slot: 8 zeros, and 8 random bytes")
    rotated("N3", "x-wing", b, [to(STRONG)], needs=PQ, opens=[STRONG.identity], tests="ROT-12 ROT-18 KEY-21",
            comment="a slot of type 4", **without_bytes(b, [*b.slots[:1], slot(b, STRONG)]))
    there = box("N4", of(BOB), capacity=4096)
    again, drawn = fresh(there, BOB)
    rotated("N4", "again", there, [to(BOB)], after=[there.slots[0], again], drawn=drawn, tests="ROT-12",
            comment="nobody here can tell whether the slot opens: a new one in its place")
    nothing("N4", "again-by-the-identity", there, [to(BOB, "identity")], tests="ROT-12",
            comment="the identity opens the slot: nothing to do")
    nothing("N4", "again-with-the-identity-at-hand", there, [to(BOB)], identities=[BOB.identity], tests="ROT-12",
            comment="an identity of the caller opens the slot: nothing to do")
    nothing("N4", "hidden-again-by-the-identity", there, [to(BOB, "hidden-identity")], tests="ROT-12",
            comment="a slot that shows its ID is not replaced by a hidden one")
    shy = box("N4 hidden", hidden_of(BOB), capacity=4096)
    more, drawn = fresh(shy, BOB, is_hidden=True)
    rotated("N4", "to-a-hidden-slot", shy, [to(BOB, "hidden-identity")], after=[*shy.slots, more], drawn=drawn,
            tests="ROT-12", comment="a hidden slot never makes its recipient present: asking again adds another")


def without_bytes(b, slots, capacity=None, written="in place"):
    ids = [each[4:20] for each in slots]
    return {"written": written, "left": (2, capacity or b.capacity, ids)}


def present_or_dead():
    b = box("N5", dead_of(BOB), of(CAROL), capacity=4096)
    made, drawn = fresh(b, BOB)
    rotated("N5", "one-dead-slot", b, [to(BOB)], after=[b.slots[0], made, b.slots[2]], drawn=drawn, tests="ROT-12",
            comment="a slot with Bob's ID that nobody opens: a new one in its place")
    b = box("N5 three", dead_of(BOB, "1"), of(CAROL), dead_of(BOB, "2"), dead_of(BOB, "3"), capacity=4096)
    made, drawn = fresh(b, BOB)
    rotated("N5", "three-dead-slots", b, [to(BOB)], after=[b.slots[0], made, b.slots[2]], drawn=drawn, tests="ROT-12",
            comment="one new slot in place of the first; the others go")
    nothing("N5", "not-asked-for", b, identities=[BOB.identity], tests="ROT-12",
            comment="dead slots stay if nobody asks for a slot for Bob")
    odd = box("N5 odd", lambda b: dead(b, 3, BOB.slot_id(b))[:-1].replace(b"\0\x03\0\x68", b"\0\x03\0\x67", 1), of(CAROL),
              capacity=4096)
    made, drawn = fresh(odd, BOB)
    rotated("N5", "unusable-slot", odd, [to(BOB)], after=[odd.slots[0], made, odd.slots[2]], drawn=drawn,
            tests="ROT-12 SLOT-24", comment="a slot of another length that has Bob's type and ID is replaced, too")
    b = box("N7", dead_of(BOB), of(BOB), capacity=4096)
    nothing("N7", "dead-and-good", b, [to(BOB, "identity")], tests="ROT-12", comment="one of the slots with the ID opens")
    b = box("N7 dead", dead_of(BOB, "1"), dead_of(BOB, "2"), capacity=4096)
    made, drawn = fresh(b, BOB)
    rotated("N7", "dead-alone", b, [to(BOB, "identity")], after=[b.slots[0], made], drawn=drawn, tests="ROT-12 ROT-18",
            comment="none of the slots with the ID opens: one new slot")
    b = box("N7 64", *[dead_of(BOB, str(i)) for i in range(64)], of(BOB))
    made, drawn = fresh(b, BOB)
    rotated("N7", "behind-64-dead-ones", b, [to(BOB, "identity")], after=[b.slots[0], made], drawn=drawn,
            tests="ROT-12 SLOT-27", comment="the good slot is left out, so it does not count")


def removed():
    b = box("N6", of(BOB), of(CAROL), capacity=4096)
    made, drawn = fresh(b, BOB)
    rotated("N6", "removed-and-added", b, [to(BOB)], remove=[to(BOB)], after=[b.slots[0], b.slots[2], made], drawn=drawn,
            tests="ROT-13", comment="removal comes first: the new slot is behind the others")
    b = box("N6 names", of(BOB), dead_of(BOB), hidden_of(BOB), hidden_of(CAROL), of(CAROL), capacity=4096)
    rotated("N6", "by-the-recipient", b, remove=[to(BOB)], after=[b.slots[0], *b.slots[3:]], tests="ROT-13",
            comment="a recipient names every slot with its ID, and no hidden one")
    rotated("N6", "by-the-identity", b, remove=[to(BOB, "identity")], after=[b.slots[0], *b.slots[4:]], tests="ROT-13",
            comment="an identity names these, and every hidden slot that it opens")
    rotated("N6", "by-the-id", b, remove=[f"id {b.slots[4][4:20].hex()}"], after=[*b.slots[:4], b.slots[5]],
            tests="ROT-13", comment="the hidden slot of somebody else is named by its ID")
    other = box("N6 type", of(BOB), lambda b: dead(b, 4, BOB.slot_id(b)), capacity=4096)
    rotated("N6", "of-its-type", other, remove=[to(BOB)], after=[other.slots[0], other.slots[2]], tests="ROT-13",
            comment="a slot of another type with the ID is not named")
    nothing("N6", "who-is-not-there", b, remove=[to(ALICE), to(ALICE, "identity")], tests="ROT-12",
            comment="it is no error to remove what is not there")


def others():
    b = box("N8", of(BOB), of(CAROL), dead_of(BOB), capacity=4096)
    made, drawn = fresh(b, BOB)
    refused("N8", "a-public-key-alone", b, [to(BOB)], "consentNeeded", remove=["others"], tests="ROT-15 ROT-13",
            comment="no slot of the current copy opens for Bob here, and nobody here could open the new one")
    rotated("N9", "with-consent", b, [to(BOB)], remove=["others"], consent=True, after=[made], drawn=drawn,
            tests="ROT-15 ROT-13", comment="one new slot, whatever there was under the ID")
    rotated("N9", "by-the-identity", b, [to(BOB, "identity")], remove=["others"], after=[b.slots[1]], tests="ROT-13",
            comment="the slot that the identity opens stays")
    shy = box("N9 hidden", hidden_of(BOB), of(CAROL), capacity=4096)
    made, drawn = fresh(shy, BOB)
    rotated("N9", "hidden", shy, [to(BOB, "identity")], remove=["others"], after=[shy.slots[1], made], drawn=drawn,
            tests="ROT-12 ROT-13", comment="the hidden slot that the identity opens stays, and does not count")
    b = box("N9 way in", capacity=4096)
    made, drawn = fresh(b, BOB)
    gone = f"id {key_id(b.user_key).hex()}"
    refused("N9", "no-way-in", b, [to(BOB)], "consentNeeded", remove=[gone], tests="ROT-15",
            comment="a slot for somebody else is no way in")
    rotated("N9", "way-in", b, [to(BOB)], identities=[BOB.identity], remove=[gone], after=[made], drawn=drawn,
            tests="ROT-15 ROT-18", comment="a slot for an identity at hand is one")
    refused("N9", "last-slot", b, [], "lastSlot", remove=[gone], identities=[BOB.identity], tests="ROT-14 ROT-10",
            comment="an identity that has no slot is no way in")


def mixing():
    b = box("N10", of(ALICE), capacity=4096)
    refused("N10", "strong-to-classical", b, [to(STRONG)], "mixedRecipients", needs=PQ, tests="MIX-2 ROT-10",
            comment="a post-quantum recipient is added to a classical one")
    refused("N10", "after-the-way-in", b, [to(STRONG)], "consentNeeded", needs=PQ, tests="ROT-10",
            remove=[f"id {key_id(b.user_key).hex()}"], comment="two reasons to refuse: the first step gives the name")
    strong = box("N10 strong", of(STRONG), capacity=4096)
    refused("N10", "classical-to-strong", strong, [to(ALICE)], "mixedRecipients", tests="MIX-2",
            comment="a classical recipient is added to a post-quantum one")
    foreign = box("N10 unusable", lambda b: dead(b, 4, STRONG.slot_id(b))[:-7].replace(b"\0\4\4\xa8", b"\0\4\4\xa1", 1),
                  capacity=4096)
    refused("N10", "classical-to-an-unusable-strong", foreign, [to(ALICE)], "mixedRecipients", tests="MIX-1 MIX-2",
            comment="the type alone says what a slot is")
    made, drawn = fresh(strong, ALICE)
    rotated("N10", "with-consent", strong, [to(ALICE)], mixed=True, after=[*strong.slots, made], drawn=drawn,
            tests="MIX-2", comment="the caller consents")
    b = box("N11", of(ALICE), of(STRONG), capacity=4096)
    more = draw("N11", "more", 32)
    rotated("N11", "otherwise", b, [f"key {more.hex()}"], after=[*b.slots, b.symmetric(more)],
            drawn=b.symmetric(more)[20:44], tests="MIX-2", comment="a mixed header gets a symmetric slot")
    rotated("N11", "removal", b, remove=[to(ALICE)], after=[b.slots[0], b.slots[2]], tests="MIX-2",
            comment="a mixed header loses a slot")
    refused("N11", "renewed", b, [to(ALICE)], "mixedRecipients", tests="MIX-2",
            comment="one of its slots would be made anew")
    rotated("N11", "replaced", b, [to(OTHER_STRONG)], needs=PQ, remove=[to(ALICE)], tests="MIX-2",
            opens=[OTHER_STRONG.identity], comment="all classical slots go in the same call: no consent is needed",
            **without_bytes(b, [b.slots[0], b.slots[2], slot(b, OTHER_STRONG)]))


def capacities():
    b = box("N12", of(STRONG), of(OTHER_STRONG), capacity=4096)
    rotated("N12", "third-into-4096", b, [to(THIRD_STRONG)], needs=PQ, tests="ROT-16", opens=[THIRD_STRONG.identity],
            comment="three slots of type 4 fit into 4096 bytes", **without_bytes(b, [*b.slots, slot(b, THIRD_STRONG)]))
    b = box("N12 full", of(STRONG), of(OTHER_STRONG), of(STRONG, "again"), capacity=4096)
    operation("N12", "fourth-into-4096", b, "rotate", add=[to(THIRD_STRONG)], needs=PQ, written="copy",
              after=(2, 8192, [*(each[4:20] for each in b.slots), THIRD_STRONG.slot_id(b)]), opens=[THIRD_STRONG.identity],
              tests="ROT-16 ROT-25 ROT-26", comment="the fourth does not: a copy, of 8192")
    for length, capacity in (((1 << 20) - 1, 4096), (1 << 20, 16384)):
        long = Box(f"N12 {length}", Squeezed(length), log2=20)
        resealed("N12", f"new-{capacity}", long, [own(long), to(STRONG)], needs=PQ, capacity=capacity, tests="WRITE-7",
                 opens=[STRONG.identity], comment=f"a plaintext of {length} bytes, and a slot of type 4")
    long = Box("N12 classical", Squeezed(1 << 20), log2=20)
    resealed("N12", "new-classical", long, [own(long), to(ALICE)], capacity=4096, tests="WRITE-7", opens=[ALICE.identity],
             comment="a plaintext of 1 MiB, without a slot of type 4")


def hidden():
    people = [Key(f"N13 {i}") for i in range(65)]
    b = box("N13")
    refused("N13", "65-hidden", b, [own(b), *(to(each, "hidden-recipient") for each in people)], "doesNotFit",
            what="reencrypt", tests="WRITE-5 REENC-5", comment="more hidden slots than a reader tries")
    resealed("N13", "64-hidden", b, [own(b), *(to(each, "hidden-recipient") for each in people[:64])], capacity=16384,
             opens=[people[0].identity, people[63].identity], tests="WRITE-5", comment="as many as a reader tries")
    full = box("N13 full", *[hidden_of(each) for each in people[:64]])
    refused("N13", "a-hidden-one-to-64", full, [to(people[64], "hidden-recipient")], "doesNotFit",
            tests="WRITE-5 ROT-10 ROT-25", comment="the 65th hidden slot")
    made, drawn = fresh(full, people[64])
    rotated("N13", "a-shown-one-to-64", full, [to(people[64])], after=[*full.slots, made], drawn=drawn, tests="WRITE-5",
            comment="a slot that shows its ID is not counted")
    over = box("N13 over", *[hidden_of(each) for each in people])
    made, drawn = fresh(over, ALICE)
    rotated("N13", "a-shown-one-to-65", over, [to(ALICE)], after=[*over.slots, made], drawn=drawn, tests="WRITE-5",
            comment="a header that has too many already: only a further hidden slot is refused")
    refused("N13", "a-hidden-one-to-65", over, [to(ALICE, "hidden-recipient")], "doesNotFit", tests="WRITE-5",
            comment="a further hidden slot")
    both = box("N13 both", *[hidden_of(each) for each in people[:40]], *[hidden_of(STRONG, str(i)) for i in range(24)],
               capacity=65536)
    refused("N13", "types-3-and-4-together", both, [to(ALICE, "hidden-recipient")], "doesNotFit", mixed=True,
            needs=ONE + " x-wing", tests="WRITE-5", comment="types 3 and 4 are counted together")
    odd = box("N13 unusable", *[lambda b, i=i: dead(b, 3, hidden_id(b.seed, str(i)))[:-1].replace(
        b"\0\x03\0\x68", b"\0\x03\0\x67", 1) for i in range(64)])
    made, drawn = fresh(odd, ALICE, is_hidden=True)
    rotated("N13", "beside-unusable-ones", odd, [to(ALICE, "hidden-recipient")], after=[*odd.slots, made], drawn=drawn,
            tests="WRITE-5", comment="hidden slots that no reader can use are not counted")


def reencrypted():
    b = box("N14", of(BOB), hidden_of(CAROL), capacity=4096)
    refused("N14", "unnamed", b, [own(b)], "consentNeeded", what="reencrypt", tests="REENC-5",
            comment="the slots of recipients would be lost")
    refused("N14", "hidden", b, [own(b), to(BOB), to(CAROL)], "consentNeeded", what="reencrypt", tests="REENC-5",
            comment="nothing tells that the hidden slot is Carol's")
    refused("N14", "another-type", box("N14 type", lambda b: dead(b, 4, BOB.slot_id(b)), capacity=4096), [to(BOB)],
            "consentNeeded", what="reencrypt", tests="REENC-5", comment="a slot of another type with the recipient's ID")
    plugin = box("N14 plugin", STAND.slot, capacity=4096)
    refused("N14", "type-5", plugin, [own(plugin)], "consentNeeded", what="reencrypt", tests="REENC-5",
            comment="a slot with stanzas", needs="recipient-changes stanzas")
    resealed("N15", "named-for-the-new-one", b, [own(b), to(BOB), to(CAROL, "identity")],
             opens=[BOB.identity, CAROL.identity], tests="REENC-4 REENC-5", capacity=1024,
             comment="the recipients are those of the new container; Carol's identity opens the hidden slot")
    resealed("N15", "identity-at-hand", b, [own(b), to(BOB), to(CAROL)], identities=[CAROL.identity],
             opens=[BOB.identity, CAROL.identity], tests="REENC-5", capacity=1024,
             comment="the identity can be one of the caller's")
    alone = box("N15 alone", hidden_of(CAROL), capacity=4096)
    resealed("N15", "hidden-alone", alone, [own(alone), to(CAROL, "identity")], opens=[CAROL.identity],
             tests="REENC-5 SLOT-27", comment="the hidden slot opens with the identity of the one new recipient")
    shy = box("N15 stanzas", lambda b: STAND.slot(b, slot_id=hidden_id("N15")), capacity=4096)
    given = {"needs": STANZAS, "keys": [], "remove": [f"id {key_id(shy.user_key).hex()}"], "tests": "REENC-5",
             "stand": [STAND.answer(shy), wrap(STAND, "-", stanza(["stand", "new"], bytes(range(32))))]}
    resealed("N15", "hidden-stanzas", shy, [to(STAND)], identities=[STAND.known], **given,
             comment="a plugin has opened the hidden slot with the one identity of the new recipient")
    resealed("N15", "hidden-stanzas-and-two-identities-of-one", shy, [to(STAND)], **given,
             identities=[STAND.known, f"{SECOND.identity} {STAND.text}"],
             comment="both identities of the plugin are the new recipient's")
    refused("N14", "hidden-stanzas-and-two-identities", shy, [to(STAND)], "consentNeeded", what="reencrypt", **given,
            identities=[STAND.known, SECOND.identity],
            comment="the plugin had another identity too, and does not say which of the two opened the slot")
    resealed("N15", "named-for-removal", b, [own(b)], remove=[to(BOB), to(CAROL, "identity")], ids=[key_id(b.user_key)],
             tests="REENC-4 REENC-6", comment="to name a slot is to consent to its loss")
    resealed("N15", "others", b, [own(b)], remove=["others"], ids=[key_id(b.user_key)], tests="REENC-4 REENC-6",
             comment="all slots that open with none of the secrets for the new container")
    resealed("N15", "removed-and-added", b, [own(b), to(BOB)], remove=[to(BOB), to(CAROL, "identity")],
             opens=[BOB.identity], tests="REENC-4", comment="removal comes first, as in a rotation")
    refused("N15", "named-by-the-recipient", b, [own(b), to(BOB)], "consentNeeded", what="reencrypt", remove=[to(CAROL)],
            tests="REENC-5 REENC-6", comment="a recipient does not name a hidden slot")


def plugins():
    line = (stanza(["stand", "new"], bytes(range(32))), "-")
    b = box("N16", capacity=4096)
    s, nonce = draw("N16", "s", 16), draw("N16", "nonce", 24)
    for name, labels, bits in (("", "-", 0), ("post-quantum-", "postquantum", 1)):
        made = stanza_made(STAND, b, line[0], bits, s, nonce)
        rotated("N16", f"{name}stanzas", b, [to(STAND)], needs=STANZAS, stand=[wrap(STAND, labels, line[0])],
                after=[*b.slots, made], drawn=s + nonce, tests="ROT-12 ROT-18 KEY-23 SLOT-30 SLOT-28 PLUG-5",
                comment="what a plugin has made for its recipient is a slot")
    refused("N19", "unknown-label", b, [to(STAND)], "mixedRecipients", needs=STANZAS, stand=[wrap(STAND, "x", line[0])],
            tests="PLUG-5", mixed=True, comment="a label that is not known: always refused")
    refused("N10", "the-plugin-fails-and-no-way-in", b, [to(STAND)], "pluginFailed", needs=STANZAS, remove=["others"],
            stand=[wrap(STAND, "-", b"")], tests="ROT-10 PLUG-5", comment="a plugin wraps before anything else is done")
    refused("N19", "two-labels", b, [to(STAND)], "mixedRecipients", needs=STANZAS, tests="PLUG-5",
            stand=[wrap(STAND, "postquantum,x", line[0])], comment="a label that is not known beside one that is")
    for name, made in (("no-stanza", b""), ("17-stanzas", stanza(["x"], b"") * 17), ("no-stanzas-at-all", b"text\n")):
        refused("N19", name, b, [to(STAND)], "pluginFailed", needs=STANZAS, stand=[wrap(STAND, "-", made)], tests="PLUG-5",
                comment="the plugin wraps nothing that a slot can hold")
    strong = box("N16 strong", of(STRONG), capacity=4096)
    refused("N16", "classical-beside-type-4", strong, [to(STAND)], "mixedRecipients", needs=STANZAS,
            stand=[wrap(STAND, "-", line[0])], tests="MIX-1 MIX-2", comment="without the label a slot of type 5 is classical")
    made = stanza_made(STAND, strong, line[0], 1, s, nonce)
    rotated("N16", "post-quantum-beside-type-4", strong, [to(STAND)], needs=STANZAS, tests="MIX-1 MIX-2",
            stand=[wrap(STAND, "postquantum", line[0])], after=[*strong.slots, made], drawn=s + nonce,
            comment="with the label it is not")
    b = box("N17", lambda b: STAND.slot(b), capacity=4096)
    gone = [f"id {key_id(b.user_key).hex()}"]
    answer = STAND.answer(b)
    refused("N17", "not-opened", b, [], "consentNeeded", needs=STANZAS, remove=gone, identities=[STAND.known],
            stand=[answer], tests="ROT-15", comment="a plugin's identity counts only for a slot that it has opened: here "
                                                    "the key has opened the container")
    rotated("N17", "opened", b, needs=STANZAS, keys=[], remove=gone, identities=[STAND.known], stand=[answer],
            after=[b.slots[1]], tests="ROT-15", comment="here the plugin has")
    made = stanza_made(STAND, b, line[0], 0, s, nonce)
    rotated("N17", "again", b, [to(STAND)], needs=STANZAS, identities=[STAND.known],
            stand=[answer, wrap(STAND, "-", line[0])], after=[b.slots[0], made], drawn=s + nonce, tests="ROT-12",
            comment="no plugin is asked whether its recipient is present: a new slot in the same place")
    both = box("N17 removal", lambda b: STAND.slot(b), lambda b: STAND.slot(b, "2", slot_id=hidden_id("N17")),
               lambda b: OTHER.slot(b), of(BOB), capacity=4096)
    answers = [STAND.answer(both), STAND.answer(both, "2")]
    rotated("N17", "removed-by-the-identity", both, needs=STANZAS + " x25519", stand=answers,
            remove=[f"identity {STAND.known}"], after=[both.slots[0], *both.slots[3:]], tests="ROT-13",
            comment="a plugin's identity names the slots of its known recipients, and those that it opens")
    rotated("N17", "removed-by-the-known-recipient", both, needs=STANZAS + " x25519",
            remove=[f"identity {STAND.known}"], after=[both.slots[0], *both.slots[2:]], tests="ROT-13",
            comment="the slot with the ID of its known recipient goes, whether it opens or not")
    refused("N17", "removed-by-a-failing-plugin", both, [], "pluginFailed", needs=STANZAS, remove=[f"identity {STAND.known}"],
            stand=[("failing-plugin", "stand")], tests="ROT-13", comment="nothing tells which hidden slots are meant")
    rotated("N17", "removed-by-the-recipient", both, needs=STANZAS + " x25519", stand=[("failing-plugin", "stand")],
            remove=[to(STAND)], after=[both.slots[0], *both.slots[2:]], tests="ROT-13",
            comment="a recipient needs no plugin")


def wrap(key, labels, stanzas):
    return "stanza-wrap", f"{key.text} {labels} {stanzas.hex()}"


def stanza_made(key, b, stanzas, labels, s, nonce):
    return stanza_slot(key.slot_id(b), labels, stanzas, s, nonce, b.preamble, b.file_key)


def left_out():
    b = box("N18", *[dead_of(BOB, str(i), hidden_id("N18", str(i))) for i in range(64)], hidden_of(BOB))
    refused("N18", "hidden", b, [], "limitExceeded", remove=[to(BOB, "identity")], tests="ROT-13 SLOT-27",
            comment="65 hidden slots: the identity would have to try one that is left out")
    b = box("N18 63", *[dead_of(BOB, str(i), hidden_id("N18", str(i))) for i in range(63)], hidden_of(BOB))
    rotated("N18", "64-hidden", b, remove=[to(BOB, "identity")], after=b.slots[:-1], tests="ROT-13 SLOT-27",
            comment="64 are within the limit")
    b = box("N18 others", *[dead_of(BOB, str(i)) for i in range(64)], of(BOB))
    made, drawn = fresh(b, BOB)
    rotated("N18", "others", b, [to(BOB, "identity")], remove=["others"], after=[made], drawn=drawn,
            tests="ROT-13 SLOT-27", comment="a slot that is left out counts as one that does not open: Bob gets a new one")


TIME = "2026-11-21T10:00:00Z"


def keyrings():
    part = "keyring-recipients"
    f = {key.text: key.recipient.fingerprint.hex()[:32] for key in (ALICE, BOB, STRONG, STAND)}

    def text(*lines):
        return "".join(line + "\n" for line in ["vaultfile keyring 1", *lines]).encode()

    def good(name, lines, comment):
        entries = [" ".join((state, TIME, key, name)) for state, key, _, name in lines]
        keys("N20", name, "keyring-text", text(*(" ".join((s, TIME, k, t, n)) for s, k, t, n in lines)), entries=entries,
             needs=part, tests="KEYRING-16 KEYRING-8", comment=comment)

    def bad(name, lines, comment, tests="KEYRING-16"):
        keys("N20", name, "keyring-text", text(*(" ".join((s, TIME, k, t, n)) for s, k, t, n in lines)),
             result="keyringMalformed", needs=part, tests=tests, comment=comment)

    alice = ("recipient", f[ALICE.text], ALICE.text, "alice")
    card = ("identity", f[STAND.text], f"{STAND.identity},{STAND.text}", "card")
    strong = ("identity", f[STRONG.text], STRONG.identity, "strong")
    assert STRONG.recipient.fingerprint.hex().startswith(f[STRONG.text])
    good("every-state", [alice, ("former", f[BOB.text], BOB.text, "bob"),
                         ("recipient", f[STAND.text], STAND.text, "stand"),
                         ("identity", "-", STAND.identity, "unknown")], "recipients of both states, and a plugin's")
    good("identities", [("identity", f[ALICE.text], ALICE.identity, "me"), card,
                        ("identity", "-", STAND.identity, "old-card"), ("identity", "-", OTHER.identity, "other-card")],
         "identities; `-` may repeat")
    good("recipient-of-another-plugin", [("identity", f[STAND.text], f"{OTHER.identity},{STAND.text}", "card")],
         "the two texts of a plugin's identity need not have one name")
    keys("N20", "post-quantum", "keyring-text", text(*(" ".join((s, TIME, k, t, n)) for s, k, t, n in [
        strong, ("recipient", OTHER_STRONG.recipient.fingerprint.hex()[:32], OTHER_STRONG.text, "theirs")])),
         entries=[" ".join((s, TIME, k, n)) for s, k, _, n in [
             strong, ("recipient", OTHER_STRONG.recipient.fingerprint.hex()[:32], "", "theirs")]],
         needs=part + " x-wing", tests="KEYRING-16", comment="an identity and a recipient of type 4")
    without_x_wing_in_a_keyring(part, strong, text)
    bad("another-id", [("recipient", f[BOB.text], ALICE.text, "alice")], "the ID is another recipient's")
    bad("another-id-of-an-identity", [("identity", f[BOB.text], ALICE.identity, "me")], "the ID is another's")
    bad("another-id-behind-the-comma", [("identity", f[ALICE.text], card[2], "card")],
        "the ID is not that of the recipient behind the comma")
    bad("no-id-with-a-recipient", [("identity", "-", card[2], "card")], "`-`, and there is a recipient")
    bad("id-without-a-recipient", [("identity", f[STAND.text], STAND.identity, "card")], "an ID, and there is none")
    bad("no-id-of-a-recipient", [("recipient", "-", ALICE.text, "alice")], "only a plugin's identity can have `-`")
    bad("no-id-of-an-identity", [("identity", "-", ALICE.identity, "me")], "only a plugin's identity can have `-`")
    bad("no-id-of-a-key", [("current", "-", "VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0S67YV7J",
                            "key")], "only a plugin's identity can have `-`")
    bad("identity-as-recipient", [("recipient", f[ALICE.text], ALICE.identity, "alice")], "an identity as a recipient")
    bad("recipient-as-identity", [("identity", f[ALICE.text], ALICE.text, "alice")], "a recipient as an identity")
    bad("recipient-as-key", [("current", f[ALICE.text], ALICE.text, "alice")], "a recipient as a symmetric key")
    bad("recipient-in-upper-case", [("recipient", f[ALICE.text], ALICE.text.upper(), "alice")], "not as in KEYTEXT-2")
    bad("recipient-of-low-order", [("recipient", f[ALICE.text], bech32("age", bytes(32)), "alice")],
        "a recipient that KEYTEXT-4 refuses", "KEYRING-16 KEYTEXT-4")
    bad("comma-behind-another-identity", [("identity", f[ALICE.text], f"{ALICE.identity},{STAND.text}", "me")],
        "only a plugin's identity has a recipient behind it")
    bad("another-type-behind-the-comma", [("identity", f[ALICE.text], f"{STAND.identity},{ALICE.text}", "card")],
        "the recipient behind the comma is no plugin's")
    bad("nothing-behind-the-comma", [("identity", "-", f"{STAND.identity},", "card")], "a comma, and nothing behind it")
    bad("twice", [alice, (*alice[:3], "alice2")], "one recipient twice", "KEYRING-10")
    bad("recipient-and-former", [alice, ("former", *alice[1:3], "alice2")], "one recipient in two states", "KEYRING-10")
    bad("recipient-and-its-identity", [alice, ("identity", f[ALICE.text], ALICE.identity, "me")],
        "a recipient and its identity have one ID: the IDs of all lines are compared, not those of one state", "KEYRING-10")
    bad("recipient-and-a-plugins-identity", [("recipient", f[STAND.text], STAND.text, "stand"), card],
        "likewise a plugin's", "KEYRING-10")
    bad("recipient-and-a-destroyed-line", [("destroyed", f[ALICE.text], "-", "gone"), alice],
        "a destroyed line keeps its ID from a recipient too", "KEYRING-10")
    bad("unknown-state", [("peer", *alice[1:])], "another state")
    for word in ("former", "header-file", "identity", "identity-command", "identity-file", "recipient-file",
                 "recipients-file", "age1", "age1x", "AGE1x", "age-key", "Age-Secret-Key"):
        bad("name-" + {"AGE1x": "age1-in-upper-case", "Age-Secret-Key": "age-in-mixed-case"}.get(word, word),
            [(*alice[:3], word)], "a reserved name", "KEYRING-9")
    good("name-that-begins-likewise", [(*alice[:3], "age"), ("former", f[BOB.text], BOB.text, "ages-ago")],
         "names that begin with `age` and are not reserved")
    groups(alice, ("former", f[BOB.text], BOB.text, "bob"), ("identity", "-", STAND.identity, "card"))


def without_x_wing_in_a_keyring(part, strong, text):
    """What a reader compares that cannot compute the public key of an X-Wing identity."""
    state, slot_id, secret, name = strong
    other = BOB.recipient.fingerprint.hex()[:32]

    def one(case, line, comment, **more):
        keys("N20", case, "keyring-text", text(" ".join((line[0], TIME, *line[1:]))), needs=part + " no-x-wing",
             tests="KEYRING-16", comment=comment, **more)

    for case, number, comment in (("post-quantum-without-x-wing", slot_id, "an identity of type 4 that nobody here can use"),
                                  ("another-id-without-x-wing", other, "its ID is another's, and is not compared")):
        one(case, (state, number, secret, name), comment, entries=[" ".join((state, TIME, number, name))])
    for case, number, comment in (
            ("no-id-without-x-wing", "-", "not compared, but it is an ID: only a plugin's identity can have `-`"),
            ("id-in-upper-case-without-x-wing", other.upper(), "an ID in upper case"),
            ("id-of-31-digits-without-x-wing", other[:-1], "31 digits")):
        one(case, (state, number, secret, name), comment, result="keyringMalformed")
    one("mistyped-without-x-wing", (state, slot_id, secret[:-1] + ("Q" if secret[-1] != "Q" else "P"), name),
        "its text is checked all the same", result="keyringMalformed")
    theirs = OTHER_STRONG.recipient.fingerprint.hex()[:32]
    one("post-quantum-recipient-without-x-wing", ("recipient", theirs, OTHER_STRONG.text, "theirs"),
        "a recipient of type 4: its ID is a hash of its text", entries=[f"recipient {TIME} {theirs} theirs"])
    one("another-id-of-a-recipient-without-x-wing", ("recipient", other, OTHER_STRONG.text, "theirs"),
        "the ID of a recipient is compared everywhere", result="keyringMalformed")


def groups(alice, bob, card):
    key = ("current", key_id(bytes(range(32))).hex(),
           "VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0S67YV7J", "key")
    gone = ("destroyed", draw("N22", "destroyed", 16).hex(), "-", "gone")

    def file(*lines):
        joined = [" ".join((state, TIME, number, secret, name)) for state, number, secret, name in lines]
        return "".join(line + "\n" for line in ["vaultfile keyring 1", *joined]).encode()

    def good(name, *lines, comment):
        keys("N22", name, "keyring-text", file(*lines), entries=[" ".join((s, TIME, i, n)) for s, i, _, n in lines],
             needs="keyring-recipients", tests="KEYRING-19", comment=comment)

    def bad(name, *lines, comment, tests="KEYRING-19"):
        keys("N22", name, "keyring-text", file(*lines), result="keyringMalformed", needs="keyring-recipients",
             tests=tests, comment=comment)

    def group(members, name="team", number="-", state="group"):
        return (state, number, members, name)

    good("every-kind", alice, bob, card, group("card,alice,bob"), comment="a recipient, a former one and an identity")
    good("one-member", alice, group("alice"), comment="a group of one")
    good("all-former", bob, group("bob"), comment="a group of which nobody is left can be read")
    good("before-its-members", group("alice,bob"), alice, bob, comment="the members' lines come after the group's")
    good("two-groups", alice, group("alice"), group("alice", "others-too"),
         comment="two groups with one member; `-` may repeat")
    bad("unknown-member", alice, group("alice,bob"), comment="a member that is not there")
    bad("member-in-another-case", alice, group("Alice"), comment="names are compared byte by byte")
    bad("member-by-its-id", alice, group(alice[1]), comment="an ID in place of a name")
    bad("key", alice, key, group("alice,key"), comment="a symmetric key as a member")
    retired = ("retired", *key[1:3], "old")
    bad("retired", alice, retired, group("alice,old"),
        comment="a retired symmetric key as a member: it is no `former` recipient")
    bad("destroyed", alice, gone, group("alice,gone"), comment="a destroyed key as a member")
    bad("group", alice, group("alice"), group("team", "teams"), comment="a group in a group")
    bad("itself", alice, group("alice,team"), comment="a group in itself")
    bad("member-twice", alice, bob, group("alice,bob,alice"), comment="a member twice")
    bad("no-member", alice, group(""), comment="no member, and so no word", tests="KEYRING-5 KEYRING-19")
    bad("no-member-but-a-word", alice, group("-"), comment="no member, as a destroyed key has no secret")
    bad("comma-alone", alice, group(","), comment="a comma alone")
    bad("comma-first", alice, group(",alice"), comment="nothing before the first comma")
    bad("comma-last", alice, group("alice,"), comment="nothing behind the last comma")
    bad("two-commas", alice, bob, group("alice,,bob"), comment="nothing between two commas")
    bad("space-behind-the-comma", alice, bob, group("alice, bob"), comment="a space, and so six words",
        tests="KEYRING-5 KEYRING-19")
    bad("with-an-id", alice, group("alice", number=alice[1]), comment="the ID of a member")
    bad("with-an-id-of-its-own", alice, group("alice", number=draw("N22", "ID", 16).hex()), comment="an ID of its own")
    bad("name-of-a-member", alice, group("alice", "alice"), comment="a name that another line has",
        tests="KEYRING-10")
    bad("state-in-upper-case", alice, group("alice", state="Group"), comment="another state", tests="KEYRING-19")
    bad("reserved-name", alice, group("alice", "all"), comment="a reserved name", tests="KEYRING-9")
    lengths(group)


def lengths(group):
    """KEYRING-4. Symmetric keys alone cannot reach the most bytes: 4096 of the longest lines have fewer."""
    people = [PluginKey("stand", number) for number in range(100)]
    names = [f"{number:03}".ljust(64, "x") for number in range(100)]
    lines = [" ".join(("recipient", TIME, each.recipient.fingerprint.hex()[:32], each.text, name))
             for each, name in zip(people, names)]
    for defect, length in (("longest", 1 << 20), ("too-long", (1 << 20) + 1)):
        data = "".join(line + "\n" for line in ["vaultfile keyring 1", *lines])
        made = list(lines)
        while length - len(data) > 6000:
            made.append(" ".join(("group", TIME, "-", ",".join(names[:50]), f"g{len(made)}")))
            data += made[-1] + "\n"
        # The members of the last group fill up the rest, and its name what is left of that.
        count, more = divmod(length - len(data) - len(f"group {TIME} -  \n"), 65)
        made.append(" ".join(("group", TIME, "-", ",".join(names[:count]), "z".ljust(more + 1, "z"))))
        data += made[-1] + "\n"
        assert len(data) == length and count < 100 and more < 64
        found = {"entries": made} if defect == "longest" else {"result": "keyringMalformed"}
        keys("N22", defect, "keyring-text", data.encode(), needs="keyring-recipients", tests="KEYRING-4 KEYRING-19",
             comment=f"{length:,} bytes, and every line is right", **found)


def unlock_files():
    def file(seed, *slots):
        return Box(seed, b"VAULTFILE-KEY-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0S67YV7J\n",
                   context=b"vaultfile keyring key", members=[(0x8001, b"application/x-vaultfile-key")], capacity=512,
                   slots=lambda b: [each(b) for each in slots])
    b = file("N21", of(ALICE))
    keys("N21", "identity", "unlock-file", b.bytes(), result="wrongKey", identities=[ALICE.identity],
         needs="x25519 keyring-recipients", tests="KEYRING-17", comment="a slot of type 3 in an unlock file is not tried",
         secrets=[draw("N21", "other key", 32)])
    b = file("N21 both", of(ALICE), Box.symmetric)
    keys("N21", "beside-a-key", "unlock-file", b.bytes(), secrets=[b.user_key], key_id=key_id(bytes(range(32))),
         needs="x25519 keyring-recipients", tests="KEYRING-17", comment="and does not keep a key from opening it")


def without_x_wing():
    b = box("M17", capacity=4096)
    refused("M17", "x-wing-without-the-system", b, [to(STRONG)], "badKey", needs="recipient-changes no-x-wing",
            tests="ARG-7 SLOT-24", comment="a recipient of type 4, and a system without X-Wing")
