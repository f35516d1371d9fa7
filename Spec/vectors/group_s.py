"""Group S: slots with age stanzas, type 5."""

from collide import collided
from forge import Box, draw, flip, raw_slot, summed, u16
from recipients import HybridKey, Key, PluginKey, hidden_id, slot, stanza
from stanza_slots import kek_stanzas
from vector import recovery, vector

STAND, OLD, OTHER = PluginKey("stand"), PluginKey("stand", 2), PluginKey("other")
ALICE, STRONG = Key("Alice"), HybridKey(0)
NEEDS = "stanzas"
FORM = "SLOT-29 SLOT-12"
OPENS = "KEY-18 KEY-23 SLOT-30 SLOT-32 SLOT-28"


def make():
    forms()
    malformed()
    wrong_ones()
    plugins()
    limits()
    sessions()


def box(seed, *slots, **more):
    fields = {"capacity": 4096} | more
    return Box(seed, 700, slots=lambda b: [each(b) for each in slots], **fields)


def handed(*sessions):
    """The sessions that a seeking reader holds: (plugin, number of slots)."""
    return [("handed-over", f"{name} {count}") for name, count in sessions] or [("handed-over", "none")]


def opened(case, name, b, stream="intact", *, identities=(STAND.known,), answers=(), failing=(), sessions=None, tests,
           comment, needs=NEEDS, keys=(), **more):
    """A vector whose caller has plugin identities; `answers`: what the plugins know."""
    lines = [*answers, *(("failing-plugin", each) for each in failing)]
    lines += [] if sessions is None else handed(*sessions)
    vector(case, name, b, stream=stream, keys=list(keys), identities=identities, stand=lines, needs=needs, tests=tests,
           comment=comment, **more)


def forms():
    def right(case, name, stanzas, comment, *, labels=0, capacity=4096, needs=NEEDS, tests=OPENS):
        b = box(f"{case} {name}", lambda b: STAND.slot(b, stanzas=stanzas, labels=labels), capacity=capacity)
        opened(case, name, b, answers=[STAND.answer(b, stanzas=stanzas)], sessions=[("stand", 1)],
               tests=f"{tests} SLOT-29 SLOT-34 PLUG-1", comment=comment, needs=needs)
    one = stanza(["stand", "argument"], bytes(range(32)))
    right("S1", "one-stanza", one, "one stanza", capacity=512)
    right("S2", "16-stanzas", b"".join(stanza(["stand", str(i)], bytes([i]) * i) for i in range(16)), "16 stanzas")
    right("S3", "empty-body", stanza(["stand"], b""), "a stanza without a body", capacity=512)
    right("S3", "full-line-and-an-empty-one", stanza(["stand"], bytes(48)), "a body of 64 characters, and an empty line")
    right("S3", "every-character", stanza(["".join(map(chr, range(0x21, 0x7F)))], bytes(range(256))),
          "an argument of every character")
    long = next(made for n in range(1, 300) if len(made := stanza(["s" * n], draw("S4", "body", 5890))) == 8192)
    right("S4", "n-8192", long, "the longest", capacity=16384)
    right("S5", "scrypt-of-63", b"-> scrypt AAAAAAAAAAAAAAAAAAAAAA 63\n" + stanza(["x"], bytes(32)).partition(b"\n")[2],
          "a stanza of scrypt with a work factor of 2^63: only plugins get it", tests=OPENS + " SLOT-31")
    right("S6", "post-quantum", one, "label bit 0", labels=1, capacity=512)
    b = box("S1 all", Box.symmetric, lambda b: b.passphrase(b"one"), lambda b: slot(b, ALICE), lambda b: slot(b, STRONG),
            STAND.slot)
    opened("S1", "beside-types-1-to-4", b, answers=[STAND.answer(b)], tests=OPENS, comment="opened by the stanzas")
    vector("S1", "beside-types-1-to-4-by-key", b, stream="intact", tests="SLOT-12", comment="opened by the symmetric key")
    opened("S1", "a-key-comes-first", b, identities=[STAND.known, ALICE.identity], needs="stanzas x25519", sessions=[],
           answers=[STAND.answer(b)], tests="SLOT-18 SLOT-34", comment="the slot of type 3 opens, and no plugin is started")
    data = flip(b.bytes(), 20)
    recovery("stanzas", b, data=data, keys=[], identities=[STAND.known], stand=[STAND.answer(b)], needs=NEEDS,
             tests="RECOV-3 SLOT-34", comment="the front is damaged, and the tail has a slot of type 5")


