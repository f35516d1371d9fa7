"""Handles of the library, and bytes that cross the boundary."""

from __future__ import annotations

import atexit
import ctypes
import functools
import itertools
import json
import operator
import os
from typing import Any, Callable, Iterator, Optional, Sequence, Union

from ._errors import Callbacks, check
from ._library import lib
from ._signals import call

Buffer = Union[bytes, bytearray, memoryview]


def _at_the_end(*calls: Iterator[object]) -> Callable[[], object]:
    """A function that makes calls, the first time that it is called.

    Only built-in functions run, so no signal's handler does: in a finalizer its exception would be lost, and with it
    Ctrl-C, and the call would not be made."""
    return functools.partial(next, zip(*calls), None)


class Handle:
    """A handle of the library. It is freed once, at the latest when this object goes."""

    def __init__(self, value: Optional[int], free: Callable[[Optional[int]], None]) -> None:
        self.value = value
        # A process that was forked has a copy of this object. Freed there, a writer would remove the file that the
        # parent is still writing.
        is_here = map(os.getpid().__eq__, itertools.starmap(os.getpid, [()]))
        self._free = _at_the_end(map(free, itertools.compress([value], is_here)))

    __del__ = property(operator.attrgetter("_free"))

    def free(self) -> None:
        self._free()
        self.value = None


def make(
    function: Callable[..., Optional[int]], free: Callable[[Optional[int]], None], *arguments: Any,
    callbacks: Sequence[Callbacks] = (),
) -> Handle:
    """Calls a function whose last argument receives a new handle."""
    made = ctypes.c_void_p()
    return call(lambda: Handle(made.value, free), function, *arguments, ctypes.byref(made), callbacks=callbacks)


def data(
    function: Callable[..., Optional[int]], *arguments: Any, callbacks: Sequence[Callbacks] = ()
) -> bytes:
    """Calls a function whose last argument receives bytes."""
    made = ctypes.c_void_p()
    return call(lambda: taken(made), function, *arguments, ctypes.byref(made), callbacks=callbacks)


def taken(made: ctypes.c_void_p) -> bytes:
    """The bytes of a handle, which is freed."""
    try:
        count = lib.vaultfile_data_count(made)
        return ctypes.string_at(lib.vaultfile_data_bytes(made), count) if count else b""
    finally:
        lib.vaultfile_data_free(made)


def report(
    function: Callable[..., Optional[int]], *arguments: Any, callbacks: Sequence[Callbacks] = ()
) -> dict[str, Any]:
    """Calls a function whose last argument receives an object of JSON."""
    found: dict[str, Any] = json.loads(data(function, *arguments, callbacks=callbacks))
    return found


def view(buffer: Any) -> memoryview:
    """The bytes of any object with a buffer, in one row."""
    if isinstance(buffer, str):
        raise TypeError("bytes are needed, not str: text.encode() gives those of a text, bytes.fromhex() those of digits")
    found = memoryview(buffer)
    return found if found.format == "B" and found.ndim == 1 and found.contiguous else found.cast("B")


def address(buffer: Any) -> tuple[Any, int]:
    """What a call needs to read a buffer, and its count. It is valid as long as the first value lives."""
    if isinstance(buffer, bytes):
        return buffer, len(buffer)
    bytes_ = view(buffer)
    if bytes_.readonly or not len(bytes_):
        return bytes(bytes_), len(bytes_)
    return (ctypes.c_char * len(bytes_)).from_buffer(bytes_), len(bytes_)


#: What wipes the secrets that are there when Python ends.
_secrets: dict[int, Callable[[], object]] = {}


@atexit.register
def _wipe_all() -> None:
    for wipe in list(_secrets.values()):
        wipe()


class Secret:
    """A secret in memory of this process, which is overwritten when this object goes.

    It is not locked: the system can write it to the swap. While the library works with a secret, it has a locked copy.
    """

    def __init__(self, buffer: Any) -> None:
        bytes_ = view(buffer)
        self._count = len(bytes_)
        self._bytes = (ctypes.c_char * max(1, self._count))()
        # Before the secret is there: an exception of a signal's handler between would leave a copy.
        self._wipe = _at_the_end(
            map(lib.vaultfile_wipe, [self._bytes], [self._count]), map(_secrets.pop, [id(self._bytes)]))
        _secrets[id(self._bytes)] = self._wipe
        if self._count:
            ctypes.memmove(self._bytes, *address(buffer))

    __del__ = property(operator.attrgetter("_wipe"))

    @property
    def argument(self) -> tuple[Any, int]:
        """What a call needs. It is wiped when this object goes, so the object must outlive the call."""
        return self._bytes, self._count

    def __reduce__(self) -> Any:
        raise TypeError("secrets are not pickled; use KeyFile or IdentityFile, which only name a file")


def secret_text(function: Callable[..., Optional[int]], *arguments: Any) -> Secret:
    """Calls a function that writes the text of a secret, into memory that is wiped."""
    from ._library import SECRET_TEXT_MOST

    place = (ctypes.c_char * SECRET_TEXT_MOST)()
    count = ctypes.c_size_t()
    try:
        check(function(*arguments, place, SECRET_TEXT_MOST, ctypes.byref(count)))
        return Secret(memoryview(place).cast("B")[: count.value])
    finally:
        lib.vaultfile_wipe(place, SECRET_TEXT_MOST)
