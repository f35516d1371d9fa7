"""Containers as binary files to read."""

from __future__ import annotations

import ctypes
import io
import os
from typing import Any, Optional

from ._errors import about, check
from ._keys import Keys, KeysHandle
from ._library import lib
from ._memory import address, make, report, view
from ._options import LIMITS, options_handle
from ._sources import FileSource, Source, path_of

#: Bytes that one read takes ahead: the size of a record by default, so that small reads decrypt each record once.
BUFFER_SIZE = 1 << 16


class RawReader(io.RawIOBase):
    """A container as an unbuffered, seekable file. Everything that it returns is authenticated."""

    def __init__(
        self, source: Source, keys: Optional[Keys] = None, *, close_source: bool = False, **options: Any
    ) -> None:
        super().__init__()
        self._source: Any = source
        self._close_source = close_source
        self._position = 0
        self._keys = KeysHandle(keys)
        self._file: Optional[FileSource] = None
        limits = options_handle(LIMITS, options)
        path = path_of(source)
        if path is not None:
            with about(path):
                self._handle = make(
                    lib.vaultfile_reader_open_path, lib.vaultfile_reader_free, path, self._keys.value, limits.value,
                    callbacks=(self._keys,))
        else:
            self._file = FileSource(source)
            self._handle = make(
                lib.vaultfile_reader_open_callback, lib.vaultfile_reader_free, self._file.callback, None,
                self._file.size, self._keys.value, limits.value, callbacks=(self._file, self._keys))
        length = ctypes.c_uint64()
        check(lib.vaultfile_reader_length(self._handle.value, ctypes.byref(length)))
        self.length: int = length.value

    @property
    def _callbacks(self) -> tuple[Any, ...]:
        return (self._file,) if self._file else ()

    def readable(self) -> bool:
        self._check_open()
        return True

    def seekable(self) -> bool:
        self._check_open()
        return True

    def tell(self) -> int:
        self._check_open()
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._check_open()
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.length}.get(whence)
        if start is None:
            raise ValueError(f"invalid whence: {whence}")
        if start + offset < 0:
            raise ValueError("a negative position")
        self._position = start + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        self._check_open()
        place = view(buffer)
        count = max(0, min(len(place), self.length - self._position))
        if count:
            self._read(place[:count], self._position)
            self._position += count
        return count

    def readall(self) -> bytes:
        self._check_open()
        found = bytearray(max(0, self.length - self._position))
        if found:
            self.readinto(found)
        return bytes(found)

    def read_at(self, offset: int, count: int) -> bytes:
        """Exactly `count` bytes from `offset` on. Several threads can call it at once.

        Raises RangeInvalidError if the range is not within the plaintext.
        """
        self._check_open()
        if offset < 0 or count < 0 or offset + count > self.length:
            raise ValueError("the range is not within the plaintext")
        found = bytearray(count)
        if count:
            self._read(memoryview(found), offset)
        return bytes(found)

    def _read(self, place: memoryview, offset: int) -> None:
        bytes_, count = address(place)
        check(lib.vaultfile_reader_read(self._handle.value, offset, bytes_, count), *self._callbacks)

    def info(self) -> dict[str, Any]:
        """What the container says of itself, authenticated: `health`, `manifest` and `header`."""
        self._check_open()
        return report(lib.vaultfile_reader_info, self._handle.value)

    def verify(self) -> None:
        """Reads and authenticates everything. Raises the error of the first damage."""
        self._check_open()
        check(lib.vaultfile_reader_verify(self._handle.value, None), *self._callbacks)

    def damage(self) -> list[dict[str, Any]]:
        """Reads everything, also after damage: a list with `error`, `message` and the lost `range` of the plaintext."""
        self._check_open()
        found: list[dict[str, Any]] = report(
            lib.vaultfile_reader_damage, self._handle.value, None, callbacks=self._callbacks)["damage"]
        return found

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")

    def close(self) -> None:
        if not self.closed:
            handle = getattr(self, "_handle", None)
            if handle is not None:
                handle.free()
            if getattr(self, "_close_source", False):
                self._source.close()
        super().close()


class Reader(io.BufferedReader):
    """A container as a seekable binary file. Everything that it returns is authenticated.

    It is an io.BufferedReader with the length of the plaintext (`length`), what the container says of itself (`info`),
    `verify`, `damage`, and `read_at` for threads that read at once.
    """

    def __init__(self, raw: RawReader, buffer_size: int = BUFFER_SIZE) -> None:
        super().__init__(raw, buffer_size)
        self._raw = raw
        self.length = raw.length
        self.info = raw.info
        self.verify = raw.verify
        self.damage = raw.damage
        self.read_at = raw.read_at
