"""An fsspec file system of the plaintext of containers, wherever they are.

``fsspec.open("vaultfile::s3://bucket/table.parquet.vault", vaultfile={"keys": KeyFile("table.key")})`` reads a container
in an object store by ranges, and nothing of its plaintext reaches a disk.
"""

from __future__ import annotations

import contextlib
import io
import sys
from types import FrameType
from typing import Any, Iterator, Optional

import fsspec  # type: ignore[import-untyped]
from fsspec.core import OpenFile  # type: ignore[import-untyped]
from fsspec.implementations.cached import CachingFileSystem  # type: ignore[import-untyped]
from fsspec.implementations.chained import ChainedFileSystem  # type: ignore[import-untyped]
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]
from fsspec.implementations.memory import MemoryFileSystem  # type: ignore[import-untyped]
from fsspec.spec import AbstractBufferedFile  # type: ignore[import-untyped]

from ._beside import HeaderBeside, read_header
from ._errors import Error
from ._options import ReadOptions, WriteOptions, names
from ._reader import RawReader, SharedReader
from ._writer import TextWriter, Writer

#: Bytes that a remote file takes at once: a few records.
BLOCK_SIZE = 1 << 18
_READING = names(ReadOptions)
_WRITING = names(WriteOptions)
#: What fsspec gives to every file system.
_OF_FSSPEC = frozenset({
    "asynchronous", "loop", "batch_size", "use_listings_cache", "listings_expiry_time", "max_paths",
    "skip_instance_cache", "protocol"})


