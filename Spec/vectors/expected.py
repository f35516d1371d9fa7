"""The state of the header that a caller requires (ARG-6): readers (D25), changes (I23) and recover (I19)."""

import copy

from forge import Box, draw, flip, key_id, patched
from vector import operation, recovery, vector

OLDER = "a header that the container once had was put back"


def make():
    readers()
    copies_of_two_states()
    changes()
    changes_of_two_states()
    recoveries()


class States:
    """One container in several states of its header. The key `removed` had a slot before generation 2."""

    def __init__(self, seed, *, capacity=4096, plaintext=700, compression=0):
        self.box = Box(seed, plaintext, capacity=capacity, compression=compression)
        self.removed = draw(seed, "removed key", 32)
        own, gone = self.box.symmetric(), self.box.symmetric(self.removed)
        self.own, self.gone = own, gone
        self.first = self.box.copy(slots=[gone, own], generation=1)
        self.second = self.box.copy(slots=[own], generation=2)
        self.other = self.box.copy(slots=[gone, own], generation=2)
        self.third = self.box.copy(slots=[own, self.box.symmetric(draw(seed, "new key", 32))], generation=3)

    def container(self, front, tail=None):
        """The container with these copies."""
        made = copy.copy(self.box)
        made.front, made.tail = front, front if tail is None else tail
        return made

    def expect(self, header, *, commitment=True, generation=True, mac=True):
        """The state of a header copy as a vector has it."""
        parts = (self.box.commitment.hex() if commitment else "-",
                 str(int.from_bytes(header[68:72], "big")) if generation else "-",
                 header[-64:-32].hex() if mac else "-")
        return " ".join(parts)


def readers():
    for kind, compression in (("", 0), ("packed-", 1)):
        s = States(f"D25 {kind}", compression=compression)
        second = s.expect(s.second)
        for name, front, result, what in (
                ("the-state", s.second, "intact", "the state that the caller remembers"),
                ("a-later-state", s.third, "intact", "a later generation, of whatever MAC"),
                ("an-older-state", s.first, "unexpectedState", OLDER),
                ("another-of-the-generation", s.other, "unexpectedState",
                 "a rotation of a header that was put back has the generation, and not the MAC")):
            vector("D25", kind + name, s.container(front), stream=result, expect=second, tests="ARG-6", comment=what)
    least = s.expect(s.second, mac=False)
    vector("D25", "the-least-generation", s.container(s.other), stream="intact", expect=least, tests="ARG-6",
           comment="only a least generation is required, and the MAC may be any")
    vector("D25", "below-the-least-generation", s.container(s.first), stream="unexpectedState", expect=least,
           tests="ARG-6", comment="one below the least generation")
    vector("D25", "another-container", Box("D25 another"), stream="unexpectedState", expect=second, tests="ARG-6",
           comment="another container under the same name, which the key opens too")
    forged = s.box.copy(slots=[s.own], generation=2, mac_key=bytes(32))
    vector("D25", "forged", s.container(forged), stream="headerForged", expect=second, tests="ARG-6 SEEK-16 STR-8",
           comment="no copy is valid, so the state of none is judged")
    vector("D25", "by-the-wrong-key", s.container(s.first), stream="wrongKey", expect=second, tests="ARG-6",
           keys=[draw("D25", "wrong key", 32)], comment="who cannot open the container learns nothing of its state")


def copies_of_two_states():
    s = States("D25 two")
    second = s.expect(s.second)
    vector("D25", "older-front", s.container(s.first, s.second), stream="unexpectedState", seek="frontDamaged",
           expect=second, tests="ARG-6 SEEK-17",
           comment="the front counts as not valid: a stream has nothing else, a seeking reader has the tail")
    vector("D25", "older-tail", s.container(s.second, s.first), stream="tailDamaged", expect=second,
           tests="ARG-6 SEEK-17 STR-25", comment="the tail counts as not valid; without a state it is a conflict")
    vector("D25", "unfinished", s.container(s.second, s.third), stream="rotationUnfinished", expect=second,
           tests="ARG-6 SEEK-17 STR-26", comment="both copies are accepted: a rotation that was interrupted")
    vector("D25", "other-tail", s.container(s.second, s.other), stream="tailDamaged", expect=second,
           tests="ARG-6 SEEK-17 STR-25", comment="the tail has the generation, and another MAC")
    vector("D25", "older-front-by-the-removed-key", s.container(s.first, s.second), stream="unexpectedState",
           seek="headerForged", keys=[s.removed], expect=second, tests="ARG-6 SEEK-16",
           comment="the slot that opens is in no copy that counts")
    damaged = s.container(s.first, flip(s.second, 100))
    vector("D25", "older-front-and-damaged-tail", damaged, stream="unexpectedState", expect=second, tests="ARG-6",
           comment="the only valid copy is older")


