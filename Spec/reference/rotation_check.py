"""Random changes of random containers, and a crash after every write:
python3 Spec/reference/rotation_check.py [SECONDS]

Each round makes a container and does a few rotations, repairs and re-encryptions with it, with damage in between.
After each of them, the promises of chapters 13 and 14 must hold. Wherever the writes could have stopped, between two or
in the middle of one, the container must open with the right plaintext, and the same operation must finish.
"""

import random as chance
import sys
import time
from typing import Iterator, Optional

import primitives as p
from errors import VaultError
from header import Header, intact_copy, parse_form
from opening import COPIES_CONFLICT, FRONT_DAMAGED, INTACT, ROTATION_UNFINISHED, TAIL_DAMAGED
from rotation import (FRONT, TAIL, Change, Changed, Copy, Options, Secret, Step, Write, applied, reencrypt, repair,
                      rotate)
from seek_reader import Container, open_container
from slots import Secrets
from vaultfile_reference import seeded
from writer import OtherSlot, PassphraseSlot, SymmetricSlot, container_bytes

KEYS = [SymmetricSlot(bytes([number]) * 32) for number in range(1, 7)]
PASSPHRASES = [PassphraseSlot(text, 1, 8) for text in (b"one", b"two", b"three")]
OTHERS = [OtherSlot(9, bytes(16), b"unknown"), OtherSlot(0x8001, bytes([1] * 16), bytes(300)),
          OtherSlot(9, bytes(16), b"")]
SECTOR = 512


def secrets_of(*all_of_them: Secret, context: bytes) -> Secrets:
    return Secrets(tuple(one.key for one in all_of_them if isinstance(one, SymmetricSlot)),
                   tuple(one.passphrase for one in all_of_them if isinstance(one, PassphraseSlot)), context)


def opens(data: bytes, secrets: Secrets) -> Optional[Container]:
    try:
        return open_container(data, secrets)
    except VaultError:
        return None


class Subject:
    """A container under change: its present state, and what must not be lost."""

    def __init__(self, dice: chance.Random, seed: str) -> None:
        self.dice, self.seed, self.count = dice, seed, 0
        self.context = dice.choice([b"", b"context"])
        self.plaintext = dice.randbytes(dice.choice([0, 1, 700, 4096, 9000]))
        capacity = dice.choice([512, 1024, 4096, 4096, 8192])
        others = [one for one in OTHERS if dice.random() < 0.3]
        # Compression too, because changes copy or unpack what they find.
        self.data = container_bytes(
            self.plaintext, [KEYS[0], *others], capacity=max(capacity, 1024 if others else 512), log2_chunk=12,
            context=self.context, digest=dice.random() < 0.5, compression=dice.choice([0, 0, 1]),
            generation=dice.choice([1, 1, 7, p.MAX_GENERATION - 2]), random=self.draw, weak_stretching=True)
        self.insider: Secret = KEYS[0]  # opens before every operation
        self.left: list[bytes] = []  # what a crash of the previous operation could have left

    def draw(self, n: int) -> bytes:
        self.count += 1
        return seeded(f"{self.seed} {self.count}")(n)

    def all_secrets(self) -> Secrets:
        return secrets_of(*KEYS, *PASSPHRASES, context=self.context)

    def right(self, data: bytes, secrets: Secrets) -> Optional[str]:
        """The health, if it opens with the right plaintext."""
        container = opens(data, secrets)
        if container is None or b"".join(container.read_whole()) != self.plaintext:
            return None
        return container.health


def copies(data: bytes) -> list[Header]:
    """The intact copies, of a container whose footer is right."""
    capacity = int.from_bytes(data[-16:-12], "big")
    at = len(data) - p.FOOTER_SIZE - capacity
    return [parse_form(copy) for copy in (intact_copy(data[:capacity]), intact_copy(data[at:at + capacity])) if copy]


