"""Where containers are read: a path, or any seekable file object."""

from __future__ import annotations

import ctypes
import io
import os
import re
import threading
from typing import Any, Optional, Union

from ._errors import Raised, invalid, path_bytes
from ._library import ReadCallback
from ._signals import Released

#: A path.
AnyPath = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
#: A path, or a binary file object that can read and seek.
Source = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]", io.IOBase, Any]


def path_of(source: Any) -> Optional[bytes]:
    """The path, if it is one."""
    if not isinstance(source, (str, bytes, os.PathLike)):
        return None
    if isinstance(source, str) and _URL.match(source) and not os.path.exists(source):
        raise invalid(f"{source!r} is a URL: fsspec.open('vaultfile::{source}', …) opens it")
    return path_bytes(source)


_URL = re.compile("[a-z][a-z0-9+.-]+://", re.IGNORECASE)


class FileSource:
    """Reads a file object at an offset, for the library. Its position changes."""

    def __init__(self, file: Any) -> None:
        if not callable(getattr(file, "seek", None)) or not callable(getattr(file, "read", None)):
            raise TypeError(f"a container is a path or a seekable binary file object, not {type(file).__name__}")
        if isinstance(file, io.TextIOBase):
            raise TypeError("the file must be binary: open it with 'rb'")
        size: Optional[int] = file.seek(0, os.SEEK_END)
        self.size: int = file.tell() if size is None else size
        self.raised = raised = Raised()
        # The library reads in several threads, and a file object has one position.
        lock = threading.Lock()

        # Without `self`: a cycle would keep the file object until the garbage collector runs.
        def read(_: Any, offset: int, buffer: int, capacity: int, count: Any) -> int:
            try:
                with Released(), lock:
                    file.seek(offset)
                    bytes_ = file.read(capacity)
                # A file object without bytes for now gives None; a text file gives text.
                if bytes_ is None:
                    raise BlockingIOError("the file gives no bytes at this moment")
                if not isinstance(bytes_, (bytes, bytearray, memoryview)):
                    raise TypeError("the file must be binary")
                bytes_ = bytes(bytes_)
                if len(bytes_) > capacity:
                    raise ValueError("the file gave more bytes than it was asked for")
                ctypes.memmove(buffer, bytes_, len(bytes_))
                count[0] = len(bytes_)
                return 0
            except BaseException as error:
                return raised.keep(error)

        self.callback: Any = ReadCallback(read)