def malformed():
    good = stanza(["stand", "a"], bytes(32))
    full = b"A" * 64 + b"\n"

    def wrong(case, name, stanzas, comment, *, labels=0, length=None, body=None, tests=FORM):
        def made(b):
            right = STAND.slot(b, stanzas=stanzas, labels=labels)
            if length is not None:
                right = right[:22] + u16(length) + right[24:]
            return right if body is None else raw_slot(5, STAND.slot_id(b), (right[20:] + bytes(16))[:len(right) - 20 + body])
        capacity = 512 if len(stanzas) < 200 else 16384
        b = box(f"{case} {name}", made, capacity=capacity)
        answers = [STAND.answer(b, stanzas=stanzas)]
        opened(case, name, b, "wrongKey", answers=answers, sessions=[], tests=tests + " SLOT-22",
               comment=comment + ": not usable, so no plugin gets it")
        b = box(f"{case} {name} beside", made, STAND.slot, capacity=max(capacity, 1024))
        opened(case, f"{name}-beside-a-good-one", b, answers=[STAND.answer(b), *answers], sessions=[("stand", 1)],
               tests=tests, comment=comment + ": skipped")
    wrong("S7", "17-stanzas", b"".join(stanza(["s", str(i)], b"") for i in range(17)), "17 stanzas")
    wrong("S8", "n-0", b"", "no stanza")
    wrong("S8", "n-too-high", good, "n is one more than the length", length=len(good) + 1)
    wrong("S8", "n-too-low", good, "n is one less than the length", length=len(good) - 1)
    wrong("S8", "n-8193", next(made for n in range(1, 300) if len(made := stanza(["s" * n], draw("S8", "body", 5890))) == 8193),
          "8193 bytes")
    for labels in (2, 3, 0x8000):
        wrong("S9", f"label-{labels}", good, "a label bit without a meaning", labels=labels)
    wrong("S10", "cr-lf", good.replace(b"\n", b"\r\n"), "CR before LF")
    wrong("S10", "cr-in-the-body", good[:-1] + b"\r\n", "CR in the body")
    for name, head in (("two-spaces", b"-> stand  a\n"), ("space-at-the-end", b"-> stand \n"), ("no-argument", b"-> \n"),
                       ("no-space", b"->\n"), ("space-before", b" -> stand\n"), ("three-dashes", b"--- stand\n"),
                       ("tab", b"-> stand\ta\n")):
        wrong("S11", name, head + b"AAAA\n", "the first line of a stanza")
    for name, last in (("padding", b"AA==\n"), ("not-canonical", b"AB\n"), ("not-canonical-high", b"AI\n"),
                       ("not-canonical-of-three", b"AAB\n"), ("not-canonical-of-three-high", b"AAC\n"), ("one-character", b"A\n"), ("url", b"A-_A\n"),
                       ("dot", b"AA.A\n")):
        wrong("S12", name, b"-> stand\n" + last, "base64 that is not canonical")
    for name, body in (("full-last-line", full), ("no-body", b""), ("long-line", b"A" * 65 + b"\n"),
                       ("short-then-more", b"AAAA\nAAAA\n"), ("no-last-end", b"AAAA")):
        wrong("S13", name, b"-> stand\n" + body, "the end of a body")
    wrong("S14", "byte-behind", good + b"\0", "a byte behind the stanzas")
    wrong("S14", "empty-line-behind", good + b"\n", "an empty line behind the stanzas")
    wrong("S14", "byte-before", b"\n" + good, "a byte before the stanzas")
    for byte in (0x1B, 0x80, 0x7F, 0x00):
        wrong("S15", f"byte-{byte:02x}", b"-> stand " + bytes([byte]) + b"\nAAAA\n", "a byte that no argument has")
    wrong("S16", "body-one-longer", good, "a body that is longer than n says", body=1)
    wrong("S16", "body-one-shorter", good, "a body that is shorter than n says", body=-1)
    for n in (0, 3, 75, 76):
        b = box(f"S16 {n}", lambda b: raw_slot(5, STAND.slot_id(b), bytes(n)), Box.symmetric, capacity=512)
        opened("S16", f"body-of-{n}", b, keys=[b.user_key], sessions=[], tests=FORM,
               comment="a body that has no room for a stanza is skipped")


