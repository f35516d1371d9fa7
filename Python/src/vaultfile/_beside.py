"""Header files beside containers in a file system of fsspec."""

from __future__ import annotations

import contextlib
from typing import Any

from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

from ._errors import Error, NotVaultfileError, invalid
from ._headers import inspect_header, is_header_of
from ._keys import replace_file
from ._options import HEADER_MOST
from ._whole import inspect

#: How often a header file is compared before the old one goes.
_TRIES = 5


def read_header(fs: Any, path: str) -> bytes:
    with fs.open(path, "rb") as file:
        found: bytes = file.read(HEADER_MOST)
    return found


class HeaderBeside:
    """A new header file, which is written before its container.

    It is created only if there is none, in one step where the file system can: O_EXCL of a disk, If-None-Match of S3.
    So of two writers of one name, one is refused before it has written a byte of a container, and no container gets the
    header file of the other.
    """

    def __init__(self, fs: Any, path: str) -> None:
        self._fs = fs
        self.path = path
        self._id = ""
        # What it was when this object wrote it.
        self._bytes = b""

    def write(self, header: Any) -> int:
        bytes_ = bytes(header)
        if self._fs.exists(self.path):
            # It may be the only way into the container that is there.
            raise FileExistsError(self.path)
        try:
            file = self._fs.open(self.path, "xb")
        except (NotImplementedError, ValueError):
            # Not every file system can create a file only if there is none.
            file = self._fs.open(self.path, "wb")
        self._id = inspect_header(bytes_)["fileID"]
        self._bytes = bytes_
        try:
            with file:
                file.write(bytes_)
        except FileExistsError:
            # A client repeats a write whose answer was lost, and gets an error. The same bytes are its own.
            self._fs.invalidate_cache(self.path)
            if read_header(self._fs, self.path) != bytes_:
                raise
        except BaseException:
            # There was no file. One that was written in part would keep everyone from the name.
            with contextlib.suppress(Exception):
                self._fs.invalidate_cache(self.path)
                if bytes_.startswith(read_header(self._fs, self.path)):
                    self._fs.rm_file(self.path)
            raise
        return len(bytes_)

    def find(self) -> bool:
        """Takes the header file that is there as ours. Returns whether there is one."""
        try:
            self._fs.invalidate_cache(self.path)
            self._id = inspect_header(read_header(self._fs, self.path))["fileID"]
            return True
        except (FileNotFoundError, Error):
            return False

    def fits(self, path: str) -> bool:
        """Whether the container there is that of this header file. Raises the error of a read that fails."""
        return self._id in self._ids(path)

    def contradicts(self, path: str) -> bool:
        """Whether the container there is that of another header file, or has its own slots. A damaged one is neither."""
        found = self._ids(path)
        return bool(found) and self._id not in found

    def _ids(self, path: str) -> set[str]:
        self._fs.invalidate_cache(path)
        try:
            with self._fs.open(path, "rb") as file:
                found = inspect(file)
        except NotVaultfileError:
            return set()
        return {found[copy]["fileID"] for copy in ("front", "tail") if "fileID" in (found[copy] or {})}

    def update(self, header: bytes) -> None:
        """A newer header file of the same container. Raises InUseError if someone else has changed this one."""
        self._fs.invalidate_cache(self.path)
        if read_header(self._fs, self.path) != self._bytes:
            raise invalid(f"{self.path} was changed meanwhile", "inUse")
        if isinstance(self._fs, LocalFileSystem):
            # It is the only one that fits the container here: a write that is killed half-way would lose it.
            replace_file(header, self._fs._strip_protocol(self.path))
        else:
            self._fs.pipe_file(self.path, header)
        self._bytes = header

    def follow(self, path: str) -> None:
        """Takes the place of the header file there, which it was a copy of: that goes. Its keys may have changed since,
        and change now. Raises InUseError, and leaves both, if they change again and again."""
        for _ in range(_TRIES):
            self._fs.invalidate_cache(path)
            now = read_header(self._fs, path)
            if now == self._bytes:
                self._fs.rm_file(path)
                return
            self.update(now)
        raise invalid(f"{path} changes again and again: it is beside {self.path} still", "inUse")

    def is_ours(self) -> bool:
        """Whether the header file is of the container that was begun with it. Its keys may have changed since.

        Raises the error of a read that fails: a store that does not answer is no reason to give a container up as lost."""
        self._fs.invalidate_cache(self.path)
        try:
            bytes_ = read_header(self._fs, self.path)
        except FileNotFoundError:
            return False
        return is_header_of(bytes_, self._id)

    def discard(self) -> None:
        """Removes it, unless it is someone else's. It stays if it cannot be read."""
        try:
            if self._id and self.is_ours():
                self._fs.rm_file(self.path)
        finally:
            self._id = ""
