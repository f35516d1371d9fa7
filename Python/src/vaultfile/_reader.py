"""Containers as binary files to read."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional

from ._errors import DamagedError, Error, about, check, invalid, name_path
from ._keys import Keys, KeysHandle
from ._library import Options, lib
from ._memory import Handle, address, make, report, view
from ._options import JobOptions, ReadOptions, options_handle
from ._signals import Progress, run
from ._sources import FileSource, Source, path_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Bytes that the library gets at once.
_PIECE = 1 << 26
#: Bytes that one read takes ahead: the size of a record by default, so that small reads decrypt each record once.
BUFFER_SIZE = 1 << 16
#: Bytes that a long read asks a file object for at once: behind it may be a store whose every request takes a while.
REQUEST_SIZE = 1 << 23
#: Threads that read all of a file object. One reads while the others decrypt.
_READERS = 4


class RawReader(io.RawIOBase):
    """A container as an unbuffered, seekable file. Everything that it returns is authenticated."""

    mode = "rb"

    def __init__(
        self, source: Source, keys: Optional[Keys] = None, *, close_source: bool = False, name: Optional[str] = None,
        **options: Unpack[ReadOptions]
    ) -> None:
        super().__init__()
        path = path_of(source)
        #: What messages call it, if it has a name: its path.
        self.name: Optional[str] = name if path is None else os.fsdecode(path)
        self._source: Any = source
        self._close_source = close_source
        self._position = 0
        opening = KeysHandle(keys)
        self._file: Optional[FileSource] = None
        limits = options_handle(ReadOptions, options)
        with about(self.name, header=options.get("header")):
            if path is not None:
                self._handle = make(
                    lib.vaultfile_reader_open_path, lib.vaultfile_reader_free, path, opening.value, limits.value,
                    callbacks=(opening,))
            else:
                self._file = FileSource(source)
                check(lib.vaultfile_options_set_number(limits.value, Options.READ_SIZE, REQUEST_SIZE))
                self._handle = make(
                    lib.vaultfile_reader_open_callback, lib.vaultfile_reader_free, self._file.callback, None,
                    self._file.size, opening.value, limits.value, callbacks=(self._file, opening))
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
            try:
                self._read(place[:count], self._position)
            except DamagedError:
                # What was asked for may be whole, and only what a buffer takes ahead damaged.
                whole = BUFFER_SIZE - self._position % BUFFER_SIZE
                if count <= whole:
                    raise
                count = whole
                self._read(place[:count], self._position)
            self._position += count
        return count

    def readall(self) -> bytes:
        self._check_open()
        # As every file of Python, it has nothing behind its end.
        count = max(0, self.length - self._position)
        found = self.read_at(self._position, count) if count else b""
        self._position += count
        return found

    def read_at(self, offset: int, count: int) -> bytes:
        """Exactly `count` bytes from `offset` on. Several threads can call it at once.

        Raises RangeInvalidError if the range is not within the plaintext.
        """
        self._check_open()
        if offset < 0 or count < 0 or offset + count > self.length:
            raise invalid("the range is not within the plaintext", "rangeInvalid")
        found = bytearray(count)
        if count:
            self._read(memoryview(found), offset)
        return bytes(found)

    def _read(self, place: memoryview, offset: int) -> None:
        # Between two pieces, a signal can end a long read.
        for start in range(0, len(place), _PIECE):
            bytes_, count = address(place[start : start + _PIECE])
            self._run(lib.vaultfile_reader_read, self._handle.value, offset + start, bytes_, count)

    def _run(self, function: Any, *arguments: Any, progress: Optional[Progress] = None) -> None:
        try:
            run(function, *arguments, callbacks=(*self._callbacks, *([progress] if progress else ())))
        except Error as error:
            name_path(error, self.name)
            raise

    def info(self) -> dict[str, Any]:
        """What the container says of itself, authenticated: `health`, `manifest` and `header`."""
        self._check_open()
        return report(lib.vaultfile_reader_info, self._handle.value)

    def verify(self, *, jobs: Optional[int] = None) -> None:
        """Reads and authenticates everything, with `jobs` threads. Raises the error of the first damage."""
        self._verify(None, jobs)

    def _verify(self, told: Optional[Callable[[int], object]], jobs: Optional[int]) -> None:
        self._check_open()
        settings = self._settings(jobs)
        self._run(
            lib.vaultfile_reader_verify, self._handle.value, settings.value, progress=Progress(settings, told))

    def damage(self, *, jobs: Optional[int] = None) -> list[dict[str, Any]]:
        """Reads everything, also after damage, with `jobs` threads: a list with `error`, `message` and the lost `range`
        of the plaintext."""
        self._check_open()
        settings = self._settings(jobs)
        with about(self.name):
            found: list[dict[str, Any]] = report(
                lib.vaultfile_reader_damage, self._handle.value, settings.value,
                callbacks=(*self._callbacks, Progress(settings)))["damage"]
        return found

    def _settings(self, jobs: Optional[int]) -> Handle:
        if jobs is None and self._file is not None:
            # Each holds REQUEST_SIZE bytes, and one at a time reads. Without this, every processor has one.
            jobs = min(_READERS, os.cpu_count() or 1)
        return options_handle(JobOptions, {"jobs": jobs})

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


class Opened:
    """What an open container has beside the methods of a file."""

    _raw: RawReader

    @property
    def length(self) -> int:
        """The length of the plaintext in bytes."""
        return self._raw.length

    def info(self) -> dict[str, Any]:
        """What the container says of itself, authenticated: `health`, `manifest` and `header`."""
        return self._raw.info()

    def verify(self, *, jobs: Optional[int] = None) -> None:
        """Reads and authenticates everything. Raises the error of the first damage.

        `jobs` is the number of threads: one for each processor if it is None, and at most 4 over a file object."""
        self._raw.verify(jobs=jobs)

    def damage(self, *, jobs: Optional[int] = None) -> list[dict[str, Any]]:
        """Reads everything, also after damage: a list with `error`, `message` and the lost `range` of the plaintext.
        `jobs` is as for `verify`."""
        return self._raw.damage(jobs=jobs)

    def read_at(self, offset: int, count: int) -> bytes:
        """Exactly `count` bytes from `offset` on. Several threads can call it at once: it does not use the position.

        Raises RangeInvalidError if the range is not within the plaintext."""
        return self._raw.read_at(offset, count)

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} {self._raw.name!r}, {self._raw.length} bytes>"


class Reader(Opened, io.BufferedReader):
    """A container as a seekable binary file. Everything that it returns is authenticated.

    It is an io.BufferedReader with the length of the plaintext (`length`), what the container says of itself (`info`),
    `verify`, `damage`, and `read_at` for threads that read at once. After a read that failed, the position is where it
    was before.
    """

    def __init__(self, raw: RawReader, buffer_size: int = BUFFER_SIZE) -> None:
        super().__init__(raw, buffer_size)
        self._raw = raw

    # io.BufferedReader drops what it has when a later part of a read fails, and goes on behind it: a loop that catches
    # the error would lose good bytes without a word.

    def read(self, size: Optional[int] = -1, /) -> bytes:
        with self._keeping_place():
            return super().read(size)

    def readinto(self, buffer: Any, /) -> int:
        with self._keeping_place():
            return super().readinto(buffer)

    def readline(self, size: Optional[int] = -1, /) -> bytes:
        with self._keeping_place():
            return super().readline(-1 if size is None else size)

    @contextlib.contextmanager
    def _keeping_place(self) -> Iterator[None]:
        place = self.tell()
        try:
            yield
        except BaseException:
            if not self.closed:
                self.seek(place)
            raise


class SharedReader(Opened, io.BufferedIOBase):
    """The same without the lock of io.BufferedReader, and with `size`.

    DuckDB 2 calls `seek` and then `read` from several threads at one file. A lock would let another thread in between
    the two nearly always. Here `seek` sets a number, and `read` takes it at once. Threads of your own use `read_at`.
    """

    mode = "rb"

    def __init__(self, raw: RawReader) -> None:
        super().__init__()
        self._raw = raw
        self._place = 0
        #: What was read last, and where it begins. Both change together.
        self._block: tuple[int, bytes] = (0, b"")
        self.size: int = raw.length

    @property
    def raw(self) -> RawReader:
        return self._raw

    @property
    def name(self) -> Optional[str]:
        return self._raw.name

    def readable(self) -> bool:
        return self._raw.readable()

    def seekable(self) -> bool:
        return self._raw.seekable()

    def tell(self) -> int:
        self._raw._check_open()
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self._raw._check_open()
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self.size}.get(whence)
        if start is None:
            raise ValueError(f"invalid whence: {whence}")
        if start + offset < 0:
            raise ValueError("a negative position")
        self._place = start + offset
        return start + offset

    def read(self, size: Optional[int] = -1, /) -> bytes:
        place = self._place
        found = self._from(place, self.size if size is None or size < 0 else size)
        self._place = place + len(found)
        return found

    def read1(self, size: int = -1, /) -> bytes:
        return self.read(BUFFER_SIZE if size < 0 else size)

    def peek(self, size: int = 0, /) -> bytes:
        """Bytes behind the position, which stays. Lines are read with it."""
        self._raw._check_open()
        place = self._place
        start, block = self._block
        if not start <= place < start + len(block):
            return self._from(place, 1) and self.peek()
        return block[place - start :]

    def _from(self, place: int, count: int) -> bytes:
        self._raw._check_open()
        count = max(0, min(count, self.size - place))
        if not count:
            return b""
        start, block = self._block
        if not start <= place <= place + count <= start + len(block):
            # Not more than it needs of the next record: that may be damaged.
            last = max(place + count, min(self.size, (place // BUFFER_SIZE + 1) * BUFFER_SIZE))
            found = self._raw.read_at(place, last - place)
            if count > BUFFER_SIZE:
                return found
            self._block = start, block = place, found
        return block[place - start : place - start + count]

    def close(self) -> None:
        self._raw.close()
        super().close()
