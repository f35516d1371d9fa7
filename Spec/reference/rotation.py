"""Rotation, repair and re-encryption, on bytes (OPERATIONS.md, 13 and 14).

Each operation takes a container and returns the container that it leaves, and the writes that lead to it, in order.
Locks, syncs, hard links and file names are not covered: a function of bytes has none.
"""

import io
from typing import Generator, NamedTuple, Optional, Union

import primitives as p
from errors import VaultError, require
from header import Header, Slot, build_copy, intact_copy, least_capacity, mac_is_right, parse_form
from layout import build_footer, tail_offset
from manifest import NAME, SIGNATURES
from opening import COPIES_CONFLICT, check_copies, health_of
from public_slots import AnyIdentity, Identity, PluginIdentity, Recipient, enc_of, is_hidden, is_usable, opened_with
from recipient_slots import RecipientSlot, check_recipients, made_slot, opened_by_writer
from seek_reader import Container, Source, judge, take_reading
from slots import Limits, Secrets, SlotTrials, check_secrets, fitting, trial_of
from stream_reader import Body, read_body
from writer import AnySlot, PassphraseSlot, Random, SymmetricSlot, build_any_slot, container_bytes, distinct

FRONT = "front"
TAIL = "tail"
# Below this capacity, both copies, payload and footer may share a block of the disk (ROT-28).
LEAST_IN_PLACE = 4096

Secret = Union[SymmetricSlot, PassphraseSlot, RecipientSlot]  # what gets a slot, with the cost of that slot


class Change(NamedTuple):
    """What a rotation or re-encryption adds and removes (ROT-13, REENC-6)."""

    add: tuple[Secret, ...] = ()
    remove_ids: tuple[bytes, ...] = ()
    remove_passphrases: tuple[bytes, ...] = ()
    remove_others: bool = False
    remove_recipients: tuple[Recipient, ...] = ()
    remove_identities: tuple[AnyIdentity, ...] = ()


class Options(NamedTuple):
    keep: Optional[str] = None  # the copy that the caller names, front or tail (ROT-6)
    consent: bool = False  # to everything that ROT-6, ROT-15, REENC-5 and SIG-9 ask for
    mixed: bool = False  # the caller's consent to MIX-2
    name: Optional[bytes] = None  # of a re-encryption: another name (member 0x8002) than the old one


class Write(NamedTuple):
    offset: int
    data: bytes


class Cut(NamedTuple):
    size: int  # everything behind is cut off


class Copy(NamedTuple):
    container: bytes  # a separate file, renamed over the old one


class HeaderFile(NamedTuple):
    data: Optional[bytes]  # the whole header file, which gets its name; None: the old one is removed (DET-8, DET-13)


Step = Union[Write, Cut, Copy, HeaderFile]


class Changed(NamedTuple):
    container: bytes
    steps: list[Step]
    differing: list[Slot]  # slots that only one valid copy has, shown first (ROT-7)
    lost: list[Slot]  # of a re-encryption: slots without a successor (REENC-5)
    header_file: Optional[bytes] = None  # the one that the operation leaves, if there is one


def applied(data: bytes, steps: list[Step]) -> bytes:
    for step in steps:
        if isinstance(step, Write):
            data = data[:step.offset].ljust(step.offset, b"\0") + step.data + data[step.offset + len(step.data):]
        elif isinstance(step, Cut):
            data = data[:step.size]
        elif isinstance(step, Copy):
            data = step.container
    return data


# Secrets at hand.