def stops(data: bytes, steps: list[Step], dice: chance.Random) -> Iterator[bytes]:
    """What a crash can leave: after each write, and with some sectors of it not written."""
    for number, step in enumerate(steps):
        before = applied(data, steps[:number])
        if isinstance(step, Write):
            for _ in range(3):
                torn = before
                for at in range(0, len(step.data), SECTOR):
                    if dice.random() < 0.5:
                        torn = applied(torn, [Write(step.offset + at, step.data[at:at + SECTOR])])
                yield torn
        yield applied(before, [step])


def damage(subject: Subject) -> bytes:
    """The container with one of its copies or its end damaged."""
    data, dice = subject.data, subject.dice
    capacity = int.from_bytes(data[64:68], "big")
    tail = len(data) - p.FOOTER_SIZE - capacity
    at = dice.choice([dice.randrange(capacity), dice.randrange(tail, len(data)), len(data) - 1 - dice.randrange(32)])
    if dice.random() < 0.2:
        return data[:max(at, tail)]
    return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1:]


def damaged_copy(subject: Subject) -> bytes:
    """The container with a sector of one of its copies damaged."""
    capacity = int.from_bytes(subject.data[64:68], "big")
    place = subject.dice.choice([0, len(subject.data) - p.FOOTER_SIZE - capacity])
    at = place + SECTOR * subject.dice.randrange(capacity // SECTOR)
    return applied(subject.data, [Write(at, b"spoiled")])


def random_change(subject: Subject) -> Change:
    dice = subject.dice
    add = tuple(dice.choice(KEYS + PASSPHRASES) for _ in range(dice.randrange(4)))
    ids = tuple(p.key_id(dice.choice(KEYS).key) for _ in range(dice.randrange(2)))
    passphrases = tuple(dice.choice(PASSPHRASES).passphrase for _ in range(dice.randrange(2)))
    return Change(add, ids, passphrases, dice.random() < 0.15)


def check_rotated(before: Header, changed: Changed, change: Change, subject: Subject) -> Iterator[str]:
    header = copies(changed.container)[0]
    slots = [slot.raw for slot in header.slots]
    if header.raw != before.raw and slots != [slot.raw for slot in before.slots]:
        if header.generation <= before.generation:
            yield "the generation has not risen"
    stay = [slot.raw for slot in before.slots if slot.raw in slots]
    if slots[:len(stay)] != stay:
        yield "the slots that stay are not in their order before the others"
    for secret in change.add:
        if subject.right(changed.container, secrets_of(secret, context=subject.context)) != INTACT:
            yield "what was added does not open"
    if change.remove_others and len(slots) > len(set(change.add)):
        yield "others are left"
    gone = [key for key in KEYS if p.key_id(key.key) in change.remove_ids]
    gone += [one for one in PASSPHRASES if one.passphrase in change.remove_passphrases]
    for secret in gone:
        if secret not in change.add and opens(changed.container, secrets_of(secret, context=subject.context)):
            yield "what was removed opens"


def check_reencrypted(before: Header, changed: Changed, change: Change, recipients: tuple[Secret, ...]) -> Iterator[str]:
    """Without consent, nothing is lost but what was named (REENC-6)."""
    named = set(change.remove_ids)
    kept = {p.key_id(one.key) for one in recipients if isinstance(one, SymmetricSlot)}
    for slot in before.slots:
        if slot.type == p.SLOT_SYMMETRIC and not change.remove_others and slot.key_id not in named | kept:
            yield "reencrypt: a slot that was not named is lost"
    if len(copies(changed.container)[0].slots) != len(recipients):
        yield "reencrypt: other slots than those of the recipients"


def symmetric_ids(changed: Changed) -> list[bytes]:
    return sorted(slot.key_id for slot in copies(changed.container)[0].slots if slot.type == p.SLOT_SYMMETRIC)


def check_operation(subject: Subject) -> Iterator[str]:
    """Does one operation on the container; the subject is then what the operation left."""
    dice = subject.dice
    hand = secrets_of(subject.insider, context=subject.context)
    kind = dice.choice(["rotate", "rotate", "rotate", "repair", "keep", "reencrypt"])
    start, repaired = subject.data, subject.data
    if subject.left and dice.random() < 0.4:  # on what a crash has left, with all keys
        start, hand = dice.choice(subject.left), subject.all_secrets()
        repaired = repair(start, hand).container
    elif kind in ("repair", "keep") and dice.random() < 0.8:
        start = damage(subject)
    elif kind == "rotate" and dice.random() < 0.4:
        start = damaged_copy(subject)
    before = copies(repaired)[0]
    subject.left = []
    change = random_change(subject)
    options = Options(consent=dice.random() < 0.5, keep=dice.choice([FRONT, TAIL]) if kind == "keep" else None)
    recipients = tuple(dict.fromkeys(change.add)) or (subject.insider,)

    def run(data: bytes, secrets: Secrets) -> Changed:
        if kind == "rotate":
            return rotate(data, secrets, change, subject.draw, options)
        if kind == "reencrypt":
            return reencrypt(data, secrets, change._replace(add=recipients), subject.draw, options)
        return repair(data, secrets, options)

    try:
        changed = run(start, hand)
    except VaultError as error:
        allowed = {"rotate": {"lastSlot", "consentNeeded", "doesNotFit", "generationExhausted"},
                   "reencrypt": {"consentNeeded", "doesNotFit"}, "repair": set(),
                   "keep": {"headerDamaged", "generationExhausted"}}[kind]
        if error.name not in allowed and start == subject.data:
            yield f"{kind}: {error}"
        if error.name not in allowed | {"footerDamaged", "notVaultfile", "headerDamaged", "wrongKey", "truncated"}:
            yield f"{kind} after damage: {error}"
        return

    finisher = subject.all_secrets()
    if subject.right(changed.container, finisher) != INTACT:
        if any(slot.type in (1, 2) for slot in copies(changed.container)[0].slots):
            yield f"{kind}: the result does not open intact"
        return
    if kind == "rotate":
        yield from check_rotated(before, changed, change, subject)
    elif kind == "repair" and changed.container != repaired:
        yield "repair: not the container that it was"
    elif kind == "reencrypt":
        if changed.container[16:64] == subject.data[16:64]:
            yield "reencrypt: the same file ID or commitment"
        if not options.consent:
            yield from check_reencrypted(before, changed, change, recipients)

    for stopped in stops(start, changed.steps, dice):
        health = subject.right(stopped, finisher)
        if health is None:
            if subject.right(start, finisher) is not None:  # it may not have opened before its end was repaired
                yield f"{kind}: lost at a crash"
            continue
        if health != COPIES_CONFLICT and kind != "reencrypt" and subject.right(start, finisher) is not None:
            subject.left.append(stopped)
        if health not in (INTACT, ROTATION_UNFINISHED, FRONT_DAMAGED, TAIL_DAMAGED) and kind != "keep":
            yield f"{kind}: {health} at a crash"
        if kind in ("rotate", "repair") and health == COPIES_CONFLICT:
            continue
        if kind != "reencrypt":
            try:
                again = run(stopped, finisher)
            except VaultError as error:
                if error.name not in ("headerDamaged", "generationExhausted"):
                    yield f"{kind}: after a crash {error}"
                continue
            if symmetric_ids(again) != symmetric_ids(changed):  # a slot that is removed and added may change its place
                yield f"{kind}: done again after a crash, it ends with other slots"

    header = copies(changed.container)[0]
    who = [one for one in KEYS + PASSPHRASES
           if subject.right(changed.container, secrets_of(one, context=subject.context)) is not None]
    subject.data = changed.container
    if who:
        subject.insider = dice.choice(who)
    assert header.slots


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    deadline = time.monotonic() + seconds
    rounds = operations = failed = 0
    while time.monotonic() < deadline or rounds < 20:
        subject = Subject(chance.Random(rounds), f"round {rounds}")
        for _ in range(6):
            operations += 1
            found = list(check_operation(subject))
            failed += bool(found)
            for problem in found:
                print(f"round {rounds}, operation {operations}: {problem}")
            # The round ends at a container that none of the secrets here opens.
            if subject.right(subject.data, secrets_of(subject.insider, context=subject.context)) is None:
                break
        rounds += 1
    print(f"{operations - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
