"""`open`, as Python's own, for containers."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Literal, Optional, Union, overload

from ._keys import Keys, Recipients
from ._options import OpenOptions, ReadOptions, WriteOptions
from ._reader import BUFFER_SIZE, RawReader, Reader
from ._sources import Source, path_of
from ._writer import TextWriter, Writer

if TYPE_CHECKING:
    from typing_extensions import Unpack


@overload
def open(
    file: Source, mode: Literal["rb", "br"] = "rb", *, keys: Keys, buffering: int = ..., encoding: None = None,
    errors: None = None, newline: None = None, **options: Unpack[ReadOptions]
) -> Reader: ...
@overload
def open(
    file: Source, mode: Literal["wb", "bw", "xb", "bx"], *, keys: Recipients, buffering: int = ...,
    encoding: None = None, errors: None = None, newline: None = None, **options: Unpack[WriteOptions]
) -> Writer: ...
@overload
def open(
    file: Source, mode: Literal["r", "rt", "tr"], *, keys: Keys, buffering: int = ..., encoding: Optional[str] = None,
    errors: Optional[str] = None, newline: Optional[str] = None, **options: Unpack[ReadOptions]
) -> io.TextIOWrapper: ...
@overload
def open(
    file: Source, mode: Literal["w", "wt", "tw", "x", "xt", "tx"], *, keys: Recipients, buffering: int = ...,
    encoding: Optional[str] = None, errors: Optional[str] = None, newline: Optional[str] = None,
    **options: Unpack[WriteOptions]
) -> io.TextIOWrapper: ...
@overload
def open(
    file: Source, mode: str, *, keys: Union[Keys, Recipients], buffering: int = ..., encoding: Optional[str] = None,
    errors: Optional[str] = None, newline: Optional[str] = None, **options: Unpack[OpenOptions]
) -> Union[Reader, Writer, io.TextIOWrapper]: ...


def open(
    file: Any,
    mode: str = "rb",
    *,
    keys: Any,
    buffering: int = BUFFER_SIZE,
    encoding: Optional[str] = None,
    errors: Optional[str] = None,
    newline: Optional[str] = None,
    **options: Any,
) -> Union[Reader, Writer, io.TextIOWrapper]:
    """Opens a container as a file of its plaintext.

    `file` is a path, or a binary file object: seekable to read. This function does not close a file object.

    `mode` is ``"rb"``, ``"wb"`` (replaces a file) or ``"xb"`` (the file must not exist), and with ``t``, or without
    ``b``, text. A path that is written appears, or is replaced, when the file is closed, whole and durable. After an
    exception in the ``with`` block it stays as it was.

    `keys` are what opens the container, or whom it is encrypted to: a Key, KeyFile, Passphrase, Identity, Recipient or
    Keyring, or a list of these.

    `header` is the header file of a container whose slots are in one. To read: its bytes, a path, or a binary file
    object. To write: a new path, or a file object, which gets the header file before the container gets a byte; without
    it nobody opens the container.

    `buffering` is how many bytes a small read takes ahead, above 1; by default a record of 64 KiB. `encoding`, `errors` and
    `newline` are those of Python's `open`, for text.

    `options` to read: `context`, `pin`, `header_pin`, and limits (`service_limits`, `max_plaintext`, …). To write: `context`,
    `chunk_size`, `header_capacity`, `compress`, `digest`, `tar_index`, `mix_recipients`, `modified`, `permissions`,
    `name`, `content_type`. The specification explains them.

    Raises the errors of this module, such as WrongKeyError, DamagedError and MissingFileError. An exception of a file
    object goes to the caller as it is.
    """
    letters = sorted(mode)
    action = {"r", "w", "x"} & set(letters)
    if len(set(letters)) != len(letters) or len(action) != 1 or not set(letters) <= set("rwxbt") or {"b", "t"} <= set(
            letters):
        raise ValueError(
            f"the mode {mode!r} is not one of rb, wb, xb, r, w and x: a container is read, or written from the beginning")
    binary = "b" in letters
    if binary and (encoding or errors or newline is not None):
        raise ValueError("a binary mode takes no encoding, errors or newline")
    if "replace" in options:
        raise TypeError("'replace' is not an option here: the mode w replaces a file, and x does not")
    if action == {"r"}:
        reader = Reader(RawReader(file, keys, **options), buffering if buffering > 1 else BUFFER_SIZE)
        return reader if binary else io.TextIOWrapper(reader, encoding, errors, newline)
    if action == {"x"} and path_of(file) is None:
        raise ValueError("the mode x needs a path")
    writer = Writer(file, keys, replace=action == {"w"}, **options)
    return writer if binary else TextWriter(writer, encoding=encoding, errors=errors, newline=newline)