class Hand:
    """The secrets at hand, and which of them open which slots of one container."""

    def __init__(self, secrets: Secrets, change: Change = Change()) -> None:
        keys = secrets.keys + tuple(one.key for one in change.add if isinstance(one, SymmetricSlot))
        recipients = [one for one in change.add if isinstance(one, RecipientSlot)]
        passphrases = tuple(one.passphrase for one in change.add if isinstance(one, PassphraseSlot))
        identities = tuple(one.identity for one in recipients if one.identity is not None)
        self.secrets = secrets._replace(
            keys=tuple(dict.fromkeys(keys)),
            passphrases=tuple(dict.fromkeys(secrets.passphrases + passphrases + change.remove_passphrases)),
            identities=tuple(dict.fromkeys(secrets.identities + identities + change.remove_identities)))
        check_secrets(self.secrets)
        for one in recipients:
            one.check(secrets.has_x_wing)
        self.by_id = {p.key_id(key): key for key in self.secrets.keys}
        self.trials = SlotTrials(self.secrets)
        self.single: dict[Union[bytes, PluginIdentity], SlotTrials] = {}  # of a passphrase, or of a plugin's identity
        self.intact: list[Header] = []

    def judge_limits(self, intact: list[Header]) -> None:
        """SLOT-20, over all intact copies."""
        self.intact = intact
        self.trials.judge_limits(intact)

    def opens_copy(self, header: Header) -> bool:
        """ROT-5, ROT-6: a detached copy opens if the header file with which the body was opened is at hand (DET-8)."""
        return self.trials.header_file is not None if header.is_detached else self.open_any(header)

    def open_any(self, header: Header, slots: Optional[list[Slot]] = None) -> bool:
        """Whether a secret at hand opens one of the copy's slots; or one of the slots given, for which no plugin is
        asked."""
        if slots is None:
            return self.trials.open_first([header]) is not None
        return self.trials.open_first([header._replace(slots=tuple(slots))], ask_plugins=False) is not None

    def opens(self, header: Header, slot: Slot) -> bool:
        return self.open_any(header, [slot])

    def passphrase_opens(self, passphrase: bytes, header: Header, slot: Slot) -> Optional[bool]:
        """None if the slot is left out, so that the answer is unknown."""
        if slot.type != p.SLOT_PASSPHRASE:
            return False
        trials = self.alone(passphrase, passphrases=(passphrase,))
        opened = trials.open_first([header._replace(slots=(slot,))]) is not None
        trial = header.preamble + slot.raw
        return None if trial in trials.left_out | trials.no_memory else opened

    def alone(self, secret: Union[bytes, PluginIdentity], **given: tuple[Union[bytes, PluginIdentity], ...]) -> SlotTrials:
        """The trials with one secret."""
        if secret not in self.single:
            none = self.secrets._replace(keys=(), passphrases=(), identities=(), private_slot=None)
            self.single[secret] = SlotTrials(none._replace(**given))
            self.single[secret].judge_limits(self.intact)
        return self.single[secret]

    def identity_opens(self, identity: AnyIdentity, header: Header, slot: Slot) -> Optional[bool]:
        """None if the slot is left out, so that the answer is unknown."""
        trial = trial_of(header, slot)
        if isinstance(identity, PluginIdentity):
            if slot.type != p.SLOT_STANZAS:
                return False
            trials = self.alone(identity, identities=(identity,))
            for _ in trials.sessions.rounds([header]):  # all slots of the copy in these sessions
                pass
            require(not trials.sessions.plugin_failed({trial}), "pluginFailed")
            opened = trials.open_stanzas([header._replace(slots=(slot,))]) is not None
            return None if trials.sessions.left_out({trial}) else opened
        if not self.may_open(identity, header, slot):
            return False
        return self.opens_by(identity, header, slot) if trial in self.trials.within else None

    def may_open(self, identity: Identity, header: Header, slot: Slot) -> bool:
        """SLOT-25."""
        return slot.type == identity.type and is_usable(slot, self.secrets.has_x_wing) and (
            is_hidden(slot) or identity.recipient.key_id(header.preamble) == slot.key_id)

    def opens_by(self, identity: Identity, header: Header, slot: Slot) -> bool:
        given = opened_with(identity.shared_secret(enc_of(slot)), slot, header.preamble)
        return fitting(given, header.preamble, self.secrets.context) is not None

    def identities_of(self, recipient: Recipient) -> list[Identity]:
        """Those at hand, except plugins'."""
        return [one for one in self.secrets.identities if isinstance(one, Identity) and one.recipient == recipient]

    def is_theirs(self, recipient: Recipient, header: Header, slot: Slot) -> bool:
        """Whether an identity at hand of this recipient opens the slot. One that is left out counts as one that does
        not open (ROT-13)."""
        return any(self.identity_opens(one, header, slot) for one in self.identities_of(recipient))


