"""What readers share: from intact header copies to the file key and the valid copies; health (FORMAT.md, 9.1, 9.2)."""

from typing import NamedTuple, Optional

import primitives as p
from errors import require
from header import Header, mac_is_right, parse_form, version_of
from slots import SlotTrials

INTACT = "intact"
ROTATION_UNFINISHED = "rotationUnfinished"
COPIES_CONFLICT = "copiesConflict"
FRONT_DAMAGED = "frontDamaged"
TAIL_DAMAGED = "tailDamaged"


class Unlocked(NamedTuple):
    file_key: bytes
    valid: list[Header]  # in the order given, those whose MAC is right


def check_version(copy: bytes) -> None:
    require(version_of(copy) == p.VERSION, "unsupportedVersion")  # HDR-3


def check_copies(copies: list[bytes], footer_capacity: Optional[int]) -> list[Header]:
    """The intact copies, front first, up to and with their form. A stream has only one, and no footer yet."""
    require(bool(copies), "headerDamaged")  # SEEK-7
    require(all(copy[:68] == copies[0][:68] for copy in copies), "copiesDisagree")  # SEEK-8
    check_version(copies[0])  # SEEK-9, STR-5
    if footer_capacity is not None:
        require(len(copies[0]) == footer_capacity, "footerDamaged", "capacity")  # SEEK-10, FOOT-7
    return [parse_form(copy) for copy in copies]  # SEEK-11, STR-6


def unlock(copies: list[Header], trials: SlotTrials) -> Unlocked:
    """Tries the slots and checks the MACs. A valid copy must contain the slot that opened, or another slot of a valid
    copy must open."""
    if trials.header_file is not None:
        return unlock_by_header_file(copies, trials.header_file, trials)
    # SEEK-13, STR-7. Sorting is stable, so the front comes first if the generations are equal.
    by_generation = sorted(copies, key=lambda header: -header.generation)
    trials.judge_limits(copies)
    opened = trials.open_first(by_generation)
    if opened is None:
        trials.fail(copies)  # SEEK-14
    # SEEK-15
    made = [header for header in copies if mac_is_right(header, opened.file_key, trials.secrets.context)]
    valid = [header for header in made if trials.secrets.expected.is_met(header)]
    require(bool(valid) or not made, "unexpectedState")  # ARG-6
    # SEEK-16. For one copy alone this is STR-8.
    if not any(slot.raw == opened.slot.raw for header in valid for slot in header.slots):
        remaining = [header for header in by_generation if header in valid]
        require(trials.open_first(remaining) is not None, "headerForged")
    return Unlocked(opened.file_key, valid)


def unlock_by_header_file(copies: list[Header], file: Header, trials: SlotTrials) -> Unlocked:
    """DET-3, steps 3 to 7."""
    secrets = trials.secrets
    require(all(header.preamble == file.preamble for header in copies), "copiesDisagree")
    require(any(header.is_detached for header in copies), "notDetached")
    file_key = header_file_key(file, trials)
    made = [header for header in copies if mac_is_right(header, file_key, secrets.context)]
    require(bool(made), "headerForged")
    valid = [header for header in made if secrets.expected.is_met(header)]
    require(bool(valid), "unexpectedState")  # DET-5
    return Unlocked(file_key, valid)


def header_file_key(file: Header, trials: SlotTrials) -> bytes:
    """DET-3, steps 5 and 6."""
    trials.judge_limits([file])
    opened = trials.open_first([file])
    if opened is None:
        trials.fail([file])
    require(mac_is_right(file, opened.file_key, trials.secrets.context), "headerForged")
    require(trials.secrets.expected_header_file.is_met(file), "unexpectedState")  # DET-5
    return opened.file_key


def health_of(front: Optional[Header], tail: Optional[Header]) -> str:
    """SEEK-17, from the valid copies. At least one is given."""
    if front is None:
        return FRONT_DAMAGED
    if tail is None:
        return TAIL_DAMAGED
    if front.raw == tail.raw:
        return INTACT
    return ROTATION_UNFINISHED if tail.generation == front.generation + 1 else COPIES_CONFLICT
