"""How containers are made, opened and changed."""

from __future__ import annotations

import contextlib
import datetime
import math
import operator
import os
from typing import Any, Callable, Iterator, Literal, Mapping, Optional, TypedDict, Union

from ._errors import Error, check, invalid, path_bytes
from ._library import TEXT_OPTIONS, Options, lib
from ._memory import Buffer, Handle, address, make

_Text = Union[str, Buffer, None]
_Flag = Optional[bool]
_Number = Optional[int]
_Progress = Optional[Callable[[int], object]]

# The options of each function. Type checkers read these classes, and options_handle refuses every other name.


class _Costs(TypedDict, total=False):
    service_limits: _Flag
    max_plaintext: _Number
    max_chunk_size: _Number
    max_passphrase_slots: _Number
    max_passes: _Number
    max_memory_kib: _Number
    max_stretching_kib: _Number
    max_public_key_slots: _Number
    max_stanza_slots: _Number


class HeaderOptions(_Costs, total=False):
    """To open a header file without its container."""

    context: _Text
    header_pin: _Text


class ReadOptions(HeaderOptions, total=False):
    """To open a container."""

    pin: _Text
    header: Any


class VerifyOptions(ReadOptions, total=False):
    """To read all of a container."""

    jobs: _Number
    progress: _Progress


class ReadFileOptions(VerifyOptions, total=False):
    """To decrypt a file to a file."""

    replace: _Flag
    sparse: _Flag


class _Contents(TypedDict, total=False):
    chunk_size: _Number
    header_capacity: _Number
    compress: _Flag
    digest: _Flag
    tar_index: _Flag
    modified: Union[float, datetime.datetime, None]
    permissions: _Number
    name: _Text
    content_type: _Text


class SealOptions(_Contents, total=False):
    """To make a container."""

    context: _Text
    mix_recipients: _Flag


class WriteOptions(SealOptions, total=False):
    """To write a container as a file."""

    header: Any


class OpenOptions(ReadOptions, _Contents, total=False):
    """To open a file in a mode that only the running program knows."""

    mix_recipients: _Flag


class SealFileOptions(SealOptions, total=False):
    """To encrypt a file to a file."""

    replace: _Flag
    jobs: _Number
    progress: _Progress


class _Changing(TypedDict, total=False):
    dry_run: _Flag
    lose_access: _Flag
    break_links: _Flag
    mix_recipients: _Flag
    keep_copy: Optional[Literal["front", "tail"]]
    progress: _Progress


class RepairOptions(ReadOptions, _Changing, total=False):
    """To change a container where it is."""


class RotateOptions(RepairOptions, total=False):
    """To change who can open a container."""

    remove_others: _Flag


class ReencryptOptions(RotateOptions, _Contents, total=False):
    """To encrypt the contents of a container again."""

    lose_slots: _Flag
    keep_slots: _Flag
    jobs: _Number


class RotateHeaderOptions(HeaderOptions, total=False):
    """To change a header file in memory."""

    lose_access: _Flag
    mix_recipients: _Flag
    remove_others: _Flag


class RotateHeaderFileOptions(RotateHeaderOptions, total=False):
    """To change a header file where it is."""

    break_links: _Flag
    dry_run: _Flag


class _DetachOptions(_Costs, _Changing, total=False):
    context: _Text
    pin: _Text


class DetachOptions(_DetachOptions, total=False):
    """To move slots to a header file."""

    header_capacity: _Number
    lose_slots: _Flag


class AttachOptions(_DetachOptions, total=False):
    """To move slots back from a header file."""

    header_pin: _Text


class KeyringOptions(TypedDict, total=False):
    """To open or change a keyring."""

    allow_unprotected: _Flag
    allow_unlocked: _Flag


class JobOptions(TypedDict, total=False):
    """To read all of a container that is open."""

    jobs: _Number


def names(kind: Any) -> frozenset[str]:
    """The names of the options of a class."""
    found: frozenset[str] = kind.__required_keys__ | kind.__optional_keys__
    return found