# Step 2: open and judge.

class State(NamedTuple):
    """The result of opening that a change needs."""

    front: Optional[Header]  # if it is valid
    tail: Optional[Header]
    highest: int  # the highest generation of a copy with a right MAC, whether the caller expects it or not (ARG-6)
    file_key: bytes
    manifest_offset: int  # m
    manifest_length: int  # M

    @property
    def valid(self) -> list[Header]:
        return [header for header in (self.front, self.tail) if header is not None]

    @property
    def capacity(self) -> int:
        return self.valid[0].capacity

    @property
    def end(self) -> int:
        """The offset behind the manifest record."""
        return self.manifest_offset + self.manifest_length + p.RECORD_OVERHEAD

    @property
    def tail_offset(self) -> int:
        return tail_offset(self.capacity, self.manifest_offset, self.manifest_length)


def opened(data: bytes, hand: Hand) -> tuple[State, Container]:
    """ROT-3: SEEK-1 to SEEK-24."""
    source = Source(data)
    copies = judge(take_reading(source), hand.trials)
    container = Container(source, copies, hand.secrets)
    shape = copies.shape
    tail_at = tail_offset(shape.capacity, shape.manifest_offset, shape.manifest_length)
    front, tail = intact_copy(data), intact_copy(data[tail_at:])
    return state_of(front, tail, copies.file_key, shape.manifest_offset, shape.manifest_length, hand), container


def state_of(front: Optional[bytes], tail: Optional[bytes], file_key: bytes, manifest_offset: int,
             manifest_length: int, hand: Hand) -> State:
    headers = [parse_form(copy) if copy is not None else None for copy in (front, tail)]
    hand.judge_limits([header for header in headers if header is not None])
    made = [header for header in headers
            if header is not None and mac_is_right(header, file_key, hand.secrets.context)]
    valid = [header if header in made and hand.secrets.expected.is_met(header) else None for header in headers]
    highest = max((header.generation for header in made), default=0)
    return State(valid[0], valid[1], highest, file_key, manifest_offset, manifest_length)


def current_copy(state: State, hand: Hand, options: Options) -> Header:
    """ROT-3 to ROT-6."""
    if options.keep is not None:  # ROT-6
        named = state.front if options.keep == FRONT else state.tail
        require(named is not None, "headerDamaged", "the copy to be kept is not valid")
        assert named is not None
        require(options.consent or hand.opens_copy(named), "consentNeeded", "no secret opens the copy to be kept")
        return named
    require(health_of(state.front, state.tail) != COPIES_CONFLICT, "copiesConflict")  # ROT-4
    current = max(state.valid, key=lambda header: header.generation)  # the first of the highest: the front
    require(hand.opens_copy(current), "rotationUnfinished")  # ROT-5
    return current


def differing(state: State) -> list[Slot]:
    """ROT-7."""
    if state.front is None or state.tail is None:
        return []
    front, tail = state.front.slots, state.tail.slots
    return [slot for slot in front if slot not in tail] + [slot for slot in tail if slot not in front]


# Step 4: the new copy.

def changed_slots(current: Header, change: Change, hand: Hand) -> list[Union[Slot, Secret]]:
    """ROT-12, ROT-13: the slots that stay, and the secrets that get a new slot, each in its place."""
    slots: list[Union[Slot, Secret]] = []
    for slot in current.slots:
        if is_removed(slot, current, change, hand):
            continue
        key = hand.by_id.get(slot.key_id) if slot.type == p.SLOT_SYMMETRIC else None
        slots.append(slot if key is None or hand.opens(current, slot) else SymmetricSlot(key))
    for secret in change.add:
        if isinstance(secret, RecipientSlot):
            slots = with_recipient(secret, slots, current, hand)
        elif not is_present(secret, slots, current, hand):
            slots.append(secret)
    return slots