def wrong_ones():
    b = box("S17", STAND.slot, capacity=512)
    opened("S17", "another-secret", b, "wrongKey", answers=[STAND.answer(b, secret=bytes(16))], tests="SLOT-14 KEY-23",
           sessions=[("stand", 1)], comment="the plugin gives another secret")
    opened("S17", "another-context", b, "wrongKey", answers=[STAND.answer(b)], context=b"other", tests="SLOT-14",
           comment="the right secret, another context")
    size = len(STAND.stanzas(b))
    for name, place, bit in (("label", 21, 0), ("stanza", 33, 0), ("key-id", 4, 0), ("nonce", 24 + size, 0),
                             ("wrapped", 48 + size, 0), ("tag", 48 + size + 47, 7)):
        def changed(b):
            return flip(STAND.slot(b), place, bit)
        b = box(f"S18 {name}", changed, capacity=512)
        stanzas = changed(b)[24:24 + size]
        opened("S18", name, b, "wrongKey", answers=[STAND.answer(b, stanzas=stanzas)], sessions=[("stand", 1)],
               tests="SLOT-30 SLOT-14", comment="a bit of the slot is changed, and MAC and checksum are right")

    def two(b):
        made = STAND.slot(b)
        keys = [kek_stanzas(key.secret(b), b.preamble) for key in (STAND, OTHER)]
        return made[:-48] + collided("S19", keys, made[-72:-48], b.preamble + made[:-48], 32, [0])
    b = box("S19", two, capacity=512)
    for key in (STAND, OTHER):
        opened("S19", f"two-secrets-{key.name}", b, "wrongKey", identities=[key.identity], tests="SLOT-14 KEY-4",
               answers=[key.answer(b, stanzas=STAND.stanzas(b))], sessions=[(key.name, 1)],
               comment="the slot decrypts under two secrets: the commitment decides")
    b = box("S20", STAND.slot, capacity=512)
    opened("S20", "no-identity", b, "wrongKey", identities=[], answers=[STAND.answer(b)], sessions=[], tests="PLUG-1 SLOT-32",
           comment="no plugin identity is given, and no plugin is started")
    opened("S20", "native-identity-alone", b, "wrongKey", identities=[ALICE.identity], needs="stanzas x25519",
           answers=[STAND.answer(b)], sessions=[], tests="PLUG-1 SLOT-32", comment="an identity of type 3 starts no plugin")
    native = stanza(["X25519", "TEiF0ypqr+bpvcqXNyCVJpL7OuwPdVwPL7KQEbFDOCc"], bytes(32))
    b = box("S25", lambda b: STAND.slot(b, stanzas=native), capacity=512)
    opened("S25", "x25519-stanza", b, "wrongKey", identities=[ALICE.identity], needs="stanzas x25519", sessions=[],
           tests="SLOT-31", comment="a stanza of age's own type: no reader opens it")


