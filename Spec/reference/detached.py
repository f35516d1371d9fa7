"""Detached headers: detach, attach, and the rotation of a header file, on bytes (DETACHED.md)."""

from typing import Optional

import primitives as p
from errors import VaultError, require
from header import MARK, Header, build_copy, intact_copy, least_capacity, mac_is_right, read_header_file
from opening import header_file_key
from rotation import (Change, Changed, Copy, Hand, HeaderFile, Options, State, Step, changed_slots, current_copy,
                      equal_again, finished, new_copy, opened, put)
from seek_reader import Source, take_reading
from slots import Secrets
from writer import Random


def header_file_name(name: str, commitment: bytes) -> str:
    """DET-4, for the last component of the body's path."""
    return f"{name}.{commitment.hex()[:16]}.hdr"


def detach(data: bytes, secrets: Secrets, random: Random, options: Options = Options()) -> Changed:
    """DET-8. The header file of the secrets is the one that is there already."""
    there = secrets.header_file
    hand = Hand(for_opening(data, secrets))
    state, _ = opened(data, hand)
    current = current_copy(state, hand, options)
    if current.is_detached:
        return finished(data, equal_again(data, state, current, hand, options), state, there)

    generation = 1
    if there is not None:
        old = belonging(there, data, state, secrets)
        require(old is not None, "copiesDisagree", "the header file is another container's")
        assert old is not None
        lost = [slot for slot in old.slots if slot not in current.slots]
        require(not lost or options.consent, "consentNeeded")
        generation = old.generation + 1  # DET-5
    require(max(generation, state.highest + 1) <= p.MAX_GENERATION, "generationExhausted")
    slots = [slot.raw for slot in current.slots]
    context = secrets.context
    file = build_copy(current.preamble, least_capacity(slots), generation, slots, state.file_key, context)
    copy = build_copy(current.preamble, current.capacity, state.highest + 1, [MARK], state.file_key, context)
    return finished(data, [HeaderFile(file), *put(data, state, current, copy, options.keep)], state, file)


def attach(data: bytes, secrets: Secrets, random: Random, options: Options = Options()) -> Changed:
    """DET-9."""
    assert secrets.header_file is not None
    hand = Hand(for_opening(data, secrets))
    state, _ = opened(data, hand)
    current = current_copy(state, hand, options)
    steps: list[Step]
    if any(header.is_detached for header in state.valid):
        file = hand.trials.header_file
        assert file is not None
        slots = list(file.slots)
        if slots == list(current.slots) and options.keep is None:  # ROT-17
            steps = equal_again(data, state, current, hand, options)
        else:
            copy = new_copy(state, current, list(slots), hand, options, random)
            steps = put(data, state, current, copy, options.keep)
    else:
        left = belonging(secrets.header_file, data, state, secrets)
        require(left is not None and all(slot in current.slots for slot in left.slots), "notDetached")
        steps = equal_again(data, state, current, hand, options)
    return finished(data, [*steps, HeaderFile(None)], state)


def rotate_header_file(data: bytes, secrets: Secrets, change: Change, random: Random,
                       options: Options = Options()) -> Changed:
    """DET-10. The state that the caller requires is that of the header file."""
    hand = Hand(secrets._replace(header_file=data), change)
    header = hand.trials.header_file
    assert header is not None
    file_key = header_file_key(header, hand.trials)
    hand.judge_limits([header])
    slots = changed_slots(header, change, hand)
    if slots == list(header.slots):  # ROT-17
        return Changed(data, [], [], [])
    state = State(header, None, header.generation, file_key, 0, 0)
    copy = new_copy(state, header, slots, hand, options, random)
    return Changed(copy, [Copy(copy)], [], [])


def for_opening(data: bytes, secrets: Secrets) -> Secrets:
    """The secrets with the header file only if an intact copy is detached (DET-8, DET-9)."""
    reading = take_reading(Source(data))
    copies = [copy for copy in (intact_copy(reading.front), intact_copy(reading.tail)) if copy is not None]
    return secrets if any(is_marked(copy) for copy in copies) else secrets._replace(header_file=None)


def is_marked(copy: bytes) -> bool:
    """DET-1, of an intact copy whose form is not judged yet."""
    return copy[72:76] == bytes.fromhex("00010000") and copy[p.SLOTS_OFFSET:p.SLOTS_OFFSET + len(MARK)] == MARK


def belonging(file: bytes, data: bytes, state: State, secrets: Secrets) -> Optional[Header]:
    """The header file, if it is the body's."""
    try:
        header = read_header_file(file)
    except VaultError:
        return None
    intact = [copy for copy in (intact_copy(data), intact_copy(data[state.tail_offset:])) if copy is not None]
    is_of_body = all(copy[:p.PREAMBLE_SIZE] == header.preamble for copy in intact)
    return header if is_of_body and mac_is_right(header, state.file_key, secrets.context) else None