def with_recipient(one: RecipientSlot, slots: list[Union[Slot, Secret]], current: Header,
                   hand: Hand) -> list[Union[Slot, Secret]]:
    """ROT-12: after this the recipient has a slot that this writer has judged."""
    if any(isinstance(slot, RecipientSlot) and slot.recipient == one.recipient for slot in slots):
        return slots
    theirs = [slot for slot in slots if isinstance(slot, Slot) and is_named(one.recipient, slot, current)]
    if any(hand.is_theirs(one.recipient, current, slot) for slot in theirs):
        return slots
    if not theirs:
        return [*slots, one]
    first = next(place for place, slot in enumerate(slots) if slot is theirs[0])
    return [one if place == first else slot for place, slot in enumerate(slots)
            if place == first or not any(slot is each for each in theirs)]


def is_named(recipient: Recipient, slot: Slot, header: Header) -> bool:
    """Whether the slot has the type of this recipient, and their ID."""
    return slot.type == recipient.type and slot.key_id == recipient.key_id(header.preamble)


def recipients_of(identity: AnyIdentity) -> tuple[Recipient, ...]:
    return identity.known if isinstance(identity, PluginIdentity) else (identity.recipient,)


def is_removed(slot: Slot, current: Header, change: Change, hand: Hand) -> bool:
    if slot.key_id in change.remove_ids:
        return True
    named = change.remove_recipients + tuple(
        recipient for identity in change.remove_identities for recipient in recipients_of(identity))
    if any(is_named(recipient, slot, current) for recipient in named):
        return True
    if any(settled([hand.passphrase_opens(passphrase, current, slot)]) for passphrase in change.remove_passphrases):
        return True
    if any(settled([hand.identity_opens(identity, current, slot)]) for identity in change.remove_identities):
        return True
    return change.remove_others and not any(is_slot_of(secret, slot, current, hand) for secret in change.add)


def is_slot_of(secret: Secret, slot: Slot, current: Header, hand: Hand) -> bool:
    if isinstance(secret, SymmetricSlot):
        return (slot.type == p.SLOT_SYMMETRIC and slot.key_id == p.key_id(secret.key)
                and hand.opens(current, slot))
    if isinstance(secret, RecipientSlot):
        return hand.is_theirs(secret.recipient, current, slot)
    return settled([hand.passphrase_opens(secret.passphrase, current, slot)])


def is_present(secret: Secret, slots: list[Union[Slot, Secret]], current: Header, hand: Hand) -> bool:
    if isinstance(secret, SymmetricSlot):  # one that does not open was replaced
        key_id = p.key_id(secret.key)
        return secret in slots or any(
            isinstance(slot, Slot) and slot.type == p.SLOT_SYMMETRIC and slot.key_id == key_id for slot in slots)
    if any(isinstance(slot, PassphraseSlot) and slot.passphrase == secret.passphrase for slot in slots):
        return True
    return settled([hand.passphrase_opens(secret.passphrase, current, slot)
                    for slot in slots if isinstance(slot, Slot)])


def settled(answers: list[Optional[bool]]) -> bool:
    """Whether any slot opens. Raises `limitExceeded` if that depends on a slot that is left out (ROT-13)."""
    if any(answers):
        return True
    require(None not in answers, "limitExceeded", "a slot that must be tried is left out")
    return False


def new_copy(state: State, current: Header, slots: list[Union[Slot, Secret]], hand: Hand, options: Options,
             random: Random) -> bytes:
    """ROT-11, ROT-12, ROT-14 to ROT-18."""
    generation = state.highest + 1
    require(generation <= p.MAX_GENERATION, "generationExhausted")  # ROT-11
    require(len(slots) >= 1, "lastSlot")  # ROT-14
    stay = [slot for slot in slots if isinstance(slot, Slot)]
    made_for = [slot for slot in slots if not isinstance(slot, Slot)]
    has_way_in = any(not isinstance(one, RecipientSlot) or hand.identities_of(one.recipient) for one in made_for)
    require(has_way_in or options.consent or hand.open_any(current, stay), "consentNeeded")  # ROT-15
    check_recipients(slots, options.mixed, hand.secrets.has_x_wing)  # MIX-2, WRITE-5
    capacity = fitting_capacity(slots, current.capacity)  # ROT-16; before anything is stretched
    built: list[bytes] = []
    kept: dict[int, bytes] = {}  # by the place of a recipient's new slot: what opens it for the writer
    for place, slot in enumerate(slots):
        if isinstance(slot, RecipientSlot):
            made = made_slot(slot, current.preamble, state.file_key, random)
            kept[place] = made.secret
            built.append(made.slot)
        else:
            built.append(slot.raw if isinstance(slot, Slot)
                         else build_any_slot(slot, current.preamble, state.file_key, random))
    copy = build_copy(current.preamble, capacity, generation, built, state.file_key, hand.secrets.context)

    # ROT-18
    assert intact_copy(copy) == copy
    header = check_copies([copy], None)[0]
    assert mac_is_right(header, state.file_key, hand.secrets.context)
    for place, (slot, origin) in enumerate(zip(header.slots, slots)):
        if isinstance(origin, RecipientSlot):
            assert slot.raw == built[place]
            given = opened_by_writer(slot, kept[place], header.preamble)
            assert fitting(given, header.preamble, hand.secrets.context) is not None
            assert all(hand.opens_by(one, header, slot) for one in hand.identities_of(origin.recipient))
        elif not isinstance(origin, Slot) or slot.type == p.SLOT_SYMMETRIC and slot.key_id in hand.by_id:
            assert opens_whatever_the_limits(hand.secrets, header, slot)
    return copy