def plugins():
    b = box("S21", STAND.slot, capacity=512)
    for name, answers, failing in (("plugin-fails", [STAND.answer(b)], ["stand"]),
                                   ("secret-of-32-bytes", [STAND.answer(b, secret=bytes(32))], []),
                                   ("secret-of-15-bytes", [STAND.answer(b, secret=bytes(15))], [])):
        opened("S21", name, b, "pluginFailed", answers=answers, failing=failing, sessions=[("stand", 1)],
               tests="SLOT-22 SLOT-34", comment="the plugin fails, and nothing else opens")
    b = box("S21 nothing", STAND.slot, capacity=512)
    opened("S21", "plugin-knows-nothing", b, "wrongKey", sessions=[("stand", 1)], tests="SLOT-22 SLOT-34",
           comment="a plugin that opens nothing has not failed")
    b = box("S21 others", STAND.slot, Box.symmetric, lambda b: b.passphrase(b"one"))
    opened("S21", "plugin-fails-and-a-passphrase-opens", b, failing=["stand"], passphrases=[b"one"], sessions=[("stand", 1)],
           tests="SLOT-18 SLOT-34 PLUG-7", comment="a plugin that fails is no error while another slot opens")
    b = box("S21 one of two", STAND.slot, lambda b: STAND.slot(b, "second"))
    opened("S21", "one-bad-answer", b, "pluginFailed", sessions=[("stand", 2)], tests="SLOT-34",
           answers=[STAND.answer(b), STAND.answer(b, "second", secret=bytes(17))],
           comment="what a session that failed has given counts for nothing")
    b = box("S21 second", STAND.slot, lambda b: OLD.slot(b))
    opened("S21", "failed-in-both-sessions", b, "pluginFailed", failing=["stand"], sessions=[("stand", 1), ("stand", 1)],
           tests="SLOT-34 SLOT-22", comment="a plugin that failed in its first session takes part in the second")
    b = box("S21 no slot", Box.symmetric)
    opened("S21", "nothing-to-hand-over", b, "wrongKey", failing=["stand"], sessions=[], tests="SLOT-22 SLOT-34",
           comment="a plugin that was not started has not failed")
    b = box("S24", lambda b: STAND.slot(b, slot_id=hidden_id("S24")), capacity=512)
    opened("S24", "hidden", b, answers=[STAND.answer(b)], sessions=[("stand", 1)], tests="SLOT-26 SLOT-32 SLOT-34",
           comment="a hidden slot is handed over in the second session, which is the only one")
    b = box("S24 unknown", STAND.slot, capacity=512)
    opened("S24", "recipient-not-known", b, identities=[STAND.identity], answers=[STAND.answer(b)], sessions=[("stand", 1)],
           tests="SLOT-32 SLOT-34", comment="the recipient is not known: an ID never excludes a slot")