class VaultFileSystem(ChainedFileSystem):  # type: ignore[misc]
    """The files of another file system. What is read is decrypted, and what is written is encrypted.

    Names are those of the containers. `info` and `size` give the length of the plaintext, for which a container is
    opened; `ls`, `find` and `du` do not open containers: listings give the size None, and `container_size`.

    `keys` open and are encrypted to. For processes of Dask and others use KeyFile or IdentityFile, which can be pickled.
    `options` are those of `vaultfile.open`, for reading and for writing; `open` takes them too, for one file.

    `header` is the header file of one container whose slots are in one: bytes, or its path in the file system below. For
    several containers, `header_suffix` is what a header file's name has behind that of its container, such as
    ``".hdr"``. Listings do not show these, and `rm`, `cp` and `mv` take them along. A header file that is written must
    be new: where the file system below can, it is created only if there is none.
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
        header: Any = None,
        header_suffix: Optional[str] = None,
        **options: Any,
    ) -> None:
        own = {name: options.pop(name) for name in list(options) if name in _READING | _WRITING}
        # A chain gets the options of every file system, also of those that are not in it.
        others = {name for name, value in options.items() if isinstance(value, dict)} & set(fsspec.available_protocols())
        unknown = sorted(options.keys() - _OF_FSSPEC - others)
        if unknown:
            raise TypeError(
                f"{unknown[0]!r} is not an option here; there are: keys, header, header_suffix, target_protocol, "
                f"target_options, fs, {', '.join(sorted((_READING | _WRITING) - {'header'}))}")
        super().__init__(**options)
        if fs is None:
            if target_protocol is None:
                raise ValueError("vaultfile needs a file system below it: vaultfile::s3://…, or fs=…")
            fs = fsspec.filesystem(target_protocol, **(target_options or {}))
        if header is not None and header_suffix is not None:
            raise ValueError("only one of header and header_suffix can be given")
        if header_suffix is not None and (not header_suffix or "/" in header_suffix):
            raise ValueError("header_suffix is the end of a name, such as '.hdr'")
        self.fs = fs
        self._header = header
        self._suffix = header_suffix
        # Each file needs all of them.
        self._keys = list(keys) if isinstance(keys, Iterator) else keys
        self._options = own

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
        if self._suffix is not None:
            return path + self._suffix
        return self._below(self._header) if isinstance(self._header, str) else None

    def open(self, path: str, mode: str = "rb", **kwargs: Any) -> Any:
        if "b" in mode or "r" in mode:
            return super().open(path, mode, **kwargs)
        text = {name: kwargs.pop(name) for name in ("encoding", "errors", "newline") if name in kwargs}
        # After an exception in the `with` block, the file of fsspec would complete it.
        return TextWriter(super().open(path, mode.replace("t", "") + "b", **kwargs), **text)

    def _open(
        self, path: str, mode: str = "rb", block_size: Any = None, autocommit: bool = True,
        cache_options: Optional[dict[str, Any]] = None, **kwargs: Any
    ) -> Any:
        if self._keys is None:
            raise ValueError('no keys were given: fsspec.filesystem("vaultfile", keys=…), or vaultfile={"keys": …}')
        if mode not in ("rb", "wb", "xb"):
            raise NotImplementedError(f"the mode {mode!r}: containers are read, or written from the beginning")
        allowed = _READING if mode == "rb" else _WRITING
        own = {name: kwargs.pop(name) for name in list(kwargs) if name in _READING | _WRITING}
        for name in own:
            if name not in allowed:
                raise TypeError(f"{name!r} is not an option of the mode {mode!r}")
        options = {name: value for name, value in {**self._options, **own}.items() if name in allowed}
        header = options.pop("header", None)
        if header is None:
            there = self._header_path(path)
            header = self._header if there is None else None
        else:
            there = self._below(header) if isinstance(header, str) else None
        if mode == "rb":
            # A cache of fsspec below chooses its own blocks.
            if not isinstance(self.fs, CachingFileSystem):
                kwargs.setdefault("cache_type", "readahead")
                kwargs.update(block_size=block_size or BLOCK_SIZE, cache_options=cache_options)
            below = self.fs.open(path, "rb", **kwargs)
            try:
                if there is not None:
                    header = read_header(self.fs, there)
                return SharedReader(RawReader(
                    below, self._keys, close_source=True, name=path, header=header, **options))
            except Error as error:
                below.close()
                # No header file that the caller names: it may be the only one of another container.
                is_beside = self._suffix is not None and there == path + self._suffix
                if is_beside and error.name in ("copiesDisagree", "notDetached"):
                    error.message += f"; {_left_over(there)}"
                raise
            except BaseException:
                below.close()
                raise
        if there is None and header is not None:
            raise ValueError("a container is written with the path of its header file, and not with its bytes")
        exists = self.fs.exists(path)
        if mode == "xb" and exists:
            raise FileExistsError(path)
        if self._suffix is not None and self.fs.exists(there):
            raise FileExistsError(self._why_taken(path, str(there), exists))
        if autocommit and isinstance(self.fs, LocalFileSystem):
            # The library makes it durable before it has its name.
            if self.fs.auto_mkdir:
                self.fs.makedirs(self.fs._parent(path), exist_ok=True)
            # The container of another writer has another header file: it is not replaced.
            replace = mode == "wb" and (there is None or exists)
            return LocalWriter(path, self._keys, replace=replace, header=there, **options)
        # The object appears when the container is complete. S3 and others do not replace an object that is new there; a
        # local file system has no temporary files in the mode xb.
        beside = None if there is None else HeaderBeside(self.fs, there)
        if beside is not None and not exists:
            mode = "xb"
        if isinstance(self.fs, LocalFileSystem):
            mode = "wb"
        return self._writer(path, mode, autocommit, beside, kwargs, options)

    def _why_taken(self, path: str, there: str, exists: bool) -> str:
        """What to do about a file that is where a header file is to be written."""
        header = HeaderBeside(self.fs, there)
        if not header.find():
            return f"{there} is no header file, and is not replaced"
        if there != path + str(self._suffix):
            return f"{there} is a header file, maybe of another container, and is not replaced"
        if not exists:
            return f"{header.path} is there without its container, as after a killed write: rm of {path} removes it"
        if header.fits(path):
            return f"{path} and its header file are there: rm of {path} removes both, and then it can be written"
        if not header.contradicts(path):
            return f"{path} is no container, or is damaged, and {there} is a header file: neither is replaced"
        return f"{there} is not the header file of {path}: {_left_over(there)}"

    def _writer(
        self, path: str, mode: str, autocommit: bool, header: Any, kwargs: dict[str, Any], options: dict[str, Any]
    ) -> Any:
        try:
            if isinstance(self.fs, MemoryFileSystem):
                below: Any = _InMemory(self.fs, path, mode)
            else:
                below = self.fs.open(path, mode, autocommit=False, **kwargs)
        except (NotImplementedError, ValueError):
            # Not every file system has the mode xb.
            if mode == "wb":
                raise
            below = self.fs.open(path, "wb", autocommit=False, **kwargs)
        try:
            return FileWriter(below, self._keys, autocommit, path, {**options, "header": header}, header)
        except BaseException:
            with contextlib.suppress(Exception):
                _abandon(below)
            raise

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
        found = self.fs.ls(self._below(path), detail=True, **kwargs)
        shown = [self._described(item) for item in found if not self._is_header(item["name"])]
        return shown if detail else sorted(item["name"] for item in shown)

    def _is_header(self, path: str) -> bool:
        return self._suffix is not None and path.endswith(self._suffix)

    # Patterns and folders are relative to what the file system below says.

    def glob(self, path: str, maxdepth: Optional[int] = None, **kwargs: Any) -> Any:
        return super().glob(self._below(path), maxdepth=maxdepth, **kwargs)

    def walk(self, path: str, *arguments: Any, **kwargs: Any) -> Any:
        return super().walk(self._below(path), *arguments, **kwargs)

    def find(self, path: str, *arguments: Any, **kwargs: Any) -> Any:
        return super().find(self._below(path), *arguments, **kwargs)

    def du(self, path: str, *arguments: Any, **kwargs: Any) -> Any:
        """What the containers and header files take."""
        return self.fs.du(self._below(path), *arguments, **kwargs)

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
        """Removes a container, and then its header file: an interruption leaves a header file, and nothing unreadable."""
        path = self._below(path)
        if self._suffix is None:
            self.fs.rm_file(path)
            return
        if self._is_header(path) and self.fs.exists(path[: -len(self._suffix)]):
            raise ValueError(f"{path} is the header file of {path[: -len(self._suffix)]}, whose rm removes both")
        header = HeaderBeside(self.fs, path + self._suffix)
        has_header = header.find()
        if has_header and self.fs.exists(path) and header.contradicts(path):
            # Without this header file the container opens: its writer was killed before it was replaced.
            raise FileExistsError(f"{header.path} is not the header file of {path}: {_left_over(header.path)}")
        try:
            self.fs.rm_file(path)
        except FileNotFoundError:
            # An earlier removal may have been interrupted.
            if not has_header:
                raise
        # Meanwhile someone may have written a new container with a header file of its own, which stays.
        header.discard()

    def _rm(self, path: str) -> None:
        self.rm_file(path)

    def rm(self, path: Any, recursive: bool = False, maxdepth: Optional[int] = None) -> None:
        paths = [self._below(item) for item in path] if isinstance(path, list) else self._below(path)
        if self._suffix is None:
            self.fs.rm(paths, recursive=recursive, maxdepth=maxdepth)
            return
        # Each container before its header file.
        for found in [paths] if isinstance(paths, str) else paths:
            folders = []
            for item in self.expand_path(found, recursive=recursive, maxdepth=maxdepth):
                if self.fs.isdir(item):
                    folders.append(item)
                else:
                    self.rm_file(item)
            for folder in folders if recursive and maxdepth is None else []:
                if self.fs.exists(folder):
                    self.fs.rm(folder, recursive=True)

    def mkdir(self, path: str, create_parents: bool = True, **kwargs: Any) -> None:
        self.fs.mkdir(self._below(path), create_parents=create_parents, **kwargs)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        self.fs.makedirs(self._below(path), exist_ok=exist_ok)

    def rmdir(self, path: str) -> None:
        self.fs.rmdir(self._below(path))

    def cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        """Copies the container as it is, and its header file before: the same keys open it."""
        path1, path2 = self._below(path1), self._below(path2)
        header = self._header_for_copy(path1, path2)
        try:
            self.fs.cp_file(path1, path2, **kwargs)
        except BaseException:
            if header is not None:
                with contextlib.suppress(Exception):
                    header.discard()
            raise

    def mv(self, path1: str, path2: str, **kwargs: Any) -> None:
        """Moves the container as it is. Its header file is there before it goes, and at the new place before it comes."""
        if self._suffix is not None and not isinstance(path1, str):
            raise ValueError("containers with header files are moved one by one, or with their folder")
        if self._suffix is None or self.fs.isdir(self._below(path1)):
            self.fs.mv(self._below(path1), self._below(path2), **kwargs)
            return
        path1, path2 = self._below(path1), self._below(path2)
        if self.fs.isdir(path2):
            path2 = path2.rstrip("/") + "/" + path1.rsplit("/", 1)[-1]
        if path1 == path2:
            return
        header = self._header_for_copy(path1, path2)
        try:
            self.fs.mv(path1, path2, **kwargs)
        except BaseException:
            # If only its old name could not be removed, both are there, and both are opened.
            with contextlib.suppress(Exception):
                if header is not None and self.fs.exists(path1) and not self.fs.exists(path2):
                    header.discard()
            raise
        if header is not None:
            header.follow(path1 + self._suffix)

    def _header_for_copy(self, path1: str, path2: str) -> Optional[HeaderBeside]:
        if self._suffix is None:
            return None
        if not self.fs.exists(path1):
            raise FileNotFoundError(path1)
        if not self.fs.exists(path1 + self._suffix):
            if self.fs.exists(path2 + self._suffix):
                # It would not fit.
                raise FileExistsError(path2 + self._suffix)
            return None
        header = HeaderBeside(self.fs, path2 + self._suffix)
        header.write(read_header(self.fs, path1 + self._suffix))
        return header

    def created(self, path: str) -> Any:
        return self.fs.created(self._below(path))

    def modified(self, path: str) -> Any:
        return self.fs.modified(self._below(path))

    def invalidate_cache(self, path: Optional[str] = None) -> None:
        self.fs.invalidate_cache(path)
        super().invalidate_cache(path)


def _left_over(header: Any) -> str:
    """What to do about a header file that is beside the container of another one."""
    return (
        f"if the container opens without it, a killed write has left it: remove {header} alone, with the file system below "
        f"(fs.fs.rm_file({str(header)!r}))")


def _range(file: Any, start: Any, end: Any) -> bytes:
    """The bytes of a range as fsspec means it: negative numbers count from the end."""
    length = file.length
    first, last, _ = slice(start, end).indices(length)
    found: bytes = file.read_at(first, max(0, last - first))
    return found


class _InMemory(io.BytesIO):
    """A file of the memory of fsspec, whose own have their name from the beginning."""

    def __init__(self, fs: Any, path: str, mode: str) -> None:
        super().__init__()
        self._fs, self._path, self._mode = fs, path, mode
        self._bytes = b""

    def close(self) -> None:
        if not self.closed:
            self._bytes = self.getvalue()
        super().close()

    def commit(self) -> None:
        self._fs.pipe_file(self._path, self._bytes, mode="create" if self._mode == "xb" else "overwrite")

    def discard(self) -> None:
        super().close()


def _abandon(below: Any) -> None:
    below.discard()
    if isinstance(below, AbstractBufferedFile):
        # Otherwise its __del__ begins to upload again.
        below.closed = True


class LocalWriter(Writer):
    """A container in a local file system."""

    def close(self) -> None:
        """Completes it. `with fsspec.open(…)` closes its file also after an exception: then it is abandoned."""
        if _is_left_by_exception(sys._getframe(1)):
            self._discard_quietly()
        else:
            super().close()


def _is_left_by_exception(caller: Optional[FrameType]) -> bool:
    """Whether the caller is fsspec's own file, whose `with` block ends with an exception."""
    if caller is None or caller.f_code is not OpenFile.close.__code__ or caller.f_back is None:
        return False
    leaving = caller.f_back
    return leaving.f_code is OpenFile.__exit__.__code__ and any(
        isinstance(item, BaseException) for item in leaving.f_locals.get("args", ()))