def opens_whatever_the_limits(secrets: Secrets, header: Header, slot: Slot) -> bool:
    trials = SlotTrials(secrets._replace(limits=Limits()))
    trials.judge_limits([header])
    return trials.open_first([header._replace(slots=(slot,))]) is not None


def fitting_capacity(slots: list[Union[Slot, Secret]], capacity: int) -> int:
    """ROT-25."""
    require(len(slots) <= p.MAX_SLOTS, "doesNotFit")
    sizes = list(map(size_of, slots))
    costs = [(slot.passes, slot.memory_kib) for slot in slots
             if isinstance(slot, PassphraseSlot) or isinstance(slot, Slot) and slot.type == p.SLOT_PASSPHRASE]
    require(len(costs) <= p.MAX_PASSPHRASE_SLOTS, "doesNotFit")  # SLOT-8
    require(all(p.MIN_PASSES <= passes <= p.MAX_PASSES and p.MIN_MEMORY_KIB <= memory <= p.MAX_MEMORY_KIB
                for passes, memory in costs), "doesNotFit")  # SLOT-10
    require(sum(passes * memory for passes, memory in costs) <= p.MAX_STRETCHING_KIB, "doesNotFit")  # SLOT-11
    needed = p.SLOTS_OFFSET + sum(sizes) + p.MAC_SIZE + p.CHECKSUM_SIZE
    return capacity if needed <= capacity else least_capacity([bytes(size) for size in sizes])


def size_of(slot: Union[Slot, Secret]) -> int:
    if isinstance(slot, Slot):
        return len(slot.raw)
    if isinstance(slot, RecipientSlot):
        return slot.size
    return p.SLOT_HEADER_SIZE + (p.SYMMETRIC_BODY_SIZE if isinstance(slot, SymmetricSlot) else p.PASSPHRASE_BODY_SIZE)


# Steps 3 and 5 to 7, and copying.

def made_equal(data: bytes, state: State, current: Header) -> list[Step]:
    """Step 3 (ROT-9), or for a small container the copy of ROT-28."""
    tail_at, capacity = state.tail_offset, state.capacity
    if data[:capacity] == data[tail_at:tail_at + capacity] == current.raw:
        return []
    if capacity < LEAST_IN_PLACE:
        return [Copy(rebuilt(data, state, current.raw))]
    place = 0 if data[:capacity] != current.raw else tail_at
    return [Write(place, current.raw)]


def put(data: bytes, state: State, current: Header, copy: bytes, keep: Optional[str]) -> list[Step]:
    """Step 3, then steps 5 and 6, or a copy (ROT-26, ROT-28)."""
    if len(copy) != state.capacity or state.capacity < LEAST_IN_PLACE:
        return [Copy(rebuilt(data, state, copy))]
    front, tail = Write(0, copy), Write(state.tail_offset, copy)
    if keep is not None:  # ROT-22
        return [front, tail] if keep == TAIL else [tail, front]
    return made_equal(data, state, current) + [tail, front]  # ROT-20, ROT-21