def limits():
    foreign = [lambda b, i=i: PluginKey("foreign", i).slot(b) for i in range(200)]
    b = box("S22", *foreign, STAND.slot, capacity=65536)
    opened("S22", "200-before-and-known", b, answers=[STAND.answer(b)], sessions=[("stand", 1)], tests="SLOT-32 SLOT-33 SLOT-34",
           comment="200 slots of others, and the recipient is known")
    opened("S22", "200-before-and-not-known", b, "limitExceeded", identities=[STAND.identity], answers=[STAND.answer(b)],
           sessions=[("stand", 32)], tests="SLOT-33 SLOT-22", comment="the same where the recipient is not known")
    b = box("S22 20", *foreign[:20], STAND.slot, capacity=8192)
    opened("S22", "20-before-and-an-old-recipient", b, identities=[f"{STAND.identity} {OLD.text}"], answers=[STAND.answer(b)],
           sessions=[("stand", 21)], tests="SLOT-32 SLOT-34", comment="only an old recipient is known: the second session opens it")
    b = box("S22 matched", *foreign[:20], OLD.slot, STAND.slot, capacity=8192)
    opened("S22", "an-old-slot-and-a-new-one", b, identities=[f"{STAND.identity} {OLD.text}"], answers=[STAND.answer(b)],
           sessions=[("stand", 1), ("stand", 21)], tests="SLOT-32 SLOT-34",
           comment="the matched slot does not open, so there is a second session for the others")
    def dead(i):
        return lambda b: (STAND.slot(b, stanzas=stanza(["s", str(i)], b""))[:-72] + bytes(72))
    b = box("S23", *map(dead, range(1000)), STAND.slot, capacity=2**18)
    opened("S23", "1000-with-the-id", b, "limitExceeded", answers=[STAND.answer(b)], sessions=[("stand", 32)],
           tests="SLOT-33 SLOT-22", comment="a thousand slots with the recipient's ID: 32 are handed over")
    b = box("S23 32nd", *map(dead, range(31)), STAND.slot, *map(dead, range(31, 200)), capacity=2**18)
    opened("S23", "the-32nd-opens", b, answers=[STAND.answer(b)], sessions=[("stand", 32)], tests="SLOT-33",
           comment="the last one that is handed over opens")
    for limit, result in ((0, "limitExceeded"), (1, "limitExceeded"), (2, "intact")):
        b = box(f"S23 limit {limit}", lambda b: STAND.slot(b, "dead"), STAND.slot)
        opened("S23", f"limit-{limit}", b, result, answers=[STAND.answer(b)], limits={"max-stanza-slots": limit},
               sessions=[("stand", limit)] if limit else [], tests="SLOT-33" + (" SLOT-22" if limit < 2 else ""),
               comment="the caller's own limit; the second slot opens")
    b = box("S23 equal", *[lambda b: STAND.slot(b, "dead")] * 40, STAND.slot, capacity=16384)
    opened("S23", "40-equal-ones-before", b, answers=[STAND.answer(b)], sessions=[("stand", 2)], tests="SLOT-33",
           comment="slots of equal bytes count once, and are handed over once")
    b = box("S23 failing", *[lambda b, i=i: STAND.slot(b, str(i)) for i in range(2)])
    unusable = [lambda b, i=i: STAND.slot(b, stanzas=b"-> x\n" + b"A" * 64 + b"\n%d" % i) for i in range(40)]
    others = [lambda b, i=i: raw_slot(kind, STAND.slot_id(b), bytes([i])) for i in range(40) for kind in (3, 4, 7000)]
    u = box("S23 unusable", *unusable, *others, STAND.slot, capacity=16384)
    opened("S23", "40-unusable-ones-before", u, answers=[STAND.answer(u)], sessions=[("stand", 1)],
           tests="SLOT-29 SLOT-33", comment="slots that are not usable, and those of other types, do not count")
    opened("S23", "40-unusable-ones-before-and-not-known", u, identities=[STAND.identity], answers=[STAND.answer(u)],
           sessions=[("stand", 1)], tests="SLOT-29 SLOT-33", comment="nor among those that are not matched")
    several_plugins()
    two_copies()
    opened("S23", "left-out-and-the-plugin-fails", b, "limitExceeded", failing=["stand"], limits={"max-stanza-slots": 1},
           sessions=[("stand", 1)], tests="SLOT-22", comment="a slot that is left out gives the name first")


def several_plugins():
    """Slots that are left out for one plugin and handed to another (SLOT-33)."""
    dead = [lambda b, i=i: OLD.slot(b, str(i)) for i in range(32)]
    b = box("S23 several", *dead, STAND.slot, capacity=16384)
    both = [f"{STAND.identity} {OLD.text} {STAND.text}", f"{OTHER.identity} {STAND.text}"]
    sent = [("stand", 32), ("other", 1), ("other", 32)]
    opened("S23", "left-out-for-one-plugin", b, "limitExceeded", identities=both, sessions=sent, tests="SLOT-22 SLOT-33",
           comment="the last slot is left out for the first plugin, and the second does not open it: a reader that looks "
                   "only at slots that no plugin got says wrongKey")
    opened("S23", "left-out-for-one-plugin-and-the-other-opens", b, identities=both, sessions=sent[:2], tests="SLOT-33",
           answers=[("stanza-answer", STAND.answer(b)[1].replace("stand", "other", 1))],
           comment="the last slot is left out for the first plugin, and the second opens it")
    opened("S23", "left-out-for-one-plugin-and-the-other-fails", b, "limitExceeded", identities=both, failing=["other"],
           sessions=sent, tests="SLOT-22 SLOT-33", comment="a slot that is left out gives the name before a plugin that failed")