class FileWriter(LocalWriter):
    """A container that appears in the file system below when it is complete."""

    def __init__(
        self, below: Any, keys: Any, autocommit: bool, path: str, options: dict[str, Any],
        header: Optional[HeaderBeside]
    ) -> None:
        self._below = below
        self._path = path
        self._autocommit = autocommit
        self._complete = False
        #: It has its name, or never gets it.
        self._is_given_up = False
        self._beside = header
        try:
            super().__init__(below, keys, called=path, **options)
        except BaseException:
            # It was written, and something failed behind it.
            if header is not None:
                with contextlib.suppress(Exception):
                    header.discard()
            raise

    def _committed(self) -> None:
        self._below.close()
        self._complete = True
        if self._autocommit:
            self.commit()

    def commit(self) -> None:
        """Gives the object its name."""
        if self._complete and not self._is_given_up:
            self._is_given_up = True
            beside, self._beside = self._beside, None
            if beside is not None and not beside.is_ours():
                with contextlib.suppress(Exception):
                    _abandon(self._below)
                raise FileExistsError(f"{beside.path} has become the header file of another container")
            # From here on it may have its name, even if the call fails: the header file stays.
            try:
                self._below.commit()
            except FileExistsError:
                # It was refused: another writer was faster; or the answer to the first try was lost, and the client has
                # repeated it. Then this header file is the only way into the container.
                if beside is None:
                    raise
                # If the container cannot be read, the header file stays.
                with contextlib.suppress(Exception):
                    if beside.fits(self._path):
                        return
                    beside.discard()
                raise

    def _abandoned(self) -> None:
        beside, self._beside = self._beside, None
        try:
            _abandon(self._below)
        except BaseException:
            if beside is not None:
                with contextlib.suppress(Exception):
                    beside.discard()
            raise
        if beside is not None:
            beside.discard()

    def discard(self) -> None:
        super().discard()
        if self._complete and not self._is_given_up:
            # A transaction of fsspec that is given up.
            self._is_given_up = True
            self._abandoned()