def rebuilt(data: bytes, state: State, copy: bytes) -> bytes:
    """ROT-26."""
    capacity = len(copy)
    payload = data[state.capacity:state.end]
    manifest_offset = state.manifest_offset - state.capacity + capacity
    tail_at = tail_offset(capacity, manifest_offset, state.manifest_length)
    return ((copy + payload).ljust(tail_at, b"\0") + copy
            + build_footer(capacity, manifest_offset, state.manifest_length))


# The operations.

def rotate(data: bytes, secrets: Secrets, change: Change, random: Random, options: Options = Options()) -> Changed:
    hand = Hand(secrets, change)
    state, _ = opened(data, hand)
    current = current_copy(state, hand, options)
    if current.is_detached:  # DET-10
        stopped = options.keep is None and any(not header.is_detached for header in state.valid)
        raise VaultError("rotationUnfinished" if stopped else "headerDetached", "rotate its header file")
    slots = changed_slots(current, change, hand)
    if slots == list(current.slots) and options.keep is None:  # ROT-17
        return finished(data, made_equal(data, state, current), state)
    copy = new_copy(state, current, slots, hand, options, random)
    return finished(data, put(data, state, current, copy, options.keep), state)


def repair(data: bytes, secrets: Secrets, options: Options = Options()) -> Changed:
    hand = Hand(secrets)
    try:
        state, _ = opened(data, hand)
    except VaultError as error:
        return repaired_unopened(data, hand, options, error)
    current = current_copy(state, hand, options)
    return finished(data, equal_again(data, state, current, hand, options), state)


def equal_again(data: bytes, state: State, current: Header, hand: Hand, options: Options) -> list[Step]:
    """REP-2, REP-3."""
    if options.keep is None:
        return made_equal(data, state, current)
    return put(data, state, current, kept_copy(state, current, hand, options), options.keep)


def kept_copy(state: State, current: Header, hand: Hand, options: Options) -> bytes:
    """REP-3: the slots of the named copy as they are."""
    generation = state.highest + 1
    require(generation <= p.MAX_GENERATION, "generationExhausted")  # ROT-11
    return build_copy(current.preamble, current.capacity, generation, [slot.raw for slot in current.slots],
                      state.file_key, hand.secrets.context)


def repaired_unopened(data: bytes, hand: Hand, options: Options, error: VaultError) -> Changed:
    """REP-4 to REP-7."""
    stands = (error.name in ("copiesDisagree", "headerMalformed", "unexpectedState")
              or error.name.startswith("unsupported"))
    front = intact_copy(data)
    if stands or front is None:
        raise error
    try:
        body = exhausted(read_body(io.BytesIO(data), hand.secrets))
    except VaultError:
        raise error from None

    tail_at = tail_offset(len(front), body.manifest_offset, body.manifest_length)
    tail = intact_copy(data[tail_at:])  # REP-5
    require(tail is None or tail[:68] == front[:68], "copiesDisagree")
    state = state_of(front, tail, body.file_key, body.manifest_offset, body.manifest_length, hand)
    assert state.front is not None
    current = current_copy(state, hand, options)
    kept = kept_copy(state, current, hand, options) if options.keep is not None else None  # ROT-8

    capacity = state.capacity
    zeros = data[state.end:tail_at]
    if capacity < LEAST_IN_PLACE or len(zeros) != tail_at - state.end or any(zeros):  # REP-7
        return finished(data, [Copy(rebuilt(data, state, current.raw if kept is None else kept))], state)
    steps: list[Step] = []
    if state.tail is None and data[tail_at:tail_at + capacity] != front:  # REP-6
        steps.append(Write(tail_at, front))
    footer = build_footer(capacity, state.manifest_offset, state.manifest_length)
    footer_at = tail_at + capacity
    if data[footer_at:footer_at + p.FOOTER_SIZE] != footer:
        steps.append(Write(footer_at, footer))
    if len(data) > footer_at + p.FOOTER_SIZE:
        steps.append(Cut(footer_at + p.FOOTER_SIZE))
    # Steps 2 to 3, or REP-3, on the container as it is now.
    whole = applied(data, steps)
    again, _ = opened(whole, hand)
    current = current_copy(again, hand, options)
    return finished(data, steps + equal_again(whole, again, current, hand, options), state)