def two_copies():
    """The counts of SLOT-33 for the copies of one container."""
    slots = [lambda b, i=i: PluginKey("foreign", i).slot(b) for i in range(64)]
    b = box("S23 copies", *slots[:32], capacity=16384)
    b.tail = b.copy(slots=[*(each(b) for each in slots[33:]), STAND.slot(b)], generation=2)
    opened("S23", "each-copy-counts-alone", b, "wrongKey", seek="rotationUnfinished", identities=[STAND.identity],
           answers=[STAND.answer(b)], sessions=[("stand", 64)], tests="SLOT-33 SLOT-34 SEEK-17",
           comment="32 slots in each copy are handed over: a reader that counts over both leaves half of them out")
    b = box("S23 within", lambda b: STAND.slot(b, "dead"), STAND.slot)
    b.tail = b.copy(slots=[b.slots[1]], generation=2)
    opened("S23", "within-the-limit-in-one-copy", b, "limitExceeded", seek="rotationUnfinished", answers=[STAND.answer(b)],
           limits={"max-stanza-slots": 1}, sessions=[("stand", 2)], tests="SLOT-33 SLOT-20 SEEK-17",
           comment="a slot that is within the limit in one copy is handed over wherever it is")
    b = box("S23 out", lambda b: STAND.slot(b, "0"), STAND.slot)
    b.tail = b.copy(slots=[STAND.slot(b, "1"), b.slots[1]], generation=2)
    opened("S23", "left-out-in-both-copies", b, "limitExceeded", answers=[STAND.answer(b)], limits={"max-stanza-slots": 1},
           sessions=[("stand", 2)], tests="SLOT-33 SLOT-22",
           comment="each copy is judged alone: its second slot is left out in both")


def forged_copies():
    """SEEK-16: an outsider puts an old slot into one copy, and the trials begin again with the valid one."""
    def forged(name, old, *new, known=(), generation=2):
        b = box(f"S29 {name}", *new)
        b.tail = summed(b.copy(slots=[each(b) for each in old], generation=generation)[:-64] + bytes(64))
        return b
    b = forged("together", [OLD.slot], STAND.slot)
    opened("S29", "answered-together", b, "tailDamaged", identities=[STAND.identity], sessions=[("stand", 2)],
           answers=[OLD.answer(b), STAND.answer(b)], tests="SEEK-16 SEEK-17 SLOT-34 STR-25",
           comment="one session gives the secrets of both slots. The old one opens, and is in no valid copy. The other "
                   "opens by what the plugin has given before: a reader that tries only what a new session gives is headerForged")
    b = forged("apart", [OLD.slot], STAND.slot)
    opened("S29", "answered-apart", b, "tailDamaged", identities=[f"{STAND.identity} {OLD.text}"],
           answers=[OLD.answer(b), STAND.answer(b)], sessions=[("stand", 1), ("stand", 1)],
           tests="SEEK-16 SEEK-17 SLOT-34 STR-25",
           comment="the old slot is matched and opens in the first session; the slot of the valid copy needs a second one")
    b = forged("same", [OLD.slot, STAND.slot], STAND.slot)
    opened("S29", "in-both-copies", b, "tailDamaged", identities=[STAND.identity], sessions=[("stand", 2)],
           answers=[OLD.answer(b), STAND.answer(b)], tests="SEEK-16 SEEK-17 SLOT-34 SLOT-18 STR-25",
           comment="the forged copy has the new slot too: it is not handed over again")
    b = forged("nothing", [OLD.slot], STAND.slot)
    opened("S29", "the-new-slot-does-not-open", b, "wrongKey", seek="headerForged", identities=[STAND.identity],
           answers=[OLD.answer(b)], sessions=[("stand", 2)], tests="SEEK-16 SLOT-34",
           comment="nobody is asked again for the slot of the valid copy")
    b = forged("left out", [OLD.slot, lambda b: OLD.slot(b, "2")], lambda b: STAND.slot(b, "1"), STAND.slot)
    opened("S29", "the-new-slot-is-left-out", b, "limitExceeded", seek="headerForged", identities=[STAND.identity],
           limits={"max-stanza-slots": 1}, answers=[OLD.answer(b), STAND.answer(b)], sessions=[("stand", 2)],
           tests="SEEK-16 SLOT-33", comment="a slot that is left out does not change the name headerForged")
    b = forged("fails", [OLD.slot], STAND.slot)
    opened("S29", "the-second-session-fails", b, "pluginFailed", seek="headerForged",
           identities=[f"{STAND.identity} {OLD.text}"], sessions=[("stand", 1), ("stand", 1)],
           answers=[OLD.answer(b), STAND.answer(b, secret=bytes(15))], tests="SEEK-16 SLOT-34",
           comment="the plugin fails for the slot of the valid copy: headerForged, and not pluginFailed")
    both = [STAND.identity, OTHER.identity]
    b = forged("two plugins", [OLD.slot], OTHER.slot)
    opened("S29", "by-another-plugin", b, "tailDamaged", identities=both, answers=[OLD.answer(b), OTHER.answer(b)],
           sessions=[("stand", 2), ("other", 1)], tests="SEEK-16 SEEK-17 SLOT-34 STR-25",
           comment="the first plugin got both slots and opens the old one; the second gets only the slot of the valid copy")