def changes():
    s = States("I23")
    b, second, new = s.box, s.expect(s.second), draw("I23", "new key", 32)
    adding = dict(add=[(new,)], new=[b.symmetric(new)])
    # A new container needs more random bytes than a slot, and is made only once everything is checked.
    fresh = Box("I23 fresh", b.plaintext, capacity=512, user_key=b.user_key)
    sealing = dict(add=[(b.user_key,)], new=[fresh.file_key, fresh.file_id, *fresh.slots],
                   remove=[f"id {key_id(s.removed).hex()}"])
    for what, more in (("rotate", adding), ("repair", {}), ("reencrypt", sealing)):
        for name, front in (("an-older-state", s.first), ("another-of-the-generation", s.other)):
            operation("I23", f"{what}-{name}", s.container(front), what, **more, expect=second,
                      result="unexpectedState", tests="ARG-6",
                      comment="nothing is written: the slots that were put back would be in the newest header")
    slots = [s.own, b.symmetric(new)]
    placed = "ROT-20 ROT-21 ARG-6"
    operation("I23", "rotate-the-state", s.container(s.second), "rotate", **adding, expect=second, written="in place",
              after=state(b, slots, 3), tests=placed, comment="the state that the caller remembers")
    operation("I23", "rotate-the-least-generation", s.container(s.other), "rotate", **adding, written="in place",
              expect=s.expect(s.second, mac=False), after=state(b, [s.gone, *slots], 3), tests=placed,
              comment="only a least generation is required: the slot that was put back stays")
    operation("I23", "repair-the-state", s.container(s.second), "repair", expect=second, after=b"", written="nothing",
              tests="ARG-6 REP-2", comment="nothing to repair")
    operation("I23", "reencrypt-the-state", s.container(s.second), "reencrypt", **sealing, expect=second,
              after=fresh.bytes(), written="copy", tests="ARG-6 REENC-3", comment="the state that the caller remembers")


def changes_of_two_states():
    s = States("I23 two")
    b, second, new = s.box, s.expect(s.second), draw("I23 two", "new key", 32)
    adding = dict(add=[(new,)], new=[b.symmetric(new)])
    older_front, older_tail = s.container(s.first, s.second), s.container(s.second, s.first)
    good = s.container(s.second).bytes()
    for name, mixed in (("front", older_front), ("tail", older_tail)):
        operation("I23", f"repair-an-older-{name}", mixed, "repair", expect=second, after=good, written="in place",
                  tests="ARG-6 REP-2 ROT-9", comment=f"the {name} counts as not valid, and is replaced")
        operation("I23", f"rotate-an-older-{name}", mixed, "rotate", **adding, expect=second, written="in place",
                  after=state(b, [s.own, b.symmetric(new)], 3), tests="ARG-6 ROT-9 ROT-11",
                  comment="the slots are those of the other copy")
        operation("I23", f"keep-an-older-{name}", mixed, "repair", keep=name, expect=second, result="headerDamaged",
                  tests="ARG-6 ROT-6", comment="the copy that the caller names is not valid for them")
    operation("I23", "repair-an-older-tail-and-footer", older_tail, "repair", expect=second, after=good,
              data=flip(older_tail.bytes(), -3), written="in place", tests="ARG-6 REP-5 REP-6",
              comment="the tail at T counts as not valid, and is replaced")
    operation("I23", "repair-an-older-front-and-footer", older_front, "repair", expect=second,
              data=flip(older_front.bytes(), -3), result="footerDamaged", tests="ARG-6 REP-4",
              comment="the front has to be read, and is not of the state")
    fresh = Box("I23 two fresh", b.plaintext, capacity=512, user_key=b.user_key)
    sealing = dict(add=[(b.user_key,)], new=[fresh.file_key, fresh.file_id, *fresh.slots])
    operation("I23", "reencrypt-an-older-tail", older_tail, "reencrypt", **sealing, result="consentNeeded",
              tests="REENC-5", comment="without a state, the slot in the older copy is lost")
    operation("I23", "reencrypt-an-older-tail-by-its-state", older_tail, "reencrypt", **sealing, expect=second,
              after=fresh.bytes(), written="copy", tests="ARG-6 REENC-5",
              comment="the older copy counts as not valid, so its slots are none")


def state(b, slots, generation):
    """The container with these slots in both copies."""
    after = copy.copy(b)
    return after.both_copies(slots=slots, generation=generation).bytes()


def recoveries():
    s = States("I19 states")
    second = s.expect(s.second)
    tail = s.box.t
    recovery("the-state", s.container(s.second), expect=second, tests="ARG-6", comment="the state that is remembered")
    recovery("an-older-state", s.container(s.first), expect=second, result="unexpectedState", tests="ARG-6 RECOV-5",
             comment=OLDER)
    recovery("an-older-state-and-no-footer", s.container(s.other), expect=second, result="unexpectedState",
             data=flip(s.container(s.other).bytes(), -3), tests="ARG-6 RECOV-5", comment=OLDER)
    recovery("an-older-front", s.container(s.first, s.second), expect=second, tests="ARG-6 RECOV-3",
             comment="the tail counts")
    recovery("an-older-front-named", s.container(s.first, s.second), header=0, expect=second,
             result="unexpectedState", tests="ARG-6 RECOV-6", comment="the copy that the caller names does not count")
    other = Box("I19 other states", 700, capacity=4096, user_key=s.box.user_key)
    data = patched(s.container(s.second).bytes(), tail, other.tail)
    recovery("two-containers-and-a-state", s.container(s.second), data=data, expect=second, tests="ARG-6 RECOV-6",
             comment="only one of the two containers is the one that is remembered, so nobody has to choose")