def exhausted(generator: Generator[bytes, None, Body]) -> Body:
    """Runs a generator, drops what it yields, and returns what it returns."""
    try:
        while True:
            next(generator)
    except StopIteration as end:
        body: Body = end.value
        return body


def reencrypt(data: bytes, secrets: Secrets, change: Change, random: Random, options: Options = Options()) -> Changed:
    """`change`: the secrets that the new container is for, and what the caller removes."""
    slots = change.add
    hand = Hand(secrets, change)
    state, container = opened(data, hand)  # REENC-2
    lost = without_successor(state, slots, hand)
    unnamed = [slot for header, slot in lost if not is_removed(slot, header, change, hand)]  # REENC-6
    require(not unnamed or options.consent, "consentNeeded",
            ", ".join(slot.key_id.hex() for slot in unnamed))  # REENC-5
    members = container.members()
    carried = {tag: value for tag, value in members.items() if tag >= 0x8000}  # REENC-8
    if options.name is not None and options.name != carried.get(NAME):
        require(SIGNATURES not in carried or options.consent, "consentNeeded", "the signatures are lost")  # SIG-9
        carried = {tag: value for tag, value in carried.items() if tag != SIGNATURES} | {NAME: options.name}
    # REENC-5, before any record is read
    require(len(slots) >= 1, "lastSlot")
    check_recipients(distinct(slots), options.mixed, secrets.has_x_wing)
    fitting_capacity(list(distinct(slots)), p.MAX_CAPACITY)
    plaintext = b"".join(container.read_whole())
    header = container.header
    file = io.BytesIO() if header.is_detached else None  # DET-13
    new = container_bytes(  # REENC-3, REENC-4, REENC-8
        plaintext, list(slots), context=secrets.context, log2_chunk=header.log2_chunk, compression=header.compression,
        digest=container.manifest.sha256 is not None, carried=tuple(sorted(carried.items())),
        random=random, weak_stretching=True, header_file=file, mixed=options.mixed)
    steps: list[Step] = [Copy(new)]
    if file is not None:
        steps.insert(0, HeaderFile(file.getvalue()))
    if hand.trials.header_file is not None:
        steps.append(HeaderFile(None))
    return Changed(new, steps, differing(state), [slot for _, slot in lost], file.getvalue() if file else None)


def without_successor(state: State, slots: tuple[Secret, ...], hand: Hand) -> list[tuple[Header, Slot]]:
    """REENC-5: each slot once, with a valid copy that has it."""
    ids = {p.key_id(secret.key) for secret in slots if isinstance(secret, SymmetricSlot)}
    passphrases = [secret.passphrase for secret in slots if isinstance(secret, PassphraseSlot)]

    def has_successor(header: Header, slot: Slot) -> bool:
        if slot.type == p.SLOT_SYMMETRIC:
            return slot.key_id in ids
        if slot.type in p.RECIPIENT_TYPES:
            return has_recipient(header, slot)
        return any(hand.passphrase_opens(passphrase, header, slot) for passphrase in passphrases)

    def has_recipient(header: Header, slot: Slot) -> bool:
        if not is_hidden(slot):
            return any(is_named(recipient, slot, header) for recipient in recipients)
        return (any(hand.is_theirs(recipient, header, slot) for recipient in recipients)
                or any(all(recipient in known for known in session)
                       for session in hand.trials.sessions_that_opened(header, slot) for recipient in recipients))

    recipients = [one.recipient for one in slots if isinstance(one, RecipientSlot)]
    found: dict[Slot, Header] = {}
    file = hand.trials.header_file  # DET-13: it counts as a valid copy
    for header in ([file] if file is not None else []) + [each for each in state.valid if not each.is_detached]:
        for slot in header.slots:
            if not has_successor(header, slot):
                found.setdefault(slot, header)
    return [(header, slot) for slot, header in found.items()]


def finished(data: bytes, steps: list[Step], state: State, header_file: Optional[bytes] = None) -> Changed:
    return Changed(applied(data, steps), steps, differing(state), [], header_file)