#: The names that functions of this package take, and the numbers of the library.
_NUMBERS = {
    "chunk_size": Options.CHUNK_SIZE,
    "header_capacity": Options.HEADER_CAPACITY,
    "compress": Options.COMPRESS,
    "digest": Options.DIGEST,
    "tar_index": Options.TAR_INDEX,
    "mix_recipients": Options.MIX_RECIPIENTS,
    "modified": Options.MODIFIED,
    "permissions": Options.PERMISSIONS,
    "replace": Options.REPLACE,
    "jobs": Options.JOBS,
    "sparse": Options.SPARSE,
    "service_limits": Options.SERVICE_LIMITS,
    "max_plaintext": Options.MAX_PLAINTEXT,
    "max_chunk_size": Options.MAX_CHUNK_SIZE,
    "max_passphrase_slots": Options.MAX_PASSPHRASE_SLOTS,
    "max_passes": Options.MAX_PASSES,
    "max_memory_kib": Options.MAX_MEMORY_KIB,
    "max_stretching_kib": Options.MAX_STRETCHING_KIB,
    "max_public_key_slots": Options.MAX_PUBLIC_KEY_SLOTS,
    "max_stanza_slots": Options.MAX_STANZA_SLOTS,
    "dry_run": Options.DRY_RUN,
    "remove_others": Options.REMOVE_OTHERS,
    "lose_access": Options.LOSE_ACCESS,
    "lose_slots": Options.LOSE_SLOTS,
    "keep_slots": Options.KEEP_SLOTS,
    "break_links": Options.BREAK_LINKS,
    "keep_copy": Options.KEEP_COPY,
    "allow_unprotected": Options.ALLOW_UNPROTECTED,
    "allow_unlocked": Options.ALLOW_UNLOCKED,
}
_FLAGS = frozenset({
    "compress", "digest", "tar_index", "mix_recipients", "replace", "sparse", "service_limits", "dry_run",
    "remove_others", "lose_access", "lose_slots", "keep_slots", "break_links", "allow_unprotected", "allow_unlocked"})
_COPIES = {"front": 1, "tail": 2}
_LAST_TIME = 253_402_300_799


@contextlib.contextmanager
def called(name: str) -> Iterator[None]:
    """Errors within it name the argument that they are about."""
    try:
        yield
    except Error as error:
        error.message = f"{name}: {error.message}"
        raise


def options_handle(kind: Any, given: Mapping[str, Any]) -> Handle:
    """The options of a call, of a class above. One that is None or false is left out; Progress takes `progress`."""
    allowed = names(kind)
    made = make(lib.vaultfile_options_new, lib.vaultfile_options_free)
    # It sets all limits, so it comes first.
    for name in sorted(given, key=lambda name: name != "service_limits"):
        value = given[name]
        if name not in allowed:
            raise TypeError(f"{name!r} is not an option here; there are: {', '.join(sorted(allowed))}")
        if value is None or value is False or name == "progress":
            continue
        if name == "header":
            set_header(made, value)
            continue
        if name in TEXT_OPTIONS:
            text: Union[bytes, Any] = value.encode() if isinstance(value, str) else value
            with called(name):
                bytes_, count = address(text)
                check(lib.vaultfile_options_set_bytes(made.value, TEXT_OPTIONS[name], bytes_, count))
            continue
        if name == "keep_copy":
            if value not in _COPIES:
                raise invalid("keep_copy is 'front' or 'tail'")
            value = _COPIES[value]
        if name == "modified" and isinstance(value, datetime.datetime):
            # Without a time zone it is local time, as everywhere in Python.
            value = value.timestamp()
        if name == "modified" and isinstance(value, float) and math.isfinite(value):
            value = math.floor(value)
        try:
            value = operator.index(value)
        except TypeError:
            raise TypeError(f"{name} is {_kind(name)}, not {type(value).__name__}") from None
        if not -(2**63) <= value < 2**63:
            raise invalid(f"{name} is too large")
        if name in _FLAGS and value not in (0, 1):
            raise invalid(f"{name} is True or False")
        if name == "modified" and value > _LAST_TIME:
            raise invalid("modified is in seconds since 1970, and this is after the year 9999")
        with called(name):
            check(lib.vaultfile_options_set_number(made.value, _NUMBERS[name], value))
    return made


def _kind(name: str) -> str:
    if name in _FLAGS:
        return "True or False"
    return {
        "modified": "a datetime, or seconds since 1970", "permissions": "a number such as 0o644"
    }.get(name, "a whole number")


#: One byte more than a header file can have shows that a file object is none.
HEADER_MOST = (1 << 20) + 1


def set_header(options: Handle, header: Any) -> None:
    """The header file of a container: bytes, a path, or a binary file object, which is read from its position."""
    name = "header_path" if isinstance(header, (str, os.PathLike)) else "header_file"
    if name == "header_path":
        header = path_bytes(header)
    elif not isinstance(header, (bytes, bytearray, memoryview)):
        header = header.read(HEADER_MOST)
        if not isinstance(header, (bytes, bytearray, memoryview)):
            raise TypeError("the header file must be binary")
    bytes_, count = address(header)
    check(lib.vaultfile_options_set_bytes(options.value, TEXT_OPTIONS[name], bytes_, count))
