"""An fsspec file system of the plaintext of containers, wherever they are.

``fsspec.open("vaultfile::s3://bucket/table.parquet.vault", vaultfile={"keys": KeyFile("table.key")})`` reads a container
in an object store by ranges, and nothing of its plaintext reaches a disk.
"""

from __future__ import annotations

from typing import Any, Optional

import fsspec  # type: ignore[import-untyped]
from fsspec.implementations.cached import CachingFileSystem  # type: ignore[import-untyped]
from fsspec.implementations.chained import ChainedFileSystem  # type: ignore[import-untyped]
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

from ._options import HEADER_MOST
from ._reader import RawReader, Reader
from ._writer import Writer

#: Bytes that a remote file takes at once: a few records.
BLOCK_SIZE = 1 << 18


class VaultFileSystem(ChainedFileSystem):  # type: ignore[misc]
    """The files of another file system. What is read is decrypted, and what is written is encrypted.

    Names are those of the containers. `info` and `size` give the length of the plaintext, for which a container is
    opened; `ls` and `find` do not open containers: they give the size None, and `container_size`.

    `keys` open and are encrypted to. For processes of Dask and others use KeyFile or IdentityFile, which can be pickled.
    `options` are those of `vaultfile.open`; `context` is for reading and writing.

    `header` is the header file of a container whose slots are in one: bytes, or its path in the file system below. For
    several containers, `header_suffix` is what a header file's name has behind that of its container, such as
    ``".hdr"``. A header file that is written must be new.
    """

    protocol = "vaultfile"
    # Keys are no part of a cache's name.
    cachable = False

    def __init__(
        self,
        target_protocol: Optional[str] = None,
        target_options: Optional[dict[str, Any]] = None,
        fs: Any = None,
        fo: Optional[str] = None,
        keys: Any = None,
        context: Optional[bytes] = None,
        read_options: Optional[dict[str, Any]] = None,
        write_options: Optional[dict[str, Any]] = None,
        header: Any = None,
        header_suffix: Optional[str] = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if fs is None:
            if target_protocol is None:
                raise ValueError("vaultfile needs a file system below it: vaultfile::s3://…, or fs=…")
            fs = fsspec.filesystem(target_protocol, **(target_options or {}))
        if header is not None and header_suffix is not None:
            raise ValueError("only one of header and header_suffix can be given")
        self.fs = fs
        self._header = header
        self._header_suffix = header_suffix
        self._keys = keys
        self._reading = {**(read_options or {}), "context": context}
        self._writing = {**(write_options or {}), "context": context}

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(item) for item in path]
        text = str(path)
        return text[len("vaultfile://"):] if text.startswith("vaultfile://") else text

    @property
    def fsid(self) -> str:
        return "vaultfile-" + str(self.fs.fsid)

    def _below(self, path: str) -> str:
        below: str = self.fs._strip_protocol(self._strip_protocol(path))
        return below

    def _header_path(self, path: str) -> Optional[str]:
        """The path below of the header file of a container; None if it has none, or if there are only bytes."""
        if self._header_suffix is not None:
            return path + self._header_suffix
        return self._below(self._header) if isinstance(self._header, str) else None

    def _header_bytes(self, path: str) -> Any:
        header = self._header_path(path)
        if header is None:
            return self._header
        with self.fs.open(header, "rb") as file:
            return file.read(HEADER_MOST)

    def _open(
        self, path: str, mode: str = "rb", block_size: Any = None, autocommit: bool = True,
        cache_options: Optional[dict[str, Any]] = None, **kwargs: Any
    ) -> Any:
        if mode == "rb":
            # A cache of fsspec below chooses its own blocks.
            if not isinstance(self.fs, CachingFileSystem):
                kwargs.setdefault("cache_type", "readahead")
                kwargs.update(block_size=block_size or BLOCK_SIZE, cache_options=cache_options)
            below = self.fs.open(path, "rb", **kwargs)
            try:
                header = self._header_bytes(path)
                return FileReader(RawReader(below, self._keys, close_source=True, header=header, **self._reading))
            except BaseException:
                below.close()
                raise
        if mode in ("wb", "xb"):
            if mode == "xb" and self.fs.exists(path):
                raise FileExistsError(path)
            header = self._header_path(path)
            if header is None and self._header is not None:
                raise ValueError("a container is written with the path of its header file, and not with its bytes")
            if header is not None and self.fs.exists(header):
                # It may be the only way into the container that is there.
                raise FileExistsError(header)
            if autocommit and isinstance(self.fs, LocalFileSystem):
                # The library makes it durable before it has its name.
                if self.fs.auto_mkdir:
                    self.fs.makedirs(self.fs._parent(path), exist_ok=True)
                return Writer(path, self._keys, replace=mode == "wb", header=header, **self._writing)
            # The object appears when the container is complete.
            below = self.fs.open(path, "wb", autocommit=False, **kwargs)
            try:
                if header is None:
                    return FileWriter(below, self._keys, autocommit, self._writing)
                # The object appears when this file is closed, before the container has a byte.
                with self.fs.open(header, "wb") as file:
                    try:
                        return FileWriter(below, self._keys, autocommit, {**self._writing, "header": file})
                    except BaseException:
                        file.discard()
                        raise
            except BaseException:
                below.discard()
                raise
        raise NotImplementedError(f"the mode {mode!r}: containers are read, or written from the beginning")

    def _described(self, found: dict[str, Any]) -> dict[str, Any]:
        if found.get("type") != "file":
            return found
        return {**found, "size": None, "container_size": found.get("size")}

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        found = self._described(self.fs.info(self._below(path), **kwargs))
        if found.get("type") == "file":
            with self._open(self._below(path)) as file:
                found["size"] = file.length
        return found

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        found = self.fs.ls(self._below(path), detail=detail, **kwargs)
        return [self._described(item) for item in found] if detail else found

    def isdir(self, path: str) -> bool:
        return bool(self.fs.isdir(self._below(path)))

    def isfile(self, path: str) -> bool:
        return bool(self.fs.isfile(self._below(path)))

    def exists(self, path: str, **kwargs: Any) -> bool:
        return bool(self.fs.exists(self._below(path), **kwargs))

    def cat_ranges(
        self, paths: Any, starts: Any, ends: Any, max_gap: Any = None, on_error: str = "return", **kwargs: Any
    ) -> Any:
        """Reads ranges. Each container is opened once."""
        paths = list(paths)
        if not isinstance(starts, (list, tuple)):
            starts = [starts] * len(paths)
        if not isinstance(ends, (list, tuple)):
            ends = [ends] * len(paths)
        if len(starts) != len(paths) or len(ends) != len(paths):
            raise ValueError("paths, starts and ends must have the same count")
        found: list[Any] = [None] * len(paths)
        for path in dict.fromkeys(paths):
            places = [place for place, name in enumerate(paths) if name == path]
            try:
                with self._open(self._below(path)) as file:
                    for place in places:
                        try:
                            found[place] = _range(file, starts[place], ends[place])
                        except Exception as error:
                            if on_error == "raise":
                                raise
                            found[place] = error
            except Exception as error:
                if on_error == "raise":
                    raise
                for place in places:
                    if found[place] is None:
                        found[place] = error
        return found

    def cat_file(self, path: str, start: Any = None, end: Any = None, **kwargs: Any) -> bytes:
        with self._open(self._below(path)) as file:
            return _range(file, start, end)

    def rm_file(self, path: str) -> None:
        self.fs.rm_file(self._below(path))

    def _rm(self, path: str) -> None:
        self.rm_file(path)

    def rm(self, path: Any, recursive: bool = False, maxdepth: Optional[int] = None) -> None:
        self.fs.rm(self._strip_protocol(path), recursive=recursive, maxdepth=maxdepth)

    def mkdir(self, path: str, create_parents: bool = True, **kwargs: Any) -> None:
        self.fs.mkdir(self._below(path), create_parents=create_parents, **kwargs)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        self.fs.makedirs(self._below(path), exist_ok=exist_ok)

    def rmdir(self, path: str) -> None:
        self.fs.rmdir(self._below(path))

    def cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        """Copies the container as it is: the same keys open it."""
        self.fs.cp_file(self._below(path1), self._below(path2), **kwargs)

    def mv(self, path1: str, path2: str, **kwargs: Any) -> None:
        self.fs.mv(self._below(path1), self._below(path2), **kwargs)

    def created(self, path: str) -> Any:
        return self.fs.created(self._below(path))

    def modified(self, path: str) -> Any:
        return self.fs.modified(self._below(path))

    def invalidate_cache(self, path: Optional[str] = None) -> None:
        self.fs.invalidate_cache(path)
        super().invalidate_cache(path)


def _range(file: Any, start: Any, end: Any) -> bytes:
    """The bytes of a range as fsspec means it: negative numbers count from the end."""
    length = file.length
    first, last, _ = slice(start, end).indices(length)
    found: bytes = file.read_at(first, max(0, last - first))
    return found


class FileReader(Reader):
    """A container, as fsspec's files are: with a size."""

    def __init__(self, raw: RawReader) -> None:
        super().__init__(raw)
        self.size = raw.length


class FileWriter(Writer):
    """A container that appears in the file system below when it is complete."""

    def __init__(self, below: Any, keys: Any, autocommit: bool, options: dict[str, Any]) -> None:
        self._below = below
        self._autocommit = autocommit
        self._complete = False
        super().__init__(below, keys, **options)

    def _committed(self) -> None:
        self._below.close()
        self._complete = True
        if self._autocommit:
            self.commit()

    def commit(self) -> None:
        """Gives the object its name."""
        if self._complete:
            self._below.commit()

    def _abandoned(self) -> None:
        self._below.discard()
