"""Containers as binary files to write."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import threading
import warnings
from types import TracebackType
from typing import Any, Optional

from ._errors import OutputExistsError, SystemCallError, about, check, invalid, name_path, of_system
from ._headers import inspect_header, is_header_of
from ._keys import Recipients, save_file, sealing_handle
from ._library import Options, lib
from ._memory import Handle, address, make, taken, view
from ._options import HEADER_MOST, WriteOptions, options_handle
from ._signals import Held, Released, call, run
from ._sources import path_of

#: Bytes that are collected before the library gets them.
_COLLECTED = 1 << 20


class Writer(io.BufferedIOBase):
    """A container as a binary file to write.

    `close` completes it. An exception in its `with` block, `discard`, and forgetting the object abandon it: a path then
    keeps what it had before, and a file object has an incomplete container, which opens nowhere. The `with` block of another
    object that closes this one completes it, also after an exception; but after a write that failed, every `close`
    abandons it and raises SystemCallError.
    """

    mode = "wb"

    def __init__(
        self, target: Any, recipients: Recipients, *, replace: bool = False, **options: Any
    ) -> None:
        super().__init__()
        self._open = False
        # Bytes that were written and are not collected any more.
        self._sent = 0
        self._collected = bytearray()
        # A write has failed, or was interrupted: what comes after it would be behind a hole.
        self._is_broken = False
        # Threads that write at once, as those of a log, wait for each other.
        self._lock = threading.RLock()
        self._sink: Any = None
        self._header: Any = None
        header = options.pop("header", None)
        path = path_of(target)
        #: What messages call it, if it has a name: its path.
        self.name: Any = options.pop("called", None) if path is None else os.fsdecode(path)
        # After a fork, the container and its header file are those of the parent.
        self._process = os.getpid()
        if path is None and not callable(getattr(target, "write", None)):
            raise TypeError(f"a container is written to a path or a binary file object, not to {type(target).__name__}")
        if isinstance(target, io.TextIOBase):
            raise TypeError("the file must be binary")
        if isinstance(target, (io.BufferedReader, io.FileIO)) and not target.writable():
            raise ValueError("the file is not open for writing")
        handle = sealing_handle(recipients)
        settings = options_handle(WriteOptions, options)
        if path is not None:
            check(lib.vaultfile_options_set_number(settings.value, Options.REPLACE, int(replace)))
            made: Any = _PathSink(path, handle, settings, header is not None)
        else:
            made = _FileSink(target, handle, settings, header is not None)
        if header is not None:
            # Durable before the container: without it nobody opens the container.
            try:
                self._store(header, made.header)
            except BaseException:
                made.free()
                raise
        self._sink = made
        self._open = True

    def _store(self, header: Any, bytes_: bytes) -> None:
        if isinstance(header, (str, os.PathLike)):
            # The program may work in another folder when the container is closed.
            header = os.path.abspath(header)
            # Before the file is there: an exception of a signal's handler between would leave it.
            self._header = _NewHeaderFile(header, bytes_)
            save_file(bytes_, header)
        else:
            write_all(header, memoryview(bytes_))
            if hasattr(header, "flush"):
                header.flush()

    def writable(self) -> bool:
        self._check_open()
        return True

    def tell(self) -> int:
        self._check_open()
        return self._sent + len(self._collected)

    def write(self, buffer: Any) -> int:
        self._check_open()
        bytes_ = view(buffer)
        with self._lock:
            self._check_whole()
            if len(self._collected) + len(bytes_) >= _COLLECTED:
                self._send()
                if len(bytes_) >= _COLLECTED:
                    self._send(bytes_)
                    return len(bytes_)
            self._collected += bytes_
        return len(bytes_)

    def flush(self) -> None:
        """Gives the library what was written. A container cannot be read before it is closed."""
        if not self.closed and self._open:
            with self._lock:
                self._check_whole()
                self._send()

    def _send(self, bytes_: Any = b"") -> None:
        """Gives the sink what was collected, or else these bytes."""
        if not self._collected and not len(bytes_):
            return
        # A signal whose handler raises comes before all of this, after all of this, or within a write of the program's
        # file object. Then it stays broken.
        with Held():
            if self._collected:
                bytes_, self._collected = self._collected, bytearray()
            self._is_broken = True
            self._sink.write(bytes_)
            self._sent += len(bytes_)
            self._is_broken = False

    def _check_whole(self) -> None:
        if self._is_broken:
            error = SystemCallError("an earlier write failed")
            error.name, error.message = "outputFailed", "an earlier write failed: no container is made"
            error.strerror = error.message
            name_path(error, self.name)
            raise error

    def close(self) -> None:
        if self.closed:
            return
        try:
            if self._open:
                self.flush()
                self._open = False
                if self._header is not None and not self._header.is_ours():
                    raise invalid(
                        f"{self._header.path} is not the header file of this container any more", "outputExists")
                # From here on the container may have its name, even if the call fails: the header file stays.
                header, self._header = self._header, None
                try:
                    self._sink.commit()
                except OutputExistsError:
                    # It was refused.
                    self._header = header
                    raise
                self._committed()
        except BaseException:
            self._discard_quietly()
            raise
        self._release()

    def discard(self) -> None:
        """Abandons the container. No file appears, and a header file at a path is removed."""
        if self.closed:
            return
        if os.getpid() != self._process:
            self._open = False
            super().close()
            return
        self._release()
        header, self._header = self._header, None
        try:
            # It stays if it cannot be read: it may be someone else's.
            if header is not None and header.is_ours():
                os.unlink(header.path)
        finally:
            self._abandoned()

    def _discard_quietly(self) -> None:
        """The same while another exception is on its way: what fails here must not take its place."""
        with contextlib.suppress(Exception):
            self.discard()

    def _release(self) -> None:
        self._open = False
        self._collected = bytearray()
        if self._sink is not None:
            self._sink.free()
        super().close()

    def _committed(self) -> None:
        """The container is complete."""

    def _abandoned(self) -> None:
        """It stays incomplete."""

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._discard_quietly()

    def __del__(self) -> None:
        # IOBase would close it, and so give an incomplete container its name.
        if not self.closed:
            was_open = getattr(self, "_open", False) and os.getpid() == self._process
            self.discard()
            if was_open:
                warnings.warn(
                    f"{self!r} was not closed: no container was written", ResourceWarning, stacklevel=2, source=self)

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} {getattr(self, 'name', None)!r}>"

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")


class TextWriter(io.TextIOWrapper):
    """A Writer of text."""

    def __init__(self, writer: Writer, **options: Any) -> None:
        super().__init__(writer, **options)
        self._writer = writer
        # It forgets its text before the writer has it, and the handler of a signal can raise between.
        self._is_torn = False

    def _begin(self) -> None:
        if self._is_torn:
            self._writer._is_broken = True
        self._is_torn = True

    def write(self, text: str, /) -> int:
        self._begin()
        try:
            count = super().write(text)
        except (TypeError, ValueError):
            # It has not taken the text, or the writer knows.
            self._is_torn = False
            raise
        self._is_torn = False
        return count

    def flush(self) -> None:
        self._begin()
        super().flush()
        self._is_torn = False

    def close(self) -> None:
        try:
            if not self.closed:
                self.flush()
        except BaseException:
            # TextIOWrapper would complete the container without the text.
            self._writer._discard_quietly()
            raise
        super().close()

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if kind is not None:
            self._writer._discard_quietly()
            return
        self.close()

    def __del__(self) -> None:
        writer = getattr(self, "_writer", None)
        if writer is not None:
            writer.__del__()


class _NewHeaderFile:
    """A header file at a path, which someone else may have replaced since."""

    def __init__(self, path: Any, header: bytes) -> None:
        self.path = os.fspath(path)
        self._id = inspect_header(header)["fileID"]

    def is_ours(self) -> bool:
        """Whether it is of the container that was begun with it. Its keys may have changed since.

        Raises SystemCallError if it cannot be read."""
        try:
            with of_system(self.path, "inputFailed"), open(self.path, "rb") as file:
                bytes_ = file.read(HEADER_MOST)
        except FileNotFoundError:
            return False
        return is_header_of(bytes_, self._id)


def write_all(file: Any, bytes_: memoryview) -> None:
    """An unbuffered file can take less than it was given."""
    while len(bytes_):
        written = file.write(bytes_)
        if written is None or written == 0:
            raise BlockingIOError("the file takes no bytes at this moment")
        bytes_ = bytes_[written:]


def _made(function: str, free: Any, is_detached: bool, *arguments: Any) -> tuple[Handle, bytes]:
    """A new container, and its header file if its slots are in one."""
    if not is_detached:
        return make(getattr(lib, "vaultfile_" + function), free, *arguments), b""
    header, made = ctypes.c_void_p(), ctypes.c_void_p()
    return call(
        lambda: (Handle(made.value, free), taken(header)), getattr(lib, f"vaultfile_{function}_detached"), *arguments,
        ctypes.byref(header), ctypes.byref(made))


class _Sink:
    _handle: Handle

    def write(self, buffer: Any) -> None:
        raise NotImplementedError

    def commit(self) -> None:
        raise NotImplementedError

    def free(self) -> None:
        self._handle.free()


class _PathSink(_Sink):
    def __init__(self, path: bytes, recipients: Handle, settings: Handle, is_detached: bool) -> None:
        self._path = path
        with about(path):
            self._handle, self.header = _made(
                "writer_open", lib.vaultfile_writer_free, is_detached, path, recipients.value, settings.value)

    def write(self, buffer: Any) -> None:
        bytes_, count = address(buffer)
        with about(self._path):
            run(lib.vaultfile_writer_write, self._handle.value, bytes_, count)

    def commit(self) -> None:
        with about(self._path):
            run(lib.vaultfile_writer_commit, self._handle.value)


class _FileSink(_Sink):
    def __init__(self, file: Any, recipients: Handle, settings: Handle, is_detached: bool) -> None:
        self._file = file
        self._handle, self.header = _made(
            "encryptor_new", lib.vaultfile_encryptor_free, is_detached, recipients.value, settings.value)
        self._output = (ctypes.c_char * _COLLECTED)()

    def write(self, buffer: Any) -> None:
        bytes_, count = address(buffer)
        self._update(bytes_, count)

    def _update(self, bytes_: Any, count: int) -> int:
        """Encrypts, and writes everything that comes out. Returns how much the last call gave."""
        made = ctypes.c_size_t()
        total = 0
        while True:
            run(
                lib.vaultfile_encryptor_update, self._handle.value, bytes_, count, self._output, _COLLECTED,
                ctypes.byref(made))
            self._put(memoryview(self._output).cast("B")[: made.value])
            total += made.value
            if made.value < _COLLECTED:
                return total
            bytes_, count = None, 0

    def _put(self, bytes_: memoryview) -> None:
        with Released():
            write_all(self._file, bytes_)

    def commit(self) -> None:
        run(lib.vaultfile_encryptor_finish, self._handle.value)
        while self._update(None, 0):
            pass