def sessions():
    forged_copies()
    second = PluginKey("stand", 3)
    b = box("S26", *[lambda b, i=i: PluginKey("foreign", i).slot(b) for i in range(5)], second.slot)
    opened("S26", "two-known-recipients", b, identities=[f"{STAND.identity} {STAND.text} {second.text}"],
           answers=[second.answer(b)], sessions=[("stand", 1)], tests="SLOT-32 SLOT-34",
           comment="a slot of the second known recipient is matched")
    b = box("S27", STAND.slot)
    b.tail = b.copy(slots=[b.slots[0], OLD.slot(b)], generation=2)
    opened("S27", "in-both-copies", b, "rotationUnfinished", answers=[STAND.answer(b)], sessions=[("stand", 1)],
           tests="SLOT-33 SLOT-34 SEEK-17", comment="the same slot in both copies is handed over once")
    opened("S27", "all-copies-in-one-session", b, "wrongKey", seek="rotationUnfinished", identities=[STAND.identity],
           answers=[OLD.answer(b)], sessions=[("stand", 2)], tests="SLOT-34 SEEK-17",
           comment="one session gets the slots of both copies; the stream has only the front")
    b = box("S28", *[lambda b, i=i: STAND.slot(b, str(i)) for i in range(32)], OTHER.slot, capacity=16384)
    both = [STAND.known, OTHER.known]
    opened("S28", "32-dead-ones-of-another-plugin", b, identities=both, answers=[OTHER.answer(b)],
           sessions=[("stand", 32), ("other", 1)], tests="SLOT-33 SLOT-34", comment="each plugin has a count of its own")
    b = box("S28 two", OTHER.slot, STAND.slot)
    answers = [STAND.answer(b), OTHER.answer(b)]
    opened("S28", "the-first-plugin-opens", b, identities=both, answers=answers, sessions=[("stand", 1)], tests="SLOT-34",
           comment="the plugin whose identity is given first opens its slot, and the other is not started")
    opened("S28", "the-other-order", b, identities=both[::-1], answers=answers, sessions=[("other", 1)], tests="SLOT-34",
           comment="the same with the identities in the other order")
    opened("S28", "one-plugin-fails", b, identities=both, answers=answers, failing=["stand"],
           sessions=[("stand", 1), ("other", 1)], tests="SLOT-34 PLUG-7", comment="one plugin fails, and the other opens")
    b = box("S28 not matched", OTHER.slot)
    opened("S28", "not-matched-goes-to-both", b, identities=[STAND.known, OTHER.identity], answers=[OTHER.answer(b)],
           sessions=[("stand", 1), ("other", 1)], tests="SLOT-32 SLOT-34",
           comment="a slot that is matched for no plugin is handed to each in turn")
    opened("S28", "two-identities-of-one-plugin", b, identities=[OTHER.identity, PluginKey("other", 2).identity],
           answers=[OTHER.answer(b)], sessions=[("other", 1)], tests="SLOT-34", comment="one session for both identities")
